//! The program that makes system calls finds each one wrong that does nothing and says that it worked.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};
use std::{fs, thread};

use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::calls;

/// What these do cannot be seen, or not by whom is root.
const UNSEEN: [&str; 2] = ["getuid", "sched_yield"];

/// Starts a program of which a call gives 0 and does nothing.
const WITHOUT: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; unsigned number; } calls[] = {
CALLS
};

int main(int count, char **arguments)
{
	unsigned number = 0;
	while (count > 2 && strcmp(calls[number].name, arguments[1]))
		number++;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[number].number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 120;
	/* execve may be the call. */
	syscall(SYS_execveat, AT_FDCWD, arguments[2], arguments + 2, environ, 0);
	return 121;
}
"#;

/// Without it the suite cannot say anything, and tries for ever.
const HANGS: [&str; 1] = ["write"];

/// Runs a command on a /tmp of its own, for so many seconds at most. Programs in `folder` are found.
fn run(folder: &Path, command: &str, limit: u32) -> Output {
    let mut outer = Command::new("unshare");
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        outer.arg("--map-root-user");
    }
    let script =
        format!("mount --bind \"$0\" /mnt && mount -t tmpfs none /tmp && cd /mnt && {command}");
    outer
        .args(["--mount", "timeout", "--kill-after=1", &limit.to_string(), "sh", "-c", &script])
        .arg(folder);
    outer.output().unwrap()
}

#[test]
fn a_call_that_does_nothing_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let work = WorkDir::open(&folder.path().join("work")).unwrap();
    let gcc = tools::find("gcc").unwrap();
    let suite = calls::program(&gcc).get(&work).unwrap();
    fs::copy(suite, folder.path().join("suite")).unwrap();
    let table = calls::names().into_iter().fold(String::new(), |mut text, name| {
        writeln!(text, "\t{{\"{name}\", SYS_{name}}},").unwrap();
        text
    });
    let source = folder.path().join("without.c");
    fs::write(&source, WITHOUT.replace("CALLS\n", &table)).unwrap();
    let built =
        Command::new("gcc").arg("-o").arg(folder.path().join("without")).arg(source).status();
    assert!(built.unwrap().success());

    let sound = run(folder.path(), "./suite 3", 120);
    let text = String::from_utf8_lossy(&sound.stdout);
    assert_eq!(text.matches("trimtab: call ").count(), calls::names().len(), "{sound:?}");

    let names: Vec<&str> = calls::names().into_iter().collect();
    let found = |name: &&str| {
        let limit = if HANGS.contains(name) { 5 } else { 120 };
        let ran = run(folder.path(), &format!("./without {name} ./suite 1"), limit);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(![Some(120), Some(121)].contains(&ran.status.code()), "{name}: {ran:?}");
        let is_late = [Some(124), Some(137)].contains(&ran.status.code());
        assert_eq!(is_late, HANGS.contains(name), "{name}: {ran:?}");
        // Or it did not even come up.
        !ran.status.success() || text.contains(&format!(" wrong {name} "))
    };
    let seen: Vec<Vec<&str>> = thread::scope(|scope| {
        let half = names.chunks(names.len().div_ceil(2));
        let threads: Vec<_> = half
            .map(|half| {
                scope.spawn(move || half.iter().copied().filter(|name| found(name)).collect())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let seen = seen.concat();
    let unseen: Vec<&str> = names.into_iter().filter(|name| !seen.contains(name)).collect();
    assert_eq!(unseen, UNSEEN);
}
