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
    },
}

/// What `srun` is given: a job of one process.
const SRUN: [&str; 4] = ["--nodes=1", "--ntasks=1", "--job-name=trimtab", "--quiet"];
/// What `ssh` is given: nobody is there to answer it, and a host that says nothing for 15 seconds is gone.
const SSH: [&str; 5] = [
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
];

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
        let words = |first: &str, fixed: &[&str], options: &[String]| {
            let fixed = fixed.iter().map(|word| (*word).to_owned());
            let options = options.iter().cloned();
            shell::command_line(std::iter::once(first.to_owned()).chain(fixed).chain(options))
        };
        match self {
            Self::Slurm { options, .. } => words("srun", &SRUN, options),
            Self::Ssh { hosts, options } => {
                format!("{}: {}", words("ssh", &SSH, options), hosts.join(", "))
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
            Self::Slurm { options, .. } => Job::new("a worker", "srun")
                .package("slurm-client")
                .args(SRUN)
                .args(options)
                .arg(own)
                .args(arguments),
            Self::Ssh { hosts, options } => {
                let host = hosts.get(slot).map_or("", String::as_str);
                // The other side has a shell of its own, which begins in the home directory.
                let words = shell::command_line(arguments);
                let command =
                    format!("cd {} && exec {} {words}", shell::quoted(here), shell::quoted(own));
                Job::new(format!("a worker on {host}"), "ssh")
                    .package("openssh-client")
                    .args(SSH)
                    .args(options)
                    .args(["--", host])
                    .arg(command)
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
        };
        assert_eq!(ssh.count(), 3);
        assert!(ssh.name().ends_with("-p22: a, b, b"), "{}", ssh.name());
        let at = (Path::new("/bin/trimtab"), &PathBuf::from("/a b"));
        let job = format!("{:?}", ssh.job(at, 1, &["worker", "it's", "1-0"]));
        assert!(job.contains("a worker on b"), "{job}");
        assert!(job.contains("cd '/a b' && exec /bin/trimtab worker"), "{job}");
        let slurm = Starter::Slurm { count: 2, options: vec!["--partition=night".to_owned()] };
        assert_eq!(slurm.count(), 2);
        assert!(slurm.name().starts_with("srun --nodes=1"), "{}", slurm.name());
    }
}
