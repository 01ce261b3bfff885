//! The two kernels: one configuration, built without SMP and with it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Isa;
use trimtab_machine::calls::{self, CALLS};
use trimtab_machine::kernel::{Build, BuildInputs, GeneratedFiles, KernelImage, Toolchain};

use super::{CostRequest, Files};

/// What a kernel must have for a module of ours.
const MODULES: &str = "CONFIG_MODULES=y";
/// What it must not have for it.
const NOT_FOR_MODULES: [&str; 2] = ["CONFIG_TRIM_UNUSED_KSYMS", "CONFIG_MODULE_SIG_FORCE"];

/// What builds kernels by a compiler.
pub(super) fn toolchain(compiler: &str) -> Result<Toolchain> {
    match compiler {
        "gcc" => Ok(Toolchain::Gcc { gcc: tools::find("gcc")?, llvm: tools::llvm()? }),
        "clang" => Ok(Toolchain::Clang(tools::llvm()?)),
        other => {
            let why = format!("kernels are built by gcc or clang here, and not by {other}");
            Err(Failure::usage(why).into())
        }
    }
}

/// What a kernel is called.
pub(super) fn name(has_smp: bool) -> &'static str {
    match has_smp {
        false => "the kernel without SMP",
        true => "the kernel with SMP",
    }
}

/// What the kernel without SMP or with it is built of.
pub(super) fn inputs(
    request: &CostRequest,
    toolchain: &Toolchain,
    has_smp: bool,
) -> Result<BuildInputs> {
    let config = (request.config.as_str(), Isa::X86_64);
    let source = request.source.as_deref();
    let inputs = BuildInputs::find(source, &[&CALLS], config, 1, toolchain.clone())?;
    Ok(inputs.with_lines(&lines(&request.config, has_smp, request.most_cpus)))
}

/// A kernel that was built.
pub(super) struct Built<'w> {
    build: Build<'w>,
    /// What was linked.
    pub(super) image: KernelImage,
    /// Its version.
    pub(super) version: String,
    /// The source as it was given.
    pub(super) origin: String,
}

impl<'w> Built<'w> {
    /// Builds it without SMP or with it, or finds it built.
    ///
    /// # Errors
    /// A configuration that cannot be so, and a build that fails.
    pub(super) fn get(
        work: &'w WorkDir,
        config: &str,
        inputs: &BuildInputs,
        has_smp: bool,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let (tree, build) = inputs.prepare(work, observe)?;
        check(config, has_smp, build.has("CONFIG_SMP=y")?)?;
        let stage = observe.stage(&format!("build {}", name(has_smp)));
        let image = build.link(&GeneratedFiles::new(), |line| stage.note_make(line))?;
        stage.ended(image.cached, "");
        Ok(Self { build, image, version: tree.release.version, origin: tree.origin })
    }

    /// Whether it takes a module that is no part of it.
    pub(super) fn takes_modules(&self) -> Result<bool> {
        for name in NOT_FOR_MODULES {
            if self.build.has(&format!("{name}=y"))? {
                return Ok(false);
            }
        }
        Ok(self.build.has(MODULES)?)
    }

    /// The module that times locks, built for it.
    ///
    /// # Errors
    /// A build that fails.
    pub(super) fn lock_module(&self, work: &WorkDir) -> Result<Vec<PathBuf>> {
        let source = work.get(&calls::LockModule)?.folder;
        Ok(self.build.modules(&[&source])?)
    }

    /// Reads what is compared of it.
    pub(super) fn read(&self) -> Result<Files> {
        let KernelImage { vmlinux, image, .. } = &self.image;
        let config = self.build.directory().join(".config");
        let cannot = |path: &std::path::Path| format!("cannot read {}", path.display());
        Ok(Files {
            vmlinux: Bytes::open(vmlinux).with_context(|| cannot(vmlinux))?,
            image: fs::metadata(image).with_context(|| cannot(image))?.len(),
            configuration: fs::read_to_string(&config).with_context(|| cannot(&config))?,
        })
    }
}

/// Lines that let a kernel take a module that is no part of it.
pub(super) fn lines_for_modules() -> String {
    let not = NOT_FOR_MODULES.map(|name| format!("# {name} is not set\n"));
    format!("{MODULES}\n{}", not.concat())
}

/// Lines that win over those of the configuration.
fn lines(config: &str, has_smp: bool, most_cpus: Option<u32>) -> String {
    let mut lines = String::new();
    if config == "tiny" {
        // It is compiled for size and with the smallest allocator, which nobody ships.
        lines.push_str(calls::lean());
    }
    if has_smp {
        lines.push_str("CONFIG_SMP=y\n");
        if let Some(most) = most_cpus {
            lines.push_str(&format!("CONFIG_NR_CPUS={most}\n"));
        }
    } else {
        lines.push_str("# CONFIG_SMP is not set\n");
    }
    lines
}

/// Fails where the kernel's configuration did not take what it was told.
fn check(config: &str, wanted: bool, found: bool) -> Result<()> {
    let why = match (wanted, found) {
        (false, true) => {
            "cannot do without SMP: another option selects CONFIG_SMP; turn that option off in a copy of it"
        }
        (true, false) => {
            "does not take CONFIG_SMP: something that it depends on is off; turn that on in a copy of it"
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("the configuration {config} {why}, and give that with --config"))
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_stays_as_it_is_is_said() {
        assert!(check("tiny", true, true).is_ok() && check("tiny", false, false).is_ok());
        let why = |wanted, found| check("my.config", wanted, found).unwrap_err().to_string();
        assert!(why(false, true).starts_with("the configuration my.config cannot do without SMP"));
        assert!(why(true, false).contains("does not take CONFIG_SMP"));
    }

    #[test]
    fn only_the_tiny_configuration_is_changed_beyond_smp() {
        assert_eq!(lines("my.config", false, Some(4)), "# CONFIG_SMP is not set\n");
        assert_eq!(lines("my.config", true, None), "CONFIG_SMP=y\n");
        assert_eq!(lines("lab", true, Some(4)), "CONFIG_SMP=y\nCONFIG_NR_CPUS=4\n");
        let tiny = lines("tiny", false, None);
        assert!(tiny.contains("CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y\n"), "{tiny}");
        assert!(tiny.ends_with("# CONFIG_SMP is not set\n"), "{tiny}");
    }

    #[test]
    fn other_compilers_are_refused() {
        let error = toolchain("tcc").unwrap_err().to_string();
        assert_eq!(error, "kernels are built by gcc or clang here, and not by tcc");
    }
}
