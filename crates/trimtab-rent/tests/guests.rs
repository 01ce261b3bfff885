//! Rental memory in real kernels: its unit tests, the oracle on two file systems and two CPUs, and the experiment.
//!
//! All but the first build a kernel each, so they are part of `make nightly`.

#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/kunit.rs"]
mod kunit;

use std::collections::BTreeMap;

use common::work;
use trimtab_lab::observe::Silent;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::kernel::Source;
use trimtab_rent::arm::{Arm, DeviceMemory};
use trimtab_rent::feature::{RENT_DEVICES, RENTAL, RENTAL_HEAP};
use trimtab_rent::run::filesystem::{FileSystem, with_disk};
use trimtab_rent::run::guest::{BootOf, Guest, GuestRequest};
use trimtab_rent::run::{Basis, DiskProfile, Load, Oracle, RunRequest, run};
use trimtab_report::Report;

const DEVICES: [DeviceMemory; 2] =
    [DeviceMemory { name: "decoder", mib: 32 }, DeviceMemory { name: "camera", mib: 16 }];

fn oracle(operations: u32, seed: u32, processes: u32) -> String {
    let options =
        format!("--processes {processes} --device-every 700 --devices decoder,camera --unscrubbed");
    Oracle { operations, seed, keep_mib: 20, options: &options }.command()
}

/// 2,000 requests of each load, on eMMC and with the devices of the paper; nothing is returned or verified.
fn asked(arms: &[Arm], loads: &[&str]) -> RunRequest {
    RunRequest {
        basis: Basis::new(work()),
        arms: arms.to_vec(),
        devices: DeviceMemory::OF_THE_PAPER.to_vec(),
        loads: loads.iter().map(|name| Load::named(name).unwrap()).collect(),
        requests: 2_000,
        normal_mib: 80,
        disk: DiskProfile::named("emmc").unwrap(),
        returns: 0,
        verify: 0,
        policy: "all".to_owned(),
        dirtyable: true,
    }
}

/// Buffers of a heap beside a load that fills what is lent.
const HEAP: &str = "\
/bin/fileio --directory /disk --mib 100 --prepare
/bin/heap --heap video --count 300 --most-kib 6000 --held 5 -- \
  /bin/fileio --directory /disk --mib 100 --mode rndrw --requests 1000000";

/// Gives a kernel what GCMA is called by, and does nothing: memory of closed devices is idle.
const NO_GCMA: &str = "\
--- a/mm/Kconfig
+++ b/mm/Kconfig
@@ -965,6 +965,12 @@
 config HAVE_SETUP_PER_CPU_AREA
 \tbool
 
+config CLEANCACHE
+\tbool \"Nothing\"
+
+config GCMA
+\tbool \"Nothing\"
+
 config CMA
 \tbool \"Contiguous Memory Allocator\"
 \tdepends on MMU
--- /dev/null
+++ b/include/linux/gcma.h
@@ -0,0 +1,14 @@
+static inline int gcma_register_area(const char *name, unsigned long first, unsigned long pages)
+{
+\treturn 0;
+}
+
+static inline int gcma_alloc_range(unsigned long first, unsigned long pages, gfp_t gfp)
+{
+\treturn 0;
+}
+
+static inline int gcma_free_range(unsigned long first, unsigned long pages)
+{
+\treturn 0;
+}
";

#[test]
fn the_patches_fit_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let work = WorkDir::open(folder.path()).unwrap();
    let features = [&RENTAL, &RENTAL_HEAP, &RENT_DEVICES];
    let tree = Source::find(None, &features).unwrap().unpack(&work, &features).unwrap();
    for file in ["mm/rental.c", "mm/rental_region.c", "drivers/dma-buf/heaps/rental_heap.c"] {
        assert!(tree.path.join(file).is_file(), "{file}");
    }
    let hooked = std::fs::read_to_string(tree.path.join("mm/vmscan.c")).unwrap();
    assert!(hooked.contains("shadow = rental_store(folio, "));
}

