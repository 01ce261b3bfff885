//! Lists of block clusters for clang's `-fbasic-block-sections=list=`.

use std::fmt::Write;

/// Flags for clang beside the list of an object. Where cold blocks are gone, functions are so
/// short that their alignment would be one of the largest costs. An even address is what pointers to
/// members of C++ need; other code of x86-64 needs nothing.
pub const SPLIT_FLAGS: [&str; 3] = ["-falign-functions=1", "-mllvm", "-align-all-functions=1"];

/// The functions of one object whose blocks are to be placed in clusters.
///
/// An object needs a list of its own: clang refuses a list that names a function twice, and
/// static functions of several objects often have the same name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterList {
    text: String,
    functions: usize,
}

impl ClusterList {
    /// Adds a function: all of its names, and the numbers of the blocks that stay in its own
    /// section, the entry's first. All its other blocks go to `.text.split.NAME`.
    pub fn add(&mut self, names: &[&str], hot: &[u32]) {
        self.add_clusters(names, &[hot]);
    }

    /// Adds a function whose blocks are to be in several sections: the first cluster, which begins
    /// with the entry, is the function's own section, the next are `NAME.__part.1` and so on. All
    /// blocks that are in none go to `.text.split.NAME`. Nothing is added where the first cluster is
    /// empty; another that is empty is left out.
    pub fn add_clusters(&mut self, names: &[&str], clusters: &[&[u32]]) {
        if names.is_empty() || clusters.first().is_none_or(|first| first.is_empty()) {
            return;
        }
        if self.text.is_empty() {
            self.text.push_str("v1\n");
        }
        self.text.push_str("f ");
        // In this version of the format a slash would be part of a name, and the function be unknown.
        self.text.push_str(&names.join(" "));
        for cluster in clusters.iter().filter(|cluster| !cluster.is_empty()) {
            self.text.push_str("\nc");
            for id in *cluster {
                // Writing to a string does not fail.
                let _ = write!(self.text, " {id}");
            }
        }
        self.text.push('\n');
        self.functions += 1;
    }

    /// The list's text; empty where there is nothing to say.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many functions it names.
    pub fn functions(&self) -> usize {
        self.functions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_functions_and_their_hot_blocks() {
        let mut list = ClusterList::default();
        assert_eq!(list.text(), "");
        list.add(&["start", "alias"], &[0, 3, 2]);
        list.add(&[], &[0]);
        list.add(&["other"], &[0]);
        list.add_clusters(&["third"], &[&[0], &[], &[2, 1]]);
        list.add_clusters(&["none"], &[&[], &[1]]);
        assert_eq!(list.text(), "v1\nf start alias\nc 0 3 2\nf other\nc 0\nf third\nc 0\nc 2 1\n");
        assert_eq!(list.functions(), 3);
    }
}
