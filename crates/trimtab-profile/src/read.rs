//! Readers: one for each source of traces, all give a [`Trace`].

mod ftrace;
mod list;
mod native;
mod perf;
mod symbol;
mod tally;
#[cfg(test)]
mod testing;
mod trace_cmd;
mod uftrace;

use crate::trace::Trace;
use std::borrow::Cow;
use thiserror::Error;

pub use native::{write as write_native, write_recorded};

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Our own: first line `trimtab-trace 1`.
    Native,
    /// tracefs `trace` or `trace_pipe` of the function tracer.
    Ftrace,
    /// tracefs `trace` or `trace_pipe` of the function_graph tracer.
    FunctionGraph,
    /// `trace-cmd report`.
    TraceCmd,
    /// `perf script`.
    Perf,
    /// `uftrace replay` and `uftrace dump`.
    Uftrace,
    /// A list of names or addresses, one a line.
    List,
}

/// Why a text is not a trace.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TraceError {
    /// Nothing in it.
    #[error("the trace is empty: {expected}")]
    Empty {
        /// What should be there, and how it comes there.
        expected: &'static str,
    },
    /// A line that the format does not allow.
    #[error("line {line} of the {format} trace: found `{found}`, expected {expected}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Name of the format.
        format: &'static str,
        /// The line, cut to 80 characters.
        found: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// Too many lines that the format does not allow. A few are passed over.
    #[error(
        "line {line} of the {format} trace: found `{found}`, expected {expected}; \
         {unreadable} of {lines} lines cannot be read, allowed are {allowed} %"
    )]
    Lines {
        /// Line number, from 1, of the first of them.
        line: usize,
        /// Name of the format.
        format: &'static str,
        /// That line, cut to 80 characters.
        found: String,
        /// What should stand there.
        expected: &'static str,
        /// How many cannot be read.
        unreadable: u64,
        /// Of how many that say something.
        lines: u64,
        /// The largest share that is passed over, in percent.
        allowed: f64,
    },
    /// None of the known formats.
    #[error(
        "not a trace in any known format; expected a trimtab trace, ftrace `trace` text, \
         `trace-cmd report`, `perf script`, `uftrace replay` or `dump`, or a list of names or \
         addresses, one a line"
    )]
    UnknownFormat,
}

/// Reads a trace, in whichever of the known formats it is.
///
/// Names of commands in a trace can hold any byte: convert what was read with
/// [`String::from_utf8_lossy`].
///
/// # Errors
/// Whatever [`TraceError`] lists. Never panics, whatever the text is.
pub fn read(text: &str) -> Result<Trace, TraceError> {
    let plain = plain(text);
    let text = plain.as_ref();
    match detect(text)? {
        Format::Native => native::read(text),
        Format::Ftrace => ftrace::read(text),
        Format::FunctionGraph => ftrace::read_graph(text),
        Format::TraceCmd => trace_cmd::read(text),
        Format::Perf => perf::read(text),
        Format::Uftrace => uftrace::read(text),
        Format::List => list::read(text),
    }
}

/// Without what terminals, serial lines and editors add to a text: colours, carriage returns, and a mark of
/// its encoding.
fn plain(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.contains(['\u{1b}', '\r']) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Parameters of a control sequence, and the letter that ends it.
        let end = part.find(|c: char| !(c.is_ascii_digit() || matches!(c, ';' | '?')));
        let behind = end.filter(|end| part.as_bytes()[*end].is_ascii_alphabetic());
        plain.push_str(behind.map_or(part, |end| &part[end + 1..]));
    }
    let mut text = String::with_capacity(plain.len());
    for (number, line) in plain.split('\n').enumerate() {
        if number > 0 {
            text.push('\n');
        }
        text.push_str(line.trim_end_matches('\r'));
    }
    Cow::Owned(text)
}

/// Lines that are looked at to tell the format. Events of other kinds can come first.
const DETECT_LINES: usize = 2000;

/// Tells the format of a trace by its first lines.
///
/// # Errors
/// [`TraceError::Empty`] and [`TraceError::UnknownFormat`].
pub fn detect(text: &str) -> Result<Format, TraceError> {
    if text.trim().is_empty() {
        return Err(TraceError::Empty { expected: "expected at least one event; was tracing on?" });
    }
    if text.starts_with(native::MAGIC) {
        return Ok(Format::Native);
    }
    text.lines()
        .take(DETECT_LINES)
        .find_map(format_of_line)
        .or_else(|| text.lines().any(trace_cmd::is_head).then_some(Format::TraceCmd))
        .or_else(|| {
            // A single word says little: the heads of some call chains are no more than that.
            let first = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with('#'));
            first.filter(|line| list::is_item(line)).map(|_| Format::List)
        })
        .ok_or(TraceError::UnknownFormat)
}

/// The format, where `line` can be of no other.
fn format_of_line(line: &str) -> Option<Format> {
    if let Some(tracer) = line.strip_prefix("# tracer: ") {
        let graph = tracer.trim_end() == "function_graph";
        return Some(if graph { Format::FunctionGraph } else { Format::Ftrace });
    }
    if uftrace::is_line(line) {
        return Some(Format::Uftrace);
    }
    if line.starts_with('#') {
        return line.starts_with("# captured on").then_some(Format::Perf);
    }
    // Both ftrace and trace-cmd print these.
    if ftrace::lost(line).is_some() {
        return None;
    }
    if trace_cmd::is_event(line) {
        return Some(Format::TraceCmd);
    }
    if line.contains(" <-") && ftrace::is_function(ftrace::function_line(line)) {
        return Some(Format::Ftrace);
    }
    if perf::is_sample(line) {
        return Some(Format::Perf);
    }
    let processor = line.contains(')') && line.ends_with([';', '{']);
    if processor && ftrace::is_function(ftrace::graph_line(line)) {
        return Some(Format::FunctionGraph);
    }
    None
}

