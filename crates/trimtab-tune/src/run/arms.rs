//! What users would take instead of tuning, and where a search begins.

use anyhow::Result;
use trimtab_lab::observe::Observe;

use super::compiler::{Compiler, Family};
use super::evaluator::{Evaluation, Evaluator};
use super::program::ProgramSubject;
use super::tuning::{Toolset, Tuning};
use crate::report::ArmResult;
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
        &["-O3", "-march=x86-64-v3", "-fprofile-use"],
        &["-O3", "-march=x86-64-v3", lto, "-fprofile-use"],
        &["-O3", "-funroll-loops"],
        &["-O3", "-march=x86-64-v3"],
        &["-Os"],
    ];
    wanted.iter().filter_map(|options| space.point(options)).collect()
}

/// An arm, measured.
#[derive(Debug, Clone)]
pub struct MeasuredArm {
    /// What came of it.
    pub result: ArmResult,
    /// The point that is the same in the space, where there is one.
    pub point: Option<Point>,
}

/// The arms of kernels: the others need what kernels must not be given.
pub fn kernel_arms() -> Vec<Arm> {
    let levels: [(&str, &[&str]); 3] = [("-O2", &["-O2"]), ("-O3", &["-O3"]), ("-Os", &["-Os"])];
    levels.map(|(name, flags)| Arm { name, flags }).to_vec()
}

/// What users would take instead of tuning a program, measured: with the points that are the same in the
/// space.
///
/// # Errors
/// What is no fault of the flags.
pub fn program_arms(
    tuning: &Tuning<'_>,
    tools: &Toolset,
    program: &ProgramSubject<'_>,
    observe: &dyn Observe,
) -> Result<Vec<MeasuredArm>> {
    let arms = arms(tuning.family, tools.setup.portable);
    let mut results = measured_arms(tuning, &arms, observe)?;
    if tuning.family == Family::Gcc {
        results.push(MeasuredArm { result: thin_lto(tuning, tools, program)?, point: None });
    }
    Ok(results)
}

/// Arms, measured: with the points that are the same in the space.
///
/// # Errors
/// What is no fault of the flags.
pub fn measured_arms(
    tuning: &Tuning<'_>,
    arms: &[Arm],
    observe: &dyn Observe,
) -> Result<Vec<MeasuredArm>> {
    let stage = observe.stage("measure what users would take");
    let owned = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>();
    let flags: Vec<Vec<String>> = arms.iter().map(|arm| owned(arm.flags)).collect();
    let found = tuning.evaluator.evaluate_all(&flags, |done| stage.at(done as u64))?;
    let results: Vec<MeasuredArm> = arms
        .iter()
        .zip(&found)
        .map(|(arm, found)| {
            let point = tuning.space.point(arm.flags);
            let mut result = arm_result(tuning, arm.name, &arm.flags.join(" "), found);
            result.is_in_space = point.is_some();
            MeasuredArm { result, point }
        })
        .collect();
    stage.done(&format!("{} arms", results.len()));
    Ok(results)
}

/// What came of an arm.
pub fn arm_result(tuning: &Tuning<'_>, name: &str, flags: &str, found: &Evaluation) -> ArmResult {
    let good = found.good();
    ArmResult {
        name: name.to_owned(),
        flags: flags.to_owned(),
        ratio: good.map(|good| tuning.ratio(good)),
        bytes_ratio: good.map(|good| good.bytes / tuning.base.bytes),
        reason: match found {
            Evaluation::Failed(reason) => Some(reason.clone()),
            Evaluation::WorkingImage(_) => None,
        },
        is_in_space: false,
        other_compiler: None,
        configuration: None,
    }
}

/// ThinLTO, which only clang has.
fn thin_lto(
    tuning: &Tuning<'_>,
    tools: &Toolset,
    program: &ProgramSubject<'_>,
) -> Result<ArmResult> {
    let flags = ["-O2", "-flto=thin", "-fuse-ld=lld"].map(str::to_owned);
    let (found, version) = match Compiler::find("clang") {
        Err(error) => (Evaluation::Failed(format!("not measured: {error}")), "clang".to_owned()),
        Ok(clang) => {
            let other = tools.program(&clang);
            if let Some(output) = program.expected() {
                other.expect(output.to_owned());
            }
            let evaluator = Evaluator::new(&other, tools.root())?;
            (evaluator.evaluate(&flags)?, clang.version.clone())
        }
    };
    let mut result = arm_result(tuning, "ThinLTO (clang)", &flags.join(" "), &found);
    result.other_compiler = Some(version);
    Ok(result)
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
