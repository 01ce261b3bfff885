//! What a kernel must be given to have rental memory.

use include_dir::include_dir;
use trimtab_machine::kernel::{Feature, NULL_BLOCK};

/// Lets drivers lend memory of an idle device to the page cache, and have it back at once.
pub static RENTAL: Feature = Feature {
    name: "rental",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/rental"),
    generated: &[],
};

/// Lends what is not allocated of a DMA-BUF heap.
pub static RENTAL_HEAP: Feature = Feature {
    name: "rental-heap",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/rental-heap"),
    generated: &[],
};

/// Drivers that stand for a video decoder, a camera and a JPEG decoder with memory of their own.
pub static RENT_DEVICES: Feature = Feature {
    name: "rent-devices",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/rent-devices"),
    generated: &[],
};

/// The same kernel, which leaves out one of its hooks or checks when it is told so: for tests of what has to notice.
pub static RENTAL_MUTANTS: Feature = Feature {
    name: "rental-mutants",
    over: &[&RENTAL],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/rental-mutants"),
    generated: &[],
};

/// What a kernel must have from a patch of somebody else to be compared: guaranteed contiguous allocation.
pub static RENT_GCMA: Feature = Feature {
    name: "rent-gcma",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/rent-gcma"),
    generated: &[],
};

/// What kernels are given that experiments boot.
pub const OF_GUESTS: &[&Feature] = &[&RENTAL, &RENTAL_HEAP, &RENT_DEVICES, &NULL_BLOCK];

/// The same of those that have guaranteed contiguous allocation instead.
pub const OF_GCMA_GUESTS: &[&Feature] = &[&RENT_GCMA, &RENT_DEVICES, &NULL_BLOCK];

#[cfg(test)]
mod tests {
    use super::*;

    fn added(feature: &Feature) -> Vec<String> {
        let patch = feature.patch("6.12").unwrap();
        let lines = patch.lines().filter(|line| !line.starts_with("+++"));
        lines.filter_map(|line| line.strip_prefix('+')).map(str::to_owned).collect()
    }

    #[test]
    fn the_page_cache_has_each_hook() {
        assert_eq!(RENTAL.series(), ["6.12"]);
        let added = added(&RENTAL);
        for hook in [
            "rental_store(",
            "rental_take(",
            "rental_read(",
            "rental_overwrite(",
            "rental_present(",
            "rental_shadow(",
            "rental_forget(",
            "rental_exclude(",
            "rental_include(",
            "rental_dirtyable_pages(",
            "gfp, true)",
            "RENTAL_SHIFT",
        ] {
            assert!(added.iter().any(|line| line.contains(hook)), "{hook}");
        }
    }

    /// What a maintainer of mm/ has to read: the files of its own are only called.
    #[test]
    fn fewer_than_sixty_lines_are_added_to_the_kernels_own_memory_management() {
        let patch = RENTAL.patch("6.12").unwrap();
        let of_code = |file: &&str| file.starts_with("a/mm/") && file.contains(".c b/");
        let files = patch.split("diff --git ").skip(1).filter(of_code);
        let lines = files.flat_map(|file| file.lines().filter(|line| !line.starts_with("+++")));
        let added = lines.filter(|line| line.starts_with('+')).count();
        assert!((1..60).contains(&added), "{added}");
    }

    #[test]
    fn devices_are_drivers_of_their_own() {
        let paths: Vec<String> = RENT_DEVICES.files().into_iter().map(|(path, _)| path).collect();
        let names = ["rent_block.c", "rent_block.h", "rent_devices.c", "rent_kernel.h"];
        assert_eq!(paths, names.map(|name| format!("drivers/misc/{name}")));
        assert!(
            added(&RENT_DEVICES).iter().any(|line| line.contains("depends on (RENTAL || GCMA)"))
        );
    }
}
