//! What `trimtab rent run` found: `trimtab.rent.run/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Check, Repeat};
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{count, or_none, plain, times};
use trimtab_report::section::{Head, Section, Table, name, number};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

use super::prediction::{self, Prediction};
use crate::arm::Arm;

/// Loads and returns of devices' memory that is idle, lent, or allocated when it is needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RentRun {
    /// Its schema.
    pub schema: Schema<RentRun>,
    /// The guest's kernel.
    pub kernel: String,
    /// What machine it is for, as its build names it; empty in reports from before this was said.
    #[serde(default)]
    pub arch: String,
    /// All memory of devices, in MiB.
    pub pool_mib: u32,
    /// The devices' memory.
    pub regions: Vec<Region>,
    /// Memory for all but the kernel, the devices and the disk, in MiB, as asked for.
    pub normal_mib: u32,
    /// The disk's name.
    pub disk: String,
    /// How long a request of it takes, in microseconds.
    pub disk_latency_us: u64,
    /// MiB that the disk reads or writes in a second, however large requests are; 0 of runs before that was limited.
    pub disk_mib_per_second: u32,
    /// Which evicted pages are stored.
    pub policy: String,
    /// Whether lent memory counts for the limits of dirty pages.
    pub dirtyable: bool,
    /// The ways; the idle one first.
    pub arms: Vec<ArmRun>,
    /// What the oracle found, if it ran.
    pub verify: Option<Verify>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// How long it took, in seconds, builds with it.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// Memory of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Region {
    /// The device.
    pub name: String,
    /// Its memory in MiB.
    pub mib: u32,
}

/// One way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArmRun {
    /// Which.
    pub arm: Arm,
    /// Loads while the devices are closed.
    pub workloads: Vec<WorkloadRun>,
    /// Returns beside the same loads.
    pub returns: Vec<Returns>,
}

/// A load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkloadRun {
    /// Which.
    pub name: String,
    /// How long its requests took, by the guest's clock: an instruction takes one.
    pub nanoseconds: u64,
    /// Requests in a time, in times of those of the idle way.
    pub throughput_ratio: f64,
    /// What was read from the disk, in MiB.
    pub read_mib: f64,
    /// What was written to it, in MiB.
    pub written_mib: f64,
    /// Pages that were found in lent memory, by reads, faults and writes.
    pub hits: u64,
    /// Of these, such as were read where they are.
    pub hits_in_place: u64,
    /// Pages that were copied to it.
    pub stores: u64,
    /// How long the CPU was busy with anything meanwhile, as the kernel samples it 250 times a second.
    pub busy_ns: u64,
    /// Instructions that copied pages to lent memory, and from it to other memory of the kernel: so many copies, each as long as that of a page that is
    /// copied again and again. Finding and listing them is not in it.
    pub copy_instructions: u64,
    /// Memory that was available before the load, in MiB.
    pub available_mib: u64,
    /// How long each start of a program took, sorted, if that is the load.
    pub starts: Vec<u64>,
    /// What the planner predicted of lent memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Prediction>,
    /// Why that cannot be compared, if it cannot.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub not_predicted: String,
}

impl WorkloadRun {
    /// Which share of the time that the CPU was busy it copied pages to and from lent memory.
    fn copying(&self) -> Option<f64> {
        let copied = self.copy_instructions > 0 && self.busy_ns > 0;
        copied.then(|| self.copy_instructions as f64 / self.busy_ns as f64)
    }
}

/// Returns of the memory of all devices together, beside a load. Times are of `open`, in nanoseconds of the guest: an
/// instruction takes one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Returns {
    /// The load.
    pub name: String,
    /// How often all devices were opened.
    pub count: u64,
    /// How often one could not be.
    pub failures: u64,
    /// What was wrong in the memory of an open device.
    pub errors: u64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// The longest.
    pub max: u64,
    /// The longest of the kernel's own count, without the call that led to it: only of lent memory.
    pub in_kernel_max: u64,
    /// Pages that were stored meanwhile.
    pub stores: u64,
    /// Each, sorted: of the first [`MOST_TIMES`].
    pub nanoseconds: Vec<u64>,
}

/// What the oracle found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verify {
    /// Operations on files.
    pub operations: u64,
    /// Reads, and memory of devices, that were not what they should be; the program ends at the tenth.
    pub errors: u64,
    /// Devices that could not be opened.
    pub open_failures: u64,
    /// Bytes that were compared.
    pub bytes: u64,
    /// Pages that were copied from lent memory meanwhile.
    pub hits: u64,
    /// Pages that were copied to it.
    pub stores: u64,
    /// Returns meanwhile.
    pub returns: u64,
}

/// So many times of returns are kept one by one.
pub const MOST_TIMES: u32 = 2_000;

