//! How much slower the start of a program is while the native tracer records it.
//!
//! Each program runs untraced and traced in turn. What is said of the ratio is the median of all
//! pairs, and the interval in which the true median lies with a confidence of 95 %, from order
//! statistics: Hahn and Meeker, *Statistical Intervals*, section 5.2.

#![allow(clippy::unwrap_used, reason = "a benchmark may end wherever it cannot go on")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;
use trimtab_lab::process::Invocation;
use trimtab_native::native::{self, Objects, Request};

/// Of 21 sorted ratios, the 6th to the 16th hold the median with a confidence of 97 %.
const PAIRS: usize = 21;
const INTERVAL: (usize, usize) = (5, 15);

/// Functions of the generated program, and how many of them run: real starts run 2 to 10 %.
const FUNCTIONS: usize = 50_000;
const RUN: usize = 4_000;

/// A command to measure.
struct Case {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    objects: Objects,
}

struct Measured {
    untraced: Duration,
    ran: usize,
}

fn main() {
    // `cargo test --benches` only wants to see that it runs.
    let pairs = if std::env::args().any(|argument| argument == "--bench") { PAIRS } else { 1 };
    let folder = TempDir::new().unwrap();
    let generated = generate(folder.path());
    let all = || Objects { all: true, ..Objects::default() };
    println!(
        "{:34} {:>9} {:>6} {:>12} {:>12} {:>7} {:>15} {:>8}",
        "program", "functions", "ran", "untraced", "traced", "ratio", "95 % interval", "each"
    );
    let mut typical = None;
    if let Some(python) = python() {
        let arguments = vec!["-c".to_owned(), "import json".to_owned()];
        let name = "python3, and libraries".to_owned();
        let case = Case { name, program: python, arguments, objects: all() };
        let Measured { untraced, ran } = measure(&case, folder.path(), pairs);
        typical = Some(untraced / ran as u32);
    }
    if let Some(clang) = clang() {
        // Its libraries have more code than most: what it costs to write breakpoints into all of it
        // shows where next to nothing of it runs.
        for arguments in ["-c -x c /dev/null -o /dev/null", "--version"] {
            let name = format!("clang {}, and libraries", arguments.split(' ').next().unwrap());
            let arguments = arguments.split(' ').map(str::to_owned).collect();
            let case = Case { name, program: clang.clone(), arguments, objects: all() };
            measure(&case, folder.path(), pairs);
        }
    }
    let case = |name: String, work: u64| Case {
        name,
        program: generated.clone(),
        arguments: vec![work.to_string()],
        objects: Objects::default(),
    };
    // Without python3, what its functions were seen to take.
    let typical = typical.unwrap_or(Duration::from_micros(25));
    let work = work_for(&generated, typical);
    let name = format!("generated, {:.0} us each", typical.as_secs_f64() * 1e6);
    measure(&case(name, work), folder.path(), pairs);
    measure(&case("generated, calls and nothing else".to_owned(), 0), folder.path(), pairs);
    println!(
        "\neach: what tracing adds for each function that ran, with the preparation of all. The \
         generated\nprogram spends as long in each as the start of python3 does, then no time at all."
    );
}

