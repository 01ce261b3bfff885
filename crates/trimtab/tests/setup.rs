//! The script `setup`, with package tools that only pretend.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trimtab::verbs::doctor;
use trimtab_lab::{script, tools};
use trimtab_link::LAYOUT;
use trimtab_link::feature::common_series;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../setup");

/// A machine on which the script sees only these commands.
struct Machine(TempDir);

impl Machine {
    fn new(user: u32) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for name in
            ["bash", "dirname", "sed", "head", "sort", "cat", "grep", "sleep", "rm", "chmod"]
        {
            let path = ["/bin", "/usr/bin"].map(|directory| Path::new(directory).join(name));
            let path = path.iter().find(|path| path.exists()).unwrap();
            symlink(path, machine.0.path().join(name)).unwrap();
        }
        machine
            .with("id", &format!("echo {user}"))
            .with("cargo", "")
            .with("rustc", "echo 'rustc 1.95.0 (abc 2026-01-01)'")
    }

    /// A Debian machine with these packages, whose suites offer LLVM up to a version.
    fn debian(user: u32, installed: &str, llvm: u32) -> Self {
        Self::new(user)
            .with(
                "dpkg-query",
                &format!(
                    "shift 2; for p in \"$@\"; do case ' {installed} ' in *\" $p \"*) \
                     echo \"$p:amd64 ii \";; esac; done; exit 1"
                ),
            )
            .with(
                "apt-cache",
                &format!(
                    "shift; for p in \"$@\"; do echo \"$p:\"; if test ${{p##*-}} -le {llvm}; \
                     then echo '  Candidate: 1:1'; else echo '  Candidate: (none)'; fi; done"
                ),
            )
            .with("apt-get", "echo \"$@\" >> \"$APT_LOG\"; exit ${APT_EXIT:-0}")
    }

    fn with(self, name: &str, body: &str) -> Self {
        let path = self.0.path().join(name);
        script::write(&path, &format!("#!{}/bash\n{body}\n", self.0.path().display())).unwrap();
        self
    }

    /// What packages ask before they start a service.
    fn policy(&self) -> PathBuf {
        self.0.path().join("policy-rc.d")
    }

    /// Exit code, both outputs, and what apt-get was asked for.
    fn setup(&self, arguments: &[&str]) -> (i32, String, String) {
        self.setup_of(Path::new(SCRIPT), arguments)
    }

    /// As `setup`, with a script of another tree.
    fn setup_of(&self, script: &Path, arguments: &[&str]) -> (i32, String, String) {
        let log = self.0.path().join("apt.log");
        let output = Command::new(self.0.path().join("bash"))
            .arg(script)
            .args(arguments)
            .env("PATH", self.0.path())
            .env("APT_LOG", &log)
            .env("TRIMTAB_SETUP_POLICY", self.policy())
            .output()
            .unwrap();
        let mut said = String::from_utf8(output.stdout).unwrap();
        said.push_str(std::str::from_utf8(&output.stderr).unwrap());
        let log = fs::read_to_string(log).unwrap_or_default();
        (output.status.code().unwrap(), said, log)
    }
}

const ALL: &str = "gcc libc6-dev binutils make findutils grep gzip flex bison bc cpio xz-utils lz4 zstd libelf-dev \
    libssl-dev kmod rsync patch perl python3 git qemu-system-x86 busybox-static linux-source-6.12 \
    qemu-user lld e2fsprogs qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross chromium g++ linux-source-6.1 \
    g++-aarch64-linux-gnu cmake default-jdk-headless gcc-mipsel-linux-gnu g++-mipsel-linux-gnu libc6-dev-mipsel-cross tcl libjpeg-turbo-progs libopenjp2-tools flac ffmpeg rt-tests postmark fio dbench \
    stress-ng valgrind csmith libcsmith-dev maven wasi-libc python3-pip libtiff-tools graphicsmagick lame madplay groff-base groff gradle linux-perf uftrace trace-cmd dpkg-dev slurm-client slurmctld slurmd munge openssh-client openssh-server device-tree-compiler \
    ninja-build meson pkg-config libglib2.0-dev libpixman-1-dev libfdt-dev zlib1g-dev clang-22 lld-22 llvm-22 libclang-rt-22-dev-wasm32";

#[test]
fn with_all_there_nothing_is_done() {
    let (code, said, log) = Machine::debian(0, ALL, 22).setup(&[]);
    assert_eq!((code, log.as_str()), (0, ""), "{said}");
    assert!(said.contains("LLVM 22"), "{said}");
}

