//! QEMU's command line for a boot.

use super::{Accelerator, BootRequest, Clock, Disk, Traces, turns};
use crate::arch::Platform;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use trimtab_program::Isa;

/// QEMU's name of the machine.
fn board(isa: Isa) -> &'static str {
    match isa {
        Isa::X86_64 => "pc",
        Isa::Aarch64 => "virt",
        Isa::Mips32 => "malta",
    }
}

/// QEMU's name of the processor that it imitates.
fn processor(isa: Isa) -> &'static str {
    match isa {
        Isa::X86_64 => "qemu64",
        Isa::Aarch64 => "cortex-a57",
        Isa::Mips32 => "24Kf",
    }
}

/// Where all files of a boot are.
pub(super) struct Files<'a> {
    pub(super) kernel: &'a Path,
    pub(super) initramfs: &'a Path,
    pub(super) plugin: Option<&'a Path>,
    pub(super) locks: Option<&'a Path>,
    pub(super) core: Option<&'a Path>,
    /// The machine's device tree, where it is not QEMU's.
    pub(super) device_tree: Option<&'a Path>,
    /// Images of disks, in their order.
    pub(super) images: Vec<&'a Path>,
    /// Where tracers write.
    pub(super) traces: &'a Traces,
}

/// QEMU's arguments for a boot with its files there.
pub(super) fn arguments(request: &BootRequest, files: &Files<'_>) -> Vec<OsString> {
    // Long: QEMU's arguments in their order.
    let traces = files.traces;
    let machine = &request.hardware;
    let isa = request.qemu.isa();
    let mut line = Line(Vec::new());
    // Nothing but what is asked for: each device costs boot time and changes what is traced.
    line.add("-no-user-config").add("-nodefaults").add("-no-reboot");
    line.add("-display").add("none").add("-nic").add("none");
    line.add("-machine").add(board(isa));
    match machine.accelerator {
        Accelerator::Tcg => {
            let processor = machine.processor.unwrap_or_else(|| processor(isa));
            line.add("-accel").add(tcg(request)).add("-cpu").add(processor)
        }
        Accelerator::Kvm => line.add("-accel").add("kvm").add("-cpu").add("host"),
    };
    let buffers = match request.tracers.ftrace {
        Some(ftrace) => ftrace.buffer_mib.saturating_mul(machine.cpus),
        None => 0,
    };
    line.add("-m").add(format!("{}M", machine.memory_mib.saturating_add(buffers)));
    let cpus = machine.cpus.saturating_add(request.has_halted_cpu().into());
    line.add("-smp").add(match isa {
        // The firmware's MP table, all that a kernel without ACPI has, names one CPU a socket.
        Isa::X86_64 => format!("{cpus},sockets={cpus}"),
        Isa::Aarch64 | Isa::Mips32 => cpus.to_string(),
    });
    let icount = match machine.clock {
        Clock::Real => None,
        Clock::Instructions { shift } => Some(format!("shift={shift},sleep=off")),
        Clock::Parallel { shift, quantum } => {
            Some(format!("shift={shift},sleep=off,quantum={quantum}"))
        }
    };
    if let Some(icount) = icount {
        // Random numbers, too, are the same each time.
        line.add("-seed").add(machine.seed.to_string());
        line.add("-icount").add(icount);
        line.add("-rtc").add("clock=vm,base=2026-01-01");
    }
    line.add("-kernel").add(files.kernel).add("-initrd").add(files.initramfs);
    if let Some(tree) = files.device_tree {
        line.add("-dtb").add(tree);
    }
    line.add("-append").add(kernel_arguments(request));
    line.add("-chardev").add("stdio,id=console,signal=off").add("-serial").add("chardev:console");
    if let Some(out) = &traces.out {
        let device = joined([OsStr::new("file,id=out,path="), &escaped(out)]);
        line.add("-chardev").add(device);
        match isa {
            Isa::X86_64 | Isa::Mips32 => line.add("-serial").add("chardev:out"),
            Isa::Aarch64 => {
                line.add("-device").add("virtio-serial-device");
                // Not a virtio console: Linux sends 16 bytes at once to that, and waits for each of them while it
                // holds its interrupt back, in which it then finds nothing to do. After 100,000 of these it
                // shuts the interrupt off: "nobody cared".
                line.add("-device").add("virtserialport,chardev=out")
            }
        };
    }
    let drives = request.disks.iter().filter_map(Disk::drive).zip(&files.images);
    for (number, (disk, image)) in drives.enumerate() {
        let id = format!("id=disk{number}");
        let drive = joined([
            OsStr::new("if=none,format=raw,"),
            OsStr::new(&id),
            OsStr::new(if disk.keeps { ",file=" } else { ",snapshot=on,file=" }),
            &escaped(image),
        ]);
        line.add("-drive").add(drive);
        line.add("-device").add(format!("{},drive=disk{number}", isa.disk()));
    }
    for device in &request.devices {
        line.add("-device").add(&device.arguments);
    }
    plugins(&mut line, request, files);
    line.0
}

