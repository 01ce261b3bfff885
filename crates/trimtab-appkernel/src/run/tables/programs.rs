//! What runs for the thesis's tables, and what the thesis has of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use trimtab_lab::tools::{self, FoundTool};
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::guest::parallel::{RUNNER, program};
use trimtab_machine::guest::{self, Workload};

use super::System;
use crate::guest::{proxied, proxy_library};

/// The program that watches a CPU.
pub(super) const NOISE: &str = "noise";
/// What the names of programs end in whose threads have proxies.
const PROXIED: &str = "-proxied";
/// What gives others a proxy, in the guest.
const PRELOADED: &str = "lib/proxy.so";
/// Those of [`TOGETHER`].
pub(super) const MIX: &str = "mix";

/// Has Linux give huge pages of all sizes, as whoever has threads that fill memory would.
const HUGE: &str = "for size in /sys/kernel/mm/transparent_hugepage/hugepages-*/enabled; do\n\
     echo always >$size || exit 1\ndone\n";

/// Programs with threads, and their arguments: 8 threads each, as in the thesis. Each checks its result.
pub(super) const PARALLEL: [(&str, &str); 3] =
    [("fft", "8 18"), ("lu", "8 512"), ("radix", "8 4194304")];

/// Programs of one thread, and what each does.
pub(super) const SINGLE: [(&str, &str); 3] = [
    ("find", "/usr/bin/find /tree -fprint /found"),
    ("cc1", "/usr/bin/cc1 -quiet -ffreestanding -O2 /source.c -o /source.s"),
    ("gzip", "/usr/bin/gzip -k /data"),
];

/// Programs of this machine that they need, but for the compiler.
const PROGRAMS: [&str; 3] = ["find", "grep", "gzip"];

/// Makes what they read: 10,000 small files, some megabytes of a program, and a C source.
const FILES: &str = r#"PATH=/bin:/usr/bin
for folder in $(busybox seq 100); do
    busybox mkdir -p /tree/$folder
    for file in $(busybox seq 100); do echo "$folder $file" >/tree/$folder/$file; done
done
for time in 1 2 3 4; do busybox cat /bin/busybox; done >/data
busybox awk 'BEGIN {
    for (n = 0; n < 60; n++) {
        printf "int sum%d(const int *of, int count)\n{\n\tint sum = %d;\n\n", n, n
        printf "\tfor (int i = 0; i < count; i++)\n\t\tsum += of[i] > %d ? of[i] * %d : sum >> %d;\n", n, n + 3, n % 7
        printf "\treturn sum;\n}\n\n"
    }
}' >/source.c
"#;

/// Fails where something is not as a program of one thread should have left it.
const CHECKS: &str = "[ ! -e /found ] || [ $(busybox wc -l </found) = 10101 ] || exit 3\n\
     [ ! -e /data.gz ] || /usr/bin/gzip -t /data.gz || exit 4\n\
     [ ! -e /source.s ] || busybox grep -q sum59 /source.s || exit 5\n";

/// As the thesis has them, by their paths, since busybox's shell takes its own programs for others: a compiler, searches of files, and programs with threads, all at the same time.
const TOGETHER: &str = r#"busybox cat >/mix <<'END'
/usr/bin/cc1 -quiet -ffreestanding -O2 /source.c -o /source.s & all=$!
/usr/bin/find /tree -fprint /found & all="$all $!"
/usr/bin/grep -r -l 7 /tree >/matching & all="$all $!"
/usr/bin/find /tree | /usr/bin/grep -c 7 >/count & all="$all $!"
/bin/fft 8 14 & all="$all $!"
/bin/lu 8 256 & all="$all $!"
for one in $all; do wait $one || exit 1; done
END
"#;

/// Programs with threads, and what watches a CPU, by their paths in the guest.
pub(super) fn with_threads(work: &WorkDir, gcc: &FoundTool) -> Result<BTreeMap<String, PathBuf>> {
    let parallel = PARALLEL.map(|(name, _)| name);
    let mut files = BTreeMap::new();
    for name in parallel.into_iter().chain([RUNNER, NOISE]) {
        files.insert(format!("bin/{name}"), program(name, gcc).get(work)?);
    }
    for name in parallel {
        files.insert(format!("bin/{name}{PROXIED}"), proxied(name, gcc).get(work)?);
    }
    Ok(files)
}

/// Programs of this machine, by their paths in the guest.
pub(super) fn of_this_machine(
    work: &WorkDir,
    gcc: &FoundTool,
) -> Result<BTreeMap<String, PathBuf>> {
    let compiler = guest::programs::of_gcc(&gcc.path, "cc1")?;
    let found = PROGRAMS.iter().map(|&name| Ok(tools::find(name)?.path));
    let programs: Vec<PathBuf> = found.chain([Ok(compiler)]).collect::<Result<_>>()?;
    let files = guest::programs::files(&programs);
    let mut files = files.context("the tables need find, grep, gzip and gcc's cc1")?;
    files.insert(PRELOADED.to_owned(), proxy_library(gcc).get(work)?);
    Ok(files)
}

