//! The experiment: boots the guest for its tests, for what calls and faults cost, and for the thesis's tables.

mod tables;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use trimtab_lab::observe::Observe;
use trimtab_lab::threads;
use trimtab_lab::workdir::WorkDir;
use trimtab_link::Feature;
use trimtab_machine::boot::{Boot, Outcome, limits};

use crate::guest::{COSTS, Guest, PROXY_COSTS, STALE, STRESS_FULL, STRESS_SHORT, Setup, TESTS};
pub use tables::TablesRequest;

use crate::report::{AppKernelReport, Cost, Costs, KernelFacts, Size, Stale, Stress, TestResult};

/// What to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where to work, and where what was built is kept.
    pub work: PathBuf,
    /// CPUs of the guest, 2 to 16; Linux has one of them.
    pub cpus: u32,
    /// Whether what is repeated thousands of times is also repeated millions of times.
    pub stress: bool,
    /// What the guest's kernel is given beside what the module needs, so that others can use it, too.
    pub others: Vec<&'static Feature>,
    /// How large the module is, if somebody counted.
    pub size: Option<Size>,
    /// The thesis's tables, if they are wanted.
    pub tables: Option<TablesRequest>,
}

/// Boots the guest as often as it takes, and gives what was found.
///
/// # Errors
/// Missing tools, builds that fail, and guests that do not come up.
pub fn run(request: &Request, observer: &dyn Observe) -> Result<AppKernelReport> {
    // Long: the boots in their order, and what each says.
    let work = WorkDir::open(&request.work)?;
    let stage = observer.stage("kernel, module and guest");
    let guest = Guest::build(&work, &["up"], &request.others)?;
    stage.ended(false, &format!("Linux {} without SMP", guest.version));
    let folder = work.scratch()?;
    let boot = |setup: &Setup<'_>| {
        let stage = observer.stage(&format!("boot: {}", setup.name));
        let booted = guest.boot_showing(setup, folder.path(), &mut |done, total| {
            stage.parts(total);
            stage.at(done);
        })?;
        stage.ended(false, "it came up, and ended well");
        anyhow::Ok(booted)
    };
    let own = Setup {
        name: "",
        cpus: request.cpus,
        linux_cpus: None,
        counted: false,
        parameters: &[],
        workload: TESTS,
        limit: limits::SMALL_GUEST,
    };
    // By burst=0 no thread goes home: what is tested, and measured, is the way there and back. By around=1 each fault
    // brings one page.
    let costs = |name, parameters| Setup {
        name,
        parameters,
        workload: COSTS,
        counted: true,
        cpus: 2,
        ..own
    };
    // A CPU for Linux, and one for each of three threads.
    let stress = Setup { cpus: request.cpus.max(4), parameters: &["burst=0"], ..own };
    let mut setups = vec![
        Setup { name: "tests", ..own },
        costs("costs-sleeping", &["burst=0", "around=1"]),
        costs("costs-polling", &["burst=0", "around=1", "poll=1"]),
        costs("costs-switching", &["burst=0", "around=1", "halt=0"]),
        Setup { workload: PROXY_COSTS, ..costs("costs-proxy", &["burst=0", "around=1"]) },
        Setup { name: "stale-told", workload: STALE, ..own },
        Setup { name: "stale-ignored", workload: STALE, parameters: &["ignore_stale=1"], ..own },
        // Its CPUs really run at the same time.
        Setup { name: "stress", workload: STRESS_SHORT, ..stress },
    ];
    if request.stress {
        setups.extend(STRESS_FULL.map(|long| Setup {
            name: long.name,
            workload: long.name,
            counted: long.counted,
            limit: limits::STRESS,
            ..stress
        }));
    }
    // Two at once: one whose instructions are its clock runs in one thread of the host.
    let booted = threads::each_on(2, &setups, |_, setup| boot(setup), |_| ())?;
    let [tests, sleeps, polls, switches, proxied, told, ignored, stressed @ ..] = booted.as_slice()
    else {
        bail!("{} guests were booted; expected {}", booted.len(), setups.len());
    };

    let results = tests
        .tests
        .all()
        .iter()
        .map(|test| TestResult { name: test.name.clone(), passed: test.outcome == Outcome::Pass });
    let mut report = AppKernelReport {
        kernel: KernelFacts { version: guest.version.clone(), smp: false },
        cpus: request.cpus,
        tests: results.collect(),
        left: said(tests, "left")?,
        stale: Stale { told: said(told, "stale-pages")?, ignored: said(ignored, "stale-pages")? },
        stress: Stress {
            operations: sum(stressed, "stress-operations")?,
            forwarded: sum(stressed, "stress-forwarded")?,
            errors: sum(stressed, "stress-errors")?,
        },
        calls: costs_of("call", [sleeps, polls, switches, proxied])?,
        fault: costs_of("fault", [sleeps, polls, switches, proxied])?,
        size: request.size,
        ..AppKernelReport::default()
    };
    if let Some(asked) = &request.tables {
        let found = tables::run(&work, &guest, &request.others, asked, observer)?;
        report.quantum = asked.quantum;
        (report.programs, report.noise, report.qemu) = (found.programs, found.noise, found.qemu);
    }
    report.checks = report.judged();
    Ok(report)
}

fn costs_of(what: &str, boots: [&Boot; 4]) -> Result<Costs> {
    let [sleeps, polls, switches, proxied] = boots;
    let cost = |boot: &Boot| -> Result<Cost> {
        Ok(Cost {
            native: said(boot, &format!("native-{what}"))?,
            forwarded: said(boot, &format!("forwarded-{what}"))?,
        })
    };
    Ok(Costs {
        sleeping: cost(sleeps)?,
        polling: cost(polls)?,
        switching: cost(switches)?,
        proxy: cost(proxied)?,
    })
}

/// The sum of a number that the tests of several guests said.
fn sum(boots: &[Boot], name: &str) -> Result<u64> {
    boots.iter().map(|boot| said(boot, name)).sum()
}

/// A number that the guest's tests said.
fn said(boot: &Boot, name: &str) -> Result<u64> {
    let value = boot.said.get("appkernel").and_then(|topic| topic.get(name));
    value
        .and_then(|value| value.parse().ok())
        .with_context(|| format!("the guest did not say {name}: see {}", boot.console.display()))
}
