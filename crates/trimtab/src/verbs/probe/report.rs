//! `trimtab probe report`: what instrumented programs recorded.

use std::path::PathBuf;

use clap::Args;
use trimtab_probe::{Hook, Profile, Row, profile};
use trimtab_report::number::{count, nanoseconds, share};
use trimtab_report::section::{Table, name, number};
use trimtab_report::{row, terminal};

use crate::{destination, output};
use trimtab_lab::failure::Failure;
use trimtab_probe::run::Recordings;

/// Shows which functions ran, how often, and what they cost. Several recordings of one program are
/// added up.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: what did the run cost, and where?

    trimtab probe report trimtab-probe.out --top 20")]
pub struct Options {
    /// What instrumented programs wrote
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Show so many functions; 0 shows all
    #[arg(long, value_name = "N", default_value = "30")]
    pub top: usize,
    /// Also write all calls as trace events to FILE, for Perfetto and Chrome.
    #[arg(
        long, value_name = "FILE",
        help = with_hooks("Also write all calls as trace events to FILE, for Perfetto and Chrome", Hook::has_events)
    )]
    pub chrome: Option<PathBuf>,
    /// Also write stacks with their cycles to FILE, for flame graphs.
    #[arg(
        long, value_name = "FILE",
        help = with_hooks("Also write stacks with their cycles to FILE, for flame graphs", Hook::has_events)
    )]
    pub folded: Option<PathBuf>,
    /// Also write the order of first execution to FILE, for trimtab order.
    #[arg(
        long, value_name = "FILE",
        help = with_hooks("Also write the order of first execution to FILE, for trimtab order", Hook::tells_first)
    )]
    pub native: Option<PathBuf>,
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The help of an option that only recordings with some hooks can give.
fn with_hooks(what: &str, is: fn(Hook) -> bool) -> String {
    format!("{what} (--hook {})", Hook::names(is, " or "))
}

/// Shows it.
///
/// # Errors
/// Files that cannot be read or written, and forms that were not recorded.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let files = [&options.chrome, &options.folded, &options.native, &options.json];
    destination::check(files.map(|file| file.as_deref()))?;
    let files = Recordings::open(&options.files)?;
    let recordings = files.parse()?;
    let Some(found) = Profile::of(&recordings) else {
        return Err(Failure::usage("no recording was given").into());
    };
    let needs = |option: &str, is: fn(Hook) -> bool| {
        if is(found.hook) {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{option} needs a recording with --hook {}, and this one is with {}",
            Hook::names(is, " or "),
            found.hook.name()
        ))
        .hint("instrument and run the program again"))
    };
    if let Some(file) = &options.chrome {
        needs("--chrome", Hook::has_events)?;
        output::whole(file, &profile::chrome(&recordings)?)?;
    }
    if let Some(file) = &options.folded {
        needs("--folded", Hook::has_events)?;
        output::whole(file, &profile::folded(&recordings))?;
    }
    if let Some(file) = &options.native {
        needs("--native", Hook::tells_first)?;
        output::whole(file, &found.native())?;
    }
    if let Some(file) = &options.json {
        output::json(&found, file)?;
        if output::is_standard_output(file) {
            return Ok(());
        }
    }
    output::print(&render(&found, options.top))
}

fn render(profile: &Profile, top: usize) -> String {
    // Long: a line or a column for each thing that a profile can have.
    let top = if top == 0 { usize::MAX } else { top };
    let calls: u64 = profile.functions.iter().map(|row| row.calls).sum();
    let mut text = format!(
        "{}: {} calls of {} functions, {} never ran.\n",
        profile.program,
        count(calls),
        count(profile.functions.len() as u64),
        count(profile.never.len() as u64)
    );
    if !profile.ended {
        text.push_str("The program was killed, or still runs: the last calls may be missing.\n");
    }
    if profile.lost > 0 {
        let why = match profile.hook.counts_chosen() {
            true => "found no room, or their threads no counter",
            false => "found no room on the disk",
        };
        text.push_str(&format!("{} pieces of it {why}.\n", profile.lost));
    }
    if let Some(event) = &profile.event {
        text.push_str(&format!("event: {event}\n"));
    }
    if profile.missed > 0 {
        text.push_str(&format!(
            "{} entries and exits are missing: a signal interrupted a probe, or a hook of yours.\n",
            count(profile.missed)
        ));
    }
    text.push('\n');
    let is_event = profile.hook.counts_chosen();
    let has_own = profile.hook.has_own();
    let has_total = profile.hook.has_total();
    let own = |row: &Row| if is_event { row.event_self } else { row.self_cycles };
    let total = |row: &Row| if is_event { row.event_total } else { row.total_cycles };
    let unit = |grown| if is_event { events(profile, grown) } else { time(profile, grown) };
    let all = profile.functions.iter().map(own).fold(0, u64::saturating_add).max(1);
    let mut columns = vec![number("calls")];
    if has_own {
        columns.extend([number("self"), number("share")]);
    }
    if has_total {
        columns.push(number("total"));
    }
    let has_value = profile.hook.has_value();
    if has_value {
        columns.push(number("value"));
    }
    columns.push(name("function"));
    let rows = profile.functions.iter().take(top).map(|row| {
        let mut cells = row![count(row.calls)];
        if has_own {
            let part = own(row) as f64 / all as f64;
            cells.extend(row![unit(own(row)), share(part)]);
        }
        if has_total {
            cells.extend(row![unit(total(row))]);
        }
        if has_value {
            cells.extend(row![value(row.value)]);
        }
        cells.extend(row![&row.name]);
        cells
    });
    text.push_str(&terminal::whole_table(&Table::new("Functions", columns, rows)));
    if !profile.edges.is_empty() {
        let rows = profile.edges.iter().take(top).map(|edge| {
            let caller = edge.caller.as_deref().unwrap_or("(not instrumented)");
            row![count(edge.calls), caller, &edge.callee]
        });
        let columns = [number("calls"), name("from"), name("to")];
        let table = terminal::whole_table(&Table::new("Calls", columns, rows));
        text.push_str(&format!("\n{table}"));
    }
    text
}

/// By how much a number grew.
fn value(value: i64) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", count(value.unsigned_abs()))
}

/// A time, or cycles where the speed of the counter is not known.
fn time(profile: &Profile, cycles: u64) -> String {
    match profile.cycles_per_ns {
        None => format!("{} cycles", count(cycles)),
        Some(speed) => nanoseconds(cycles as f64 / speed),
    }
}

/// By how much a counter grew.
fn events(profile: &Profile, grown: u64) -> String {
    match profile.event.as_deref() {
        Some("task-clock") => nanoseconds(grown as f64),
        _ => count(grown),
    }
}
