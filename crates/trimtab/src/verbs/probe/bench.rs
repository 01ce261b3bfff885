//! `trimtab probe bench`: what instrumentation costs, beside others.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use clap::Args;
use trimtab_lab::process::Job;
use trimtab_lab::tools::{self, Toolbox};
use trimtab_report::{html, table};

use crate::cli::{self, Outputs};
use crate::output;
use crate::probe::bench::{self, Dyninst, PROGRAMS, Plan, Program, Rewriter, SUITES};
use crate::progress::Progress;

/// Bytes of objects that are rewritten to see how fast that is.
const REWRITTEN: u64 = 100_000_000;
/// The same with `--quick`.
const QUICKLY_REWRITTEN: u64 = 2_000_000;

/// Builds programs from Debian's sources, instruments them, and measures what that costs: beside
/// the plain programs, hooks inline, -finstrument-functions, clang's XRay, uftrace, frida and Dyninst,
/// as far as they are there. Then runs the test suites of some programs with every function instrumented.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the whole comparison, as a page

    trimtab probe bench --json bench.json --html bench.html

Example: a quick look

    trimtab probe bench --quick --only fib --only lua --rounds 3 --no-suites")]
pub struct Options {
    /// Only these programs; may be given several times
    #[arg(long, value_name = "PROGRAM", value_parser = Named::from_str)]
    pub only: Vec<Named>,
    /// Runs of each program in each way
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(2..))]
    pub rounds: u32,
    /// Leave out what takes most of the time: tracing every event, and frida
    #[arg(long)]
    pub quick: bool,
    /// Do not count instructions and misses with valgrind
    #[arg(long)]
    pub no_simulation: bool,
    /// Do not run the test suites
    #[arg(long)]
    pub no_suites: bool,
    /// Where to work; sources are kept there
    #[arg(long, value_name = "DIR", default_value = cli::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// A program that can be measured, by its name.
#[derive(Debug, Clone, Copy)]
pub struct Named(&'static Program);

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        PROGRAMS.iter().find(|program| program.name == text).map(Self).ok_or_else(|| {
            let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

/// Measures.
///
/// # Errors
/// What cannot be fetched, built or run. Targets that are missed are no error: they are in the
/// result.
pub fn run(options: &Options) -> anyhow::Result<()> {
    crate::destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let toolbox = Toolbox::from_env();
    let find = |name: &str| -> Option<PathBuf> {
        tools::tool(name).and_then(|tool| toolbox.find(tool).ok()).map(|found| found.path)
    };
    let gcc = bench::Compilers {
        c: find("gcc").unwrap_or_else(|| "gcc".into()),
        cxx: find("g++").unwrap_or_else(|| "g++".into()),
    };
    let dyninst = Dyninst::installed(&options.work)?;
    let work = options.work.join("probe-bench");
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let work = std::path::absolute(&work).context("cannot tell the current folder")?;
    let rewriter = dyninst.as_ref().map(|found| Rewriter::build(found, &gcc.cxx, &work));
    let (rewriter, unusable) = match rewriter.transpose() {
        Ok(rewriter) => (rewriter, None),
        Err(error) => (None, Some(format!("Dyninst: {error:#}"))),
    };
    let plan = Plan {
        programs: match options.only.as_slice() {
            [] => PROGRAMS.iter().collect(),
            some => some.iter().map(|named| named.0).collect(),
        },
        suites: if options.no_suites { &[] } else { SUITES },
        rounds: options.rounds,
        rewritten: if options.quick { QUICKLY_REWRITTEN } else { REWRITTEN },
        simulate: !options.no_simulation && find("valgrind").is_some(),
        work,
        gcc,
        clang: clang_with_xray(),
        uftrace: find("uftrace").filter(|_| !options.quick),
        frida: python_with_frida().filter(|_| !options.quick),
        dyninst: rewriter,
    };
    let mut found = bench::measure(&plan, &Progress::new())?;
    let missing = [
        (plan.clang.is_none(), "clang XRay: install clang and libclang-rt of one version"),
        (options.quick, "uftrace, frida and traces: --quick leaves them out"),
        (plan.uftrace.is_none() && !options.quick, "uftrace: install the package uftrace"),
        (plan.frida.is_none() && !options.quick, "frida: install it for python3 with pip"),
        (
            dyninst.is_none(),
            "Dyninst: Debian has no package of it; bench/dyninst builds and installs it",
        ),
        (!plan.simulate, "instructions and misses: not simulated"),
    ];
    let missing = missing.iter().filter(|(is_missing, _)| *is_missing);
    found.left_out.extend(missing.map(|(_, line)| (*line).to_owned()).chain(unusable));
    if let Some(version) = dyninst.as_ref().and_then(Dyninst::version) {
        found.repeat.tool_versions.insert("dyninst".to_owned(), version);
    }
    found.repeat.command = std::env::args().collect::<Vec<_>>().join(" ");
    for name in ["gcc", "valgrind", "uftrace"] {
        if let Some(tool) = tools::tool(name)
            && let Ok(version) = toolbox.find(tool)
            && let Some(version) = version.version
        {
            found.repeat.tool_versions.insert(name.to_owned(), version.to_string());
        }
    }
    if let Some(file) = &options.outputs.html {
        output::whole(file, &html::probe_bench(&found))?;
    }
    output::result(&options.outputs, &found.to_json(), || {
        table::probe_bench(&found, output::width())
    })
}

/// The first python3 in the path that has frida.
fn python_with_frida() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut pythons = std::env::split_paths(&folders).map(|folder| folder.join("python3"));
    pythons.find(|python| {
        python.exists()
            && Job::new("looking for frida", python).args(["-c", "import frida"]).run().is_ok()
    })
}

/// The newest clang whose library for XRay is there.
fn clang_with_xray() -> Option<bench::Compilers> {
    (15..=22).rev().find_map(|version| {
        let c = PathBuf::from(format!("/usr/bin/clang-{version}"));
        let cxx = PathBuf::from(format!("/usr/bin/clang++-{version}"));
        let library = format!("/usr/lib/llvm-{version}/lib/clang/{version}/lib/linux");
        let library = Path::new(&library).join("libclang_rt.xray-x86_64.a");
        (c.exists() && cxx.exists() && library.exists()).then_some(bench::Compilers { c, cxx })
    })
}
