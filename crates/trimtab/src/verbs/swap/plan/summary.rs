//! A plan on the terminal.

use trimtab_layout::cost::Policy;
use trimtab_layout::paged::Places;
use trimtab_report::number::{bytes, count, share};
use trimtab_report::section::{self, Table};
use trimtab_report::{row, terminal};
use trimtab_swap::{Partition, Plan, Replay};

/// What there is to say of a plan.
pub fn render(plan: &Plan, partition: &Partition<'_>, places: &Places, frames: usize) -> String {
    // Long: a line for each figure of a plan.
    let code = plan.code_bytes;
    let mut text = format!(
        "plan {}, threshold {}, {} frames, placement {}\n\n",
        plan.id.get(..16).unwrap_or(&plan.id),
        share(plan.threshold),
        plan.frames,
        plan.placement
    );
    let rows = [
        ("core", code.core, Some(plan.executed.core)),
        ("base", code.base, Some(plan.executed.base)),
        ("cache", code.cache, None),
        ("page tables", code.tables, None),
        ("driver's tables", code.descriptors, None),
        ("stays", code.net_resident, None),
        ("swappable", code.swappable, Some(plan.executed.swappable)),
        ("all", code.original, None),
    ]
    .map(|(name, part, executed)| {
        let of_all = share(part as f64 / code.original.max(1) as f64);
        let executed = executed.map_or(String::new(), |executed| {
            format!("{} of executed instructions", share(executed))
        });
        row![name, bytes(part), of_all, executed]
    });
    let columns = [section::name(""), section::number(""), section::number(""), section::name("")];
    text.push_str(&terminal::whole_table(&Table::new("Code", columns, rows)));
    if plan.returns > 0 {
        text.push_str(&format!(
            "base has what came back at least {} times to a cache that had forgotten it\n",
            count(plan.returns)
        ));
    }
    if code.data > 0 {
        text.push_str(&format!("read-only data that is swapped as well: {}\n", bytes(code.data)));
    }
    let faults: u64 = partition
        .replays
        .iter()
        .map(|replay: &Replay| replay.faults(places, frames, Policy::Nru))
        .sum();
    text.push_str(&format!(
        "\n{} pieces on {} pages; {} page faults in the traces (NRU)\n",
        count(partition.swappable() as u64),
        count(plan.pages),
        count(faults)
    ));
    text.push_str(&format!(
        "copies for initialization code: would save {} in a kernel that starts without its \
         swappable code, and nothing in one that starts with it\n",
        bytes(plan.duplication.saved_there)
    ));
    if !plan.handler {
        text.push_str(
            "this kernel has no handler, coldswap_fault: this is an estimate for one that has\n",
        );
    }
    if !plan.unresolved.is_empty() {
        let shown: Vec<&str> = plan.unresolved.iter().take(5).map(String::as_str).collect();
        text.push_str(&format!(
            "{} core functions call through pointers of which nothing is known: {}{}\n",
            count(plan.unresolved.len() as u64),
            shown.join(", "),
            if plan.unresolved.len() > shown.len() { " ..." } else { "" }
        ));
    }
    text
}
