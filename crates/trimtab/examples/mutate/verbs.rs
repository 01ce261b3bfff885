//! Verbs that read foreign files, with the files of a sound call.

use std::fs;
use std::path::Path;

use clap::Parser;
use serde_json::Value;
use trimtab::cli::Cli;

/// A verb and its files.
#[derive(Debug)]
pub struct Verb {
    /// Its arguments; `%0` stands for the first of its files.
    pub arguments: &'static [&'static str],
    /// Its files. What follows a colon says which of them it is.
    pub files: &'static [&'static str],
}

/// What a run touched.
pub const PAGES: Verb = Verb {
    arguments: &[
        "pages",
        "%0",
        "--trace",
        "%1",
        "--map",
        "%2",
        "--min-coverage",
        "0.1",
        "--json",
        "-",
    ],
    files: &["program", "trace", "map"],
};
/// An order.
pub const ORDER: Verb = Verb {
    arguments: &["order", "%0", "--trace", "%1", "--map", "%2", "--min-coverage", "0.1"],
    files: &["program", "trace", "map"],
};
/// Whether an order was followed.
pub const CHECK: Verb = Verb {
    arguments: &["check", "%0", "--order", "%1", "--before", "%2", "--map", "%3", "--json", "-"],
    files: &["program", "order", "program", "map"],
};
/// All algorithms.
pub const COMPARE: Verb = Verb {
    arguments: &[
        "compare",
        "%0",
        "--trace",
        "%1",
        "--map",
        "%2",
        "--min-coverage",
        "0.1",
        "--json",
        "-",
    ],
    files: &["program", "trace", "map"],
};
/// A plan.
pub const SWAP_PLAN: Verb = Verb {
    arguments: &["swap", "plan", "%0", "--trace", "%1", "--from", "begin_swapping", "--json", "-"],
    files: &["kernel", "stream"],
};
/// The check of a plan.
pub const SWAP_CHECK: Verb =
    Verb { arguments: &["swap", "check", "%0", "%1", "--json", "-"], files: &["linked", "plan"] };
/// What an instrumented program recorded.
pub const PROBE_REPORT: Verb =
    Verb { arguments: &["probe", "report", "%0", "--json", "-"], files: &["recording"] };
/// How a trace would run on more CPUs.
pub const SMP_PREDICT: Verb =
    Verb { arguments: &["smp", "predict", "%0", "--json", "-"], files: &["events"] };
/// What renting would bring.
pub const RENT_PLAN: Verb =
    Verb { arguments: &["rent", "plan", "%0", "--json", "-"], files: &["page_cache"] };

impl Verb {
    /// Runs it in this process on these files; its output goes to standard output. Whether it succeeded.
    pub fn run(&self, files: &[std::path::PathBuf]) -> anyhow::Result<bool> {
        let arguments = self.arguments.iter().map(|word| match word.strip_prefix('%') {
            Some(number) => {
                let file = number.parse().ok().and_then(|number: usize| files.get(number));
                file.map_or_else(|| (*word).into(), |file| file.as_os_str().to_owned())
            }
            None => (*word).into(),
        });
        let cli = Cli::try_parse_from(std::iter::once("trimtab".into()).chain(arguments))?;
        Ok(cli.verb.run().is_ok())
    }

    /// What contradicts the files in what it printed.
    pub fn contradiction(&self, output: &[u8], files: &[std::path::PathBuf]) -> Option<String> {
        let size = |file: &Path| fs::metadata(file).map_or(0, |data| data.len());
        let sizes: u64 = files.iter().map(|file| size(file)).sum();
        // A name can be said several times, a number is longer than what it was made from.
        let most = (1 << 18) + 64 * sizes;
        if output.len() as u64 > most {
            return Some(format!("it printed {} bytes of {sizes}", output.len()));
        }
        if !self.arguments.contains(&"--json") || output.is_empty() {
            return None;
        }
        let Ok(report) = serde_json::from_slice::<Value>(output) else {
            return Some("it printed no JSON".to_owned());
        };
        match self.arguments {
            ["pages", ..] => of_pages(&report, size(&files[0])),
            ["swap", "check", ..] => of_check(&report, size(&files[0]), size(&files[1])),
            _ => None,
        }
    }
}

/// What contradicts a kernel and a plan of so many bytes, in what their check says.
fn of_check(report: &Value, kernel: u64, plan: u64) -> Option<String> {
    let number = |name: &str| report[name].as_u64().unwrap_or(u64::MAX);
    let wrong = match () {
        () if number("start") >= number("end") => "swappable code ends where it begins",
        // A symbol takes 16 bytes of a file, and a unit more than a name of a plan.
        () if number("functions") > kernel / 16 => "there are more functions than symbols",
        () if number("swappable").saturating_add(number("outside")) > plan / 8 => {
            "there are more units than the plan has"
        }
        () if number("pages_kept") > number("pages") => "more pages are kept than there are",
        () => return None,
    };
    Some(wrong.to_owned())
}

/// What contradicts the file, of `size` bytes, in a report of pages.
fn of_pages(report: &Value, size: u64) -> Option<String> {
    let number = |at: &str| report.pointer(at).and_then(Value::as_f64).unwrap_or(-1.0);
    let share = |at: &str| (0.0..=1.0).contains(&number(at));
    let spanned = number("/text/pages_spanned");
    let touched = number("/touched");
    let functions = number("/minimum/function_pages");
    let executed = number("/minimum/executed_pages");
    let mut sections = report["sections"].as_array().into_iter().flatten();
    let wrong = match () {
        () if number("/text/bytes") > size as f64 => "the text is longer than the file",
        () if touched > spanned => "more pages were touched than there are",
        () if executed > touched => "fewer pages were touched than the fewest",
        () if executed > functions => "parts of functions take more pages than all of them",
        () if number("/functions/executed") > number("/functions/total") => {
            "more functions ran than there are"
        }
        () if !share("/coverage/names") || !share("/coverage/bytes") => "a share is none",
        () if sections.any(|section| section["bytes"].as_f64().is_none_or(|b| b > size as f64)) => {
            "a section is longer than the file"
        }
        () if number("/curve_area") < 0.0 => "the area under the curve is none",
        () => return None,
    };
    Some(wrong.to_owned())
}
