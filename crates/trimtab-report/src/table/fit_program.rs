//! `trimtab fit program` on a terminal.

use super::{Lean, grid, report, some, titled, wrap, yes};
use crate::model::{
    BeforeAfter, BlockOrder, FitProgram, Granularity, Interval, Measured, ObjectLayout,
};
use crate::number::{
    bytes, change, count, plain, ratio, rough, seconds, share, times, times_fewer,
};

/// Renders `fit` for a terminal `width` columns wide.
pub fn fit_program(fit: &FitProgram, width: u16) -> String {
    let mut parts = vec![head(fit, width), layout(&fit.layout, width)];
    for library in &fit.libraries {
        parts.push(titled(&library.file, layout(library, width)));
    }
    parts.extend([
        titled("What a start costs", cost(fit, width)),
        titled("Beside it", beside(fit, width)),
        titled("Runs that did not make the order", held_out(fit, width)),
        accounts(fit, width),
        titled("Checks", checks(fit, width)),
        wrap(&format!("To keep it: {}.", fit.artifacts.use_it), width),
    ]);
    report(parts)
}

fn head(fit: &FitProgram, width: u16) -> String {
    let what = format!(
        "{} {}, linked by {}, {} order of {}, traced by {}, seed {}",
        fit.program,
        fit.arch,
        fit.linker,
        fit.algorithm,
        match fit.granularity {
            Granularity::Function => "functions",
            Granularity::Block => "their blocks",
        },
        fit.tracer,
        fit.seed
    );
    let touched = &fit.layout.touched;
    let verdict = format!(
        "{} → {} text pages touched by `{}` ({}), {} the function-level minimum of {}",
        count(touched.before.into()),
        count(touched.after.into()),
        fit.runs.first().map_or("", String::as_str),
        change(touched.before.into(), touched.after.into()),
        times(fit.layout.ratio_to_minimum()),
        count(fit.layout.minimum.function_pages.into()),
    );
    format!("{}\n{}", wrap(&what, width), wrap(&verdict, width))
}

const SIDES: [(&str, Lean); 4] =
    [("", Lean::Left), ("before", Lean::Right), ("after", Lean::Right), ("change", Lean::Right)];

fn row(name: &str, before: String, after: String, change: String) -> Vec<String> {
    vec![name.to_owned(), before, after, change]
}

fn sides(name: &str, sides: BeforeAfter<f64>, say: impl Fn(f64) -> String) -> Vec<String> {
    row(name, say(sides.before), say(sides.after), change(sides.before, sides.after))
}

fn layout(object: &ObjectLayout, width: u16) -> String {
    let none = String::new;
    let whole = |value: f64| count(value as u64);
    let touched = BeforeAfter::new(object.touched.before.into(), object.touched.after.into());
    let minimum = object.minimum;
    let mut rows = vec![
        sides("text pages", object.text.pages_spanned.map(|pages| f64::from(*pages)), whole),
        sides("pages touched", touched, whole),
    ];
    let shuffled = &object.touched.shuffled;
    if let (Some(least), Some(most)) = (shuffled.iter().min(), shuffled.iter().max()) {
        let range = match least == most {
            true => count((*least).into()),
            false => format!("{}–{}", count((*least).into()), count((*most).into())),
        };
        let factor = object.shuffle_factor().map(times_fewer).unwrap_or_default();
        rows.push(row("  of random orders", none(), range, factor + " ours"));
    }
    rows.extend([
        row("minimum, whole functions", none(), count(minimum.function_pages.into()), none()),
        row("minimum, executed bytes", none(), count(minimum.executed_pages.into()), none()),
        sides("page-fault curve, area", object.curve_area, rough),
        sides("file", object.file_bytes.map(|size| *size as f64), |size| bytes(size as u64)),
    ]);
    grid(width, &SIDES, rows)
}

fn cost(fit: &FitProgram, width: u16) -> String {
    let kib = |value: f64| format!("{} KiB", count(value.round() as u64));
    let whole = |value: f64| count(value as u64);
    let mut rows = Vec::new();
    if fit.faults.runs > 0 {
        rows.extend([
            sides("cold: major faults", fit.faults.major, plain),
            sides("cold: minor faults", fit.faults.minor, plain),
            sides("cold: file pages in memory", fit.resident_file_kib, kib),
            sides("  of them code", fit.resident_text_kib, kib),
            sides("warm: minor faults", fit.warm_minor_faults, plain),
        ]);
    }
    if let Some(instructions) = fit.instructions {
        rows.push(sides("instructions", instructions.map(|count| *count as f64), whole));
    }
    if let Some(jumps) = fit.jumps_taken {
        rows.push(sides("jumps taken", jumps.map(|count| *count as f64), whole));
    }
    if let Some(time) = &fit.time {
        let mut add = |name: &str, of: &BeforeAfter<Measured>| {
            let say = of.map(|side| {
                format!("{} ± {}", seconds(side.mean), seconds((side.high - side.low) / 2.0))
            });
            let change = change(of.before.mean, of.after.mean);
            rows.push(row(name, say.before, say.after, change));
        };
        add("cold: time", &time.cold);
        if let Some(first) = &time.first_output {
            add("cold: time to first output", first);
        }
        add("warm: time", &time.warm);
    }
    let mut text = grid(width, &SIDES, rows);
    if fit.faults.runs > 0 {
        let disk = match fit.faults.read_ahead_kib {
            Some(kib) => format!("counted on a disk that reads ahead by {kib} KiB"),
            None => "counted on the machine's disk".to_owned(),
        };
        let runs = format!(
            "Means of {} starts of each side, in turn. Cold: no page of the files above in memory; \
             faults and pages {disk}, times taken on the machine's disk.",
            count(fit.faults.runs.into())
        );
        text += &format!("\n{}\n", wrap(&runs, width));
    }
    for (name, interval) in [
        ("Cold time", fit.time_ratio),
        ("Cold time to first output", fit.first_output_ratio),
        ("Warm time", fit.warm_time_ratio),
    ] {
        if let Some(interval) = interval {
            text += &format!("{}\n", wrap(&verdict(name, &interval), width));
        }
    }
    text
}

