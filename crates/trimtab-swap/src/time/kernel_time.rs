//! What of the kernel ran in a stream, and what that costs.

use serde::{Deserialize, Serialize};
use trimtab_layout::cost::CORES;
use trimtab_profile::Stream;
use trimtab_program::{Program, Range, references};

use super::waits::{CoreState, Waits, small_pages};
use crate::SwapError;

/// What ran from the start of init on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTime {
    /// Instructions of the kernel.
    pub instructions: u64,
    /// How long each of [`CORES`] would have waited for them.
    pub waits: Vec<Waits>,
}

/// Counts what of `program` ran from the first execution of the function `from` on.
///
/// # Errors
/// [`SwapError::NeverBegan`].
pub fn kernel_time(
    program: &Program<'_>,
    stream: &Stream<'_>,
    from: &str,
) -> Result<KernelTime, SwapError> {
    let never = || SwapError::NeverBegan { from: from.to_owned() };
    let entry = program.address_of(from).ok_or_else(never)?;
    let ranges: Vec<Range> = stream
        .blocks()
        .iter()
        .map(|block| Range::with_length(block.start, block.length.into()))
        .collect();
    let lengths: Vec<u64> = ranges.iter().map(|range| length(program, *range)).collect();
    let small = small_pages(program);
    let mut cores = CORES.map(|core| CoreState::new(core, small));
    let mut began = false;
    let mut instructions = 0;
    for block in stream.executions() {
        let block = block as usize;
        began = began || ranges[block].contains(entry);
        if began {
            instructions += lengths[block];
            for core in &mut cores {
                core.execute(ranges[block]);
            }
        }
    }
    if instructions == 0 {
        return Err(never());
    }
    Ok(KernelTime { instructions, waits: cores.iter().map(CoreState::waits).collect() })
}

/// Instructions of a block. Of several one-byte no-operations in a row a kernel makes one when it boots.
fn length(program: &Program<'_>, block: Range) -> u64 {
    let is_nop = |range: Range| program.bytes(range).is_some_and(|bytes| bytes == [0x90]);
    let nops: Vec<bool> =
        references::instructions(program, block).map(|found| is_nop(found.range)).collect();
    let merged = nops.windows(2).filter(|pair| pair[0] && pair[1]).count();
    (nops.len() - merged) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use trimtab_profile::{Source, stream};

    use super::*;

    #[test]
    fn only_what_runs_from_a_function_on_counts() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(path).unwrap();
        let program = Program::parse(&bytes).unwrap();
        let main = program.address_of("main").unwrap();
        let length =
            references::instructions(&program, Range::with_length(main, 64)).next().unwrap();
        let first = u32::try_from(length.range.length()).unwrap();
        // One instruction of main, and the eight-or-so behind it, which ran before it too.
        let blocks = [(main, first), (main + u64::from(first), 32)];
        let written = stream::write(Source::QemuPlugin, &blocks, &[1, 1, 0, 0, 1]);
        let found = Stream::parse(&written).unwrap();
        let behind =
            references::instructions(&program, Range::with_length(main + u64::from(first), 32));
        let behind = behind.count() as u64;
        assert_eq!(kernel_time(&program, &found, "main").unwrap().instructions, 2 + behind);
        let never = |from: &str| Err(SwapError::NeverBegan { from: from.to_owned() });
        assert_eq!(kernel_time(&program, &found, "no_such"), never("no_such"));
        let written = stream::write(Source::QemuPlugin, &blocks, &[1]);
        let found = Stream::parse(&written).unwrap();
        assert_eq!(kernel_time(&program, &found, "main"), never("main"));
    }

    #[test]
    fn a_kernel_makes_one_no_operation_of_several() {
        // rdtsc; nop; nop; nop; xor %eax,%eax; nop; ret
        let code = [0x0f, 0x31, 0x90, 0x90, 0x90, 0x31, 0xc0, 0x90, 0xc3];
        let bytes = trimtab_fixture::Elf::new()
            .text(".text", 0x1000, code.len() as u64)
            .function("wait", 0x1000, code.len() as u64)
            .contents(0x1000, &code)
            .loaded()
            .build();
        let program = Program::parse(&bytes).unwrap();
        assert_eq!(length(&program, Range::with_length(0x1000, code.len() as u64)), 5);
    }
}
