//! What a kernel needs for what this crate can plug into a guest.

use include_dir::include_dir;
use trimtab_link::feature::Feature;

/// For disks with an [image](crate::boot::Disk::Image).
pub static DISK: Feature = Feature {
    name: "disk",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/disk"),
    generated: &[],
};

/// For disks in the [guest's own memory](crate::boot::Disk::Null).
pub static NULL_BLOCK: Feature = Feature {
    name: "null-block",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/null-block"),
    generated: &[],
};
