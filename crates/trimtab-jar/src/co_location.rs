//! Functions that share one method: which of their calls are jumps within it.
//!
//! A method has one set of variables for each of its functions. So a call is a jump only where its callee cannot be
//! running already: the jumps of a group lead round in no circle. Calls that would close one call the method anew.

use crate::error::JarError;
use crate::function::Function;
use crate::ir::Callee;
use crate::liveness::{Summaries, returns_twice};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A function of a group.
pub(crate) struct Member<'a> {
    pub(crate) function: &'a Function,
    /// The members to which its calls are jumps.
    pub(crate) jumps_to: BTreeSet<usize>,
    /// It is also called in another way than by jumps.
    pub(crate) is_entered: bool,
}

/// Functions of one method, in the order in which they were named.
pub(crate) struct Group<'a> {
    pub(crate) members: Vec<Member<'a>>,
}

impl Group<'_> {
    /// How many calls are jumps, and how many between the group's functions stay calls.
    pub(crate) fn calls(&self) -> (usize, usize) {
        let (mut jumps, mut calls) = (0, 0);
        for member in &self.members {
            for to in member.function.calls() {
                match self.members.iter().position(|other| other.function.start == to) {
                    Some(to) if member.jumps_to.contains(&to) => jumps += 1,
                    Some(_) => calls += 1,
                    None => {}
                }
            }
        }
        (jumps, calls)
    }
}

/// All groups of a program.
#[derive(Default)]
pub(crate) struct Groups<'a> {
    pub(crate) all: Vec<Group<'a>>,
    /// Of each member the group, and which of it it is.
    places: FxHashMap<u32, (usize, usize)>,
}

impl<'a> Groups<'a> {
    /// The group that the function at an address is a member of, and which of it.
    pub(crate) fn of(&self, start: u32) -> Option<(&Group<'a>, usize)> {
        let (group, member) = self.places.get(&start)?;
        Some((&self.all[*group], *member))
    }

    /// The group whose method is made with the function at an address.
    pub(crate) fn made_with(&self, start: u32) -> Option<&Group<'a>> {
        self.of(start).filter(|(_, member)| *member == 0).map(|(group, _)| group)
    }

    /// Makes groups of the `functions` that are so named, by names or addresses. `known` gives the names of functions that have
    /// no Java code; `entry` is where the program begins.
    pub(crate) fn new(
        names: &[Vec<String>],
        functions: &'a [Function],
        summaries: &Summaries,
        known: &BTreeSet<String>,
        entry: u32,
    ) -> Result<Groups<'a>, JarError> {
        let mut groups = Groups::default();
        for (number, names) in names.iter().enumerate() {
            let mut members = Vec::new();
            for name in names {
                let function = find(name, functions, known)?;
                if groups.places.insert(function.start, (number, members.len())).is_some() {
                    return Err(refused(name, "it is named twice: a function has one method"));
                }
                check(name, function, summaries)?;
                members.push(function);
            }
            match names.as_slice() {
                [] => return Err(refused("nothing", "name functions that call each other")),
                [name] => {
                    return Err(refused(name, "it is alone: name also functions that it calls"));
                }
                _ => groups.all.push(group(&members, functions, entry)),
            }
        }
        Ok(groups)
    }
}

fn refused(name: &str, why: impl Into<String>) -> JarError {
    JarError::CoLocated { name: name.to_owned(), why: why.into() }
}

/// The function of that name, or at that address.
fn find<'a>(
    name: &str,
    functions: &'a [Function],
    known: &BTreeSet<String>,
) -> Result<&'a Function, JarError> {
    let address = name.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let is_meant = |function: &&Function| match address {
        Some(address) => function.start == address,
        None => function.name == name,
    };
    let found: Vec<&Function> = functions.iter().filter(is_meant).collect();
    match found.as_slice() {
        [function] => Ok(function),
        [] if address.is_some() => {
            Err(refused(name, "no function begins there that something is seen to reach"))
        }
        [] if known.contains(name) => Err(refused(
            name,
            "it is not translated but interpreted: nothing is seen to reach it, or it is too large for Java",
        )),
        [] => {
            let made_of =
                |other: &&str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            let names = functions.iter().map(|function| function.name.as_str());
            let similar: Vec<&str> = names.filter(made_of).collect();
            let hint = match similar.as_slice() {
                [] => "; compilers make small functions part of their callers (-fno-inline)"
                    .to_owned(),
                names => format!("; there is {}", names.join(", ")),
            };
            Err(refused(name, format!("there is no such function{hint}")))
        }
        several => {
            let places: Vec<String> = several.iter().map(|f| format!("{:#x}", f.start)).collect();
            Err(refused(
                name,
                format!("several functions have this name: say {}", places.join(" or ")),
            ))
        }
    }
}

