//! What the machine has, as far as jobs depend on it.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use crate::verbs::doctor::model::{Kvm, Machine};
use trimtab_lab::workdir::available;

/// What this machine has.
pub(super) fn this(work: &Path) -> Machine {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Machine {
        cores: available_parallelism().ok().map(|cores| cores.get() as u64),
        memory_bytes: memory_line(&memory, "MemTotal:"),
        memory_free_bytes: memory_line(&memory, "MemAvailable:"),
        work: work.display().to_string(),
        disk_free_bytes: available(&std::path::absolute(work).unwrap_or(work.into())).ok(),
        kvm: kvm(Path::new("/dev/kvm")),
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
