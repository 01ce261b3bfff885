//! The kinds of machine that kernels are built for and booted on, and all that differs between them.

use object::elf;

/// Kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Arch {
    /// A 64-bit PC.
    #[default]
    X86_64,
    /// A 64-bit Arm machine.
    Arm64,
}

impl Arch {
    /// All kinds.
    pub const ALL: [Arch; 2] = [Arch::X86_64, Arch::Arm64];

    /// Its name for kbuild, `ARCH=`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Arm64 => "arm64",
        }
    }

    /// Its folder below `arch` in a kernel's source.
    pub(crate) fn kernel_folder(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86",
            Arch::Arm64 => "arm64",
        }
    }

    /// The kind of machine that a bootable image is for, told by the image's first bytes; at least
    /// 64 are needed. A compressed image is taken for arm64's: a PC's unpacks itself.
    pub fn of_image(start: &[u8]) -> Arch {
        // Documentation/arch/arm64/booting.rst of Linux: the magic number is at offset 56.
        let raw = start.get(56..60) == Some(b"ARM\x64".as_slice());
        let compressed = start.starts_with(&[0x1f, 0x8b]);
        let machine = elf::EM_AARCH64.to_le_bytes();
        let linked = start.starts_with(&elf::ELFMAG) && start.get(18..20) == Some(&machine);
        if raw || compressed || linked { Arch::Arm64 } else { Arch::X86_64 }
    }

    /// Name of its emulator in the [table of tools](crate::tools::ALL).
    pub fn qemu(self) -> &'static str {
        match self {
            Arch::X86_64 => "qemu",
            Arch::Arm64 => "qemu-arm64",
        }
    }

    /// Name in the [table of tools](crate::tools::ALL) of the compiler that makes programs for it.
    pub fn gcc(self) -> &'static str {
        match self {
            Arch::X86_64 => "gcc",
            Arch::Arm64 => "gcc-arm64",
        }
    }

    /// Whether a processor of this kind runs trimtab.
    pub fn is_here(self) -> bool {
        match self {
            Arch::X86_64 => cfg!(target_arch = "x86_64"),
            Arch::Arm64 => cfg!(target_arch = "aarch64"),
        }
    }

    /// Debian's name of it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Arch::X86_64 => "amd64",
            Arch::Arm64 => "arm64",
        }
    }

    /// The Debian package that holds its emulator.
    pub(crate) fn qemu_package(self) -> &'static str {
        match self {
            Arch::X86_64 => "qemu-system-x86",
            Arch::Arm64 => "qemu-system-arm",
        }
    }

    /// `e_machine` of its programs.
    pub(crate) fn elf_machine(self) -> u16 {
        match self {
            Arch::X86_64 => elf::EM_X86_64,
            Arch::Arm64 => elf::EM_AARCH64,
        }
    }

    /// Make's target for the compressed bootable image, which is also the image's name.
    pub(crate) fn image(self) -> &'static str {
        match self {
            Arch::X86_64 => "bzImage",
            // QEMU unpacks it, as boot loaders do.
            Arch::Arm64 => "Image.gz",
        }
    }

    /// The folder of a build directory in which make puts the image.
    pub(crate) fn image_folder(self) -> &'static str {
        match self {
            Arch::X86_64 => "arch/x86/boot",
            Arch::Arm64 => "arch/arm64/boot",
        }
    }

    /// Addresses from here on are the kernel's half of the address space.
    pub(crate) fn kernel_half(self) -> u64 {
        match self {
            Arch::X86_64 => 0xffff_8000_0000_0000,
            // What TTBR1 translates, with 48-bit addresses. The kernel's own code lies in there with
            // any size of addresses.
            Arch::Arm64 => 0xffff_0000_0000_0000,
        }
    }

    /// The device of the guest's first serial port, its console.
    pub(crate) fn console(self) -> &'static str {
        match self {
            Arch::X86_64 => "ttyS0",
            Arch::Arm64 => "ttyAMA0",
        }
    }

    /// The guest's device through which it sends its own trace out.
    pub(crate) fn outlet(self) -> &'static str {
        match self {
            Arch::X86_64 => "ttyS1",
            // QEMU's machine has one serial port; the other is a virtio console.
            Arch::Arm64 => "hvc0",
        }
    }

    /// The kernel argument that shows messages from before the console works.
    pub(crate) fn early_messages(self) -> &'static str {
        match self {
            Arch::X86_64 => "earlyprintk=serial",
            Arch::Arm64 => "earlycon",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    #[test]
    fn an_image_says_what_it_is_for() {
        let mut arm = [0u8; 64];
        arm[56..60].copy_from_slice(b"ARM\x64");
        let mut linked = [0u8; 64];
        linked[..4].copy_from_slice(&elf::ELFMAG);
        assert_eq!(Arch::of_image(&linked), Arch::X86_64);
        linked[18..20].copy_from_slice(&elf::EM_AARCH64.to_le_bytes());
        for image in [&arm[..], &linked, &[0x1f, 0x8b, 8]] {
            assert_eq!(Arch::of_image(image), Arch::Arm64);
        }
        for image in [&b"MZ\xea\x07"[..], b""] {
            assert_eq!(Arch::of_image(image), Arch::X86_64);
        }
    }

    #[test]
    fn the_table_of_tools_has_what_each_needs() {
        for arch in Arch::ALL {
            let qemu = tools::tool(arch.qemu()).map(|tool| tool.packages);
            assert_eq!(qemu, Some(&[arch.qemu_package()][..]));
            assert!(tools::tool(arch.gcc()).is_some());
        }
    }
}
