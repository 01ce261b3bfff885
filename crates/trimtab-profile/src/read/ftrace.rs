//! What tracefs prints in `trace` and `trace_pipe`: the function and function_graph tracers.
//!
//! ```text
//! CPU:0 [LOST 3563520 EVENTS]
//!     init-1       [000] d....     5.201057: switch_fpu_return <-do_syscall_64
//!     init-1         0d.... 20419us+: switch_fpu_return+0x4/0x10 <ffffffff8104afb4> <-…
//!  0)               |  x64_sys_call() {
//!  0)   1.050 us    |    _raw_spin_lock();
//! ```
//!
//! Events of other kinds may stand between the functions; they are passed over.

use super::TraceError;
use super::symbol::Symbol;
use super::tally::Tally;
use crate::trace::{Place, Source, Trace};

const FORMAT: &str = "ftrace";
const GRAPH_FORMAT: &str = "function_graph";

/// The kind under which events are counted that are no functions.
const EVENTS: &str = "other events";

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A function ran.
    Function(Symbol<'a>),
    /// A function of a stack trace, the innermost first.
    Caller(Symbol<'a>),
    /// A stack trace begins, of a user program or of the kernel.
    Stack { user: bool },
    /// So many events are missing.
    Lost(u64),
    /// An event that is no function.
    Event,
    /// Nothing about what ran.
    Nothing,
}

/// Reads the output of the function tracer, and of the latency tracers that list functions.
pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    read_lines(text, FORMAT, "`TASK-PID [CPU] TIME: FUNCTION <-PARENT`", any_line(text, false))
}

/// Reads the output of the function_graph tracer.
pub(super) fn read_graph(text: &str) -> Result<Trace, TraceError> {
    read_lines(text, GRAPH_FORMAT, "`CPU) DURATION us | FUNCTION();`", any_line(text, true))
}

/// Reads lines of both tracers: a latency tracer can draw graphs, and a buffer can hold the output of one
/// tracer after the other. `graph` says which is tried first.
fn any_line<'a>(text: &'a str, graph: bool) -> impl Fn(&'a str) -> Option<Line<'a>> {
    // Where callers are printed, what has none is no function.
    let parents = text.lines().any(|line| line.contains(" <-") && is_function(function_line(line)));
    move |line| {
        let function = || match function_line(line) {
            Some(Line::Function(_)) if parents && !line.contains(" <-") => Some(Line::Event),
            other => other,
        };
        if graph {
            return graph_line(line).or_else(function);
        }
        match function() {
            Some(Line::Function(symbol)) => Some(Line::Function(symbol)),
            other if line.contains('|') => match graph_line(line) {
                Some(Line::Function(symbol)) => Some(Line::Function(symbol)),
                graph => other.or(graph),
            },
            other => other,
        }
    }
}

/// Reads `text` line by line with `parse`, which returns `None` for a line that cannot be.
pub(super) fn read_lines<'a>(
    text: &'a str,
    format: &'static str,
    expected: &'static str,
    parse: impl Fn(&'a str) -> Option<Line<'a>>,
) -> Result<Trace, TraceError> {
    let mut trace = Trace::new(Source::Ftrace);
    let mut tally = Tally::new(format, expected);
    let mut stack = Stack::default();
    let mut overwritten = 0;
    // `cat trace_pipe` is usually killed, so the last line can be cut anywhere: even one that
    // reads well may end within a name.
    let complete = text.rfind('\n').map_or(0, |end| end + 1);
    for (index, line) in text[..complete].lines().enumerate() {
        let parsed = parse(line);
        match parsed {
            Some(Line::Caller(symbol)) => stack.push(symbol),
            Some(Line::Nothing) => overwritten = header_overrun(line).unwrap_or(overwritten),
            // It is the stack of the function before it.
            Some(Line::Stack { user: false }) if stack.callers.is_empty() => {}
            Some(_) => stack.end(&mut trace),
            None => {}
        }
        match parsed {
            Some(Line::Function(symbol)) => stack.function = Some(symbol),
            Some(Line::Stack { user }) => {
                stack.user = user;
                trace.pass_over(EVENTS, 1);
            }
            Some(Line::Lost(count)) => trace.lost = trace.lost.saturating_add(count),
            Some(Line::Event) => trace.pass_over(EVENTS, 1),
            Some(Line::Caller(_) | Line::Nothing) => {}
            None => {
                tally.unreadable(index + 1, line);
                continue;
            }
        }
        tally.good();
    }
    stack.end(&mut trace);
    if let Some(Line::Function(symbol)) = parse(&text[complete..])
        && text[complete..].contains(" <-")
    {
        record(&mut trace, &symbol);
    }
    tally.finish(&mut trace)?;
    // The header of `trace` counts what its lost lines tell as well.
    trace.lost = trace.lost.max(overwritten);
    if trace.is_empty() {
        return Err(TraceError::Empty {
            expected: "expected functions; was tracing on, \
                       and current_tracer `function` or `function_graph`?",
        });
    }
    Ok(trace)
}

/// A function, and the stack trace behind it: its callers ran before it.
#[derive(Default)]
struct Stack<'a> {
    function: Option<Symbol<'a>>,
    callers: Vec<Symbol<'a>>,
    user: bool,
}

