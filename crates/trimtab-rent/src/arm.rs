//! What becomes of a device's memory while the device is idle.

use serde::{Deserialize, Serialize};

/// One of the ways that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// It is reserved, and nobody uses it. All others are compared with this.
    #[default]
    Idle,
    /// It is lent to the page cache.
    Rental,
    /// It is an area of the contiguous memory allocator: movable pages are there meanwhile.
    Cma,
    /// It is the zone of movable pages, as memory that can be unplugged is: the paper's REM-Simple.
    Movable,
}

impl Arm {
    /// All of them.
    pub const ALL: [Arm; 4] = [Arm::Idle, Arm::Rental, Arm::Cma, Arm::Movable];

    /// As the driver's parameter says it, and people.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Idle => "idle",
            Arm::Rental => "rental",
            Arm::Cma => "cma",
            Arm::Movable => "movable",
        }
    }
}

/// A zone begins at one of the largest blocks of pages, of 4 MiB. At its end, which is that of memory, are the guest's root and what the
/// kernel takes first, as the descriptors of pages.
const ZONE_MIB: u32 = 24;

/// Memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// The device's name.
    pub name: &'static str,
    /// Its size in MiB.
    pub mib: u32,
}

impl DeviceMemory {
    /// Those of the paper that were rented in its measurements: a video decoder's and a camera's.
    pub const OF_THE_PAPER: [DeviceMemory; 2] =
        [DeviceMemory { name: "decoder", mib: 72 }, DeviceMemory { name: "camera", mib: 33 }];

    /// What the kernel must be told for them.
    pub fn arguments(all: &[DeviceMemory], arm: Arm) -> Vec<String> {
        let sum: u32 = all.iter().map(|device| device.mib).sum();
        let sizes: Vec<String> = all.iter().map(|device| device.mib.to_string()).collect();
        let sizes = format!("rent_devices.sizes={}", sizes.join(","));
        // Where the kernel has an area for contiguous allocation by default, nothing else may be there.
        let no_area = "cma=0".to_owned();
        let mut arguments: Vec<String> = match arm {
            Arm::Idle | Arm::Rental => {
                let reserve = |device: &DeviceMemory| {
                    format!("reserve_mem={}M:1M:{}", device.mib, device.name)
                };
                all.iter().map(reserve).chain([no_area]).collect()
            }
            Arm::Cma => vec![format!("cma={sum}M"), sizes],
            Arm::Movable => vec![format!("movablecore={}M", sum + ZONE_MIB), no_area, sizes],
        };
        arguments.push(format!("rent_devices.arm={}", arm.name()));
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arm_has_as_much_memory_for_devices() {
        let of = |arm| DeviceMemory::arguments(&DeviceMemory::OF_THE_PAPER, arm).join(" ");
        let reserved = "reserve_mem=72M:1M:decoder reserve_mem=33M:1M:camera cma=0";
        assert_eq!(of(Arm::Idle), format!("{reserved} rent_devices.arm=idle"));
        assert_eq!(of(Arm::Rental), format!("{reserved} rent_devices.arm=rental"));
        assert_eq!(of(Arm::Cma), "cma=105M rent_devices.sizes=72,33 rent_devices.arm=cma");
        let zone = "movablecore=129M cma=0 rent_devices.sizes=72,33";
        assert_eq!(of(Arm::Movable), format!("{zone} rent_devices.arm=movable"));
    }
}
