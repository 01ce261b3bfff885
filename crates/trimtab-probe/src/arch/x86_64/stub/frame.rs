//! How stubs take frames of the run time, and give them back.

use iced_x86::Register::{R11, RBX, RSP};

use super::{EQUAL, Slow, Writer};
use crate::abi::{FRAME_AT, FRAME_NEXT, FRAME_R11, FRAME_RETURN, FRAME_SAVED};
use crate::arch::x86_64::asm::{Memory, Return};
use crate::error::ProbeError;

impl Writer<'_> {
    /// Moves the return address and rbx into a frame, and r11 if it is to be kept; rbx then points
    /// at the frame. The order is such that a signal may come anywhere: its handler takes frames
    /// and gives them back, among them the first of the list. Nothing goes through memory that the
    /// next call has to wait for but the list itself.
    pub(super) fn take_frame(&mut self) -> Result<(), ProbeError> {
        let frames = Memory::Thread(self.symbols.frames, 0);
        let (from, back) = (self.asm.label(), self.asm.label());
        if !self.free.r11 {
            self.asm.push(R11)?;
        }
        self.asm.push(RBX)?;
        let depth = self.asm.state().depth;
        self.asm.load(RBX, frames)?;
        self.asm.place(Return::StackAndRbxBelow(depth));
        self.asm.test(RBX)?;
        self.asm.jump_if(EQUAL, from);
        self.slow.push(Slow::Frame { from, back, state: self.asm.state() });
        self.asm.bind(back);
        // As long as it is in the list, a handler may write there, too, and may look for frames
        // that are not in use as soon as it is not.
        self.note_place(depth)?;
        self.asm.load(R11, Memory::At(RBX, FRAME_NEXT))?;
        self.asm.store(frames, R11)?;
        self.note_place(depth)?;
        self.asm.pop(R11)?;
        self.asm.place(Return::StackAndRbxInR11);
        self.asm.store(Memory::At(RBX, FRAME_SAVED), R11)?;
        self.asm.place(Return::StackAndRbxInFrame);
        if !self.free.r11 {
            self.asm.pop(R11)?;
            self.asm.store(Memory::At(RBX, FRAME_R11), R11)?;
        }
        self.asm.pop_memory(Memory::At(RBX, FRAME_RETURN))?;
        self.asm.place(Return::FrameInRbx);
        Ok(())
    }

    /// Writes into the frame where it belongs: the word below the return address.
    fn note_place(&mut self, depth: i64) -> Result<(), ProbeError> {
        let at = Memory::At(RBX, FRAME_AT);
        if depth == 16 {
            return self.asm.store(at, RSP);
        }
        self.asm.address(R11, Memory::At(RSP, (depth - 16) as i32))?;
        self.asm.store(at, R11)
    }

    pub(super) fn give_frame_back(&mut self) -> Result<(), ProbeError> {
        let frames = Memory::Thread(self.symbols.frames, 0);
        self.asm.push_memory(Memory::At(RBX, FRAME_RETURN))?;
        self.asm.place(Return::StackAndRbxInFrame);
        if !self.free.r11 {
            self.asm.push_memory(Memory::At(RBX, FRAME_R11))?;
        }
        self.asm.load(R11, frames)?;
        self.asm.store(Memory::At(RBX, FRAME_NEXT), R11)?;
        self.asm.load(R11, Memory::At(RBX, FRAME_SAVED))?;
        self.asm.place(Return::StackAndRbxInR11);
        self.asm.store(frames, RBX)?;
        self.asm.copy(RBX, R11)?;
        self.asm.place(Return::Stack);
        if self.free.r11 { Ok(()) } else { self.asm.pop(R11) }
    }
}
