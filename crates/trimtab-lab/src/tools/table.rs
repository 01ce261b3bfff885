//! The table of tools.

use std::sync::LazyLock;

use crate::workload::{self, Workload};

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

/// All tools: the table, and the programs that workloads need.
pub fn all() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        let mut tools = ALL.to_vec();
        let all = || workload::all().into_iter().flatten();
        let of_guests = all().flat_map(Workload::programs).map(|program| (program, SWAP_RUN));
        let loads = all().filter_map(|workload| workload.manifest.load.as_ref());
        let of_loads = loads.flat_map(|load| &load.programs).map(|program| (program, RENT_RUN));
        for (program, needed_by) in of_guests.chain(of_loads) {
            let name = program.name();
            if !tools.iter().any(|tool| tool.name == name) {
                let place = program.path.display().to_string();
                tools.push(Tool::of_file(name, place, program.package.clone(), needed_by));
            }
        }
        tools
    });
    &TOOLS
}

/// The tool of this name.
pub fn tool(name: &str) -> Option<&'static Tool> {
    all().iter().find(|tool| tool.name == name)
}

const FIT: &[&str] = &["fit kernel"];
const ARM64: &[&str] = &["fit kernel --arch arm64", "rent run --arch arm64"];
const FIT_ANY: &[&str] = &["fit kernel", "fit program"];
const FIT_PROGRAM: &[&str] = &["fit program"];
const FIT_TRACE: &[&str] = &["fit kernel", "trace"];
const FIT_ALL_PROBE: &[&str] = &["fit kernel", "fit program", "trace", "probe"];
const TESTS: &[&str] = &["tests"];
const PROBE_BENCH: &[&str] = &["probe bench"];

const SWAP_RUN: &[&str] = &["swap run"];
const RENT_RUN: &[&str] = &["rent run --loads"];
const SMP_SCALE: &[&str] = &["smp scale", "smp locks"];
const SMP_TABLES: &[&str] = &["smp bench-appkernel --tables"];

const VERSION: &[&str] = &["--version"];

/// All tools but those that workloads need. Minimum versions are those that the kernel's own documentation of 6.12 asks for, and
/// the oldest QEMU that the tracing plugin was run in.
const ALL: &[Tool] = &[
    Tool {
        name: "llvm",
        probe: Probe::Llvm,
        minimum: &[super::llvm::OLDEST],
        packages: &["clang-22", "lld-22", "llvm-22"],
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
    command(
        "llvm-profdata",
        &[
            "llvm-profdata-22",
            "llvm-profdata-21",
            "llvm-profdata-20",
            "llvm-profdata-19",
            "llvm-profdata",
        ],
        &[19],
        &["llvm-22"],
        &["compare", "tests"],
    ),
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
    fn what_workloads_need_is_among_the_tools() {
        let tool = tool("cjpeg").unwrap();
        assert!(matches!(tool.probe, Probe::File(["/usr/bin/cjpeg"])));
        assert_eq!(tool.packages, ["libjpeg-turbo-progs"]);
    }

    #[test]
    fn names_are_unique_and_rows_complete() {
        for (index, row) in all().iter().enumerate() {
            assert_eq!(all().iter().position(|other| other.name == row.name), Some(index));
            assert!(!row.packages.is_empty() && !row.needed_by.is_empty(), "{}", row.name);
        }
    }
}
