//! A CPU that is never started, where QEMU would not give the others their turns.
//!
//! With `-icount`, QEMU before 8.1 lets one CPU run until the next timer is due and runs the timers
//! that are due in the turn of the next one, which is over with that. A CPU behind one that neither
//! halts, nor executes `pause`, nor sets a timer gets no further. Linux before 6.5 waits so in
//! `do_boot_cpu()` for a CPU that it starts: it calls `schedule()` in a loop while the timer is periodic,
//! and both wait for ever. Halted, a CPU between them takes the turn that is lost.

use super::{BootRequest, Clock, Hardware};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use trimtab_program::Isa;

/// The first QEMU that divides time among its CPUs.
const FAIR_QEMU: (u32, u32) = (8, 1);
/// The first Linux that executes `pause` while it waits for a CPU to start.
const YIELDING_LINUX: (u32, u32) = (6, 5);

impl BootRequest {
    /// Whether the machine gets one CPU more than is asked for, which the kernel is told to leave alone:
    /// without it, this kernel would not start its second CPU in this QEMU. Known of bzImages only.
    pub fn has_halted_cpu(&self) -> bool {
        let Hardware { cpus, clock, .. } = self.hardware;
        self.qemu.isa() == Isa::X86_64
            && cpus > 1
            && matches!(clock, Clock::Instructions { .. })
            && self.qemu.version() < FAIR_QEMU
            && release(&self.kernel).is_some_and(|release| release < YIELDING_LINUX)
    }
}

/// Arguments for a kernel with `cpus` CPUs of its own: the CPU behind the first is the one that is
/// never started, and no other is expected in its place.
pub(super) fn arguments(cpus: u32) -> [String; 2] {
    ["disable_cpu_apicid=1".to_owned(), format!("possible_cpus={cpus}")]
}

/// Major and minor number of the Linux in a bzImage, which its header points to (x86 boot protocol 2.00).
fn release(image: &Path) -> Option<(u32, u32)> {
    const HEADER: u64 = 0x202;
    let mut file = File::open(image).ok()?;
    let mut header = [0; 14];
    file.seek(SeekFrom::Start(HEADER)).ok()?;
    file.read_exact(&mut header).ok()?;
    let [b'H', b'd', b'r', b'S', .., low, high] = header else { return None };
    file.seek(SeekFrom::Start(0x200 + u64::from(u16::from_le_bytes([low, high])))).ok()?;
    let mut text = Vec::new();
    file.take(16).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
