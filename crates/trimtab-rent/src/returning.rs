//! What is done with stored pages when a device's memory is returned.

use serde::{Deserialize, Serialize};

/// A way of returning. What it does comes on top of closing the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Returning {
    /// Nothing: the device overwrites what is there.
    #[default]
    Plain,
    /// What was stored is overwritten before the device has it.
    Scrub,
    /// Pages that were in use are moved to other memory before.
    Activate,
}

impl Returning {
    /// All of them.
    pub const ALL: [Returning; 3] = [Returning::Plain, Returning::Scrub, Returning::Activate];

    /// As people say it.
    pub fn name(self) -> &'static str {
        match self {
            Returning::Plain => "plain",
            Returning::Scrub => "scrub",
            Returning::Activate => "activate",
        }
    }

    /// What the stand-ins for devices must be told; moving pages ends after `deadline_us` microseconds.
    pub fn arguments(self, deadline_us: u32) -> Vec<String> {
        match self {
            Returning::Plain => Vec::new(),
            Returning::Scrub => vec!["rent_devices.scrub=now".to_owned()],
            Returning::Activate => vec![
                // As many as there are.
                format!("rent_devices.active_pages={}", u32::MAX),
                format!("rent_devices.active_us={deadline_us}"),
            ],
        }
    }
}
