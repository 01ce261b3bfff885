//! What a kernel must be given to have coarse locks.

use include_dir::include_dir;
use trimtab_machine::calls::CALLS;
use trimtab_machine::kernel::Feature;

/// Lets a kernel run with one lock around it, with one for each subsystem, or with its own alone, and count
/// what its CPUs do meanwhile.
pub static GIANT: Feature = Feature {
    name: "giant",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/giant"),
    generated: &[],
};

/// What kernels are given that are booted with each kind of locks.
pub const WITH_LOCKS: &[&Feature] = &[&CALLS, &GIANT];

#[cfg(test)]
mod tests {
    use syscalls::x86_64::Sysno;

    use super::*;
    use crate::counted::Place;
    use crate::mode::LockMode;
    use crate::subsystem::Subsystem;

    fn file(name: &str) -> String {
        let files = GIANT.files();
        let found = files.iter().find(|(path, _)| path == name).unwrap();
        String::from_utf8(found.1.to_vec()).unwrap()
    }

    /// The kernel's name of a subsystem.
    fn constant(subsystem: Subsystem) -> String {
        format!("GIANT_{}", subsystem.name().to_uppercase())
    }

    #[test]
    fn the_kernel_takes_the_lock_that_the_model_says() {
        let table = file("kernel/giant_calls.h");
        for call in Sysno::iter() {
            let name = call.name();
            let entry = table.lines().find_map(|line| {
                let line = line.trim().strip_prefix(&format!("[__NR_{name}] = "))?;
                line.strip_suffix(',')
            });
            let expected = constant(Subsystem::of_call(name));
            // What is newer than the kernel is not there, and all that is not there is of processes.
            let found = entry.unwrap_or("GIANT_PROCESSES");
            let is_newer = entry.is_none() && call.id() > 462;
            assert!(found == expected || is_newer, "{name}: {found}, and the model has {expected}");
        }
        assert!(table.matches("[__NR_").count() > 150);
    }

    #[test]
    fn names_of_modes_and_counters_are_those_of_the_kernel() {
        let locks = file("kernel/giant.c");
        for mode in LockMode::ALL {
            let (name, text) = (mode.name(), mode.name().to_uppercase().replace('-', "_"));
            assert!(locks.contains(&format!("[GIANT_{text}] = \"{name}\"")), "{name}");
        }
        for place in Place::ALL {
            let constant = place.name().to_uppercase();
            let line = format!("[GIANT_{constant}] = \"{}\"", place.name());
            assert!(locks.contains(&line), "{line}");
        }
    }

    #[test]
    fn it_is_for_one_series_and_says_what_it_needs() {
        let paths: Vec<String> = GIANT.files().into_iter().map(|(path, _)| path).collect();
        let expected = [
            "include/linux/giant.h",
            "kernel/giant.c",
            "kernel/giant.h",
            "kernel/giant_calls.h",
            "kernel/giant_debugfs.c",
            "kernel/giant_irq.c",
        ];
        assert_eq!(paths, expected);
        assert_eq!(GIANT.series(), ["6.12"]);
        assert!(GIANT.fragment("needs").unwrap().contains("CONFIG_GIANT_LOCK=y\n"));
        let patch = GIANT.patch("6.12").unwrap();
        let added: Vec<&str> = patch.lines().filter_map(|line| line.strip_prefix('+')).collect();
        let tasks = ["giant_call(", "giant_enter(", "giant_exit(", "giant_drop(", "giant_resume("];
        for hook in tasks.into_iter().chain(["giant_irq_enter(", "giant_irq_exit("]) {
            assert!(added.iter().any(|line| line.contains(hook)), "{hook}");
        }
        // Its files are there: without them nobody sees what the locks cost.
        let depends = added.iter().find(|line| line.trim().starts_with("depends on"));
        assert!(depends.unwrap().contains("DEBUG_FS"), "{depends:?}");
    }
}