/// Measures one program and prints its line.
fn measure(case: &Case, folder: &Path, pairs: usize) -> Measured {
    let Case { name, program, arguments, objects } = case;
    let log = folder.join("log");
    let untraced = || {
        let start = Instant::now();
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "{name}");
        start.elapsed()
    };
    let traced = || {
        let request = Request::new(Invocation::new(program).args(arguments))
            .log(&log)
            .objects(objects.clone());
        let start = Instant::now();
        let recorded = native::trace(&request).unwrap();
        let time = start.elapsed();
        assert_eq!(recorded.ended, native::End::Exited(0), "{name}");
        (time, recorded)
    };
    untraced();
    let (_, recorded) = traced();
    let functions: usize = recorded.objects.iter().map(|object| object.functions).sum();
    let ran: usize = recorded.objects.iter().map(|object| object.entered.len()).sum();
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        times.0.push(untraced().as_secs_f64());
        times.1.push(traced().0.as_secs_f64());
    }
    let mut ratios: Vec<f64> = times.1.iter().zip(&times.0).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let (plain, slow) = (median(times.0), median(times.1));
    let (low, high) = INTERVAL;
    let interval = match (ratios.get(low), ratios.get(high)) {
        (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
        _ => "too few runs".to_owned(),
    };
    println!(
        "{name:34} {functions:>9} {ran:>6} {:>9.1} ms {:>9.1} ms {:>7.2} {interval:>15} {:>5.1} us",
        plain * 1e3,
        slow * 1e3,
        median(ratios),
        (slow - plain) / ran as f64 * 1e6
    );
    Measured { untraced: Duration::from_secs_f64(plain), ran }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Makes a program of many functions of which some run, in an order of their own: assembly, which
/// is translated at once. Sizes are spread as those of the functions of large C++ programs are,
/// 200 bytes in the mean.
fn generate(folder: &Path) -> PathBuf {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut functions = String::from(".text\n");
    for index in 0..FUNCTIONS {
        let size = 24 + (-176.0 * random.random_range(1e-6..1.0_f64).ln()) as usize;
        let body = if cfg!(target_arch = "aarch64") {
            "mov w2, #3\n1: cbz w1, 2f\nsub w1, w1, #1\nmadd w0, w0, w2, w2\nb 1b\n2: ret"
        } else {
            "mov %edi, %eax\n1: test %esi, %esi\njz 2f\ndec %esi\nimul $3, %eax, %eax\n\
             inc %eax\njmp 1b\n2: ret"
        };
        let _ = writeln!(
            functions,
            ".balign 16\n.globl f{index}\n.type f{index}, %function\nf{index}:\n{body}\n\
             .skip {size}\n.size f{index}, . - f{index}"
        );
    }
    let mut order: Vec<usize> = (0..FUNCTIONS).collect();
    order.shuffle(&mut random);
    let mut main = String::from("#include <stdlib.h>\ntypedef unsigned f(unsigned, unsigned);\n");
    let list = |text: &mut String, before: &str, after: &str| {
        for index in &order[..RUN] {
            let _ = write!(text, "{before}f{index}{after}");
        }
    };
    list(&mut main, "f ", ";\n");
    main.push_str("static f *const order[] = {");
    list(&mut main, "", ",");
    main.push_str(
        "};\nint main(int count, char **arguments) {\n  unsigned x = count;\n  \
         for (unsigned i = 0; i < sizeof order / sizeof *order; i++)\n    \
         x = order[i](x, atoi(arguments[1]));\n  return x == 42;\n}\n",
    );
    functions.push_str(".section .note.GNU-stack, \"\", %progbits\n");
    fs::write(folder.join("functions.s"), functions).unwrap();
    fs::write(folder.join("main.c"), main).unwrap();
    let program = folder.join("generated");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"]).arg(&program).args(["main.c", "functions.s"]).current_dir(folder);
    assert!(cc.status().unwrap().success());
    program
}

/// How often the functions of the generated program must go round for each to take this time.
fn work_for(program: &Path, time: Duration) -> u64 {
    let seconds = |rounds: u64| {
        let run = || {
            let start = Instant::now();
            Command::new(program).arg(rounds.to_string()).status().unwrap();
            start.elapsed().as_secs_f64()
        };
        (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
    };
    let (few, many) = (1_000, 11_000);
    let round = (seconds(many) - seconds(few)) / (many - few) as f64 / RUN as f64;
    (time.as_secs_f64() / round) as u64
}

/// The program behind whatever `python3` is.
fn python() -> Option<PathBuf> {
    let mut python = Command::new("python3");
    python.args(["-c", "import os, sys; print(os.path.realpath(sys.executable))"]);
    let output = python.output().ok().filter(|output| output.status.success())?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

fn clang() -> Option<PathBuf> {
    let names = (15..=30).rev().map(|version| format!("clang-{version}"));
    let path = std::env::var_os("PATH")?;
    names
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(&name)))
        .find(|file| file.exists())
}
