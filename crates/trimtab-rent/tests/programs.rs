//! The programs of guests that rent memory, on this machine: the oracle finds each planted fault and no other, and
//! the loads say what they did.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use trimtab_lab::compile::compile;
use trimtab_lab::process::Job;

/// Where their sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest/rent");
/// As guests have them.
const FLAGS: [&str; 8] =
    ["-std=gnu11", "-O2", "-static", "-s", "-Wall", "-Wextra", "-Werror", "-pthread"];

/// A folder with a program.
struct Room {
    folder: TempDir,
    program: PathBuf,
}

/// What a program wrote, and how it ended.
struct Said {
    status: Option<i32>,
    text: String,
}

impl Room {
    fn of(name: &str) -> Self {
        Self::with(&Path::new(SOURCES).join(format!("{name}.c")))
    }

    /// With a program of this source and of the headers of all.
    fn with(source: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let entries = fs::read_dir(SOURCES).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.extension().is_some_and(|end| end == "h"));
        let files: Vec<(String, String)> = files
            .chain([source.to_owned()])
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, fs::read_to_string(path).unwrap())
            })
            .collect();
        let sources: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (&**name, &**text)).collect();
        compile("building a program", Path::new("gcc"), &sources, &FLAGS, &program).unwrap();
        Self { folder, program }
    }

    /// Runs it with these words, in which `{}` stands for the folder.
    fn run(&self, words: &str) -> Said {
        let folder = self.folder.path().to_string_lossy();
        let words = words.split_whitespace().map(|word| word.replace("{}", &folder));
        let job = Job::new("running a program of guests", &self.program).args(words);
        let output = job.any_status().limit(Duration::from_secs(200)).capture().unwrap();
        let text = String::from_utf8(output.output).unwrap();
        Said { status: output.finished.status.code(), text }
    }

    /// A file that stands for a device with so many pages.
    fn device(&self, name: &str, pages: u64) {
        File::create(self.folder.path().join(name)).unwrap().set_len(pages * 4096).unwrap();
    }

    fn make(&self, folder: &str) {
        fs::create_dir(self.folder.path().join(folder)).unwrap();
    }
}

impl Said {
    /// The numbers of a topic, by name.
    fn numbers(&self, topic: &str) -> BTreeMap<&str, u64> {
        let words = self.text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words
            .filter_map(|words| match words[..] {
                ["trimtab:", its, name, value, ..] if its == topic => {
                    Some((name, value.parse().ok()?))
                }
                _ => None,
            })
            .collect()
    }

    fn errors(&self) -> Vec<&str> {
        self.text.lines().filter(|line| line.starts_with("trimtab: verify error ")).collect()
    }
}

#[test]
fn the_model_of_files_is_right_to_the_byte() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/model.c");
    let room = Room::with(&source);
    for seed in 1..=3 {
        let said = room.run(&seed.to_string());
        assert_eq!((said.status, said.text), (Some(0), String::new()), "seed {seed}");
    }
}

#[test]
fn a_file_system_that_works_has_no_errors() {
    let room = Room::of("verify");
    room.device("player", 700);
    room.device("camera", 300);
    room.make("one");
    let said = room.run(
        "--directory {}/one --operations 4000 --files 16 --file-kib 128 --devices {}/player,{}/camera \
         --device-every 20 --pressure-mib 4 --pressure-every 500 --filler-mib 2 --filler-every 1000",
    );
    assert_eq!(said.status, Some(0), "{}", said.text);
    let numbers = said.numbers("verify");
    assert_eq!((numbers["operations"], numbers["errors"]), (4000, 0), "{}", said.text);
    let rare = ["drop-caches", "remount", "no-space", "no-direct", "no-hole", "no-zero-range"];
    let rare = [
        &rare[..],
        &["no-allocate", "no-splice", "no-reclaim", "no-async", "open-failures", "leaks"],
    ]
    .concat();
    for (name, count) in &numbers {
        // What this machine's file system does not do, it may leave out.
        assert!(*count > 0 || *name == "errors" || rare.contains(name), "{name}: {}", said.text);
    }
}

#[test]
fn processes_have_files_of_their_own() {
    let room = Room::of("verify");
    room.device("player", 100);
    room.device("camera", 100);
    let words =
        "--directory {} --operations 800 --files 4 --file-kib 64 --processes 2 --device-every 20";
    let said = room.run(&format!("{words} --devices {{}}/player,{{}}/camera"));
    assert_eq!(said.status, Some(0), "{}", said.text);
    assert_eq!(said.numbers("verify")["operations"], 1600);
    assert!(said.numbers("verify")["opens"] > 10, "{}", said.text);
}

