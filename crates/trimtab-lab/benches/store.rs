//! How long the store takes with 100,000 trials of three measurements each. Every operation must take
//! at most 50 ms, also the slowest of its calls: the benchmark fails otherwise.
//!
//! `cargo bench -p trimtab-lab --bench store`

#![allow(clippy::unwrap_used, reason = "a benchmark may end wherever it cannot go on")]

use std::time::{Duration, Instant};

use trimtab_lab::store::{
    Claim, Experiment, Measurement, NewExperiment, Outcome, Store, TrialName, Which,
};

const TRIALS: u32 = 100_000;
const MOST: Duration = Duration::from_millis(50);

/// The durations of one operation's calls.
struct Calls {
    name: &'static str,
    times: Vec<Duration>,
}

impl Calls {
    fn new(name: &'static str) -> Self {
        Calls { name, times: Vec::new() }
    }

    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = call();
        self.times.push(start.elapsed());
        result
    }

    /// Prints them, and says whether all were quick enough.
    fn print(&mut self) -> bool {
        self.times.sort_unstable();
        let of = |share: f64| {
            let place = (share * (self.times.len() - 1) as f64) as usize;
            self.times[place].as_secs_f64() * 1e3
        };
        let slowest = of(1.0);
        println!(
            "{:<28} {:>7} calls  median {:>7.3} ms  99 % {:>7.3} ms  slowest {slowest:>7.3} ms",
            self.name,
            self.times.len(),
            of(0.5),
            of(0.99)
        );
        slowest <= MOST.as_secs_f64() * 1e3
    }
}

fn name(number: u32) -> TrialName {
    TrialName::new(format!("program {}", number % 7), format!("flags {}", number / 35))
        .round(number / 7 % 5)
}

fn experiment() -> Experiment {
    Experiment {
        finished: std::time::SystemTime::now(),
        verb: "fit kernel".to_owned(),
        command: vec!["trimtab".to_owned()],
        tools: [].into(),
        seed: None,
        hashes: [].into(),
        result: serde_json::json!({"numbers": vec![1.5; 1000]}),
    }
}

fn main() {
    // Tests build benchmarks and run them; what they are for takes a minute.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("experiments.sqlite");
    let mut store = Store::open(&path).unwrap();
    for _ in 0..200 {
        store.insert(&experiment()).unwrap();
    }
    let beginning = NewExperiment { verb: "tune".to_owned(), ..NewExperiment::default() };
    let (id, _) = store.begin(&beginning).unwrap();
    let (mut claim, mut end) = (Calls::new("take a trial"), Calls::new("end it"));
    for number in 0..TRIALS {
        let Claim::Yours(trial) = claim.time(|| store.claim(id, &name(number)).unwrap()) else {
            panic!("trial {number} is taken")
        };
        let numbers = ["time", "size", "instructions"]
            .map(|metric| Measurement::new(metric, "1", f64::from(number)));
        let outcome = Outcome::done().image(format!("{:064x}", number / 3));
        end.time(|| store.end(trial, &outcome, &numbers).unwrap());
    }
    drop(store);

    let (mut open, mut all) = (Calls::new("open"), vec![claim, end]);
    for _ in 0..20 {
        open.time(|| Store::open(&path).unwrap());
    }
    let mut store = Store::open(&path).unwrap();
    let mut known = Calls::new("take one that has ended");
    let mut numbers = Calls::new("read the measurements");
    let mut page = Calls::new("read 1,000 trials");
    let mut progress = Calls::new("count trials by status");
    let mut list = Calls::new("list experiments");
    let mut get = Calls::new("read an experiment");
    let mut insert = Calls::new("store an experiment");
    for call in 0..200u32 {
        // A large odd number spreads the calls over all trials.
        let number = call.wrapping_mul(2_654_435_761) % TRIALS;
        let name = name(number);
        known.time(|| assert!(matches!(store.claim(id, &name).unwrap(), Claim::Ended(_))));
        let after = i64::from(number.min(TRIALS - 1000));
        let found = store.trials(id, after, 1).unwrap();
        assert_eq!(numbers.time(|| store.measurements(found[0].id).unwrap()).len(), 3);
        assert_eq!(page.time(|| store.trials(id, after, 1000).unwrap()).len(), 1000);
        progress.time(|| store.progress(id).unwrap());
        list.time(|| store.list().unwrap());
        get.time(|| store.get(Which::Latest).unwrap());
        insert.time(|| store.insert(&experiment()).unwrap());
    }
    all.extend([open, known, numbers, page, progress, list, get, insert]);
    println!("{TRIALS} trials, {} KiB", std::fs::metadata(&path).unwrap().len() / 1024);
    let slow: Vec<_> =
        all.iter_mut().filter_map(|calls| (!calls.print()).then_some(calls.name)).collect();
    assert!(slow.is_empty(), "slower than {MOST:?}: {slow:?}");
}