/// Percents of the returns at which the curve of their times is drawn.
const PERCENTS: [usize; 8] = [1, 10, 25, 50, 75, 90, 99, 100];

/// The value below which so many percent of sorted ones are.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

impl RentRun {
    /// Whether what must hold does, of all else in the report.
    pub fn judged(&self) -> Vec<Check> {
        let returns = self.arms.iter().flat_map(|arm| &arm.returns);
        let errors: u64 = returns.map(|returns| returns.errors).sum();
        let rented = self.arms.iter().filter(|arm| arm.arm == Arm::Rental);
        let failures: u64 =
            rented.flat_map(|arm| &arm.returns).map(|returns| returns.failures).sum();
        let mut checks = vec![
            Check::new(
                "Open devices have their memory for themselves",
                errors == 0,
                format!("{errors} errors"),
            ),
            Check::new(
                "Each return of lent memory succeeds",
                failures == 0,
                format!("{failures} failures"),
            ),
        ];
        checks.extend(self.verify.iter().map(|verify| {
            let wrong = verify.errors + verify.open_failures;
            let detail = format!("{wrong} errors in {} operations", verify.operations);
            Check::new("No byte of a file is stale or another's", wrong == 0, detail)
        }));
        // What only a model says is no reason to fail, but that it cannot be compared is.
        let loads = self.arms.iter().flat_map(|arm| &arm.workloads);
        checks.extend(loads.filter(|load| !load.not_predicted.is_empty()).map(|load| {
            let what = format!("What rent plan predicts of {} can be compared", load.name);
            Check::new(&what, false, load.not_predicted.clone())
        }));
        checks
    }

    fn rented(&self) -> Option<(usize, &ArmRun)> {
        self.arms.iter().enumerate().find(|(_, arm)| arm.arm == Arm::Rental)
    }

    fn longest(&self, arm: Arm) -> Option<u64> {
        let all = self.arms.iter().filter(|run| run.arm == arm).flat_map(|run| &run.returns);
        all.map(|returns| returns.max).max().filter(|&max| max > 0)
    }

    fn summary(&self) -> Vec<Phrase> {
        let mut said = Vec::new();
        if let Some((at, arm)) = self.rented() {
            let place = (0..arm.workloads.len()).max_by(|&a, &b| {
                arm.workloads[a].throughput_ratio.total_cmp(&arm.workloads[b].throughput_ratio)
            });
            said.extend(place.map(|place| {
                let key = format!("arms.{at}.workloads.{place}.throughput_ratio");
                phrase![
                    "Lending ",
                    count("pool_mib", u64::from(self.pool_mib)),
                    " MiB gives ",
                    times(key, arm.workloads[place].throughput_ratio),
                    format!(" of the speed in {}.", arm.workloads[place].name),
                ]
            }));
        }
        if let Some(rental) = self.longest(Arm::Rental) {
            let mut text = format!("The longest return takes {:.1} µs", rental as f64 / 1e3);
            for (arm, what) in [(Arm::Cma, "contiguous allocation"), (Arm::Gcma, "GCMA")] {
                if let Some(longest) = self.longest(arm) {
                    text += &format!(", of {what} {:.0} µs", longest as f64 / 1e3);
                }
            }
            said.push((text + ".").into());
        }
        said
    }

    fn loads(&self) -> Section {
        let columns = [
            name("memory of devices"),
            name("load"),
            number("speed, × idle"),
            number("read, MiB"),
            number("written, MiB"),
            number("hits"),
            number("in place").aside(),
            number("stores"),
            number("copying, of CPU time"),
            number("available, MiB").aside(),
        ];
        let rows = self.arms.iter().enumerate().flat_map(|(at, arm)| {
            arm.workloads.iter().enumerate().map(move |(place, load)| {
                let key = |field: &str| format!("arms.{at}.workloads.{place}.{field}");
                // Another kernel does not say.
                let counted = |field, found: u64| {
                    or_none((arm.arm != Arm::Gcma).then_some(found), |found| {
                        count(key(field), found)
                    })
                };
                row![
                    arm.arm.name(),
                    load.name.clone(),
                    times(key("throughput_ratio"), load.throughput_ratio),
                    plain(key("read_mib"), load.read_mib.round()),
                    plain(key("written_mib"), load.written_mib.round()),
                    counted("hits", load.hits),
                    counted("hits_in_place", load.hits_in_place),
                    counted("stores", load.stores),
                    or_none(load.copying(), |share| format!("{:.1} %", 100.0 * share)),
                    count(key("available_mib"), load.available_mib),
                ]
            })
        });
        let speed = match self.disk_mib_per_second {
            0 => String::new(),
            speed => format!(", and reads or writes {speed} MiB in a second"),
        };
        let lede = format!(
            "Random requests of 16 KiB to files of so many MiB, without fsync, in a guest with Linux {} and about {} \
             MiB for them, lists of free pages included: with pre the load has taken so much of it before, with hog it \
             takes that meanwhile. Of starts, the speed is that of all starts together. The disk takes {} µs for a \
             request{}. An instruction takes a nanosecond, so a run repeats exactly. Available is what the guest had \
             before the load, with lent memory left out.",
            self.kernel, self.normal_mib, self.disk_latency_us, speed
        );
        let title = "Loads while the devices are closed";
        Section::new("loads", title, lede).with(Table::new(title, columns, rows))
    }