/// Refuses what cannot share a method.
fn check(name: &str, function: &Function, summaries: &Summaries) -> Result<(), JarError> {
    if function.is_stand_in() {
        return Err(refused(name, "it is not translated: a method of the run time does the same"));
    }
    let comes_back =
        function.calls().into_iter().find(|to| returns_twice(summaries, Callee::At(*to)));
    if comes_back.is_some() || returns_twice(summaries, Callee::At(function.start)) {
        return Err(refused(
            name,
            "it calls setjmp or the like, to which control comes back: leave it out",
        ));
    }
    if !function.labels.is_empty() {
        return Err(refused(
            name,
            "code has the address of a label in it, to which control may come back: leave it out",
        ));
    }
    Ok(())
}

/// The group of these members; `functions` are all of the program.
fn group<'a>(members: &[&'a Function], functions: &[Function], entry: u32) -> Group<'a> {
    let place = |to: &u32| members.iter().position(|member| member.start == *to);
    // An exception that leaves a call is caught where it is Java's: calls that look at exceptions stay such.
    let wanted = |function: &&Function| match function.regions {
        Some(_) => BTreeSet::new(),
        None => function
            .calls()
            .iter()
            .filter_map(place)
            .filter(|to| members[*to].gives_back())
            .collect(),
    };
    let mut edges: Vec<BTreeSet<usize>> = members.iter().map(wanted).collect();
    drop_circles(&mut edges);
    let mut entered = vec![false; members.len()];
    for function in functions {
        let from = place(&function.start);
        for to in function.calls().iter().filter_map(place) {
            entered[to] |= from.is_none_or(|from| !edges[from].contains(&to));
        }
    }
    let member = |((function, jumps_to), entered): ((&&'a Function, BTreeSet<usize>), bool)| {
        let is_entered = entered || function.taken || function.start == entry;
        Member { function, jumps_to, is_entered }
    };
    Group { members: members.iter().zip(edges).zip(entered).map(member).collect() }
}

