//! What uftrace prints: `uftrace replay` with whichever columns, and `uftrace dump`.
//!
//! ```text
//! # DURATION     TID     FUNCTION
//!             [ 31033] | main() {
//!    0.114 us [ 31033] |   leaf();
//!    1.497 us [ 31033] | } /* main */
//!
//! 16771.920327631  31033: [entry] main(55b6efaef288) depth: 0
//! ```
//!
//! Its addresses are those of one run, so only names count. They are symbols with `--demangle=no`.

use super::TraceError;
use super::tally::Tally;
use crate::readable::before_parameters;
use crate::trace::{Place, Source, Trace};

const FORMAT: &str = "uftrace";

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    // `dump` prints one task after the other.
    let mut calls: Vec<(f64, Call<'_>)> = Vec::new();
    let mut lost = 0u64;
    let mut modules = false;
    let expected = "`[ TID] | FUNCTION();` or `TIME TID: [entry] FUNCTION(ADDRESS)`";
    let mut tally = Tally::new(FORMAT, expected);
    let mut is_dump = false;
    for (index, line) in text.lines().enumerate() {
        if is_header(line) {
            modules = line.split_ascii_whitespace().rev().nth(1) == Some("NAME");
        }
        is_dump |= line.contains(": [entry] ");
        // Below an event `dump` prints its data: what a trigger read, or bytes of a result.
        if is_dump && (line.starts_with('\t') || line.starts_with("  ")) {
            tally.good();
            continue;
        }
        match Line::parse(line) {
            Some(Line::Entry { time, call }) => calls.push((time, call)),
            Some(Line::Lost(count)) => lost = lost.saturating_add(count),
            Some(Line::Other) => {}
            // The stacks of a program that was killed, which were printed as they grew.
            Some(Line::End) => break,
            None => {
                tally.unreadable(index + 1, line);
                continue;
            }
        }
        tally.good();
    }
    calls.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let mut trace = Trace::new(Source::Uftrace);
    trace.lost = lost;
    tally.finish(&mut trace)?;
    for (_, call) in &calls {
        let object = call.module.filter(|_| modules).or(call.library);
        let object = object.map(|file| trace.intern(file));
        let place = Place::Name(trace.intern(call.name));
        trace.record_in(object, place, None, 1);
    }
    if trace.is_empty() {
        return Err(TraceError::Empty {
            expected: "expected calls; was the program compiled with -pg, -finstrument-functions \
                       or -fpatchable-function-entry, or recorded with --patch=.?",
        });
    }
    Ok(trace)
}

/// Whether nobody but uftrace prints this line.
pub(super) fn is_line(line: &str) -> bool {
    let entry = matches!(Line::parse(line), Some(Line::Entry { .. }));
    // Without any column nothing stands before the first function.
    let bare =
        line.ends_with(") {") && !line.contains('|') && line.starts_with(char::is_alphabetic);
    is_header(line)
        || line.starts_with("uftrace file header: ")
        || (entry && (bare || line.contains("] | ") || line.contains(": [entry] ")))
}

/// The names of the columns. ftrace's begin with the task or the processor.
fn is_header(line: &str) -> bool {
    let ours = ["# DURATION ", "#   TID ", "#  TIMESTAMP ", "#  ADDRESS ", "# MODULE NAME "];
    let spaced = line.trim_start_matches(['#', ' ']);
    line.ends_with(" FUNCTION")
        && ours.iter().any(|start| spaced.starts_with(start.trim_start_matches(['#', ' '])))
}

