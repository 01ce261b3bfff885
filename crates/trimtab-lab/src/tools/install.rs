//! How messages say what to install: each wording once.

/// The command, to be run as root, that installs Debian packages.
pub fn command(packages: &[impl AsRef<str>]) -> String {
    format!("apt-get install --no-install-recommends {}", joined(packages))
}

/// The hint to run a command that [`command`] or [`with_new_lists`] gave.
pub fn hint(command: &str) -> String {
    format!("as root, run: {command}")
}

/// The same as [`command`] on a machine that may never have read what packages there are.
pub fn with_new_lists(packages: &[impl AsRef<str>]) -> String {
    format!("apt-get update && {}", command(packages))
}

/// The same within a sentence.
pub fn advice(packages: &[impl AsRef<str>]) -> String {
    format!("install the package `{}`", joined(packages))
}

fn joined(packages: &[impl AsRef<str>]) -> String {
    packages.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(" ")
}
