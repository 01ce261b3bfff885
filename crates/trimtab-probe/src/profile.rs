//! What recordings say of each function, and in the forms that other tools read.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use serde::Serialize;

use crate::hook::Hook;
use crate::recording::{FunctionRecord, Recording};
use crate::replay::replay;

/// What is known of a function, over all recordings given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name, as the linker had it.
    pub name: String,
    /// Where it is in the program's file.
    pub address: u64,
    /// Bytes.
    pub size: u32,
    /// Calls.
    pub calls: u64,
    /// Cycles between entry and exit; 0 where times were not recorded.
    pub total_cycles: u64,
    /// Cycles without those of instrumented functions that it called.
    pub self_cycles: u64,
    /// Place in the order of first execution, from 1 on; 0 where that is not known.
    pub first: u64,
    /// By how much the number in memory grew between entry and exit; 0 where none was recorded.
    pub value: i64,
    /// By how much the counter of events grew between entry and exit; 0 where none was recorded.
    pub event_total: u64,
    /// The same without instrumented functions that it called.
    pub event_self: u64,
}

/// Calls from one function to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// Who calls; none where it is not instrumented.
    pub caller: Option<String>,
    /// Who is called.
    pub callee: String,
    /// How often.
    pub calls: u64,
}

/// A profile of functions.
#[derive(Debug, Clone, Serialize)]
pub struct Profile {
    /// Always `trimtab.probe.report/1`.
    pub schema: &'static str,
    /// The program's file.
    pub program: String,
    /// What was recorded.
    pub hook: Hook,
    /// What was counted with [`Hook::Event`], as perf names it; `task-clock` is in nanoseconds.
    pub event: Option<String>,
    /// Cycles in a nanosecond; none if that is not known.
    pub cycles_per_ns: Option<f64>,
    /// Whether all programs came to their ends, and were not killed.
    pub ended: bool,
    /// Pieces of the recordings that found no room.
    pub lost: u64,
    /// Entries and exits in signal handlers that interrupted a probe, which are not recorded.
    pub missed: u64,
    /// Functions that ran, by what they cost: own cycles or events, total ones, value, calls.
    pub functions: Vec<Row>,
    /// Functions that never ran.
    pub never: Vec<String>,
    /// Calls between functions, where they were recorded, by number.
    pub edges: Vec<Edge>,
}