/// Drops the edges by which a walk, from the first on and deeper first, comes back to where it is in the middle of.
fn drop_circles(edges: &mut [BTreeSet<usize>]) {
    let (mut seen, mut open) = (vec![false; edges.len()], vec![false; edges.len()]);
    for root in 0..edges.len() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        open[root] = true;
        let mut path = vec![(root, edges[root].clone())];
        while let Some((at, left)) = path.last_mut() {
            let at = *at;
            match left.pop_first() {
                Some(to) if open[to] => {
                    edges[at].remove(&to);
                }
                Some(to) if !std::mem::replace(&mut seen[to], true) => {
                    open[to] = true;
                    path.push((to, edges[to].clone()));
                }
                Some(_) => {}
                None => {
                    open[at] = false;
                    path.pop();
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::function::{Block, new_function};
    use crate::ir::{End, Ins, Op};
    use crate::liveness::Summary;
    use crate::vars::Vars;

    /// A function that calls these, and then returns.
    fn function(name: &str, start: u32, calls: &[u32]) -> Function {
        let call = |to: &u32| Ins { op: Op::Call(Callee::At(*to)), ..Ins::NOP };
        let ins = calls.iter().map(call).collect();
        let block = Block { key: start, ins, end: End::Return, next: vec![], live_in: Vars::NONE };
        new_function(start, name, vec![block], 0)
    }

    fn summaries(functions: &[Function]) -> Summaries {
        let none = Vars::NONE;
        let summary =
            Summary { arguments: none, writes: none, results: none, returns_twice: false };
        functions.iter().map(|function| (function.start, summary)).collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn groups<'a>(functions: &'a [Function], named: &[&[&str]]) -> Result<Groups<'a>, JarError> {
        let named: Vec<Vec<String>> = named.iter().map(|group| names(group)).collect();
        let known = BTreeSet::from(["unreached".to_owned()]);
        Groups::new(&named, functions, &summaries(functions), &known, 0x100)
    }

    /// Of each function, to which its calls are jumps, and whether it is entered.
    fn members(group: &Group<'_>) -> Vec<(Vec<usize>, bool)> {
        let of =
            |member: &Member<'_>| (member.jumps_to.iter().copied().collect(), member.is_entered);
        group.members.iter().map(of).collect()
    }

    #[test]
    fn calls_within_a_group_are_jumps_and_only_what_others_call_is_entered() {
        let functions = [
            function("main", 0x100, &[0x200, 0x300]),
            function("first", 0x200, &[0x300, 0x400, 0x400, 0x900]),
            function("second", 0x300, &[0x400]),
            function("third", 0x400, &[]),
        ];
        let found = groups(&functions, &[&["first", "0x300", "third"]]).unwrap();
        assert_eq!(members(&found.all[0]), [(vec![1, 2], true), (vec![2], true), (vec![], false)]);
        assert_eq!(found.all[0].calls(), (4, 0));
        assert!(found.of(0x100).is_none());
        assert_eq!(found.of(0x400).unwrap().1, 2);
        assert!(found.made_with(0x200).is_some() && found.made_with(0x300).is_none());
    }

    #[test]
    fn a_call_that_comes_back_to_where_it_may_be_from_stays_a_call() {
        let functions = [
            function("alone", 0x200, &[0x200, 0x300]),
            function("sum", 0x300, &[0x400]),
            function("product", 0x400, &[0x500]),
            function("number", 0x500, &[0x300]),
        ];
        let found = groups(&functions, &[&["alone", "sum", "product", "number"]]).unwrap();
        // The circle is left where it closes: seen from the first that was named.
        assert_eq!(
            members(&found.all[0]),
            [(vec![1], true), (vec![2], true), (vec![3], false), (vec![], false)]
        );
        assert_eq!(found.all[0].calls(), (3, 2));
        let found = groups(&functions, &[&["number", "product", "sum"]]).unwrap();
        assert_eq!(
            members(&found.all[0]),
            [(vec![2], true), (vec![], false), (vec![1], true)],
            "number jumps to sum, that to product, which calls number"
        );
    }

    #[test]
    fn what_looks_at_exceptions_or_never_returns_is_left_by_calls() {
        let mut functions = [
            function("looks", 0x200, &[0x300]),
            function("middle", 0x300, &[0x400]),
            function("ends", 0x400, &[]),
            function("pointed", 0x500, &[0x300]),
        ];
        functions[0].regions = Some(Vec::new());
        functions[2].blocks[0].end = End::Stop;
        functions[3].taken = true;
        let found = groups(&functions, &[&["looks", "middle", "ends", "pointed"]]).unwrap();
        assert_eq!(
            members(&found.all[0]),
            [(vec![], false), (vec![], true), (vec![], true), (vec![1], true)]
        );
    }

    #[test]
    fn names_that_cannot_be_meant_are_refused_with_what_to_do() {
        let mut functions = vec![
            function("main", 0x100, &[0x200]),
            function("twin", 0x200, &[]),
            function("twin", 0x300, &[]),
            function("take.part.0", 0x400, &[0x600]),
            function("label", 0x500, &[]),
            function("setjmp", 0x600, &[]),
        ];
        functions[4].labels = vec![0x508];
        let mut summaries = summaries(&functions);
        summaries.get_mut(&0x600).unwrap().returns_twice = true;
        let known = BTreeSet::from(["unreached".to_owned()]);
        // Groups are apart by a bar.
        let refused = |named: &str| {
            let group = |names: &str| names.split(' ').map(str::to_owned).collect();
            let named: Vec<Vec<String>> = named.split(" | ").map(group).collect();
            let found = Groups::new(&named, &functions, &summaries, &known, 0x100);
            found.map(|_| ()).unwrap_err().to_string()
        };
        for (named, why) in [
            ("main", "main cannot be co-located: it is alone"),
            ("main main", "named twice"),
            ("main 0x100", "named twice"),
            ("main 0x200 | 0x300 0x200", "named twice"),
            ("main twin", "several functions have this name: say 0x200 or 0x300"),
            ("main take", "there is take.part.0"),
            ("main none", "-fno-inline"),
            ("main unreached", "interpreted"),
            ("main 0x204", "no function begins there"),
            ("main take.part.0", "setjmp"),
            ("main setjmp", "setjmp"),
            ("main label", "label"),
        ] {
            let found = refused(named);
            assert!(found.contains(why), "{named}: {found}");
        }
    }

    #[test]
    fn a_list_without_names_is_refused() {
        let functions = [function("main", 0x100, &[])];
        assert!(groups(&functions, &[]).unwrap().all.is_empty());
        let error = groups(&functions, &[&[]]).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "nothing cannot be co-located: name functions that call each other");
    }
}
