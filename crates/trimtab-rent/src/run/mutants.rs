//! Kernels that lack a hook or a check of rental memory, and in which guest that must be noticed.
//!
//! All of them are one kernel, which is told by an argument what to leave out: `linux/rental-mutants`.

use super::filesystem::FileSystem;

/// What is left out.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// As the kernel's argument names it.
    pub name: &'static str,
    /// For people.
    pub removes: &'static str,
    /// Where it must be noticed.
    pub setting: Setting,
}

/// A guest for the oracle, and what the oracle does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Blocks of 1 KiB, one CPU.
    Plain,
    /// The same with so little memory to lend that the oldest copies make room.
    Small,
    /// The same with many races of reads and evictions with changes, and with delays where one could come in between.
    Races,
    /// The same on FAT.
    FatRaces,
    /// The memory of each device is lent and returned in two parts.
    Parts,
    /// What was stored is overwritten at a return.
    Scrub,
    /// It is overwritten when it is mapped.
    ScrubLater,
    /// Two CPUs, delays while pages are copied, and little memory to lend, whose devices are opened often.
    Cpus,
    /// The same with much that is evicted, and devices that are opened seldom: the oldest copies make room.
    CpusFull,
    /// Two processes, one of which changes its files while what was in use is moved, with delays there.
    Moves,
    /// No oracle: the kernel's unit tests.
    UnitTests,
}

impl Setting {
    /// All of them.
    pub const ALL: [Setting; 11] = [
        Setting::Plain,
        Setting::Small,
        Setting::Races,
        Setting::FatRaces,
        Setting::Parts,
        Setting::Scrub,
        Setting::ScrubLater,
        Setting::Cpus,
        Setting::CpusFull,
        Setting::Moves,
        Setting::UnitTests,
    ];

    /// For people, and as the name of a script.
    pub fn name(self) -> &'static str {
        match self {
            Setting::Plain => "plain",
            Setting::Small => "small",
            Setting::Races => "races",
            Setting::FatRaces => "fat-races",
            Setting::Parts => "parts",
            Setting::Scrub => "scrub",
            Setting::ScrubLater => "scrub-later",
            Setting::Cpus => "cpus",
            Setting::CpusFull => "cpus-full",
            Setting::Moves => "moves",
            Setting::UnitTests => "unit-tests",
        }
    }

    /// What is on its disk.
    pub fn file_system(self) -> FileSystem {
        if self == Setting::FatRaces { FileSystem::Vfat } else { FileSystem::Ext4Parts }
    }

    /// How many CPUs it has.
    pub fn cpus(self) -> u32 {
        if matches!(self, Setting::Cpus | Setting::CpusFull) { 2 } else { 1 }
    }

    /// How often it is booted at most, as long as nothing is noticed: whether two CPUs meet is chance.
    pub fn boots(self) -> u32 {
        if self.cpus() > 1 { 4 } else { 1 }
    }

    /// Whether devices have little memory.
    pub fn is_small(self) -> bool {
        matches!(self, Setting::Small | Setting::Cpus | Setting::CpusFull)
    }

    /// Of how many operations each process does one.
    pub fn fewer(self) -> u32 {
        match self {
            Setting::Races | Setting::FatRaces | Setting::Cpus | Setting::Moves => 4,
            Setting::CpusFull => 16,
            _ => 1,
        }
    }

    /// Arguments of its kernel.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Setting::Plain | Setting::Small | Setting::UnitTests => &[],
            Setting::Races | Setting::FatRaces | Setting::Cpus | Setting::CpusFull => {
                &["rental_delays=1"]
            }
            Setting::Moves => &[
                "rental_delays=1",
                "rent_devices.active_pages=100",
                "rent_devices.active_us=1000000",
            ],
            Setting::Parts => &["rent_devices.split=1"],
            Setting::Scrub => &["rent_devices.scrub=now"],
            Setting::ScrubLater => &["rent_devices.scrub=later"],
        }
    }

    /// More options of the oracle.
    pub fn options(self) -> &'static str {
        match self {
            Setting::Plain | Setting::Small | Setting::UnitTests => {
                "--unscrubbed --devices decoder,camera"
            }
            Setting::Races | Setting::FatRaces => {
                "--unscrubbed --devices decoder,camera --mostly race --device-every 1000"
            }
            Setting::Parts => {
                "--unscrubbed --devices decoder,decoder-rest,camera,camera-rest --device-every 300"
            }
            Setting::Scrub | Setting::ScrubLater => "--devices decoder,camera --device-every 300",
            Setting::Cpus => {
                "--unscrubbed --devices decoder,camera --device-every 40 --processes 2"
            }
            Setting::Moves => {
                "--unscrubbed --devices decoder,camera --device-every 100 --processes 2"
            }
            Setting::CpusFull => {
                "--unscrubbed --devices decoder,camera --device-every 1000 --mostly reclaim --processes 2"
            }
        }
    }
}

