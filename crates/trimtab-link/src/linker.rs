//! The linkers that take an order, and all differences between them.
//!
//! Another linker is added here, and to the tools of the lab if trimtab is to find it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use trimtab_program::{Fragment, Origin, any_of};

use crate::emit::{is_plain, is_single_object};
use crate::layout::KERNEL_ORDER;

/// The linkers that take an order, each in its own form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Linker {
    /// LLVM's lld: symbols, for `--symbol-ordering-file`.
    Lld,
    /// gold: section names, for `--section-ordering-file`.
    Gold,
    /// GNU ld 2.43 or newer: a linker script fragment for `--section-ordering-file`; older ones
    /// take the same lines within their script.
    Gnu,
    /// A kernel with trimtab's patch, linked by lld or GNU ld: input section descriptions that its
    /// linker script includes.
    Kernel,
}

/// How an order gets to a linker that programs are linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderOption {
    /// By an option with the file's name behind `=`, and others beside it.
    File {
        /// The option, without the sign.
        option: &'static str,
        /// What else is said then.
        also: &'static [&'static str],
    },
    /// As [`OrderOption::File`] from this version on (its numbers), and before by the linker's own
    /// script, which gets the lines at the head of `.text`.
    FileOrScript {
        /// The option, without the sign.
        option: &'static str,
        /// The first version that knows it.
        since: &'static [u32],
    },
}

/// What the lines of an order name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderedBy {
    /// Functions and data, by their symbols: each name that stands for a piece moves it.
    Symbols,
    /// Input sections, by their names.
    Sections,
}

/// A name that is no linker's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no linker {name}, expected {}", Linker::list(Linker::ALL))]
pub struct LinkerError {
    /// The name.
    name: String,
}

/// lld's option for a list of symbols.
const SYMBOL_ORDER: &str = "--symbol-ordering-file";
/// The option of gold and of GNU ld for what names sections.
const SECTION_ORDER: &str = "--section-ordering-file";
/// The first GNU ld that has it.
const GNU_SINCE: &[u32] = &[2, 43];

impl Linker {
    /// All of them.
    pub const ALL: [Linker; 4] = [Linker::Lld, Linker::Gold, Linker::Gnu, Linker::Kernel];

    /// Those that programs are linked with.
    pub fn of_programs() -> impl Iterator<Item = Linker> {
        Self::ALL.into_iter().filter(|linker| linker.program().is_some())
    }

    /// What links a program where nothing else is said.
    pub const DEFAULT: Linker = Linker::Lld;

    /// What follows an order where nothing else is said.
    pub fn default_for(is_kernel: bool) -> Linker {
        match is_kernel {
            true => Linker::Kernel,
            false => Self::DEFAULT,
        }
    }

    /// Their names, as a sentence lists what can be chosen: "lld, gold or gnu".
    pub fn list(linkers: impl IntoIterator<Item = Linker>) -> String {
        any_of(linkers.into_iter().map(Linker::name))
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Linker::Lld => "lld",
            Linker::Gold => "gold",
            Linker::Gnu => "gnu",
            Linker::Kernel => "kernel",
        }
    }

    /// What it is, in a line.
    pub fn summary(self) -> String {
        match self {
            Linker::Lld => format!("LLVM's lld: `{SYMBOL_ORDER}`"),
            Linker::Gold => format!("gold: `{SECTION_ORDER}`"),
            Linker::Gnu => "GNU ld: a piece of linker script".to_owned(),
            Linker::Kernel => "The kernel's own linker script, with trimtab's patch".to_owned(),
        }
    }

    /// The name by which compilers start it; none where it is a way to link kernels.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Linker::Lld => Some("ld.lld"),
            Linker::Gold => Some("ld.gold"),
            Linker::Gnu => Some("ld.bfd"),
            Linker::Kernel => None,
        }
    }

    /// What it is called among the tools of the lab.
    pub fn tool(self) -> Option<&'static str> {
        match self {
            Linker::Lld => Some("lld"),
            Linker::Gold => Some("gold"),
            Linker::Gnu => Some("gnu-ld"),
            Linker::Kernel => None,
        }
    }

    /// How it is given an order when it links a program.
    pub fn order_option(self) -> Option<OrderOption> {
        match self {
            Linker::Lld => Some(OrderOption::File {
                option: SYMBOL_ORDER,
                // What it could not place is found out by looking at the result.
                also: &["--no-warn-symbol-ordering"],
            }),
            Linker::Gold => Some(OrderOption::File { option: SECTION_ORDER, also: &[] }),
            Linker::Gnu => {
                Some(OrderOption::FileOrScript { option: SECTION_ORDER, since: GNU_SINCE })
            }
            Linker::Kernel => None,
        }
    }

    /// What the lines of its orders name.
    pub fn ordered_by(self) -> OrderedBy {
        match self {
            Linker::Lld => OrderedBy::Symbols,
            Linker::Gold | Linker::Gnu | Linker::Kernel => OrderedBy::Sections,
        }
    }

    /// Whether one order is for all output sections of code, each by itself. A piece of GNU ld's script is
    /// for one, and a kernel pins all but one.
    pub fn orders_all_sections(self) -> bool {
        match self {
            Linker::Lld | Linker::Gold => true,
            Linker::Gnu | Linker::Kernel => false,
        }
    }

    /// Whether it moves namesakes apart, where a map of the program says which file each is from. In a
    /// kernel that is linked from one object, sections of the same name have become one.
    pub fn tells_namesakes_apart(self) -> bool {
        match self {
            Linker::Gnu => true,
            Linker::Lld | Linker::Gold | Linker::Kernel => false,
        }
    }

    /// What to take in its place where gcc has left the code to link time; none where it loads gcc's plugin.
    pub fn instead_for_gcc_lto(self) -> Option<Linker> {
        match self {
            Linker::Lld => Some(Linker::Gnu),
            Linker::Gold | Linker::Gnu | Linker::Kernel => None,
        }
    }

    /// Whether it compiles itself where a program is optimised as it is linked, and can be made to
    /// write down blocks, to split functions by them, and to put together what a start needs.
    pub fn takes_blocks(self) -> bool {
        match self {
            Linker::Lld => true,
            Linker::Gold | Linker::Gnu | Linker::Kernel => false,
        }
    }

    /// How its file is handed to the compiler driver or the build.
    pub fn how_to_use(self, file: &str) -> String {
        let by_option = |linker: &str, option: &str| {
            format!("compile with -ffunction-sections, link with {linker} -Wl,{option}={file}")
        };
        match self {
            Linker::Lld => by_option("-fuse-ld=lld", SYMBOL_ORDER),
            Linker::Gold => by_option("-fuse-ld=gold", SECTION_ORDER),
            Linker::Gnu => format!(
                "{}; with an older GNU ld put the lines inside the braces at the head of .text in your linker \
                 script",
                by_option(&format!("GNU ld >= {} and", version(GNU_SINCE)), SECTION_ORDER)
            ),
            Linker::Kernel => format!(
                "copy {file} to {KERNEL_ORDER} in the build directory of a kernel with trimtab's patch \
                 (`trimtab order --print-patch`) and CONFIG_FUNCTION_ORDER=y, and run make again"
            ),
        }
    }

    /// What stands in an order before and behind the lines: a remark, and what makes them a script.
    pub(crate) fn frame(self, remark: &str) -> (String, &'static str) {
        match self {
            Linker::Lld | Linker::Gold => (format!("# {remark}\n"), ""),
            Linker::Gnu => (format!("/* {remark} */\n.text : {{\n"), "}\n"),
            Linker::Kernel => (format!("/* {remark} */\n"), ""),
        }
    }

    /// The line for one fragment.
    pub(crate) fn line(self, fragment: &Fragment<'_>) -> Line {
        let section = fragment.section_name();
        let file = match &fragment.origin {
            Origin::InputSection { file, .. } if is_single_object(file) && is_plain(file) => file,
            _ => "*",
        };
        let written = match self {
            Linker::Lld if fragment.functions().next().is_none() => return Line::None,
            Linker::Lld => symbol_line(fragment.name),
            // The line `.text` would mean the plain section of every file.
            Linker::Gold if section == ".text" => return Line::None,
            Linker::Gold => (!has(&section, "*?[")).then(|| section.into_owned()),
            Linker::Gnu if file == "*" && section == ".text" => return Line::None,
            Linker::Gnu | Linker::Kernel => pattern(&section).map(|name| format!("{file}({name})")),
        };
        written
            .filter(|text| !text.is_empty() && !text.contains(char::is_control))
            .map_or(Line::Unwritable, Line::Text)
    }
}