/// What a guest can be asked for that watches a CPU for so long, or runs programs with threads: each on each system.
pub(super) fn workloads(noise_milliseconds: u32) -> Vec<Workload> {
    let threads = |system: System| {
        PARALLEL.map(|(name, arguments)| {
            let command = format!("/bin/{name} {arguments}");
            workload(system, name, script(system, &format!("/bin/{RUNNER} 1"), &command))
        })
    };
    let of = |system: System| {
        let (place, ours) = if system.has_module() { ("0", " elsewhere") } else { ("1", "") };
        let noise = format!("/bin/{NOISE} {place} {noise_milliseconds}{ours}");
        threads(system).into_iter().chain([workload(system, NOISE, script(system, "", &noise))])
    };
    let others = [System::Answering, System::Proxy].into_iter().flat_map(threads);
    System::ALL.into_iter().flat_map(of).chain(others).collect()
}

/// The same of programs of one thread, and of those that run together.
pub(super) fn workloads_of_this_machine() -> Vec<Workload> {
    let run = |system: System, command: &str| {
        // All come from a shell, since those of the module do. The first thread of all has Linux call the module from
        // then on, which is done before.
        let attach = match system {
            System::Up | System::Smp | System::Proxy => "",
            System::Ours | System::Answering => "echo attach > /dev/appkernel && ",
        };
        let preload = match system {
            System::Proxy => format!("LD_PRELOAD=/{PRELOADED} "),
            _ => String::new(),
        };
        format!(
            "/bin/sh -c '{attach}exit' || exit 1\n\
             /bin/{RUNNER} 1 /bin/sh -c '{attach}{preload}exec {command}' || exit 1\n"
        )
    };
    let alone = |system: System| {
        SINGLE.map(|(name, command)| {
            let script = [FILES, &run(system, command), CHECKS].concat();
            workload(system, name, script)
        })
    };
    let of = |system: System| {
        let together = [FILES, TOGETHER, &run(system, "/bin/sh /mix"), CHECKS].concat();
        alone(system).into_iter().chain([workload(system, MIX, together)])
    };
    System::ALL.into_iter().flat_map(of).chain(alone(System::Proxy)).collect()
}

fn workload(system: System, name: &str, script: String) -> Workload {
    Workload { name: format!("{}-{name}", system.name()), script }
}

/// Runs a command behind `start`; on the module's CPUs, where it has them.
fn script(system: System, start: &str, command: &str) -> String {
    let how = match system {
        System::Up | System::Smp => return format!("{HUGE}exec {start} {command}\n"),
        System::Ours => "attach",
        System::Answering => "attach local",
        // Its program attaches each of its threads by itself.
        System::Proxy => {
            let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
            return format!("{HUGE}exec {start} {program}{PROXIED} {arguments}\n");
        }
    };
    format!(
        "/bin/busybox mount -t debugfs debugfs /sys/kernel/debug || exit 1\n\
         {HUGE}\
         {start} /bin/sh -c 'echo {how} > /dev/appkernel && exec {command}' || exit 1\n\
         {KICKS}"
    )
}

/// Says how often a thread was taken from a CPU of the module.
const KICKS: &str = "/bin/busybox awk '/^cpu/ { for (i = 1; i < NF; i++) if ($i == \"kicks\") n += $(i + 1) } \
     END { print \"trimtab: noise kicks \" n }' /sys/kernel/debug/appkernel/status\n";

/// The speed-up that the thesis has of its application kernel, chapter 5, if it has one.
pub(super) fn published(program: &str, cpus: u32) -> Option<f64> {
    match (program, cpus) {
        ("find", 2) => Some(0.784),
        ("find", 4) => Some(0.864),
        ("find", 8) => Some(0.883),
        ("cc1", 2) => Some(0.898),
        ("cc1", 4) => Some(0.922),
        ("cc1", 8) => Some(0.926),
        ("gzip", 2 | 4 | 8) => Some(0.946),
        (MIX, 2) => Some(0.97),
        (MIX, 4) => Some(1.18),
        (MIX, 7) => Some(1.21),
        ("fft", 2) => Some(1.04),
        ("fft", 4) => Some(2.32),
        ("fft", 7) => Some(3.02),
        ("fft", 8) => Some(3.07),
        ("lu", 2) => Some(1.27),
        ("lu", 4) => Some(2.99),
        ("lu", 7) => Some(5.16),
        ("radix", 2) => Some(1.08),
        ("radix", 4) => Some(3.72),
        ("radix", 7) => Some(6.19),
        ("radix", 8) => Some(6.09),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_attached_only_where_the_module_is() {
        let native = script(System::Smp, "/bin/scale 1", "/bin/fft 8 18");
        assert_eq!(native, format!("{HUGE}exec /bin/scale 1 /bin/fft 8 18\n"));
        let ours = script(System::Ours, "/bin/scale 1", "/bin/fft 8 18");
        assert!(ours.contains(
            "/bin/scale 1 /bin/sh -c 'echo attach > /dev/appkernel && exec /bin/fft 8 18' || exit 1\n"
        ));
        let names = |all: &[Workload]| -> std::collections::BTreeSet<String> {
            all.iter().map(|workload| workload.name.clone()).collect()
        };
        let threads = names(&workloads(20));
        assert!(threads.len() == 18 && threads.contains("ours-noise"), "{threads:?}");
        let all = workloads_of_this_machine();
        let here = names(&all);
        assert!(here.len() == 15 && here.contains("up-find") && here.contains("ours-mix"));
        for Workload { name, script } in &all {
            assert_eq!(script.contains("echo attach"), name.starts_with("ours"), "{name}");
        }
    }
}