impl<'a> Stack<'a> {
    fn push(&mut self, caller: Symbol<'a>) {
        if !self.user {
            self.callers.push(caller);
        }
    }

    /// Records the callers, the outermost first, then the function.
    fn end(&mut self, trace: &mut Trace) {
        for caller in self.callers.drain(..).rev() {
            record_caller(trace, &caller);
        }
        if let Some(function) = self.function.take() {
            record(trace, &function);
        }
        self.user = false;
    }
}

fn record_caller(trace: &mut Trace, symbol: &Symbol<'_>) {
    let object = symbol.module.map(|module| trace.intern(module));
    // Of a return address only the function counts.
    if let Some(name) = symbol.name {
        let place = Place::Name(trace.intern(name));
        trace.record_caller(object, place, None);
    }
}

fn record(trace: &mut Trace, symbol: &Symbol<'_>) {
    let object = symbol.module.map(|module| trace.intern(module));
    let name = symbol.name.map(|name| trace.intern(name));
    let place = match (symbol.address, name) {
        (Some(address), _) => Place::Address(address),
        (None, Some(name)) => Place::Name(name),
        (None, None) => return,
    };
    let beside = match place {
        Place::Address(_) => name.map(|name| (name, symbol.offset.unwrap_or(0))),
        _ => None,
    };
    trace.record_in(object, place, beside, 1);
}

/// Whether a line was found to say that a function ran.
pub(super) fn is_function(line: Option<Line<'_>>) -> bool {
    matches!(line, Some(Line::Function(_)))
}

/// Reads a line of the function tracer.
pub(super) fn function_line(line: &str) -> Option<Line<'_>> {
    if let Some(line) = common(line) {
        return Some(line);
    }
    let Some(event) = after_time(line) else {
        // Without the option context-info a line is nothing but the function.
        let bare = line.split_once(" <-").and_then(|(symbol, _)| Symbol::parse(symbol));
        return bare.map(Line::Function);
    };
    match event.trim() {
        "<stack trace>" => return Some(Line::Stack { user: false }),
        "<user stack trace>" => return Some(Line::Stack { user: true }),
        _ => {}
    }
    let (function, has_parent) = match event.split_once(" <-") {
        Some((function, _)) => (function, true),
        None => (event, false),
    };
    match Symbol::parse(function) {
        // System calls are printed like calls, `sys_close(fd: 3)`; arguments of functions have an
        // equals sign.
        Some(_) if !has_parent && function.contains('(') && !function.contains('=') => {
            Some(Line::Event)
        }
        Some(symbol) => Some(Line::Function(symbol)),
        // Further events have a time as well, and anything behind it.
        None if !has_parent || event.contains(": ") => Some(Line::Event),
        None => None,
    }
}

/// What follows the time of an event in `… 5.201057: …`, `… 20419us+: …` or `… (+0.014ms): …`.
pub(super) fn after_time(line: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = line[from..].find(": ") {
        let end = from + at;
        if ends_in_time(&line.as_bytes()[..end]) {
            return Some(&line[end + 2..]);
        }
        from = end + 2;
    }
    // An event with nothing behind it, such as a function whose line was cut.
    line.strip_suffix(':').filter(|start| ends_in_time(start.as_bytes())).map(|_| "")
}

