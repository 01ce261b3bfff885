//! What `perf script` prints: samples, of the kernel and of user programs, with and without call
//! chains.
//!
//! ```text
//! loop 26582  1208.370640:     250000 cpu-clock:  ffffffff815f4b79 change_pte_range+0x239 ([kernel.kallsyms])
//!
//! loop 24825  1149.094383:     250000 cpu-clock:
//!             1155 work+0x1c (/tmp/loop)
//!             1190 main+0x25 (/tmp/loop)
//! ```
//!
//! Of a call chain the innermost frame is where the sample was taken; the others are callers, which ran
//! before it. Samples are put in order of their time, where they have one.

mod columns;

use super::TraceError;
use super::symbol::{hex, split_offset};
use super::tally::Tally;
use crate::trace::{NameId, Place, Source, Trace};
use columns::{behind_columns, without_columns};

const FORMAT: &str = "perf";

/// Shortest address that is believed where nothing but its look tells it from a number.
const ADDRESS_DIGITS: usize = 6;

/// The kinds under which lines are counted that are passed over.
const TRACEPOINTS: &str = "other events";

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    // Long: a case for each kind of line, and the state between lines.
    let mut samples: Vec<Sample<'_>> = Vec::new();
    let mut tally = Tally::new(FORMAT, "`COMM PID TIME: EVENT: ADDRESS SYMBOL+0xOFFSET (FILE)`");
    let mut trace = Trace::new(Source::Perf);
    let mut time = 0.0;
    // Whether a line of a call chain goes on with the last sample.
    let mut in_chain = false;
    // A line that can only be the head of a call chain: a chain or nothing must follow.
    let mut head: Option<(usize, &str)> = None;
    for (index, line) in text.lines().enumerate() {
        match Line::parse(line) {
            Line::Chain(frame) => {
                head = None;
                match frame {
                    Some(frame) if in_chain => {
                        if let Some(sample) = samples.last_mut() {
                            sample.frames.push(frame);
                        }
                    }
                    Some(frame) => {
                        samples.push(Sample { time, frames: vec![frame] });
                        in_chain = true;
                    }
                    None => {
                        tally.unreadable(index + 1, line);
                        continue;
                    }
                }
                tally.good();
                continue;
            }
            Line::Nothing => head = None,
            Line::Remark { lost: count } => {
                trace.lost = trace.lost.saturating_add(count);
                continue;
            }
            Line::Jump { time: at, from, to } => {
                tally.good();
                head = None;
                time = at.unwrap_or(time);
                samples.extend(
                    [from, to]
                        .into_iter()
                        .flatten()
                        .map(|frame| Sample { time, frames: vec![frame] }),
                );
            }
            Line::Sample { time: at, frame } => {
                if let Some((number, line)) = head.take() {
                    tally.unreadable(number, line);
                }
                tally.good();
                time = at.unwrap_or(time);
                match frame {
                    Some(frame) => samples.push(Sample { time, frames: vec![frame] }),
                    // Of a chain that follows, this is the head.
                    None if !is_chain_head(line) => trace.pass_over(TRACEPOINTS, 1),
                    None => {}
                }
            }
            // `-F +srcline` prints a line of the source below each frame.
            // `  [kernel.kallsyms][ffffffff8163561d]` where it knows none.
            Line::Unknown
                if line.starts_with("  ") && (line.contains(':') || line.contains("][")) =>
            {
                continue;
            }
            Line::Unknown => {
                if let Some((number, line)) = head.replace((index + 1, line)) {
                    tally.unreadable(number, line);
                }
            }
        }
        in_chain = false;
    }
    if let Some((number, line)) = head
        && text.ends_with('\n')
    {
        tally.unreadable(number, line);
    }
    // Stable: samples without a time stay where they are.
    samples.sort_by(|a, b| a.time.total_cmp(&b.time));
    for sample in &samples {
        sample.record(&mut trace);
    }
    tally.finish(&mut trace)?;
    if trace.is_empty() {
        return Err(TraceError::Empty {
            expected: "expected samples with addresses; was it printed with \
                       `perf script -F +ip,+sym,+symoff,+dso`?",
        });
    }
    Ok(trace)
}

