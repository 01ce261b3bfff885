//! The user's build, done as often as it takes: as it is, with functions split, in an order.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use trimtab_native::program::wrap::{Compile, Link, Wrappers};
use trimtab_native::program::{Command, build};

use super::object::LinkedFile;
use trimtab_lab::failure::Failure;

/// The user's build.
pub(super) struct Builder {
    pub command: Command,
    pub wrappers: Wrappers,
    pub limit: Duration,
    pub log: PathBuf,
}

impl Builder {
    /// Builds without any order, and gives what was linked.
    pub fn first(&self) -> Result<Vec<Link>> {
        // What an earlier run made in its order, or with split functions, would be taken for up to
        // date.
        for link in self.wrappers.links()?.iter().filter(|link| link.order.is_some()) {
            remove(&link.output)?;
        }
        for compile in self.wrappers.compiles()?.iter().filter(|compile| compile.list.is_some()) {
            remove(&compile.output)?;
        }
        let remembered = self.wrappers.forget()?;
        self.build()?;
        Ok(self.wrappers.links_since(&remembered)?)
    }

    /// What clang compiled.
    pub fn compiles(&self) -> Result<Vec<Compile>> {
        Ok(self.wrappers.compiles()?)
    }

    /// Builds with functions split: each object of `lists` is compiled again, with its list.
    pub fn split(&self, built: &mut [LinkedFile], lists: &[(PathBuf, String)]) -> Result<()> {
        for (output, list) in lists {
            self.wrappers.set_list(output, list)?;
            remove(output)?;
        }
        for object in built.iter() {
            remove(&object.link.output)?;
            remove(object.place.path())?;
        }
        self.build()?;
        let compiles = self.wrappers.compiles()?;
        let again = |output: &Path| {
            compiles.iter().any(|compile| compile.output == output && compile.list.is_some())
        };
        if let Some((output, _)) = lists.iter().find(|(output, _)| !again(output)) {
            return Err(Failure::new(format!(
                "the second build did not compile {} again, so its functions were not split",
                output.display()
            ))
            .hint(
                "the object was removed, and the same build command run again: give one that then \
                 compiles it again, if need be from scratch (make clean all)",
            )
            .into());
        }
        let links = self.wrappers.links()?;
        for object in built {
            object.relinked(&links, false)?;
            object.keep("split")?;
        }
        Ok(())
    }

    /// Builds again, each object of `built` in its order.
    pub fn ordered<'a>(
        &self,
        built: &mut [LinkedFile],
        orders: impl Iterator<Item = &'a str>,
    ) -> Result<()> {
        for (object, order) in built.iter_mut().zip(orders) {
            self.wrappers.set_order(&object.link.output, order)?;
            object.write_order(order)?;
            // Builds do not know that an order is something that their result depends on.
            remove(&object.link.output)?;
            remove(object.place.path())?;
        }
        self.build()?;
        let links = self.wrappers.links()?;
        for object in built {
            object.relinked(&links, true)?;
            object.keep("after")?;
        }
        Ok(())
    }

    fn build(&self) -> Result<()> {
        build::build(&self.command, &self.wrappers, self.limit, &self.log)?;
        Ok(())
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
