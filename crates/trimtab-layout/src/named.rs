//! One of several ways to do a thing, by its name.

/// A way to do something that people choose by its name.
pub trait HasName {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does and where it comes from, in one line.
    fn description(&self) -> &'static str;
}

/// There is nothing of the name that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// The names that there are, in their order.
    pub known: Vec<&'static str>,
}

/// Of `all` the one of this name.
///
/// # Errors
/// That there is none.
pub fn named<T: HasName + ?Sized>(all: Vec<Box<T>>, name: &str) -> Result<Box<T>, UnknownName> {
    let known = all.iter().map(|one| one.name()).collect();
    all.into_iter().find(|one| one.name() == name).ok_or(UnknownName { known })
}
