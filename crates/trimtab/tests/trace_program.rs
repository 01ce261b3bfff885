//! `trimtab trace program` as a person uses it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use app::Bench;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A folder with the program `app`.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.compile();
    bench.link("lld", "app", &[]);
    bench
}

fn c(bench: &Bench, name: &str, code: &str) {
    fs::write(bench.file(&format!("{name}.c")), format!("#include <unistd.h>\n{code}")).unwrap();
    bench.good("gcc", &["-O1", "-o", name, &format!("{name}.c")]);
}

#[test]
fn the_json_says_what_ran_and_the_trace_makes_an_order() {
    let bench = bench();
    let arguments = ["trace", "program", "-o", "a.trace", "--json", "-", "--", "./app"];
    let (code, output, error) = bench.trimtab(&arguments);
    assert_eq!(code, 0, "{error}");
    assert!(error.contains("started: "), "its own output: {error}");
    let json: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(json["schema"], "trimtab.trace.program/1");
    assert_eq!(json["command"], serde_json::json!(["./app"]));
    assert_eq!(json["ended"], serde_json::json!({"status": 0}));
    assert_eq!((&json["processes"], &json["notes"]), (&1.into(), &Value::Array(Vec::new())));
    let object = &json["objects"][0];
    assert!(object["path"].as_str().unwrap().ends_with("/app"), "{object}");
    assert_eq!(object["output"], "a.trace");
    let entered = object["entered"].as_u64().unwrap();
    assert!(object["functions"].as_u64().unwrap() > entered);
    let trace = fs::read_to_string(bench.file("a.trace")).unwrap();
    let events = trace.split_once("\nevents\n").unwrap().1;
    assert_eq!(events.lines().count() as u64, entered);

    // As in the list that was made by hand, which has only _start of the start-up code, and says
    // once what two functions are called.
    let listed = fs::read_to_string(bench.file("start.trace")).unwrap();
    let listed: Vec<&str> = listed.lines().filter(|line| !line.starts_with('#')).collect();
    let known = events.lines().filter_map(|line| line.split(' ').nth(3)?.strip_suffix("+0x0"));
    let known: Vec<&str> = known.filter(|name| listed.contains(name)).collect();
    assert_eq!(known, [&listed[..], &["mix"]].concat());
    bench.good("trimtab", &["order", "app", "--trace", "a.trace", "-o", "a.order"]);
}

#[test]
fn two_runs_give_the_same_trace() {
    let bench = bench();
    for name in ["a", "b"] {
        bench.good("trimtab", &["trace", "program", "-o", name, "--", "./app"]);
    }
    let [a, b] = ["a", "b"].map(|name| fs::read_to_string(bench.file(name)).unwrap());
    assert_eq!(a, b);
}

#[test]
fn what_goes_wrong_is_said_in_one_line_with_a_hint() {
    let bench = bench();
    bench.good("strip", &["-o", "stripped", "app"]);
    c(&bench, "fails", "int main(void) { return 3; }");
    c(&bench, "hangs", "int main(void) { for (;;) pause(); }");
    c(&bench, "bomb", "int main(void) { for (;;) fork(); }");
    fs::write(bench.file("text"), "text").unwrap();
    for (arguments, expected) in [
        (
            "-o t -- ./none",
            "there is no program `./none`; give its path, or a name that is in PATH",
        ),
        ("-o t -- ./text", "the system did not start `./text`: Permission denied (os error 13)"),
        ("-o none/t -- ./app", "cannot write none/t: there is no folder none"),
        ("-o t -- ./fails", "./fails ended with status 3"),
        ("-o t --timeout 1 -- ./hangs", "./hangs had not ended after 1 s"),
        (
            "-o t --processes 20 -- ./bomb",
            "the program had more than 20 processes at once, so all of them were ended; does it \
             start itself again and again?",
        ),
        (
            "--folder f --library libnone -- ./app",
            "nothing ran of libnone; expected a file of this name that the program maps, with \
             symbols of functions",
        ),
    ] {
        let arguments = ["trace", "program"].into_iter().chain(arguments.split(' '));
        let arguments: Vec<&str> = arguments.collect();
        let (code, _, error) = bench.trimtab(&arguments);
        assert_eq!(code, 1, "{arguments:?}");
        assert!(error.contains(&format!("trimtab: {expected}\n")), "{arguments:?}: {error}");
    }
    let (code, _, error) = bench.trimtab(&["trace", "program", "-o", "t", "--", "./stripped"]);
    let expected = "/stripped cannot be traced: it has no symbols of functions; build it without \
                    stripping\n";
    assert!(code == 1 && error.ends_with(expected), "{error}");
}

#[test]
fn a_setuid_program_of_somebody_else_is_noted() {
    if !nix::unistd::geteuid().is_root() {
        println!("only root can make a program that is somebody else's");
        return;
    }
    let bench = bench();
    c(&bench, "who", "int main(void) { return geteuid() != 65534; }");
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(bench.path(), open).unwrap();
    fs::set_permissions(bench.file("who"), fs::Permissions::from_mode(0o4755)).unwrap();
    let trimtab = bench.file("tools/trimtab");
    let trimtab = fs::canonicalize(trimtab).unwrap();
    let copy = bench.file("trimtab");
    // By another process: were it this one, a test beside this one could keep it from being run.
    assert!(std::process::Command::new("cp").args([&trimtab, &copy]).status().unwrap().success());
    let arguments = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let command = ["trace", "program", "-o", "who.trace", "--", "./who"];
    let copy = copy.to_str().unwrap();
    let (code, output, error) =
        bench.run("setpriv", &[&arguments[..], &[copy], &command[..]].concat());
    assert_eq!(code, 0, "{output}{error}");
    let expected = "/who: it is setuid, and a program that is traced without privileges does not \
                    get those of its file: it ran as an ordinary program; trace as root to see it \
                    run as it does\n";
    assert!(output.ends_with(expected), "{output}");
}

#[test]
fn nothing_runs_on_after_ctrl_c_or_a_kill() {
    let bench = bench();
    let code = "int main(void) { fork(); setsid(); fork(); write(1, \"x\", 1); for (;;) pause(); }";
    c(&bench, "endless", code);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        let arguments = ["trace", "program", "-o", "t", "--", "./endless"];
        let mut child = bench
            .command("trimtab")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut started = [0; 4];
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut started).unwrap();
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        let status = child.wait().unwrap();
        if signal != Signal::SIGKILL {
            assert_eq!(status.code(), Some(128 + signal as i32));
        }
        // The kernel kills what is traced when the tracer is gone, which may take a moment.
        let start = Instant::now();
        while running(&bench) > 0 {
            assert!(start.elapsed() < Duration::from_secs(20), "{signal}");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Their ends of the pipe are closed as well.
        assert_eq!(output.read(&mut started).unwrap(), 0);
    }
}

/// How many processes run `endless`.
fn running(bench: &Bench) -> usize {
    let program = fs::canonicalize(bench.file("endless")).unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let runs = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("exe")).is_ok_and(|path| path == program)
    };
    entries.filter(runs).count()
}