fn ends_in_time(start: &[u8]) -> bool {
    match start {
        // `20415us ` and `20401us+`: the last character says how long the next event took to come.
        [.., b'0'..=b'9', b'u', b's', b' ' | b'+' | b'!' | b'#' | b'*' | b'@' | b'$'] => true,
        [.., b'm', b's', b')'] => true,
        // Seconds with a fraction, or a plain counter; always behind a blank.
        [.., b'0'..=b'9'] => {
            let word = start.iter().rposition(|&byte| byte == b' ').map_or(0, |blank| blank + 1);
            word > 0 && start[word..].iter().all(|&byte| byte.is_ascii_digit() || byte == b'.')
        }
        _ => false,
    }
}

/// Reads a line of the function_graph tracer.
pub(super) fn graph_line(line: &str) -> Option<Line<'_>> {
    if let Some(line) = common(line) {
        return Some(line);
    }
    // Events of other kinds, return values and parents are printed as comments.
    let code = line.split_once("/*").map_or(line, |(code, _)| code).trim_end();
    // Up to four columns end in a bar. Without any, only the processor stands before the function.
    let columns = code.rsplit_once('|');
    let (before, call) = match columns {
        Some((before, call)) => (before, call),
        None => code.split_once(") ").unwrap_or(("", code)),
    };
    let call = call.trim_start();
    if let Some(function) = call.strip_suffix(") {").or_else(|| call.strip_suffix(");")) {
        let symbol = function.split_once('(').and_then(|(name, _)| Symbol::parse(name));
        return symbol.map(Line::Function);
    }
    let known = columns.is_some()
        || code.len() < line.len()
        || call.starts_with('}')
        || call.contains("=>")
        || call.contains("==========")
        || call.starts_with("(Overruns: ");
    let processor = before.trim_start().starts_with(|c: char| c.is_ascii_digit());
    (known || (processor && call.is_empty())).then_some(Line::Nothing)
}

/// Lines that all tracers print.
fn common(line: &str) -> Option<Line<'_>> {
    let start = line.trim_start();
    match start.as_bytes().first() {
        // Headers, and `##### CPU 1 buffer started ####`.
        None | Some(b'#') => Some(Line::Nothing),
        Some(b'C') => lost(start).map(Line::Lost),
        // Stack traces: `=> do_one_initcall`; a rule; `[LINE TOO BIG]`.
        Some(b'=') => start.strip_prefix("=> ").map(caller),
        Some(b'-') if start.starts_with("-----") => Some(Line::Nothing),
        Some(b'[') if start.starts_with("[LINE TOO BIG]") => Some(Line::Nothing),
        Some(b'(') if start.starts_with("(Overruns: ") => Some(Line::Nothing),
        _ => None,
    }
}

/// A line of a stack trace. User programs have files in them, and bare addresses say little.
pub(super) fn caller(text: &str) -> Line<'_> {
    match Symbol::parse(text) {
        // `0` stands where there is no address.
        Some(symbol)
            if symbol.name.is_some_and(|name| !name.contains(['/', '[']) && name != "0") =>
        {
            Line::Caller(symbol)
        }
        _ => Line::Nothing,
    }
}

/// `CPU:0 [LOST 123 EVENTS]`, `CPU:0 [LOST EVENTS]`, `CPU:0 [123 EVENTS DROPPED]`.
pub(super) fn lost(line: &str) -> Option<u64> {
    let (_, what) = line.strip_prefix("CPU:")?.split_once(" [")?;
    let what = what.trim_end().strip_suffix(']')?;
    let count = what
        .strip_suffix("EVENTS")
        .and_then(|rest| rest.strip_prefix("LOST"))
        .or_else(|| what.strip_suffix("EVENTS DROPPED"))?;
    match count.trim() {
        "" => Some(1),
        count => count.parse().ok(),
    }
}

