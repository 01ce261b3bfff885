//! Lines of the kernel's event traces: as `trace` and `trace_pipe` of tracefs, `trace-cmd report`, `perf script`
//! and Perfetto's systrace print them.
//!
//! Only what all of them say of each event is read here: who ran, where, when, and which event it was. What an
//! event's own fields mean, whoever needs the event reads.

/// A line that is an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The name of the thread that ran.
    pub name: &'a str,
    /// Its number; 0 is idle.
    pub thread: u32,
    /// The CPU.
    pub cpu: u32,
    /// Nanoseconds.
    pub time: u64,
    /// The flags of tracefs; empty where the text has none.
    pub flags: &'a str,
    /// What stands behind the time: the event's name and its fields.
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a line; none where it is no event.
    pub fn read(text: &'a str) -> Option<Self> {
        if text.starts_with('#') {
            return None;
        }
        let ((name, thread), cpu, rest) = head(text)?;
        let mut flags = "";
        let mut rest = rest.trim_start();
        // Flags, where there are any, then the time.
        let time = loop {
            let (word, after) = rest.split_once(char::is_whitespace)?;
            rest = after.trim_start();
            match word.strip_suffix(':').and_then(nanoseconds) {
                Some(time) => break time,
                None if flags.is_empty() => flags = word,
                None => return None,
            }
        };
        Some(Self { name, thread, cpu, time, flags, text: rest })
    }

    /// The event's name, without its group, and its fields; none where it has no name.
    pub fn event(&self) -> Option<(&'a str, &'a str)> {
        let (event, fields) =
            self.text.split_once(": ").or_else(|| Some((self.text.strip_suffix(':')?, "")))?;
        // perf names the group as well.
        Some((event.rsplit(':').next().unwrap_or(event).trim(), fields.trim()))
    }

    /// Whether the flags say that the CPU was in an interrupt.
    pub fn in_interrupt(&self) -> bool {
        matches!(self.flags.as_bytes().get(2), Some(b'h' | b'H' | b's' | b'Z' | b'z'))
    }
}

/// Whether a line says that events are missing.
pub fn lost(line: &str) -> bool {
    line.contains("LOST") && line.contains("EVENTS")
        || line.contains("EVENTS DROPPED")
        || line.contains("PERF_RECORD_LOST")
}

/// What stands before the CPU in brackets: a name, which can have any letters, and a number.
fn head(text: &str) -> Option<((&str, u32), u32, &str)> {
    for (at, _) in text.match_indices('[') {
        let Some((cpu, rest)) = text[at + 1..].split_once(']') else { continue };
        let Ok(cpu) = cpu.parse() else { continue };
        let before = text[..at].trim_end();
        // The group's number in parentheses, where it was asked for.
        let before = match before.strip_suffix(')').and_then(|open| open.rfind('(')) {
            Some(open) => before[..open].trim_end(),
            None => before,
        };
        let name = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let Ok(thread) = before[name.len()..].parse() else { continue };
        let Some(name) = name.strip_suffix(['-', ' ']) else { continue };
        return Some(((name.trim(), thread), cpu, rest));
    }
    None
}

/// No machine was up for longer: three years. So sums over all CPUs fit into 64 bits.
const MOST_SECONDS: u64 = 100_000_000;

/// Seconds with digits behind a point, as nanoseconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, parts) = text.split_once('.')?;
    let digits = parts.get(..parts.len().min(9))?;
    let scale = 10_u64.checked_pow(9 - digits.len() as u32)?;
    let parts: u64 = digits.parse().ok()?;
    let whole = whole.parse::<u64>().ok().filter(|whole| *whole <= MOST_SECONDS)?;
    Some(whole * 1_000_000_000 + parts * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tracefs_trace_cmd_perf_and_perfetto_say_the_same() {
        for (text, flags) in [
            ("  kswapd0-42      [001] d..2. 34789.315258: mm_x: dev 254:0 ino c", "d..2."),
            ("  kswapd0-42    [001] 34789.315258: mm_x:                 dev 254:0 ino c", ""),
            ("kswapd0    42 [001] 34789.315258:       filemap:mm_x: dev 254:0 ino c", ""),
            ("kswapd0-42    (     42) [001] d..2. 34789.315258000: mm_x: dev 254:0 ino c", "d..2."),
            ("kswapd0-42    (-----) [001] d..2. 34789.315258: mm_x: dev 254:0 ino c", "d..2."),
        ] {
            let line = Line::read(text).unwrap();
            assert_eq!((line.name, line.thread, line.cpu), ("kswapd0", 42, 1), "{text}");
            assert_eq!((line.time, line.flags), (34_789_315_258_000, flags), "{text}");
            assert_eq!(line.event(), Some(("mm_x", "dev 254:0 ino c")), "{text}");
        }
    }

    #[test]
    fn what_is_no_event_is_none() {
        for text in [
            "",
            "# tracer: nop",
            "words",
            "a-1 [000]",
            "a-\u{3bf}1 [000] 1.0: y: z",
            "a-1 [000] d.... x: y: z",
            "a-b [0] 1.0: y: z",
        ] {
            assert_eq!(Line::read(text), None, "{text}");
        }
        assert!(lost("CPU:1 [LOST 77 EVENTS]") && !lost("a-1 [000] 1.0: lost: 5"));
        assert!(Line::read("a-1 [000] ..s. 1.0: y: z").unwrap().in_interrupt());
    }
}
