use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::KernelError;
use trimtab_program::Isa;

const TINY: &str = include_str!("../../../../linux/config/tiny.config");
const TINY_X86_64: &str = include_str!("../../../../linux/config/tiny-x86_64.config");
const TINY_ARM64: &str = include_str!("../../../../linux/config/tiny-arm64.config");
const LAB: &str = include_str!("../../../../linux/config/lab.config");
const LAB_X86_64: &str = include_str!("../../../../linux/config/lab-x86_64.config");
const LAB_ARM64: &str = include_str!("../../../../linux/config/lab-arm64.config");
/// What a layout needs of any configuration.
const LAYOUT: &str = include_str!("../../../../linux/config/layout.config");
/// What swapping cold code needs of any configuration, and what it does not work with.
const SWAP: &str = include_str!("../../../../linux/config/coldswap.config");
/// Before it, what programs of the guest need of the configurations that trimtab carries.
const SWAP_GUEST: &str = include_str!("../../../../linux/config/coldswap-guest.config");
/// Behind it, for several CPUs.
const SWAP_SMP: &str = include_str!("../../../../linux/config/coldswap-smp.config");
/// What a kernel must take that is to swap cold code.
const SWAPS: &str = "CONFIG_COLDSWAP=y";
/// What lets functions be split. A kernel takes it where its compiler can do that.
const BLOCKS: &str = "CONFIG_BLOCK_ORDER=y";

/// Which kernel to build of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    name: String,
    isa: Isa,
    text: String,
    whole: bool,
    swaps: bool,
}

impl Configuration {
    /// `tiny` and `lab`, which trimtab carries for each architecture and lays over the kernel's
    /// `tinyconfig`; any other name is the path of a whole `.config`.
    ///
    /// # Errors
    /// [`KernelError::Configuration`] where such a file cannot be read.
    pub fn named(name: &str, isa: Isa) -> Result<Self, KernelError> {
        // What any machine has, then what is this one's.
        let parts = match (name, isa) {
            ("tiny", Isa::X86_64) => Some([TINY, TINY_X86_64]),
            ("tiny", Isa::Aarch64) => Some([TINY, TINY_ARM64]),
            ("lab", Isa::X86_64) => Some([LAB, LAB_X86_64]),
            ("lab", Isa::Aarch64) => Some([LAB, LAB_ARM64]),
            _ => None,
        };
        let (text, whole) = match parts {
            Some(parts) => (parts.concat(), false),
            None => {
                let path = PathBuf::from(name);
                let text = fs::read_to_string(&path)
                    .map_err(|source| KernelError::Configuration { path, source })?;
                (text, true)
            }
        };
        Ok(Configuration { name: name.to_owned(), isa, text, whole, swaps: false })
    }

    /// The same, less what cold code swapping does not work with, for a machine with so many CPUs.
    #[must_use]
    pub fn swapping(mut self, cpus: u32) -> Self {
        self.text.push('\n');
        if !self.whole {
            self.text.push_str(SWAP_GUEST);
        }
        self.text.push_str(SWAP);
        if cpus > 1 {
            self.text.push_str(SWAP_SMP);
        }
        self.swaps = true;
        self
    }

    /// Its name, or the path of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of machine that it is for.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Whether it starts from nothing, not from `tinyconfig`.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether it is for a kernel that swaps cold code.
    pub(super) fn swaps(&self) -> bool {
        self.swaps
    }

    /// Its lines, with those that a layout needs at the end, where they win.
    pub(super) fn text(&self) -> String {
        format!("{}\n{LAYOUT}{BLOCKS}\n", self.text)
    }

    /// Options asked for with `=y` that are not in `result`, a whole `.config`; first those without
    /// which there is no layout. A whole configuration may ask for what only another release has,
    /// so of such a one only the former are looked for.
    pub(super) fn refused(&self, result: &str) -> Vec<String> {
        let accepted: HashSet<&str> = result.lines().collect();
        let missing = |text| yes(text).into_iter().filter(|line| !accepted.contains(line.as_str()));
        let mut refused: Vec<String> = missing(LAYOUT).collect();
        if self.swaps {
            refused.extend(missing(SWAPS));
        }
        if !self.whole {
            refused.extend(missing(&self.text));
        }
        refused
    }