#[test]
fn an_older_complete_llvm_will_do() {
    let installed = ALL.replace("-22", "-19");
    let (code, said, log) = Machine::debian(0, &installed, 22).setup(&["--for", "demo"]);
    assert_eq!((code, log.as_str()), (0, ""), "{said}");
}

#[test]
fn root_installs_what_is_missing_and_only_that() {
    let installed = ALL.replace(" flex", "").replace(" chromium", "").replace(" lld-22", "");
    let machine = Machine::debian(0, &installed, 22);
    let (code, said, log) = machine.setup(&["--for", "demo"]);
    assert_eq!(code, 0, "{said}");
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].ends_with(" update"));
    assert!(
        lines[1].ends_with(" install --no-install-recommends flex clang-22 lld-22 llvm-22"),
        "{log}"
    );
    assert!(lines[1].contains("DPkg::Lock::Timeout="), "{log}");
}

#[test]
fn what_the_bench_of_jars_compares_with_is_of_the_installed_llvm() {
    let installed = ALL.replace(" libclang-rt-22-dev-wasm32", "").replace(" wasi-libc", "");
    for (purpose, missing) in [("jar", " wasi-libc libclang-rt-22-dev-wasm32"), ("test", "")] {
        let (code, said, log) = Machine::debian(0, &installed, 22).setup(&["--for", purpose]);
        assert_eq!(
            (code, log.lines().count()),
            (0, if missing.is_empty() { 0 } else { 2 }),
            "{said}"
        );
        assert!(log.trim_end().ends_with(missing), "{log}");
    }
}

#[test]
fn services_that_tests_start_themselves_are_not_started() {
    let installed = ALL.replace(" openssh-server", "").replace(" munge", "");
    let apt = "echo \"$@\" >> \"$APT_LOG\"; case \"$*\" in *install*) \
               \"$TRIMTAB_SETUP_POLICY\"; echo \"policy $?\" >> \"$APT_LOG\";; esac";
    let machine = || Machine::debian(0, &installed, 22).with("apt-get", apt);
    let systemctl = "echo systemctl \"$@\" >> \"$APT_LOG\"; exit 1";
    let with_systemd = machine().with("systemctl", systemctl);
    let (code, said, log) = with_systemd.setup(&["--for", "test"]);
    assert_eq!(code, 0, "{said}");
    let ends = ["munge openssh-server", "policy 101", "--now munge.service ssh.service ssh.socket"];
    let lines: Vec<_> = log.lines().skip(1).collect();
    assert!(lines.iter().zip(ends).all(|(line, end)| line.ends_with(end)), "{log}");
    assert!(lines.len() == 3 && !with_systemd.policy().exists(), "{log}");
    assert!(said.contains("are off: munge.service ssh.service ssh.socket"), "{said}");

    // One that is there is somebody's.
    let own = machine();
    script::write(&own.policy(), "#!/bin/sh\nexit 7\n").unwrap();
    let (code, said, log) = own.setup(&["--for", "test"]);
    assert!(code == 0 && log.contains("policy 7") && own.policy().exists(), "{said}{log}");

    // Nothing else is touched.
    let machine = Machine::debian(0, &ALL.replace(" bc", ""), 22).with("systemctl", systemctl);
    let (_, _, log) = machine.setup(&["--for", "test"]);
    assert!(!log.contains("systemctl") && !machine.policy().exists(), "{log}");
    let (_, said, _) = Machine::debian(1000, &installed, 22).setup(&["--for", "test"]);
    assert!(said.contains("hint: that starts munge.service ssh.service ssh.socket"), "{said}");
}

