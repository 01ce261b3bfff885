//! Reads what the kernel, trace-cmd and perf really printed: `testdata/traces`.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use trimtab_profile::{Event, Format, Place, Source, Trace, read};

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces");
    std::fs::read_to_string(folder.join(name).with_extension("txt")).unwrap()
}

fn parse(name: &str) -> Trace {
    let text = text(name);
    read::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(trace: &Trace) -> Vec<&str> {
    let name = |event: &Event| match (event.place, event.symbol) {
        (Place::Name(name), _) | (_, Some((name, _))) => Some(trace.name(name)),
        _ => None,
    };
    trace.events().iter().filter_map(name).collect()
}

#[test]
fn every_file_is_taken_for_what_it_is() {
    for (name, format, source) in [
        ("ftrace-boot", Format::Ftrace, Source::Ftrace),
        ("ftrace-latency", Format::Ftrace, Source::Ftrace),
        ("ftrace-latency-verbose", Format::Ftrace, Source::Ftrace),
        ("ftrace-no-context", Format::Ftrace, Source::Ftrace),
        ("ftrace-pipe-lost", Format::Ftrace, Source::Ftrace),
        ("ftrace-tgid", Format::Ftrace, Source::Ftrace),
        ("graph-all-columns", Format::FunctionGraph, Source::Ftrace),
        ("graph-no-duration", Format::FunctionGraph, Source::Ftrace),
        ("graph-plain", Format::FunctionGraph, Source::Ftrace),
        ("perf-chains", Format::Perf, Source::Perf),
        ("perf-chains-symbols", Format::Perf, Source::Perf),
        ("perf-flat", Format::Perf, Source::Perf),
        ("perf-flat-symbols", Format::Perf, Source::Perf),
        ("perf-ftrace-function", Format::TraceCmd, Source::Ftrace),
        ("trace-cmd-graph", Format::TraceCmd, Source::Ftrace),
        ("trace-cmd-latency", Format::TraceCmd, Source::Ftrace),
        ("trace-cmd-no-plugins", Format::TraceCmd, Source::Ftrace),
        ("trace-cmd-parent", Format::TraceCmd, Source::Ftrace),
        ("trace-cmd-plain", Format::TraceCmd, Source::Ftrace),
        ("trace-cmd-raw", Format::TraceCmd, Source::Ftrace),
        ("trace-cmd-time-differences", Format::TraceCmd, Source::Ftrace),
    ] {
        assert_eq!(read::detect(&text(name)), Ok(format), "{name}");
        assert_eq!(parse(name).source(), source, "{name}");
    }
}

/// One program, recorded twice by uftrace and printed with every set of columns.
#[test]
fn uftrace_is_read_however_it_prints() {
    let own = [
        "main",
        "_Z6parentv",
        "_ZL4leafv",
        "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv",
        "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEED0Ev",
        "_ZN4shop5priceEi",
        "_ZN4shop5priceEPKc",
    ];
    for name in ["replay-symbols", "replay-all-columns", "replay-no-columns", "dump"] {
        let name = format!("../uftrace/{name}");
        assert_eq!(read::detect(&text(&name)), Ok(Format::Uftrace), "{name}");
        let trace = parse(&name);
        assert_eq!((trace.source(), trace.lost), (Source::Uftrace, 0));
        assert_eq!(names(&trace), own, "{name}");
    }
    let all = "../uftrace/replay-all-columns";
    let trace = parse(all);
    let object = trace.events()[0].object.unwrap();
    assert_eq!(trace.name(object), "threads");
    // With readable names, and calls into libraries.
    let readable = parse("../uftrace/replay");
    assert_eq!(names(&readable)[..4], ["main", "parent", "leaf", "operator new"]);
    assert_eq!(names(&parse("../uftrace/replay-full-names"))[..4], names(&readable)[..4]);
}

/// One recording, printed with every set of columns.
#[test]
fn columns_do_not_change_what_ran() {
    let plain = parse("ftrace-plain");
    assert_eq!(
        names(&plain)[..3],
        ["mutex_unlock", "syscall_exit_to_user_mode_prepare", "switch_fpu_return"]
    );
    for name in [
        "ftrace-latency",
        "ftrace-latency-verbose",
        "ftrace-no-context",
        "ftrace-no-irq-info",
        "ftrace-no-parent",
        "ftrace-sym-addr",
        "ftrace-sym-offset",
        "ftrace-sym-offset-addr",
    ] {
        let other = parse(name);
        let common = names(&plain).len().min(names(&other).len());
        assert!(common >= 20, "{name}: {common}");
        // Headers of different lengths leave room for more or fewer lines.
        assert_eq!(names(&plain)[..common], names(&other)[..common], "{name}");
    }
    let plain = parse("trace-cmd-plain");
    for name in ["latency", "no-plugins", "parent", "raw", "time-differences"] {
        assert_eq!(names(&plain), names(&parse(&format!("trace-cmd-{name}"))), "{name}");
    }
    assert_eq!(names(&parse("graph-plain"))[..5], names(&parse("graph-no-duration"))[..5]);
}

#[test]
fn addresses_come_with_their_symbols() {
    for event in parse("ftrace-sym-offset-addr").events() {
        assert!(matches!(event.place, Place::Address(address) if address >= 0xffff_ffff_8100_0000));
        // The call to the tracer stands behind an `endbr64`, where there is one.
        assert!(matches!(event.symbol, Some((_, 0 | 4))), "{event:?}");
    }
}

#[test]
fn lost_events_are_counted() {
    assert!(parse("ftrace-pipe-lost").lost > 1000);
    assert_eq!(parse("ftrace-plain").lost, 0);
}

#[test]
fn callers_in_call_chains_are_functions_that_ran() {
    let trace = parse("perf-chains");
    let seen = names(&trace);
    assert!(seen.contains(&"do_syscall_64"), "{seen:?}");
    // They are no samples: those were taken in a few functions.
    let sampled = trace.events().iter().filter(|event| event.count > 0).count();
    assert!(sampled < 10 && sampled > 0, "{sampled}");
    let objects: Vec<_> = trace.events().iter().map(|e| e.object.map(|o| trace.name(o))).collect();
    assert!(objects.contains(&Some("[kernel.kallsyms]")), "{objects:?}");
}
