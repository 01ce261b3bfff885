//! `trimtab jar`: a MIPS program as a jar.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use trimtab_jar::run::{self, Request, Summary};
use trimtab_report::number::{bytes, count};

use crate::arguments::Outputs;
use crate::{destination, output};

/// Split functions that are listed.
const LISTED: usize = 10;

/// Translates a statically linked MIPS Linux program to a jar that any JVM of Java 17 or later runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: a C program for every machine with a JVM

    mipsel-linux-gnu-gcc -O2 -static hello.c -o hello
    trimtab jar hello -o hello.jar
    java -jar hello.jar")]
pub struct Options {
    /// The program: 32-bit little-endian MIPS, linked with -static
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// The jar to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Translates.
///
/// # Errors
/// A program that cannot be read or translated, and a jar that cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([Some(options.output.as_path()), options.json.as_deref()])?;
    let request = Request { program: options.program.clone(), output: options.output.clone() };
    let summary = run::run(&request)?;
    let mut json = serde_json::to_string_pretty(&summary)?;
    json.push('\n');
    let outputs = Outputs { json: options.json.clone(), html: None };
    output::result(&outputs, &json, || text(&summary))
}

fn text(summary: &Summary) -> String {
    let functions = &summary.functions;
    let mut text = format!(
        "{}: {} functions, {} instructions, in {} classes; {} of program, {} of jar\n",
        summary.output,
        count(functions.total as u64),
        count(summary.instructions as u64),
        count(summary.classes as u64),
        bytes(summary.bytes.elf as u64),
        bytes(summary.bytes.jar as u64),
    );
    let mut split: Vec<_> = summary.split.iter().collect();
    split.sort_by_key(|split| (std::cmp::Reverse(split.bytes), &split.name));
    for function in split.iter().take(LISTED) {
        let parts = function.methods.len().saturating_sub(1);
        let _ = writeln!(
            text,
            "  {} is too large for the just-in-time compiler ({} bytes): in {parts} parts",
            function.name, function.bytes,
        );
    }
    if split.len() > LISTED {
        let _ = writeln!(text, "  and {} more such functions", split.len() - LISTED);
    }
    for name in &summary.unknown {
        let _ = writeln!(text, "  {name} has an instruction that is not supported: it stops there");
    }
    text
}