#[test]
#[ignore = "builds a kernel with its unit tests: 6 minutes; cargo test -p trimtab-rent --test guests -- --ignored"]
fn a_kernel_that_checks_itself_passes_its_unit_tests_and_the_oracle() {
    let work = WorkDir::open(&work()).unwrap();
    let lines = [RENTAL.fragment("kunit").unwrap(), RENTAL.fragment("debug").unwrap()].concat();
    let request = GuestRequest {
        basis: &Basis::new(work.path().to_owned()),
        lines: &lines,
        scripts: vec![
            ("one".to_owned(), with_disk(FileSystem::Ext4Parts, &oracle(20_000, 1, 1))),
            ("two".to_owned(), with_disk(FileSystem::Ext4Pages, &oracle(20_000, 2, 2))),
            ("fat".to_owned(), with_disk(FileSystem::Vfat, &oracle(20_000, 3, 1))),
            ("heap".to_owned(), with_disk(FileSystem::Ext4, HEAP)),
            ("none".to_owned(), "exit 0\n".to_owned()),
        ],
        files: BTreeMap::new(),
    };
    let guest = Guest::build(&work, &request, &Silent).unwrap();
    let boot = |arm, script, cpus, arguments: &[&str]| {
        let asked = BootOf {
            arm,
            devices: &DEVICES,
            script,
            normal_mib: 96,
            used_mib: match script {
                // All of a FAT is used in the end.
                "fat" => 100,
                // The load's files, and the heap.
                "heap" => 110 + 24,
                _ => 60,
            },
            disk: DiskProfile::named("ufs").unwrap(),
            cpus,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            outlet: false,
            device_tree: None,
        };
        // A kernel that complains is an error.
        guest.run(&asked, &Silent).unwrap()
    };
    // They need all regions for themselves.
    let tests = std::fs::read_to_string(boot(Arm::Idle, "none", 1, &[]).console).unwrap();
    kunit::passed(&tests, "rental");
    let moving = ["rent_devices.active_pages=100000", "rent_devices.active_us=20000"];
    for (script, cpus, moves) in
        [("one", 1, false), ("two", 2, false), ("fat", 1, false), ("two", 2, true)]
    {
        let ran = boot(Arm::Rental, script, cpus, if moves { &moving } else { &[] });
        assert_eq!(ran.number("verify", "errors").unwrap(), 0, "{script}");
        assert_eq!(ran.number("counters", "moved").unwrap() > 1_000, moves, "{script}");
        assert!(ran.number("counters", "hits").unwrap() > 1_000, "{script}");
        assert!(ran.number("counters", "returns").unwrap() > 5, "{script}");
    }
    let arguments = ["reserve_mem=24M:1M:video", "rental_heap.regions=video"];
    let ran = boot(Arm::Rental, "heap", 1, &arguments);
    let of = |name| ran.number("heap", name).unwrap();
    assert_eq!((of("errors"), of("count") + of("full")), (0, 300));
    assert!(of("count") > 200 && of("full") > 0, "{:?}", ran.said.get("heap"));
    let counter = |name| ran.number("counters", name).unwrap();
    assert_eq!((counter("returns"), counter("rents")), (of("count"), of("count")));
    // The decoder's 32 MiB, the camera's 16 and the heap's 24 are all lent in the end.
    assert_eq!(counter("pages_rented"), (32 + 16 + 24) << 8);
    assert!(counter("hits") > 1_000);
}

#[test]
#[ignore = "builds a kernel and boots it often: 8 minutes; cargo test -p trimtab-rent --test guests -- --ignored"]
fn lent_memory_saves_reads_and_comes_back_in_microseconds() {
    let request = RunRequest {
        returns: 50,
        verify: 20_000,
        ..asked(&[Arm::Rental, Arm::Cma], &["rndrd:200", "rndrw:200"])
    };
    let found = run(&request, &Silent).unwrap();
    let of = |arm| found.arms.iter().find(|run| run.arm == arm).unwrap();
    let (idle, rental) = (of(Arm::Idle), of(Arm::Rental));
    for (idle, rental) in idle.workloads.iter().zip(&rental.workloads) {
        assert!(rental.throughput_ratio > 1.5, "{rental:?}");
        assert!(rental.read_mib < 0.6 * idle.read_mib, "{idle:?} {rental:?}");
        assert!(rental.hits > 500, "{rental:?}");
        assert_eq!((idle.hits, idle.stores), (0, 0));
    }
    for returns in &rental.returns {
        assert_eq!((returns.count, returns.failures, returns.errors), (50, 0, 0), "{returns:?}");
        assert!(returns.max <= 20_000, "{returns:?}");
        assert!((1..returns.max).contains(&returns.in_kernel_max), "{returns:?}");
    }
    assert!(of(Arm::Cma).returns.iter().all(|cma| cma.max > 1_000_000));
    let verify = found.verify.unwrap();
    assert_eq!((verify.operations, verify.errors), (20_000, 0));
    assert!(verify.hits > 1_000 && verify.returns > 5, "{verify:?}");
}

