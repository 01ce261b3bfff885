//! Reads what an instrumented program recorded. The file is laid out as `probe/internal.h` says:
//! a page with facts, then chunks of whole pages.

use std::collections::{BTreeMap, HashMap};

use crate::abi::recording as first;
use crate::abi::{
    self, MAGIC, PAGE, RECORDING_VERSION, block, chunk, edge, event, function_record,
};
use crate::error::ProbeError;
use crate::hook::{Counter, Hook};

/// The least nanoseconds from a call to its return: two cycles of a processor with 6 GHz.
const SHORTEST_CALL_NS: f64 = 1.0 / 3.0;

/// A function of the program, and what was recorded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRecord {
    /// Its name, as the linker had it.
    pub name: String,
    /// Where it is in the program's file.
    pub address: u64,
    /// Bytes, without its stub.
    pub size: u32,
    /// Times that it was entered; with hooks that add up when calls end
    /// ([`Hook::adds_up`]), left.
    pub calls: u64,
    /// Times that it was left, where that was counted apart.
    pub exits: u64,
    /// Cycles between entry and exit; for [`Hook::Event`], what was counted there. Those of calls
    /// within calls of itself count once, except for [`Hook::Cycles`].
    pub total: u64,
    /// The same without instrumented functions that it called.
    pub own: u64,
    /// Its place in the order of first execution, from 1 on; 0 where that is not known.
    pub first: u64,
    /// By how much the number grew from entry to exit, for [`Hook::Value`]. Calls within calls of
    /// itself count again. A number that falls makes it wrap around.
    pub value: u64,
}

impl FunctionRecord {
    /// Takes so much of a counter's number off, down to `least`.
    fn take_off(&mut self, counter: Counter, much: u64, least: u64) {
        let number = match counter {
            Counter::Cycles | Counter::Total => &mut self.total,
            Counter::Own => &mut self.own,
            // No time is in these.
            Counter::Calls | Counter::Exits | Counter::Value => return,
            Counter::First | Counter::Outermost => return,
        };
        *number = number.saturating_sub(much).max(least);
    }

    /// Adds what one thread has in a word of the function's cell.
    fn add(&mut self, counter: Counter, number: u64) {
        // Below nothing where probes were taken to cost more than they did.
        let above = number.cast_signed().max(0).cast_unsigned();
        let add = |to: &mut u64, number| *to = to.saturating_add(number);
        match counter {
            Counter::Calls => add(&mut self.calls, number),
            Counter::Exits => add(&mut self.exits, number),
            Counter::Cycles => add(&mut self.total, number),
            Counter::Total => add(&mut self.total, above),
            Counter::Own => add(&mut self.own, above),
            Counter::Value => self.value = self.value.wrapping_add(number),
            Counter::First if number != 0 && (self.first == 0 || number < self.first) => {
                self.first = number;
            }
            Counter::First | Counter::Outermost => {}
        }
    }
}

/// An entry or an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Counter of cycles.
    pub time: u64,
    /// Index of the function.
    pub function: usize,
    /// Whether the function is left.
    pub is_exit: bool,
    /// Whether the function was reached by a jump at the end of another, which is left with it.
    pub is_chained: bool,
    /// Low half of the stack pointer in words: the same at entry and exit.
    pub depth: u32,
}

/// What one process recorded.
#[derive(Debug)]
pub struct Recording<'data> {
    /// What was recorded.
    pub hook: Hook,
    /// The program's file, as the system had it.
    pub program: String,
    /// Number of the process.
    pub process: u64,
    /// Cycles in a nanosecond; none where the process ended too soon to tell.
    pub cycles_per_ns: Option<f64>,
    /// Cycles that reading the counter takes; 0 where the hook tells no cycles.
    pub counter: u64,
    /// Cycles of each call that its stub took within the time it told: the times of functions are
    /// without them. For [`Hook::Event`], what was counted; it was taken off at once.
    pub inside: u64,
    /// What was counted, for [`Hook::Event`].
    pub event: Option<String>,
    /// Pieces of the recording that found no room.
    pub lost: u64,
    /// Entries and exits of functions of signal handlers that interrupted a probe.
    pub missed: u64,
    /// Whether the program came to its end, and was not killed.
    pub ended: bool,
    /// All instrumented functions that the linker kept, in its order.
    pub functions: Vec<FunctionRecord>,
    /// How often which function called which: caller, if it is instrumented, callee, calls.
    pub edges: Vec<(Option<usize>, usize, u64)>,
    /// Chunks of events of each thread, in order.
    events: BTreeMap<u32, Vec<&'data [u8]>>,
}

