//! What `trimtab rent plan` found: `trimtab.rent.plan/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::Repeat;
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{
    Number, Unit, code, count, hundredths, or_none, plain, seconds, share, strong,
};
use trimtab_report::section::{Head, Headline, Section, Table, Tile, name, number};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

use crate::plan::{Counts, Policy, Pool, Recommendation};

/// What renting would bring, by a trace of a kernel without it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RentPlan {
    /// Its schema.
    pub schema: Schema<RentPlan>,
    /// Where the trace is from.
    pub source: Source,
    /// What of it counts.
    pub coverage: Coverage,
    /// Each size with each policy.
    pub pools: Vec<Pool>,
    /// What to take; none where renting gains nothing.
    pub recommended: Option<Recommendation>,
    /// What makes this less exact, a sentence each.
    pub warnings: Vec<String>,
    /// How long it took.
    pub took: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Its files, in their order.
    pub traces: Vec<String>,
    /// Bytes of a page.
    pub page_size: u64,
    /// What it takes to copy a page.
    pub copy_nanoseconds: f64,
    /// Where the page cache is guessed from reads of block devices: its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guessed_memory_mib: Option<u32>,
    /// Seconds from its first event to its last.
    pub seconds: f64,
    /// The most pages that were known to be in the page cache at once, in MiB.
    pub most_resident_mib: f64,
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    /// Of the pages that were evicted, the share that was seen to come.
    pub known: f64,
    /// Of the pages that were evicted, the share that can be stored.
    pub storable: f64,
    /// Whether events say which pages are active; else that is guessed.
    pub has_activations: bool,
    /// Whether events say when files go.
    pub has_files: bool,
    /// The numbers.
    #[serde(flatten)]
    pub counts: Counts,
}

impl RentPlan {
    /// The pool that is recommended, with its place among all.
    fn chosen(&self) -> Option<(usize, &Pool)> {
        let recommended = self.recommended?;
        let is_it = |pool: &Pool| pool.mib == recommended.mib && pool.policy == recommended.policy;
        self.pools.iter().enumerate().find(|(_, pool)| is_it(pool))
    }

    fn advice(&self) -> Phrase {
        match self.chosen() {
            Some((at, pool)) => phrase![
                "Rent ",
                plain("recommended.mib", pool.mib),
                " MiB and store ",
                strong(code(pool.policy.name())),
                ": that saves ",
                Self::saved(at, pool),
                " MiB of reads, ",
                share(format!("pools.{at}.share"), pool.share),
                " of what is read again after it was evicted, for ",
                hundredths(format!("pools.{at}.copy_cpu_pct"), pool.copy_cpu_pct),
                " % of the time of one CPU.",
            ],
            None => phrase![
                "Renting gains nothing here: of ",
                count("coverage.added", self.coverage.counts.added),
                " pages that came into the page cache, ",
                count("coverage.returned", self.coverage.counts.returned),
                " had been evicted before, and the largest pool would have had too few of them.",
            ],
        }
    }

    fn rows(&self, policy: Policy) -> impl Iterator<Item = (usize, &Pool)> {
        self.pools.iter().enumerate().filter(move |(_, pool)| pool.policy == policy)
    }