/// A function was entered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Call<'a> {
    name: &'a str,
    /// The last word before the bar, which is the file where that column is printed last.
    module: Option<&'a str>,
    /// The library that stands behind the name.
    library: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Line<'a> {
    /// `time` is in seconds, and 0 where the order of the lines is that of the calls.
    Entry {
        time: f64,
        call: Call<'a>,
    },
    /// So many calls are missing.
    Lost(u64),
    Other,
    End,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        if line.starts_with("uftrace stopped tracing") {
            return Some(Line::End);
        }
        if line.starts_with(['#', '=']) || line.trim().is_empty() {
            return Some(Line::Other);
        }
        // `dump` prints arguments and results below the call.
        if ["  args[", "  retval "].iter().any(|start| line.starts_with(start)) {
            return Some(Line::Other);
        }
        if line.starts_with("uftrace file header: ") || line.starts_with("reading ") {
            return Some(Line::Other);
        }
        // Nor what `dump --debug` prints: the bytes of each record, and the tasks.
        let is_bytes = line.starts_with(" <") && line.contains(">: ");
        let is_task =
            ["  session of task ", "  task tid "].iter().any(|start| line.contains(start));
        if is_bytes || is_task || line.ends_with(" tasks found") {
            return Some(Line::Other);
        }
        if let Some((head, record)) = line.split_once(": [")
            && let Some((kind, rest)) = record.split_once("] ")
            && head.bytes().all(|byte| byte.is_ascii_digit() || b" .".contains(&byte))
        {
            return Self::of_dump(head, kind.trim(), rest);
        }
        match line.split_once(" | ") {
            Some((columns, content)) => {
                Self::of_replay(content.trim(), columns.split_ascii_whitespace().next_back())
            }
            None => Self::of_replay(line.trim().trim_end_matches('|'), None),
        }
    }

    fn of_dump(head: &str, kind: &str, rest: &'a str) -> Option<Self> {
        match kind {
            "entry" => {
                let time = head.split_ascii_whitespace().next()?.parse().ok()?;
                let (call, _) = rest.rsplit_once(" depth:")?;
                // The address is the last in parentheses; what is printed of arguments has lines of its own.
                let (name, _) = call.rsplit_once('(')?;
                Some(Line::Entry { time, call: Call { name, module: None, library: None } })
            }
            "lost" => {
                let count = rest.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty());
                Some(Line::Lost(count.and_then(|count| count.parse().ok()).unwrap_or(1)))
            }
            _ => Some(Line::Other),
        }
    }

    fn of_replay(content: &'a str, module: Option<&'a str>) -> Option<Self> {
        if let Some(remark) = content.strip_prefix("/*") {
            let Some(lost) = remark.trim_start().strip_prefix("LOST ") else {
                return Some(Line::Other);
            };
            let count = lost.split(' ').next().and_then(|count| count.parse().ok());
            return Some(Line::Lost(count.unwrap_or(1)));
        }
        // Ends of calls, and rules between tasks.
        if content.starts_with('}') || content.bytes().all(|byte| byte == b'-') {
            return Some(Line::Other);
        }
        // Arguments, results and places in the source may be printed as well.
        let ends = ["{", ";", "*/"].iter().any(|end| content.ends_with(end));
        let name = name(content).filter(|_| ends)?;
        // `--libname` prints the file of a library's function behind its name.
        let (name, library) = match name.split_once('@') {
            Some((name, file)) if file.contains(".so") => (name, Some(file)),
            _ => (name, None),
        };
        Some(Line::Entry { time: 0.0, call: Call { name, module, library } })
    }
}

