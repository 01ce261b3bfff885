//! What a kernel must be given to swap its cold code, and the files of a plan for its build.

use include_dir::include_dir;
use trimtab_link::{Feature, GeneratedFiles, LAYOUT};

use crate::LinkerScript;

/// The swappable code that the kernel's linker script includes, in the build directory.
const CODE: &str = "include/generated/cold-order";
/// The same of read-only data.
const DATA: &str = "include/generated/cold-rodata";

/// Lets a kernel swap its cold code, which lies apart from the code that has an order.
pub static COLDSWAP: Feature = Feature {
    name: "coldswap",
    over: &[&LAYOUT],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/coldswap"),
    generated: &[CODE, DATA],
};

impl LinkerScript {
    /// The files that a kernel with [`COLDSWAP`] takes.
    pub fn generated(&self) -> GeneratedFiles {
        GeneratedFiles::new().with(CODE, self.code.as_str()).with(DATA, self.data.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_gets_its_driver_and_is_told_of_it() {
        let paths: Vec<String> = COLDSWAP.files().into_iter().map(|(path, _)| path).collect();
        let expected = [
            "include/linux/coldswap.h",
            "mm/coldswap.c",
            "mm/coldswap_debugfs.h",
            "mm/coldswap_policy.h",
            "mm/coldswap_selftest.h",
            "mm/coldswap_setup.h",
            "mm/coldswap_shootdown.h",
            "mm/coldswap_test.c",
            "scripts/coldswap-check",
        ];
        assert_eq!(paths, expected);
        assert_eq!(COLDSWAP.series(), ["6.12"]);
        let patch = COLDSWAP.patch("6.12").unwrap_or_default();
        for path in COLDSWAP.generated {
            assert!(patch.contains(path), "{path}");
        }
        for name in ["needs", "wants", "guest", "smp", "kunit", "debug"] {
            assert!(COLDSWAP.fragment(name).is_some(), "{name}");
        }
    }
}
