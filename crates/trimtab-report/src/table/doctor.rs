//! The table of `trimtab doctor`.

use super::{Lean, grid, report, wrap};
use crate::model::DoctorReport;
use crate::number::NONE;

/// From this width on the table says where each tool is.
const PATHS: u16 = 100;

/// Writes `doctor` as plain text, at most `width` columns wide (40 or more). The commands that
/// install what is missing stand alone on their lines, whatever the width: people copy them.
pub fn doctor(doctor: &DoctorReport, width: u16) -> String {
    // Paths are the widest and the least asked for; the JSON has them at any width.
    let paths = width >= PATHS;
    let rows = doctor
        .tools
        .iter()
        .map(|tool| {
            let state = match (tool.ok, &tool.found) {
                (true, _) => "ok",
                (false, None) => "MISSING",
                (false, Some(_)) => "WRONG",
            };
            let mut row = vec![
                tool.name.clone(),
                state.to_owned(),
                tool.version.clone().unwrap_or_else(|| NONE.to_owned()),
                tool.wanted.clone(),
                tool.needed_by.join(", "),
            ];
            if paths {
                row.push(tool.found.clone().unwrap_or_else(|| NONE.to_owned()));
            }
            row
        })
        .collect();
    let mut columns = vec![
        ("tool", Lean::Whole),
        ("state", Lean::Whole),
        ("version", Lean::Left),
        ("wanted", Lean::Left),
        ("needed by", Lean::Left),
    ];
    if paths {
        columns.push(("found", Lean::Left));
    }
    report(vec![grid(width, &columns, rows), advice(doctor, width)])
}

fn advice(doctor: &DoctorReport, width: u16) -> String {
    let mut commands: Vec<&str> = Vec::new();
    for tool in doctor.tools.iter().filter(|tool| !tool.ok) {
        if !commands.contains(&tool.install.as_str()) {
            commands.push(&tool.install);
        }
    }
    if commands.is_empty() {
        return "Nothing is missing.".to_owned();
    }
    let missing = doctor.tools.iter().filter(|tool| !tool.ok).count();
    let text = format!(
        "{missing} of {} tools are missing or of a wrong version; install them with:",
        doctor.tools.len()
    );
    let mut text = wrap(&text, width) + "\n";
    for command in commands {
        text += &format!("\n    {command}");
    }
    text
}