/// The function of `name(arguments)…`. Names that were made readable can hold parentheses.
fn name(content: &str) -> Option<&str> {
    let name = before_parameters(content);
    // uftrace prints no parentheses of a call behind a name that ends in some.
    let name = if name.len() == content.len() {
        let end = content.rfind(')').filter(|_| content.contains("operator("))?;
        &content[..=end]
    } else {
        name
    };
    let start = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '~' | '<' | '(');
    name.starts_with(start).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{listing, names};

    #[test]
    fn what_dump_says_beside_the_calls_is_passed_over() {
        let text = "\
uftrace file header: magic         = 4674726163652100
 <0000000000000000>: 46 74 72 61 63 65 21 00  04 00 00 00 28 00 01 02

1 tasks found
4533.566583618  session of task 27136: 950a5e35d9fcd422 (/tmp/app)
4533.566838846  task tid 27136 (pid 27136)

reading 27136.dat
4533.566840178  27136: [entry] main(559ff6914305) depth: 0
 <0000000000000000>: 72 1d a4 8d 1f 04 00 00  28 00 05 43 91 f6 9f 55
4533.566848801  27136: [exit ] main(559ff6914305) depth: 0
";
        let trace = read(text).unwrap();
        assert_eq!(trace.symbols().collect::<Vec<_>>(), ["main"]);
        assert_eq!(trace.passed().count(), 0);
    }

    #[test]
    fn reads_replays_with_any_columns() {
        for text in [
            "# DURATION     TID     FUNCTION\n            [ 31] | main() {\n   0.1 us [ 31] |   leaf();\n   1.4 us [ 31] | } /* main */\n",
            "main() {\n  leaf();\n} /* main */\n",
            "            [ 31] | main(1, \"a b\") {\n   0.1 us [ 31] |   leaf(2) = 7; /* a.c:3 */\n\n ------\n   1.4 us [ 31] | } = 0; /* main */\n",
        ] {
            assert_eq!(names(&read(text).unwrap()), ["main", "leaf"], "{text}");
        }
    }

    #[test]
    fn modules_are_objects_where_they_are_the_last_column() {
        let text = "#   TID      ADDRESS    MODULE NAME   FUNCTION\n\
                    \x20[ 31] 55b6   app | main() {\n [ 31] 55b7   libc.so.6 |   puts();\n";
        assert_eq!(listing(&read(text).unwrap()), ["main in app 1", "puts in libc.so.6 1"]);
    }

    #[test]
    fn dumps_are_put_in_order_of_time() {
        let text = "uftrace file header: version       = 4\n\nreading 31.dat\n\
                    10.5  31: [entry] main(55b6) depth: 0\n12.5  31: [exit ] main(55b6) depth: 0\n\
                    11.5  31: [entry] last(55b8) depth: 1\n11.6  31: [lost ] 3 records\n\
                    reading 32.dat\n11.1  32: [entry] ns::f(int)(55b7) depth: 0\n\
                    reading perf-cpu0.dat\n9.9  31: [event] linux:task-name(200006)\n";
        let trace = read(text).unwrap();
        assert_eq!(names(&trace), ["main", "ns::f(int)", "last"]);
        assert_eq!(trace.lost, 3);
    }

    #[test]
    fn readable_names_stay_whole() {
        for (line, expected) in [
            ("ns::A::operator()();", "ns::A::operator()"),
            ("operator new(unsigned long);", "operator new"),
            ("~A() {", "~A"),
            ("f.constprop.0();", "f.constprop.0"),
            ("main::$_0::operator();", "main::$_0::operator()"),
            ("shop::A::operator(cast);", "shop::A::operator(cast)"),
            ("shop::A::operator(cast)(0x7f, \"<\") = 12;", "shop::A::operator(cast)"),
            ("_GLOBAL__N_1::hidden(3) {", "_GLOBAL__N_1::hidden"),
            ("(anonymous namespace)::hidden(int);", "(anonymous namespace)::hidden"),
            (
                "main::{lambda(int)#1}::operator()(int) const();",
                "main::{lambda(int)#1}::operator()",
            ),
            ("int shop::spin<void (*)(int)>(int);", "int shop::spin<void (*)(int)>"),
            ("shop::A::operator<<(int);", "shop::A::operator<<"),
        ] {
            assert_eq!(name(line), Some(expected));
        }
        assert_eq!(name("Segmentation fault"), None);
    }

    #[test]
    fn dumps_can_hold_arguments_and_results() {
        let text = "uftrace file header: version       = 4\n\nreading 31.dat\n\
                    10.5  31: [entry] main(55b6) depth: 0\n10.5  31: [args ] length = 16\n\
                    \x20 args[0] d64: 0x0000000000000001\n  args[1] str: ): [entry] f(1) depth: 1\n\
                    10.6  31: [exit ] main(55b6) depth: 0\n10.6  31: [retval] length = 8\n\
                    \x20 retval d64: 0x0000000000000004\n";
        let trace = read(text).unwrap();
        assert_eq!((names(&trace), trace.passed().count()), (vec!["main"], 0));
    }

    #[test]
    fn data_of_triggers_and_results_in_bytes_are_passed_over() {
        let text = "10.5  31: [entry] main(55b6) depth: 0\n10.5  31: [event] read:proc/statm(186a1) depth: 0\n\
                    10.5  31: [data ] length = 24\n  read:proc/statm: vmsize=17280KB vmrss=9376KB\n\
                    10.6  31: [exit ] main(55b6) depth: 0\n10.6  31: [retval] length = 40\n\
                    \x20 retval struct Box:\n\t00 01 9f 46 fe 7f 00 00  00 01 9f 46 fe 7f 00 00  \n";
        let trace = read(text).unwrap();
        assert_eq!((names(&trace), trace.passed().count()), (vec!["main"], 0));
    }

    #[test]
    fn a_library_behind_the_name_is_its_object() {
        let text = "  [ 31] | main() {\n 0.1 us [ 31] |   memcpy@libc.so.6(0x7f, 3);\n\
                    \x20 [ 31] |   operator new@libstdc++.so.6.0.30(80) {\n";
        assert_eq!(
            listing(&read(text).unwrap()),
            ["main 1", "memcpy in libc.so.6 1", "operator new in libstdc++.so.6.0.30 1"]
        );
    }

    #[test]
    fn what_is_missing_is_counted_and_the_rest_of_a_kill_passed_over() {
        let text = "  [ 31] | main() {\n  [ 31] |     /* LOST 12 records!! */\n\
                    \x20 [ 31] |   /* LOST some records!! */\n\n\
                    uftrace stopped tracing with remaining functions\n\
                    ================================================\ntask: 31\n[0] main\n";
        let trace = read(text).unwrap();
        assert_eq!((names(&trace), trace.lost), (vec!["main"], 13));
    }

    #[test]
    fn refuses_anything_else() {
        let text = "            [ 31] | main() {\nSegmentation fault\n";
        assert!(matches!(read(text), Err(TraceError::Lines { line: 2, .. })));
        let text = "# DURATION     TID     FUNCTION\n";
        assert!(matches!(read(text), Err(TraceError::Empty { .. })));
    }
}
