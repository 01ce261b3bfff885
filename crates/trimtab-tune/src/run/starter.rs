//! What starts workers: processes on other machines that have the program's folder, the work directory and
//! trimtab at the same paths.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trimtab_lab::process::Job;
use trimtab_lab::shell;

/// What starts workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Starter {
    /// Slurm: each is a job.
    Slurm {
        /// How many workers.
        count: usize,
        /// Options for the `srun` of each.
        options: Vec<String>,
    },
    /// ssh: one on each of these hosts, and as many as a host is named.
    Ssh {
        /// The hosts, as ssh knows them.
        hosts: Vec<String>,
        /// Options for the `ssh` of each.
        options: Vec<String>,
        /// Whether trimtab and the program are copied there, as the hosts share no folder with this machine.
        copies: bool,
    },
}

/// A board that shares no folder with this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// Its host, as ssh knows it.
    pub host: String,
    /// Options for ssh.
    pub options: Vec<String>,
}

/// What `srun` is given: a job of one process.
const SRUN: [&str; 4] = ["--nodes=1", "--ntasks=1", "--job-name=trimtab", "--quiet"];
/// What `ssh` is given before a user's options, for it takes the first value of each: nobody is there to answer it.
const SSH_FIRST: [&str; 2] = ["-T", "-oBatchMode=yes"];
/// What it is given behind them: a host that says nothing for 15 seconds is gone, and each worker has a
/// connection of its own, which ends with it.
const SSH: [&str; 5] = [
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oControlMaster=no",
    "-oControlPath=none",
];

/// A job that runs a line of a shell on a host.
pub fn over_ssh(purpose: String, host: &str, options: &[String], line: &str) -> Job {
    // The shell there may be any: what it is given is one command for one that is known.
    Job::new(purpose, "ssh")
        .args(of_ssh(options))
        .args(["--", host])
        .arg(shell::command_line(["sh", "-c", line]))
}

/// The options of `ssh`, in their order.
fn of_ssh(options: &[String]) -> impl Iterator<Item = String> {
    let fixed = |words: &'static [&str]| words.iter().map(|word| (*word).to_owned());
    fixed(&SSH_FIRST).chain(options.iter().cloned()).chain(fixed(&SSH))
}

impl Starter {
    /// How many workers it starts.
    pub fn count(&self) -> usize {
        match self {
            Self::Slurm { count, .. } => *count,
            Self::Ssh { hosts, .. } => hosts.len(),
        }
    }

    /// How it is called in a report.
    pub fn name(&self) -> String {
        let command = |first: &str| std::iter::once(first.to_owned());
        match self {
            Self::Slurm { options, .. } => {
                let fixed = SRUN.map(str::to_owned);
                shell::command_line(command("srun").chain(fixed).chain(options.iter().cloned()))
            }
            Self::Ssh { hosts, options, copies } => {
                let words = shell::command_line(command("ssh").chain(of_ssh(options)));
                let how = if *copies { "with copies, " } else { "" };
                format!("{how}{words}: {}", hosts.join(", "))
            }
        }
    }

    /// What makes the jobs that start workers as this process would: in the same folder, by the same
    /// program. A job is made for the worker's slot and its arguments.
    ///
    /// # Errors
    /// That the folder or the program cannot be found.
    pub fn jobs(&self) -> Result<impl Fn(usize, &[&str]) -> Job + Send + Sync + use<>> {
        let own = std::env::current_exe().context("cannot find trimtab's own file")?;
        let here = std::env::current_dir().context("cannot find the current folder")?;
        let starter = self.clone();
        Ok(move |slot: usize, arguments: &[&str]| starter.job((&own, &here), slot, arguments))
    }

    fn job(&self, (own, here): (&Path, &PathBuf), slot: usize, arguments: &[&str]) -> Job {
        match self {
            Self::Slurm { options, .. } => {
                Job::new("a worker", "srun").args(SRUN).args(options).arg(own).args(arguments)
            }
            Self::Ssh { hosts, options, copies } => {
                let host = hosts.get(slot).map_or("", String::as_str);
                let purpose = format!("a worker on {host}");
                if *copies {
                    let options = options.iter().map(|option| format!("--ssh-option={option}"));
                    let job = Job::new(purpose, own).args(arguments);
                    return job.arg(format!("--board={host}")).args(options);
                }
                // The other side has a shell of its own, which begins in the home directory.
                let words = shell::command_line(arguments);
                let line =
                    format!("cd {} && exec {} {words}", shell::quoted(here), shell::quoted(own));
                over_ssh(purpose, host, options, &line)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_its_host_and_words_are_quoted_for_the_other_side() {
        let ssh = Starter::Ssh {
            hosts: vec!["a".to_owned(), "b".to_owned(), "b".to_owned()],
            options: vec!["-p22".to_owned()],
            copies: false,
        };
        assert_eq!(ssh.count(), 3);
        assert!(ssh.name().ends_with(": a, b, b"), "{}", ssh.name());
        // A host that says nothing for 15 seconds is gone.
        let alive = "-oConnectTimeout=10 -oServerAliveInterval=5 -oServerAliveCountMax=3 -oC";
        assert!(ssh.name().contains(alive), "{}", ssh.name());
        let at = (Path::new("/bin/trimtab"), &PathBuf::from("/a b"));
        let job = format!("{:?}", ssh.job(at, 1, &["worker", "it's", "1-0"]));
        assert!(job.contains("a worker on b"), "{job}");
        assert!(job.contains("cd '/a b' && exec /bin/trimtab worker"), "{job}");
        let Starter::Ssh { hosts, options, .. } = ssh.clone() else { panic!("it is ssh's") };
        let copies = Starter::Ssh { hosts, options, copies: true };
        let started = format!("{:?}", copies.job(at, 1, &["worker", "/spool", "1-0"]));
        assert!(
            started.contains("--board=b") && started.contains("--ssh-option=-p22"),
            "{started}"
        );
        // ssh takes the first value of an option.
        for said in [ssh.name(), job] {
            let place = |word: &str| said.find(word).unwrap_or_else(|| panic!("{word}: {said}"));
            assert!(place("-oBatchMode=yes") < place("-p22"), "{said}");
            for fixed in SSH {
                assert!(place("-p22") < place(fixed), "{said}");
            }
        }
        let slurm = Starter::Slurm { count: 2, options: vec!["--partition=night".to_owned()] };
        assert_eq!(slurm.count(), 2);
        assert!(slurm.name().starts_with("srun --nodes=1"), "{}", slurm.name());
    }
}
