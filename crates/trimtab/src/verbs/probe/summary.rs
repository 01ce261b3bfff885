//! What became of the functions of objects, for people.

use std::collections::BTreeMap;

use trimtab_probe::run::{InstrumentReport, SkippedFunction, UserHooks};
use trimtab_report::number::{bytes, count};
use trimtab_report::section::{self, Table};
use trimtab_report::{row, terminal};

/// In words: a line, and the reasons.
pub fn render(report: &InstrumentReport) -> String {
    let functions = &report.functions;
    let mut text = format!(
        "{} of {} functions in {} files are instrumented ({}), {} before and {} after.\n",
        count(functions.instrumented),
        count(functions.seen),
        count(report.files),
        report.hook.name(),
        bytes(report.bytes.before),
        bytes(report.bytes.after),
    );
    if let Some(UserHooks { inside, called }) = &report.hooks {
        if !inside.is_empty() {
            text += &format!("Inside the probes: {}.\n", inside.join(", "));
        }
        for SkippedFunction { name, reason } in called {
            text += &format!("Called by the probes: {name} ({reason}).\n");
        }
    }
    let mut reasons: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for left in &functions.left {
        reasons.entry(&left.reason).or_insert((0, &left.name)).0 += 1;
    }
    if reasons.is_empty() {
        return text;
    }
    let mut rows: Vec<_> = reasons.into_iter().collect();
    rows.sort_by_key(|(reason, (count, _))| (std::cmp::Reverse(*count), *reason));
    let rows = rows.into_iter().map(|(reason, (number, name))| row![count(number), reason, name]);
    let columns = ["left as they are", "such as"].map(section::name);
    let columns = [vec![section::number("functions")], columns.to_vec()].concat();
    text + "\n" + &terminal::whole_table(&Table::new("Functions", columns, rows))
}