/// What the interval of a ratio of times allows to say, in a sentence.
fn verdict(name: &str, interval: &Interval) -> String {
    let says = if interval.contains(1.0) {
        "these runs show no difference"
    } else if interval.high < 1.0 {
        "it became faster"
    } else {
        "it became slower"
    };
    format!(
        "{name} after over before is {} (95 % confidence interval {} to {}): {says}.",
        ratio(interval.mean),
        ratio(interval.low),
        ratio(interval.high)
    )
}

/// Ours in one row with what others made.
fn beside(fit: &FitProgram, width: u16) -> String {
    if fit.beside.is_empty() {
        return String::new();
    }
    let kib = |value: f64| format!("{} KiB", count(value.round() as u64));
    let time = |interval: &Option<Interval>| match interval {
        Some(i) => format!("{} ({}–{})", ratio(i.mean), ratio(i.low), ratio(i.high)),
        None => String::new(),
    };
    let mut rows = vec![
        vec![
            "as built".to_owned(),
            plain(fit.faults.major.before),
            kib(fit.resident_file_kib.before),
            plain(fit.warm_minor_faults.before),
            time(&fit.first_output_ratio),
        ],
        vec![
            "trimtab".to_owned(),
            plain(fit.faults.major.after),
            kib(fit.resident_file_kib.after),
            plain(fit.warm_minor_faults.after),
            String::new(),
        ],
    ];
    rows.extend(fit.beside.iter().map(|other| {
        vec![
            other.name.clone(),
            plain(other.major_faults),
            kib(other.resident_file_kib),
            plain(other.warm_minor_faults),
            time(&other.first_output_ratio),
        ]
    }));
    let columns = [
        ("", Lean::Left),
        ("major faults", Lean::Right),
        ("in memory", Lean::Right),
        ("warm faults", Lean::Right),
        ("our first output / its", Lean::Right),
    ];
    grid(width, &columns, rows)
}

fn held_out(fit: &FitProgram, width: u16) -> String {
    let rows = fit
        .held_out
        .iter()
        .map(|run| {
            vec![
                run.name.clone(),
                count(run.touched_before.into()),
                count(run.touched_after.into()),
                count(run.minimum_function_pages.into()),
                times(run.ratio),
            ]
        })
        .collect();
    let columns = [
        ("", Lean::Left),
        ("before", Lean::Right),
        ("after", Lean::Right),
        ("minimum", Lean::Right),
        ("ratio", Lean::Right),
    ];
    grid(width, &columns, rows)
}

fn accounts(fit: &FitProgram, width: u16) -> String {
    let mut lines = Vec::new();
    for object in fit.objects() {
        let order = object.order;
        let of = if fit.libraries.is_empty() { "" } else { &object.file };
        lines.push(format!(
            "Order{}{of}: {} lines; {} placed, {} unknown, {} duplicate, {} discarded, {} misplaced.",
            if of.is_empty() { "" } else { " of " },
            count(order.total() + object.misplaced),
            count(order.placed),
            count(order.unknown),
            count(order.duplicate),
            count(order.discarded),
            count(object.misplaced)
        ));
        lines.push(format!(
            "Functions: {} of {} executed; {} of the text in sections of single functions. \
             Coverage of the trace: {} of names, {} of bytes.",
            count(object.functions.executed),
            count(object.functions.total),
            share(object.separate),
            share(object.coverage.names),
            share(object.coverage.bytes)
        ));
    }
    if fit.granularity == Granularity::Block {
        lines.push(format!(
            "Split: {} functions, {} moved away; {} objects compiled again.",
            count(fit.split.functions),
            bytes(fit.split.cold_bytes),
            count(fit.split.objects)
        ));
        if fit.split.block_order == BlockOrder::ExtTsp {
            lines.push("What stays in a function is ordered by how it ran (ext-tsp).".to_owned());
        }
    }
    if fit.together {
        lines.push(
            "What a start needs beside the text lies right before it in the file.".to_owned(),
        );
    }
    let spent = fit.seconds;
    let split = match fit.granularity {
        Granularity::Function => String::new(),
        Granularity::Block => format!("split {}, ", seconds(spent.split)),
    };
    lines.push(format!(
        "Took {}: build {}, trace {}, {split}layout {}, second build {}.",
        seconds(spent.total),
        seconds(spent.build),
        seconds(spent.trace),
        seconds(spent.layout),
        seconds(spent.relink)
    ));
    lines.iter().map(|line| wrap(line, width) + "\n").collect()
}

/// The checks that hold in one line, those that fail in a row each.
fn checks(fit: &FitProgram, width: u16) -> String {
    let (held, failed): (Vec<_>, Vec<_>) = fit.checks.iter().partition(|check| check.ok);
    let names: Vec<String> = held.iter().map(|check| check.name.clone()).collect();
    let mut text = String::new();
    if !names.is_empty() {
        text += &wrap(&format!("{} hold: {}.", names.len(), some(&names, 20)), width);
        text += "\n";
    }
    let rows = failed
        .iter()
        .map(|check| vec![check.name.clone(), yes(check.ok), check.detail.clone()])
        .collect();
    text + &grid(width, &[("check", Lean::Left), ("", Lean::Left), ("", Lean::Left)], rows)
}