#[test]
fn each_planted_fault_is_found_and_named() {
    let room = Room::of("verify");
    room.device("player", 300);
    let faults = [
        ("stale", "stale bytes"),
        ("other", "another file's bytes"),
        ("place", "bytes of another place"),
        ("zero", "found zeroes"),
        ("bit", "wrong bytes"),
        ("device", "a device's bytes in a file"),
        ("memory", "anonymous memory in a file"),
        ("size", "bytes from"),
        ("end", "after the end of the file"),
        ("leak", "a file's bytes in"),
        ("overwrite", "wrong bytes in a device"),
    ];
    for (fault, name) in faults {
        room.make(fault);
        let said = room.run(&format!(
            "--directory {{}}/{fault} --operations 600 --files 4 --file-kib 32 --devices {{}}/player \
             --device-every 30 --plant {fault}"
        ));
        assert_eq!(said.status, Some(1), "{fault}: {}", said.text);
        let errors = said.errors();
        assert!(errors.iter().any(|line| line.contains(name)), "{fault}: {}", said.text);
        assert_eq!(said.numbers("verify")["errors"] as usize, errors.len(), "{fault}");
    }
}

#[test]
fn operations_are_the_same_for_the_same_seed() {
    let room = Room::of("verify");
    let said = ["a", "b", "c"].map(|name| {
        room.make(name);
        let seed = if name == "c" { 8 } else { 7 };
        let words = "--operations 500 --files 4 --file-kib 64";
        let said = room.run(&format!("--directory {{}}/{name} --seed {seed} {words}"));
        assert_eq!(said.status, Some(0), "{}", said.text);
        let kinds = ["read", "write", "truncate", "punch", "race"];
        let numbers = said.numbers("verify");
        kinds.map(|kind| numbers[kind])
    });
    assert_eq!(said[0], said[1]);
    assert_ne!(said[0], said[2]);
}

#[test]
fn one_kind_of_operation_can_be_half_of_them() {
    let room = Room::of("verify");
    let words = "--directory {} --operations 1000 --files 4 --file-kib 64 --mostly read-spliced";
    let said = room.run(words);
    assert_eq!(said.status, Some(0), "{}", said.text);
    let spliced = said.numbers("verify")["read-spliced"];
    assert!((450..600).contains(&spliced), "{}", said.text);
}

#[test]
fn file_io_does_as_many_requests_as_it_is_told() {
    let room = Room::of("fileio");
    let set = "--directory {} --mib 4 --files 3";
    let said = room.run(&format!("{set} --prepare"));
    assert_eq!((said.status, said.text), (Some(0), String::new()));
    let bytes = fs::metadata(room.folder.path().join("fileio.2")).unwrap().len();
    assert_eq!(bytes, (4 << 20) / 16384 / 3 * 16384);
    for (mode, writes) in [("rndrd", 0), ("rndrw", 400), ("rndwr", 1000)] {
        let words = "--requests 1000 --warm --warm-requests 10 --preallocate 1 --hog 2";
        let said = room.run(&format!("{set} --mode {mode} {words}"));
        let numbers = said.numbers("fileio");
        assert_eq!(said.status, Some(0), "{}", said.text);
        assert_eq!((numbers["requests"], numbers["writes"]), (1000, writes), "{}", said.text);
        assert!(numbers["nanoseconds"] > 0 && said.text.contains("trimtab: vmstat pgpgin "));
        let times = if mode == "rndwr" {
            ["write_p50", "write_p99", "write_max"]
        } else {
            ["read_p50", "read_p99", "read_max"]
        };
        assert!(times.map(|name| numbers[name]).is_sorted(), "{}", said.text);
    }
    let said = room.run("--directory {} --mib 1 --files 100");
    assert!(said.status == Some(1) && said.text.contains("have no block each"), "{}", said.text);
}

#[test]
fn a_block_that_is_another_one_is_an_error() {
    let room = Room::of("fileio");
    let set = "--directory {} --mib 1 --files 1";
    room.run(&format!("{set} --prepare"));
    let file = room.folder.path().join("fileio.0");
    let mut bytes = fs::read(&file).unwrap();
    bytes.copy_within(16384..32768, 0);
    fs::write(&file, bytes).unwrap();
    let said = room.run(&format!("{set} --warm"));
    assert!(said.status == Some(1) && said.text.contains("is another one"), "{}", said.text);
}

#[test]
fn returns_are_timed_beside_a_load() {
    let room = Room::of("returns");
    room.device("player", 700);
    room.device("camera", 300);
    let devices = "--devices {}/player,{}/camera --pause-us 0-100 --hold-us 0-10";
    let said = room.run(&format!("{devices} --count 50 -- /bin/sleep 100"));
    assert_eq!(said.status, Some(0), "{}", said.text);
    let numbers = said.numbers("returns");
    assert_eq!(
        (numbers["count"], numbers["failures"], numbers["loads"]),
        (50, 0, 1),
        "{}",
        said.text
    );
    assert!(["p50", "p99", "max"].map(|name| numbers[name]).is_sorted());
    assert!(
        numbers.contains_key("player.p50") && numbers.contains_key("camera.max"),
        "{}",
        said.text
    );
    assert_eq!(said.numbers("return").len(), 50);
    // The load runs once, and the returns as long as it does.
    let said =
        room.run(&format!("{devices} --count 10000 --pause-us 1000 --wait -- /bin/sleep 0.3"));
    let numbers = said.numbers("returns");
    assert!(
        said.status == Some(0) && numbers["count"] > 0 && numbers["count"] < 1000,
        "{}",
        said.text
    );
    // It is begun again, as long as there are returns.
    let said = room.run(&format!("{devices} --count 20 --pause-us 10000 -- /bin/sleep 0.05"));
    assert!(said.status == Some(0) && said.numbers("returns")["loads"] > 1, "{}", said.text);
    let said = room.run(&format!("{devices} --count 20 --pause-us 10000 -- /bin/false"));
    assert!(said.status == Some(1) && said.text.contains("the load failed"), "{}", said.text);
}

