//! The ground of every experiment: processes, tools, work directories, the store, what observes
//! jobs, what executes them and how they fail. Knows neither kernels nor capabilities.

pub mod bytes;
pub mod cache;
pub mod compile;
pub mod debian;
pub mod failure;
pub mod interpose;
pub mod interrupt;
pub mod observe;
pub mod place;
pub mod process;
pub mod script;
pub mod shell;
pub mod store;
pub mod threads;
pub mod tools;
pub mod workdir;
pub mod workers;
pub mod workload;

use std::error::Error;

use crate::failure::hint_of;
use crate::store::StoreError;
use crate::tools::ToolError;
use crate::workdir::WorkError;

/// What errors of this crate know, less [`failure::Failure`], which may know more than one thing.
pub fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    hint_of::<ToolError>(error)
        .or_else(|| hint_of::<WorkError>(error))
        .or_else(|| hint_of::<StoreError>(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn an_error_of_this_crate_is_asked_for_its_hint() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = WorkError::Io { action: "write", path: "x".into(), source: full };
        assert!(hint(&error).is_some_and(|hint| hint.starts_with("free some space")));
        assert_eq!(hint(&std::fmt::Error), None);
        assert_eq!(hint(&Failure::new("no").hint("do")), None);
    }
}
