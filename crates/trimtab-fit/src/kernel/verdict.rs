//! What has to hold, and what is to be reached.

use crate::report::{FitKernel, Granularity};
use trimtab_link::{Outcome, boundaries};
use trimtab_report::common::{Check, Target};

use super::laid_out::OrderCheck;
use super::measured::Evidence;

/// What has to hold of a kernel that was fitted.
pub(super) fn checks(m: &Evidence<'_>, fit: &FitKernel) -> Vec<Check> {
    let OrderCheck { lines, movable, predicted, .. } = m.order;
    let misplaced = lines.count(Outcome::Misplaced);
    let mut checks = vec![
        Check::new(
            "the linker honoured the order",
            misplaced == 0 && fit.order.unknown + fit.order.discarded == 0,
            format!(
                "{} lines, {} placed, {misplaced} misplaced",
                lines.lines.len(),
                fit.order.placed
            ),
        ),
        Check::new(
            "functions lie where the layout said",
            predicted == movable,
            format!("{predicted} of {movable}"),
        ),
        Check::new(
            "the two kernels have the same functions",
            m.before.kernel.functions() == m.after.kernel.functions(),
            format!("{} before, {} after", m.before.kernel.functions(), m.after.kernel.functions()),
        ),
        Check::new(
            "the kernel laid out comes up",
            fit.boot.booted.attempted == fit.boot.booted.succeeded,
            format!("{} of {}", fit.boot.booted.succeeded, fit.boot.booted.attempted),
        ),
    ];
    let boundaries = boundaries(&m.after.kernel.program, Some(&m.before.kernel.program));
    let broken: Vec<String> = boundaries
        .iter()
        .filter(|boundary| !boundary.ok)
        .map(|boundary| format!("{}: {}", boundary.symbol, boundary.detail))
        .collect();
    checks.push(Check::new(
        "the kernel's boundaries hold",
        broken.is_empty(),
        match broken.as_slice() {
            [] => format!("{} symbols", boundaries.len()),
            broken => broken.join("; "),
        },
    ));
    if let Some(ftrace) = &fit.ftrace {
        checks.push(Check::new(
            "what ftrace saw, the plugin saw",
            ftrace.contained,
            format!(
                "{} functions by ftrace, {} by the plugin",
                ftrace.functions_ftrace, ftrace.functions_plugin
            ),
        ));
    }
    checks
}

/// What a fit is to reach.
pub(super) fn targets(fit: &FitKernel) -> Vec<Target> {
    let (mut targets, held_out) = match fit.granularity {
        Granularity::Function => (
            vec![Target::at_most(
                "pages touched, times the function-level minimum",
                1.05,
                fit.ratio_to_minimum(),
            )],
            1.15,
        ),
        Granularity::Block => (
            vec![
                Target::at_most(
                    "pages touched, times the minimum of executed bytes",
                    1.1,
                    fit.ratio_to_executed(),
                ),
                Target::at_most(
                    "compressed image, times the original",
                    1.02,
                    fit.image.compressed_bytes.after as f64
                        / fit.image.compressed_bytes.before as f64,
                ),
            ],
            1.0,
        ),
    };
    for boot in &fit.held_out {
        targets.push(Target::at_most(
            format!("held out ({}), times its own minimum", boot.name),
            held_out,
            boot.ratio,
        ));
    }
    if let Some(factor) = fit.shuffle_factor() {
        targets.push(Target::at_least("times fewer pages than the best random order", 2.0, factor));
    }
    targets.push(Target::at_most("seconds to link in a new order", 40.0, fit.seconds.relink));
    targets
}