#[test]
#[ignore = "builds a kernel and boots it 8 times: 8 minutes; cargo test -p trimtab-rent --test guests -- --ignored"]
fn memory_that_is_unplugged_is_as_useful_and_comes_back_a_hundred_times_slower() {
    let request = RunRequest {
        returns: 10,
        ..asked(&[Arm::Rental, Arm::Movable, Arm::Offline], &["rndrd:200"])
    };
    let found = run(&request, &Silent).unwrap();
    let of = |arm| found.arms.iter().find(|run| run.arm == arm).unwrap();
    let rental = &of(Arm::Rental).returns[0];
    assert_eq!((rental.count, rental.failures, rental.errors), (10, 0, 0));
    for arm in [Arm::Movable, Arm::Offline] {
        let (load, returns) = (&of(arm).workloads[0], &of(arm).returns[0]);
        assert!(load.throughput_ratio > 1.5, "{load:?}");
        // The first that nothing ends is the last.
        let all = returns.count + returns.failures;
        assert!(returns.errors == 0 && (all == 10 || returns.failures > 0), "{returns:?}");
        assert!(returns.count == 0 || returns.max > 100 * rental.max, "{returns:?} {rental:?}");
    }
}

#[test]
#[ignore = "builds two kernels and boots them 4 times: 15 minutes; cargo test -p trimtab-rent --test guests -- --ignored"]
fn a_kernel_with_a_users_patch_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let patch = folder.path().join("gcma.patch");
    std::fs::write(&patch, NO_GCMA).unwrap();
    let basis = Basis { gcma: Some(patch), ..Basis::new(work()) };
    let request = RunRequest { basis, returns: 20, ..asked(&[], &["rndrd:100"]) };
    let found = run(&request, &Silent).unwrap();
    let [idle, gcma] = &found.arms[..] else { panic!("{found:?}") };
    assert_eq!([idle.arm, gcma.arm], [Arm::Idle, Arm::Gcma]);
    let ratio = gcma.workloads[0].throughput_ratio;
    assert!((0.8..1.25).contains(&ratio), "{gcma:?}");
    assert_eq!((gcma.returns[0].count, gcma.returns[0].failures), (20, 0), "{gcma:?}");
}

#[test]
#[ignore = "builds a kernel and boots it 4 times: 6 minutes; cargo test -p trimtab-rent --test guests -- --ignored"]
fn small_files_are_unpacked_and_removed_no_slower_where_memory_is_lent() {
    let request = RunRequest { returns: 20, ..asked(&[Arm::Rental], &["untar"]) };
    let found = run(&request, &Silent).unwrap();
    let [idle, rental] = &found.arms[..] else { panic!("{found:?}") };
    let (was, is) = (&idle.workloads[0], &rental.workloads[0]);
    assert!(was.busy_ns > 0 && was.busy_ns <= was.nanoseconds + 20_000_000, "{was:?}");
    assert!(is.throughput_ratio >= 0.98, "{was:?} {is:?}");
    assert_eq!((rental.returns[0].count, rental.returns[0].failures), (20, 0));
}

#[test]
#[ignore = "builds a kernel and boots it 18 times: 15 minutes; cargo test -p trimtab-rent --test guests -- --ignored"]
fn a_plan_from_the_trace_of_an_idle_guest_says_what_one_with_lent_memory_does() {
    for policy in ["all", "workingset", "twice"] {
        let request = RunRequest {
            requests: 6_000,
            policy: policy.to_owned(),
            ..asked(&[Arm::Rental], &["rndrd:100", "rndrw:200"])
        };
        let found = run(&request, &Silent).unwrap();
        assert!(found.failures().is_empty(), "{policy}: {:?}", found.checks);
        let rental = found.arms.iter().find(|run| run.arm == Arm::Rental).unwrap();
        assert!(rental.workloads[1].hits > 3_000, "{policy}: {rental:?}");
        for load in &rental.workloads {
            let predicted = load.predicted.as_ref().unwrap();
            assert!(predicted.holds(load), "{policy}: {load:?}");
            assert!(policy != "all" || predicted.is_near_lru(), "{load:?}");
        }
    }
}
