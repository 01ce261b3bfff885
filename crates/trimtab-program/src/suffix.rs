//! What compilers put behind the name of a function that they cloned, split or made local.
//!
//! The numbers and hashes in it change with every edit of a source file: `work.llvm.8234` of one build is
//! `work.llvm.511` of the next.

use crate::program::{FunctionId, Program};

/// Suffixes that say that the name was local to a file, which tells nothing of what the function does.
const SCOPE: [&str; 4] = ["llvm", "lto_priv", "lto_order", "__uniq"];
/// Suffixes of a function that was changed or is a part of another.
const CLONE: [&str; 7] = ["isra", "constprop", "part", "cold", "clone", "specialized", "warm"];

/// A name without its compiler's suffixes, and what these say: `work`, `isra.cold` for
/// `work.isra.0.cold`. A dot that begins no such suffix is part of the name.
pub fn without_suffix(name: &str) -> (&str, String) {
    // A dot at the start is part of the name.
    let dots = name.char_indices().filter(|(at, c)| *c == '.' && *at > 0).map(|(at, _)| at);
    for at in dots {
        if let Some(kinds) = kinds(&name[at + 1..]) {
            return (&name[..at], kinds);
        }
    }
    (name, String::new())
}

/// The kinds of suffixes, where `text` consists of nothing else.
fn kinds(text: &str) -> Option<String> {
    let mut kinds: Vec<&str> = Vec::new();
    for word in text.split('.') {
        let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if CLONE.contains(&word) {
            kinds.push(word);
        } else if !(SCOPE.contains(&word) || number && word.as_ptr() != text.as_ptr()) {
            return None;
        }
    }
    Some(kinds.join("."))
}

impl Program<'_> {
    /// The one function that `name` means when compilers' suffixes are left out of account: the only one
    /// with the same name and the same kinds of suffixes, else the only one with the same name. `None`
    /// where there is none, or several.
    pub fn lookup_without_suffix(&self, name: &str) -> Option<FunctionId> {
        let (stem, kinds) = without_suffix(name);
        let start = format!("{stem}.");
        let clones = self.names_beginning(&start);
        let found: Vec<(FunctionId, String)> = self
            .lookup(stem)
            .into_iter()
            .map(|id| (id, String::new()))
            .chain(clones.filter_map(|(id, other)| {
                let (other, kinds) = without_suffix(other);
                (other == stem).then_some((id, kinds))
            }))
            .collect();
        let only = |wanted: &dyn Fn(&str) -> bool| {
            let mut ids = found.iter().filter(|(_, kinds)| wanted(kinds)).map(|(id, _)| *id);
            let first = ids.next()?;
            Some(ids.all(|id| id == first).then_some(first))
        };
        // The cold part of a function is another piece than the rest of it.
        let cold = |kinds: &str| kinds.contains("cold");
        only(&|other| other == kinds)
            .or_else(|| only(&|other| cold(other) == cold(&kinds)))
            .or_else(|| only(&|_| true))
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_fixture::Elf;

    #[test]
    fn suffixes_are_told_from_dots_in_names() {
        for (name, stem, kinds) in [
            ("work", "work", ""),
            ("work.llvm.1234", "work", ""),
            ("work.lto_priv.0", "work", ""),
            ("work.lto_priv.0.lto_priv.1", "work", ""),
            ("work.isra.0", "work", "isra"),
            ("work.isra.0.cold", "work", "isra.cold"),
            ("work.constprop.12.llvm.9", "work", "constprop"),
            // -funique-internal-linkage-names
            ("work.__uniq.1234567890.llvm.9", "work", ""),
            ("work.part.3", "work", "part"),
            ("work.cold", "work", "cold"),
            ("a.b.part.0", "a.b", "part"),
            // Names of Go, OCaml and others hold dots.
            ("main.work", "main.work", ""),
            ("main.cold.work", "main.cold.work", ""),
            ("camlList.3", "camlList.3", ""),
            (".cold", ".cold", ""),
            ("", "", ""),
        ] {
            assert_eq!(without_suffix(name), (stem, kinds.to_owned()), "{name}");
        }
    }

    #[test]
    fn a_name_is_found_under_another_suffix_where_only_one_can_be_meant() {
        let mut elf = Elf::new().text(".text", 0x1000, 0x1000);
        for (index, name) in [
            "hot.llvm.77",
            "split.isra.0",
            "split.isra.0.cold",
            "twice.lto_priv.0",
            "twice.lto_priv.1",
            "plain",
            "plain.cold",
            "part.constprop.3",
        ]
        .into_iter()
        .enumerate()
        {
            elf = elf.local(name, 0x1000 + index as u64 * 16, 16);
        }
        let bytes = elf.build();
        let program = Program::parse(&bytes).unwrap();
        let found =
            |name: &str| program.lookup_without_suffix(name).map(|id| program.function(id).name);
        assert_eq!(found("hot.llvm.12"), Some("hot.llvm.77"));
        assert_eq!(found("hot"), Some("hot.llvm.77"));
        assert_eq!(found("split.isra.5"), Some("split.isra.0"));
        assert_eq!(found("split.isra.5.cold"), Some("split.isra.0.cold"));
        assert_eq!(found("plain.llvm.4"), Some("plain"));
        assert_eq!(found("plain.cold.9"), Some("plain.cold"));
        assert_eq!(found("part"), Some("part.constprop.3"));
        assert_eq!(found("part.isra.1"), Some("part.constprop.3"));
        // Which of two is meant nobody can say.
        assert_eq!(found("twice"), None);
        assert_eq!(found("twice.llvm.1"), None);
        assert_eq!(found("split"), Some("split.isra.0"));
        assert_eq!(found("gone.llvm.1"), None);
    }
}
