//! `trimtab tune program --ssh`, with boards that are servers of OpenSSH on this machine.
#![allow(clippy::unwrap_used, missing_docs)]

mod workers;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use workers::{Running, found, project, tune, wait_for};

/// Boards, until they are dropped: one of each name, with one key of the user's.
struct Boards {
    folder: TempDir,
    servers: Vec<Child>,
}

impl Boards {
    fn start(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.path().join(key))
                .stdin(Stdio::null())
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(folder.path().join("user.pub"), folder.path().join("authorized")).unwrap();
        if nix::unistd::geteuid().is_root() {
            // A server that root starts wants this folder, which Debian makes when it starts one.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let mut boards = Self { folder, servers: Vec::new() };
        let mut known = String::new();
        for name in names {
            // Another process may take a port before the server does.
            let started = (0..5).find_map(|_| boards.serve(name));
            let (server, port) = started.unwrap_or_else(|| panic!("{name}: {}", boards.log(name)));
            boards.servers.push(server);
            known += &format!("Host {name}\n HostName 127.0.0.1\n Port {port}\n");
        }
        known += &format!(
            "Host *\n IdentityFile {at}/user\n IdentitiesOnly yes\n UserKnownHostsFile {at}/known\n \
             StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
        );
        fs::write(boards.folder.path().join("config"), known).unwrap();
        boards
    }

    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.{ending}"))
    }

    /// What a server says.
    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.file(name, "log")).unwrap_or_default()
    }

    /// Starts a server on a port that is free; none where it ends.
    fn serve(&self, name: &str) -> Option<(Child, u16)> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let at = self.folder.path().display();
        // Without PAM a server lets nobody in whose account has no password, and only root can ask PAM.
        let pam = if nix::unistd::geteuid().is_root() { "yes" } else { "no" };
        let text = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {at}/host\nPidFile none\nUsePAM {pam}\n\
             AuthorizedKeysFile {at}/authorized\nStrictModes no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
        );
        let configuration = self.file(name, "conf");
        fs::write(&configuration, text).unwrap();
        // It wants to be started by its whole path, and is not in everybody's PATH.
        let server = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(configuration)
            .stdin(Stdio::null())
            .stderr(fs::File::create(self.file(name, "log")).unwrap())
            .spawn();
        let server = server.unwrap_or_else(|_| panic!("sshd is not there; run ./setup --for test"));
        let mut server = Running(Some(server));
        let listens = || self.log(name).contains(&format!("listening on 127.0.0.1 port {port}"));
        wait_for(name, || listens() || server.has_ended());
        if server.has_ended() { None } else { Some((server.0.take()?, port)) }
    }

    /// The option by which ssh knows them.
    fn option(&self) -> String {
        format!("--ssh-option=-F{}", self.folder.path().join("config").display())
    }

    /// The processes of a board: its server and all that was started there.
    fn processes(&self, board: usize) -> Vec<Pid> {
        let mut found = vec![self.servers[board].id()];
        let parents = parents();
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(parents.iter().filter(|pair| pair.1 == parent).map(|pair| pair.0));
            next += 1;
        }
        found.into_iter().map(|process| Pid::from_raw(process as i32)).collect()
    }

    /// Whether a board's worker is building or counting.
    fn works(&self, board: usize) -> bool {
        let of = |process: &Pid| fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let sleeps = |process: &Pid| of(process).starts_with(b"sleep\0");
        self.processes(board).iter().any(sleeps)
    }

    /// Sends a signal to all of a board.
    fn send(&self, board: usize, signal: Signal) {
        for process in self.processes(board) {
            // It may have ended meanwhile.
            let _ = kill(process, signal);
        }
    }
}

/// All processes, each with its parent.
fn parents() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let parent = |process: u32| {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        text.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
    };
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|process| Some((process, parent(process)?)))
        .collect()
}

impl Drop for Boards {
    fn drop(&mut self) {
        for board in 0..self.servers.len() {
            // What stands still dies as well.
            self.send(board, Signal::SIGKILL);
        }
        for server in &mut self.servers {
            let _ = server.wait();
        }
    }
}

/// Tunes so that each job takes a while. Workers are told which objects are hot.
fn slow(project: &Path, work: &Path, more: &[&str]) -> Command {
    let mut command = tune(project, work, more);
    command.args(["--hot", "90%", "--check", "./app && sleep 2"]);
    command
}

#[test]
fn boards_find_what_one_process_finds_though_one_loses_power_and_one_hangs() {
    let boards = Boards::start(&["lost", "hung", "good"]);
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let work = |name: &str| works.path().join(name);
    let serial = slow(project.path(), &work("serial"), &["--at-once", "12"]).output().unwrap();
    let serial = found(&serial).0;
    let option = boards.option();
    // What it writes is no part of the program, there as here.
    fs::write(project.path().join("page.html"), "from before").unwrap();
    let more = ["--ssh", "lost,hung,good", &option, "--html", "page.html"];
    let mut command = slow(project.path(), &work("ssh"), &more);
    let start = Instant::now();
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok());
    wait_for("workers on two boards", || child.has_ended() || (boards.works(0) && boards.works(1)));
    boards.send(0, Signal::SIGKILL);
    boards.send(1, Signal::SIGSTOP);
    while !child.has_ended() {
        assert!(start.elapsed() < Duration::from_secs(600), "it does not end");
        sleep(Duration::from_millis(100));
    }
    let output = child.0.take().unwrap().wait_with_output().unwrap();
    let (parallel, workers) = found(&output);
    assert_eq!(parallel, serial);
    assert_eq!(workers["count"], 3);
    assert!(workers["starter"].as_str().unwrap().ends_with(": lost, hung, good"), "{workers}");
    assert!(workers["restarted"].as_u64() >= Some(2), "{workers}");
    wait_for("the end of the worker that is left", || !boards.works(2));
}

#[test]
fn boards_that_cannot_be_reached_are_one_error() {
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let run = |more: &[&str], change: &dyn Fn(&mut Command)| {
        let mut command = tune(project.path(), works.path(), more);
        change(&mut command);
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let none = |_: &mut Command| ();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port = format!("--ssh-option=-p{closed}");
    let (code, error) = run(&["--ssh", "127.0.0.1", &port], &none);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("workers do not come up, 3 in a row: a worker on 127.0.0.1"), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
    let (code, error) = run(&["--ssh", "a,-oProxyCommand=x"], &none);
    assert!(code == 2 && error.contains("expected the name of a host"), "{error}");
    let (code, error) = run(&["--ssh", "a", "--slurm", "2"], &none);
    assert!(code == 2 && error.contains("cannot be used with"), "{error}");

    let tools = tempfile::tempdir().unwrap();
    for tool in fs::read_dir("/usr/bin").unwrap() {
        let tool = tool.unwrap();
        if tool.file_name() != "ssh" {
            symlink(tool.path(), tools.path().join(tool.file_name())).unwrap();
        }
    }
    let (_, error) = run(&["--ssh", "a"], &|command| _ = command.env("PATH", tools.path()));
    assert!(error.contains("the program `ssh`, which was not found"), "{error}");
    assert!(error.contains("install the package `openssh-client`"), "{error}");
}
