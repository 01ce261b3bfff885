//! What users would take instead of tuning, and where a search begins.

use super::compiler::Family;
use crate::space::{Point, Space};

/// What a user would take instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// What it is called.
    pub name: &'static str,
    /// Its flags.
    pub flags: &'static [&'static str],
}

/// The arms of a compiler's family.
pub fn arms(family: Family, portable: bool) -> Vec<Arm> {
    let arm = |name, flags| Arm { name, flags };
    let lto: &[&str] = match family {
        Family::Gcc => &["-O2", "-flto"],
        Family::Clang => &["-O2", "-flto=thin"],
    };
    let lto_name = match family {
        Family::Gcc => "-O2 -flto",
        Family::Clang => "ThinLTO",
    };
    let mut arms = vec![
        arm("-O2", &["-O2"][..]),
        arm("-O3", &["-O3"]),
        arm("-Os", &["-Os"]),
        arm("-O3 -march=native", &["-O3", "-march=native"]),
        arm("PGO", &["-O2", "-fprofile-use"]),
        arm("PGO at -O3", &["-O3", "-fprofile-use"]),
        arm(lto_name, lto),
    ];
    arms.retain(|arm| !(portable && arm.flags.contains(&"-march=native")));
    arms
}

/// Points that are worth trying first: levels, arms, and arms together. Those of which the space does
/// not have all options are left out.
pub fn seeds(space: &Space, family: Family) -> Vec<Point> {
    let lto = match family {
        Family::Gcc => "-flto",
        Family::Clang => "-flto=thin",
    };
    let wanted: &[&[&str]] = &[
        &["-O2"],
        &["-O3"],
        &["-O3", "-march=native"],
        &["-O2", "-fprofile-use"],
        &["-O3", "-fprofile-use"],
        &["-O3", "-march=native", "-fprofile-use"],
        &["-O2", "-march=native", "-fprofile-use"],
        &["-O3", lto, "-fprofile-use"],
        &["-O3", "-march=native", lto, "-fprofile-use"],
        &["-O3", "-funroll-loops"],
        &["-O3", "-march=x86-64-v3"],
        &["-Os"],
    ];
    wanted.iter().filter_map(|options| space.point(options)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::parse;

    #[test]
    fn seeds_are_what_the_space_has() {
        let space = parse("EITHER 2\n-O1\n-O3\n-funroll-loops\n", "-O2").ok();
        let space = space.unwrap_or_default();
        let flags: Vec<Vec<String>> =
            seeds(&space, Family::Gcc).iter().map(|point| space.flags(point)).collect();
        assert_eq!(flags, [vec!["-O2"], vec!["-O3"], vec!["-O3", "-funroll-loops"]]);
    }

    #[test]
    fn what_is_for_this_machine_can_be_left_out() {
        let native = |portable| {
            let all = arms(Family::Gcc, portable);
            all.iter().any(|arm| arm.flags.contains(&"-march=native"))
        };
        assert!(native(false) && !native(true));
        assert!(arms(Family::Clang, false).iter().any(|arm| arm.name == "ThinLTO"));
    }
}
