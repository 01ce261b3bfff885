//! What the kernel's options have to do with SMP, as its Kconfig files say.

mod expression;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use expression::{Chance, chance};

/// What an option has to do with SMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// SMP turns it on (`select`), or another option does where there is SMP.
    Selected,
    /// It is on by default only where there is SMP.
    Default,
    /// It cannot be on without SMP.
    Needs,
    /// It cannot be on with SMP.
    Excludes,
}

/// The option itself.
const SMP: &str = "SMP";

/// Whether a file describes options.
pub fn is_kconfig(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    // Those below scripts test the program that reads such files.
    (name == "Kconfig" || name.starts_with("Kconfig.")) && !path.starts_with("scripts/")
}

/// Reads a Kconfig file: options that have to do with SMP, by name. What another file that includes it says
/// around it is not known.
pub fn options(text: &str) -> BTreeSet<(String, Relation)> {
    let mut reader = Reader::default();
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut help: Option<usize> = None;
    for line in joined.lines() {
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let indent = indent(line);
        // A help text is what stands deeper than the first of its lines does, or as deep.
        if let Some(deep) = help {
            let deep = if deep == 0 { indent } else { deep };
            if indent >= deep && indent > 0 {
                help = Some(deep);
                continue;
            }
            help = None;
        }
        if matches!(words, "help" | "---help---") {
            help = Some(0);
        } else {
            reader.line(words);
        }
    }
    reader.found
}

/// How deep a line stands, with tabs of 8.
fn indent(line: &str) -> usize {
    let blank = line.chars().take_while(|c| c.is_whitespace());
    blank.fold(0, |deep, c| if c == '\t' { deep / 8 * 8 + 8 } else { deep + 1 })
}

/// What a line is part of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Within {
    /// Neither an option nor a menu.
    #[default]
    Nothing,
    /// An option.
    Option,
    /// The head of a menu, which may have conditions for all that is in it.
    Menu,
}

#[derive(Debug, Default)]
struct Reader {
    /// Conditions that menus and `if` lay on what is in them, innermost last.
    around: Vec<Chance>,
    within: Within,
    name: String,
    found: BTreeSet<(String, Relation)>,
}

impl Reader {
    fn line(&mut self, words: &str) {
        let (word, rest) = words.split_once([' ', '\t']).unwrap_or((words, ""));
        let rest = rest.trim();
        match word {
            "config" | "menuconfig" => {
                self.within = Within::Option;
                rest.clone_into(&mut self.name);
                self.depends(self.all_around());
            }
            "menu" | "choice" => {
                self.around.push(Chance::ANY);
                self.within = Within::Menu;
            }
            "if" => {
                self.around.push(chance(rest));
                self.within = Within::Nothing;
            }
            "endif" | "endmenu" | "endchoice" => {
                self.around.pop();
                self.within = Within::Nothing;
            }
            "comment" | "source" | "mainmenu" => self.within = Within::Nothing,
            "depends" => {
                let condition = chance(rest.strip_prefix("on").unwrap_or(rest));
                match self.within {
                    Within::Option => self.depends(condition),
                    Within::Menu => {
                        if let Some(last) = self.around.last_mut() {
                            *last = last.and(condition);
                        }
                    }
                    Within::Nothing => {}
                }
            }
            "select" if self.within == Within::Option => {
                let (name, condition) = conditional(rest);
                let is_own = self.name == SMP && condition.can_be_with();
                if is_own || condition.needs_smp() {
                    self.add(name.to_owned(), Relation::Selected);
                }
            }
            "default" | "def_bool" | "def_tristate" if self.within == Within::Option => {
                let (value, condition) = conditional(rest);
                if chance(value).and(condition).needs_smp() {
                    self.add(self.name.clone(), Relation::Default);
                }
            }
            _ => {}
        }
    }

    fn all_around(&self) -> Chance {
        self.around.iter().fold(Chance::ANY, |all, one| all.and(*one))
    }

    /// The option is only there where a condition holds.
    fn depends(&mut self, condition: Chance) {
        if condition.needs_smp() {
            self.add(self.name.clone(), Relation::Needs);
        } else if condition.excludes_smp() {
            self.add(self.name.clone(), Relation::Excludes);
        }
    }

    fn add(&mut self, name: String, relation: Relation) {
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // How SMP is asked for is no option of it.
        if is_name && name != SMP {
            self.found.insert((name, relation));
        }
    }
}