    fn curve(&self) -> Section {
        let columns = [
            number("pool, MiB"),
            name("store"),
            number("hits"),
            number("of returned"),
            number("saved, MiB"),
            number("copies"),
            number("CPU, %"),
            number("to activate").aside(),
        ];
        let rows = self.pools.iter().enumerate().map(|(at, pool)| {
            let key = |field: &str| format!("pools.{at}.{field}");
            row![
                plain(key("mib"), pool.mib),
                pool.policy.name(),
                count(key("hits"), pool.hits),
                share(key("share"), pool.share),
                Self::saved(at, pool),
                count(key("copies"), pool.copies),
                hundredths(key("copy_cpu_pct"), pool.copy_cpu_pct),
                count(key("activation.most_pages"), pool.activation.most_pages),
            ]
        });
        let line = |policy: Policy, class, broken| Line {
            label: format!("store={}", policy.name()),
            class,
            broken,
            values: self.rows(policy).map(|(_, pool)| pool.misses_saved_mib).collect(),
        };
        let figure = Figure::Steps {
            what: "MiB of reads saved".to_owned(),
            along: "MiB of rental memory".to_owned(),
            steps: self.rows(Policy::All).map(|(_, pool)| pool.mib.to_string()).collect(),
            lines: vec![
                line(Policy::All, "after", false),
                line(Policy::Workingset, "after", true),
                line(Policy::Twice, "before", false),
            ],
            scale: Scale::Linear,
        };
        let lede = "Hits are pages that are found in the pool; of returned is the share that need not be read of \
                    all that came back after they had been evicted. Copies are into the pool and out of it to \
                    normal memory; what is read is read where it is, as far as the trace has reads. To \
                    activate are the most copies of pages that were active when they were evicted, or read since: what a return \
                    with adaptive activation moves back, if it has the time.";
        Section::new("pools", "What pools save and cost", lede)
            .with(Table::new("Pools", columns, rows))
            .with(figure)
    }

    /// What a pool saves.
    fn saved(at: usize, pool: &Pool) -> Number {
        Number::new(format!("pools.{at}.misses_saved_mib"), pool.misses_saved_mib, Unit::Exact(1))
    }

    /// Hit ratios, where they are known.
    fn ratios(&self) -> Option<Section> {
        let rows: Vec<_> = self
            .rows(Policy::All)
            .filter(|(_, pool)| pool.hit_ratio.is_some())
            .map(|(at, pool)| {
                let key = |field: &str| format!("pools.{at}.{field}");
                row![
                    plain(key("mib"), pool.mib),
                    or_none(pool.hit_ratio, |ratio| share(key("hit_ratio"), ratio)),
                    or_none(pool.lru_hit_ratio, |ratio| share(key("lru_hit_ratio"), ratio)),
                ]
            })
            .collect();
        let lede = "Shares of all uses that are seen that find their page in normal memory or in the pool; and in one \
                    memory as large as both, which drops what was used least recently.";
        let columns = [number("pool, MiB"), number("hit ratio"), number("of one LRU memory")];
        let table = Table::new("Hit ratios", columns, rows);
        (!table.rows.is_empty()).then(|| Section::new("ratios", "Hit ratios", lede).with(table))
    }

    fn seen(&self) -> Section {
        let counts = &self.coverage.counts;
        let line =
            |what: &str, key: &str, value: u64| row![what, count(format!("coverage.{key}"), value)];
        let evicted = match self.source.guessed_memory_mib {
            Some(_) => "evicted, as far as that is guessed",
            None => "evicted by kswapd",
        };
        let rows = [
            line("came into the page cache", "added", counts.added),
            line("of these, came back after an eviction", "returned", counts.returned),
            line(evicted, "kswapd", counts.kswapd),
            line("evicted in direct reclaim", "direct", counts.direct),
            line("evicted, of large folios: not stored", "large", counts.large),
            line("evicted, without a block device: not stored", "unsuited", counts.unsuited),
            line("truncated or invalidated", "truncated", counts.truncated),
            line("copies dropped since their file lost all its pages", "inferred", counts.inferred),
            line("read where they were", "accesses", counts.accesses),
            line("folios that became active", "activations", counts.activations),
        ];
        Section::new("seen", "What the trace says", "Pages, where nothing else is said.")
            .with(Table::new("Pages", [name("pages"), number("how many")], rows))
    }
}

impl Report for RentPlan {
    const VERB: &'static str = "rent plan";
    const SCHEMA: &'static str = "trimtab.rent.plan/1";

    fn title(&self) -> String {
        format!("Rental memory for {}", self.source.traces.join(", "))
    }

