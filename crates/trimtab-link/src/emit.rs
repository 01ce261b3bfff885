use std::fmt::Write;
use thiserror::Error;
use trimtab_program::{Fragment, Origin};

/// The linkers that can be told an order, each in its own form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Linker {
    /// All of them.
    pub const ALL: [Linker; 4] = [Linker::Lld, Linker::Gold, Linker::Gnu, Linker::Kernel];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Linker::Lld => "lld",
            Linker::Gold => "gold",
            Linker::Gnu => "gnu",
            Linker::Kernel => "kernel",
        }
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
                "copy {file} to include/generated/trimtab-order.lds in the build directory of a kernel with \
                 trimtab's patch (`trimtab order --print-patch`), and run make again"
            ),
        }
    }
}

/// Why an order cannot be written.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// A name that the format has no way to write.
    #[error(
        "the section name {name:?} cannot be written in an order for {linker}: it has characters that mean something else there"
    )]
    Name {
        /// The name.
        name: String,
        /// The linker.
        linker: &'static str,
    },
}

/// Writes the order of `fragments` for `linker`.
///
/// # Errors
/// [`EmitError::Name`] for names with white space or characters that are patterns.
pub fn emit<'a, 'data: 'a>(
    linker: Linker,
    fragments: impl IntoIterator<Item = &'a Fragment<'data>>,
) -> Result<String, EmitError> {
    let mut text = String::new();
    let comment = |line: &str| match linker {
        Linker::Lld | Linker::Gold => format!("# {line}\n"),
        Linker::Gnu | Linker::Kernel => format!("/* {line} */\n"),
    };
    text.push_str(&comment("Written by trimtab order. First line is placed first."));
    if linker == Linker::Gnu {
        text.push_str(".text : {\n");
    }
    for fragment in fragments {
        let section = fragment.section_name();
        let check = |name: &str| {
            let plain = |c: char| c.is_ascii_graphic() && !"*?[](){}\"\\;,".contains(c);
            match !name.is_empty() && name.chars().all(plain) {
                true => Ok(()),
                false => Err(EmitError::Name { name: name.to_owned(), linker: linker.name() }),
            }
        };
        check(&section)?;
        // Writing to a string cannot fail.
        let _ = match linker {
            Linker::Lld => writeln!(text, "{}", fragment.name),
            Linker::Gold => writeln!(text, "{section}"),
            Linker::Gnu | Linker::Kernel => {
                let file = match &fragment.origin {
                    Origin::InputSection { file, .. } if is_single_object(file) => {
                        check(file)?;
                        file.as_ref()
                    }
                    _ => "*",
                };
                writeln!(text, "{file}({section})")
            }
        };
    }
    if linker == Linker::Gnu {
        text.push_str("}\n");
    }
    Ok(text)
}

/// Whether the file is worth naming: a kernel built with indirect branch tracking is one object,
/// `vmlinux.o`, in which sections of the same name have already become one.
fn is_single_object(file: &str) -> bool {
    !file.ends_with("vmlinux.o")
}