/// Whether a line without a frame ends in the name of its event: the frames come below it.
fn is_chain_head(line: &str) -> bool {
    line.trim_end().ends_with(':')
}

/// One sample: where it was taken, and the callers.
struct Sample<'a> {
    time: f64,
    /// The innermost first.
    frames: Vec<Frame<'a>>,
}

impl Sample<'_> {
    fn record(&self, trace: &mut Trace) {
        // Inlined functions stand before the one that holds them, at its address.
        let mut frames = self.frames.iter().filter(|frame| !frame.inlined);
        let Some(innermost) = frames.next() else { return };
        // Callers began before what they called.
        for caller in frames.rev().filter_map(Frame::of_call) {
            let (object, symbol) = caller.interned(trace);
            trace.record_caller(object, Place::Address(caller.address), symbol);
        }
        let (object, symbol) = innermost.interned(trace);
        trace.record_in(object, Place::Address(innermost.address), symbol, 1);
    }
}

/// Whether `line` is a sample with its address, or a frame of a call chain.
pub(super) fn is_sample(line: &str) -> bool {
    matches!(
        Line::parse(line),
        Line::Chain(Some(_)) | Line::Sample { frame: Some(_), .. } | Line::Jump { .. }
    )
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Frame<'a> {
    address: u64,
    name: Option<&'a str>,
    offset: Option<u64>,
    object: Option<&'a str>,
    inlined: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Line<'a> {
    /// A frame of a call chain.
    Chain(Option<Frame<'a>>),
    /// A sample, or with a time but without a frame: a tracepoint, or the head of a chain.
    Sample {
        time: Option<f64>,
        frame: Option<Frame<'a>>,
    },
    /// A jump that the processor recorded, from one place to another.
    Jump {
        time: Option<f64>,
        from: Option<Frame<'a>>,
        to: Option<Frame<'a>>,
    },
    /// What perf says about its work.
    Remark {
        lost: u64,
    },
    Nothing,
    Unknown,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        if let Some(frame) = line.strip_prefix('\t') {
            return Line::Chain(Frame::parse(frame));
        }
        let content = line.trim();
        if content.is_empty() {
            return Line::Nothing;
        }
        if let Some((_, record)) = content.split_once("PERF_RECORD_") {
            return Line::Remark { lost: lost_record(record) };
        }
        let remarks = ["#", "Warning:", "[ perf", "Samples for ", "Processed ", "Cannot load "];
        if remarks.iter().any(|known| content.starts_with(known)) {
            return Line::Remark { lost: 0 };
        }
        if let Some((from, to)) = content.split_once(" => ")
            && let Some(to) = Frame::of_jump(to)
            && let (time, Some(from)) = sample(from)
        {
            // Where a recording begins or ends nothing is known of one side.
            let known = |frame: Frame<'a>| Some(frame).filter(|frame| frame.address != 0);
            return Line::Jump { time, from: known(from), to: known(to) };
        }
        let (time, frame) = sample(content);
        if time.is_none() && frame.is_none() { Line::Unknown } else { Line::Sample { time, frame } }
    }
}

