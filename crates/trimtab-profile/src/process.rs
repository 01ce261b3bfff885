//! What a tracer recorded of a whole process: one trace, and the files that the code came from.
//!
//! The format is that of a native trace. Its head says for each mapped file where it was in memory,
//! `map START END OFFSET PATH`, all but the path in hexadecimal; addresses are those of the process.
//! Where jumps were counted, it has `jump LAST NEXT COUNT` for each pair of blocks of which one ran
//! right after the other, both addresses in hexadecimal.

use crate::read::{self, TraceError};
use crate::trace::{Place, Trace};
use trimtab_program::{Program, Range};

/// One stretch of a file that was mapped into the process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mapping {
    range: Range,
    /// Where in the file it begins.
    offset: u64,
    path: String,
}

/// Control passed from one block to another: by a jump, a call or a return, or by falling through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// Address of the last byte of the block that control left.
    pub last: u64,
    /// Address of the first byte of the block in which it went on.
    pub next: u64,
    /// How often.
    pub count: u64,
}

/// The trace of a process.
#[derive(Debug, Clone)]
pub struct Process {
    trace: Trace,
    mappings: Vec<Mapping>,
    transitions: Vec<Transition>,
    instructions: Option<u64>,
}

impl Process {
    /// Reads the trace of a process.
    ///
    /// # Errors
    /// Whatever [`read::read`] says of a trace.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let trace = read::read(text)?;
        let facts = || text.lines().take_while(|line| *line != "events");
        let instructions =
            facts().find_map(|line| line.strip_prefix("instructions ")?.parse().ok());
        let mappings = facts().filter_map(mapping).collect();
        let transitions = facts().filter_map(transition).collect();
        Ok(Process { trace, mappings, transitions, instructions })
    }

    /// Instructions that it executed, where the tracer counts.
    pub fn instructions(&self) -> Option<u64> {
        self.instructions
    }

    /// What it executed of `program`, which was mapped from the file `path`: the events in that
    /// file's mappings, at the addresses for which the program is linked. Empty where it did not run.
    pub fn trace_of(&self, path: &str, program: &Program<'_>) -> Trace {
        let mut found = Trace::new(self.trace.source());
        for event in self.trace.events() {
            let address = match event.place {
                Place::Block { start, .. } => start,
                Place::Address(address) => address,
                Place::Name(_) => continue,
            };
            let Some(linked) = self.linked(path, program, address) else { continue };
            let place = match event.place {
                Place::Block { length, .. } => Place::Block { start: linked, length },
                _ => Place::Address(linked),
            };
            found.record(place, None, event.count);
        }
        found
    }

    /// How control passed between blocks of `program`, which was mapped from the file `path`: at the
    /// addresses for which it is linked. Empty where the tracer did not count it.
    pub fn transitions_of(&self, path: &str, program: &Program<'_>) -> Vec<Transition> {
        let linked = |transition: &Transition| {
            Some(Transition {
                last: self.linked(path, program, transition.last)?,
                next: self.linked(path, program, transition.next)?,
                count: transition.count,
            })
        };
        self.transitions.iter().filter_map(linked).collect()
    }

    /// Where the program is linked to have what the process had at `address`.
    fn linked(&self, path: &str, program: &Program<'_>, address: u64) -> Option<u64> {
        self.mappings
            .iter()
            .filter(|mapping| mapping.path == path && mapping.range.contains(address))
            .find_map(|mapping| {
                let offset = mapping.offset.checked_add(address - mapping.range.start)?;
                linked_address(program, offset)
            })
    }
}

/// A line feed in a path, as Linux lists what is mapped.
const LINE_FEED: &str = "\\012";

/// The address at which a program is linked to have the byte at `offset` of its file.
fn linked_address(program: &Program<'_>, offset: u64) -> Option<u64> {
    let segment = program.segments().iter().find(|segment| segment.file.contains(offset))?;
    Some(segment.range.start + (offset - segment.file.start))
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.strip_prefix("map ")?.splitn(4, ' ');
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (start, end, offset) = (number()?, number()?, number()?);
    let path = words.next().filter(|path| !path.is_empty())?.replace(LINE_FEED, "\n");
    Some(Mapping { range: Range { start, end }, offset, path })
}

fn transition(line: &str) -> Option<Transition> {
    let mut words = line.strip_prefix("jump ")?.split(' ');
    let mut address = || u64::from_str_radix(words.next()?, 16).ok();
    let (last, next) = (address()?, address()?);
    Some(Transition { last, next, count: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_fixture::Elf;

    #[test]
    fn a_file_is_found_where_it_was_mapped() {
        let bytes = Elf::new()
            .segment(0x1000, 0x1000, 0x100)
            .text(".text", 0x1000, 0x100)
            .function("first", 0x1000, 0x10)
            .function("second", 0x1010, 0x10)
            .build();
        let program = Program::parse(&bytes).unwrap();
        let segment = program.segments()[0];
        let base = 0x40_0000_0000u64;
        let offset = segment.file.start;
        let text = format!(
            "trimtab-trace 1\nsource qemu-plugin\ninstructions 77\n\
             map {base:x} {:x} {offset:x} /my dir/app\n\
             map 7000 8000 {offset:x} /lib/other.so\n\
             map nonsense\n\
             jump {:x} {:x} 5\njump {:x} 7010 1\njump nonsense\njump 1\n\
             events\n{:x} 4 2\n7010 4 1\n{:x} 8 1\n99 4 1\n",
            base + 0x100,
            base + 0x7,
            base + 0x10,
            base + 0x7,
            base + 0x10,
            base,
        );
        let process = Process::parse(&text).unwrap();
        assert_eq!(process.instructions(), Some(77));
        let places = |path: &str| {
            let trace = process.trace_of(path, &program);
            trace.events().iter().map(|event| event.place).collect::<Vec<_>>()
        };
        let block = |start, length| Place::Block { start, length };
        assert_eq!(places("/my dir/app"), [block(0x1010, 4), block(0x1000, 8)]);
        assert_eq!(places("/lib/other.so"), [block(0x1010, 4)]);
        assert_eq!(places("/lib/none.so"), []);
        // What leads from one file to another is in neither.
        assert_eq!(
            process.transitions_of("/my dir/app", &program),
            [Transition { last: 0x1007, next: 0x1010, count: 5 }]
        );
        assert_eq!(process.transitions_of("/lib/other.so", &program), []);
        assert!(Process::parse("trimtab-trace 1\n").is_err());
    }
}
