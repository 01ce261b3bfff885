//! What can be chosen: a space of compiler flags, and its points.
//!
//! A [`Space`] is a list of [`Choice`]s; each is left as the compiler has it, or given one of its
//! options. An option is a flag (`-fgcse`), a flag with a value (`-falign-loops=32`), a parameter
//! (`--param=max-unroll-times=16`) or several words (`-mllvm -unroll-threshold=300`). Options of one
//! choice exclude each other. Of a kernel an option may be a line of its [`configuration`], too.

pub mod bits;
mod clang;
pub mod configuration;
mod forbidden;
mod gcc;
mod grammar;
mod group;

use std::fmt;

pub use clang::clang;
pub use forbidden::{Purpose, is_forbidden, is_portable};
pub use gcc::{GccLists, gcc};
pub use grammar::{GrammarError, parse, print};
pub use group::Group;

/// Something that is left as the compiler has it, or given one of its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What it is called: the flag without its value, `-fgcse`.
    pub name: String,
    /// What it belongs to.
    pub group: Group,
    /// What it can be given: one or more, at most 250. Blanks separate the words of an option.
    pub options: Vec<String>,
}

impl Choice {
    /// A choice among `options`, in the group that its name says.
    pub fn new(name: impl Into<String>, options: impl IntoIterator<Item = String>) -> Self {
        let name = name.into();
        let options = options.into_iter().take(MOST_OPTIONS).collect();
        Self { group: Group::of(&name), name, options }
    }

    /// One option more, if it has not too many.
    fn add(&mut self, option: String) {
        if self.options.len() < MOST_OPTIONS {
            self.options.push(option);
        }
    }
}

/// What the linker is told of flags: all of them where one concerns the whole program, and none otherwise.
pub fn linker_flags(flags: &str) -> &str {
    let is_whole = |flag: &str| flag.starts_with("-flto") || flag.starts_with("-fprofile");
    if flags.split_whitespace().any(is_whole) { flags } else { "" }
}

/// Most options of a choice.
const MOST_OPTIONS: usize = 250;

/// A space of compiler flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Space {
    /// The level where none is chosen: `-O2`.
    pub level: String,
    /// What can be chosen.
    pub choices: Vec<Choice>,
}

/// One way to choose: for each choice of a space 0, where it is left as it is, or the number of the
/// option, from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point(Vec<u8>);

/// An option that is chosen: the place of its choice in the space, and its number, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selection {
    /// Place of the choice.
    pub choice: usize,
    /// Number of the option, from 1.
    pub option: u8,
}

impl Point {
    /// The choices in order; see [`Point`].
    pub fn new(values: Vec<u8>) -> Self {
        Self(values)
    }

    /// The choices in order.
    pub fn values(&self) -> &[u8] {
        &self.0
    }

    /// What is chosen at a place; 0 for nothing.
    pub fn at(&self, choice: usize) -> u8 {
        self.0.get(choice).copied().unwrap_or(0)
    }

    /// The same with another option at a place; 0 for none.
    #[must_use]
    pub fn with(mut self, choice: usize, option: u8) -> Self {
        if let Some(value) = self.0.get_mut(choice) {
            *value = option;
        }
        self
    }

    /// What is chosen, in order.
    pub fn chosen(&self) -> impl Iterator<Item = Selection> + '_ {
        let given = self.0.iter().enumerate().filter(|(_, option)| **option > 0);
        given.map(|(choice, option)| Selection { choice, option: *option })
    }

    /// Whether it has an option.
    pub fn has(&self, chosen: Selection) -> bool {
        chosen.option > 0 && self.at(chosen.choice) == chosen.option
    }
}

impl Space {
    /// How many choices there are.
    pub fn len(&self) -> usize {
        self.choices.len()
    }

    /// Whether there is nothing to choose.
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// How many options there are in all.
    pub fn options(&self) -> usize {
        self.choices.iter().map(|choice| choice.options.len()).sum()
    }

    /// Nothing chosen.
    pub fn base(&self) -> Point {
        Point(vec![0; self.choices.len()])
    }

