//! Memory that the device tree describes, in an arm64 guest: what nodes may say, and that it is lent from boot on,
//! returned, and lent again.
//!
//! All but the first build a kernel, so they are part of `make nightly`.

#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/kunit.rs"]
mod kunit;

use std::collections::BTreeMap;

use common::work;
use trimtab_lab::observe::Silent;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Isa;
use trimtab_rent::arm::Arm;
use trimtab_rent::feature::RENTAL;
use trimtab_rent::run::filesystem::{FileSystem, with_disk};
use trimtab_rent::run::guest::{BootOf, Guest, GuestRequest, Ran};
use trimtab_rent::run::{Basis, DiskProfile, Oracle};

/// Two devices' memory, one where the kernel finds room and one where this says, and nodes that are wrong. The
/// guest's memory begins at 0x40000000 and has 272 MiB or more; the guest's root is 128 MiB behind its beginning.
const TREE: &str = r#"
/ {
    reserved-memory {
        #address-cells = <2>;
        #size-cells = <2>;
        ranges;
        decoder_memory: decoder {
            compatible = "trimtab,rental-memory";
            size = <0 0x2000000>;
            alignment = <0 0x100000>;
            reusable;
            trimtab,holes = /bits/ 64 <0x100000 0x3000>;
        };
        camera_memory: camera@4c000000 {
            compatible = "trimtab,rental-memory";
            reg = <0 0x4c000000 0 0x1000000>;
            reusable;
        };
        overlap@4c800000 {
            compatible = "trimtab,rental-memory";
            reg = <0 0x4c800000 0 0x1000000>;
            reusable;
        };
        page@4e000200 {
            compatible = "trimtab,rental-memory";
            reg = <0 0x4e000200 0 0x200000>;
            reusable;
        };
        small@4e400000 {
            compatible = "trimtab,rental-memory";
            reg = <0 0x4e400000 0 0xff000>;
            reusable;
        };
        kept@4e600000 {
            compatible = "trimtab,rental-memory";
            reg = <0 0x4e600000 0 0x200000>;
        };
        hole@4e800000 {
            compatible = "trimtab,rental-memory";
            reg = <0 0x4e800000 0 0x200000>;
            reusable;
            trimtab,holes = /bits/ 64 <0x1ff000 0x2000>;
        };
    };
    rent-decoder {
        memory-region = <&decoder_memory>;
    };
    rent-camera {
        memory-region = <&camera_memory>;
    };
};
"#;

/// Memory of a heap.
const VIDEO: &str = r#"
/ {
    reserved-memory {
        video {
            compatible = "trimtab,rental-memory";
            size = <0 0x1800000>;
            alignment = <0 0x100000>;
            reusable;
        };
    };
};
"#;

/// Buffers of that heap beside a load that fills what is lent.
const HEAP: &str = "\
/bin/fileio --directory /disk --mib 100 --prepare
/bin/heap --heap video --count 300 --most-kib 6000 --held 5 -- \
  /bin/fileio --directory /disk --mib 100 --mode rndrw --requests 1000000";

/// What is lent, while devices are closed, while one is open, and after that.
const OPEN_AND_CLOSE: &str = "\
/bin/busybox mount -t debugfs none /sys/kernel/debug
regions() {
  /bin/busybox awk -v when=$1 '{ print \"trimtab: \" when, $1, $3 - $7 }' /sys/kernel/debug/rental/regions
}
regions left_at_boot
exec 3</dev/rent-decoder
regions left_when_open
exec 3<&-
regions left_when_closed
exec 4</dev/rent-camera
regions left_when_other_is_open
exec 4<&-
/bin/busybox umount /sys/kernel/debug
";

#[test]
fn the_binding_describes_what_the_kernel_reads() {
    let files = RENTAL.files();
    let text = |wanted: &str| {
        let found = files.iter().find(|(path, _)| path.ends_with(wanted)).unwrap();
        String::from_utf8(found.1.to_vec()).unwrap()
    };
    let binding = text("bindings/reserved-memory/trimtab,rental-memory.yaml");
    let source = text("mm/rental_reserved.c");
    for (word, in_binding) in [
        ("trimtab,rental-memory", "const: trimtab,rental-memory"),
        ("trimtab,holes", "\n  trimtab,holes:"),
        ("reusable", "\n  - reusable\n"),
    ] {
        assert!(source.contains(&format!("\"{word}\"")), "{word}");
        assert!(binding.contains(in_binding), "{word}");
        assert!(TREE.contains(word), "{word}");
    }
}

