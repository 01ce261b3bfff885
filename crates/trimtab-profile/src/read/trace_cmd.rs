//! What `trace-cmd report` prints of the function and function_graph tracers.
//!
//! ```text
//! cpus=1
//!     ls-71    [000]    21.382276: function:             mutex_unlock+0x4 <-- rb_simple_write
//!     ls-71    [000]    21.382276: funcgraph_entry:        1.050 us   |  _raw_spin_lock();
//! CPU:0 [123 EVENTS DROPPED]
//! ```
//!
//! `perf script` prints the event `ftrace:function` in the same words.

use super::TraceError;
use super::ftrace::{self, Line, after_time, lost, read_lines};
use super::symbol::{Symbol, hex};
use crate::trace::Trace;

const EXPECTED: &str = "`TASK-PID [CPU] TIME: function: FUNCTION`, as `trace-cmd report` prints it";

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    if !text.lines().any(|line| event(line).is_some()) {
        return Err(TraceError::Empty {
            expected: "expected events: trace-cmd recorded none; was the tracer on \
                       (`trace-cmd record -p function`), and is the file that of the right run?",
        });
    }
    read_lines(text, "trace-cmd", EXPECTED, line)
}

/// Whether `line` is an event of the function tracers as trace-cmd prints it.
pub(super) fn is_event(line: &str) -> bool {
    matches!(event(line), Some(("function" | "funcgraph_entry" | "funcgraph_exit", _)))
}

/// Whether `line` can only be the head of a report: what is left where nothing was recorded.
pub(super) fn is_head(line: &str) -> bool {
    let count = line.strip_prefix("cpus=");
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()))
}

/// The name of an event, without that of its system, and what is said of it.
fn event(line: &str) -> Option<(&str, &str)> {
    let mut rest = after_time(line)?.trim_start();
    // `(+60617)`: the time since the event before.
    if rest.starts_with("(+") {
        rest = rest.split_once(')')?.1.trim_start();
    }
    let (name, rest) = match rest.split_once(": ") {
        Some(parts) => parts,
        None => (rest.strip_suffix(':')?, ""),
    };
    let name = name.strip_prefix("ftrace:").unwrap_or(name);
    (!name.is_empty() && !name.contains(' ')).then_some((name, rest))
}

fn line(line: &str) -> Option<Line<'_>> {
    if let Some((name, rest)) = event(line) {
        return match name {
            "function" => function_event(rest).map(Line::Function),
            "funcgraph_entry" => graph_entry(rest).map(Line::Function),
            "funcgraph_exit" => Some(Line::Nothing),
            "kernel_stack" => Some(Line::Stack { user: false }),
            "user_stack" => Some(Line::Stack { user: true }),
            _ => Some(Line::Event),
        };
    }
    if let Some(count) = lost(line) {
        return Some(Line::Lost(count));
    }
    let start = line.trim_start();
    if let Some(caller) = start.strip_prefix("=> ") {
        // The address behind it is in parentheses.
        return Some(ftrace::caller(caller.split(" (").next().unwrap_or(caller)));
    }
    let nothing = start.is_empty()
        // `cpus=2`, `version = 7`, `CPU 1 is empty`, `trace.dat:`, comments.
        || ["#", "cpus=", "version", "CPU", "trace-cmd", "[", "libtraceevent", "Warning"]
            .iter()
            .any(|known| start.starts_with(known))
        || start.ends_with(':');
    match start.contains(": ") {
        _ if nothing => Some(Line::Nothing),
        true => Some(Line::Event),
        false => None,
    }
}

/// `1.050 us   |  _raw_spin_lock();`, or by names of fields: `func=mutex_unlock depth=0`.
fn graph_entry(text: &str) -> Option<Symbol<'_>> {
    if let Some(fields) = text.trim_start().strip_prefix("func=") {
        return location(fields.split_ascii_whitespace().next()?);
    }
    let (_, call) = text.split_once('|')?;
    let (name, _) = call.split_once('(')?;
    Symbol::parse(name)
}

fn function_event(text: &str) -> Option<Symbol<'_>> {
    let (function, _) = text.split_once(" <--").unwrap_or((text, ""));
    let function = function.trim();
    // With `-R` the fields are printed by name.
    let Some(fields) = function.strip_prefix("ip=") else { return Symbol::parse(function) };
    location(fields.split_ascii_whitespace().next()?)
}