#[test]
fn a_device_that_does_not_open_is_a_failure() {
    let room = Room::of("returns");
    room.device("player", 10);
    let said = room.run("--devices {}/player,{}/none --count 3 --pause-us 0");
    assert_eq!(said.status, Some(1), "{}", said.text);
    assert_eq!(said.text.matches("No such file or directory (2)\n").count(), 3, "{}", said.text);
    assert_eq!(said.numbers("returns")["failures"], 3);
    assert_eq!(said.numbers("returns")["count"], 0);
}

#[test]
fn rounds_of_a_command_are_timed_after_those_that_do_not_count() {
    let room = Room::of("rounds");
    // Words are told apart by blanks, so the shell's command has none.
    let said = room.run("--warm 2 --rounds 3 --hog 6 -- /bin/sh -c echo>>{}/log;sleep${IFS}0.05");
    assert_eq!(said.status, Some(0), "{}", said.text);
    let rounds = said.numbers("rounds");
    assert_eq!(rounds["count"], 3, "{}", said.text);
    assert!(rounds["nanoseconds"] >= 150_000_000, "{}", said.text);
    assert!(rounds["p50"] >= 50_000_000 && rounds["p50"] <= rounds["max"], "{}", said.text);
    let ran = fs::read_to_string(room.folder.path().join("log")).unwrap();
    assert_eq!(ran.lines().count(), 5);
    for (command, why) in
        [("/bin/false", "/bin/false ended with status 1"), ("/none", "/none ended with status 127")]
    {
        let said = room.run(&format!("--rounds 3 -- {command}"));
        assert_eq!(said.status, Some(1), "{}", said.text);
        assert!(said.text.contains(&format!("trimtab: error rounds: {why}\n")), "{}", said.text);
    }
}

#[test]
fn starts_are_timed_until_the_first_byte() {
    let room = Room::of("starts");
    let commands = room.folder.path().join("commands");
    let lines = "# a comment\nhello /bin/echo hello\nslow /bin/sleep 0.2\nlong /usr/bin/yes\n\nfails /bin/sh -c 'echo no; exit 1'\n";
    fs::write(&commands, lines).unwrap();
    let said = room.run("--commands {}/commands --starts 8 --think-us 0-1000 --run-us 500000");
    assert_eq!(said.status, Some(1), "{}", said.text);
    let of = |name: &str| {
        let lines = said.text.lines().filter_map(|line| line.strip_prefix("trimtab: start "));
        let words = lines.map(|line| line.split(' ').collect::<Vec<_>>());
        words
            .filter(|words| words[1] == name)
            .map(|words| words[2].parse().unwrap())
            .collect::<Vec<u64>>()
    };
    assert_eq!(
        [of("hello").len(), of("slow").len(), of("long").len(), of("fails").len()],
        [2, 2, 2, 0]
    );
    assert!(
        of("slow").iter().all(|ns| *ns > 200_000_000)
            && of("long").iter().all(|ns| *ns < 200_000_000)
    );
    assert_eq!(
        said.text.matches("trimtab: starts failure fails ended with status 1: no\n").count(),
        2
    );
    assert_eq!(said.numbers("starts")["count"], 6);
    fs::write(&commands, "quoted /bin/sh -c 'test \"$0 $1\" = \"a b c\"' \"a b\" c\n").unwrap();
    let said = room.run("--commands {}/commands --starts 1 --think-us 0");
    assert_eq!(said.status, Some(0), "{}", said.text);
    fs::write(&commands, "open /bin/echo 'a\n").unwrap();
    assert!(room.run("--commands {}/commands").text.contains("without an end"));
    fs::write(&commands, "silent /bin/sleep 100\n").unwrap();
    let said = room.run("--commands {}/commands --starts 1 --think-us 0 --limit-ms 50");
    assert!(said.text.contains("silent wrote nothing in 50 ms"), "{}", said.text);
    fs::write(&commands, "alone\n").unwrap();
    assert!(room.run("--commands {}/commands").text.contains("no command for alone"));
}

#[test]
fn options_that_no_program_has_are_refused() {
    for (name, words) in [
        ("verify", "--operations 10"),
        ("verify", "--directory {} --plant nothing"),
        ("verify", "--directory {} --files 1"),
        ("verify", "--directory {} --mostly nothing"),
        ("fileio", "--directory {} --mode none"),
        ("fileio", "--directory {} --mib"),
        ("returns", "--count 3"),
        ("returns", "--devices x --pause-us 9-3"),
        ("starts", "--commands x --starts 3x"),
    ] {
        let said = Room::of(name).run(words);
        assert!(
            said.status == Some(2) && said.text.contains("expected options: --"),
            "{name} {words}: {}",
            said.text
        );
    }
}