/// From `# entries-in-buffer/entries-written: 387/3943082   #P:1`, what the ring buffer overwrote.
fn header_overrun(line: &str) -> Option<u64> {
    let (_, counts) = line.split_once("entries-in-buffer/entries-written: ")?;
    let (kept, written) = counts.split_ascii_whitespace().next()?.split_once('/')?;
    let (kept, written) = (kept.parse::<u64>().ok()?, written.parse::<u64>().ok()?);
    Some(written.saturating_sub(kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::{listing, names};

    const FUNCTIONS: [&str; 3] = ["mutex_unlock", "switch_fpu_return", "x64_sys_call"];

    #[test]
    fn reads_every_layout_of_the_columns() {
        for [a, b, c] in [
            // As configured at boot.
            [
                "            init-1       [001] .....    37.821176: mutex_unlock <-rb_simple_write",
                "            init-1       [001] d....    37.821194: switch_fpu_return <-arch_exit",
                "     kworker/u8:1-42     [001] dNh2.    37.821223: x64_sys_call <-do_syscall_64",
            ],
            // noirq-info
            [
                "            init-1       [001]    37.821176: mutex_unlock <-rb_simple_write",
                "          <idle>-0       [001]    37.821194: switch_fpu_return <-arch_exit",
                "          a: b 1-7       [001]    37.821223: x64_sys_call <-do_syscall_64",
            ],
            // record-tgid
            [
                "            init-1       (-------) [001] .....    38.077: mutex_unlock <-rb",
                "            init-1       (      1) [001] d....    38.077: switch_fpu_return <-e",
                "            init-1       (      1) [001] .....    38.077: x64_sys_call <-do_",
            ],
            // noprint-parent
            [
                "            init-1       [001] .....    37.821176: mutex_unlock",
                "            init-1       [001] d....    37.821194: switch_fpu_return",
                "            init-1       [001] .....    37.821223: x64_sys_call",
            ],
            // latency-format
            [
                "    init-1         1..... 20401us+: mutex_unlock <-rb_simple_write",
                "    init-1         1d.... 20419us : switch_fpu_return <-arch_exit",
                "    init-1         1..... 20448us!: x64_sys_call <-do_syscall_64",
            ],
            // latency-format and verbose
            [
                "   init  1  1 0 00000000 00000000 [02411af8] 20.401ms (+0.014ms): mutex_unlock <-r",
                "   init  1  1 1 00000000 00000002 [02411b0a] 20.419ms (+0.029ms): switch_fpu_return <-a",
                "   init  1  1 0 00000000 00000003 [02411b27] 20.448ms (+0.002ms): x64_sys_call <-d",
            ],
            // nocontext-info
            ["mutex_unlock <-rb", "switch_fpu_return <-arch_exit", "x64_sys_call <-do_syscall_64"],
            // sym-offset
            [
                "  init-1  [001] .....    37.8: mutex_unlock+0x4/0x20 <-rb_simple_write+0xfc/0x110",
                "  init-1  [001] .....    37.8: switch_fpu_return+0x0/0x20 <-arch_exit+0x11/0xb0",
                "  init-1  [001] .....    37.8: x64_sys_call+0x4/0x2130 <-do_syscall_64+0x45/0xb0",
            ],
            // A counter for a clock; function arguments.
            [
                "  init-1  [001] .....    37821176: mutex_unlock <-rb_simple_write",
                "  init-1  [001] .....    37821177: switch_fpu_return(prev=0x1, cpu=0) <-arch_exit",
                "  init-1  [001] .....    37821178: x64_sys_call(regs=0xffffc9) <-do_syscall_64",
            ],
        ] {
            let trace = read(&format!("# tracer: function\n#\n{a}\n{b}\n{c}\n")).unwrap();
            assert_eq!(names(&trace), FUNCTIONS, "{a}");
        }
    }

    #[test]
    fn keeps_addresses_with_their_symbols() {
        let text = "\
  init-1 [001] ..... 37.8: a+0x4/0x20 <ffffffff81006ca4> <-p+0xfc/0x110 <ffffffff8112c4ac>
  init-1 [001] ..... 37.8: b <ffffffff81006cb4> <-p <ffffffff8112c4ac>
  init-1 [001] ..... 37.8: 0xffffffffc0000000 <-p+0xfc/0x110
  init-1 [001] ..... 37.8: c+0x0/0x40 [ext4] <ffffffffc0001000> <-p <ffffffff8112c4ac>
";
        assert_eq!(
            listing(&read(text).unwrap()),
            [
                "ffffffff81006ca4 a+0x4 1",
                "ffffffff81006cb4 b+0x0 1",
                "ffffffffc0000000 1",
                "ffffffffc0001000 c+0x0 in ext4 1"
            ]
        );
    }

    #[test]
    fn counts_repeats_and_passes_over_other_events() {
        let text = "\
# tracer: function
##### CPU 1 buffer started ####
  init-1 [001] ..... 37.8: a <-p
  init-1 [001] d..2. 37.9: sched_switch: prev_comm=x prev_pid=1 ==> next_comm=y next_pid=2
  init-1 [001] ..... 38.0: tracing_mark_write: hello <-there
  init-1 [001] ..... 38.1: <stack trace>
 => do_one_initcall
 => 0xffffffffc0000000
  init-1 [001] ..... 38.2: probe1: (vfs_read+0x0/0x10)

[LINE TOO BIG]
  init-1 [001] ..... 38.3: a <-p
";
        let trace = read(text).unwrap();
        assert_eq!(listing(&trace), ["a 2", "do_one_initcall 0"]);
        assert_eq!(trace.passed().collect::<Vec<_>>(), [("other events", 4)]);
    }

    #[test]
    fn events_are_no_functions_even_where_they_look_so() {
        let events = "\
  cat-1 [001] ..... 412.1: sys_openat(dfd: ffffffffffffff9c, flags: 80000, mode: 0)
  cat-1 [001] ..... 412.2: sys_openat -> 0x3
  cat-1 [001] ..... 412.3: sys_sched_yield()
  cat-1 [001] ..... 412.4: sys_sched_yield -> 0x0
  cat-1 [001] ..... 412.5: my_event:
";
        let functions = "\
  cat-1 [001] ..... 412.0: do_sys_openat2 <-__x64_sys_openat
  cat-1 [001] ..... 412.6: vfs_read <-ksys_read
";
        let trace = read(&format!("{functions}{events}")).unwrap();
        assert_eq!(names(&trace), ["do_sys_openat2", "vfs_read"]);
        assert_eq!(trace.passed().collect::<Vec<_>>(), [("other events", 5)]);
        // With parents not printed.
        let functions = functions.replace(" <-__x64_sys_openat", "").replace(" <-ksys_read", "");
        let trace = read(&format!("{functions}{events}")).unwrap();
        assert_eq!(names(&trace), ["do_sys_openat2", "vfs_read"]);
        // A marker that somebody writes can be a single word.
        let text = "  a-1 [001] ..... 1.0: f <-p\n  a-1 [001] ..... 1.1: hello\n";
        assert_eq!(names(&read(text).unwrap()), ["f"]);
    }

    #[test]
    fn callers_in_stack_traces_ran_before_the_function() {
        let text = "\
  init-1 [001] ..... 37.8: f <-g
  init-1 [001] ..... 37.8: <stack trace>
 => f
 => g
 => main_loop+0x10/0x20 [ext4]
 => 0xffffffffc0000000
 => 0
  init-1 [001] ..... 37.9: <user stack trace>
 => /usr/lib/libc.so.6[+0x1234]
 => nothing_of_the_kernel
  init-1 [001] ..... 38.0: g <-h
";
        let trace = read(text).unwrap();
        assert_eq!(listing(&trace), ["main_loop in ext4 0", "g 1", "f 1"]);
    }

    #[test]
    fn latency_tracers_can_draw_graphs() {
        let text = "# tracer: irqsoff
#
   0 us |   0)   bash-1507    |  d... |   0.000 us    |  foo();
   1 us |   0)   bash-1507    |  d..1 |   0.378 us    |    bar();
   2 us |   0)   bash-1507    |  d..1 |               |    baz() {
   2 us |   0)   bash-1507    |  d..1 |   1.378 us    |    }