/// Our plugins: the one that traces, the one that watches locks, and the one with the model of a core.
fn plugins(line: &mut Line, request: &BootRequest, files: &Files<'_>) {
    let traces = files.traces;
    if let Some(library) = files.plugin {
        let mut plugin = joined([
            OsStr::new("file="),
            &escaped(library),
            OsStr::new(",out="),
            &escaped(&traces.plugin),
            OsStr::new(&format!(",min={:x}", request.qemu.isa().kernel_half())),
        ]);
        if let Some(stream) = &traces.stream {
            plugin.push(joined([OsStr::new(",stream="), &escaped(stream)]));
        }
        line.add("-plugin").add(plugin);
    }
    if let (Some(library), Some(tracer), Some(out)) =
        (files.locks, &request.tracers.locks, &traces.locks)
    {
        let plugin = joined([
            OsStr::new("file="),
            &escaped(library),
            OsStr::new(",out="),
            &escaped(out),
            OsStr::new(",functions="),
            OsStr::new(&tracer.functions()),
        ]);
        line.add("-plugin").add(plugin);
    }
    if let (Some(library), Some(tracer), Some(out)) =
        (files.core, &request.tracers.core, &traces.core)
    {
        let min = request.qemu.isa().kernel_half();
        let plugin = joined([
            OsStr::new("file="),
            &escaped(library),
            OsStr::new(",out="),
            &escaped(out),
            OsStr::new(&format!(",min={min:x},{}", tracer.arguments)),
        ]);
        line.add("-plugin").add(plugin);
    }
}

/// How QEMU translates the guest's instructions. Linux changes its own code for the function tracer, while
/// other CPUs run it. QEMU's CPUs that run at the same time may still run what stood there before, a
/// breakpoint, when Linux no longer expects it, and then it panics: "Oops: int3". So one runs at a time.
fn tcg(request: &BootRequest) -> &'static str {
    let is_patched = request.tracers.ftrace.is_some() && request.hardware.cpus > 1;
    if is_patched { "tcg,thread=single" } else { "tcg" }
}

fn kernel_arguments(request: &BootRequest) -> String {
    let isa = request.qemu.isa();
    let mut words = vec![format!("console={}", isa.console())];
    // A panic or an oops ends the machine at once. Without nokaslr, addresses would mean nothing.
    words.extend(["panic=-1", "oops=panic", "nokaslr", "rdinit=/init"].map(String::from));
    if isa == Isa::X86_64 && request.hardware.clock == Clock::Real {
        // On a busy machine QEMU's timer may not tick in the time that Linux waits for it, and then it
        // panics: "IO-APIC + timer doesn't work!"
        words.push("no_timer_check".into());
    }
    if isa == Isa::X86_64 && matches!(request.hardware.clock, Clock::Parallel { .. }) {
        // CPUs' counters differ by a quantum at most. Linux would find that out, and fall back to a clock
        // that only ticks.
        words.push("tsc=reliable".into());
    }
    if request.same_addresses {
        words.push("norandmaps".into());
    }
    words.extend(request.disks.iter().flat_map(Disk::kernel_arguments));
    if !request.modules.is_empty() {
        words.push(format!("trimtab.modules={}", request.modules.join(",")));
    }
    if let Some(workload) = &request.workload {
        words.push(format!("trimtab.workload={workload}"));
    }
    if let Some(ftrace) = request.tracers.ftrace {
        words.extend(["ftrace=function".into(), format!("trace_buf_size={}M", ftrace.buffer_mib)]);
        if request.hardware.cpus > 1 {
            // The clocks of two CPUs may differ, and their events are merged by time.
            words.push("trace_clock=global".into());
        }
        words.push(format!("trimtab.ftrace={}", isa.outlet()));
    }
    if request.has_halted_cpu() {
        words.extend(turns::arguments(request.hardware.cpus));
    }
    words.extend(request.arguments.iter().cloned());
    words.join(" ")
}

struct Line(Vec<OsString>);

impl Line {
    fn add(&mut self, word: impl AsRef<OsStr>) -> &mut Self {
        self.0.push(word.as_ref().to_owned());
        self
    }
}

fn joined<'a>(parts: impl IntoIterator<Item = &'a OsStr>) -> OsString {
    parts.into_iter().collect()
}

/// An option of several parts, the last of which is a path.
pub(super) fn option(start: &str, path: &Path) -> OsString {
    joined([OsStr::new(start), &escaped(path)])
}

/// A path inside an option: a comma would end it, so QEMU wants two.
fn escaped(path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = Vec::new();
    for &byte in path.as_os_str().as_bytes() {
        bytes.push(byte);
        if byte == b',' {
            bytes.push(byte);
        }
    }
    OsString::from_vec(bytes)
}
