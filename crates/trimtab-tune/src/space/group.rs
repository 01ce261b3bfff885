//! Related flags: those that a search changes together.

use std::fmt;

/// What a flag belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Group {
    /// The level: `-O2`, `-O3`, `-Os`.
    Level,
    /// What machine is compiled for: `-march`, `-mtune`.
    Machine,
    /// How the whole program is built: link-time optimisation, profiles.
    Build,
    /// Inlining.
    Inlining,
    /// Vectorisation.
    Vectors,
    /// Loops: unrolling, peeling, splitting, invariants.
    Loops,
    /// Between functions: clones, constants, references.
    Interprocedural,
    /// Scheduling of instructions.
    Scheduling,
    /// Registers and spills.
    Registers,
    /// Branches and jumps.
    Branches,
    /// Where code lies: alignment, order of blocks and functions.
    Placement,
    /// Values and memory within a function: redundancies, dead code, combining.
    Scalars,
    /// A kernel's configuration: `CONFIG_HZ`.
    Configuration,
    /// Anything else.
    Other,
}

/// What a choice among levels is called.
pub const LEVEL: &str = "level";

/// Words of names, and the group that they say; the first that is found counts.
const WORDS: &[(Group, &[&str])] = &[
    (Group::Configuration, &["CONFIG_"]),
    (Group::Machine, &["march", "mtune", "mprefer", "mcpu", "-mavx", "-msse"]),
    (Group::Build, &["profile", "flto", "whole-program"]),
    (Group::Inlining, &["inlin", "large-function", "large-unit", "large-stack", "hot-bb"]),
    (Group::Vectors, &["vect", "slp", "simd"]),
    (Group::Scheduling, &["sched", "modulo", "sms-", "live-range"]),
    (
        Group::Loops,
        &[
            "loop",
            "unroll",
            "peel",
            "ivopts",
            "iv-",
            "unswitch",
            "ivcanon",
            "predictive",
            "scev",
            "graphite",
            "prefetch",
            "-ivs-",
            "variable-expansion",
        ],
    ),
    (Group::Interprocedural, &["ipa", "modref", "devirt", "toplevel", "semantic-interposition"]),
    (
        Group::Registers,
        &[
            "ira",
            "lra",
            "regist",
            "caller-saves",
            "rename",
            "remat",
            "frame-pointer",
            "shrink-wrap",
        ],
    ),
    (Group::Placement, &["align", "reorder", "section", "plt", "split-machine"]),
    (
        Group::Branches,
        &[
            "branch",
            "jump",
            "if-conv",
            "crossjump",
            "tracer",
            "path",
            "switch",
            "phiopt",
            "cselim",
            "tail",
            "sibling",
            "goto",
            "case-values",
            "probability",
            "bit-tests",
            "fsm",
            "thread",
        ],
    ),
    (
        Group::Scalars,
        &[
            "tree",
            "gcse",
            "cse",
            "dce",
            "dse",
            "store",
            "combine",
            "vrp",
            "sra",
            "reassoc",
            "sink",
            "hoist",
            "pre",
            "alias",
            "peephole",
            "forward",
            "strlen",
            "web",
            "split-wide",
        ],
    ),
];

impl Group {
    /// All of them.
    pub const ALL: [Group; 14] = [
        Group::Level,
        Group::Machine,
        Group::Build,
        Group::Inlining,
        Group::Vectors,
        Group::Loops,
        Group::Interprocedural,
        Group::Scheduling,
        Group::Registers,
        Group::Branches,
        Group::Placement,
        Group::Scalars,
        Group::Configuration,
        Group::Other,
    ];

    /// The group of a flag or parameter, by the words in its name.
    pub fn of(name: &str) -> Self {
        // Not one of a name that has it in it: a level takes the place of the one that is tuned on top of.
        if name == LEVEL {
            return Group::Level;
        }
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        WORDS.iter().find(|(_, words)| has(words)).map_or(Group::Other, |(group, _)| *group)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Group::Level => LEVEL,
            Group::Machine => "machine",
            Group::Build => "build",
            Group::Inlining => "inlining",
            Group::Vectors => "vectors",
            Group::Loops => "loops",
            Group::Interprocedural => "interprocedural",
            Group::Scheduling => "scheduling",
            Group::Registers => "registers",
            Group::Branches => "branches",
            Group::Placement => "placement",
            Group::Scalars => "scalars",
            Group::Configuration => "configuration",
            Group::Other => "other",
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_group() {
        for (name, group) in [
            ("-finline-functions", Group::Inlining),
            ("--param=max-inline-insns-auto", Group::Inlining),
            ("-ftree-loop-vectorize", Group::Vectors),
            ("-funroll-loops", Group::Loops),
            ("-fschedule-insns", Group::Scheduling),
            ("-fira-region", Group::Registers),
            ("-falign-loops", Group::Loops),
            ("-freorder-blocks", Group::Placement),
            ("-fif-conversion2", Group::Branches),
            ("-fgcse-las", Group::Scalars),
            ("-march", Group::Machine),
            ("level", Group::Level),
            ("--param=max-unswitch-level", Group::Loops),
            ("--param=any-level", Group::Other),
            ("CONFIG_PREEMPT", Group::Configuration),
            ("-fplain", Group::Other),
        ] {
            assert_eq!(Group::of(name), group, "{name}");
        }
        assert_eq!(Group::ALL.map(Group::name).len(), 14);
    }
}