impl Profile {
    /// Puts recordings of one program together; none of none.
    pub fn of(recordings: &[Recording<'_>]) -> Option<Self> {
        // Long: all rows are added up from the same recordings.
        let first = recordings.first()?;
        let mut rows: BTreeMap<(u64, String), Row> = BTreeMap::new();
        let mut edges: BTreeMap<(Option<String>, String), u64> = BTreeMap::new();
        for recording in recordings {
            let mut functions = recording.functions.clone();
            add_events(recording, &mut functions);
            for function in &functions {
                let row = rows.entry((function.address, function.name.clone())).or_insert(Row {
                    name: function.name.clone(),
                    address: function.address,
                    size: function.size,
                    calls: 0,
                    total_cycles: 0,
                    self_cycles: 0,
                    first: 0,
                    value: 0,
                    event_total: 0,
                    event_self: 0,
                });
                row.calls = row.calls.saturating_add(function.calls);
                let (total, own) = match recording.hook.counts_chosen() {
                    true => (&mut row.event_total, &mut row.event_self),
                    false => (&mut row.total_cycles, &mut row.self_cycles),
                };
                *total = total.saturating_add(function.total);
                *own = own.saturating_add(function.own);
                row.value = row.value.wrapping_add(function.value.cast_signed());
                if function.first != 0 && (row.first == 0 || function.first < row.first) {
                    row.first = function.first;
                }
            }
            for &(from, to, calls) in &recording.edges {
                let name = |index: usize| functions[index].name.clone();
                *edges.entry((from.map(name), name(to))).or_default() += calls;
            }
        }
        let (mut ran, never): (Vec<Row>, Vec<Row>) =
            rows.into_values().partition(|row| row.calls > 0);
        ran.sort_by(|a, b| {
            let events = |row: &Row| (row.event_self, row.event_total);
            let key =
                |row: &Row| (row.self_cycles, row.total_cycles, events(row), row.value, row.calls);
            key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name))
        });
        let mut edges: Vec<Edge> = edges
            .into_iter()
            .map(|((caller, callee), calls)| Edge { caller, callee, calls })
            .collect();
        edges.sort_by_key(|edge| std::cmp::Reverse(edge.calls));
        Some(Self {
            schema: "trimtab.probe.report/1",
            program: first.program.clone(),
            hook: first.hook,
            event: first.event.clone(),
            cycles_per_ns: recordings.iter().find_map(|recording| recording.cycles_per_ns),
            ended: recordings.iter().all(|recording| recording.ended),
            lost: recordings.iter().fold(0, |sum: u64, one| sum.saturating_add(one.lost)),
            missed: recordings.iter().fold(0, |sum: u64, one| sum.saturating_add(one.missed)),
            functions: ran,
            never: never.into_iter().map(|row| row.name).collect(),
            edges,
        })
    }

    /// The functions that make up this share (0 to 1) of all own cycles or events, the dearest first;
    /// where there are none, of total ones, then of the value, and where there is none, of calls.
    pub fn hottest(&self, share: f64) -> Vec<&str> {
        let any = |of: fn(&Row) -> u64| self.functions.iter().any(|row| of(row) != 0);
        let ways: [fn(&Row) -> u64; 6] = [
            |row| row.self_cycles,
            |row| row.total_cycles,
            |row| row.event_self,
            |row| row.event_total,
            |row| row.value.max(0).cast_unsigned(),
            |row| row.calls,
        ];
        let weigh = ways.into_iter().find(|&of| any(of)).unwrap_or(ways[5]);
        let mut rows: Vec<(&Row, u64)> =
            self.functions.iter().map(|row| (row, weigh(row))).collect();
        rows.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.name.cmp(&b.name)));
        let all: f64 = rows.iter().map(|&(_, weight)| weight as f64).sum();
        let mut sum = 0.0;
        let mut names = Vec::new();
        for (row, weight) in rows {
            if sum >= share * all {
                break;
            }
            sum += weight as f64;
            names.push(row.name.as_str());
        }
        names
    }

    /// The order of first execution in trimtab's own format of traces, which `trimtab order` takes.
    /// Nothing is known but that a function began: each event is of one byte.
    pub fn native(&self) -> String {
        let mut rows: Vec<&Row> = self.functions.iter().filter(|row| row.first != 0).collect();
        rows.sort_by_key(|row| row.first);
        let mut text = String::from("trimtab-trace 1\nsource probe\nevents\n");
        for row in rows {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:x} 1 {} {}+0x0", row.address, row.calls, row.name);
        }
        text
    }
}

/// Takes calls, times and first executions from events.
fn add_events(recording: &Recording<'_>, functions: &mut [FunctionRecord]) {
    if !recording.hook.has_events() {
        return;
    }
    let mut firsts: Vec<(u64, usize)> = Vec::new();
    let mut seen: HashMap<usize, u64> = HashMap::new();
    for (_, events) in recording.threads() {
        replay(events, |_, call| {
            let function = &mut functions[call.function];
            function.calls += 1;
            function.own = function.own.saturating_add(call.own);
            if !call.nested {
                function.total = function.total.saturating_add(call.end - call.start);
            }
            let first = seen.entry(call.function).or_insert(call.start);
            *first = call.start.min(*first);
        });
    }
    firsts.extend(seen.into_iter().map(|(function, time)| (time, function)));
    firsts.sort_unstable();
    for (place, (_, function)) in firsts.into_iter().enumerate() {
        functions[function].first = place as u64 + 1;
    }
}

