//! Loads: what runs in the guest while devices are closed, and beside returns.

use std::fmt::Write as _;

use anyhow::Result;
use trimtab_lab::failure::Failure;
use trimtab_lab::workload::{self, DiskLoad, Workload};

use super::programs::Programs;

/// A load. Its name is `rndrd:200`, `rndrw:100:pre64`, `djpeg`, `untar:hog128` or `starts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Random requests of 16 KiB for files.
    Files(Files),
    /// A workload of the catalogue, round after round.
    Rounds(Rounds),
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
    /// Memory that it takes.
    pub memory: Memory,
}

/// A workload of the catalogue, round after round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    workload: &'static Workload,
    /// The part of its manifest that is about this.
    manifest: &'static DiskLoad,
    /// Memory that is taken beside it.
    pub memory: Memory,
}

/// Memory that a load takes for itself, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Before what is measured.
    pub preallocated_mib: u32,
    /// Step by step meanwhile.
    pub hog_mib: u32,
}

impl Memory {
    /// From the parts of a load's name that follow on what it is.
    fn named<'a>(parts: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut memory = Self::default();
        for part in parts {
            let (wanted, mib) = if let Some(mib) = part.strip_prefix("pre") {
                (&mut memory.preallocated_mib, mib)
            } else {
                (&mut memory.hog_mib, part.strip_prefix("hog")?)
            };
            *wanted = mib.parse().ok().filter(|mib| *wanted == 0 && (1..=800).contains(mib))?;
        }
        Some(memory)
    }

    /// As it stands in a load's name.
    fn name(self) -> String {
        self.each([":pre", ":hog"])
    }

    /// As programs are told.
    fn options(self) -> String {
        self.each([" --preallocate ", " --hog "])
    }

    fn each(self, [preallocated, hog]: [&str; 2]) -> String {
        let mut said = String::new();
        for (what, mib) in [(preallocated, self.preallocated_mib), (hog, self.hog_mib)] {
            if mib > 0 {
                let _ = write!(said, "{what}{mib}");
            }
        }
        said
    }
}

impl Files {
    fn mode(self) -> &'static str {
        if self.writes { "rndrw" } else { "rndrd" }
    }

    /// Its program, without what says how much.
    fn command(self, seed: u32) -> String {
        let (mode, mib) = (self.mode(), self.mib);
        format!("/bin/fileio --directory /disk --mode {mode} --mib {mib} --seed {seed}")
    }
}

impl Rounds {
    /// Of the workload of this name.
    fn named(name: &str) -> Option<Self> {
        let workload = workload::all().ok()?.iter().find(|workload| workload.name == name)?;
        let manifest = workload.manifest.load.as_ref()?;
        Some(Self { workload, manifest, memory: Memory::default() })
    }

    /// What the workload is named.
    pub(super) fn name(self) -> &'static str {
        &self.workload.name
    }

    /// What it needs of this machine.
    pub(super) fn manifest(self) -> &'static DiskLoad {
        self.manifest
    }

    fn script(self) -> String {
        format!("/bin/busybox sh -e /data/{}.sh", self.workload.name)
    }

    /// Makes what it reads, in a folder of its own, which is where the rounds run, too.
    fn prepare(self) -> String {
        let (name, script) = (&self.workload.name, self.script());
        let text = self.workload.files.get(&self.manifest.script).map_or("", String::as_str);
        format!(
            "/bin/busybox mkdir -p /data /disk/{name}\n\
             /bin/busybox cat >/data/bitmap.sh <<'END OF THE SCRIPT'\n{BITMAP}END OF THE SCRIPT\n\
             /bin/busybox cat >/data/{name}.sh <<'END OF THE SCRIPT'\n{text}END OF THE SCRIPT\n\
             cd /disk/{name}\n\
             /bin/busybox --install -s /bin\n\
             {script} prepare\n{FORGET}"
        )
    }

    /// So many rounds of it, after `warm` that do not count.
    fn rounds(self, warm: u32, rounds: u32) -> String {
        let (memory, script) = (self.memory.options(), self.script());
        format!("/bin/rounds --warm {warm} --rounds {rounds}{memory} -- {script} run")
    }
}

impl Load {
    /// `rndrd:200` or `djpeg:pre64`.
    pub fn name(self) -> String {
        match self {
            Load::Files(files) => format!("{}:{}{}", files.mode(), files.mib, files.memory.name()),
            Load::Rounds(rounds) => rounds.workload.name.clone() + &rounds.memory.name(),
            Load::Starts => "starts".to_owned(),
        }
    }