fn bad_line(line: usize, format: &'static str, found: &str, expected: &'static str) -> TraceError {
    TraceError::Line { line, format, found: cut(found), expected }
}

/// A line as messages show it.
fn cut(line: &str) -> String {
    line.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tells_the_formats_apart() {
        for (text, expected) in [
            ("trimtab-trace 1\nevents\n", Format::Native),
            ("# tracer: function\n#\n", Format::Ftrace),
            ("CPU:0 [LOST 3563520 EVENTS]\n  a-1 [000] ..... 5.2: f <-g\n", Format::Ftrace),
            ("f <-g\n", Format::Ftrace),
            ("# tracer: function_graph\n#\n", Format::FunctionGraph),
            (" 0)               |  f() {\n", Format::FunctionGraph),
            (" 0) f();\n", Format::FunctionGraph),
            ("cpus=2\n   ls-71  [000]  21.3: function:    f\n", Format::TraceCmd),
            ("cpus=2\n   ls-71  [000]  21.3: function:    f <-- g\n", Format::TraceCmd),
            ("cpus=2\n   ls-71  [000]  21.3: funcgraph_entry:  |  f() {\n", Format::TraceCmd),
            ("a 1 2.5:  1 cycles:  20 f+0x0 (a)\n", Format::Perf),
            ("loop \n\t  1155 f+0x0 (a)\n\n", Format::Perf),
            ("     7f04326bbf38 f\n", Format::Perf),
            ("# DURATION     TID     FUNCTION\n", Format::Uftrace),
            ("            [ 31033] | main() {\n", Format::Uftrace),
            ("main() {\n  leaf();\n", Format::Uftrace),
            ("uftrace file header: magic         = 46\n", Format::Uftrace),
            ("16.5  31: [entry] f(55b6efaef288) depth: 0\n", Format::Uftrace),
            ("start_kernel\n", Format::List),
            ("# mine\n\n0xffffffff81000000\n", Format::List),
        ] {
            assert_eq!(detect(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn colours_and_ends_of_lines_are_no_part_of_a_trace() {
        for text in [
            "trimtab-trace 1\nsource perf\nevents\n401000 3 1 a+0x0\n401010 3 1 b+0x0\n",
            "# tracer: function\n  a-1 [000] ..... 5.2: a <-g\n  a-1 [000] ..... 5.3: b <-g\n",
            "  [ 31] | a() {\n  [ 31] |   b();\n  [ 31] | } /* a */\n",
            "a\nb\n",
        ] {
            let expected = testing::listing(&read(text).unwrap());
            assert_eq!(expected.len(), 2);
            let coloured = text.replace("a() {", "\u{1b}[32ma\u{1b}[0m() {\u{1b}[K");
            for text in [
                text.replace('\n', "\r\n"),
                text.replace('\n', "\r\r\n"),
                format!("\u{feff}{text}"),
                format!("\u{feff}{}", coloured.replace('\n', "\r\n")),
                coloured,
            ] {
                assert_eq!(testing::listing(&read(&text).unwrap()), expected, "{text:?}");
            }
        }
        // What a killed writer left of its last line stays unfinished.
        assert_eq!(plain("\u{1b}[1ma\r\nb"), "a\nb");
        assert_eq!(plain("a\u{1b}["), "a");
    }

    #[test]
    fn refuses_what_is_no_trace() {
        for text in ["Hello, world!\n", "<html>\n<p>no trace</p>", "{\"a\": 1}\n", "\u{0}\u{1}\n"] {
            assert_eq!(detect(text), Err(TraceError::UnknownFormat), "{text}");
        }
        for text in ["", " \n\n"] {
            assert!(matches!(read(text), Err(TraceError::Empty { .. })), "{text}");
        }
    }

    /// One line of each kind, to be put together at random.
    const LINES: &[&str] = &[
        "trimtab-trace 1",
        "source qemu-plugin",
        "events",
        "ffffffff81000000 12 5 startup_64+0x0",
        "# tracer: function",
        "# tracer: function_graph",
        "# entries-in-buffer/entries-written: 387/3943082   #P:1",
        "CPU:0 [LOST 3 EVENTS]",
        "  a-1 [000] ..... 5.2: f+0x4/0x8 [m] <ffffffff81000000> <-g",
        " 0)               |  f() {",
        "   ls-71  [000]  21.3: function:    f <-- g",
        "a 1 2.5:  1 cycles:  20 f+0x0 (a)",
        "\t  1155 f+0x0 (a (deleted))",
        "# DURATION     TID     FUNCTION",
        "   0.114 us [ 31033] |   f();",
        "16.5  31: [entry] f(55b6efaef288) depth: 0",
        "start_kernel",
        "0xffffffff81000000",
        "",
    ];

    proptest! {
        #[test]
        fn never_panics_on_any_text(text in "\\PC{0,200}") {
            let _ = read(&text);
        }

        #[test]
        fn never_panics_on_mixed_and_cut_lines(
            picks in prop::collection::vec((0..LINES.len(), 0usize..70, 0usize..70), 0..12),
        ) {
            let mut text = String::new();
            for (pick, from, to) in picks {
                let line = LINES[pick];
                text += line.get(from.saturating_sub(50)..to.min(line.len())).unwrap_or(line);
                text.push('\n');
            }
            let _ = read(&text);
            for format in [ftrace::read, ftrace::read_graph, trace_cmd::read, perf::read, list::read] {
                let _ = format(&text);
            }
        }
    }
}