    fn returns(&self) -> Section {
        let columns = [
            name("memory of devices"),
            name("beside"),
            number("returns"),
            number("failed"),
            number("stores").aside(),
            number("p50, ns"),
            number("p99, ns"),
            number("longest, ns"),
            number("in the kernel, ns").aside(),
        ];
        let rows = self.arms.iter().enumerate().flat_map(|(at, arm)| {
            arm.returns.iter().enumerate().map(move |(place, returns)| {
                let key = |field: &str| format!("arms.{at}.returns.{place}.{field}");
                row![
                    arm.arm.name(),
                    returns.name.clone(),
                    count(key("count"), returns.count),
                    count(key("failures"), returns.failures),
                    count(key("stores"), returns.stores),
                    count(key("p50"), returns.p50),
                    count(key("p99"), returns.p99),
                    count(key("max"), returns.max),
                    or_none(Some(returns.in_kernel_max).filter(|&max| max > 0), |max| {
                        count(key("in_kernel_max"), max)
                    }),
                ]
            })
        });
        let lines = self.arms.iter().filter(|arm| arm.arm != Arm::Idle).map(|arm| {
            let mut all: Vec<u64> =
                arm.returns.iter().flat_map(|returns| returns.nanoseconds.clone()).collect();
            all.sort_unstable();
            Line {
                label: arm.arm.name().to_owned(),
                class: if arm.arm == Arm::Rental { "after" } else { "before" },
                broken: false,
                values: PERCENTS.iter().map(|&at| percentile(&all, at).max(1) as f64).collect(),
            }
        });
        let figure = Figure::Steps {
            what: "ns to open the devices".to_owned(),
            along: "percent of returns".to_owned(),
            steps: PERCENTS.iter().map(ToString::to_string).collect(),
            lines: lines.collect(),
            scale: Scale::Logarithmic,
        };
        let lede = "All devices are opened one after the other, as a player opens decoder and camera, at random times \
                    beside the load; the time is that of the calls of open, from user space. Each page that is \
                    looked at is filled and verified while they are open.";
        let title = "Returns";
        Section::new("returns", title, lede).with(Table::new(title, columns, rows)).with(figure)
    }

    /// How long starts of programs took, if one of the loads is that.
    fn starts(&self) -> Option<Section> {
        let columns = [
            name("memory of devices"),
            number("starts"),
            number("p50, ms"),
            number("p90, ms"),
            number("longest, ms"),
            number("read at each, MiB"),
        ];
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for arm in &self.arms {
            for load in arm.workloads.iter().filter(|load| !load.starts.is_empty()) {
                let ms = |percent| format!("{:.1}", percentile(&load.starts, percent) as f64 / 1e6);
                rows.push(row![
                    arm.arm.name(),
                    load.starts.len().to_string(),
                    ms(50),
                    ms(90),
                    ms(100),
                    format!("{:.2}", load.read_mib / load.starts.len() as f64),
                ]);
                lines.push(Line {
                    label: arm.arm.name().to_owned(),
                    class: if arm.arm == Arm::Rental { "after" } else { "before" },
                    broken: arm.arm == Arm::Cma,
                    values: PERCENTS
                        .iter()
                        .map(|&at| percentile(&load.starts, at) as f64 / 1e6)
                        .collect(),
                });
            }
        }
        if rows.is_empty() {
            return None;
        }
        let figure = Figure::Steps {
            what: "ms of a start".to_owned(),
            along: "percent of starts".to_owned(),
            steps: PERCENTS.iter().map(ToString::to_string).collect(),
            lines,
            scale: Scale::Logarithmic,
        };
        let lede = "Programs are started from the disk one after the other in a random order, with pauses; the time is \
                    from before the process begins until the first byte that it writes.";
        let title = "Starts of programs";
        Some(
            Section::new("starts", title, lede).with(Table::new(title, columns, rows)).with(figure),
        )
    }

    fn verified(&self, verify: &Verify) -> Section {
        let columns = [
            number("operations"),
            number("bytes"),
            number("returns"),
            number("hits"),
            number("errors"),
        ];
        let rows = vec![row![
            count("verify.operations", verify.operations),
            count("verify.bytes", verify.bytes),
            count("verify.returns", verify.returns),
            count("verify.hits", verify.hits),
            count("verify.errors", verify.errors),
        ]];
        let lede = "Random operations on files of ext4 with blocks of 1 KiB, of which each byte that is read is \
                    compared with what should be there: an error is a byte of before, of another file or of a device.";
        let title = "Verified operations";
        Section::new("verify", title, lede).with(Table::new(title, columns, rows))
    }
}

