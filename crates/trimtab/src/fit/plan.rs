//! Which boots are traced for the order, and which are held out to judge it.

use trimtab_lab::boot::Machine;

/// One machine with one workload to boot on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// What is special about it, for people.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// What the guest does once it is up.
    pub workload: &'static str,
}

impl Scene {
    fn new(name: &str, machine: Machine, workload: &'static str) -> Self {
        Scene { name: name.to_owned(), machine, workload }
    }
}

/// The boot that is to become better, and against which it is measured.
pub fn reference() -> Scene {
    Scene::new("1 CPU, 256 MiB, boot", Machine::default(), "boot")
}

/// The `count` boots that make the order: the reference, the same again (no two boots run quite
/// the same code), then variations that a product would also see. None is held out.
pub fn traced(count: usize) -> Vec<Scene> {
    let machine = Machine::default;
    let cycle = [
        reference(),
        Scene::new("the same again", machine(), "boot"),
        Scene::new("4 CPUs", Machine { cpus: 4, ..machine() }, "boot"),
        Scene::new("network workload", machine(), "network"),
        Scene::new("processes workload", machine(), "processes"),
        Scene::new("files workload", machine(), "files"),
    ];
    cycle.into_iter().cycle().take(count.max(1)).collect()
}

/// The boots that no order is made from: another memory size, another number of CPUs, another init
/// workload.
pub fn held_out() -> Vec<Scene> {
    let machine = Machine::default;
    vec![
        Scene::new("600 MiB of memory", Machine { memory_mib: 600, ..machine() }, "boot"),
        Scene::new("2 CPUs", Machine { cpus: 2, ..machine() }, "boot"),
        Scene::new("another init (services)", machine(), "services"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_out_is_never_traced() {
        let traced = traced(100);
        for scene in held_out() {
            assert!(
                !traced.iter().any(|t| t.machine == scene.machine && t.workload == scene.workload)
            );
        }
        assert_eq!(traced[0], reference());
    }
}
