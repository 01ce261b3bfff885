//! What the machine has, as far as jobs depend on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use serde::Serialize;
use trimtab_lab::workdir::available;

/// What the machine has. What cannot be found out is none.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    cores: Option<usize>,
    memory_bytes: Option<u64>,
    memory_free_bytes: Option<u64>,
    work: PathBuf,
    /// Free where `work` is or would be.
    disk_free_bytes: Option<u64>,
    kvm: Kvm,
}

/// What can be said of KVM without starting a guest.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kvm {
    Absent,
    /// There, but not for this user.
    Forbidden,
    /// There; whether a guest runs is another matter.
    Present,
}

impl Machine {
    pub(super) fn this(work: &Path) -> Self {
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self {
            cores: available_parallelism().ok().map(Into::into),
            memory_bytes: memory_line(&memory, "MemTotal:"),
            memory_free_bytes: memory_line(&memory, "MemAvailable:"),
            work: work.to_owned(),
            disk_free_bytes: available(&std::path::absolute(work).unwrap_or(work.into())).ok(),
            kvm: kvm(Path::new("/dev/kvm")),
        }
    }

    pub(super) fn render(&self) -> String {
        let cores = self.cores.map_or("unknown".to_owned(), |cores| cores.to_string());
        let kvm = match self.kvm {
            Kvm::Absent => "/dev/kvm is absent; guests are emulated",
            Kvm::Forbidden => "/dev/kvm is not open to this user; guests are emulated",
            Kvm::Present => "/dev/kvm is present; used once a guest has run with it",
        };
        format!(
            "cores     {cores}\nmemory    {}, {} free\ndisk      {} free for {}\nkvm       {kvm}\n",
            gib(self.memory_bytes),
            gib(self.memory_free_bytes),
            gib(self.disk_free_bytes),
            self.work.display(),
        )
    }
}

/// A line of /proc/meminfo, in bytes.
fn memory_line(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn kvm(device: &Path) -> Kvm {
    if !device.exists() {
        return Kvm::Absent;
    }
    match fs::File::options().read(true).write(true).open(device) {
        Ok(_) => Kvm::Present,
        Err(_) => Kvm::Forbidden,
    }
}

fn gib(bytes: Option<u64>) -> String {
    bytes.map_or("unknown".to_owned(), |bytes| {
        format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal:       25159040 kB\nMemFree:  7 kB\n";
        assert_eq!(memory_line(text, "MemTotal:"), Some(25_159_040 * 1024));
        assert_eq!(memory_line(text, "MemAvailable:"), None);
        assert_eq!(memory_line("MemTotal: many", "MemTotal:"), None);
    }

    #[test]
    fn kvm_that_is_not_there_is_absent() {
        assert!(matches!(kvm(Path::new("/nonexistent")), Kvm::Absent));
    }
}
