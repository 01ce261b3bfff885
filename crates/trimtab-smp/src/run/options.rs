//! The options of a tree that have to do with SMP.

use std::path::Path;

use trimtab_lab::bytes::Bytes;

use super::totals::Totals;
use crate::kconfig::options;
use crate::report::SmpOption;

/// The longest Kconfig file that is read.
const LONGEST: usize = 4 << 20;

/// Reads the Kconfig files at these paths: the options, by path and name. Files that cannot be read are
/// named in `totals`, which gets the counts.
pub(super) fn read(
    root: &Path,
    paths: &[String],
    depth: usize,
    totals: &mut Totals,
) -> Vec<SmpOption> {
    let mut all = Vec::new();
    for path in paths {
        let bytes = match Bytes::open(&root.join(path)) {
            Ok(bytes) => bytes,
            Err(error) => {
                totals.give_up(path, format!("cannot be read: {error}"));
                continue;
            }
        };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
        for (name, relation) in options(&text) {
            totals.add_option(path, depth, relation);
            all.push(SmpOption { name, path: path.clone(), relation });
        }
    }
    all
}