/// An address or a name.
fn location(text: &str) -> Option<Symbol<'_>> {
    match text.strip_prefix("0x").and_then(hex) {
        Some(address) => Some(Symbol { address: Some(address), ..Symbol::default() }),
        None => Symbol::parse(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{listing, names};

    #[test]
    fn reads_every_layout() {
        for text in [
            // Callees are indented.
            "cpus=1
              ls-71    [000]    21.382276: function:             mutex_unlock
              ls-71    [000]    21.382567: function:                down_read_trylock
",
            // --ts-diff
            "              ls-71    [000]    21.382275787:          function:   mutex_unlock
              ls-71    [000]    21.382336404: (+60617) function:   down_read_trylock
",
            // -R
            "              ls-71    [000]    21.3: function:     ip=mutex_unlock parent_ip=rb_write
              ls-71    [000]    21.3: function:     ip=down_read_trylock parent_ip=lock_vma
",
            // -N
            "              ls-71    [000]    21.3: function:       mutex_unlock <-- rb_simple_write
              ls-71    [000]    21.3: function:       down_read_trylock <-- lock_vma_under_rcu
",
            // -O parent -O offset
            "              ls-71    [000]    21.3: function:   mutex_unlock+0x4  <-- rb_write+0xfc \n\
             \x20             ls-71    [000]    21.3: function:   down_read_trylock+0x4  <-- lock+0x1 \n",
            // -l
            "      ls-71      0.....    21.382276: function:             mutex_unlock
      ls-71      0d....    21.382567: function:                down_read_trylock
",
            // perf script
            "  perf    98 [000]    29.4: ftrace:function:  mutex_unlock <-- perf_ioctl
  perf    98 [000]    29.4: ftrace:function:  down_read_trylock <-- __x64_sys_ioctl
",
            // function_graph
            "              ls-71    [000]    21.3: funcgraph_entry:                   |  mutex_unlock() {
              ls-71    [000]    21.3: funcgraph_entry:        1.050 us   |    down_read_trylock();
              ls-71    [000]    21.3: funcgraph_exit:         5.699 us   |  }
",
            // function_graph, -R
            "cpus=2
   ls-371   [001]   148.5: funcgraph_entry:       func=mutex_unlock depth=0
   ls-371   [001]   148.5: funcgraph_exit:        func=mutex_unlock depth=0 overrun=0 calltime=2297026b0f rettime=229702b513
   ls-371   [001]   148.5: funcgraph_entry:       func=down_read_trylock depth=1
",
        ] {
            assert_eq!(names(&read(text).unwrap()), ["mutex_unlock", "down_read_trylock"], "{text}");
        }
    }

    #[test]
    fn counts_dropped_events_and_passes_over_others() {
        let text = "CPU 1 is empty
cpus=2
CPU:0 [123 EVENTS DROPPED]
   ls-71 [000] 21.3: function:   ip=0xffffffff81006ca4 parent_ip=0x1
   ls-71 [000] 21.3: sched_switch:  ls:71 [120] S ==> swapper/0:0 [120]
   ls-71 [000] 21.3: kernel_stack:         <stack trace >
=> do_one_initcall (ffffffff81000000)
CPU:1 [EVENTS DROPPED]
";
        let trace = read(text).unwrap();
        assert_eq!(listing(&trace), ["ffffffff81006ca4 1", "do_one_initcall 0"]);
        assert_eq!(trace.lost, 124);
        assert_eq!(trace.passed().collect::<Vec<_>>(), [("other events", 2)]);
    }

    #[test]
    fn the_name_of_an_event_is_what_stands_behind_the_time() {
        let text = "cpus=1
   ls-71 [000] 21.3: function:   a
   ls-71 [000] 21.4: bprint:  my: function: b
   ls-71 [000] 21.5: sys_enter_close:  fd: 0x3
   kworker/0:1-9 [000] 21.6: workqueue_execute_start: work struct 0xff: function vmstat_update
";
        assert_eq!(names(&read(text).unwrap()), ["a"]);
    }

    #[test]
    fn a_report_without_events_says_that_nothing_was_recorded() {
        for text in ["cpus=2\n", "version = 7\nCPU 0 is empty\ncpus=2\n"] {
            let error = crate::read::read(text).unwrap_err();
            assert!(error.to_string().contains("trace-cmd recorded none"), "{error}");
        }
    }

    #[test]
    fn refuses_garbage() {
        let text = "cpus=1\n   ls-71 [000] 21.3: function:   a\nSegmentation fault\n";
        assert!(matches!(read(text), Err(TraceError::Lines { line: 3, format: "trace-cmd", .. })));
    }
}
