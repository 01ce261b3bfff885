//! All tools: the table, and the programs that workloads need.

use std::sync::LazyLock;

use super::table::{ALL, ONLY_STARTED, RENT_RUN, SWAP_RUN, Tool};
use crate::workload::{self, Workload};

/// All tools that `trimtab doctor` looks for: the table, and the programs that workloads need.
pub fn all() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        let mut tools = ALL.to_vec();
        let all = || workload::all().into_iter().flatten();
        let of_guests = all().flat_map(Workload::programs).map(|program| (program, SWAP_RUN));
        let loads = all().filter_map(|workload| workload.manifest.load.as_ref());
        let of_loads = loads.flat_map(|load| &load.programs).map(|program| (program, RENT_RUN));
        for (program, needed_by) in of_guests.chain(of_loads) {
            let name = program.name();
            if !tools.iter().any(|tool| tool.name == name) {
                let place = program.path.display().to_string();
                tools.push(Tool::of_file(name, place, program.package.clone(), needed_by));
            }
        }
        tools
    });
    &TOOLS
}

/// The tools that jobs start and nobody looks for before: a job that does not find one says which package
/// has it.
pub fn only_started() -> &'static [Tool] {
    ONLY_STARTED
}

/// The tool of this name, among [`all`].
pub fn tool(name: &str) -> Option<&'static Tool> {
    all().iter().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::Probe;
    use super::*;

    #[test]
    fn what_workloads_need_is_among_the_tools() {
        let tool = tool("cjpeg").unwrap();
        assert!(matches!(tool.probe, Probe::File(["/usr/bin/cjpeg"])));
        assert_eq!(tool.packages, ["libjpeg-turbo-progs"]);
    }

    #[test]
    fn names_are_unique_and_rows_complete() {
        for (index, row) in all().iter().enumerate() {
            assert_eq!(all().iter().position(|other| other.name == row.name), Some(index));
            assert!(!row.packages.is_empty() && !row.needed_by.is_empty(), "{}", row.name);
        }
    }
}
