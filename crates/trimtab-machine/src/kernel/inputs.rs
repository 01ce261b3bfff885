//! What a kernel's build is made of: all that stands before anything is unpacked.

use std::path::Path;

use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_program::Isa;

use super::{Build, Configuration, Feature, KernelError, Source, Toolchain, Tree};

/// A source, the features that are put into it, what is built of it and by what. Source and configuration
/// have the same features, as both get them from here.
#[derive(Debug, Clone)]
pub struct BuildInputs {
    source: Source,
    features: Vec<&'static Feature>,
    configuration: Configuration,
    toolchain: Toolchain,
}

impl BuildInputs {
    /// Of a kernel with `features` for a machine with so many `cpus`: its source as [`Source::find`]
    /// finds it, its configuration as [`Configuration::named`] names it.
    ///
    /// # Errors
    /// A source or a configuration that is not there.
    pub fn find(
        source: Option<&Path>,
        features: &[&'static Feature],
        (config, isa): (&str, Isa),
        cpus: u32,
        toolchain: Toolchain,
    ) -> Result<Self, KernelError> {
        let named = Configuration::named(config, isa)?;
        let configuration = features.iter().fold(named, |so_far, one| so_far.with(one, cpus));
        let source = Source::find(source, features)?;
        Ok(Self { source, features: features.to_vec(), configuration, toolchain })
    }

    /// The same with more lines of configuration, which win over what was said before.
    #[must_use]
    pub fn with_lines(mut self, lines: &str) -> Self {
        self.configuration = self.configuration.with_lines(lines);
        self
    }

    /// The same of a source with a patch of the user's, which comes before those of the features.
    ///
    /// # Errors
    /// As [`Source::with_patch`].
    pub fn with_patch(self, patch: &Path) -> Result<Self, KernelError> {
        Ok(Self { source: self.source.with_patch(patch)?, ..self })
    }

    /// What compiles it.
    pub fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Unpacks and configures it, a stage each.
    ///
    /// # Errors
    /// As [`Source::unpack`] and [`Build::configure`].
    pub fn prepare<'work>(
        &self,
        work: &'work WorkDir,
        observe: &dyn Observe,
    ) -> Result<(Tree, Build<'work>), KernelError> {
        let stage = observe.stage("unpack and patch the kernel source");
        let tree = self.source.unpack(work, &self.features)?;
        stage.ended(tree.cached, &format!("Linux {}", tree.release.version));
        let stage = observe.stage("configure the kernel");
        let build = Build::configure(work, &tree, &self.configuration, &self.toolchain)?;
        let refused = match build.refused() {
            [] => String::new(),
            refused => format!("not available in this kernel: {}", refused.join(" ")),
        };
        stage.ended(build.cached(), &refused);
        Ok((tree, build))
    }
}
