//! Optuna's TPE, where python3 has it or can get it: for the comparison alone.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use trimtab_lab::observe::Observe;
use trimtab_lab::process::{Job, RunningJob};

use crate::search::{Outcome, Search};
use crate::space::{Point, Space};

/// What runs in Python.
const SCRIPT: &str = include_str!("../../../../bench/optuna_search.py");
/// How long one search may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
/// What a set of flags that failed is told to cost.
const FAILED: f64 = 10.0;

/// A Python that has Optuna.
#[derive(Debug, Clone)]
pub struct Optuna {
    python: PathBuf,
}

impl Optuna {
    /// Finds it, or installs it into a Python of its own in the work directory.
    ///
    /// # Errors
    /// Why it is not to be had.
    pub fn find(work: &Path, observe: &dyn Observe) -> Result<Self, String> {
        let has = |python: &Path| {
            Job::new("looking for Optuna", python)
                .args(["-c", "import optuna"])
                .limit(Duration::from_secs(60))
                .run()
        };
        let first = |error: &dyn std::fmt::Display| {
            error.to_string().lines().next().unwrap_or_default().to_owned()
        };
        // It is started in other folders.
        let own = std::path::absolute(work.join("tune").join("optuna"));
        let own = own.map_err(|error| first(&error))?;
        let inside = own.join("bin/python3");
        for python in [Path::new("python3"), &inside] {
            if has(python).is_ok() {
                return Ok(Self { python: python.to_owned() });
            }
        }
        let stage = observe.stage("install Optuna for the comparison");
        Job::new("making a Python for Optuna", "python3")
            .args(["-m", "venv"])
            .arg(&own)
            .run()
            .map_err(|error| first(&error))?;
        Job::new("installing Optuna", &inside)
            .args(["-m", "pip", "install", "--quiet", "optuna"])
            .run()
            .map_err(|error| first(&error))?;
        has(&inside).map_err(|error| first(&error))?;
        stage.done("");
        Ok(Self { python: inside })
    }

    /// Begins a search of so many points.
    ///
    /// # Errors
    /// That it cannot be started.
    pub fn begin(
        &self,
        space: &Space,
        seeds: &[Point],
        seed: u64,
        budget: usize,
    ) -> Result<OptunaSearch> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write("search.py", SCRIPT)?;
        let most: Vec<u8> = (0..space.len()).map(|choice| space.most(choice)).collect();
        let seeds: Vec<&[u8]> = seeds.iter().map(Point::values).collect();
        let asked = serde_json::json!({
            "most": most, "seeds": seeds, "seed": seed, "trials": budget * 4,
        });
        write("asked.json", &asked.to_string())?;
        write("costs", "")?;
        let costs = folder.path().join("costs");
        let costs = File::options().append(true).open(&costs).context("cannot open costs")?;
        let running = Job::new("Optuna", &self.python)
            .arg("search.py")
            .dir(folder.path())
            .limit(LIMIT)
            .spawn_lines()?;
        Ok(OptunaSearch { running, costs, _folder: folder })
    }
}

/// A search that Optuna does: it writes a line for each point, and reads what each costs.
pub struct OptunaSearch {
    running: RunningJob,
    costs: File,
    _folder: TempDir,
}

impl Search for OptunaSearch {
    fn ask(&mut self, _most: usize) -> Vec<Point> {
        let line = self.running.next_line().ok().flatten();
        let values = line.and_then(|line| {
            line.text.split(' ').map(|value| value.parse().ok()).collect::<Option<Vec<u8>>>()
        });
        // None where it has ended: then the search has.
        values.map(Point::new).into_iter().collect()
    }

    fn tell(&mut self, _point: &Point, outcome: &Outcome) {
        // Where it has ended there is nobody to be told.
        let _ = writeln!(self.costs, "{}", outcome.cost().min(FAILED));
    }
}
