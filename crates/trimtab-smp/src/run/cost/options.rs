//! Lines of two configurations that only one has.

use std::collections::BTreeSet;

use crate::report::cost::ByKernel;

/// Compares two whole `.config` files.
pub(super) fn compared(up: &str, smp: &str) -> ByKernel<Vec<String>> {
    let (up, smp) = (set(up), set(smp));
    let only =
        |one: &BTreeSet<&str>, other| one.difference(other).map(ToString::to_string).collect();
    ByKernel { up: only(&up, &smp), smp: only(&smp, &up) }
}

/// What is set: an option that is off is like one that is not asked for.
fn set(configuration: &str) -> BTreeSet<&str> {
    configuration.lines().filter(|line| line.starts_with("CONFIG_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off_is_as_what_is_not_there() {
        let up = "# CONFIG_SMP is not set\nCONFIG_TINY_RCU=y\nCONFIG_HZ=250\nCONFIG_NR_CPUS=1\n";
        let smp = "CONFIG_SMP=y\nCONFIG_HZ=250\nCONFIG_NR_CPUS=64\n# CONFIG_MAXSMP is not set\n";
        let found = compared(up, smp);
        assert_eq!(found.up, ["CONFIG_NR_CPUS=1", "CONFIG_TINY_RCU=y"]);
        assert_eq!(found.smp, ["CONFIG_NR_CPUS=64", "CONFIG_SMP=y"]);
        assert_eq!(compared("", ""), ByKernel::default());
    }
}
