//! Disks and other devices of a guest.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// A disk of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disk {
    /// An image, as a virtio disk, `/dev/vda` and so on. Its time is the host's: where instructions are the
    /// guest's clock, no two boots wait alike for it. The kernel needs [`DISK`](crate::kernel::DISK).
    Image {
        /// The file, byte for byte what the guest sees.
        path: PathBuf,
        /// Whether what the guest writes stays. Otherwise it is gone after the boot, and the next one sees
        /// the same disk.
        keeps: bool,
    },
    /// A disk in the guest's own memory, `/dev/nullb0`, whose time is the guest's, so that boots repeat. The
    /// kernel needs [`NULL_BLOCK`](crate::kernel::NULL_BLOCK). One of them at most.
    Null(NullBlock),
}

/// A `null_blk` device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NullBlock {
    /// Its size in GiB, at least 1. Memory is taken only for what is written.
    pub gib: u32,
    /// How long it takes for each request: a timer of the guest says when that is over.
    pub latency: Duration,
    /// How many MiB it reads or writes in a second, at least 1. Without it a large request takes as long as a small one.
    /// What is discarded counts as well: a request for more than `queue/max_hw_sectors_kb` never ends, so have
    /// `queue/discard_max_bytes` no larger.
    pub mib_per_second: Option<u32>,
}

impl NullBlock {
    /// How many bytes `null_blk` allows for a MiB a second, fifty times a second.
    const TURN: u32 = (1 << 20) / 50;

    /// The largest request of a disk that reads and writes `mib_per_second`, in KiB. `null_blk` begins no request for more
    /// than is left of a turn's bytes, and what is left is lost: so a whole number of these is all of a turn, nearly.
    fn request_kib(mib_per_second: u32) -> u32 {
        const MOST: u32 = 128;
        const PAGE: u32 = 4;
        let turn = (Self::TURN * mib_per_second) >> 10;
        turn / turn.div_ceil(MOST) / PAGE * PAGE
    }
}

/// Something else that is plugged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// What QEMU's `-device` takes: `virtio-rng-pci`.
    pub arguments: String,
    /// What it is there for. Each device costs boot time and changes what is traced.
    pub reason: &'static str,
}

/// A disk that QEMU has to offer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drive<'a> {
    pub(super) path: &'a Path,
    pub(super) keeps: bool,
}

impl Disk {
    /// The file behind it, if there is one.
    pub(super) fn image(&self) -> Option<&Path> {
        self.drive().map(|drive| drive.path)
    }

    pub(super) fn drive(&self) -> Option<Drive<'_>> {
        match self {
            Disk::Image { path, keeps } => Some(Drive { path, keeps: *keeps }),
            Disk::Null(_) => None,
        }
    }

    /// The kernel's argument for it.
    pub(super) fn kernel_arguments(&self) -> Vec<String> {
        let Disk::Null(null) = self else { return Vec::new() };
        // 2: a timer completes a request.
        let values = [
            ("nr_devices", 1),
            ("memory_backed", 1),
            // What a file system discards is free memory again.
            ("discard", 1),
            ("gb", u128::from(null.gib)),
            ("irqmode", 2),
            ("completion_nsec", null.latency.as_nanos()),
        ];
        let speed = null.mib_per_second.into_iter().flat_map(|speed| {
            [("mbps", speed.into()), ("max_sectors", u128::from(NullBlock::request_kib(speed)) * 2)]
        });
        let values = values.into_iter().chain(speed);
        values.map(|(name, value)| format!("null_blk.{name}={value}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_block_device_is_as_fast_as_it_is_said_to_be() {
        let latency = Duration::from_micros(300);
        let disk = |mib_per_second| Disk::Null(NullBlock { gib: 2, latency, mib_per_second });
        let of = |disk: Disk| disk.kernel_arguments().join(" ");
        let plain = of(disk(None));
        assert!(plain.ends_with("null_blk.irqmode=2 null_blk.completion_nsec=300000"), "{plain}");
        let slow = of(disk(Some(10)));
        assert_eq!(slow, format!("{plain} null_blk.mbps=10 null_blk.max_sectors=200"));
    }

    #[test]
    fn large_requests_take_nearly_all_that_a_null_block_device_may_do() {
        for speed in 1..2_000 {
            let turn = (NullBlock::TURN * speed) >> 10;
            let request = NullBlock::request_kib(speed);
            assert!((4..=128).contains(&request), "{speed}: {request}");
            let lost = turn % request;
            assert!(lost < 4 * turn.div_ceil(128), "{speed}: {lost} of {turn}");
        }
    }
}
