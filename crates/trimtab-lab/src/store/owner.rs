//! Which process has taken a trial, and whether it still runs.

use std::fmt;
use std::fs;
use std::io;

/// A process, distinguished from all others, also from one that gets its number later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    host: String,
    /// The kernel's random name of the time since the machine started.
    boot: String,
    process: u32,
    /// When it began, in clock ticks since the machine started.
    began: u64,
}

impl Owner {
    /// This process.
    pub(super) fn this() -> io::Result<Self> {
        let process = std::process::id();
        let began = began(process)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(Owner { host: kernel("hostname")?, boot: kernel("random/boot_id")?, process, began })
    }

    /// What [`fmt::Display`] wrote; nothing where it is something else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (host, boot) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (process, began) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some(Owner { host, boot, process, began })
    }

    /// The host that it runs on.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Its number.
    pub(super) fn process(&self) -> u32 {
        self.process
    }

    /// Whether it runs no more, as `this` process can see. Of another host nothing can be seen: its
    /// processes are taken to run.
    pub(super) fn is_gone(&self, this: &Owner) -> bool {
        if self.host != this.host {
            return false;
        }
        // The machine has been started again, or the process has ended, or is another one by now.
        self.boot != this.boot || began(self.process).is_ok_and(|began| began != Some(self.began))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.host, self.boot, self.process, self.began)
    }
}

fn kernel(name: &str) -> io::Result<String> {
    let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"))?;
    Ok(text.trim().replace(' ', "-"))
}

/// When a process began; nothing where there is none of this number, or it has ended and only waits
/// for its parent to notice.
fn began(process: u32) -> io::Result<Option<u64>> {
    let text = match fs::read(format!("/proc/{process}/stat")) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // It ended while it was read.
        Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => return Ok(None),
        Err(error) => return Err(error),
    };
    // The name may hold anything, also blanks and brackets. Behind it: the state is field 3, the
    // start field 22 (proc_pid_stat(5)).
    let rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let mut fields = rest.split(' ');
    let state = fields.next().unwrap_or_default();
    let began = fields.nth(18).and_then(|field| field.parse().ok());
    match (state, began) {
        ("Z" | "X", _) => Ok(None),
        (_, Some(began)) => Ok(Some(began)),
        (_, None) => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_gone_when_it_has_ended_and_not_before() {
        let this = Owner::this().unwrap();
        assert_eq!(Owner::parse(&this.to_string()), Some(this.clone()));
        assert!(!this.is_gone(&this));
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let began = began(child.id()).unwrap().unwrap();
        let owner = Owner { process: child.id(), began, ..this.clone() };
        assert!(!owner.is_gone(&this));
        assert!(Owner { began: began + 1, ..owner.clone() }.is_gone(&this), "another one");
        assert!(Owner { boot: "earlier".to_owned(), ..owner.clone() }.is_gone(&this));
        assert!(!Owner { host: "other".to_owned(), ..owner.clone() }.is_gone(&this));
        child.kill().unwrap();
        // Also while nobody has waited for it.
        while !owner.is_gone(&this) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(owner.is_gone(&this));
    }

    #[test]
    fn what_is_no_process_is_not_read() {
        for text in ["", "host", "host boot x 1", "host boot 1 1 1"] {
            assert_eq!(Owner::parse(text), None, "{text}");
        }
    }
}
