//! Loads: what runs in the guest while devices are closed, and beside returns.

use std::fmt::Write as _;

use anyhow::Result;
use trimtab_lab::failure::Failure;

use super::programs::Programs;

/// A load. Its name is `rndrd:200`, `rndrw:100:pre64`, `rndrd:150:hog128` or `starts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Random requests of 16 KiB for files.
    Files(Files),
    /// Programs are started, one after the other.
    Starts,
}

/// Random requests of 16 KiB for files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    /// Whether 2 of 5 requests are writes.
    pub writes: bool,
    /// Size of all files, in MiB.
    pub mib: u32,
    /// Memory that it takes for itself before, in MiB.
    pub preallocated_mib: u32,
    /// Memory that it takes step by step during the requests, in MiB.
    pub hog_mib: u32,
}

/// What a load is named, for people who named it wrongly.
pub const LOADS: &str =
    "expected starts; or rndrd or rndrw, a colon, 8 to 800 MiB, and maybe :pre48 or :hog48";

impl Files {
    fn mode(self) -> &'static str {
        if self.writes { "rndrw" } else { "rndrd" }
    }

    /// Its program, without what says how much.
    fn command(self, seed: u32) -> String {
        let (mode, mib) = (self.mode(), self.mib);
        format!("/bin/fileio --directory /disk --mode {mode} --mib {mib} --seed {seed}")
    }

    fn memory(self) -> String {
        let mut said = String::new();
        for (option, mib) in [("preallocate", self.preallocated_mib), ("hog", self.hog_mib)] {
            if mib > 0 {
                let _ = write!(said, " --{option} {mib}");
            }
        }
        said
    }
}

impl Load {
    /// `rndrd:200` or `rndrw:200:pre64`.
    pub fn name(self) -> String {
        let Load::Files(files) = self else { return "starts".to_owned() };
        let mut name = format!("{}:{}", files.mode(), files.mib);
        for (what, mib) in [("pre", files.preallocated_mib), ("hog", files.hog_mib)] {
            if mib > 0 {
                let _ = write!(name, ":{what}{mib}");
            }
        }
        name
    }

    /// From [its name](Load::name).
    pub fn named(name: &str) -> Option<Load> {
        if name == "starts" {
            return Some(Load::Starts);
        }
        let mut parts = name.split(':');
        let writes = match parts.next()? {
            "rndrd" => false,
            "rndrw" => true,
            _ => return None,
        };
        let mib = parts.next()?.parse().ok().filter(|mib| (8..=800).contains(mib))?;
        let mut files = Files { writes, mib, preallocated_mib: 0, hog_mib: 0 };
        for part in parts {
            let (memory, mib) = if let Some(mib) = part.strip_prefix("pre") {
                (&mut files.preallocated_mib, mib)
            } else {
                (&mut files.hog_mib, part.strip_prefix("hog")?)
            };
            *memory = mib.parse().ok().filter(|mib| *memory == 0 && (1..=800).contains(mib))?;
        }
        Some(Load::Files(files))
    }

    /// As a part of the name of a script.
    pub(super) fn word(self) -> String {
        self.name().replace(':', "-")
    }

    /// How much of the disk it uses, which is memory, and its tables are beside. Programs lie in the guest's root as
    /// well.
    pub(super) fn used_mib(self, programs: &Programs) -> u32 {
        let mib = match self {
            Load::Files(files) => files.mib,
            Load::Starts => programs.mib,
        };
        let on_disk = mib + mib / 20 + 4;
        if self == Load::Starts { on_disk + mib } else { on_disk }
    }

