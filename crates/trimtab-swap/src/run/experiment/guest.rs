//! What runs in the guest: each workload, and then what the kernel counted.

use trimtab_machine::guest::{self, GuestError, Workload};

use trimtab_lab::failure::Failure;

/// Begins the names of the scripts that also say what was counted.
const COUNTED: &str = "swap-";
/// Begins those of what scripts share: no workload can be called so.
const SHARED: &str = "swap_";
/// All workloads, several times.
const ALL: &str = "all";
/// All workloads, with cyclictest beside them.
const LATENCY: &str = "latency";
/// What sleeps and wakes in real time beside them.
const TIMER: &str = "cyclictest";
/// Begins the argument of the kernel that says how often a workload runs.
const ROUNDS_ARGUMENT: &str = "trimtab.rounds=";

/// What the scripts of [`workloads`] share, and what they do with the workloads that they are given.
const COMMON: &str = include_str!("../../../../../guest/swap/common.sh");
const ONE_SCRIPT: &str = include_str!("../../../../../guest/swap/one.sh");
const ALL_SCRIPT: &str = include_str!("../../../../../guest/swap/all.sh");
const LATENCY_SCRIPT: &str = include_str!("../../../../../guest/swap/latency.sh");

/// What a guest needs beside busybox, by the names of the tools.
///
/// # Errors
/// A catalogue of workloads that is not as it should be.
pub(super) fn programs() -> Result<Vec<String>, GuestError> {
    let mut programs = guest::programs_needed()?;
    if !programs.iter().any(|name| name == TIMER) {
        programs.push(TIMER.to_owned());
    }
    Ok(programs)
}

/// The workloads that were asked for; all where none was.
///
/// # Errors
/// Names of workloads that the guest has not; a catalogue that is not as it should be.
pub(super) fn chosen(asked: &[String]) -> anyhow::Result<Vec<String>> {
    let all: Vec<String> =
        Workload::with_programs()?.into_iter().map(|workload| workload.name).collect();
    if let Some(name) = asked.iter().find(|name| !all.contains(name)) {
        return Err(Failure::usage(format!(
            "the guest has no workload {name}, expected {}; see --help",
            all.join(", ")
        ))
        .into());
    }
    Ok(all.into_iter().filter(|name| asked.is_empty() || asked.contains(name)).collect())
}

/// Which of the chosen workloads the plan is not made of.
///
/// # Errors
/// Names of workloads that do not run, and that none is left for the plan.
pub(super) fn held_out(chosen: &[String], asked: &[String]) -> Result<Vec<bool>, Failure> {
    if let Some(name) = asked.iter().find(|name| !chosen.contains(name)) {
        return Err(Failure::usage(format!(
            "{name} is held out and is no workload of this run, expected one of {}; see --help",
            chosen.join(", ")
        )));
    }
    let held_out: Vec<bool> = chosen.iter().map(|name| asked.contains(name)).collect();
    if held_out.iter().all(|held_out| *held_out) {
        return Err(Failure::usage(
            "all workloads are held out, expected at least one of which the plan is made; see --help",
        ));
    }
    Ok(held_out)
}

/// Name of the script that runs each of these workloads once while a thread of real-time priority
/// sleeps and wakes, and says how much too late it woke up at worst: `late_NAME`, in microseconds,
/// where the kernel can wake it at all.
pub(super) fn latency() -> String {
    counted(LATENCY)
}

/// The argument of the kernel with which a counted workload runs so often.
pub(super) fn rounds(number: u32) -> String {
    format!("{ROUNDS_ARGUMENT}{number}")
}

/// Name of the script that runs a workload, as often as [`rounds`] says or once, and says what was
/// counted.
pub(super) fn counted(name: &str) -> String {
    format!("{COUNTED}{name}")
}

/// Name of the script that runs all of them, three times over, and says what was counted.
pub(super) fn all() -> String {
    counted(ALL)
}

/// The guest's scripts.
///
/// # Errors
/// A catalogue of workloads that is not as it should be.
pub(super) fn workloads() -> Result<Vec<Workload>, GuestError> {
    let mut scripts = Workload::with_programs()?;
    let names: Vec<String> = scripts.iter().map(|workload| workload.name.clone()).collect();
    let shared = [("common", COMMON), ("one", ONE_SCRIPT)];
    for (name, text) in shared {
        scripts.push(Workload { name: format!("{SHARED}{name}"), script: text.to_owned() });
    }
    for name in &names {
        let script = format!("workload={name}\n. /etc/trimtab/{SHARED}one.sh\n");
        scripts.push(Workload { name: counted(name), script });
    }
    let given = format!("workloads='{}'\n", names.join(" "));
    for (name, script) in [(all(), ALL_SCRIPT), (latency(), LATENCY_SCRIPT)] {
        scripts.push(Workload { name, script: format!("{given}{script}") });
    }
    Ok(scripts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_those_of_the_guest() {
        let all = chosen(&[]).unwrap_or_default();
        assert_eq!(all.len(), Workload::with_programs().map_or(0, |all| all.len()));
        let two = ["files".to_owned(), "boot".to_owned()];
        assert_eq!(chosen(&two).unwrap_or_default(), ["boot", "files"]);
        let error = chosen(&["swap-boot".to_owned()]).err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("no workload swap-boot, expected boot, ")));
    }

    #[test]
    fn something_is_left_for_the_plan() {
        let [boot, files, media] = ["boot", "files", "media"].map(str::to_owned);
        let chosen = [boot.clone(), files.clone()];
        assert_eq!(held_out(&chosen, &[]).unwrap_or_default(), [false, false]);
        assert_eq!(
            held_out(&chosen, std::slice::from_ref(&files)).unwrap_or_default(),
            [false, true]
        );
        let error = held_out(&chosen, &[media]).err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("expected one of boot, files")));
        let error = held_out(&chosen, &[boot, files]).err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("at least one of which the plan is made")));
    }

    #[test]
    fn scripts_are_right_for_a_shell_and_end_as_their_workloads_did() {
        use std::process::Command;
        for text in [ONE_SCRIPT, ALL_SCRIPT, LATENCY_SCRIPT] {
            assert!(text.ends_with("report\nexit $status\n"), "{text}");
            assert!(text.contains("status=$?"), "{text}");
        }
        let all = workloads().unwrap_or_default();
        let one = all.iter().find(|script| script.name == counted("boot"));
        let expected = "workload=boot\n. /etc/trimtab/swap_one.sh\n";
        assert_eq!(one.map(|script| script.script.as_str()), Some(expected));
        for name in ["swap_common", "swap_one", "swap-all", "swap-latency"] {
            let script = all.iter().find(|script| script.name == name).map(|script| &script.script);
            let checked = Command::new("sh").args(["-n", "-c"]).args(script).status();
            assert!(checked.is_ok_and(|status| status.success()), "{name}");
        }
    }
}
