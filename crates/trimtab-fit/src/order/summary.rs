//! What is said of an order: how it is used, and what it promises.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Serialize, Serializer};
use trimtab_layout::{functions_run, pages};
use trimtab_link::{Linker, OrderText, OrderedBy};
use trimtab_profile::Profile;
use trimtab_program::{FragmentId, FunctionId, Program, RangeSet, SectionId};
use trimtab_report::number::{self, count};
use trimtab_report::terminal;

use trimtab_inputs::{Run, Runs};

use super::part::Part;

/// What was ordered, for whom, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct OrderContext<'a> {
    pub program: &'a Path,
    pub linker: Linker,
    pub algorithm: &'static str,
    /// None for standard output.
    pub output: Option<&'a Path>,
    /// Whether the linker's map gave the fragments.
    pub exact: bool,
}

/// `trimtab.order/1`.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    schema: &'static str,
    program: String,
    #[serde(serialize_with = "by_name")]
    linker: Linker,
    algorithm: &'static str,
    output: String,
    /// Whether input sections were read from a map, or guessed from symbols.
    exact: bool,
    lines: u64,
    functions: u64,
    duplicate: Vec<String>,
    unnamed: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unwritable: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namesakes: Vec<Namesake>,
    /// For each other section of code how many functions ran there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    elsewhere: BTreeMap<String, u64>,
    traces: Vec<TraceSummary>,
    use_it: String,
}

fn by_name<S: Serializer>(linker: &Linker, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(linker.name())
}

/// One trace: how much of it was found, and what the order will do to its run.
#[derive(Debug, Clone, Serialize)]
struct TraceSummary {
    path: String,
    coverage: Shares,
    #[serde(flatten)]
    predicted: PagePrediction,
    #[serde(skip)]
    coverage_line: String,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Shares {
    names: f64,
    bytes: f64,
}

/// Pages of the text that a run touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct PagePrediction {
    touched_before: u64,
    touched_after: u64,
    minimum_function_pages: u64,
}