/// Stacks with the own cycles of each, one a line, as tools for flame graphs read them.
pub fn folded(recordings: &[Recording<'_>]) -> String {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for recording in recordings {
        for (_, events) in recording.threads() {
            let mut by_path: HashMap<Vec<usize>, u64> = HashMap::new();
            replay(events, |path, call| match by_path.get_mut(path) {
                Some(own) => *own += call.own,
                None => _ = by_path.insert(path.to_vec(), call.own),
            });
            for (path, own) in by_path {
                let names: Vec<String> = path
                    .iter()
                    .map(|&function| recording.functions[function].name.replace(';', ":"))
                    .collect();
                *stacks.entry(names.join(";")).or_default() += own;
            }
        }
    }
    let mut text = String::new();
    for (stack, own) in stacks.iter().filter(|(_, own)| **own > 0) {
        let _ = writeln!(text, "{stack} {own}");
    }
    text
}

/// One event of Chrome's trace format.
#[derive(Serialize)]
struct Complete<'a> {
    name: &'a str,
    ph: &'static str,
    ts: f64,
    dur: f64,
    pid: u64,
    tid: u32,
}

/// The calls as JSON that Perfetto and Chrome's tracing page show: the "trace event format",
/// complete events. Times are microseconds from the first event, cycles/1000 where the speed of the
/// counter is not known.
///
/// # Errors
/// That JSON cannot be written, which does not happen.
pub fn chrome(recordings: &[Recording<'_>]) -> Result<String, serde_json::Error> {
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    let mut separator = "\n";
    let times = recordings.iter().flat_map(|recording| {
        recording.threads().filter_map(|(_, mut events)| events.next()).map(|event| event.time)
    });
    let start = times.min().unwrap_or(0);
    for recording in recordings {
        let speed = recording.cycles_per_ns.unwrap_or(1.0) * 1000.0;
        for (thread, events) in recording.threads() {
            let mut calls = Vec::new();
            replay(events, |_, call| calls.push(call));
            calls.sort_by_key(|call| (call.start, std::cmp::Reverse(call.end)));
            for call in calls {
                text.push_str(separator);
                separator = ",\n";
                let event = Complete {
                    name: &recording.functions[call.function].name,
                    ph: "X",
                    ts: call.start.saturating_sub(start) as f64 / speed,
                    dur: (call.end - call.start) as f64 / speed,
                    pid: recording.process,
                    tid: thread,
                };
                text.push_str(&serde_json::to_string(&event)?);
            }
        }
    }
    text.push_str("\n]}\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(rows: &[(&str, u64, u64, u64)]) -> Profile {
        let row = |&(name, calls, total_cycles, self_cycles): &(&str, u64, u64, u64)| Row {
            name: name.to_owned(),
            address: 0,
            size: 16,
            calls,
            total_cycles,
            self_cycles,
            first: 0,
            value: 0,
            event_total: 0,
            event_self: 0,
        };
        Profile {
            schema: "trimtab.probe.report/1",
            program: String::new(),
            hook: Hook::Time,
            event: None,
            cycles_per_ns: None,
            ended: true,
            lost: 0,
            missed: 0,
            functions: rows.iter().map(row).collect(),
            never: Vec::new(),
            edges: Vec::new(),
        }
    }

    #[test]
    fn a_function_without_own_cycles_is_not_weighed_by_its_total() {
        let timed = profile(&[("main", 1, 1000, 0), ("work", 10, 900, 700), ("tiny", 99, 300, 0)]);
        assert_eq!(timed.hottest(1.0), ["work"]);
    }

    #[test]
    fn what_was_recorded_weighs_functions() {
        let own = profile(&[("a", 9, 90, 10), ("b", 1, 10, 80), ("c", 1, 10, 10)]);
        assert_eq!(own.hottest(0.8), ["b"]);
        assert_eq!(own.hottest(0.9), ["b", "a"]);
        let total = profile(&[("a", 1, 90, 0), ("b", 9, 10, 0)]);
        assert_eq!(total.hottest(0.9), ["a"]);
        let mut events = profile(&[("a", 9, 0, 0), ("b", 1, 0, 0)]);
        (events.functions[0].event_total, events.functions[0].event_self) = (50, 10);
        (events.functions[1].event_total, events.functions[1].event_self) = (40, 40);
        assert_eq!(events.hottest(0.8), ["b"]);
        let calls = profile(&[("a", 1, 0, 0), ("b", 9, 0, 0)]);
        assert_eq!(calls.hottest(0.9), ["b"]);
    }
}