/// `LOST lost 12` and `LOST_SAMPLES lost 12`, which `--show-lost-events` prints.
fn lost_record(record: &str) -> u64 {
    if !record.starts_with("LOST") {
        return 0;
    }
    record.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// The time and the frame of one line, each where it has one.
fn sample(line: &str) -> (Option<f64>, Option<Frame<'_>>) {
    // Colons that end a column. Those within names of events and functions do not.
    let mut ends = line
        .bytes()
        .enumerate()
        .filter(|&(at, byte)| {
            byte == b':' && matches!(line.as_bytes().get(at + 1), None | Some(b' '))
        })
        .map(|(at, _)| at);
    let time = ends.find_map(|end| {
        let word = line[..end].rsplit(' ').next().unwrap_or_default();
        seconds(word).map(|time| (time, end))
    });
    let Some((time, end)) = time else { return (None, without_time(line)) };
    let frame = std::iter::once(end).chain(ends).find_map(|end| {
        let rest = line[end + 1..].trim_start();
        // Behind the time stands the period, and behind that the event's name and a colon.
        let second = rest.split_ascii_whitespace().nth(1)?;
        if second.ends_with(':') { None } else { Frame::parse(behind_columns(rest)) }
    });
    (Some(time), frame)
}

/// Seconds since boot, always with a fraction.
fn seconds(word: &str) -> Option<f64> {
    let plain = word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if plain { word.parse().ok() } else { None }
}

/// The frame of a line without time and event, such as of `-F ip,sym` and `-F comm,ip,sym`.
fn without_time(line: &str) -> Option<Frame<'_>> {
    let is_address = |word: &str| word.len() >= ADDRESS_DIGITS && hex(word).is_some();
    let mut rest = line;
    loop {
        let mut words = rest.split_ascii_whitespace();
        let (first, second) = (words.next()?, words.next()?);
        // `[001]` is a processor.
        let symbol = second == "[unknown]" || !(second.starts_with('[') || is_address(second));
        if is_address(first) && symbol {
            return Frame::parse(rest);
        }
        rest = rest[rest.find(' ')?..].trim_start();
    }
}

impl<'a> Frame<'a> {
    /// Reads `1155 work+0x1c (/tmp/loop)`: the name, the offset, the file or all of them can be missing.
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (address, rest) = text.split_once(' ').unwrap_or((text, ""));
        let address = hex(address)?;
        let rest = without_columns(rest.trim_start());
        let inlined = rest.strip_suffix(" (inlined)");
        // Code without a symbol can be printed without a word for it.
        let nameless = rest.starts_with("(/") || rest.starts_with("([") || rest.starts_with("(//");
        let (symbol, object) = match rest.strip_prefix('(').filter(|_| nameless) {
            Some(object) => ("", object.strip_suffix(')')),
            None => split_object(inlined.unwrap_or(rest)),
        };
        let (name, offset) = split_offset(symbol);
        // A period and an event's name look like an address and a symbol, but for the colon.
        if name.ends_with(':') || (name.starts_with('(') && !name.starts_with("(anonymous ")) {
            return None;
        }
        Some(Frame {
            address,
            name: (!name.is_empty() && name != "[unknown]").then_some(name),
            offset,
            object: object.map(without_offset).filter(|object| *object != "[unknown]"),
            inlined: inlined.is_some(),
        })
    }

    /// Reads where a jump led to: there must be a symbol or a file.
    fn of_jump(text: &'a str) -> Option<Self> {
        let frame = Frame::parse(text)?;
        (frame.name.is_some() || frame.object.is_some() || text.contains("[unknown]"))
            .then_some(frame)
    }

    /// The place of the call, of a frame to which a function is going to return. Nothing where it would
    /// return behind the end of the caller: then the symbol is that of the function behind it. Nor where
    /// nobody knows what is there: stacks are often guessed.
    fn of_call(&self) -> Option<Self> {
        self.name?;
        let offset = match self.offset {
            Some(offset) => Some(offset.checked_sub(1)?),
            None => None,
        };
        Some(Frame { address: self.address.saturating_sub(1), offset, ..*self })
    }

    /// The object and the symbol with its offset, as a trace has them.
    fn interned(&self, trace: &mut Trace) -> (Option<NameId>, Option<(NameId, u64)>) {
        let object = self.object.map(|object| trace.intern(object));
        let symbol = self.name.map(|name| (trace.intern(name), self.offset.unwrap_or(0)));
        (object, symbol)
    }
}

/// Without the offset in the file, which `-F +dsoff` prints: `/tmp/loop+0x1155`.
fn without_offset(object: &str) -> &str {
    split_offset(object).0
}

