//! Which functions a kernel with SMP has more, and which are longer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use trimtab_program::{Program, without_suffix};

use crate::report::cost::{ByKernel, FunctionSize, Functions};

/// Compares the functions of two kernels, by name, and gives the bytes of all of each.
pub(super) fn compared(up: &[u8], smp: &[u8]) -> Result<(Functions, ByKernel<u64>)> {
    let read = |file| Program::parse(file).context("the kernel's vmlinux cannot be read");
    let (up, smp) = (read(up)?, read(smp)?);
    let (up, smp) = (bytes(&up), bytes(&smp));
    let all = ByKernel { up: up.values().sum(), smp: smp.values().sum() };
    let names: BTreeSet<&str> = up.keys().chain(smp.keys()).copied().collect();
    let mut functions = Functions::default();
    for name in names {
        let sides = (up.get(name).copied(), smp.get(name).copied());
        let bytes = ByKernel { up: sides.0.unwrap_or(0), smp: sides.1.unwrap_or(0) };
        let class = match sides {
            (None, _) => &mut functions.new,
            (_, None) => &mut functions.gone,
            (Some(up), Some(smp)) if up < smp => &mut functions.grown,
            (Some(up), Some(smp)) if up > smp => &mut functions.shrunk,
            _ => {
                functions.same += 1;
                continue;
            }
        };
        let function = FunctionSize { name: name.to_owned(), bytes };
        class.functions += 1;
        class.bytes += function.change();
        functions.changed.push(function);
    }
    // By name where the change is the same, as they come.
    functions.changed.sort_by_key(|function| Reverse(function.change().unsigned_abs()));
    functions.changed.truncate(Functions::MOST);
    Ok((functions, all))
}

/// Bytes of functions by their names without what compilers put behind it.
fn bytes<'data>(program: &Program<'data>) -> BTreeMap<&'data str, u64> {
    let mut bytes = BTreeMap::new();
    for function in program.functions() {
        *bytes.entry(without_suffix(function.name).0).or_default() += function.range.length();
    }
    bytes
}