impl<'data> Recording<'data> {
    /// Reads a recording.
    ///
    /// # Errors
    /// [`ProbeError::Recording`]. Never panics, whatever the bytes are.
    pub fn parse(data: &'data [u8]) -> Result<Self, ProbeError> {
        // Long: one pass over the chunks of a recording.
        let wrong = |what: &str| ProbeError::Recording { what: what.to_owned() };
        if !data.starts_with(MAGIC) {
            return Err(wrong("it does not begin with TTPROBE1"));
        }
        let head = data.get(..PAGE).ok_or_else(|| wrong("its first page is cut off"))?;
        if word(head, first::VERSION) != RECORDING_VERSION {
            return Err(wrong("another version of trimtab wrote it"));
        }
        let hook = Hook::from_number(word(head, first::HOOK))
            .ok_or_else(|| wrong("its hook is unknown"))?;
        let cycles = long(head, first::LAST_CYCLES).saturating_sub(long(head, first::START_CYCLES));
        let nanoseconds = long(head, first::LAST_NS).saturating_sub(long(head, first::START_NS));
        let bias = long(head, first::BIAS);
        let mut recording = Self {
            hook,
            program: text(&head[first::PROGRAM..first::MISSED]),
            process: long(head, first::PROCESS),
            // Below that the clock's own steps are felt.
            cycles_per_ns: (nanoseconds > 10_000).then(|| cycles as f64 / nanoseconds as f64),
            lost: long(head, first::LOST),
            missed: long(head, first::MISSED),
            ended: word(head, first::ENDED) != 0,
            counter: long(head, first::COUNTER),
            inside: long(head, first::INSIDE),
            event: hook.counts_chosen().then(|| text(&head[first::EVENT..first::PROGRAM])),
            functions: Vec::new(),
            edges: Vec::new(),
            events: BTreeMap::new(),
        };
        let mut cells: HashMap<(u32, u32), usize> = HashMap::new();
        let mut edges: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut at = PAGE;
        while let Some(head) = data.get(at..at.saturating_add(chunk::SIZE)) {
            let bytes = usize::try_from(long(head, chunk::BYTES)).unwrap_or(usize::MAX);
            if bytes < chunk::SIZE || !bytes.is_multiple_of(PAGE) {
                // The program was killed while it made the chunk, or it could not.
                at += PAGE;
                continue;
            }
            let used = usize::try_from(long(head, chunk::USED)).unwrap_or(usize::MAX);
            let rest = &data[at + chunk::SIZE..data.len().min(at.saturating_add(bytes))];
            let content = &rest[..used.min(rest.len())];
            match word(head, chunk::KIND) {
                abi::CHUNK_FUNCTIONS => recording.read_functions(
                    content,
                    word(head, chunk::THREAD),
                    bias,
                    &mut cells,
                )?,
                abi::CHUNK_CELLS => recording.read_cells(content, &cells),
                abi::CHUNK_TRACE => {
                    recording.events.entry(word(head, chunk::THREAD)).or_default().push(content)
                }
                abi::CHUNK_EDGES => read_edges(content, &mut edges),
                _ => {}
            }
            at = at.saturating_add(bytes);
        }
        if recording.functions.is_empty() {
            return Err(wrong("it has no functions; the program was killed before it began"));
        }
        let count = recording.functions.len();
        let known = |number: u32| (number as usize).checked_sub(2).filter(|&index| index < count);
        for ((from, to), calls) in edges {
            if let Some(to) = known(to) {
                recording.functions[to].calls = recording.functions[to].calls.saturating_add(calls);
                recording.edges.push((known(from), to, calls));
            }
        }
        recording.take_off_overhead();
        Ok(recording)
    }

    /// Takes from the times what is the stubs' own. What they took around calls their callers were
    /// not charged with when it was recorded. Not from total times of functions that may have
    /// called themselves: how many of the calls these are of is not known.
    ///
    /// The processor may be slower while the overhead is measured than later, for a while shorter
    /// than a millisecond. Then more would be taken off than there was, and a function that is
    /// called often would seem to take no time, so each call keeps the least that it can take.
    fn take_off_overhead(&mut self) {
        let Some(counter) = self.hook.overhead() else { return };
        let shortest_call = self.cycles_per_ns.unwrap_or(0.0) * SHORTEST_CALL_NS;
        for function in &mut self.functions {
            let overhead = function.calls.saturating_mul(self.inside);
            let least = (function.calls as f64 * shortest_call) as u64;
            let least = least.min(function.total);
            function.take_off(counter, overhead, least);
        }
    }