/// Counts the pages that a run touches where the program's text lies now, and where the linker will put
/// its `parts`.
pub(super) fn predict(
    program: &Program<'_>,
    parts: &[Part<'_>],
    profile: &Profile,
) -> PagePrediction {
    let mut predicted =
        PagePrediction { touched_before: 0, touched_after: 0, minimum_function_pages: 0 };
    for part in parts {
        let section = part.fragments.section();
        let range = program.section(section).range;
        let executed: RangeSet = profile.executed().within(range).collect();
        let moved = part.movable.moved(&part.fragments, &part.placement, &executed);
        predicted.touched_before += pages::touched(&executed).len() as u64;
        predicted.touched_after += pages::touched(&moved).len() as u64;
        predicted.minimum_function_pages +=
            pages::minimum(functions_run(program, section, profile).bytes());
    }
    predicted
}

/// A function that did not run, and is placed for its name.
#[derive(Debug, Clone, Serialize)]
struct Namesake {
    name: String,
    bytes: u64,
}

impl Summary {
    pub(super) fn new(
        what: OrderContext<'_>,
        emitted: &OrderText,
        functions: u64,
        runs: &Runs,
        predict: impl Fn(&Profile) -> PagePrediction,
    ) -> Self {
        let output = what.output.map_or("-".into(), |path| path.display().to_string());
        let file = if output == "-" { "FILE" } else { &output };
        let use_it = what.linker.how_to_use(file);
        let traced = |(run, profile): (&Run, &Profile)| TraceSummary {
            path: run.path.display().to_string(),
            coverage: Shares { names: run.coverage.names(), bytes: run.coverage.bytes() },
            predicted: predict(profile),
            coverage_line: run.coverage_line(),
        };
        Self {
            schema: "trimtab.order/1",
            program: what.program.display().to_string(),
            linker: what.linker,
            algorithm: what.algorithm,
            exact: what.exact,
            lines: emitted.lines,
            functions,
            duplicate: emitted.duplicate.clone(),
            unnamed: emitted.unnamed,
            unwritable: emitted.unwritable.clone(),
            namesakes: Vec::new(),
            elsewhere: BTreeMap::new(),
            traces: runs.runs.iter().zip(&runs.profiles).map(traced).collect(),
            use_it,
            output,
        }
    }

    /// With what the linker places beside that which the order lists, as it has the same name.
    pub(super) fn with_namesakes(mut self, parts: &[Part<'_>]) -> Self {
        for part in parts {
            let namesake = |id: &FragmentId| {
                let fragment = part.fragments.get(*id);
                Namesake { name: fragment.name.to_owned(), bytes: fragment.range.length() }
            };
            self.namesakes.extend(part.followed.namesakes.iter().map(namesake));
        }
        self
    }

    /// With what ran in other sections of code than those that were ordered.
    pub(super) fn with_elsewhere(
        mut self,
        program: &Program<'_>,
        ordered: &[SectionId],
        profiles: &[Profile],
    ) -> Self {
        let ran: BTreeSet<FunctionId> = profiles
            .iter()
            .flat_map(|profile| profile.functions().iter().map(|executed| executed.function))
            .collect();
        for id in ran {
            let section = program.function(id).section;
            let name = program.section(section).name;
            if !ordered.contains(&section) && name.starts_with(".text.") {
                *self.elsewhere.entry(name.to_owned()).or_default() += 1;
            }
        }
        self
    }

    /// For people, in lines of at most `width` columns where words allow.
    pub fn render(&self, width: u16) -> String {
        // Long: a line for each thing that can be said of an order.
        let mut lines = vec![format!(
            "{}: {} lines for {}, {} functions, {} order",
            if self.output == "-" { "order" } else { &self.output },
            count(self.lines),
            self.linker,
            count(self.functions),
            self.algorithm,
        )];
        for traced in &self.traces {
            lines.push(format!("coverage of {}", traced.coverage_line));
            let predicted = &traced.predicted;
            lines.push(format!(
                "predicted for {}: {} -> {} pages touched, function-level minimum {}",
                traced.path,
                count(predicted.touched_before),
                count(predicted.touched_after),
                count(predicted.minimum_function_pages),
            ));
        }
        if !self.duplicate.is_empty() {
            lines.push(format!(
                "names that several functions have, written once: {}",
                names(&self.duplicate)
            ));
        }
        if !self.namesakes.is_empty() {
            let bytes = self.namesakes.iter().map(|namesake| namesake.bytes).sum();
            let all: Vec<String> =
                self.namesakes.iter().map(|namesake| namesake.name.clone()).collect();
            lines.push(format!(
                "{} of functions that did not run come along, as {} knows them by the names of others \
                 that did: {}; the prediction counts them{}",
                number::bytes(bytes),
                self.linker,
                names(&all),
                match !self.exact && self.linker.tells_namesakes_apart() {
                    true => "; --map FILE tells them apart",
                    false => "",
                },
            ));
        }
        if !self.unwritable.is_empty() {
            lines.push(format!(
                "functions that ran, but whose names {} cannot read, left out: {}",
                self.linker,
                names(&self.unwritable)
            ));
        }
        for (section, functions) in &self.elsewhere {
            lines.push(format!(
                "functions that ran in {section}, which this order does not reach, left out: {}; \
                 link with -z nokeep-text-section-prefix",
                count(*functions)
            ));
        }
        if self.unnamed > 0 {
            lines.push(format!(
                "pieces of code that {} cannot name, left out: {}",
                self.linker,
                count(self.unnamed)
            ));
        }
        if !self.exact && self.linker.ordered_by() == OrderedBy::Sections {
            lines.push(
                "sections were guessed to be called .text.NAME; --map FILE gives their names"
                    .into(),
            );
        }
        lines.push(format!("to use it: {}", self.use_it));
        terminal::lines(&lines, width)
    }
}

/// The first names, and how many more there are.
fn names(all: &[String]) -> String {
    let mut all = all.to_vec();
    all.dedup();
    number::some(&all, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_first_are_shown() {
        let all: Vec<String> = (0..12).map(|index| format!("f{index}")).collect();
        assert_eq!(names(&all), "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2 more");
        assert_eq!(names(&["f".to_owned(), "f".to_owned()]), "f");
    }
}