    /// The most that a value of a choice can be.
    pub fn most(&self, choice: usize) -> u8 {
        // No choice has more options, see [`Choice::options`].
        self.choices.get(choice).map_or(0, |choice| choice.options.len().min(MOST_OPTIONS) as u8)
    }

    /// An option, as it is given to the compiler.
    pub fn option(&self, chosen: Selection) -> &str {
        let options = self.choices.get(chosen.choice).map(|choice| &choice.options);
        let place = usize::from(chosen.option).checked_sub(1);
        place.and_then(|place| options?.get(place)).map_or("", String::as_str)
    }

    /// The words that a compiler is given for a point: first the level.
    pub fn flags(&self, point: &Point) -> Vec<String> {
        let level = |chosen: &Selection| self.choices[chosen.choice].group == Group::Level;
        let chosen: Vec<Selection> =
            point.chosen().filter(|chosen| chosen.choice < self.choices.len()).collect();
        let mut words = Vec::new();
        if !chosen.iter().any(level) {
            words.extend(self.level.split_whitespace());
        }
        let levels = chosen.iter().filter(|chosen| level(chosen));
        let others = chosen.iter().filter(|chosen| !level(chosen));
        for chosen in levels.chain(others) {
            words.extend(self.option(*chosen).split_whitespace());
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// The point of these options, as far as the space has them; none where it has not all.
    pub fn point(&self, options: &[&str]) -> Option<Point> {
        options.iter().try_fold(self.base(), |point, wanted| {
            if *wanted == self.level {
                return Some(point);
            }
            self.choices.iter().enumerate().find_map(|(choice, of)| {
                let place = of.options.iter().position(|option| option == wanted)?;
                Some(point.clone().with(choice, u8::try_from(place + 1).ok()?))
            })
        })
    }

    /// The same without choices of which `keep` says no.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&Choice) -> bool) -> Self {
        self.choices.retain(keep);
        self
    }

    /// The same without options of which `keep` says no, and without choices that have none left.
    #[must_use]
    pub fn only_options(mut self, keep: impl Fn(&str) -> bool) -> Self {
        for choice in &mut self.choices {
            choice.options.retain(|option| keep(option));
        }
        self.only(|choice| !choice.options.is_empty())
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} choices with {} options on top of {}", self.len(), self.options(), self.level)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A space of so many choices, the first of which is the level, every third of two options.
    pub(crate) fn space(choices: usize) -> Space {
        let choices = (0..choices).map(|number| match number {
            0 => Choice::new("level", ["-O1", "-O3"].map(str::to_owned)),
            n if n % 3 == 0 => {
                Choice::new(format!("-fa{n}"), [format!("-fa{n}"), format!("-fno-a{n}")])
            }
            n => Choice::new(format!("-fb{n}"), [format!("-fb{n}")]),
        });
        Space { level: "-O2".to_owned(), choices: choices.collect() }
    }

    #[test]
    fn the_level_comes_first_and_only_once() {
        let space = space(5);
        assert_eq!(space.flags(&space.base()), ["-O2"]);
        let point = space.base().with(3, 2).with(1, 1);
        assert_eq!(space.flags(&point), ["-O2", "-fb1", "-fno-a3"]);
        assert_eq!(space.flags(&point.with(0, 2)), ["-O3", "-fb1", "-fno-a3"]);
    }

    #[test]
    fn a_point_is_found_by_its_options_and_only_if_all_are_there() {
        let space = space(5);
        let point = space.point(&["-O3", "-fno-a3"]).unwrap();
        assert_eq!(point.values(), [2, 0, 0, 2, 0]);
        assert_eq!(space.point(&["-O2"]), Some(space.base()));
        assert_eq!(space.point(&["-O3", "-fother"]), None);
        assert_eq!(point.chosen().count(), 2);
        assert!(point.has(Selection { choice: 3, option: 2 }));
    }

    #[test]
    fn options_of_several_words_are_words_of_the_command() {
        let option = "-mllvm -unroll-threshold=300".to_owned();
        let choices = vec![Choice::new("-unroll-threshold", [option])];
        let space = Space { level: "-O2".to_owned(), choices };
        let flags = space.flags(&space.base().with(0, 1));
        assert_eq!(flags, ["-O2", "-mllvm", "-unroll-threshold=300"]);
    }
}
