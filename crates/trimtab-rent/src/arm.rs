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
}

impl Arm {
    /// All of them.
    pub const ALL: [Arm; 3] = [Arm::Idle, Arm::Rental, Arm::Cma];

    /// As the driver's parameter says it, and people.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Idle => "idle",
            Arm::Rental => "rental",
            Arm::Cma => "cma",
        }
    }
}

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
        let mut arguments: Vec<String> = match arm {
            Arm::Idle | Arm::Rental => {
                let reserve = |device: &DeviceMemory| {
                    format!("reserve_mem={}M:1M:{}", device.mib, device.name)
                };
                // Where the kernel has an area for contiguous allocation by default, nothing else may be there.
                all.iter().map(reserve).chain(["cma=0".to_owned()]).collect()
            }
            Arm::Cma => {
                let sizes: Vec<String> = all.iter().map(|device| device.mib.to_string()).collect();
                let sum: u32 = all.iter().map(|device| device.mib).sum();
                vec![format!("cma={sum}M"), format!("rent_devices.sizes={}", sizes.join(","))]
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
        let of = |arm| DeviceMemory::arguments(&DeviceMemory::OF_THE_PAPER, arm).join(" ");
        let reserved = "reserve_mem=72M:1M:decoder reserve_mem=33M:1M:camera cma=0";
        assert_eq!(of(Arm::Idle), format!("{reserved} rent_devices.arm=idle"));
        assert_eq!(of(Arm::Rental), format!("{reserved} rent_devices.arm=rental"));
        assert_eq!(of(Arm::Cma), "cma=105M rent_devices.sizes=72,33 rent_devices.arm=cma");
    }
}
