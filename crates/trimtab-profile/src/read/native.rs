//! Our own format, which our tracers write: text, so that `grep` and `sort` work on it.
//!
//! ```text
//! trimtab-trace 1
//! source qemu-plugin
//! build-id 5a0c…                             (optional)
//! events
//! ffffffff81000000 12 5 startup_64+0x0       (address, bytes, count; symbol optional)
//! ```
//!
//! 0 bytes mean that only the first instruction is known to have run.

use super::{TraceError, bad_line};
use crate::trace::{Event, Place, Source, Trace};
use std::fmt::Write;
use trimtab_program::Program;

pub(super) const MAGIC: &str = "trimtab-trace 1\n";
const FORMAT: &str = "trimtab";

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    let mut lines = text.lines().enumerate().skip(1).map(|(index, line)| (index + 1, line));
    let mut trace = Trace::new(Source::QemuPlugin);
    loop {
        let Some((number, line)) = lines.next() else {
            return Err(TraceError::Empty {
                expected: "expected a line `events` and the events after it; \
                           did the traced machine end before it was asked to?",
            });
        };
        match line.split_once(' ') {
            None if line == "events" => break,
            Some(("source", name)) => match Source::from_name(name) {
                Some(source) => trace.source = source,
                None => return Err(bad_line(number, FORMAT, line, "a known source")),
            },
            Some(("build-id", id)) => trace.build_id = Some(id.to_owned()),
            // Further facts are allowed, so that newer tracers can say more.
            Some(_) => {}
            None => return Err(bad_line(number, FORMAT, line, "`KEY VALUE` or `events`")),
        }
    }
    for (number, line) in lines {
        let expected = "`ADDRESS BYTES COUNT [SYMBOL+0xOFFSET]`";
        let bad = || bad_line(number, FORMAT, line, expected);
        let mut words = line.split_ascii_whitespace();
        let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        let length = words.next().and_then(|word| word.parse().ok());
        let count = words.next().and_then(|word| word.parse::<u64>().ok());
        let (Some(start), Some(length), Some(count)) = (address, length, count) else {
            return Err(bad());
        };
        let symbol = match words.next() {
            None => None,
            Some(symbol) => {
                let (name, offset) = symbol.rsplit_once("+0x").ok_or_else(bad)?;
                let offset = u64::from_str_radix(offset, 16).map_err(|_| bad())?;
                Some((trace.intern(name), offset))
            }
        };
        let place = match length {
            0 => Place::Address(start),
            length => Place::Block { start, length },
        };
        trace.record(place, symbol, count.max(1));
    }
    if trace.is_empty() {
        return Err(TraceError::Empty { expected: "expected events after the line `events`" });
    }
    Ok(trace)
}

/// Writes `trace` in this format, with the symbols of `program` beside the addresses, so that it
/// still fits when the same code is linked in another order. Events without an address are left
/// out.
pub fn write(trace: &Trace, program: &Program<'_>) -> String {
    let id = program.build_id().map(hex::encode);
    write_with(trace, id, |start, _| {
        let function = program.function(program.function_at(start)?);
        Some((function.name, start - function.range.start))
    })
}

/// Writes `trace` in this format as it was recorded, with the symbols that the tracer gave. Events
/// without an address are left out.
pub fn write_recorded(trace: &Trace) -> String {
    write_with(trace, trace.build_id.clone(), |_, event| {
        event.symbol.map(|(name, offset)| (trace.name(name), offset))
    })
}

fn write_with<'a>(
    trace: &Trace,
    build_id: Option<String>,
    symbol: impl Fn(u64, &Event) -> Option<(&'a str, u64)>,
) -> String {
    let mut text = String::from(MAGIC);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "source {}", trace.source().name());
    if let Some(id) = build_id {
        let _ = writeln!(text, "build-id {id}");
    }
    let _ = writeln!(text, "events");
    for event in trace.events() {
        let (start, length) = match event.place {
            Place::Block { start, length } => (start, length),
            Place::Address(start) => (start, 0),
            Place::Name(_) => continue,
        };
        let _ = write!(text, "{start:x} {length} {}", event.count);
        // Blanks separate columns, and names of some languages hold them.
        let symbol = symbol(start, event).filter(|(name, _)| !name.contains(char::is_whitespace));
        if let Some((name, offset)) = symbol {
            let _ = write!(text, " {name}+{offset:#x}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::listing;

    #[test]
    fn reads_facts_and_events() {
        let text = "trimtab-trace 1\nsource perf\nbuild-id 5a0c\nclock icount=1\nevents\n\
                    ffffffff81000000 12 5 startup_64+0x0\n401000 3 0\n401000 3 2 a+0xb+0x10\n";
        let trace = read(text).unwrap();
        assert_eq!(trace.source(), Source::Perf);
        assert_eq!(trace.build_id.as_deref(), Some("5a0c"));
        assert_eq!(listing(&trace), ["ffffffff81000000/12 startup_64+0x0 5", "401000/3 3"]);
    }

    #[test]
    fn what_was_recorded_reads_back() {
        let mut trace = Trace::new(Source::Breakpoints);
        trace.build_id = Some("5a0c".to_owned());
        let [main, odd] = ["main", "two words"].map(|name| Some((trace.intern(name), 0)));
        trace.record(Place::Address(0x401000), main, 1);
        trace.record(Place::Address(0x400000), odd, 1);
        trace.record(Place::Block { start: 0x401000, length: 3 }, main, 2);
        let text = write_recorded(&trace);
        let head = "trimtab-trace 1\nsource breakpoints\nbuild-id 5a0c\nevents\n";
        assert_eq!(text, format!("{head}401000 0 1 main+0x0\n400000 0 1\n401000 3 2 main+0x0\n"));
        let again = read(&text).unwrap();
        assert_eq!((again.source(), &again.build_id), (Source::Breakpoints, &trace.build_id));
        assert_eq!(listing(&again), ["401000 main+0x0 1", "400000 1", "401000/3 main+0x0 2"]);
    }

    #[test]
    fn says_which_line_is_wrong() {
        for (lines, number) in [
            ("source strace\n", 2),
            ("garbage\n", 2),
            ("events\n401000 3\n", 3),
            ("events\n401000 3 1\n401000 -3 1\n", 4),
            ("events\nxyz 3 1\n", 3),
            ("events\n401000 3 1 no-offset\n", 3),
            ("events\n401000 3 1 a+0xyz\n", 3),
        ] {
            let error = read(&format!("{MAGIC}{lines}")).unwrap_err();
            assert!(matches!(error, TraceError::Line { line, .. } if line == number), "{error}");
        }
    }

    #[test]
    fn an_empty_trace_says_why() {
        for text in ["", "source ftrace\n", "events\n"] {
            let error = read(&format!("{MAGIC}{text}")).unwrap_err();
            assert!(matches!(error, TraceError::Empty { .. }), "{error}");
        }
    }
}
