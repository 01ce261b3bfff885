//! `trimtab tune program --slurm`, with a controller and two nodes of Slurm on this machine.
#![allow(clippy::unwrap_used, missing_docs)]

mod workers;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use workers::{Running, found, project, tune, wait_for};

/// A cluster, until it is dropped.
struct Slurm {
    folder: TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        // munge wants that everybody can reach its socket, and nobody else its key.
        for name in ["", "munge", "state"] {
            let path = at.join(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let key: Vec<u8> =
            (0..1024_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let mut file = fs::OpenOptions::new();
        let mut file = file.write(true).create_new(true).mode(0o600).open(at.join("key")).unwrap();
        file.write_all(&key).unwrap();
        let mut slurm = Self { folder, daemons: Vec::new() };
        let (key, socket) = (slurm.shown("key"), slurm.shown("munge/socket"));
        let (pid, log, seed) = (slurm.shown("pid"), slurm.shown("log"), slurm.shown("seed"));
        slurm.daemon(
            "munged",
            &[
                "--foreground".to_owned(),
                format!("--key-file={key}"),
                format!("--socket={socket}"),
                format!("--pid-file={pid}"),
                format!("--log-file={log}"),
                format!("--seed-file={seed}"),
            ],
        );
        wait_for("munged", || Path::new(&socket).exists());
        fs::write(slurm.conf(), slurm.configuration()).unwrap();
        let conf = slurm.shown("slurm.conf");
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        slurm.daemon("slurmctld", &words(&["-D", "-c", "-f", &conf]));
        for node in NODES {
            slurm.daemon("slurmd", &words(&["-D", "-f", &conf, "-N", node]));
        }
        let all_idle = || {
            let nodes = slurm.command("sinfo").args(["-h", "-N", "-o", "%T"]).output().unwrap();
            String::from_utf8_lossy(&nodes.stdout).matches("idle").count() == NODES.len()
        };
        wait_for("two idle nodes", all_idle);
        slurm
    }

    fn shown(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn configuration(&self) -> String {
        let host = nix::sys::utsname::uname().unwrap().nodename().to_str().unwrap().to_owned();
        let user = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap().unwrap().name;
        // All at once, so that they differ.
        let ports: Vec<TcpListener> =
            (0..=NODES.len()).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = ports.iter().map(|at| at.local_addr().unwrap().port()).collect();
        let at = self.folder.path().display();
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/munge\nAuthInfo=socket={at}/munge/socket\nCredType=cred/munge\n\
             StateSaveLocation={at}/state\nSlurmctldPidFile={at}/ctld.pid\n\
             SlurmdPidFile={at}/%n.pid\nSlurmdSpoolDir={at}/spool.%n\nSlurmctldPort={}\n\
             SwitchType=switch/none\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
             JobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nMpiDefault=none\n",
            ports[0]
        );
        for (node, port) in NODES.iter().zip(&ports[1..]) {
            text += &format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1\n"
            );
        }
        text + "PartitionName=all Nodes=ALL Default=YES State=UP\n"
    }

    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let log = fs::File::create(self.folder.path().join(format!("{program}.out"))).unwrap();
        // Debian has them in /usr/sbin, which is not in everybody's PATH.
        let command = Command::new(Path::new("/usr/sbin").join(program))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        let child =
            command.unwrap_or_else(|_| panic!("{program} is not there; run ./setup --for test"));
        self.daemons.push(child);
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.conf());
        command
    }

    /// The jobs that run just now.
    fn running(&self) -> Vec<String> {
        let output = self.command("squeue").args(["-h", "-t", "R", "-o", "%i"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Where a test fails, its jobs may run still.
        let _ = self.command("scancel").args(["--quiet", "--name=trimtab"]).output();
        wait_for("the end of all jobs", || self.running().is_empty() || std::thread::panicking());
        for daemon in self.daemons.iter_mut().rev() {
            // It may have ended by itself, which the test has seen.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

const NODES: [&str; 2] = ["n1", "n2"];

#[test]
fn workers_of_slurm_find_what_one_process_finds_though_some_are_killed() {
    let slurm = Slurm::start();
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let work = |name: &str| works.path().join(name);
    // As many as are named at once for two workers.
    let serial =
        found(&tune(project.path(), &work("serial"), &["--at-once", "8"]).output().unwrap()).0;
    let mut command = tune(project.path(), &work("slurm"), &["--slurm", "2"]);
    command.env("SLURM_CONF", slurm.conf());
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok());
    for _ in 0..2 {
        wait_for("a worker", || !slurm.running().is_empty() || child.has_ended());
        // As where a log grows in the folder: those that are started from now on go by what it was.
        fs::write(project.path().join("grows.log"), "a line\n").unwrap();
        let job = slurm.running().pop().unwrap_or_default();
        slurm.command("scancel").args(["--signal=KILL", &job]).output().unwrap();
        sleep(Duration::from_millis(500));
    }
    let output = child.0.take().unwrap().wait_with_output().unwrap();
    let (parallel, workers) = found(&output);
    assert_eq!(parallel, serial);
    assert_eq!(workers["count"], 2);
    assert!(workers["restarted"].as_u64() >= Some(1), "{workers}");
    wait_for("the end of all jobs", || slurm.running().is_empty());
    let left: Vec<_> =
        fs::read_dir(work("slurm")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("workers-")), "{left:?}");
}

/// How often a worker is killed.
const EVERY: Duration = Duration::from_secs(10);

/// Minutes of a run that has a worker killed at fixed intervals from beginning to end.
#[test]
#[ignore = "takes minutes; run it with: cargo test -p trimtab --test slurm -- --ignored"]
fn a_worker_killed_every_ten_seconds_loses_nothing() {
    let slurm = Slurm::start();
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let slow = |work: &str, more: &[&str]| {
        let mut command = tune(project.path(), &works.path().join(work), more);
        // The last counts: sleeping executes nothing that is counted, so that each job takes a while.
        command.args(["--check", "./app && sleep 6"]);
        command
    };
    let serial = found(&slow("serial", &["--at-once", "8"]).output().unwrap()).0;
    let mut command = slow("slurm", &["--slurm", "2"]);
    command.env("SLURM_CONF", slurm.conf());
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok());
    let (start, mut killed) = (Instant::now(), 0);
    while !child.has_ended() {
        assert!(start.elapsed() < Duration::from_secs(3600), "it does not end: {killed} kills");
        let next = Instant::now() + EVERY;
        while Instant::now() < next && !child.has_ended() {
            sleep(Duration::from_millis(50));
        }
        let running = slurm.running();
        // Now one worker, now the other; now its process, now its whole job.
        if let Some(job) = running.get(killed % running.len().max(1)) {
            let how = if killed % 3 == 2 { "--quiet" } else { "--signal=KILL" };
            slurm.command("scancel").args([how, job]).output().unwrap();
            killed += 1;
        }
    }
    let output = child.0.take().unwrap().wait_with_output().unwrap();
    let (parallel, workers) = found(&output);
    assert_eq!(parallel, serial);
    let restarted = workers["restarted"].as_u64().unwrap();
    println!("{killed} kills, {restarted} workers started again");
    // A job that just ends, or that was killed before, is named still.
    assert!(killed >= 10 && restarted >= killed as u64 / 2, "{killed} kills: {workers}");
}

/// What two workers of one CPU each do in the time of one, on a machine that has nothing else to do. No limit of
/// time is tested: how much two CPUs help each other's builds is the machine's.
#[test]
#[ignore = "takes minutes; cargo test -p trimtab --test slurm -- --ignored --nocapture --test-threads 1 two_workers"]
fn two_workers_find_what_one_finds_and_say_how_much_sooner() {
    let slurm = Slurm::start();
    let times = times_as_fast(&slurm, |command| _ = command.args(["tinyxml2", "--budget", "64"]));
    println!("{times:.2} times as fast");
}

/// The same where hardly anything takes time but waiting, so that it matters little how many CPUs there are: what is less
/// than twice is what workers wait for each other, for jobs, and for whoever gives them.
#[test]
#[ignore = "takes minutes; cargo test -p trimtab --test slurm -- --ignored --nocapture --test-threads 1 two_workers"]
fn two_workers_that_hardly_compute_find_what_one_finds() {
    let (slurm, project) = (Slurm::start(), project());
    let times = times_as_fast(&slurm, |command| {
        command.current_dir(project.path()).args(["--build", "sleep 2; $CC $CFLAGS -o app app.c"]);
        command.args(["--run", "./app", "--check", "sleep 1", "--budget", "48"]);
    });
    println!("{times:.2} times as fast");
}

/// How many times as fast two workers search as one, who finds the same.
fn times_as_fast(slurm: &Slurm, what: impl Fn(&mut Command)) -> f64 {
    let works = tempfile::tempdir().unwrap();
    let run = |workers: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trimtab"));
        command.args(["tune", "program"]);
        what(&mut command);
        command.args(["--rounds", "0", "--quiet", "--at-once", "16", "--slurm", workers]);
        command.args(["--json", "-", "--work"]).arg(works.path().join(workers));
        let output = command.env("SLURM_CONF", slurm.conf()).stdin(Stdio::null()).output().unwrap();
        let found = found(&output).0;
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (found, json["seconds"]["search"].as_f64().unwrap())
    };
    let ((one, alone), (two, together)) = (run("1"), run("2"));
    assert_eq!(one, two);
    println!("search: {alone:.1} s by one worker, {together:.1} s by two");
    alone / together
}

#[test]
fn workers_that_cannot_be_started_are_one_error() {
    let slurm = Slurm::start();
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let run = |more: &[&str], change: &dyn Fn(&mut Command)| {
        let more = [&["--slurm", "1"], more].concat();
        let mut command = tune(project.path(), works.path(), &more);
        change(&mut command);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let set = |command: &mut Command| _ = command.env("SLURM_CONF", slurm.conf());
    let error = run(&["--srun=--partition=none"], &set);
    assert!(error.contains("workers do not come up, 3 in a row: "), "{error}");
    assert!(error.contains("invalid partition specified: none"), "{error}");

    let tools = tempfile::tempdir().unwrap();
    for tool in fs::read_dir("/usr/bin").unwrap() {
        let tool = tool.unwrap();
        if tool.file_name() != "srun" {
            symlink(tool.path(), tools.path().join(tool.file_name())).unwrap();
        }
    }
    let error = run(&[], &|command| _ = command.env("PATH", tools.path()));
    assert!(error.contains("the program `srun`, which was not found"), "{error}");
    assert!(error.contains("install the package `slurm-client`"), "{error}");
}
