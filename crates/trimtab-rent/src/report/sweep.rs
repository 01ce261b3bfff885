//! What `trimtab rent sweep` found: `trimtab.rent.sweep/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Check, Repeat};
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{count, or_none, times};
use trimtab_report::section::{Head, Section, Table, name, number};
use trimtab_report::{Phrase, Report, Schema, row};

use crate::arm::Arm;
use crate::returning::Returning;

/// Returns of memory of several sizes, in each way, beside loads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RentSweep {
    /// Its schema.
    pub schema: Schema<RentSweep>,
    /// The guest's kernel.
    pub kernel: String,
    /// What machine it is for, as its build names it; empty in reports from before this was said.
    #[serde(default)]
    pub arch: String,
    /// Memory for all but the kernel, the device and the disk, in MiB, as asked for.
    pub normal_mib: u32,
    /// The disk's name.
    pub disk: String,
    /// How long a request of it takes, in microseconds.
    pub disk_latency_us: u64,
    /// How long moving pages may take, in microseconds.
    pub deadline_us: u32,
    /// How long it takes to clear a page in that guest, in nanoseconds.
    pub clear_page_ns: f64,
    /// How long it takes to copy one, in nanoseconds.
    pub copy_page_ns: f64,
    /// Each size in each way beside each load.
    pub returns: Vec<Swept>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// How long it took, in seconds, builds with it.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// Returns of one size in one way beside one load. Times are in nanoseconds of the guest: an instruction takes one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Swept {
    /// What becomes of the memory while the device is closed.
    pub arm: Arm,
    /// What is done with stored pages at the return.
    pub returning: Returning,
    /// The device's memory in MiB.
    pub mib: u32,
    /// The load.
    pub beside: String,
    /// How often the device was opened.
    pub count: u64,
    /// How often it could not be.
    pub failures: u64,
    /// What was wrong in its memory while it was open, or bytes of files that were left where they are overwritten.
    pub errors: u64,
    /// Median of the time of `open`.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// The longest.
    pub max: u64,
    /// The longest by the kernel's own count, without scrubbing and moving, but with interrupts: only of lent memory.
    pub in_kernel_max: u64,
    /// The mean of the same.
    pub in_kernel_mean: u64,
    /// Pages that were stored meanwhile.
    pub stored_pages: u64,
    /// Pages that were overwritten at returns.
    pub scrubbed_pages: u64,
    /// Processor time of that, all together, in nanoseconds.
    pub scrub_cpu_ns: u64,
    /// Pages that were moved to other memory at returns.
    pub moved_pages: u64,
    /// Pages that had been in use and were not moved.
    pub dropped_hot_pages: u64,
    /// Processor time of moving, all together, in nanoseconds.
    pub move_cpu_ns: u64,
    /// How long moving took at most, with whatever else ran meanwhile.
    pub move_max_ns: u64,
}

impl Swept {
    /// For people.
    fn way(&self) -> &'static str {
        match self.arm {
            Arm::Rental => self.returning.name(),
            arm => arm.name(),
        }
    }

    /// What was done with so many pages, and what that took for each, in nanoseconds.
    fn pages(&self) -> Option<(u64, f64)> {
        let (pages, ns) = match self.returning {
            Returning::Plain => return None,
            Returning::Scrub => (self.scrubbed_pages, self.scrub_cpu_ns),
            Returning::Activate => (self.moved_pages, self.move_cpu_ns),
        };
        (pages > 0).then(|| (pages, ns as f64 / pages as f64))
    }

    /// Which share of the pages that had been in use was moved.
    fn kept(&self) -> Option<f64> {
        let all = self.moved_pages + self.dropped_hot_pages;
        (all > 0).then(|| self.moved_pages as f64 / all as f64)
    }
}

/// Nanoseconds as microseconds: of a range, or once if both ends are shown alike.
fn microseconds((least, most): (u64, u64)) -> String {
    let [least, most] = [least, most].map(|ns| format!("{:.1}", ns as f64 / 1e3));
    if least == most { least } else { format!("{least} to {most}") }
}

impl RentSweep {
    /// Whether what must hold does, of all else in the report.
    pub fn judged(&self) -> Vec<Check> {
        let errors: u64 = self.returns.iter().map(|swept| swept.errors).sum();
        let lent = self.returns.iter().filter(|swept| swept.arm == Arm::Rental);
        let failures: u64 = lent.map(|swept| swept.failures).sum();
        let check = |what, ok, detail| Check::new(what, ok, detail);
        let mut checks = vec![
            check(
                "An open device has its memory for itself",
                errors == 0,
                format!("{errors} errors"),
            ),
            check(
                "Each return of lent memory succeeds",
                failures == 0,
                format!("{failures} failures"),
            ),
        ];
        if let Some((least, most)) = self.range_of_plain(|swept| swept.in_kernel_mean)
            && self.sizes().len() > 1
        {
            checks.push(check(
                "return_memory() of one size takes at most twice as long as that of another",
                most <= 2 * least,
                format!("{least} to {most} ns on average"),
            ));
        }
        if let Some((_, most)) = self.range_of_plain(|swept| swept.in_kernel_max) {
            checks.push(check(
                "No return_memory() takes more than 20 µs",
                most <= 20_000,
                format!("{most} ns"),
            ));
        }
        let scrubs = self.returns.iter().filter(|swept| swept.returning == Returning::Scrub);
        let idle = scrubs.filter(|swept| swept.stored_pages > 0 && swept.scrubbed_pages == 0);
        let idle = idle.count();
        checks.push(check(
            "Where pages were stored, they are scrubbed",
            idle == 0,
            format!("{idle} not"),
        ));
        checks
    }