    fn read_functions(
        &mut self,
        content: &[u8],
        count: u32,
        bias: u64,
        cells: &mut HashMap<(u32, u32), usize>,
    ) -> Result<(), ProbeError> {
        let wrong =
            || ProbeError::Recording { what: "its table of functions is cut off".to_owned() };
        let count = count as usize;
        let end = count.checked_mul(function_record::SIZE).ok_or_else(wrong)?;
        let (records, names) = content.split_at_checked(end).ok_or_else(wrong)?;
        for record in records.chunks_exact(function_record::SIZE) {
            let from = word(record, function_record::NAME) as usize;
            let name = names
                .get(from..from.saturating_add(word(record, function_record::NAME_LENGTH) as usize))
                .ok_or_else(wrong)?;
            cells.insert(
                (word(record, function_record::OBJECT), word(record, function_record::CELL)),
                self.functions.len(),
            );
            self.functions.push(FunctionRecord {
                name: String::from_utf8_lossy(name).into_owned(),
                address: long(record, function_record::START).wrapping_sub(bias),
                size: word(record, function_record::BYTES),
                calls: 0,
                exits: 0,
                total: 0,
                own: 0,
                first: 0,
                value: 0,
            });
        }
        Ok(())
    }

    fn read_cells(&mut self, content: &[u8], cells: &HashMap<(u32, u32), usize>) {
        let size = self.hook.cell_size() as usize;
        let mut rest = content;
        while let Some((head, behind)) = rest.split_at_checked(block::SIZE) {
            let object = word(head, block::OBJECT);
            let bytes = (word(head, block::BYTES) as usize).min(behind.len());
            let (block, next) = behind.split_at(bytes);
            rest = next;
            if size == 0 {
                continue;
            }
            for (cell, counts) in block.chunks_exact(size).enumerate() {
                let Some(&index) = cells.get(&(object, cell as u32)) else { continue };
                let function = &mut self.functions[index];
                for (place, counter) in self.hook.cell().iter().enumerate() {
                    function.add(*counter, long(counts, 8 * place));
                }
            }
        }
    }

    /// The threads that recorded events, each with its events in order.
    pub fn threads(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = Event>)> {
        self.events.iter().map(|(&thread, chunks)| {
            let events = chunks.iter().flat_map(|chunk| chunk.chunks_exact(event::SIZE));
            let events = events.map(|it| Event {
                time: long(it, event::TIME) & !(abi::EVENT_EXIT | abi::EVENT_CHAINED),
                function: word(it, event::FUNCTION) as usize,
                is_exit: long(it, event::TIME) & abi::EVENT_EXIT != 0,
                is_chained: long(it, event::TIME) & abi::EVENT_CHAINED != 0,
                depth: word(it, event::DEPTH),
            });
            let count = self.functions.len();
            (thread, events.filter(move |event| event.time != 0 && event.function < count))
        })
    }
}

fn read_edges(content: &[u8], edges: &mut BTreeMap<(u32, u32), u64>) {
    for it in content.chunks_exact(edge::SIZE) {
        let (from, to, count) = (word(it, edge::FROM), word(it, edge::TO), long(it, edge::COUNT));
        if from != 0 {
            let known = edges.entry((from, to)).or_default();
            *known = known.saturating_add(count);
        }
    }
}

