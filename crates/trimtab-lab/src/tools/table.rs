//! The table of tools: the one place that says which Debian package has a program.
//!
//! It imports nothing, so that all may ask it, jobs as well.

/// The newest LLVM that was tried, for names of programs and packages.
macro_rules! newest_llvm {
    () => {
        22
    };
}

/// A name that LLVM's newest version is part of.
macro_rules! of_newest_llvm {
    ($part:literal) => {
        concat!($part, "-", newest_llvm!())
    };
}

/// The newest LLVM that was tried, and the one that is looked for first.
pub(super) const NEWEST_LLVM: u32 = newest_llvm!();
/// The oldest LLVM with all that the layout of functions needs; blocks need
/// [`super::Llvm::OLDEST_THAT_MAPS_BLOCKS`].
pub(super) const OLDEST_LLVM: u32 = 15;

/// How to see whether a tool is there.
#[derive(Debug, Clone, Copy)]
pub enum Probe {
    /// A command, by the first of these names (or absolute paths) that is new enough.
    Command {
        /// Names to look for, best first.
        candidates: &'static [&'static str],
        /// Arguments that make it print its version.
        arguments: &'static [&'static str],
        /// What stands right before the version; empty: the first number with a dot is it.
        marker: &'static str,
    },
    /// A file at one of these places, best first: a library's header or a package of sources.
    File(&'static [&'static str]),
    /// The LLVM tools, of one version: see [`super::Llvm`].
    Llvm,
    /// One command of LLVM, of the newest version that is there: `NAME-22` and so on, then `NAME`.
    OfLlvm(&'static str),
}

/// One row: something that trimtab does not bring along.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// What it is called in messages and in `trimtab doctor`.
    pub name: &'static str,
    /// How to look for it.
    pub probe: Probe,
    /// The oldest version that works; empty: any.
    pub minimum: &'static [u32],
    /// The Debian packages that hold it.
    pub packages: &'static [&'static str],
    /// The verbs that cannot work without it. The name `tests` stands for `make test`.
    pub needed_by: &'static [&'static str],
}

impl Tool {
    /// A file that a Debian package has, of any version. What is given stays in memory as long as trimtab
    /// runs.
    pub fn of_file(
        name: String,
        place: String,
        package: String,
        needed_by: &'static [&'static str],
    ) -> Self {
        let list = |text: String| -> &'static [&'static str] { vec![&*text.leak()].leak() };
        file(name.leak(), list(place), list(package), needed_by)
    }
}

/// Debian packages of a program that a job calls by its name, or of the row that it names instead. None where
/// no row has it.
pub fn packages(name: &str) -> Option<&'static [&'static str]> {
    let rows = || ALL.iter().chain(ONLY_STARTED);
    let calls = |tool: &&Tool| match tool.probe {
        Probe::Command { candidates, .. } => candidates.contains(&name),
        Probe::OfLlvm(_) | Probe::File(_) | Probe::Llvm => false,
    };
    let row = rows().find(|tool| tool.name == name).or_else(|| rows().find(calls));
    row.map(|tool| tool.packages)
}

const FIT: &[&str] = &["fit kernel"];
const ARM64: &[&str] = &["fit kernel --arch arm64", "rent run --arch arm64"];
const FIT_ANY: &[&str] = &["fit kernel", "fit program"];
const FIT_PROGRAM: &[&str] = &["fit program"];
const FIT_TRACE: &[&str] = &["fit kernel", "trace"];
const FIT_ALL_PROBE: &[&str] = &["fit kernel", "fit program", "trace", "probe"];
const TESTS: &[&str] = &["tests"];
const PROBE_BENCH: &[&str] = &["probe bench"];

pub(super) const SWAP_RUN: &[&str] = &["swap run"];
pub(super) const RENT_RUN: &[&str] = &["rent run --loads"];
const SMP_SCALE: &[&str] = &["smp scale", "smp locks"];
const JAR: &[&str] = &["jar"];
const SMP_TABLES: &[&str] = &["smp bench-appkernel --tables"];

pub(super) const VERSION: &[&str] = &["--version"];