    /// The longest plain return of lent memory, for the size for which that is least and for which it is most.
    fn range_of_plain(&self, time: impl Fn(&Swept) -> u64) -> Option<(u64, u64)> {
        let of = |mib| self.longest(Arm::Rental, Returning::Plain, mib, &time);
        let longest: Vec<u64> = self.sizes().into_iter().filter_map(of).collect();
        Some((*longest.iter().min()?, *longest.iter().max()?))
    }

    /// The longest return of a size in a way, beside all loads.
    fn longest(
        &self,
        arm: Arm,
        returning: Returning,
        mib: u32,
        time: impl Fn(&Swept) -> u64,
    ) -> Option<u64> {
        let of = |swept: &&Swept| (swept.arm, swept.returning, swept.mib) == (arm, returning, mib);
        self.returns.iter().filter(of).map(time).max()
    }

    /// The sizes, each once, the smallest first.
    fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.returns.iter().map(|swept| swept.mib).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Ways that were measured, in their order, with their names.
    fn ways(&self) -> Vec<(Arm, Returning, String)> {
        let mut ways = Vec::new();
        for swept in &self.returns {
            let way = (swept.arm, swept.returning, swept.way().to_owned());
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }

    fn summary(&self) -> Vec<Phrase> {
        let mut said = Vec::new();
        let kernel = self.range_of_plain(|swept| swept.in_kernel_mean);
        let open = self.range_of_plain(|swept| swept.max);
        if let (Some(kernel), Some(open)) = (kernel, open) {
            let sizes = self.sizes();
            let range = match (sizes.first(), sizes.last()) {
                (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
                (first, _) => first.copied().unwrap_or_default().to_string(),
            };
            said.push(
                format!(
                    "A plain return of {range} MiB takes the kernel {} µs on average; the longest call of open takes {}, \
                     with whatever interrupts it.",
                    microseconds(kernel),
                    microseconds(open)
                )
                .into(),
            );
        }
        said
    }

    fn times(&self) -> Section {
        let columns = [
            name("return"),
            number("MiB"),
            name("beside"),
            number("returns"),
            number("failed"),
            number("open, p50, ns"),
            number("p99, ns").aside(),
            number("longest, ns"),
            number("in the kernel, mean"),
            number("longest"),
        ];
        let rows = self.returns.iter().enumerate().map(|(at, swept)| {
            let key = |field: &str| format!("returns.{at}.{field}");
            // There is none if it never opened.
            let time = |field: &str, ns| {
                or_none(Some(ns).filter(|_| swept.count > 0), |ns| count(key(field), ns))
            };
            row![
                swept.way(),
                count(key("mib"), u64::from(swept.mib)),
                swept.beside.clone(),
                count(key("count"), swept.count),
                count(key("failures"), swept.failures),
                time("p50", swept.p50),
                time("p99", swept.p99),
                time("max", swept.max),
                or_none(Some(swept.in_kernel_mean).filter(|&mean| mean > 0), |mean| {
                    count(key("in_kernel_mean"), mean)
                }),
                or_none(Some(swept.in_kernel_max).filter(|&max| max > 0), |max| {
                    count(key("in_kernel_max"), max)
                }),
            ]
        });
        let lede = format!(
            "A device with so much memory is opened at random times beside a load in a guest with Linux {} and about {} \
             MiB for it. The times of open are those of user space, with whatever interrupts it; those in the kernel are \
             its own count of closing the memory, with interrupts. An instruction takes a nanosecond.",
            self.kernel, self.normal_mib
        );
        let title = "Returns";
        let section = Section::new("returns", title, lede).with(Table::new(title, columns, rows));
        if self.sizes().len() > 1 { section.with(self.figure()) } else { section }
    }

    fn figure(&self) -> Figure {
        let sizes = self.sizes();
        let lines = self.ways().into_iter().map(|(arm, returning, label)| Line {
            label,
            class: if (arm, returning) == (Arm::Rental, Returning::Plain) {
                "after"
            } else {
                "before"
            },
            broken: arm == Arm::Rental && returning != Returning::Plain,
            values: sizes
                .iter()
                .map(|&mib| {
                    self.longest(arm, returning, mib, |swept| swept.max).unwrap_or_default().max(1)
                        as f64
                })
                .collect(),
        });
        Figure::Steps {
            what: "ns of the longest return".to_owned(),
            along: "MiB of the device".to_owned(),
            steps: sizes.iter().map(ToString::to_string).collect(),
            lines: lines.collect(),
            scale: Scale::Logarithmic,
        }
    }

    /// What was done with pages, if anything was.
    fn pages(&self) -> Option<Section> {
        let columns = [
            name("return"),
            number("MiB"),
            name("beside"),
            number("pages a return"),
            number("CPU ns a page"),
            number("model"),
            number("longest, µs"),
            number("in use, kept"),
        ];
        let rows: Vec<_> = self
            .returns
            .iter()
            .enumerate()
            .filter_map(|(at, swept)| {
                let (pages, each) = swept.pages()?;
                let (model, longest) = match swept.returning {
                    Returning::Activate => (self.copy_page_ns, Some(swept.move_max_ns)),
                    _ => (self.clear_page_ns, None),
                };
                let key = |field: &str| format!("returns.{at}.{field}");
                let kept = if swept.returning == Returning::Activate { swept.kept() } else { None };
                Some(row![
                    swept.returning.name(),
                    count(key("mib"), u64::from(swept.mib)),
                    swept.beside.clone(),
                    format!("{:.0}", pages as f64 / swept.count.max(1) as f64),
                    format!("{each:.0}"),
                    times("", each / model.max(1.0)),
                    or_none(longest, |ns| format!("{:.0}", ns as f64 / 1e3)),
                    or_none(kept, |kept| format!("{:.1} %", 100.0 * kept)),
                ])
            })
            .collect();
        if rows.is_empty() {
            return None;
        }
        let lede = format!(
            "Scrubbing overwrites pages that have bytes of files; activation moves pages that had been in use to other \
             memory, for {} ms at most. The model is that a page is cleared, which takes {:.0} ns in that guest, or \
             copied, {:.0} ns.",
            f64::from(self.deadline_us) / 1e3,
            self.clear_page_ns,
            self.copy_page_ns
        );
        let title = "What scrubbing and activation take";
        Some(Section::new("pages", title, lede).with(Table::new(title, columns, rows)))
    }
}

impl Report for RentSweep {
    const VERB: &'static str = "rent sweep";
    const SCHEMA: &'static str = "trimtab.rent.sweep/1";

    fn title(&self) -> String {
        "How fast lent memory comes back, by its size".to_owned()
    }

    fn head(&self) -> Head {
        Head {
            facts: vec![super::linux(&self.kernel, &self.arch), self.disk.clone()],
            what: self.title().into(),
            summary: self.summary(),
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        std::iter::once(self.times()).chain(self.pages()).collect()
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

    fn sample() -> RentSweep {
        let of = |arm, returning, mib, max| Swept {
            arm,
            returning,
            mib,
            beside: "rndrw:200".to_owned(),
            count: 10,
            max,
            ..Swept::default()
        };
        let plain = |mib, max, in_kernel_mean| Swept {
            in_kernel_mean,
            in_kernel_max: 4_000,
            ..of(Arm::Rental, Returning::Plain, mib, max)
        };
        RentSweep {
            kernel: "6.12.1".to_owned(),
            arch: "x86_64".to_owned(),
            clear_page_ns: 600.0,
            copy_page_ns: 700.0,
            deadline_us: 50_000,
            returns: vec![
                plain(32, 5_111, 200),
                plain(512, 6_222, 400),
                Swept {
                    scrubbed_pages: 20_000,
                    scrub_cpu_ns: 12_600_000,
                    ..of(Arm::Rental, Returning::Scrub, 32, 2_000_000)
                },
                Swept {
                    moved_pages: 900,
                    dropped_hot_pages: 100,
                    move_cpu_ns: 900 * 2_100,
                    move_max_ns: 343_000,
                    ..of(Arm::Rental, Returning::Activate, 32, 400_000)
                },
                of(Arm::Cma, Returning::Plain, 32, 7_333_333),
            ],
            ..RentSweep::default()
        }
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let found = sample();
        assert_eq!(RentSweep::from_json(&found.to_json()).unwrap(), found);
        let text = found.terminal(120);
        for shown in [
            "32 to 512 MiB takes the kernel 0.2 to 0.4 µs on average",
            "call of open takes 5.1 to 6.2,",
            "7,333,333",
            "2000", // pages a return
            "630",  // nanoseconds for each
            "1.05 ×",
            "3.00 ×",
            "343",
            "90.0 %",
        ] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert_eq!(found.page().matches("<svg").count(), 1);
    }

    #[test]
    fn each_kind_of_error_is_found() {
        assert!(sample().judged().iter().all(|check| check.ok));
        let broken = |change: &dyn Fn(&mut RentSweep)| {
            let mut found = sample();
            change(&mut found);
            found.judged().iter().filter(|check| !check.ok).count()
        };
        assert_eq!(broken(&|found| found.returns[4].errors = 1), 1);
        assert_eq!(broken(&|found| found.returns[2].failures = 1), 1);
        assert_eq!(broken(&|found| found.returns[4].failures = 1), 0, "that it may");
        assert_eq!(broken(&|found| found.returns[1].in_kernel_mean = 401), 1);
        assert_eq!(broken(&|found| found.returns[1].in_kernel_max = 20_001), 1);
        assert_eq!(
            broken(&|found| {
                found.returns[2].stored_pages = 1;
                found.returns[2].scrubbed_pages = 0;
            }),
            1
        );
    }
}
