//! The compilers and linkers that build a kernel.

use trimtab_lab::tools::{FoundTool, Llvm};

/// What compiles and links a kernel. The linker is lld in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Toolchain {
    /// LLVM for everything.
    Clang(Llvm),
    /// GNU's compiler and tools, LLVM's linker.
    Gcc {
        /// The compiler.
        gcc: FoundTool,
        /// The set whose lld links.
        llvm: Llvm,
    },
}

impl Toolchain {
    /// Name of the compiler.
    pub fn name(&self) -> &'static str {
        match self {
            Toolchain::Clang(_) => "clang",
            Toolchain::Gcc { .. } => "gcc",
        }
    }

    /// The variables that tell kbuild of it.
    pub(super) fn variables(&self) -> Vec<String> {
        match self {
            Toolchain::Clang(llvm) => vec![format!("LLVM={}", llvm.kbuild_value())],
            Toolchain::Gcc { gcc, llvm } => {
                let linker = format!("LD={}", llvm.lld().display());
                let gcc = gcc.path.display().to_string();
                match gcc.strip_suffix("-gcc") {
                    // A compiler for another machine has binutils of the same prefix beside it.
                    Some(prefix) => vec![format!("CROSS_COMPILE={prefix}-"), linker],
                    None => vec![format!("CC={gcc}"), linker],
                }
            }
        }
    }

    /// Its parts with their versions: what a build depends on.
    pub fn versions(&self) -> Vec<(String, String)> {
        match self {
            Toolchain::Clang(llvm) => vec![("llvm".to_owned(), llvm.version.to_string())],
            Toolchain::Gcc { gcc, llvm } => vec![
                (
                    "gcc".to_owned(),
                    gcc.version.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string),
                ),
                ("lld".to_owned(), llvm.version.to_string()),
            ],
        }
    }
}