/// What stands in front of the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// 4 bytes at an offset; 0 beyond the end.
fn word(data: &[u8], at: usize) -> u32 {
    data.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// 8 bytes at an offset; 0 beyond the end.
fn long(data: &[u8], at: usize) -> u64 {
    data.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording of two functions whose calls' stubs took 20 cycles within their times.
    fn recorded(hook: Hook, cells: &[u64]) -> Vec<u8> {
        let mut data = vec![0; PAGE];
        data[..8].copy_from_slice(MAGIC);
        data[8..12].copy_from_slice(&RECORDING_VERSION.to_le_bytes());
        data[12..16].copy_from_slice(&hook.number().to_le_bytes());
        data[96..104].copy_from_slice(&20u64.to_le_bytes());
        let mut chunk = |kind: u32, count: u32, content: &[u8]| {
            let at = data.len();
            data.extend(kind.to_le_bytes());
            data.extend(count.to_le_bytes());
            data.extend((PAGE as u64).to_le_bytes());
            data.extend((content.len() as u64).to_le_bytes());
            data.extend([0; 8]);
            data.extend(content);
            data.resize(at + PAGE, 0);
        };
        let mut table = Vec::new();
        for cell in 0..2u32 {
            table.extend((0x1000 * u64::from(cell + 1)).to_le_bytes());
            for word in [16, 1, cell, 0, cell, 1] {
                table.extend(u32::to_le_bytes(word));
            }
        }
        table.extend(b"ab");
        chunk(1, 2, &table);
        let mut block = Vec::new();
        block.extend(1u32.to_le_bytes());
        block.extend((8 * cells.len() as u32).to_le_bytes());
        block.extend([0; 8]);
        block.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
        chunk(2, 0, &block);
        data
    }

    #[test]
    fn times_are_without_what_stubs_took() {
        let data = recorded(Hook::Time, &[10, 900, 700, 0, 1000, 21_000, 20_300, 0]);
        let functions = Recording::parse(&data).unwrap().functions;
        assert_eq!((functions[0].name.as_str(), functions[0].calls), ("a", 10));
        assert_eq!((functions[0].total, functions[0].own), (900, 500));
        assert_eq!((functions[1].total, functions[1].own), (21_000, 300));
    }

    #[test]
    fn a_time_does_not_fall_below_nothing() {
        let below = (-40i64).cast_unsigned();
        let data = recorded(Hook::Time, &[1, 900, below, 0, 10, 800, 700, 0]);
        let functions = Recording::parse(&data).unwrap().functions;
        assert_eq!((functions[0].own, functions[1].own), (0, 500));
        let data = recorded(Hook::Cycles, &[10, 900, 1000, 19_000]);
        let functions = Recording::parse(&data).unwrap().functions;
        assert_eq!((functions[0].total, functions[1].total), (700, 0));
    }

    #[test]
    fn calls_keep_the_least_that_they_can_take() {
        // What the second calls is itself, and more was taken off around those calls than they took.
        let below = (-40i64).cast_unsigned();
        let cells = [1_000_000, 18_000_000, 15_000_000, 0, 9_000_000, 18_000_000, below, 0];
        let mut data = recorded(Hook::Time, &cells);
        let cycles_per_ns = 3;
        data[first::LAST_CYCLES..][..8]
            .copy_from_slice(&(cycles_per_ns * 1_000_000u64).to_le_bytes());
        data[first::LAST_NS..][..8].copy_from_slice(&1_000_000u64.to_le_bytes());
        let own = |data: &[u8]| -> Vec<u64> {
            let recording = Recording::parse(data).unwrap();
            recording.functions.iter().map(|function| function.own).collect()
        };
        assert_eq!(own(&data), [1_000_000, 9_000_000]);
        // It is not more than all calls took together.
        assert_eq!(own(&recorded(Hook::Time, &cells)), [0, 0]);
        data[first::LAST_CYCLES..][..8].copy_from_slice(&30_000_000u64.to_le_bytes());
        assert_eq!(own(&data), [10_000_000, 18_000_000]);
    }

    #[test]
    fn events_have_their_name_and_nothing_is_taken_off_again() {
        let below = (-3i64).cast_unsigned();
        let mut data = recorded(Hook::Event, &[10, 900, 700, 0, 1000, below, below, 0]);
        data[104..115].copy_from_slice(b"page-faults");
        data[136..140].copy_from_slice(b"/app");
        let recording = Recording::parse(&data).unwrap();
        assert_eq!(recording.event.as_deref(), Some("page-faults"));
        assert_eq!(recording.program, "/app");
        assert_eq!((recording.functions[0].total, recording.functions[0].own), (900, 700));
        assert_eq!((recording.functions[1].total, recording.functions[1].own), (0, 0));
    }

    #[test]
    fn counts_stay_as_they_are() {
        let data = recorded(Hook::Count, &[10, 9, 1000, 1000]);
        let functions = Recording::parse(&data).unwrap().functions;
        assert_eq!((functions[0].calls, functions[0].exits), (10, 9));
    }
}
