//! The linkers that take an order, and all differences between them.
//!
//! Another linker is added here, and to the tools of the lab if trimtab is to find it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use trimtab_program::{Fragment, Origin};

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
        /// The option, with the sign.
        option: &'static str,
        /// What else is said then.
        also: &'static [&'static str],
    },
    /// As [`OrderOption::File`] from this version on (its numbers), and before by the linker's own
    /// script, which gets the lines at the head of `.text`.
    FileOrScript {
        /// The option, with the sign.
        option: &'static str,
        /// The first version that knows it.
        since: &'static [u32],
    },
}

/// A name that is no linker's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no linker {name}, expected {}", names(Linker::ALL))]
pub struct LinkerError {
    /// The name.
    name: String,
}

fn names(linkers: impl IntoIterator<Item = Linker>) -> String {
    linkers.into_iter().map(Linker::name).collect::<Vec<_>>().join(" or ")
}

impl Linker {
    /// All of them.
    pub const ALL: [Linker; 4] = [Linker::Lld, Linker::Gold, Linker::Gnu, Linker::Kernel];

    /// Those that programs are linked with.
    pub fn of_programs() -> impl Iterator<Item = Linker> {
        Self::ALL.into_iter().filter(|linker| linker.program().is_some())
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
    pub fn summary(self) -> &'static str {
        match self {
            Linker::Lld => "LLVM's lld: `--symbol-ordering-file`",
            Linker::Gold => "gold: `--section-ordering-file`",
            Linker::Gnu => "GNU ld: a piece of linker script",
            Linker::Kernel => "The kernel's own linker script, with trimtab's patch",
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
                option: "--symbol-ordering-file=",
                // What it could not place is found out by looking at the result.
                also: &["--no-warn-symbol-ordering"],
            }),
            Linker::Gold => {
                Some(OrderOption::File { option: "--section-ordering-file=", also: &[] })
            }
            Linker::Gnu => Some(OrderOption::FileOrScript {
                option: "--section-ordering-file=",
                since: &[2, 43],
            }),
            Linker::Kernel => None,
        }
    }

    /// Whether it compiles itself where a program is optimised as it is linked, and can be made to
    /// write down blocks, to split functions by them, and to put together what a start needs.
    pub fn takes_blocks(self) -> bool {
        self == Linker::Lld
    }

    /// How its file is handed to the compiler driver or the build.
    pub fn how_to_use(self, file: &str) -> String {
        match self {
            Linker::Lld => format!(
                "compile with -ffunction-sections, link with -fuse-ld=lld -Wl,--symbol-ordering-file={file}"
            ),
            Linker::Gold => format!(
                "compile with -ffunction-sections, link with -fuse-ld=gold -Wl,--section-ordering-file={file}"
            ),
            Linker::Gnu => format!(
                "compile with -ffunction-sections, link with GNU ld >= 2.43 and -Wl,--section-ordering-file={file}; \
                 with an older GNU ld put the lines inside the braces at the head of .text in your linker script"
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
        assert_eq!(error, "there is no linker bfd, expected lld or gold or gnu or kernel");
        assert_eq!(names(Linker::of_programs()), "lld or gold or gnu");
    }
}