#[test]
fn another_architecture_is_asked_for_by_name() {
    let installed = ALL.replace(" qemu-system-arm", "").replace(" chromium", "");
    let machine = Machine::debian(1000, &installed, 22);
    let command = |packages| {
        format!("apt-get update && apt-get install --yes --no-install-recommends {packages}\n")
    };
    for (purpose, packages) in
        [("test", "chromium"), ("arm64", "qemu-system-arm"), ("all", "qemu-system-arm chromium")]
    {
        let (code, said, _) = machine.setup(&["--for", purpose]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(&command(packages)), "{said}");
    }
    let (code, said, _) = machine.setup(&["--for", "demo"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn what_dyninst_is_built_with_is_not_for_all() {
    let machine = Machine::debian(1000, ALL, 22);
    let (code, said, _) = machine.setup(&["--for", "dyninst"]);
    assert_eq!(code, 2, "{said}");
    let packages = "libdw-dev libiberty-dev libtbb-dev libboost-atomic-dev \
                    libboost-chrono-dev libboost-date-time-dev libboost-filesystem-dev \
                    libboost-thread-dev libboost-timer-dev\n";
    assert!(said.contains(&format!("--no-install-recommends {packages}")), "{said}");
    let (code, said, _) = machine.setup(&["--for", "all"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn qemu_is_built_with_packages_that_nothing_else_needs() {
    let installed = ALL.replace(" meson", "").replace(" chromium", "");
    let machine = Machine::debian(1000, &installed, 22);
    let (code, said, _) = machine.setup(&["--for", "clock"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("--no-install-recommends meson\n"), "{said}");
    let (code, said, _) = machine.setup(&["--for", "demo"]);
    assert_eq!(code, 0, "{said}");
    let postmark = tools::tool("postmark").unwrap();
    assert_eq!(postmark.needed_by, ["swap run", "smp locks"]);
}

/// What a verb of the table of tools is to `--for`.
fn purpose(verb: &str) -> &'static str {
    match verb {
        "fit kernel"
        | "fit program"
        | "trace"
        | "probe"
        | "order"
        | "compare"
        | "smp study"
        | "smp bench-appkernel --tables" => "demo",
        "fit kernel --arch arm64" | "rent run --arch arm64" => "arm64",
        "tests" => "test",
        "swap run" => "swap",
        "rent run" | "rent run --loads" => "rent",
        "smp scale" | "smp locks" => "clock",
        "probe bench" => "bench",
        "tune program" => "tune",
        "jar" => "jar",
        _ => panic!("no purpose of the script is known for {verb}"),
    }
}

#[test]
fn what_the_table_of_tools_says_that_a_verb_needs_is_installed_for_it() {
    // Of each Debian machine.
    const ITS_OWN: [&str; 6] = ["apt", "dpkg", "tar", "findutils", "grep", "gzip"];
    let machine = Machine::debian(1000, "", 22);
    let mut said: BTreeMap<&str, String> = BTreeMap::new();
    for tool in tools::all().iter().chain(tools::only_started()) {
        for verb in tool.needed_by {
            let purpose = purpose(verb);
            let said = said.entry(purpose).or_insert_with(|| machine.setup(&["--for", purpose]).1);
            for package in tool.packages.iter().filter(|package| !ITS_OWN.contains(package)) {
                let is_there = said.split_whitespace().any(|word| word == *package);
                assert!(is_there, "{package} of {} for {verb}, --for {purpose}: {said}", tool.name);
            }
        }
    }
    assert_eq!(said.len(), 9);
}

#[test]
fn the_releases_of_llvm_are_those_of_the_table() {
    let versions: Vec<u32> = tools::Llvm::versions().collect();
    let [newest, .., oldest] = versions[..] else { panic!("{versions:?}") };
    let line = format!("readonly llvm_preferred={newest} llvm_oldest={oldest}\n");
    assert!(fs::read_to_string(SCRIPT).unwrap().contains(&line), "{line}");
}

#[test]
fn programs_of_workloads_are_installed_for_the_verbs_that_run_them() {
    let all = || trimtab_lab::workload::all().unwrap().iter();
    let guests = all().filter_map(|one| Some(&one.manifest.guest.as_ref()?.programs));
    let loads = || all().filter_map(|one| one.manifest.load.as_ref());
    let loads = loads().flat_map(|load| load.programs.iter().chain(&load.files));
    for (purpose, programs) in
        [("swap", guests.flatten().collect::<Vec<_>>()), ("rent", loads.collect())]
    {
        let (_, said, _) = Machine::debian(1000, "", 22).setup(&["--for", purpose]);
        assert!(programs.len() > 5, "{purpose}");
        for program in programs {
            let package = &program.package;
            assert!(said.contains(&format!(" {package} ")), "{purpose}, {package}: {said}");
        }
    }
}

/// The kernels' sources that setup names.
fn kernels(script: &Path, purpose: &str) -> Vec<String> {
    let (_, said, _) =
        Machine::debian(1000, "", 22).setup_of(script, &["--for", purpose, "--check"]);
    let sources = said.split_whitespace().filter_map(|word| word.strip_prefix("linux-source-"));
    sources.map(str::to_owned).collect()
}

#[test]
fn a_kernel_is_one_that_the_patches_of_the_purpose_are_for() {
    for kernel in doctor::kernels::ALL {
        let newest = common_series(kernel.features).unwrap()[0];
        assert_eq!(kernels(Path::new(SCRIPT), kernel.purpose), [newest], "{}", kernel.verb);
    }
    // A tree in which kernels of a newer series can be given an order, and nothing else.
    let tree = tempfile::tempdir().unwrap();
    let root = Path::new(SCRIPT).parent().unwrap();
    for file in ["setup", "Cargo.toml"] {
        fs::copy(root.join(file), tree.path().join(file)).unwrap();
    }
    for feature in fs::read_dir(root.join("linux")).unwrap().map(|entry| entry.unwrap().path()) {
        let copy = tree.path().join("linux").join(feature.file_name().unwrap());
        fs::create_dir_all(&copy).unwrap();
        for file in fs::read_dir(&feature).into_iter().flatten().map(|entry| entry.unwrap().path())
        {
            if file.extension().is_some_and(|extension| extension == "patch") {
                fs::write(copy.join(file.file_name().unwrap()), "").unwrap();
            }
        }
    }
    fs::write(tree.path().join("linux/layout/99.1.patch"), "").unwrap();
    let script = tree.path().join("setup");
    for kernel in doctor::kernels::ALL {
        let newest = match kernel.features {
            [one] if one.name == LAYOUT.name => "99.1",
            features => common_series(features).unwrap()[0],
        };
        assert_eq!(kernels(&script, kernel.purpose), [newest], "{}", kernel.verb);
    }
    for purpose in ["arm64", "layout"] {
        assert_eq!(kernels(&script, purpose), ["99.1"]);
    }
    let all = kernels(&script, "test");
    assert_eq!(all[0], "99.1");
    assert_eq!(all[1..], LAYOUT.series());
    assert_eq!(kernels(&script, "all"), all);
}

#[test]
fn others_are_told_the_command() {
    let installed = ALL.replace(" bc", "");
    let (code, said, log) = Machine::debian(1000, &installed, 22).setup(&[]);
    assert_eq!((code, log.as_str()), (2, ""));
    let command = "apt-get update && apt-get install --yes --no-install-recommends bc\n";
    assert!(said.contains(command), "{said}");
}

#[test]
fn check_only_says() {
    let installed = ALL.replace(" bc", "");
    let (code, said, log) = Machine::debian(0, &installed, 22).setup(&["--check"]);
    assert_eq!((code, log.as_str()), (2, ""));
    assert!(said.contains("packages missing: 1; as root, run:"), "{said}");
}

#[test]
fn a_suite_without_the_preferred_llvm_gives_the_next() {
    let installed = ALL.replace("-22", "-1");
    let (code, said, log) = Machine::debian(0, &installed, 19).setup(&[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("LLVM 22 is not in this system's suites; LLVM 19 will do"), "{said}");
    assert!(log.contains("clang-19 lld-19 llvm-19"), "{log}");

    let (code, said, log) = Machine::debian(0, &installed, 14).setup(&[]);
    assert_eq!(code, 1);
    assert!(said.contains("no release of LLVM from 15 to 22 is offered"), "{said}");
    assert!(!log.contains("install"), "{log}");
}

#[test]
fn a_failed_installation_is_a_failure() {
    let machine = Machine::debian(0, &ALL.replace(" bc", ""), 22)
        .with("apt-get", "case \"$*\" in *install*) exit 100;; esac");
    let (code, said, _) = machine.setup(&[]);
    assert_eq!(code, 1);
    assert!(said.contains("apt-get install failed"), "{said}");
}

#[test]
fn missing_or_old_rust_is_told() {
    let machine = Machine::debian(0, ALL, 22).with("rustc", "echo 'rustc 1.63.0'");
    let (code, said, _) = machine.setup(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("rustc is 1.63.0, expected 1."), "{said}");
    assert!(said.contains("rustup default stable"), "{said}");

    let machine = Machine::debian(0, ALL, 22);
    fs::remove_file(machine.0.path().join("cargo")).unwrap();
    let (code, said, _) = machine.setup(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("cargo and rustc 1."), "{said}");
}

#[test]
fn another_system_is_told_what_to_install() {
    let (code, said, _) = Machine::new(0).setup(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("this is not a Debian system"), "{said}");
    assert!(said.contains("qemu-system-x86"), "{said}");
}

#[test]
fn bad_usage_is_told() {
    for arguments in [&["--for", "war"][..], &["--for"], &["--frobnicate"]] {
        let (code, said, _) = Machine::debian(0, ALL, 22).setup(arguments);
        assert_eq!(code, 2, "{said}");
    }
}