/// All tools but those that workloads need. Minimum versions are those that the kernel's own documentation of 6.12 asks for, and
/// the oldest QEMU that the tracing plugin was run in.
pub(super) const ALL: &[Tool] = &[
    Tool {
        name: "llvm",
        probe: Probe::Llvm,
        minimum: &[OLDEST_LLVM],
        packages: &[of_newest_llvm!("clang"), of_newest_llvm!("lld"), of_newest_llvm!("llvm")],
        needed_by: FIT_ANY,
    },
    // What `-fuse-ld=lld` means to a compiler that does not know of versions.
    command("ld.lld", &["ld.lld"], &[11], &["lld"], &["order", "tests"]),
    command("gcc", &["gcc"], &[5, 1], &["gcc", "libc6-dev"], FIT_ALL_PROBE),
    command("make", &["make", "gmake"], &[3, 82], &["make"], FIT),
    command("flex", &["flex"], &[2, 5, 35], &["flex"], FIT),
    command("bison", &["bison"], &[2, 0], &["bison"], FIT),
    command("bc", &["bc"], &[1, 6, 95], &["bc"], FIT),
    command("perl", &["perl"], &[5], &["perl"], FIT),
    command("python3", &["python3"], &[3, 5], &["python3"], FIT),
    command("patch", &["patch"], &[], &["patch"], FIT),
    command("cpio", &["cpio"], &[], &["cpio"], FIT),
    command("xz", &["xz"], &[], &["xz-utils"], FIT),
    command("tar", &["tar"], &[], &["tar"], FIT),
    Tool {
        name: "libelf",
        probe: Probe::File(&["/usr/include/gelf.h", "/usr/local/include/gelf.h"]),
        minimum: &[],
        packages: &["libelf-dev"],
        needed_by: FIT,
    },
    Tool {
        name: "libssl",
        probe: Probe::File(&[
            "/usr/include/openssl/opensslv.h",
            "/usr/local/include/openssl/opensslv.h",
        ]),
        minimum: &[],
        packages: &["libssl-dev"],
        needed_by: FIT,
    },
    command("qemu", &["qemu-system-x86_64"], &[7, 2], &["qemu-system-x86"], FIT_TRACE),
    command("qemu-user", &["qemu-x86_64"], &[7, 2], &["qemu-user"], FIT_PROGRAM),
    Tool {
        name: "busybox",
        probe: Probe::Command {
            candidates: &["busybox", "/bin/busybox"],
            arguments: &[],
            marker: "BusyBox v",
        },
        minimum: &[1, 30],
        packages: &["busybox-static"],
        needed_by: FIT_TRACE,
    },
    command("qemu-arm64", &["qemu-system-aarch64"], &[7, 2], &["qemu-system-arm"], ARM64),
    command(
        "gcc-arm64",
        &["aarch64-linux-gnu-gcc"],
        &[5, 1],
        &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
        ARM64,
    ),
    command("g++-arm64", &["aarch64-linux-gnu-g++"], &[5, 1], &["g++-aarch64-linux-gnu"], TESTS),
    Tool {
        name: "llvm-profdata",
        probe: Probe::OfLlvm("llvm-profdata"),
        minimum: &[19],
        packages: &[of_newest_llvm!("llvm")],
        needed_by: &["compare", "tests"],
    },
    command("gold", &["ld.gold", "gold"], &[], &["binutils"], TESTS),
    command("gnu-ld", &["ld.bfd"], &[], &["binutils"], TESTS),
    command("g++", &["g++"], &[5, 1], &["g++"], &["probe bench", "tests"]),
    command("valgrind", &["valgrind"], &[3, 15], &["valgrind"], PROBE_BENCH),
    command("uftrace", &["uftrace"], &[0, 9], &["uftrace"], PROBE_BENCH),
    command("chromium", &["chromium", "chromium-browser"], &[], &["chromium"], TESTS),
    file("cyclictest", &["/usr/bin/cyclictest"], &["rt-tests"], SWAP_RUN),
    // One of the workloads of both.
    file("postmark", &["/usr/bin/postmark"], &["postmark"], &["swap run", "smp locks"]),
    file("mke2fs", &["/sbin/mke2fs", "/usr/sbin/mke2fs"], &["e2fsprogs"], &["rent run"]),
    // Of the thesis's tables; gcc brings the compiler.
    command("find", &["find"], &[], &["findutils"], SMP_TABLES),
    command("grep", &["grep"], &[], &["grep"], SMP_TABLES),
    command("gzip", &["gzip"], &[], &["gzip"], SMP_TABLES),
    // Guests whose device tree has more than QEMU's.
    command("dtc", &["dtc"], &[1, 4], &["device-tree-compiler"], TESTS),
    // What QEMU is built with.
    command("dpkg-source", &["dpkg-source"], &[], &["dpkg-dev"], SMP_SCALE),
    command("ninja", &["ninja"], &[1, 8], &["ninja-build"], SMP_SCALE),
    command("meson", &["meson"], &[0, 61], &["meson"], SMP_SCALE),
    command("pkg-config", &["pkg-config"], &[], &["pkg-config"], SMP_SCALE),
    file("glib", &["/usr/include/glib-2.0/glib.h"], &["libglib2.0-dev"], SMP_SCALE),
    file("pixman", &["/usr/include/pixman-1/pixman.h"], &["libpixman-1-dev"], SMP_SCALE),
    file("libfdt", &["/usr/include/libfdt.h"], &["libfdt-dev"], SMP_SCALE),
    file("zlib", &["/usr/include/zlib.h"], &["zlib1g-dev"], SMP_SCALE),
];