    /// From [its name](Load::name).
    pub fn named(name: &str) -> Option<Load> {
        if name == "starts" {
            return Some(Load::Starts);
        }
        let mut parts = name.split(':');
        let first = parts.next()?;
        if let Some(rounds) = Rounds::named(first) {
            return Some(Load::Rounds(Rounds { memory: Memory::named(parts)?, ..rounds }));
        }
        let writes = match first {
            "rndrd" => false,
            "rndrw" => true,
            _ => return None,
        };
        let mib = parts.next()?.parse().ok().filter(|mib| (8..=800).contains(mib))?;
        Some(Load::Files(Files { writes, mib, memory: Memory::named(parts)? }))
    }

    /// What a load is named, for people who named it wrongly.
    pub fn expected() -> String {
        let loads = workload::all().into_iter().flatten();
        let loads = loads.filter(|workload| workload.manifest.load.is_some());
        let names: Vec<&str> = loads.map(|workload| workload.name.as_str()).collect();
        format!(
            "expected starts; or rndrd or rndrw, a colon, 8 to 800 MiB, and maybe :pre48 or :hog48; or one of {}, \
             with the same",
            names.join(", ")
        )
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
            Load::Rounds(rounds) => rounds.manifest.mib,
            Load::Starts => programs.mib,
        };
        // While the root is unpacked, its archive is there as well, and the disk is still empty.
        (mib + mib / 20 + 4).max(programs.mib) + programs.mib
    }

    /// Whether what it takes for itself leaves something of the guest's memory, of which `held_mib` are not for it.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn fits(self, normal_mib: u32, held_mib: u32) -> Result<()> {
        let memory = match self {
            Load::Files(files) => files.memory,
            Load::Rounds(rounds) => rounds.memory,
            Load::Starts => Memory::default(),
        };
        let taken = memory.preallocated_mib + memory.hog_mib;
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
            Load::Rounds(rounds) => rounds.prepare(),
            Load::Starts => programs.data() + COPY_PROGRAMS + FORGET,
        }
    }

    /// Fills memory with what it uses, and measures `requests` of its requests: of programs that are started, one for
    /// 32 requests; of rounds, one for 1,000.
    pub(super) fn measured(self, seed: u32, requests: u32) -> String {
        match self {
            Load::Files(files) => {
                // Each block has been read about twice before.
                let warm = 2 * files.mib * 64;
                let memory = files.memory.options();
                let command = files.command(seed);
                format!("{command}{memory} --warm-requests {warm} --requests {requests}\n")
            }
            Load::Rounds(rounds) => {
                rounds.rounds(WARM_ROUNDS, requests.div_ceil(REQUESTS_OF_A_ROUND)) + "\n"
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
                let without = Files { memory: Memory::default(), ..files };
                format!("{} >/dev/null\n", Load::Files(without).measured(seed, 1).trim_end())
            }
            Load::Rounds(rounds) => {
                let without = Rounds { memory: Memory::default(), ..rounds };
                format!("{} >/dev/null\n", without.rounds(0, 1))
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
                let memory = files.memory.options();
                format!("{}{memory} --requests {BESIDE_REQUESTS}", files.command(seed))
            }
            Load::Rounds(rounds) => rounds.rounds(0, BESIDE_ROUNDS),
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
/// A script that writes a bitmap, for those that read one.
const BITMAP: &str = include_str!("../../../../guest/rent/bitmap.sh");
/// Rounds of a workload beside which something is measured, until they are begun anew.
const BESIDE_ROUNDS: u32 = 3;
/// Rounds that do not count: one that makes its files, and one that writes them over, as all behind it do.
const WARM_ROUNDS: u32 = 2;
/// So many requests for files take about as long as a round.
const REQUESTS_OF_A_ROUND: u32 = 1_000;
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
";

/// Has the kernel forget what is on the disk.
const FORGET: &str = "\
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
    fn a_workload_of_the_catalogue_is_prepared_once_and_run_in_rounds() {
        let load = Load::named("untar:hog16:pre8").unwrap();
        assert_eq!(load.name(), "untar:pre8:hog16");
        for wrong in ["untar:100", "untar:pre0", "boot"] {
            assert_eq!(Load::named(wrong), None, "{wrong}");
        }
        assert!(Load::expected().contains("untar"), "{}", Load::expected());
        let prepared = load.prepare(1, &Programs::default());
        assert!(prepared.contains("tar cf tree.tar tree\n"), "{prepared}");
        assert!(prepared.contains("cd /disk/untar\n"), "{prepared}");
        assert_eq!(
            load.measured(1, 4_001),
            "/bin/rounds --warm 2 --rounds 5 --preallocate 8 --hog 16 -- \
             /bin/busybox sh -e /data/untar.sh run\n"
        );
        assert!(!load.warm(1).contains("--hog"), "{}", load.warm(1));
        assert!(load.beside(1).contains("--hog 16"), "{}", load.beside(1));
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
