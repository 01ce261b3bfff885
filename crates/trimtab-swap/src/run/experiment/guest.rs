//! What runs in the guest: each workload, and then what the kernel counted.

use trimtab_machine::guest::{self, GuestError, Workload};

use trimtab_lab::failure::Failure;

/// Begins the names of the scripts that also say what was counted.
const COUNTED: &str = "swap-";
/// All workloads, several times.
const ALL: &str = "all";
/// All workloads, with cyclictest beside them.
const LATENCY: &str = "latency";
/// What sleeps and wakes in real time beside them.
const TIMER: &str = "cyclictest";
/// How often.
const ROUNDS: u32 = 3;

/// Ends and removes what a workload leaves: it is written for a guest that has just come up.
const CLEAN: &str = "kill -9 -1 2>/dev/null; rm -rf /tmp/* /etc/rc.d";

/// Begins the argument of the kernel that says how often a workload runs.
const ROUNDS_ARGUMENT: &str = "trimtab.rounds=";

/// Reads the kernel's table of its symbols, where it has one, all of which is to be there.
const SYMBOLS: &str = "\
\tif [ -r /proc/kallsyms ]; then
\t\tfound=$(sort /proc/kallsyms | md5sum)
\t\t[ \"$found\" = \"${first=$found}\" ] || { status=1; echo \"the symbols changed\"; }
\tfi
";

/// Says what was counted, a line each; init's own words are of the same form.
const REPORT: &str = "\
/bin/busybox --install -s /bin
mkdir -p /sys/kernel/debug
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
dmesg -n 1
while read -r name value unit; do
	[ \"$name\" != MemTotal: ] || echo \"trimtab: coldswap mem_total_kib $value\"
done < /proc/meminfo
echo \"trimtab: coldswap cpus $(nproc)\"
while read -r name value; do
	echo \"trimtab: coldswap $name $value\"
done < /sys/kernel/debug/coldswap/stats
exit $status
";

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
    for name in &names {
        // Before the first round there is no tool but the shell.
        let script = format!(
            "status=0\nround=0\nrounds=1\nread -r line < /proc/cmdline\nfor word in $line; do\n\
             \tcase $word in {ROUNDS_ARGUMENT}*) rounds=${{word#*=}};; esac\ndone\n\
             while [ $round -lt $rounds ]; do\n\
             \tif [ $round -gt 0 ]; then {CLEAN}; fi\n\
             \tround=$((round + 1))\n\
             \tsh /etc/trimtab/{name}.sh || status=$?\ndone\n{REPORT}"
        );
        scripts.push(Workload { name: counted(name), script });
    }
    let every = format!(
        "status=0\nround=0\nwhile [ $round -lt {ROUNDS} ]; do\n\tround=$((round + 1))\n\
         \tfor name in {}; do\n\t\t{CLEAN}\n\
         \t\tsh /etc/trimtab/$name.sh || {{ status=$?; echo \"workload $name failed\"; }}\n\
         \tdone\n{SYMBOLS}done\n{REPORT}",
        names.join(" ")
    );
    scripts.push(Workload { name: all(), script: every });
    let late = format!(
        "status=0\n/bin/busybox --install -s /bin\nfor name in {}; do\n\t{CLEAN}\n\
         \t{TIMER} --quiet --mlockall --priority=80 --interval=1000 > /run/late 2> /run/why &\n\
         \ttimer=$!\n\
         \tsh /etc/trimtab/$name.sh || {{ status=$?; echo \"workload $name failed\"; }}\n\
         \tkill -INT $timer\n\twait $timer\n\
         \tworst=$(sed -n 's/.* Max: *\\([0-9]*\\).*/\\1/p' /run/late)\n\
         \t[ \"$worst\" ] || {{ cat /run/late /run/why; continue; }}\n\
         \techo \"trimtab: coldswap late_$name $worst\"\ndone\n{REPORT}",
        names.join(" ")
    );
    scripts.push(Workload { name: latency(), script: late });
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
    fn a_script_ends_as_its_workload_did() {
        for script in
            workloads().unwrap_or_default().iter().filter(|script| script.name.starts_with(COUNTED))
        {
            assert!(script.script.ends_with("exit $status\n"), "{}", script.name);
            assert!(script.script.contains("status=$?"), "{}", script.name);
        }
    }
}
