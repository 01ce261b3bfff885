//! Why lines of an order are not where the order wants them, for all who hold a linked program against one.

use std::collections::HashSet;
use std::path::Path;

use trimtab_link::{Check, Line, Outcome};
use trimtab_program::{Program, without_suffix};
use trimtab_report::number::count;

/// Why lines name nothing, where the functions are there under other suffixes.
pub(crate) fn renamed(check: &Check) -> Option<String> {
    let renamed = |line: &&Line| line.outcome != Outcome::Placed && line.renamed.is_some();
    let lines: Vec<&Line> = check.lines.iter().filter(renamed).collect();
    let Line { name, renamed, .. } = lines.first()?;
    Some(format!(
        "{} of them name functions that this build has under another suffix of the compiler's, which no \
         linker takes for the same ({name} is {} now); make the order anew from this build",
        count(lines.len() as u64),
        renamed.as_deref().unwrap_or_default()
    ))
}

/// Why what was in the program `before`, which was read from a file, is gone.
pub(crate) fn discarded(program: &Program<'_>, (before, path): (&Program<'_>, &Path)) -> String {
    let names = |program: &Program<'_>| -> HashSet<String> {
        program.names().map(|(_, name)| without_suffix(name).0.to_owned()).collect()
    };
    match names(program).difference(&names(before)).count() as u64 {
        0 => "the linker left them out, with --gc-sections or identical code folding".to_owned(),
        new => format!(
            "the program has {} functions that {} does not have, so it was built from other sources; \
             make the order anew from this build",
            count(new),
            path.display()
        ),
    }
}

/// How many lines are not where the order wants them, and the first of them; none where all are.
pub(crate) fn misplaced(check: &Check) -> Option<String> {
    let lines = check.count(Outcome::Misplaced);
    let first = check.names(Outcome::Misplaced).next()?;
    Some(format!("{} lines misplaced, the first is {first}", count(lines)))
}

/// What became of the lines that are not in their places, each with its cause; nothing where all are.
pub(crate) fn all(
    check: &Check,
    program: &Program<'_>,
    before: (&Program<'_>, &Path),
) -> Vec<String> {
    let (unknown, gone) = (check.count(Outcome::Unknown), check.count(Outcome::Discarded));
    let mut said: Vec<String> = misplaced(check).into_iter().collect();
    if unknown > 0 {
        let cause = renamed(check).map_or_else(String::new, |cause| format!(": {cause}"));
        said.push(format!("{} lines unknown{cause}", count(unknown)));
    }
    if gone > 0 {
        said.push(format!("{} lines gone: {}", count(gone), discarded(program, before)));
    }
    said
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use trimtab_fixture::Elf;
    use trimtab_link::{OrderFile, check};
    use trimtab_program::Fragments;

    fn program(names: &[&'static str]) -> Vec<u8> {
        let mut elf = Elf::new().text(".text", 0x1000, 0x1000);
        for (index, name) in names.iter().enumerate() {
            elf = elf.function(name, 0x1000 + index as u64 * 16, 16);
        }
        elf.build()
    }

    fn said(order: &str, before: &[&'static str], after: &[&'static str]) -> Vec<String> {
        let (before, after) = (program(before), program(after));
        let (before, after) = (Program::parse(&before).unwrap(), Program::parse(&after).unwrap());
        let fragments = Fragments::from_symbols(&after, after.section_named(".text").unwrap().0);
        let order = OrderFile::parse(order).unwrap();
        let check = check(&order, &after, &fragments, &[], Some(&before));
        all(&check, &after, (&before, Path::new("app.before")))
    }

    #[test]
    fn each_loss_has_its_cause() {
        assert_eq!(said("a\nb\n", &["b", "a"], &["a", "b"]), [""; 0]);
        let misplaced = said("a\nb\nc\n", &["a", "b", "c"], &["c", "a", "b"]);
        assert_eq!(misplaced, ["1 lines misplaced, the first is c"]);
        let gone = said("a\nb\n", &["a", "b"], &["a"]);
        assert_eq!(
            gone,
            [
                "1 lines gone: the linker left them out, with --gc-sections or identical code folding"
            ]
        );
        let gone = said("a\nb\n", &["a", "b"], &["a", "new"]);
        assert!(
            gone[0].contains("the program has 1 functions that app.before does not have"),
            "{gone:?}"
        );
        let renamed = said("a.llvm.1\nb\n", &["a.llvm.1", "b"], &["b", "a.llvm.2"]);
        assert!(
            renamed.iter().any(|line| line.contains("a.llvm.1 is a.llvm.2 now")),
            "{renamed:?}"
        );
    }
}