    /// Whether `option` is one without which there is no layout.
    pub(super) fn is_needed(option: &str) -> bool {
        LAYOUT.lines().any(|line| line == option) || option == SWAPS
    }

    /// Whether functions can be split by blocks in a build with this whole `.config`.
    pub(super) fn can_split(result: &str) -> bool {
        result.lines().any(|line| line == BLOCKS)
    }

    /// Where the resulting configuration of a build directory is.
    pub(super) fn file(build: &Path) -> PathBuf {
        build.join(".config")
    }
}

/// The lines `CONFIG_X=y` that hold in a configuration: of several lines on an option, the last.
fn yes(text: &str) -> Vec<String> {
    let mut values: BTreeMap<&str, bool> = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        let off = line.strip_prefix("# ").and_then(|rest| rest.strip_suffix(" is not set"));
        let (name, on) = match (off, line.split_once('=')) {
            (Some(name), _) => (name, false),
            (None, Some((name, value))) => (name, value == "y"),
            (None, None) => continue,
        };
        if name.starts_with("CONFIG_") {
            values.insert(name, on);
        }
    }
    values.into_iter().filter(|(_, on)| *on).map(|(name, _)| format!("{name}=y")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(text: &str, whole: bool) -> Configuration {
        let (name, text) = ("test".to_owned(), text.to_owned());
        Configuration { name, isa: Isa::X86_64, text, whole, swaps: false }
    }

    #[test]
    fn what_the_kernel_did_not_take_is_refused_and_what_was_taken_back_is_not() {
        let asked = "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_B is not set\nCONFIG_C=y\nCONFIG_D=7\n\
                     # a remark = y\n  CONFIG_E=y\nCONFIG_F=m\n";
        let result = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_FUNCTION_ORDER=y\n";
        assert_eq!(of(asked, false).refused(result), ["CONFIG_C=y", "CONFIG_E=y"]);
        assert_eq!(of(asked, true).refused(result), [""; 0]);
        let refused = of(asked, true).refused("CONFIG_A=y\n");
        assert_eq!(refused, ["CONFIG_FUNCTION_ORDER=y"]);
        assert!(Configuration::is_needed(&refused[0]));
        assert!(!Configuration::is_needed("CONFIG_A=y"));
    }

    #[test]
    fn what_a_layout_needs_comes_last_so_that_it_wins() {
        let text = of("# CONFIG_FUNCTION_ORDER is not set", true).text();
        assert_eq!(yes(&text), ["CONFIG_BLOCK_ORDER=y", "CONFIG_FUNCTION_ORDER=y"]);
    }

    #[test]
    fn a_kernel_that_is_to_swap_must_take_that_and_has_no_function_tracer() {
        let swapping = Configuration::named("tiny", Isa::X86_64).unwrap().swapping(1);
        let options = yes(&swapping.text());
        for off in ["CONFIG_FUNCTION_TRACER=y", "CONFIG_SMP=y"] {
            assert!(!options.contains(&off.to_owned()), "{off}");
        }
        let several = Configuration::named("tiny", Isa::X86_64).unwrap().swapping(2);
        assert!(yes(&several.text()).contains(&"CONFIG_SMP=y".to_owned()));
        let refused = swapping.refused("CONFIG_FUNCTION_ORDER=y\n");
        assert_eq!(refused[0], "CONFIG_COLDSWAP=y");
        assert!(Configuration::is_needed(&refused[0]));
    }

    #[test]
    fn a_name_is_one_of_ours_or_a_file() {
        for (name, isa) in ["tiny", "lab"].into_iter().flat_map(|n| Isa::KERNELS.map(|a| (n, a))) {
            let configuration = Configuration::named(name, isa).unwrap();
            let options = yes(&configuration.text());
            assert!(!configuration.is_whole() && options.contains(&"CONFIG_64BIT=y".to_owned()));
            let serial = "CONFIG_SERIAL_AMBA_PL011_CONSOLE=y".to_owned();
            assert_eq!(options.contains(&serial), isa == Isa::Aarch64, "{name} {isa:?}");
        }
        let error = Configuration::named("/none/.config", Isa::X86_64).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read the kernel configuration /none/.config: "),
            "{error}"
        );
        assert!(
            error.ends_with(
                "expected `tiny`, `lab`, or the path of a file such as a kernel's .config"
            )
        );
    }
}
