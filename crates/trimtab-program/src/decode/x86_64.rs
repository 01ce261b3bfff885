//! How x86-64 code goes on.

use super::{Flow, Instruction};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};

/// The instruction at `address`, where `code` goes on with it.
pub(super) fn decode(address: u64, code: &[u8]) -> Option<Instruction> {
    // The longest has 15 bytes.
    let code = &code[..code.len().min(15)];
    let decoded = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
    if decoded.is_invalid() {
        return None;
    }
    let flow = match decoded.flow_control() {
        FlowControl::UnconditionalBranch => Flow::Jump(decoded.near_branch_target()),
        FlowControl::ConditionalBranch => Flow::Conditional(decoded.near_branch_target()),
        FlowControl::IndirectBranch | FlowControl::Return => Flow::Away,
        FlowControl::Exception => Flow::Trap,
        FlowControl::Interrupt if decoded.mnemonic() == Mnemonic::Int3 => Flow::Trap,
        // Where a transaction goes on that is given up.
        FlowControl::XbeginXabortXend if decoded.mnemonic() == Mnemonic::Xbegin => {
            Flow::Conditional(decoded.near_branch_target())
        }
        _ => Flow::Next,
    };
    Some(Instruction { length: decoded.len(), flow })
}
