//! What is asked of the comparison, and the tools that are there for it.

use std::path::{Path, PathBuf};

use crate::report::ProbeBench;
use anyhow::Context;
use trimtab_lab::observe::Observe;
use trimtab_lab::place::make_own;
use trimtab_lab::process::Job;
use trimtab_lab::tools::{self, Llvm, Toolbox};
use trimtab_lab::workdir::WorkError;

use crate::compare::{Plan, measure};
use crate::dyninst::{Dyninst, Rewriter};
use crate::suites::suites;
use crate::variants::Compilers;
use trimtab_lab::workload::programs::{Program, programs};

/// Bytes of objects that are rewritten to see how fast that is.
const REWRITTEN: u64 = 100_000_000;
/// The same with `--quick`.
const QUICKLY_REWRITTEN: u64 = 2_000_000;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Request {
    /// The programs; all of [`programs`] where none is named.
    pub programs: Vec<&'static Program>,
    /// Runs of each program in each way, at least 2.
    pub rounds: u32,
    /// Whether what takes most of the time is left out: tracing every event, and frida.
    pub quick: bool,
    /// Whether valgrind counts instructions and misses, where it is there.
    pub simulate: bool,
    /// Whether test suites are run with every function instrumented.
    pub suites: bool,
    /// Where to work; sources are kept there.
    pub work: PathBuf,
    /// The command that repeats this, for the result.
    pub command: String,
}

/// Measures.
///
/// # Errors
/// What cannot be fetched, built or run. Targets that are missed are no error: they are in the
/// result.
pub fn bench(request: &Request, observe: &dyn Observe) -> anyhow::Result<ProbeBench> {
    // Long: a line for each tool that may be missing.
    let toolbox = Toolbox::from_env();
    let find = |name: &str| -> Option<PathBuf> {
        tools::tool(name).and_then(|tool| toolbox.find(tool).ok()).map(|found| found.path)
    };
    let gcc = Compilers {
        c: find("gcc").unwrap_or_else(|| "gcc".into()),
        cxx: find("g++").unwrap_or_else(|| "g++".into()),
    };
    let dyninst = Dyninst::installed(&request.work)?;
    make_own(&request.work).map_err(WorkError::from)?;
    let work = request.work.join("probe-bench");
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let work = std::path::absolute(&work).context("cannot tell the current folder")?;
    let rewriter = dyninst.as_ref().map(|found| Rewriter::build(found, &gcc.cxx, &work));
    let (rewriter, unusable) = match rewriter.transpose() {
        Ok(rewriter) => (rewriter, None),
        Err(error) => (None, Some(format!("Dyninst: {error:#}"))),
    };
    let plan = Plan {
        programs: match request.programs.as_slice() {
            [] => programs()?.iter().collect(),
            some => some.to_vec(),
        },
        suites: if request.suites { suites()? } else { Vec::new() },
        rounds: request.rounds,
        rewritten: if request.quick { QUICKLY_REWRITTEN } else { REWRITTEN },
        simulate: request.simulate && find("valgrind").is_some(),
        work,
        gcc,
        clang: clang_with_xray(),
        uftrace: find("uftrace").filter(|_| !request.quick),
        frida: python_with_frida().filter(|_| !request.quick),
        dyninst: rewriter,
    };
    let mut found = measure(&plan, observe)?;
    let missing = [
        (plan.clang.is_none(), "clang XRay: install clang and libclang-rt of one version"),
        (request.quick, "uftrace, frida and traces: --quick leaves them out"),
        (plan.uftrace.is_none() && !request.quick, "uftrace: install the package uftrace"),
        (plan.frida.is_none() && !request.quick, "frida: install it for python3 with pip"),
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
    found.repeat.command = request.command.clone();
    for name in ["gcc", "valgrind", "uftrace"] {
        if let Some(tool) = tools::tool(name)
            && let Ok(version) = toolbox.find(tool)
            && let Some(version) = version.version
        {
            found.repeat.tool_versions.insert(name.to_owned(), version.to_string());
        }
    }
    Ok(found)
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
fn clang_with_xray() -> Option<Compilers> {
    Llvm::versions().find_map(|version| {
        let c = PathBuf::from(format!("/usr/bin/clang-{version}"));
        let cxx = PathBuf::from(format!("/usr/bin/clang++-{version}"));
        let library = format!("/usr/lib/llvm-{version}/lib/clang/{version}/lib/linux");
        let library = Path::new(&library).join("libclang_rt.xray-x86_64.a");
        (c.exists() && cxx.exists() && library.exists()).then_some(Compilers { c, cxx })
    })
}