#[test]
#[ignore = "builds an arm64 kernel with its unit tests: 10 minutes; cargo test -p trimtab-rent --test device_tree -- --ignored"]
fn memory_of_the_device_tree_is_lent_from_boot_on_and_comes_back() {
    // Long: one kernel for all boots.
    let work = WorkDir::open(&work()).unwrap();
    let options = "--device-every 300 --devices decoder,camera --unscrubbed";
    let oracle = Oracle { operations: 20_000, seed: 1, keep_mib: 20, options }.command();
    let commands = format!("{OPEN_AND_CLOSE}{oracle}");
    // Errors are said by their names.
    let lines = ["CONFIG_SYMBOLIC_ERRNAME=y\n"]
        .into_iter()
        .chain(["kunit", "debug"].map(|name| RENTAL.fragment(name).unwrap()))
        .collect::<String>();
    let request = GuestRequest {
        basis: &Basis { isa: Isa::Aarch64, ..Basis::new(work.path().to_owned()) },
        lines: &lines,
        scripts: vec![
            ("none".to_owned(), "exit 0\n".to_owned()),
            ("tree".to_owned(), with_disk(FileSystem::Ext4Parts, &commands)),
            ("heap".to_owned(), with_disk(FileSystem::Ext4, HEAP)),
        ],
        files: BTreeMap::new(),
    };
    let guest = Guest::build(&work, &request, &Silent).unwrap();
    let boot = |arm, script, device_tree, arguments: &[&str]| -> (Ran, String) {
        let asked = BootOf {
            arm,
            devices: &[],
            script,
            // With the devices' memory: 272 MiB in all.
            normal_mib: 112 + 48,
            // The load's files, which are memory as well, leave room for half of them in the page cache.
            used_mib: if script == "heap" { 74 } else { 68 },
            disk: DiskProfile::named("ufs").unwrap(),
            cpus: 1,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            outlet: false,
            device_tree,
        };
        let ran = guest.run(&asked, &Silent).unwrap();
        let console = std::fs::read_to_string(&ran.console).unwrap();
        (ran, console)
    };
    let (_, tests) = boot(Arm::Idle, "none", None, &[]);
    for suite in ["rental", "rental_reserved"] {
        kunit::passed(&tests, suite);
    }

    let (ran, console) = boot(Arm::Rental, "tree", Some(TREE), &[]);
    // Pages that are not lent: the hole at least, and all of an open device.
    let (decoder, camera) = ("decoder", "camera@4c000000");
    for (when, of_decoder, of_camera) in [
        ("left_at_boot", 3, 0),
        ("left_when_open", 0x2000, 0),
        ("left_when_closed", 3, 0),
        ("left_when_other_is_open", 3, 0x1000),
    ] {
        assert_eq!(ran.number(when, decoder).unwrap(), of_decoder, "{when}: {console}");
        assert_eq!(ran.number(when, camera).unwrap(), of_camera, "{when}: {console}");
        assert_eq!(ran.said[when].len(), 2, "{when}: {console}");
    }
    for refused in [
        "overlap@4c800000 is not lent: -EEXIST",
        "page@4e000200 is not lent: it is not whole pages",
        "small@4e400000 is not lent: it is smaller than 1 MiB",
        "kept@4e600000 is not lent: it is not reusable",
        "hole@4e800000 is not lent: -ERANGE",
    ] {
        assert!(console.contains(&format!("rental: {refused}")), "{refused}: {console}");
    }
    assert_eq!(ran.number("verify", "errors").unwrap(), 0, "{console}");
    assert!(ran.number("counters", "hits").unwrap() > 1_000);
    assert!(ran.number("counters", "returns").unwrap() > 5);

    let tree = [TREE, VIDEO].concat();
    let named = "rental_heap.regions=video";
    for (tree, arguments) in
        [(tree.as_str(), &[named][..]), (TREE, &["reserve_mem=24M:1M:video", named])]
    {
        let (ran, console) = boot(Arm::Rental, "heap", Some(tree), arguments);
        let of = |name| ran.number("heap", name).unwrap();
        assert_eq!((of("errors"), of("count") + of("full")), (0, 300), "{console}");
        let counter = |name| ran.number("counters", name).unwrap();
        assert_eq!((counter("returns"), counter("rents")), (of("count"), of("count")));
        // The decoder's 32 MiB without its hole, the camera's 16 and the heap's 24 are all lent in the end.
        assert_eq!(counter("pages_rented"), ((32 + 16 + 24) << 8) - 3);
        assert!(counter("hits") > 1_000);
    }
}
