//! `trimtab tune program --ssh`, with boards that are servers of OpenSSH on this machine.
#![allow(clippy::unwrap_used, missing_docs)]

mod workers;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use workers::{Running, found, project, read, tune, tune_timed, wait_for};

/// Boards, until they are dropped: one of each name, with one key of the user's.
struct Boards {
    folder: TempDir,
    /// The homes of boards that are hidden, which no other test's boards share.
    homes: TempDir,
    servers: Vec<Child>,
    /// Commands that hide folders from boards.
    hidden: Option<String>,
}

impl Boards {
    fn start(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
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
        let homes = tempfile::tempdir().unwrap();
        let mut boards = Self { folder, homes, servers: Vec::new(), hidden: None };
        boards.add(names);
        boards
    }

    /// Starts boards, after which there are no more.
    fn add(&mut self, names: &[&str]) {
        let at = self.folder.path().display().to_string();
        let mut known = String::new();
        for name in names {
            // Another process may take a port before the server does.
            let started = (0..5).find_map(|_| self.serve(name));
            let (server, port) = started.unwrap_or_else(|| panic!("{name}: {}", self.log(name)));
            self.servers.push(server);
            known += &format!("Host {name}\n HostName 127.0.0.1\n Port {port}\n");
        }
        known += &format!(
            "Host *\n IdentityFile {at}/user\n IdentitiesOnly yes\n UserKnownHostsFile {at}/known\n \
             StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
        );
        fs::write(self.folder.path().join("config"), known).unwrap();
    }

    /// Boards that are started from now on have homes of their own, and see nothing in these folders.
    fn hide(&mut self, folders: &[PathBuf]) {
        let mounted: Vec<String> = folders
            .iter()
            .map(|folder| format!("mount -t tmpfs none {}", folder.display()))
            .collect();
        self.hidden = Some(mounted.join(" && "));
    }

    /// The home of a board that is hidden.
    fn home(&self, name: &str) -> PathBuf {
        self.homes.path().join(name)
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
        // In a shell that is not the first one, bash does not do what the user's ~/.bashrc says, which may take minutes.
        let mut text = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {at}/host\nPidFile none\nUsePAM {pam}\n\
             AuthorizedKeysFile {at}/authorized\nStrictModes no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
             SetEnv SHLVL=2\n"
        );
        if let Some(hidden) = &self.hidden {
            let home = self.home(name);
            fs::create_dir_all(&home).unwrap();
            let script = self.file(name, "sh");
            // Mounts are seen by nobody else, and nobody but root may make them without a name space of users.
            let own = if nix::unistd::geteuid().is_root() { "-m" } else { "-rm" };
            let inner = format!("{hidden} && cd && eval \"$SSH_ORIGINAL_COMMAND\"");
            let outer =
                format!("export HOME={}\nexec unshare {own} sh -c '{inner}'\n", home.display());
            fs::write(&script, outer).unwrap();
            text += &format!("ForceCommand sh {}\n", script.display());
        }
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

/// Tunes so that each job waits for as many seconds as the file `pause` says. Workers are told which objects are hot.
fn tune_hot(project: &Path, work: &Path, pause: &Path, more: &[&str]) -> Command {
    let mut command = tune(project, work, more);
    let check = format!("./app && sleep $(cat {})", pause.display());
    command.args(["--hot", "90%", "--check", &check]);
    command
}

/// A board that says nothing is gone after three seconds, which is sooner than users have it.
const SOONER: [&str; 2] =
    ["--ssh-option=-oServerAliveInterval=1", "--ssh-option=-oConnectTimeout=3"];

#[test]
fn boards_find_what_one_process_finds_though_one_loses_power_and_one_hangs() {
    let boards = Boards::start(&["lost", "hung", "good"]);
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let work = |name: &str| works.path().join(name);
    let pause = works.path().join("pause");
    fs::write(&pause, "0").unwrap();
    let mut serial = tune_hot(project.path(), &work("serial"), &pause, &["--at-once", "12"]);
    let serial = found(&serial.output().unwrap()).0;
    let option = boards.option();
    // What it writes is no part of the program, there as here.
    fs::write(project.path().join("page.html"), "from before").unwrap();
    let mut more = vec!["--ssh", "lost,hung,good", &option, "--html", "page.html"];
    more.extend(SOONER);
    fs::write(&pause, "2").unwrap();
    let mut command = tune_hot(project.path(), &work("ssh"), &pause, &more);
    let start = Instant::now();
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok());
    wait_for("workers on two boards", || child.has_ended() || (boards.works(0) && boards.works(1)));
    boards.send(0, Signal::SIGKILL);
    boards.send(1, Signal::SIGSTOP);
    fs::write(&pause, "0").unwrap();
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
fn boards_that_share_no_folder_get_copies_and_find_the_same() {
    let mut boards = Boards::start(&[]);
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let hidden = [project.path(), works.path(), boards.folder.path()].map(Path::to_owned);
    boards.hide(&hidden);
    boards.add(&["one", "two"]);
    let work = |name: &str| works.path().join(name);
    let serial = tune(project.path(), &work("serial"), &["--at-once", "8", "--hot", "90%"]);
    let serial = found(&{ serial }.output().unwrap()).0;
    let option = boards.option();
    let mut more = vec!["--ssh", "one,two", &option, "--hot", "90%"];
    // Nothing is there without copies.
    let output = tune(project.path(), &work("shared"), &more).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("workers do not come up, 3 in a row"), "{error}");
    more.push("--ssh-copy");
    let mut places = Vec::new();
    for run in ["first", "again"] {
        let output = tune(project.path(), &work(run), &more).output().unwrap();
        let (parallel, workers) = found(&output);
        assert_eq!(parallel, serial);
        assert_eq!((&workers["count"], &workers["restarted"]), (&2.into(), &0.into()));
        let home = boards.home("one").join(".cache/trimtab/boards");
        let copies = fs::read_dir(home).unwrap().map(|entry| entry.unwrap());
        let changed = |copy: &fs::DirEntry| {
            (copy.path(), fs::metadata(copy.path().join("trimtab")).unwrap().modified().unwrap())
        };
        places.push(copies.map(|copy| changed(&copy)).collect::<Vec<_>>());
    }
    assert_eq!(places[0].len(), 1, "{places:?}");
    assert_eq!(places[0], places[1], "it is copied once");
}