/// A version, as it is written.
fn version(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

/// What an order says of one fragment.
pub(crate) enum Line {
    /// The linker has no way to name it alone.
    None,
    /// Its name cannot be written.
    Unwritable,
    Text(String),
}

/// A line of lld's list of symbols: lld leaves out white space around it, takes what begins with a hash
/// for a comment, and knows symbols without their version.
pub(crate) fn symbol_line(name: &str) -> Option<String> {
    let name = match name.split_once('@') {
        Some((bare, _)) if !bare.is_empty() => bare,
        _ => name,
    };
    (name.trim() == name && !name.starts_with('#')).then(|| name.to_owned())
}

/// The name of a section as linker scripts take it: in quotation marks, where it has other characters than
/// those of names in C. Patterns mean more than themselves even there, and no linker has a way to write a
/// quotation mark.
fn pattern(section: &str) -> Option<String> {
    match is_plain(section) && !has(section, "#<>&'%|`^!@=~") {
        true => Some(section.to_owned()),
        false => (!has(section, "*?[\"\\")).then(|| format!("\"{section}\"")),
    }
}

fn has(text: &str, characters: &str) -> bool {
    text.contains(|c| characters.contains(c))
}

/// How the first line of a list of symbols or sections begins.
pub(crate) const HEAD: &str = "# Written by trimtab order.";

impl fmt::Display for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Linker {
    type Err = LinkerError;

    fn from_str(name: &str) -> Result<Self, LinkerError> {
        let found = Self::ALL.into_iter().find(|linker| linker.name() == name);
        found.ok_or_else(|| LinkerError { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linkers_are_known_by_their_names() {
        for linker in Linker::ALL {
            assert_eq!(linker.to_string().parse(), Ok(linker));
            let facts = [linker.program().is_some(), linker.order_option().is_some()];
            assert_eq!(facts, [linker.tool().is_some(); 2], "{linker}");
        }
        let error = "bfd".parse::<Linker>().unwrap_err().to_string();
        assert_eq!(error, "there is no linker bfd, expected lld, gold, gnu or kernel");
        assert_eq!(Linker::list(Linker::of_programs()), "lld, gold or gnu");
    }

    #[test]
    fn what_is_said_of_an_option_is_the_option() {
        for linker in Linker::of_programs() {
            let (OrderOption::File { option, .. } | OrderOption::FileOrScript { option, .. }) =
                linker.order_option().unwrap();
            let said = linker.how_to_use("app.order");
            assert!(said.contains(&format!("-Wl,{option}=app.order")), "{said}");
        }
        assert!(Linker::Gnu.how_to_use("x").contains("GNU ld >= 2.43 and -Wl,"));
    }

    #[test]
    fn a_default_is_for_what_it_links() {
        assert!(Linker::default_for(false).program().is_some());
        assert!(Linker::default_for(true).program().is_none());
    }
}