/// `VALUE if CONDITION`.
fn conditional(text: &str) -> (&str, Chance) {
    let text = text.split('#').next().unwrap_or_default().trim();
    match text.split_once(" if ").or_else(|| text.split_once("\tif ")) {
        Some((value, condition)) => (value.trim(), chance(condition)),
        None => (text, Chance::ANY),
    }
}

#[cfg(test)]
mod tests {
    use super::Relation::{Default, Excludes, Needs, Selected};
    use super::*;

    fn found(text: &str) -> Vec<(String, Relation)> {
        options(text).into_iter().collect()
    }

    fn is(text: &str, expected: &[(&str, Relation)]) {
        let expected: Vec<_> = expected.iter().map(|(name, how)| ((*name).into(), *how)).collect();
        assert_eq!(found(text), expected, "{text}");
    }

    #[test]
    fn dependencies_are_those_without_which_an_option_cannot_be() {
        is("config A\n\tbool \"a\"\n\tdepends on SMP\n", &[("A", Needs)]);
        is("config A\n\tdepends on X && (SMP || SMP)\n", &[("A", Needs)]);
        is("config A\n\tdepends on SMP || COMPILE_TEST\n", &[]);
        is("menuconfig A\n\tdepends on !SMP\n", &[("A", Excludes)]);
        is("config A\n\tdepends on BROKEN_ON_SMP\n", &[("A", Excludes)]);
        is("config A\n\tdepends on X != n && SMP=y # as ever\n", &[("A", Needs)]);
        is("config SMP\n\tdepends on !BROKEN_ON_SMP\n", &[]);
        is("config A\n\tdepends on \\\n\tSMP\n\nconfig B\n", &[("A", Needs)]);
    }

    #[test]
    fn what_smp_selects_and_what_is_selected_with_it() {
        let text = "config SMP\n\tbool \"more\"\n\tselect A\n\tselect B if X\n\tselect C if !SMP\n\n\
                    config D\n\tselect E if SMP\n\tselect F if X || SMP\n\tselect G\n";
        is(text, &[("A", Selected), ("B", Selected), ("E", Selected)]);
    }

    #[test]
    fn defaults_count_where_they_are_only_with_smp() {
        is("config A\n\tdef_bool SMP\n", &[("A", Default)]);
        is("config A\n\tdef_bool y if SMP && X\nconfig B\n\tdefault y\n", &[("A", Default)]);
        is("config A\n\tdefault \"64\" if SMP\n\tdefault \"1\" if !SMP\n", &[("A", Default)]);
        is("config A\n\tdefault X if Y\n", &[]);
    }

    #[test]
    fn conditions_around_count_and_help_does_not() {
        is(
            "if SMP\nconfig A\nmenu \"m\"\nconfig B\nendmenu\nendif\nconfig C\n",
            &[("A", Needs), ("B", Needs)],
        );
        is("menu \"m\"\n\tdepends on SMP\nconfig A\nendmenu\nconfig B\n", &[("A", Needs)]);
        let help = "config A\n\tbool \"a\"\n\thelp\n\t  Say Y with\n\t  depends on SMP\n\n\t  and so\n\
                    config B\n\t---help---\n\t  text\n\tdepends on SMP\n";
        is(help, &[("B", Needs)]);
        is("endif\nendmenu\ndepends on SMP\nselect X if SMP\n", &[]);
    }

    #[test]
    fn what_is_no_name_is_no_option() {
        is("config\n\tdepends on SMP\nconfig A B\n\tdepends on SMP\n", &[]);
        is("config SMP\n\tselect \"A\"\n\tselect\n\tselect SMP\n", &[]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(words in proptest::collection::vec(
            proptest::sample::select(vec![
                "config ", "SMP", "A", "\n", "\t", " ", "if ", "endif\n", "menu \"m\"\n", "endmenu\n",
                "depends on ", "select ", "default ", "help\n", "!", "(", ")", "&&", "||", "=", "<", "\"",
                "'", "&", "\\\n", "#", "\u{e9}", "\u{2028}", "BROKEN_ON_SMP",
            ]),
            0..60,
        )) {
            for (name, _) in options(&words.concat()) {
                proptest::prop_assert!(name == "A" || name.contains(|c: char| c.is_ascii_alphabetic()));
            }
        }
    }

    #[test]
    fn files_of_options_are_known_by_name() {
        assert!(is_kconfig("Kconfig") && is_kconfig("kernel/Kconfig.preempt"));
        assert!(!is_kconfig("scripts/kconfig/tests/a/Kconfig") && !is_kconfig("Kconfigs"));
    }
}
