//! Which boots are traced for the order, and which are held out to judge it.
//!
//! Traced boots count time in instructions, so that the same kernel and guest give the same traces
//! again, and with them the same order.

use trimtab_machine::boot::{Clock, Hardware};

/// One machine with one workload to boot on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// What is special about it, for people.
    pub name: String,
    /// The machine.
    pub machine: Hardware,
    /// What the guest does once it is up.
    pub workload: &'static str,
}

impl Scenario {
    fn new(name: &str, machine: Hardware, workload: &'static str) -> Self {
        Scenario { name: name.to_owned(), machine, workload }
    }

    /// The same in real time.
    pub fn in_real_time(mut self) -> Self {
        self.machine.clock = Clock::Real;
        self
    }
}

/// Speeds beside the ordinary and the slower one, as shifts of [`Clock::Instructions`].
const SPEEDS: [u8; 5] = [2, 4, 5, 6, 0];

/// The most boots that differ from one another.
pub const MOST: i64 = 7 + 6 * SPEEDS.len() as i64;

fn machine() -> Hardware {
    Hardware { clock: Clock::INSTRUCTIONS, ..Hardware::default() }
}

/// The boot that is to become better, and against which it is measured.
pub fn reference() -> Scenario {
    Scenario::new("1 CPU, 256 MiB, boot", machine(), "boot")
}

/// The `count` boots that make the order: the reference, the same on a slower processor (where
/// interrupts come at other points), then variations that a product would also see; from then on
/// the same at other speeds. At most [`MOST`]. None is held out.
pub fn traced(count: usize) -> Vec<Scenario> {
    let slower = |shift| Hardware { clock: Clock::Instructions { shift }, ..machine() };
    let cycle = [
        Scenario::new("4 CPUs", Hardware { cpus: 4, ..machine() }, "boot"),
        Scenario::new("network workload", machine(), "network"),
        Scenario::new("processes workload", machine(), "processes"),
        Scenario::new("files workload", machine(), "files"),
        Scenario::new("tools workload", machine(), "tools"),
    ];
    let mut scenes = vec![reference(), Scenario::new("a slower processor", slower(3), "boot")];
    scenes.extend(cycle.iter().cloned());
    // The other speeds that QEMU has.
    for shift in SPEEDS {
        scenes.push(Scenario::new("another speed", slower(shift), "boot"));
        for scene in &cycle {
            let machine =
                Hardware { clock: Clock::Instructions { shift }, ..scene.machine.clone() };
            scenes.push(Scenario { machine, ..scene.clone() });
        }
    }
    scenes.truncate(count.max(1));
    scenes
}

/// The boots that no order is made from: another memory size, another number of CPUs, another init,
/// and the reference in real time, which is never twice the same.
pub fn held_out() -> Vec<Scenario> {
    vec![
        Scenario::new("600 MiB of memory", Hardware { memory_mib: 600, ..machine() }, "boot"),
        Scenario::new("2 CPUs", Hardware { cpus: 2, ..machine() }, "boot"),
        Scenario::new("another init (services)", machine(), "services"),
        Scenario { name: "real time".to_owned(), ..reference().in_real_time() },
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

    #[test]
    fn there_are_as_many_boots_as_asked_for_and_the_first_ones_differ() {
        assert_eq!(traced(0).len(), 1);
        let many = traced(1000);
        assert_eq!(many.len(), MOST as usize);
        for (index, scene) in many.iter().enumerate() {
            let same = |other: &Scenario| {
                other.machine == scene.machine && other.workload == scene.workload
            };
            assert!(!many[..index].iter().any(same), "{} comes twice", scene.name);
        }
    }

    #[test]
    fn more_boots_begin_with_the_same_ones_so_that_those_are_kept() {
        let many = traced(MOST as usize);
        for count in 1..many.len() {
            assert_eq!(traced(count), many[..count]);
        }
    }

    #[test]
    fn every_workload_is_one_that_the_guest_has() {
        let known = trimtab_machine::guest::Workload::all().unwrap_or_default();
        for scene in traced(MOST as usize).into_iter().chain(held_out()) {
            assert!(known.iter().any(|workload| workload.name == scene.workload), "{scene:?}");
        }
    }
}
