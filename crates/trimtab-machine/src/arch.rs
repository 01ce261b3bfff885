//! The kinds of machine that kernels are built for and booted on, and all that differs between them.

use object::elf;

use trimtab_program::Isa;

/// What kernels, guests and QEMU call and need on each instruction set. Of one that is not among
/// [`Isa::KERNELS`], these are names only: nothing has been built or booted on it.
pub trait Platform: Copy {
    /// Its name for kbuild, `ARCH=`.
    fn kbuild(self) -> &'static str;

    /// Its folder below `arch` in a kernel's source.
    fn kernel_folder(self) -> &'static str;

    /// Name of its emulator in the [table of tools](trimtab_lab::tools::all).
    fn qemu(self) -> &'static str;

    /// Name in the [table of tools](trimtab_lab::tools::all) of the compiler that makes programs for it.
    fn gcc(self) -> &'static str;

    /// Debian's name of it.
    fn debian(self) -> &'static str;

    /// Make's target for the compressed bootable image, which is also the image's name.
    fn image(self) -> &'static str;

    /// The folder of a build directory in which make puts the image.
    fn image_folder(self) -> &'static str;

    /// Addresses from here on are the kernel's half of the address space.
    fn kernel_half(self) -> u64;

    /// The device of the guest's first serial port, its console.
    fn console(self) -> &'static str;

    /// QEMU's name of a disk of its machine.
    fn disk(self) -> &'static str;

    /// The guest's device through which it sends its own trace out.
    fn outlet(self) -> &'static str;

    /// The kernel argument that shows messages from before the console works.
    fn early_messages(self) -> &'static str;
}

impl Platform for Isa {
    fn kbuild(self) -> &'static str {
        match self {
            Isa::X86_64 => "x86_64",
            Isa::Aarch64 => "arm64",
            Isa::Mips32 => "mips",
        }
    }

    fn kernel_folder(self) -> &'static str {
        match self {
            Isa::X86_64 => "x86",
            Isa::Aarch64 => "arm64",
            Isa::Mips32 => "mips",
        }
    }

    fn qemu(self) -> &'static str {
        match self {
            Isa::X86_64 => "qemu",
            Isa::Aarch64 => "qemu-arm64",
            Isa::Mips32 => "qemu-mipsel",
        }
    }

    fn gcc(self) -> &'static str {
        match self {
            Isa::X86_64 => "gcc",
            Isa::Aarch64 => "gcc-arm64",
            Isa::Mips32 => "gcc-mipsel",
        }
    }

    fn debian(self) -> &'static str {
        match self {
            Isa::X86_64 => "amd64",
            Isa::Aarch64 => "arm64",
            Isa::Mips32 => "mipsel",
        }
    }

    fn image(self) -> &'static str {
        match self {
            Isa::X86_64 => "bzImage",
            // QEMU unpacks it, as boot loaders do.
            Isa::Aarch64 => "Image.gz",
            Isa::Mips32 => "vmlinuz",
        }
    }

    fn image_folder(self) -> &'static str {
        match self {
            Isa::X86_64 => "arch/x86/boot",
            Isa::Aarch64 => "arch/arm64/boot",
            Isa::Mips32 => "",
        }
    }

    fn kernel_half(self) -> u64 {
        match self {
            Isa::X86_64 => 0xffff_8000_0000_0000,
            // What TTBR1 translates, with 48-bit addresses. The kernel's own code lies in there with
            // any size of addresses.
            Isa::Aarch64 => 0xffff_0000_0000_0000,
            // kseg0.
            Isa::Mips32 => 0x8000_0000,
        }
    }

    fn console(self) -> &'static str {
        match self {
            Isa::X86_64 | Isa::Mips32 => "ttyS0",
            Isa::Aarch64 => "ttyAMA0",
        }
    }

    fn disk(self) -> &'static str {
        match self {
            Isa::X86_64 | Isa::Mips32 => "virtio-blk-pci",
            // Its machine has virtio devices beside the bus.
            Isa::Aarch64 => "virtio-blk-device",
        }
    }

    fn outlet(self) -> &'static str {
        match self {
            Isa::X86_64 | Isa::Mips32 => "ttyS1",
            // QEMU's machine has one serial port; the other is a virtio port. The first is kept for a console.
            Isa::Aarch64 => "vport0p1",
        }
    }

    fn early_messages(self) -> &'static str {
        match self {
            Isa::X86_64 => "earlyprintk=serial",
            Isa::Mips32 => "earlyprintk",
            Isa::Aarch64 => "earlycon",
        }
    }
}

/// The kind of machine that a bootable image is for, recognised by the image's first bytes; at least
/// 64 are needed. A compressed image is taken for arm64's: a PC's unpacks itself.
pub fn isa_of_image(start: &[u8]) -> Isa {
    // Documentation/arch/arm64/booting.rst of Linux: the magic number is at offset 56.
    let raw = start.get(56..60) == Some(b"ARM\x64".as_slice());
    let compressed = start.starts_with(&[0x1f, 0x8b]);
    let machine = Isa::Aarch64.elf_machine().to_le_bytes();
    let linked = start.starts_with(&elf::ELFMAG) && start.get(18..20) == Some(&machine);
    if raw || compressed || linked { Isa::Aarch64 } else { Isa::X86_64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_lab::tools;

    #[test]
    fn an_image_says_what_it_is_for() {
        let mut arm = [0u8; 64];
        arm[56..60].copy_from_slice(b"ARM\x64");
        let mut linked = [0u8; 64];
        linked[..4].copy_from_slice(&elf::ELFMAG);
        assert_eq!(isa_of_image(&linked), Isa::X86_64);
        linked[18..20].copy_from_slice(&Isa::Aarch64.elf_machine().to_le_bytes());
        for image in [&arm[..], &linked, &[0x1f, 0x8b, 8]] {
            assert_eq!(isa_of_image(image), Isa::Aarch64);
        }
        for image in [&b"MZ\xea\x07"[..], b""] {
            assert_eq!(isa_of_image(image), Isa::X86_64);
        }
    }

    #[test]
    fn the_table_of_tools_has_what_each_needs() {
        for arch in Isa::KERNELS {
            for tool in [arch.qemu(), arch.gcc()] {
                assert!(tools::tool(tool).is_some(), "{tool}");
            }
        }
    }
}
