//! LLVM's own orderer, where it is there.

use trimtab_lab::tools;
use trimtab_layout::PieceId;
use trimtab_native::profdata;

/// What its row is called.
pub(super) const NAME: &str = "llvm-profdata";

/// What it does.
pub(super) const DESCRIPTION: &str = "LLVM's balanced partitioning (llvm-profdata order)";

/// Its order and the seconds that it took; `None` where nothing ran.
///
/// # Errors
/// A sentence that says why it has no row.
pub(super) fn order(runs: &[Vec<PieceId>]) -> Result<Option<(Vec<PieceId>, f64)>, String> {
    let numbers = |run: &Vec<PieceId>| run.iter().map(|piece| piece.0).collect();
    let runs: Vec<Vec<u32>> = runs.iter().filter(|run| !run.is_empty()).map(numbers).collect();
    if runs.is_empty() {
        return Ok(None);
    }
    let without = |why: String| format!("Without {NAME}: {why}.");
    let tool = tools::find("llvm-profdata").map_err(|error| without(error.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| without(error.to_string()))?;
    let found = profdata::order(&tool.path, &runs, &[], folder.path())
        .map_err(|error| without(error.to_string()))?;
    let order = found.order.into_iter().map(PieceId).collect();
    Ok(Some((order, found.wall.as_secs_f64())))
}
