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
    /// It is part of a block of memory that is taken off line and put on line: memory hotplug.
    Offline,
    /// It is an area of guaranteed contiguous allocation, in another kernel: one that has that from a patch of the
    /// user's.
    Gcma,
}

impl Arm {
    /// All that our kernel has.
    pub const ALL: [Arm; 5] = [Arm::Idle, Arm::Rental, Arm::Cma, Arm::Movable, Arm::Offline];

    /// As the driver's parameter says it, and people.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Idle => "idle",
            Arm::Rental => "rental",
            Arm::Cma => "cma",
            Arm::Movable => "movable",
            Arm::Offline => "offline",
            Arm::Gcma => "gcma",
        }
    }

    /// What it needs of the kernel's configuration.
    pub fn lines(self) -> &'static str {
        match self {
            Arm::Offline => "CONFIG_MEMORY_HOTPLUG=y\nCONFIG_MEMORY_HOTREMOVE=y\n",
            Arm::Idle | Arm::Rental | Arm::Cma | Arm::Movable | Arm::Gcma => "",
        }
    }
}

/// A zone begins at one of the largest blocks of pages, of 4 MiB. At its end, which is that of memory, are the guest's root and what the
/// kernel takes first, as the descriptors of pages.
const ZONE_MIB: u32 = 24;

/// What can be taken off line at once, and where it may begin: of x86-64 with less than 64 GiB.
const BLOCK_MIB: u32 = 128;

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

    /// Memory of a machine that has `rest_mib` MiB for all else.
    pub fn machine_mib(all: &[DeviceMemory], arm: Arm, rest_mib: u32) -> u32 {
        match arm {
            Arm::Offline => rest_mib.next_multiple_of(BLOCK_MIB) + BLOCK_MIB,
            _ => rest_mib + Self::sum(all),
        }
    }

    fn sum(all: &[DeviceMemory]) -> u32 {
        all.iter().map(|device| device.mib).sum()
    }

    /// What the kernel must be told for them, where there are `rest_mib` MiB for all else.
    pub fn arguments(all: &[DeviceMemory], arm: Arm, rest_mib: u32) -> Vec<String> {
        let sum = Self::sum(all);
        let sizes: Vec<String> = all.iter().map(|device| device.mib.to_string()).collect();
        let sizes = format!("rent_devices.sizes={}", sizes.join(","));
        // Where the kernel has an area for contiguous allocation by default, nothing else may be there.
        let no_area = "cma=0".to_owned();
        let mut arguments: Vec<String> = match arm {
            Arm::Idle | Arm::Rental | Arm::Gcma => {
                let reserve = |device: &DeviceMemory| {
                    format!("reserve_mem={}M:1M:{}", device.mib, device.name)
                };
                all.iter().map(reserve).chain([no_area]).collect()
            }
            Arm::Cma => vec![format!("cma={sum}M"), sizes],
            Arm::Movable => vec![format!("movablecore={}M", sum + ZONE_MIB), no_area, sizes],
            // What is added later is no memory at first, and what is between is none.
            Arm::Offline => {
                let block = rest_mib.next_multiple_of(BLOCK_MIB);
                let later = Self::machine_mib(all, arm, rest_mib) - rest_mib;
                let none = format!("memmap={later}M%{rest_mib}M-1");
                vec![none, no_area, sizes, format!("rent_devices.block={block}")]
            }
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
        let of = |arm| DeviceMemory::arguments(&DeviceMemory::OF_THE_PAPER, arm, 200).join(" ");
        let reserved = "reserve_mem=72M:1M:decoder reserve_mem=33M:1M:camera cma=0";
        assert_eq!(of(Arm::Idle), format!("{reserved} rent_devices.arm=idle"));
        assert_eq!(of(Arm::Rental), format!("{reserved} rent_devices.arm=rental"));
        assert_eq!(of(Arm::Gcma), format!("{reserved} rent_devices.arm=gcma"));
        assert_eq!(of(Arm::Cma), "cma=105M rent_devices.sizes=72,33 rent_devices.arm=cma");
        let zone = "movablecore=129M cma=0 rent_devices.sizes=72,33";
        assert_eq!(of(Arm::Movable), format!("{zone} rent_devices.arm=movable"));
        let block = "memmap=184M%200M-1 cma=0 rent_devices.sizes=72,33 rent_devices.block=256";
        assert_eq!(of(Arm::Offline), format!("{block} rent_devices.arm=offline"));
        let machine = |arm| DeviceMemory::machine_mib(&DeviceMemory::OF_THE_PAPER, arm, 200);
        assert_eq!([Arm::Cma, Arm::Offline].map(machine), [305, 384]);
    }
}