";
        assert_eq!(names(&read(text).unwrap()), ["foo", "bar", "baz"]);
    }

    #[test]
    fn a_few_unreadable_lines_are_passed_over_and_counted() {
        let line = "  init-1 [001] ..... 37.8: a <-p\n";
        let trace = read(&format!("{}Segmentation fault\n", line.repeat(30))).unwrap();
        assert_eq!(listing(&trace), ["a 30"]);
        assert_eq!(trace.passed().collect::<Vec<_>>(), [("unreadable lines", 1)]);
        let error = read(&format!("{}Segmentation fault\n", line.repeat(10))).unwrap_err();
        assert!(
            error.to_string().ends_with("1 of 11 lines cannot be read, allowed are 5 %"),
            "{error}"
        );
    }

    #[test]
    fn counts_lost_events() {
        let event = "  init-1 [001] ..... 37.8: a <-p\n";
        let lost = |head: &str| read(&format!("{head}{event}")).unwrap().lost;
        assert_eq!(lost("CPU:0 [LOST 3563520 EVENTS]\nCPU:11 [LOST 3 EVENTS]\n"), 3_563_523);
        assert_eq!(lost("CPU:1 [LOST EVENTS]\n"), 1);
        assert_eq!(lost("# entries-in-buffer/entries-written: 387/3943082   #P:1\n"), 3_942_695);
        assert_eq!(lost("# entries-in-buffer/entries-written: 9/9   #P:1\n"), 0);
        let both = "# entries-in-buffer/entries-written: 3/8   #P:1\nCPU:1 [LOST 5 EVENTS]\n";
        assert_eq!(lost(both), 5);
    }

    #[test]
    fn leaves_out_a_last_line_that_was_cut() {
        let whole = "  init-1 [001] ..... 37.8: first <-p\n";
        for cut in
            ["  init-1 [001] ..", "  init-1 [001] ..... 37.8: sec", "  init-1 [001] ..... 37.8:"]
        {
            assert_eq!(names(&read(&format!("{whole}{cut}")).unwrap()), ["first"], "{cut}");
        }
        let cut = "  init-1 [001] ..... 37.8: second <-pare";
        assert_eq!(names(&read(&format!("{whole}{cut}")).unwrap()), ["first", "second"]);
    }

    #[test]
    fn refuses_garbage_and_emptiness() {
        let text = "# tracer: function\n  init-1 [001] ..... 37.8: a <-p\nSegmentation fault\n";
        assert_eq!(
            read(text).unwrap_err().to_string(),
            "line 3 of the ftrace trace: found `Segmentation fault`, \
             expected `TASK-PID [CPU] TIME: FUNCTION <-PARENT`; \
             1 of 3 lines cannot be read, allowed are 5 %"
        );
        assert!(matches!(read("# tracer: nop\n#\n"), Err(TraceError::Empty { .. })));
    }

    #[test]
    fn reads_every_layout_of_the_graph() {
        for text in [
            " 0) ! 227.724 us  |  mutex_unlock();
 0)               |  x64_sys_call() {
 0)   1.050 us    |      _raw_spin_lock();
 0) + 19.482 us   |  }
