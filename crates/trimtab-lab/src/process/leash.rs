//! Ends a process group when trimtab is gone, however it went.

use nix::unistd::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A shell that waits for the end of its input. Only trimtab holds the other end of that pipe, and
/// the system closes it when trimtab ends in whatever way.
#[derive(Debug)]
pub(super) struct Leash(Child);

impl Leash {
    pub(super) fn on(group: Pid) -> io::Result<Self> {
        Command::new("/bin/sh")
            .arg("-c")
            .arg("read -r never; kill -s KILL -- \"-$0\"")
            .arg(group.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            // Ctrl-C goes to the group of the terminal: it must not end the leash.
            .process_group(0)
            .spawn()
            .map(Leash)
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Killed before its input is closed, so it never fires at a group that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