const fn mutant(name: &'static str, setting: Setting, removes: &'static str) -> Mutant {
    Mutant { name, removes, setting }
}

/// All of them: what keeps bytes right. What only costs hits is not among them, nor what is checked twice.
pub const MUTANTS: &[Mutant] = &[
    mutant("truncate-start", Setting::Plain, "copy of the page where a cut begins is dropped"),
    mutant("truncate-end", Setting::Plain, "copy of the page where a hole ends is dropped"),
    mutant("truncate-exclude", Setting::Races, "no copy is made while a page is cut"),
    mutant("invalidate-exclude", Setting::Races, "no copy is made while pages are invalidated"),
    mutant("exclude", Setting::Races, "a store looks whether its file is excluded"),
    mutant("direct", Setting::Races, "a direct write looks for copies at its end"),
    mutant("direct-async", Setting::FatRaces, "an asynchronous direct write does so"),
    mutant("readahead", Setting::Plain, "readahead leaves out pages that have a copy"),
    mutant("read-again", Setting::Races, "a page that had a copy is not read again"),
    mutant("generation", Setting::Small, "an entry is compared with its slot's generation"),
    mutant("entry", Setting::CpusFull, "an entry is made before its slot can be used again"),
    mutant("state", Setting::Plain, "a copy is used only if its slot has one"),
    mutant("busy", Setting::CpusFull, "a slot is not free while it is copied"),
    mutant("users", Setting::CpusFull, "a slot is not given away while it is read"),
    mutant("read-size", Setting::Plain, "a read ends where its file does"),
    mutant("move", Setting::Moves, "a page is moved only to where its copy is"),
    mutant("open", Setting::Plain, "a copy is used only if its memory is open"),
    mutant("close", Setting::Plain, "a return closes memory for use"),
    mutant("last-chunk", Setting::Parts, "a return closes the last MiB"),
    mutant("storing", Setting::Parts, "a return closes memory for new copies"),
    mutant("wait", Setting::Cpus, "a return waits for copies being made"),
    mutant("scrub", Setting::Scrub, "a return overwrites what was stored"),
    mutant("scrub-later", Setting::ScrubLater, "a fault overwrites what was stored"),
    mutant("dirty", Setting::Scrub, "a slot remembers that it has bytes"),
    mutant("encrypted", Setting::UnitTests, "encrypted pages go where they are overwritten"),
    mutant("hole", Setting::UnitTests, "holes are left out"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::RENTAL_MUTANTS;

    #[test]
    fn the_kernel_knows_each_mutant_and_no_other() {
        let files = RENTAL_MUTANTS.files();
        let source = files.iter().find(|(path, _)| path == "mm/rental_mutants.c").unwrap().1;
        let source = std::str::from_utf8(source).unwrap();
        let known: Vec<&str> = source
            .lines()
            .filter_map(|line| line.trim().strip_prefix("[RENTAL_MUTANT_")?.split('"').nth(1))
            .filter(|name| *name != "none")
            .collect();
        let ours: Vec<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
        assert_eq!(ours, known);
    }

    #[test]
    fn each_mutant_is_used_where_something_is_left_out() {
        let patch = RENTAL_MUTANTS.patch("6.12").unwrap();
        for mutant in MUTANTS {
            let used = mutant.name.to_uppercase().replace('-', "_");
            assert!(patch.contains(&format!("rental_mutant({used})")), "{used}");
        }
    }
}
