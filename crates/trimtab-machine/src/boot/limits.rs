//! How long boots may take: one constant for each kind of boot. A guest that takes longer hangs; none of these is part
//! of what a boot's result depends on.

use std::time::Duration;

/// Of anything but what is named below: a small guest on a busy machine keeps it.
pub const SMALL_GUEST: Duration = Duration::from_secs(120);
/// Where two tracers record the same boot: ftrace sends its whole trace by a serial port.
pub const TWO_TRACERS: Duration = Duration::from_secs(300);
/// Where kernels are compared by what somebody's workload costs in them; verbs let users say another.
pub const COMPARED: Duration = Duration::from_secs(300);
/// Where every block that runs is recorded: enough on a slow and busy machine.
pub const EVERY_BLOCK: Duration = Duration::from_secs(1800);
/// Where a workload with threads runs on an emulated guest of up to 16 CPUs.
pub const SEVERAL_CPUS: Duration = Duration::from_secs(1800);
/// Where programs read more than the memory holds, from a disk that takes its time.
pub const LITTLE_MEMORY: Duration = Duration::from_secs(3600);
/// Where each CPU has a clock of its own: an emulated one may need minutes for a virtual second.
pub const VIRTUAL_SECONDS: Duration = Duration::from_secs(3600);
/// Where a kernel lacks something, so that it may hang: it waits no longer for that. Where the kernel lacks nothing it
/// must be done by then, too.
pub const FAULTY_KERNEL: Duration = Duration::from_secs(900);
/// Where hundreds of thousands of random operations are verified, in a kernel that checks itself.
pub const VERIFIED_OPERATIONS: Duration = Duration::from_secs(4 * 3600);
/// Where calls, page tables, signals and ends of processes are tried millions of times.
pub const STRESS: Duration = Duration::from_secs(3 * 3600);
/// Of a boot that only shows whether KVM works: with it, a boot takes about a second.
pub(super) const KVM_PROBE: Duration = Duration::from_secs(10);
/// From the guest's last line on: a guest that has said everything has little left to do but reboot.
pub(super) const AFTER_LAST_LINE: Duration = Duration::from_secs(10);
/// For QEMU to end when it is told to: it writes the trace then.
pub(super) const ENDING: Duration = Duration::from_secs(10);