/// Splits the file in parentheses off the end. Names of C++ functions hold parentheses as well.
fn split_object(text: &str) -> (&str, Option<&str>) {
    let Some(inner) = text.strip_suffix(')') else { return (text, None) };
    let file_end = inner.strip_suffix(" (deleted)").map_or(inner.len(), str::len);
    match inner[..file_end].rfind(" (") {
        Some(at) => (text[..at].trim_end(), Some(&inner[at + 2..])),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::listing;

    const EXPECTED: [&str; 3] = [
        "ffffffff815f4b79 change_pte_range+0x239 in [kernel.kallsyms] 1",
        "1155 work+0x1c in /tmp/loop 2",
        "f8350 in /usr/lib/libc.so.6 (deleted) 1",
    ];

    #[test]
    fn columns_behind_the_file_are_none_of_its_name() {
        let text = "\
 loop 26582  1208.370640: 250000 cpu-clock:  ffffffff815f4b79 change_pte_range+0x239 ([kernel.kallsyms]) insn: 48 81
 loop 26582  1208.370641: 250000 cpu-clock:  1155 work+0x1c (/tmp/loop) insn: 48 83 c2 01
 loop 26582  1208.370642: 250000 cpu-clock:  1155 work+0x1c (/tmp/loop)  0x1155/0x1190/P/-/-/0
 loop 26582  1208.370643: 250000 cpu-clock:  f8350 [unknown] (/usr/lib/libc.so.6 (deleted)) insn: 90
";
        assert_eq!(listing(&read(text).unwrap()), EXPECTED);
    }

    #[test]
    fn offsets_in_files_and_columns_before_the_address_are_no_names() {
        let text = "\
 loop 26582  1208.370640: 250000 cpu-clock:  ffffffff815f4b79 change_pte_range+0x239 ([kernel.kallsyms]+0x1b79)
 loop 26582  1208.370641: 1 page-faults:u:      7f9aa190e99a     1155 work+0x1c (/tmp/loop+0x1155)
 loop 26582  1208.370642: 1 cpu/mem-loads/P: 7f9aa 5080021 |OP LOAD|LVL L1 hit|BLK N/A    35   1155 work+0x1c (/tmp/loop)
 loop 26582  1208.370643: 250000 cpu-clock:  f8350 [unknown] (/usr/lib/libc.so.6 (deleted))
";
        assert_eq!(listing(&read(text).unwrap()), EXPECTED);
        // Names that look like numbers.
        for (line, expected) in [
            ("a 1 1.5: 1 cycles: 1155 add (/tmp/a)", "1155 add+0x0 in /tmp/a 1"),
            ("a 1 1.5: 1 cycles: 7f00 1155 add (/tmp/a)", "1155 add+0x0 in /tmp/a 1"),
            ("a 1 1.5: 1 cycles: 1155 face", "1155 face+0x0 1"),
            ("a 1 1.5: 1 cycles: 1155 call (/tmp/a)", "1155 call+0x0 in /tmp/a 1"),
        ] {
            assert_eq!(listing(&read(line).unwrap()), [expected], "{line}");
        }
    }

    #[test]
    fn both_ends_of_a_recorded_jump_ran() {
        let text = "\
 ls 1 [001] 2.1:  1   branches:u:   tr strt          0 [unknown] ([unknown]) =>     401226 _start+0x0 (/bin/ls)
 ls 1 [001] 2.2:  1   branches:u:   call        401230 _start+0xa (/bin/ls) =>     401126 a::f(int)+0x0 (/bin/ls)
 ls 1 [001] 2.3:  1   branches:u:      401130 a::f(int)+0xa (/bin/ls) =>   7f00 puts+0x0 (/usr/lib/libc.so.6)
 ls 1 [001] 2.4:  1   branches:u:   tr end  syscall  7f08 puts+0x8 (/usr/lib/libc.so.6) =>        0 [unknown] ([unknown])
";
        let trace = read(text).unwrap();
        assert_eq!(
            listing(&trace),
            [
                "401226 _start+0x0 in /bin/ls 1",
                "401230 _start+0xa in /bin/ls 1",
                "401126 a::f(int)+0x0 in /bin/ls 1",
                "401130 a::f(int)+0xa in /bin/ls 1",
                "7f00 puts+0x0 in /usr/lib/libc.so.6 1",
                "7f08 puts+0x8 in /usr/lib/libc.so.6 1",
            ]
        );
        // A name can hold an arrow of its own.
        let text = "a 1 1.5: 1 cycles: 1155 <fn() => u8 as F>::f+0x1 (/tmp/a)";
        assert_eq!(listing(&read(text).unwrap()), ["1155 <fn() => u8 as F>::f+0x1 in /tmp/a 1"]);
    }

    #[test]
    fn reads_samples_without_call_chains() {
        let text = "\
# ========
# captured on    : Sat Nov 21 20:07:08 2026
# ========
#
            loop 26582  1208.370185: PERF_RECORD_MMAP2 26582/26582: [0x55d1(0x1000)]: r-xp /tmp/loop
            loop 26582  1208.370640:     250000 cpu-clock:  ffffffff815f4b79 change_pte_range+0x239 ([kernel.kallsyms])
     a b: c  26582 [001] 1208.370640:     250000 cycles:u:      1155 work+0x1c (/tmp/loop)
            loop 26582/26582  1208.371139: cpu-clock:      1155 work+0x1c (/tmp/loop)
            loop 26582  1208.371639: PERF_RECORD_LOST lost 12
            loop 26582  1208.371639:  250000 cpu-clock:  f8350 [unknown] (/usr/lib/libc.so.6 (deleted))
";
        let trace = read(text).unwrap();
        assert_eq!(listing(&trace), EXPECTED);
        assert_eq!(trace.lost, 12);
        assert_eq!(trace.source(), Source::Perf);
    }

    #[test]
    fn callers_ran_where_the_frame_of_the_sample_has_no_name() {
        let text = "\
app 24825  1149.094100:     250000 cpu-clock: 
\t          201180 [unknown] (/usr/lib/libgone.so)
\t            1190 main+0x25 (/tmp/app)
";
        let trace = read(text).unwrap();
        let named = |event: &crate::Event| {
            event.symbol.is_some_and(|(id, _)| trace.name(id) == "main") && event.count == 0
        };
        assert!(trace.events().iter().any(named), "{:?}", trace.events());
    }

    #[test]
    fn callers_in_call_chains_ran_before_what_they_called() {
        let text = "\
loop 24825  1149.094100:     250000 cpu-clock: 
\tffffffff815f4b79 change_pte_range+0x239 ([kernel.kallsyms])
\tffffffff816b6438 vfs_write+0x398 ([kernel.kallsyms])
\t       690000000 [unknown] ([unknown])

loop 24825  1149.094200:     250000 cpu-clock: 
\t            1155 square (inlined)
\t            1155 work+0x1c (/tmp/loop)
  loop.c:2
\t            1190 main+0x25 (/tmp/loop)
  loop.c:5

loop 24825  1149.094300:     250000 cpu-clock: 

loop 24825  1149.094383:     250000 cpu-clock: 
\t            1155 work+0x1c (/tmp/loop)

loop 24825  1149.094400:     250000 cpu-clock: 
\t           f8350 [unknown] (/usr/lib/libc.so.6 (deleted))

";
        let trace = read(text).unwrap();
        assert_eq!(
            listing(&trace),
            [
                "ffffffff816b6437 vfs_write+0x397 in [kernel.kallsyms] 0",
                "ffffffff815f4b79 change_pte_range+0x239 in [kernel.kallsyms] 1",
                "118f main+0x24 in /tmp/loop 0",
                "1155 work+0x1c in /tmp/loop 2",
                "f8350 in /usr/lib/libc.so.6 (deleted) 1",
            ]
        );
        assert_eq!(trace.passed().count(), 0);
    }

    #[test]
    fn reads_other_choices_of_fields() {
        let expected = ["7f04326bbf38 check.constprop.0+0x158 1", "55d19eda4155 work+0x1c 1"];
        for text in [
            "     7f04326bbf38 check.constprop.0+0x158\n     55d19eda4155 work+0x1c\n",
            "\n\t    7f04326bbf38 check.constprop.0+0x158\n\t   690000000 [unknown]\n\n\n\t    55d19eda4155 work+0x1c\n\n",
            "loop \n\t    7f04326bbf38 check.constprop.0+0x158\n\nloop \n\t    55d19eda4155 work+0x1c\n\n",
            "   loop      7f04326bbf38 check.constprop.0+0x158\n   loop      55d19eda4155 work+0x1c\n",
            "   a b 1234567 [001]  7f04326bbf38 check.constprop.0+0x158\n  loop 1 55d19eda4155 work+0x1c\n",
            " 1208.370391:      7f04326bbf38 check.constprop.0+0x158\n 1208.4:  55d19eda4155 work+0x1c\n",
        ] {
            assert_eq!(listing(&read(text).unwrap()), expected, "{text}");
        }
        // Names of C++ functions hold blanks, colons and parentheses.
        let text = "app 1 1.5:  1 cycles:  4011a6 ns::f(int, char const*)+0x10 (/opt/my app)\n";
        assert_eq!(
            listing(&read(text).unwrap()),
            ["4011a6 ns::f(int, char const*)+0x10 in /opt/my app 1"]
        );
    }

    #[test]
    fn orders_by_time() {
        let text = "\
a 1 2.500000:  1 cycles:  20 second+0x0 (a)
a 1 10.000000:  1 cycles:  30 third+0x0 (a)
a 1 0.900000:  1 cycles:  10 first+0x0 (a)
";
        let trace = read(text).unwrap();
        assert_eq!(
            listing(&trace).concat(),
            "10 first+0x0 in a 120 second+0x0 in a 130 third+0x0 in a 1"
        );
    }

    #[test]
    fn passes_over_tracepoints() {
        let text = "\
ls 1 [000] 1.5: sched:sched_switch: prev_comm=ls prev_pid=1 ==> next_comm=x next_pid=2
ls 1 [000] 1.6: cpu-clock: 1155 work+0x1c (a)
";
        let trace = read(text).unwrap();
        assert_eq!(listing(&trace), ["1155 work+0x1c in a 1"]);
        assert_eq!(trace.passed().collect::<Vec<_>>(), [("other events", 1)]);
    }

    #[test]
    fn frames_need_no_name() {
        let text = "\
a 1 2.5:  1 cycles:  20 f+0x0 (/bin/a)
a 1 2.6:  1 cycles:  7f26 (/bin/my app (deleted))
a 1 2.7:  1 cycles:
\t    7f27
\t    7f28 ([vdso])
\t    7f29 (anonymous namespace)::f+0x2 (/bin/a)

";
        assert_eq!(
            listing(&read(text).unwrap()),
            [
                "20 f+0x0 in /bin/a 1",
                "7f26 in /bin/my app (deleted) 1",
                "7f28 (anonymous namespace)::f+0x1 in /bin/a 0",
                "7f27 1",
            ]
        );
    }

    #[test]
    fn one_bad_frame_in_many_lines_is_passed_over() {
        let good = "a 1 2.5:  1 cycles:\n\t    20 f+0x0 (a)\n\n".repeat(40);
        let trace = read(&format!("{good}a 1 2.6: 1 cycles:\n\tno frame\n\n{good}")).unwrap();
        assert_eq!(listing(&trace), ["20 f+0x0 in a 80"]);
        assert_eq!(trace.passed().collect::<Vec<_>>(), [("unreadable lines", 1)]);
    }

    #[test]
    fn refuses_garbage_and_emptiness() {
        let good = "a 1 2.5:  1 cycles:  20 f+0x0 (a)\n";
        let bad = |text: String, line| {
            let error = read(&text).unwrap_err();
            assert!(matches!(error, TraceError::Lines { line: l, .. } if l == line), "{error}");
        };
        bad(format!("{good}Segmentation fault\n{good}"), 2);
        bad(format!("{good}Segmentation fault\n"), 2);
        bad(format!("{good}a 1 2.5:  1 cycles:\n\tno frame\n"), 3);
        assert_eq!(listing(&read(&format!("{good}a 1 2.")).unwrap()), ["20 f+0x0 in a 1"]);
        assert!(matches!(read("# ========\n"), Err(TraceError::Empty { .. })));
    }
}