    fn head(&self) -> Head {
        let counts = &self.coverage.counts;
        let headline = match self.chosen() {
            Some((at, pool)) => {
                Headline::One(share(format!("pools.{at}.share"), pool.share).into())
            }
            None => Headline::Words,
        };
        Head {
            headline,
            what: match self.recommended {
                Some(_) => phrase!["of what is read again need not be"],
                None => phrase!["renting gains nothing here"],
            },
            summary: vec![
                self.advice(),
                phrase![
                    "Recorded: ",
                    seconds("source.seconds", self.source.seconds),
                    "; pages that came: ",
                    count("coverage.added", counts.added),
                    "; that came back after an eviction: ",
                    count("coverage.returned", counts.returned),
                    "; evicted: ",
                    count("", counts.kswapd + counts.direct),
                    ".",
                ],
            ],
            alarm: (!self.warnings.is_empty()).then(|| {
                ("This is less exact than it could be.".to_owned(), self.warnings.clone())
            }),
            tiles: self
                .chosen()
                .map(|(at, pool)| Tile::new(Self::saved(at, pool), "MiB of reads saved", ""))
                .into_iter()
                .collect(),
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        [Some(self.curve()), self.ratios(), Some(self.seen())].into_iter().flatten().collect()
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("reading and replaying", "took", self.took)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Activation;

    fn sample() -> RentPlan {
        let pool = |mib: f64, policy, hits: u64| Pool {
            mib,
            policy,
            hits,
            share: hits as f64 / 4096.0,
            misses_saved_mib: hits as f64 / 256.0,
            hits_in_place: 0,
            stores: 5000,
            copies: 5000 + hits,
            copy_cpu_pct: 0.25,
            small_file_hits: 3,
            activation: Activation { mean_pages: 10.5, most_pages: 20 },
            hit_ratio: Some(0.75),
            lru_hit_ratio: Some(0.76),
        };
        let counts = Counts { added: 9000, returned: 4096, kswapd: 6000, ..Counts::default() };
        RentPlan {
            source: Source { traces: vec!["<board>.txt".to_owned()], ..Source::default() },
            coverage: Coverage { known: 1.0, storable: 1.0, counts, ..Coverage::default() },
            pools: vec![
                pool(8.0, Policy::All, 512),
                pool(8.0, Policy::Twice, 400),
                pool(33.0, Policy::All, 3072),
                pool(33.0, Policy::Twice, 3000),
            ],
            recommended: Some(Recommendation { mib: 33.0, policy: Policy::Twice }),
            warnings: vec!["It has no files.".to_owned()],
            ..RentPlan::default()
        }
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let mut plan = sample();
        assert_eq!(RentPlan::from_json(&plan.to_json()).unwrap(), plan);
        let text = plan.terminal(120);
        for shown in
            ["Rent 33 MiB and store twice", "11.7 MiB", "73.2 %", "3,072", "no files", "76.0 %"]
        {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let page = plan.page();
        assert!(page.contains("&lt;board&gt;.txt") && page.contains("<svg"));
        plan.recommended = None;
        assert!(plan.terminal(120).contains("Renting gains nothing here: of 9,000 pages"));
    }

    #[test]
    fn the_keys_are_those_that_were_promised() {
        let json: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
        assert_eq!(json["schema"], "trimtab.rent.plan/1");
        assert_eq!(json["source"]["traces"][0], "<board>.txt");
        assert_eq!(json["coverage"]["kswapd"], 6000);
        let pool = &json["pools"][3];
        assert_eq!((&pool["mib"], &pool["policy"]), (&33.0.into(), &"twice".into()));
        for key in ["hits", "misses_saved_mib", "copies", "copy_cpu_pct"] {
            assert!(pool[key].is_number(), "{key}");
        }
        assert_eq!(json["recommended"]["policy"], "twice");
    }
}
