//! The tools that verbs run or build with: which they are, where to find them, and what to install.

mod error;
pub mod install;
mod list;
mod llvm;
mod query;
pub(crate) mod table;
mod toolbox;
mod version;

pub use error::ToolError;
pub use list::{all, only_started, tool};
pub use llvm::Llvm;
pub use table::{Probe, Tool, packages};
pub use toolbox::{FoundTool, Toolbox};
pub use version::Version;

/// Finds a tool of [`all`] by its name, in the directories of `PATH` and the usual places.
///
/// # Errors
/// A [`ToolError`] that says what was found, what was expected and what to install.
pub fn find(name: &str) -> Result<FoundTool, ToolError> {
    let tool = tool(name).ok_or_else(|| ToolError::Unknown { name: name.to_owned() })?;
    Toolbox::from_env().find(tool)
}

/// Finds a linker, by its name among the tools: as [`find`], and `lld` in the set of [`llvm`].
///
/// # Errors
/// As [`find`] and [`llvm`].
pub fn linker(name: &str) -> Result<FoundTool, ToolError> {
    if name != "lld" {
        return find(name);
    }
    let llvm = llvm()?;
    Ok(FoundTool { path: llvm.lld(), version: Some(llvm.version) })
}

/// The set of LLVM tools that `LLVM` names, or the newest complete one, found like [`find`] does.
///
/// # Errors
/// A [`ToolError`] that says which part of which set is missing and what to install.
pub fn llvm() -> Result<Llvm, ToolError> {
    Toolbox::from_env().llvm()
}
