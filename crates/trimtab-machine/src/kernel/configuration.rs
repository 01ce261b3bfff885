//! What to build of a kernel: lines of a `.config`.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::KernelError;
use trimtab_lab::bytes::Bytes;
use trimtab_link::feature::{Feature, with_all_below};
use trimtab_program::Isa;

const TINY: &str = include_str!("../../../../linux/config/tiny.config");
const TINY_X86_64: &str = include_str!("../../../../linux/config/tiny-x86_64.config");
const TINY_ARM64: &str = include_str!("../../../../linux/config/tiny-arm64.config");
const LAB: &str = include_str!("../../../../linux/config/lab.config");
const LAB_X86_64: &str = include_str!("../../../../linux/config/lab-x86_64.config");
const LAB_ARM64: &str = include_str!("../../../../linux/config/lab-arm64.config");

/// Which kernel to build of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    name: String,
    isa: Isa,
    /// All lines, those that win last.
    text: String,
    whole: bool,
    /// Lines that no build may refuse.
    needed: String,
    /// Lines that are asked for, and whose absence is not reported.
    wanted: String,
    /// Files that the build includes.
    generated: Vec<&'static str>,
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
                let text = Bytes::open(&path)
                    .and_then(|bytes| bytes.to_text().map(str::to_owned))
                    .map_err(|source| KernelError::Configuration { path, source })?;
                (text, true)
            }
        };
        Ok(Self::of(name, isa, text, whole))
    }

    fn of(name: &str, isa: Isa, text: String, whole: bool) -> Self {
        Configuration {
            name: name.to_owned(),
            isa,
            text,
            whole,
            needed: String::new(),
            wanted: String::new(),
            generated: Vec::new(),
        }
    }

    /// The same with a feature and all that it stands on, for a machine with so many CPUs. What a feature
    /// says of an option wins over what was said before.
    #[must_use]
    pub fn with(mut self, feature: &Feature, cpus: u32) -> Self {
        for feature in with_all_below(&[feature]) {
            let fragment = |name| feature.fragment(name).unwrap_or_default();
            if !self.whole {
                self.add(fragment("guest"));
            }
            self.add(fragment("needs"));
            self.needed.push_str(fragment("needs"));
            self.add(fragment("wants"));
            self.wanted.push_str(fragment("wants"));
            if cpus > 1 {
                self.add(fragment("smp"));
            }
            self.generated.extend(feature.generated);
        }
        self
    }

    /// The same with more lines, which win over what was said before.
    #[must_use]
    pub fn with_lines(mut self, lines: &str) -> Self {
        self.add(lines);
        self
    }

    fn add(&mut self, lines: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(lines);
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

    /// Its lines; of several on an option, the last wins.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Files that the kernel's build includes, in the build directory.
    pub(super) fn generated(&self) -> &[&'static str] {
        &self.generated
    }

    /// Options asked for with `=y` that are not in `result`, a whole `.config`; first those that are
    /// needed. A whole configuration may ask for what only another release has, so of such a one only
    /// the former are looked for.
    pub(super) fn refused(&self, result: &str) -> Vec<String> {
        let accepted: HashSet<&str> = result.lines().collect();
        let missing = |text| yes(text).into_iter().filter(|line| !accepted.contains(line.as_str()));
        let mut refused: Vec<String> = missing(&self.needed).collect();
        if !self.whole {
            let wanted = yes(&self.wanted);
            refused.extend(
                missing(&self.text).filter(|line| !self.is_needed(line) && !wanted.contains(line)),
            );
        }
        refused
    }

    /// Whether `option` is one that no build may refuse.
    pub(super) fn is_needed(&self, option: &str) -> bool {
        self.needed.lines().any(|line| line == option)
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
    use include_dir::{Dir, DirEntry, File};

    use super::*;

    static FIRST: Feature = Feature {
        name: "first",
        over: &[],
        folder: Dir::new(
            "",
            &[
                DirEntry::File(File::new("needs.config", b"CONFIG_ORDER=y\n")),
                DirEntry::File(File::new("wants.config", b"CONFIG_EXTRA=y\n")),
            ],
        ),
        generated: &["include/generated/order"],
    };
    static SECOND: Feature = Feature {
        name: "second",
        over: &[&FIRST],
        folder: Dir::new(
            "",
            &[
                DirEntry::File(File::new("guest.config", b"CONFIG_PROGRAMS=y\n")),
                DirEntry::File(File::new("needs.config", b"CONFIG_SWAPS=y\n")),
                DirEntry::File(File::new("wants.config", b"# CONFIG_SMP is not set\n")),
                DirEntry::File(File::new("smp.config", b"CONFIG_SMP=y\n")),
            ],
        ),
        generated: &["include/generated/cold"],
    };

    fn of(text: &str, whole: bool) -> Configuration {
        Configuration::of("test", Isa::X86_64, text.to_owned(), whole)
    }

    fn has(configuration: &Configuration, option: &str) -> bool {
        yes(configuration.text()).contains(&option.to_owned())
    }

    #[test]
    fn what_the_kernel_did_not_take_is_refused_and_what_was_taken_back_is_not() {
        let asked = "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_B is not set\nCONFIG_C=y\nCONFIG_D=7\n\
                     # a remark = y\n  CONFIG_E=y\nCONFIG_F=m\n";
        let result = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_ORDER=y\n";
        let with = |whole| of(asked, whole).with(&FIRST, 1);
        assert_eq!(with(false).refused(result), ["CONFIG_C=y", "CONFIG_E=y"]);
        assert_eq!(with(true).refused(result), [""; 0]);
        let refused = with(true).refused("CONFIG_A=y\n");
        assert_eq!(refused, ["CONFIG_ORDER=y"]);
        assert!(with(true).is_needed(&refused[0]));
        assert!(!with(true).is_needed("CONFIG_A=y"));
        assert_eq!(
            of(asked, true).refused("CONFIG_A=y\n"),
            [""; 0],
            "a stock kernel needs nothing"
        );
    }

    #[test]
    fn what_a_feature_needs_comes_last_so_that_it_wins() {
        let configuration = of("# CONFIG_ORDER is not set", true).with(&FIRST, 1);
        assert_eq!(yes(configuration.text()), ["CONFIG_EXTRA=y", "CONFIG_ORDER=y"]);
        let configuration = configuration.with_lines("# CONFIG_EXTRA is not set\n");
        assert_eq!(yes(configuration.text()), ["CONFIG_ORDER=y"]);
    }

    #[test]
    fn a_feature_brings_what_it_stands_on_and_what_several_cpus_and_its_guest_need() {
        let tiny = || Configuration::named("tiny", Isa::X86_64).unwrap();
        let one = tiny().with(&SECOND, 1);
        assert!(!has(&one, "CONFIG_SMP=y") && has(&one, "CONFIG_PROGRAMS=y"));
        assert!(has(&tiny().with(&SECOND, 2), "CONFIG_SMP=y"));
        assert!(!has(&of("", true).with(&SECOND, 2), "CONFIG_PROGRAMS=y"));
        assert_eq!(one.generated(), ["include/generated/order", "include/generated/cold"]);
        let refused = one.refused("CONFIG_ORDER=y\nCONFIG_PROGRAMS=y\n");
        assert_eq!(refused[0], "CONFIG_SWAPS=y");
        assert!(one.is_needed(&refused[0]) && one.is_needed("CONFIG_ORDER=y"));
        assert!(!refused.contains(&"CONFIG_ORDER=y".to_owned()));
    }

    #[test]
    fn a_name_is_one_of_ours_or_a_file() {
        for (name, isa) in ["tiny", "lab"].into_iter().flat_map(|n| Isa::KERNELS.map(|a| (n, a))) {
            let configuration = Configuration::named(name, isa).unwrap();
            let options = yes(configuration.text());
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