impl Report for RentRun {
    const VERB: &'static str = "rent run";
    const SCHEMA: &'static str = "trimtab.rent.run/1";

    fn title(&self) -> String {
        "What lending devices' memory gives, and how fast it comes back".to_owned()
    }

    fn head(&self) -> Head {
        Head {
            facts: vec![
                super::linux(&self.kernel, &self.arch),
                format!("{} MiB of devices", self.pool_mib),
                self.disk.clone(),
            ],
            what: self.title().into(),
            summary: self.summary(),
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.loads()];
        sections.extend(self.starts());
        sections.extend(prediction::section(&self.arms));
        if self.arms.iter().any(|arm| !arm.returns.is_empty()) {
            sections.push(self.returns());
        }
        sections.extend(self.verify.as_ref().map(|verify| self.verified(verify)));
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("total", "seconds", self.seconds)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> RentRun {
        let load = |ratio: f64| WorkloadRun {
            name: "rndrd:200".to_owned(),
            nanoseconds: 1_234_567,
            throughput_ratio: ratio,
            read_mib: 80.0,
            hits: 4321,
            busy_ns: 1_000_000_000,
            copy_instructions: 123_000_000,
            ..WorkloadRun::default()
        };
        let returns = |max: u64| Returns {
            name: "rndrd:200".to_owned(),
            count: 3,
            max,
            p50: 3_210,
            nanoseconds: vec![3_000, 3_210, max],
            ..Returns::default()
        };
        let arm = |arm, ratio, max| ArmRun {
            arm,
            workloads: vec![load(ratio)],
            returns: vec![returns(max)],
        };
        RentRun {
            kernel: "6.12.1".to_owned(),
            arch: "x86_64".to_owned(),
            pool_mib: 105,
            arms: vec![
                arm(Arm::Idle, 1.0, 900),
                arm(Arm::Rental, 1.75, 11_184),
                arm(Arm::Cma, 1.5, 45_000_000),
            ],
            verify: Some(Verify { operations: 60_000, bytes: 191_526_999, ..Verify::default() }),
            ..RentRun::default()
        }
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let found = sample();
        assert_eq!(RentRun::from_json(&found.to_json()).unwrap(), found);
        let text = found.terminal(110);
        for shown in ["1.75", "11.2 µs", "45000 µs", "11,184", "191,526,999", "4,321", "12.3 %"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert_eq!(found.page().matches("<svg").count(), 1);
    }

    #[test]
    fn nobody_says_how_often_gcma_had_a_page() {
        let mut found = sample();
        found.arms[2].arm = Arm::Gcma;
        let text = found.terminal(110);
        assert!(text.contains(", of GCMA 45000 µs"), "{text}");
        assert_eq!(text.matches("4,321").count(), 2, "{text}");
    }

    #[test]
    fn starts_of_programs_have_a_table_and_a_curve() {
        let mut found = sample();
        assert!(!found.terminal(110).contains("Starts of programs"));
        let starts: Vec<u64> = (1..=40).map(|at| at * 1_500_000).collect();
        found.arms[1].workloads[0] =
            WorkloadRun { starts, read_mib: 20.0, ..WorkloadRun::default() };
        let text = found.terminal(110);
        for shown in ["Starts of programs", "30.0", "54.0", "60.0", "0.50"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert_eq!(found.page().matches("<svg").count(), 2);
    }

    #[test]
    fn each_kind_of_error_is_found() {
        assert!(sample().judged().iter().all(|check| check.ok));
        let broken = |change: &dyn Fn(&mut RentRun)| {
            let mut found = sample();
            change(&mut found);
            found.judged().iter().filter(|check| !check.ok).count()
        };
        assert_eq!(broken(&|found| found.arms[2].returns[0].errors = 1), 1);
        assert_eq!(broken(&|found| found.arms[1].returns[0].failures = 1), 1);
        assert_eq!(broken(&|found| found.arms[2].returns[0].failures = 1), 0, "that it may");
        assert_eq!(broken(&|found| found.verify.as_mut().unwrap().errors = 1), 1);
        assert_eq!(broken(&|found| found.verify.as_mut().unwrap().open_failures = 1), 1);
    }

    #[test]
    fn percentiles_are_of_what_was_measured() {
        let sorted: Vec<u64> = (1..=200).collect();
        assert_eq!(
            PERCENTS.map(|at| percentile(&sorted, at)),
            [2, 20, 50, 100, 150, 180, 198, 200]
        );
        assert_eq!(percentile(&[7], 1), 7);
        assert_eq!(percentile(&[], 50), 0);
    }
}