",
            "   16.840086 |   0)     init-1     |  ..... | ! 227.724 us  |  mutex_unlock();
   16.840498 |   0)     init-1     |  ..... |               |  x64_sys_call() {
   16.840501 |   0)     init-1     |  ..... |   1.050 us    |      _raw_spin_lock();
   16.840501 |   0)     init-1     |  ..... |   ==========> |
   16.840501 |   0)     init-1     |  ..... |   1.050 us    |  } /* x64_sys_call */
",
            " 0) mutex_unlock();
 0) x64_sys_call() {
 0)     _raw_spin_lock(lock=0xffff8881) {
 0)     }
 0) } /* x64_sys_call */
",
            " 1)   0.1 us    |  mutex_unlock(); /* = 0x0 */
 ------------------------------------------
 1)    sh-12  =>   ls-13
 ------------------------------------------

 1)               |  x64_sys_call() { /* <-do_syscall_64 */
 1)               |  /* sched_switch: prev_comm=a b | c() { */
 1)   0.1 us    |  _raw_spin_lock [ext4]();
 1)   0.1 us    |  } /* x64_sys_call ret=-2 */
",
        ] {
            let trace = read_graph(&format!("# tracer: function_graph\n#\n{text}")).unwrap();
            assert_eq!(names(&trace), ["mutex_unlock", "x64_sys_call", "_raw_spin_lock"], "{text}");
        }
    }

    #[test]
    fn refuses_garbage_in_a_graph() {
        let text = " 0)   0.1 us    |  a();\nSegmentation fault\n";
        assert!(matches!(read_graph(text), Err(TraceError::Lines { line: 2, .. })));
    }
}
