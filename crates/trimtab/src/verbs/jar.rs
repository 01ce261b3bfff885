//! `trimtab jar`: a MIPS program as a jar.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use trimtab_jar::run::{self, Exports, Imports, Request, Summary};
use trimtab_report::number::{bytes, count};

use crate::arguments::Outputs;
use crate::{destination, output};

/// Split functions that are listed.
const LISTED: usize = 10;

/// Translates a statically linked MIPS Linux program to a jar that any JVM of Java 17 or later runs.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("exported").multiple(true)))]
#[command(after_help = "\
Example: a C program for every machine with a JVM

    mipsel-linux-gnu-gcc -O2 -static hello.c -o hello
    trimtab jar hello -o hello.jar
    java -jar hello.jar

Example: a C library as a Java class

    trimtab jar lib --export-header lib.h --class org.example.Lib -o lib.jar")]
pub struct Options {
    /// The program: 32-bit little-endian MIPS, linked with -static
    #[arg(value_name = "PROGRAM", required_unless_present = "stubs")]
    pub program: Option<PathBuf>,
    /// The jar to write
    #[arg(long, short, value_name = "FILE", required_unless_present = "stubs")]
    pub output: Option<PathBuf>,
    /// Functions that become methods of a Java class; main does not run then
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        group = "exported",
        requires = "class"
    )]
    pub export: Vec<String>,
    /// The C header that declares them; without --export, all of it that the program has
    #[arg(long, value_name = "FILE", group = "exported", requires = "class")]
    pub export_header: Option<PathBuf>,
    /// The Java class that gets them, with its package
    #[arg(long, value_name = "NAME", requires = "exported")]
    pub class: Option<String>,
    /// A C header of functions that Java has for the program
    #[arg(long, value_name = "FILE", requires = "imported")]
    pub import_header: Option<PathBuf>,
    /// The Java interface that gets them, with its package
    #[arg(long, value_name = "NAME", group = "imported", requires = "import_header")]
    pub interface: Option<String>,
    /// Write C functions that lead to those of --import-header, and trimtab.h, for compiling the program
    #[arg(long, value_name = "FILE", group = "imported", requires = "import_header", conflicts_with_all = ["program", "output", "class"])]
    pub stubs: Option<PathBuf>,
    /// Make the jar a Java module of this name, which exports the class's package and trimtab.embed
    #[arg(long, value_name = "NAME", conflicts_with = "stubs")]
    pub module: Option<String>,
    /// Count instructions, so that an embedder can limit them and stop the program anywhere
    #[arg(long)]
    pub metered: bool,
    /// Count how often each block runs: running the jar writes a profile to -Dtrimtab.profile=FILE
    #[arg(long, conflicts_with_all = ["stubs", "profile_use"])]
    pub profile_generate: bool,
    /// Cut large functions by these profiles, so that what runs often is compiled together
    #[arg(long, value_name = "FILE,...", value_delimiter = ',', conflicts_with = "stubs")]
    pub profile_use: Vec<PathBuf>,
    /// Make these functions one Java method, in which they call each other by jumps; can be given for several groups
    #[arg(long, value_name = "NAME,...", conflicts_with = "stubs")]
    pub co_locate: Vec<String>,
    /// Also say how this function was cut, and what crosses the cuts
    #[arg(long, value_name = "FUNCTION", conflicts_with = "stubs")]
    pub explain: Option<String>,
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Translates.
///
/// # Errors
/// A program that cannot be read or translated, and a jar that cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let outputs = [options.output.as_deref(), options.json.as_deref(), options.stubs.as_deref()];
    destination::check(outputs)?;
    if let (Some(stubs), Some(header)) = (&options.stubs, &options.import_header) {
        return Ok(run::write_stubs(header, stubs)?);
    }
    let exports = options.class.clone().map(|class| Exports {
        names: options.export.clone(),
        header: options.export_header.clone(),
        class,
    });
    let imports = options.import_header.clone().zip(options.interface.clone());
    let request = Request {
        program: options.program.clone().unwrap_or_default(),
        output: options.output.clone().unwrap_or_default(),
        exports,
        imports: imports.map(|(header, interface)| Imports { header, interface }),
        module: options.module.clone(),
        metered: options.metered,
        profile_generate: options.profile_generate,
        profile_use: options.profile_use.clone(),
        co_locate: options.co_locate.iter().map(|group| names(group)).collect(),
    };
    let summary = run::run(&request)?;
    let mut json = serde_json::to_string_pretty(&summary)?;
    json.push('\n');
    let outputs = Outputs { json: options.json.clone(), html: None };
    output::result(&outputs, &json, || {
        let explained = options.explain.as_deref().map(|name| explained(&summary, name));
        text(&summary) + &explained.unwrap_or_default()
    })
}

/// The names of a list.
fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// How a function was cut.
fn explained(summary: &Summary, name: &str) -> String {
    let shares = summary.co_located.iter().find(|group| group.names.iter().any(|own| own == name));
    if let Some(group) = shares {
        return format!("{name} is in the method of {}\n", group.names.join(", "));
    }
    let Some(found) = summary.split.iter().find(|split| split.name == name) else {
        return match summary.names.contains(name) {
            true => format!("{name} is not cut: it fits into one method\n"),
            false => format!("there is no function {name} that something reaches\n"),
        };
    };
    let list = |names: &[String]| match names {
        [] => "nothing".to_owned(),
        names => names.join(" "),
    };
    let mut text = format!("{name}: a method of {} bytes calls", count(found.methods[0] as u64));
    let _ = writeln!(text, " {} parts in turn", count(found.parts.len() as u64));
    for part in &found.parts {
        let _ = write!(text, "  {}: {} bytes, ", part.method, count(part.bytes as u64));
        let _ = write!(text, "{} basic blocks", count(part.blocks as u64));
        if let Some(runs) = part.runs {
            let _ = write!(text, " that ran {} times", count(runs));
        }
        if part.copies > 0 {
            let _ = write!(text, " and copies of {}", count(part.copies as u64));
        }
        let _ = writeln!(text, "; entered at {} of them", count(part.entries as u64));
        let _ = writeln!(text, "    takes {}", list(&part.takes));
        let _ = writeln!(text, "    puts back {}", list(&part.puts_back));
        let _ = writeln!(text, "    goes on in {}", list(&part.goes_to));
    }
    text
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
    for group in &summary.co_located {
        let _ = writeln!(
            text,
            "  {} are one method of {} bytes; of the calls between them {} are jumps, {} are calls",
            group.names.join(", "),
            count(group.bytes as u64),
            count(group.jumps as u64),
            count(group.calls as u64),
        );
    }
    for (names, what) in [(&summary.exports, "called from Java"), (&summary.imports, "in Java")] {
        if !names.is_empty() {
            let _ = writeln!(text, "  functions {what}: {}", count(names.len() as u64));
        }
    }
    for function in &summary.skipped {
        let _ = writeln!(text, "  {} is left out: {}", function.name, function.why);
    }
    if summary.loses_exceptions {
        text.push_str(
            "  C++ exceptions end this program, as it has no symbols: translate it before strip\n",
        );
    }
    for name in &summary.too_large {
        let _ = writeln!(text, "  {name} does not fit into a class of Java's: it is interpreted");
    }
    for name in &summary.unknown {
        let _ = writeln!(text, "  {name} has an instruction that is not supported: it stops there");
    }
    text
}
