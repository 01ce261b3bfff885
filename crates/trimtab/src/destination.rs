//! Where results are to go, looked at before the work is done that they are the result of.

use std::path::Path;

use crate::output::is_standard_output;
use trimtab_lab::failure::Failure;

/// Fails where a file could not be written because its folder is not there, or it is a folder
/// itself.
///
/// # Errors
/// Which file, and why.
pub fn check<'a>(files: impl IntoIterator<Item = Option<&'a Path>>) -> Result<(), Failure> {
    for file in files.into_iter().flatten().filter(|file| !is_standard_output(file)) {
        let cannot = |why: String| Failure::new(format!("cannot write {}: {why}", file.display()));
        if file.is_dir() {
            return Err(cannot("it is a folder".to_owned()));
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(cannot(format!("there is no folder {}", folder.display())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_must_be_there_and_files_must_not_be_folders() {
        let root = tempfile::tempdir().unwrap();
        let said = |path: &Path| check([None, Some(path)]).map_err(|failure| failure.to_string());
        assert_eq!(said(&root.path().join("file")), Ok(()));
        assert_eq!(said(Path::new("file")), Ok(()));
        assert_eq!(said(Path::new("-")), Ok(()));
        assert!(said(root.path()).unwrap_err().ends_with(": it is a folder"));
        assert!(said(&root.path().join("no/file")).unwrap_err().contains(": there is no folder "));
    }
}
