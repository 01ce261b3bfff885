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
use super::ftrace::{Line, lost, read_lines};
use super::symbol::{Symbol, hex};
use crate::trace::Trace;

const EXPECTED: &str = "`TASK-PID [CPU] TIME: function: FUNCTION`, as `trace-cmd report` prints it";
const FUNCTION: [&str; 2] = [" function: ", " ftrace:function: "];
const GRAPH: &str = " funcgraph_entry: ";

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    read_lines(text, "trace-cmd", EXPECTED, line)
}

/// Whether `line` is an event of the function tracers as trace-cmd prints it.
pub(super) fn is_event(line: &str) -> bool {
    after_function(line).is_some() || line.contains(GRAPH)
}

fn after_function(line: &str) -> Option<&str> {
    FUNCTION.iter().find_map(|event| line.split_once(event)).map(|(_, function)| function)
}

fn line(line: &str) -> Option<Line<'_>> {
    if let Some(function) = after_function(line) {
        return function_event(function).map(Line::Function);
    }
    if let Some((_, call)) = line.split_once(GRAPH) {
        let (_, call) = call.split_once('|')?;
        let (name, _) = call.split_once('(')?;
        return Symbol::parse(name).map(Line::Function);
    }
    if let Some(count) = lost(line) {
        return Some(Line::Lost(count));
    }
    let start = line.trim_start();
    let other = start.is_empty()
        // `cpus=2`, `version = 7`, `CPU 1 is empty`, `trace.dat:`, comments, stack traces.
        || ["#", "cpus=", "version", "CPU", "=> ", "trace-cmd", "[", "libtraceevent", "Warning"]
            .iter()
            .any(|known| start.starts_with(known))
        || start.ends_with(':')
        || start.contains(": ");
    other.then_some(Line::Other)
}

fn function_event(text: &str) -> Option<Symbol<'_>> {
    let (function, _) = text.split_once(" <--").unwrap_or((text, ""));
    let function = function.trim();
    // With `-R` the fields are printed by name.
    let Some(fields) = function.strip_prefix("ip=") else { return Symbol::parse(function) };
    let ip = fields.split_ascii_whitespace().next()?;
    match ip.strip_prefix("0x").and_then(hex) {
        Some(address) => Some(Symbol { address: Some(address), ..Symbol::default() }),
        None => Symbol::parse(ip),
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
        assert_eq!(listing(&trace), ["ffffffff81006ca4 1"]);
        assert_eq!(trace.lost, 124);
    }

    #[test]
    fn refuses_garbage() {
        let text = "cpus=1\n   ls-71 [000] 21.3: function:   a\nSegmentation fault\n";
        assert!(matches!(read(text), Err(TraceError::Line { line: 3, format: "trace-cmd", .. })));
    }
}