/// What is only started, by those who ask for what needs it: `trimtab doctor` does not look for these, and
/// where one is missing the message of the job says what to install.
pub(super) const ONLY_STARTED: &[Tool] = &[
    started("git", &["git"], &["git"], &["smp study"]),
    started("objcopy", &["objcopy"], &["binutils"], &["tune program", "probe bench"]),
    started(
        "apt",
        &["apt-get"],
        &["apt"],
        &["probe bench", "smp scale", "fit kernel --arch arm64"],
    ),
    started("dpkg", &["dpkg-deb"], &["dpkg"], &["fit kernel --arch arm64"]),
    started("opt", &["opt", "llvm-link"], &[of_newest_llvm!("llvm")], PROBE_BENCH),
    started("gcc-mipsel", &["mipsel-linux-gnu-gcc"], &["gcc-mipsel-linux-gnu"], JAR),
    started("javac", &["javac"], &["default-jdk-headless"], JAR),
    // Traces that these wrote are read by any verb that takes traces.
    started("perf", &["perf"], &["linux-perf"], TESTS),
    started("trace-cmd", &["trace-cmd"], &["trace-cmd"], TESTS),
    // Boards and clusters that tuning measures on.
    started("ssh", &["ssh"], &["openssh-client"], TESTS),
    started("srun", &["srun"], &["slurm-client"], TESTS),
];

/// A command that prints its version when asked with `--version`.
const fn command(
    name: &'static str,
    candidates: &'static [&'static str],
    minimum: &'static [u32],
    packages: &'static [&'static str],
    needed_by: &'static [&'static str],
) -> Tool {
    let probe = Probe::Command { candidates, arguments: VERSION, marker: "" };
    Tool { name, probe, minimum, packages, needed_by }
}

/// A command of any version.
const fn started(
    name: &'static str,
    candidates: &'static [&'static str],
    packages: &'static [&'static str],
    needed_by: &'static [&'static str],
) -> Tool {
    command(name, candidates, &[], packages, needed_by)
}

/// A program that is not run here, and need not say its version.
const fn file(
    name: &'static str,
    places: &'static [&'static str],
    packages: &'static [&'static str],
    needed_by: &'static [&'static str],
) -> Tool {
    Tool { name, probe: Probe::File(places), minimum: &[], packages, needed_by }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_lists_are_unique() {
        let rows = || ALL.iter().chain(ONLY_STARTED);
        for (index, row) in rows().enumerate() {
            assert_eq!(
                rows().position(|other| other.name == row.name),
                Some(index),
                "{}",
                row.name
            );
            assert!(!row.packages.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn a_program_is_found_by_its_own_name_and_by_that_of_its_row() {
        assert_eq!(packages("ninja"), Some(&["ninja-build"][..]));
        assert_eq!(packages("dpkg-deb"), Some(&["dpkg"][..]));
        assert_eq!(packages("qemu-arm64"), Some(&["qemu-system-arm"][..]));
        assert_eq!(packages("no-such-program"), None);
    }
}
