//! Kernels for which the compiler is given other flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use object::{Object, ObjectSection, SectionFlags, SectionKind, elf};
use sha2::{Digest, Sha256};

use super::link::{follow, jobs};
use super::{Build, KernelError};
use crate::arch::Platform;
use trimtab_lab::bytes::Bytes;
use trimtab_link::feature::GeneratedFiles;

/// A kernel that was compiled with other flags. It is in its build directory, as long as nothing else is
/// built there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlaggedKernel {
    /// The bootable image.
    pub image: PathBuf,
    /// The linked kernel, with symbols.
    pub vmlinux: PathBuf,
    /// SHA-256 of what is loaded of the kernel: without symbols, and without notes, which name the build.
    pub digest: String,
    /// Bytes of what is loaded from the file: code and data, without what is zero at first.
    pub bytes: u64,
}

impl Build<'_> {
    /// Compiles the kernel with `flags`, as `KCFLAGS=` gives them to kbuild: behind the kernel's own. Other
    /// flags change each object, so nothing of it is kept but the last; what belongs to the build itself,
    /// such as objtool, stays.
    ///
    /// # Errors
    /// If make fails, also because of the flags, or takes longer than `limit`; `memory` is the bytes of data
    /// that each of its processes may have.
    pub fn compile(
        &self,
        flags: &[String],
        limit: Duration,
        memory: u64,
        mut progress: impl FnMut(&str),
    ) -> Result<FlaggedKernel, KernelError> {
        self.begin_link()?;
        self.write_generated(&GeneratedFiles::new())?;
        let job = self
            .make_with("building the kernel", "build.log", &flags.join(" "))
            .arg(format!("-j{}", jobs()))
            .arg(self.isa.image())
            .limit(limit)
            .memory(memory);
        follow(job.spawn_lines()?, &mut progress)?;
        let image = self.directory.join(self.isa.image_folder()).join(self.isa.image());
        let vmlinux = self.directory.join("vmlinux");
        let (digest, bytes) = loaded(&vmlinux)?;
        if !image.is_file() {
            return Err(KernelError::Incomplete {
                what: format!("did not make {}", image.display()),
                log: self.directory.join("build.log"),
            });
        }
        self.end_link()?;
        Ok(FlaggedKernel { image, vmlinux, digest, bytes })
    }
}

/// SHA-256 and bytes of what is loaded of a kernel.
fn loaded(vmlinux: &Path) -> Result<(String, u64), KernelError> {
    let bytes = Bytes::open(vmlinux).map_err(super::error::file("read", vmlinux))?;
    digest(&bytes).map_err(|error| KernelError::Incomplete {
        what: format!("made a vmlinux that cannot be read ({error})"),
        log: vmlinux.to_owned(),
    })
}

fn digest(bytes: &[u8]) -> Result<(String, u64), object::Error> {
    let file = object::File::parse(bytes)?;
    let mut hash = Sha256::new();
    let mut size = 0;
    for section in file.sections() {
        let is_loaded = matches!(section.flags(), SectionFlags::Elf { sh_flags }
            if sh_flags & u64::from(elf::SHF_ALLOC) != 0);
        // Notes have the build's id: a hash of all of it, with symbols.
        if !is_loaded || section.kind() == SectionKind::Note {
            continue;
        }
        let name = section.name_bytes()?;
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(section.address().to_le_bytes());
        hash.update(section.size().to_le_bytes());
        let data = section.data()?;
        hash.update(data);
        size += data.len() as u64;
    }
    Ok((hex::encode(hash.finalize()), size))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A program of one function, linked with an id of its build.
    fn linked(folder: &Path, value: &str, id: &str) -> (String, u64) {
        let source = folder.join("one.c");
        std::fs::write(&source, format!("int f(void) {{ return {value}; }}\n")).unwrap();
        let output = folder.join("one");
        let done = Command::new("gcc")
            .args([
                "-O2",
                "-nostdlib",
                "-static",
                "-Wl,-e,f",
                &format!("-Wl,--build-id={id}"),
                "-o",
            ])
            .args([&output, &source])
            .status()
            .unwrap();
        assert!(done.success());
        digest(&std::fs::read(output).unwrap()).unwrap()
    }

    #[test]
    fn images_differ_by_what_is_loaded_and_not_by_the_id_of_a_build() {
        let folder = tempfile::tempdir().unwrap();
        let one = linked(folder.path(), "1", "0x1234");
        assert_eq!(one, linked(folder.path(), "1", "0x5678"));
        assert_ne!(one.0, linked(folder.path(), "2", "0x1234").0);
        assert!(one.1 > 0 && digest(b"no kernel").is_err());
    }
}