    /// Whether what it takes for itself leaves something of the guest's memory, of which `held_mib` are not for it.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn fits(self, normal_mib: u32, held_mib: u32) -> Result<()> {
        let taken = match self {
            Load::Files(files) => files.preallocated_mib + files.hog_mib,
            Load::Starts => 0,
        };
        let needed = taken + LEFT_MIB + held_mib;
        if taken == 0 || needed <= normal_mib {
            return Ok(());
        }
        let (name, said) = (self.name(), format!("takes {taken} MiB of {normal_mib}"));
        let left = LEFT_MIB + held_mib;
        let failure = Failure::new(format!("{name} {said}: at least {left} must be left"));
        Err(failure.hint(format!("give the guest more: --normal {needed}")).into())
    }

    /// Makes its files.
    pub(super) fn prepare(self, seed: u32, programs: &Programs) -> String {
        match self {
            Load::Files(files) => format!("{} --prepare\n", files.command(seed)),
            Load::Starts => programs.data() + COPY_PROGRAMS,
        }
    }

    /// Fills memory with what it uses, and measures `requests` of its requests: of programs that are started, one for
    /// 32 requests.
    pub(super) fn measured(self, seed: u32, requests: u32) -> String {
        match self {
            Load::Files(files) => {
                // Each block has been read about twice before.
                let warm = 2 * files.mib * 64;
                let memory = files.memory();
                let command = files.command(seed);
                format!("{command}{memory} --warm-requests {warm} --requests {requests}\n")
            }
            Load::Starts => {
                let starts = requests.div_ceil(REQUESTS_OF_A_START);
                // All of them twice before, in another order.
                format!(
                    "{STARTS} --starts 48 --seed 0 --think-us 1000-10000 >/warm || \
                     {{ /bin/busybox cat /warm; exit 1; }}\n\
                     {STARTS} --starts {starts} --seed {seed}\n"
                )
            }
        }
    }

    /// Fills memory with what it uses, and no more.
    pub(super) fn warm(self, seed: u32) -> String {
        match self {
            Load::Files(files) => {
                let without = Files { preallocated_mib: 0, hog_mib: 0, ..files };
                format!("{} >/dev/null\n", Load::Files(without).measured(seed, 1).trim_end())
            }
            Load::Starts => {
                format!("{STARTS} --starts 48 --seed 0 --think-us 1000-10000 >/dev/null\n")
            }
        }
    }

    /// For what is measured beside: it is begun anew whenever it has come to its end.
    pub(super) fn beside(self, seed: u32) -> String {
        match self {
            // So that it has taken all of the memory that it takes after so many.
            Load::Files(files) => {
                format!("{}{} --requests {BESIDE_REQUESTS}", files.command(seed), files.memory())
            }
            Load::Starts => format!("{STARTS} --starts 100000 --seed {seed}"),
        }
    }
}

/// So much memory is left to files by what takes memory, in MiB: less than that, and the kernel kills it.
const LEFT_MIB: u32 = 10;
/// Starts programs from the disk.
const STARTS: &str = "/bin/busybox chroot /disk /bin/starts --commands /data/commands";
/// Requests of a load beside which something is measured, until it is begun anew.
const BESIDE_REQUESTS: u32 = 6000;
/// So many requests for files take about as long as a start.
const REQUESTS_OF_A_START: u32 = 32;

/// Programs are started from the disk, so they are copied there. Nothing of them is in memory then.
const COPY_PROGRAMS: &str = "\
for folder in bin data etc lib lib64 usr; do
  [ ! -d /$folder ] || /bin/busybox cp -a /$folder /disk
done
for folder in dev proc sys; do
  /bin/busybox mkdir /disk/$folder
  /bin/busybox mount --bind /$folder /disk/$folder
done
/bin/busybox mkdir /disk/tmp
/bin/busybox sync
echo 3 >/proc/sys/vm/drop_caches
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_have_names() {
        for name in ["rndrd:100", "rndrw:300", "rndrw:200:pre64", "rndrd:8:hog128", "starts"] {
            assert_eq!(Load::named(name).unwrap().name(), name);
        }
        let both = Load::named("rndrd:200:hog1:pre800").unwrap();
        assert_eq!(both.name(), "rndrd:200:pre800:hog1");
        for wrong in [
            "rndrd",
            "rndrd:",
            "rndrd:7",
            "rndrd:801",
            "seq:100",
            "rndrd:1x",
            "rndrd:100:",
            "rndrd:100:64",
            "rndrd:100:pre",
            "rndrd:100:pre0",
            "rndrd:100:pre64:pre64",
            "starts:100",
        ] {
            assert_eq!(Load::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_load_that_takes_all_memory_is_refused() {
        let load = |name| Load::named(name).unwrap();
        load("rndrd:200:pre64").fits(80, 6).unwrap();
        load("rndrd:200:pre64").fits(80, 7).unwrap_err();
        load("rndrd:800").fits(8, 12).unwrap();
        let error = load("rndrd:200:pre64:hog128").fits(150, 12).unwrap_err();
        let failure = error.downcast::<Failure>().unwrap();
        assert_eq!(
            failure.to_string(),
            "rndrd:200:pre64:hog128 takes 192 MiB of 150: at least 22 must be left"
        );
        assert_eq!(failure.hints(), ["give the guest more: --normal 214"]);
    }

    #[test]
    fn memory_that_it_takes_is_asked_for_where_it_is_measured() {
        let load = Load::named("rndrw:100:pre64:hog128").unwrap();
        assert!(!load.prepare(3, &Programs::default()).contains("64"));
        let measured = load.measured(3, 500);
        assert!(measured.contains("--preallocate 64 --hog 128"), "{measured}");
        assert!(measured.contains("--warm-requests 12800 --requests 500"), "{measured}");
        assert!(load.beside(3).contains("--hog 128"));
        let warm = load.warm(3);
        assert!(
            warm.contains("--warm-requests 12800 --requests 1 ") && !warm.contains("--hog"),
            "{warm}"
        );
    }
}
