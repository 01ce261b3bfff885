//! `llvm-profdata order`, which our orders of functions are compared with.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;
use trimtab_lab::process::{Job, ProcessError};

/// Why there is no order of the peer's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProfdataError {
    /// It did not do it.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The profile could not be written for it.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It printed something else.
    #[error(
        "llvm-profdata order printed no order of these functions: expected {expected} names like \
         p0, found {found}; LLVM 19 or newer is needed"
    )]
    Output {
        /// Functions of the traces.
        expected: usize,
        /// Names that it printed and that were understood.
        found: usize,
    },
}

/// What the peer found.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerOrder {
    /// Its order, as the numbers that the traces have.
    pub order: Vec<u32>,
    /// The area under the page-fault curve of the held-out traces, as it prints it: to six digits.
    /// `None` without held-out traces.
    pub area: Option<f64>,
    /// How long it took, with reading the traces.
    pub wall: Duration,
}

/// Has `tool` order the functions of the `training` traces, and judge the order by `held_out` ones.
/// A trace has numbers of functions in the order of first execution. `folder` is for its input.
///
/// # Errors
/// [`ProfdataError`]; also where trimtab is asked to end.
pub fn order(
    tool: &Path,
    training: &[Vec<u32>],
    held_out: &[Vec<u32>],
    folder: &Path,
) -> Result<PeerOrder, ProfdataError> {
    let path = folder.join("traces.proftext");
    std::fs::write(&path, profile(training, held_out))
        .map_err(|source| ProfdataError::Write { path: path.clone(), source })?;
    let output = folder.join("peer.order");
    let finished = Job::new("ordering with llvm-profdata", tool)
        .tool("llvm-profdata")
        .arg("order")
        .arg(&path)
        .arg(format!("--num-test-traces={}", held_out.len()))
        .arg("-o")
        .arg(&output)
        .run()?;
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    let order: Vec<u32> = text
        .lines()
        .filter_map(|line| line.strip_prefix('p').and_then(|number| number.parse().ok()))
        .collect();
    let area = text
        .lines()
        .find_map(|line| line.strip_prefix("# Total area under the page fault curve: "))
        .and_then(|number| number.trim().parse().ok());
    let expected = distinct(training).len();
    match order.len() == expected {
        true => Ok(PeerOrder { order, area, wall: finished.wall }),
        false => Err(ProfdataError::Output { expected, found: order.len() }),
    }
}

fn distinct(traces: &[Vec<u32>]) -> Vec<u32> {
    let mut functions: Vec<u32> = traces.iter().flatten().copied().collect();
    functions.sort_unstable();
    functions.dedup();
    functions
}

/// The traces as a text profile: held-out ones last.
fn profile(training: &[Vec<u32>], held_out: &[Vec<u32>]) -> String {
    let count = training.len() + held_out.len();
    let mut text = format!(":ir\n:temporal_prof_traces\n# Num Traces\n{count}\n");
    let _ = writeln!(text, "# Trace Stream Size\n{count}");
    for trace in training.iter().chain(held_out) {
        text.push_str("# Weight\n1\n");
        for (place, function) in trace.iter().enumerate() {
            let between = if place == 0 { "" } else { ", " };
            let _ = write!(text, "{between}p{function}");
        }
        text.push('\n');
    }
    // It takes the names from the counters of functions: one, that counted one, will do.
    for function in distinct(&[training, held_out].concat()) {
        let _ = write!(text, "\np{function}\n1\n1\n1\n");
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use trimtab_lab::tools;
    use trimtab_layout::PieceId;
    use trimtab_layout::cost::function_area;

    #[test]
    fn it_orders_our_traces() {
        let tool = tools::find("llvm-profdata").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let training = [(0..100).collect::<Vec<u32>>(), (50..120).collect()];
        let found = order(&tool.path, &training, &[vec![3, 500, 70, 4]], folder.path()).unwrap();
        let mut sorted = found.order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..120).collect::<Vec<_>>());
        assert!(found.area.unwrap() >= 3.0);
    }

    #[test]
    fn it_counts_the_area_under_the_page_fault_curve_as_we_do() {
        let Ok(tool) = tools::find("llvm-profdata") else {
            eprintln!("llvm-profdata is not installed: nothing was compared");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        // 300 functions on ten pages, started in three ways.
        let training: Vec<Vec<u32>> = (0..3u32)
            .map(|run| (0..300).filter(|n| n % 3 <= run).map(|n| n * (7 + run) % 300).collect())
            .collect();
        let jumps: Vec<u32> = (0..200).map(|n| n * 77 % 300).collect();
        // One that was never seen in training is on no page.
        let strange = vec![500, 3, 299, 501, 40];
        for held_out in [vec![jumps.clone()], vec![strange.clone()], vec![jumps, strange]] {
            let found = order(&tool.path, &training, &held_out, folder.path()).unwrap();
            let pieces = |run: &[u32]| run.iter().copied().map(PieceId).collect::<Vec<_>>();
            let ours = held_out
                .iter()
                .map(|run| function_area(&pieces(&found.order), &pieces(run)))
                .sum::<u64>();
            // It prints six digits; these are fewer.
            assert!(0 < ours && ours < 1_000_000, "{ours}");
            assert_eq!(found.area, Some(ours as f64), "{held_out:?}");
        }
    }
}
