//! Fetches and unpacks the source of a Debian package, and prints where it is: for demonstrations, which are scripts.

use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(package), Some(folder)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("expected a package's name and a folder");
    };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    let (tree, _) = trimtab_lab::debian::source(&package, &folder)?;
    println!("{}", tree.display());
    Ok(())
}