/// What a run found that times. How long a program takes on a busy machine is no matter of this test, and with it whether the
/// flags are found to be slower; all else must hold.
fn found_timed(output: &Output) -> (Value, Value) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{error}");
    let found = read(output);
    for check in found.0["checks"].as_array().unwrap() {
        let of_time = check["name"] == "the flags to take are not slower than the base";
        assert!(of_time || check["ok"] == true, "{check}: {error}");
    }
    found
}

#[test]
fn the_best_are_timed_on_a_board_which_gets_a_copy() {
    let mut boards = Boards::start(&[]);
    let (project, works) = (project(), tempfile::tempdir().unwrap());
    let hidden = [project.path(), works.path(), boards.folder.path()].map(Path::to_owned);
    boards.hide(&hidden);
    boards.add(&["board"]);
    let option = boards.option();
    let serial = found(&tune(project.path(), works.path(), &[]).output().unwrap()).0;
    assert_eq!(serial["timed_on"], Value::Null);
    let more = ["--time-on", "board", &option];
    let output = tune_timed(project.path(), works.path(), "3", &more).output().unwrap();
    let timed = found_timed(&output).0;
    assert_eq!(timed["timed_on"], "board");
    assert!(boards.home("board").join(".cache/trimtab/boards").exists());
    let rows = timed["timed"].as_array().unwrap();
    assert!(rows.len() >= 3, "{timed:#}");
    for row in rows {
        assert!(row["time_ratio"]["mean"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["rounds"], 3, "{row}");
    }
    for key in ["best", "minimal"] {
        assert_eq!(timed[key]["flags"], serial[key]["flags"]);
    }

    // One that goes away is said, and so is one that is not there.
    boards.send(0, Signal::SIGKILL);
    let output = tune_timed(project.path(), works.path(), "3", &more).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && error.contains("on board"), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
}

/// Stands for the source of a program of the catalogue, as if it had been fetched.
const FETCHED: &str = "#include <stdio.h>\n#include \"by.h\"\n\
                       int main(void) { unsigned x = 1; for (int i = 0; i < 9000; i++) x = x * BY + (x >> 3);\n\
                       printf(\"%u\\n\", x); return 0; }\n";

#[test]
fn a_program_of_the_catalogue_is_counted_and_timed_on_boards_that_have_nothing_of_it() {
    let mut boards = Boards::start(&[]);
    let works = tempfile::tempdir().unwrap();
    let tree = works.path().join("tune/sources/mujs/tree");
    fs::create_dir_all(&tree).unwrap();
    fs::write(tree.with_file_name("version"), "1").unwrap();
    for (name, text) in [("main.c", FETCHED), ("one.c", ""), ("by.h", "#define BY 31\n")] {
        fs::write(tree.join(name), text).unwrap();
    }
    fs::write(works.path().join("flags.txt"), "-O3\n-funroll-loops\n-fno-inline\n").unwrap();
    fs::write(works.path().join(".trimtab-lock"), "").unwrap();
    boards.hide(&[works.path(), boards.folder.path()].map(Path::to_owned));
    boards.add(&["board"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_trimtab"));
    command.current_dir(works.path()).args(["tune", "program", "mujs", "--flags", "flags.txt"]);
    command.args(["--budget", "4", "--rounds", "2", "--json", "-", "--work", "."]);
    command.args(["--ssh", "board", "--ssh-copy", "--time-on", "board", &boards.option()]);
    let (json, workers) = found_timed(&command.stdin(Stdio::null()).output().unwrap());
    assert_eq!((&json["timed_on"], &workers["restarted"]), (&"board".into(), &0.into()));
    assert!(json["timed"].as_array().unwrap().len() >= 2, "{json:#}");
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
