//! Why a function is where it is.

use trimtab_report::number::count;
use trimtab_report::section::{Column, Table, name, number};
use trimtab_report::{Phrase, row, terminal};
use trimtab_swap::{Class, Part, Partition, Unit, Why};

use trimtab_lab::failure::Failure;

/// Says what becomes of the functions of this name, and why.
///
/// # Errors
/// That there is none.
pub fn explain(partition: &Partition<'_>, name: &str) -> Result<String, Failure> {
    let code = partition.kernel.code;
    let functions = code.program().lookup(name);
    if functions.is_empty() {
        return Err(Failure::new(format!("there is no function {name} in the kernel"))
            .hint("functions that were inlined are part of their callers"));
    }
    let mut text = String::new();
    for function in functions {
        for unit in partition.units.as_slice().iter().filter(|u| u.functions.contains(&function)) {
            text.push_str(&format!("{}: {}\n", unit.name, becomes(unit, partition)));
        }
        for (at, why) in partition.kernel.residence.path(function) {
            text.push_str(&format!("  {}: {}\n", code.name(at), reason(partition, why)));
        }
    }
    Ok(text)
}

/// Functions that are shown as bringing most into the core.
const SHOWN: usize = 20;

/// Adds up what brings code into the core, and lists what was not followed, with the reasons.
pub fn core(partition: &Partition<'_>) -> String {
    let code = partition.kernel.code;
    let residence = &partition.kernel.residence;
    let brought = residence.causes(code.program());
    let table = |columns: &[Column], rows: Vec<Vec<Phrase>>| match rows.is_empty() {
        true => String::new(),
        false => terminal::whole_table(&Table::new("", columns, rows)) + "\n",
    };
    let rows = brought.groups.iter();
    let mut text = table(
        &[name("bytes of functions that lead to"), number("all"), number("nothing else")],
        rows.map(|(group, reached, alone)| row![group.name(), count(*reached), count(*alone)])
            .collect(),
    );
    text += &table(
        &[name("with a place of their own in the kernel's linker script"), number("bytes")],
        brought.pinned.iter().map(|(place, bytes)| row![place, count(*bytes)]).collect(),
    );
    let patched = brought.patched.iter().filter(|(_, bytes)| *bytes > 0);
    text += &table(
        &[name("functions that may be patched and are core for nothing else"), number("bytes")],
        patched.map(|(kind, bytes)| row![kind.name(), count(*bytes)]).collect(),
    );
    let functions = brought.functions.iter().filter(|found| found.alone > 0).take(SHOWN);
    text += &table(
        &[name("bytes of functions that lead from"), number("all"), number("nothing else")],
        functions
            .map(|found| row![code.name(found.function), count(found.reached), count(found.alone)])
            .collect(),
    );
    text.push_str("calls that were not followed\n");
    for end in residence.ends() {
        text.push_str(&format!("  {} > {}: {}\n", end.from, end.to, end.reason));
    }
    text
}

fn becomes(unit: &Unit, partition: &Partition<'_>) -> String {
    let ran = match unit.count {
        0 => "it never ran".to_owned(),
        times => format!("its hottest block ran {} times", count(times)),
    };
    let part = match unit.part {
        Part::Whole => "",
        Part::First => " (the part with its entry)",
        Part::Warm => " (the blocks that ran seldom)",
        Part::Frozen => " (the blocks that never ran)",
    };
    let needed = count(partition.threshold.count);
    match unit.class {
        Class::Core => format!("core{part}, {} bytes; {ran}", count(unit.size)),
        Class::Base => {
            format!("base{part}, {} bytes; {ran}, {needed} are enough to stay", count(unit.size))
        }
        Class::Swappable => {
            format!("swappable{part}, {} bytes; {ran}, {needed} would stay", count(unit.size))
        }
        Class::Init => "released when the kernel is up".to_owned(),
    }
}

fn reason(partition: &Partition<'_>, why: Why) -> String {
    let name = |function| partition.kernel.code.name(function);
    match why {
        Why::Root(group) => format!("core, for it is {}", group.name()),
        Why::CalledBy(by) => format!("core, for {by} calls it", by = name(by)),
        Why::TakenBy(by) => format!("core, for {by} takes its address", by = name(by)),
        Why::HeldFor(by) => format!(
            "core, for data that {by} names holds its address, and {by} calls through pointers",
            by = name(by)
        ),
        Why::SeenFrom(by) => {
            format!("core, for {by} was seen to call it through a pointer", by = name(by))
        }
        Why::Pinned => {
            "core, for the kernel's linker script gives it a place of its own".to_owned()
        }
        Why::Patched(kind) => format!("core where the kernel may patch it: {kind}"),
    }
}
