//! Where system calls enter a kernel, and the functions that do what each is for.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_layout::cost::{Core, CoreCounts};
use trimtab_machine::calls;
use trimtab_program::Program;

/// Where system calls enter a kernel for x86-64.
const ENTRY: &str = "entry_SYSCALL_64";

/// Functions of a linked kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries {
    /// Where system calls enter it.
    pub entry: u64,
    /// Where functions that calls may come to are, in the order of `names`.
    pub addresses: Vec<u64>,
    /// The call that each of them is for.
    names: Vec<&'static str>,
}

impl Entries {
    /// Those of a linked kernel, as far as it has the calls.
    ///
    /// # Errors
    /// That it cannot be read, or is for another machine than x86-64.
    pub fn of(vmlinux: &Path) -> Result<Self> {
        let shown = vmlinux.display();
        let bytes = Bytes::open(vmlinux).with_context(|| format!("cannot read {shown}"))?;
        let program = Program::parse(&bytes).with_context(|| format!("cannot read {shown}"))?;
        let entry = program.address_of(ENTRY).ok_or_else(|| {
            Failure::new(format!("{shown} has no {ENTRY}, where system calls enter a kernel"))
        })?;
        let found = calls::names().into_iter().flat_map(|name| {
            let functions = functions(name).into_iter();
            functions.filter_map(|name| program.address_of(&name)).map(move |at| (name, at))
        });
        let (names, addresses) = found.collect::<Vec<_>>().into_iter().unzip();
        Ok(Self { entry, addresses, names })
    }

    /// The cycles of each call, their median over all times that it was made; `calls` has numbers of addresses.
    pub fn medians(&self, calls: &[(usize, CoreCounts)], core: &Core) -> calls::Costs {
        let mut cycles: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (number, counts) in calls {
            if let Some(name) = self.names.get(*number) {
                cycles.entry(name).or_default().push(core.cycles(counts));
            }
        }
        let median = |mut all: Vec<u64>| {
            all.sort_unstable();
            all[all.len() / 2]
        };
        cycles.into_iter().map(|(name, all)| (name.to_owned(), median(all))).collect()
    }
}

/// Names that the function of a call may have. The one of the call's own name may be that of an older call, which is
/// made no more: `newfstat`, `newuname`, `sendfile64`.
fn functions(call: &str) -> [String; 3] {
    [("", ""), ("new", ""), ("", "64")]
        .map(|(before, behind)| format!("__x64_sys_{before}{call}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_its_median_on_the_core() {
        let names = vec!["close", "open", "open"];
        let entries = Entries { entry: 1, addresses: vec![2, 3, 4], names };
        let core = Core::of("small").unwrap();
        let counts = |instructions, l1i| CoreCounts { instructions, l1i, ..CoreCounts::default() };
        let calls =
            [(1, counts(100, 2)), (0, counts(7, 0)), (2, counts(90, 2)), (1, counts(500, 9))];
        let found = entries.medians(&calls, &core);
        let expected = [("close".to_owned(), 7), ("open".to_owned(), 130)];
        assert_eq!(found, calls::Costs::from(expected));
        assert_eq!(entries.medians(&[(9, counts(1, 1))], &core), calls::Costs::new());
    }
}
