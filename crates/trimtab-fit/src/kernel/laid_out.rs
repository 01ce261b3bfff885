//! The order in which the kernel's fragments shall lie.

use std::time::{Duration, Instant};

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_layout::{Algorithm, InPlace, Movable, Order, PackedOrder, Placement, Projection};
use trimtab_link::{Check, Linker, OrderFile, OrderText, check, emit_whole, write};
use trimtab_profile::Profile;
use trimtab_program::{Fragment, PAGE_SIZE, Range};

use super::linked::Kernel;
use super::request::Granularity;

/// An order of what can be moved.
pub(super) struct Layout {
    movable: Movable,
    order: Order,
    /// The order, as the kernel's linker script includes it, and what could not be said in it.
    pub written: OrderText,
    /// How long it took to find.
    pub took: Duration,
}

/// Whether a linked kernel has the order.
pub(super) struct OrderCheck {
    /// Each line of the order.
    pub lines: Check,
    /// Fragments that the order has no line for.
    pub left_out: u64,
    /// Fragments that can be moved.
    pub movable: usize,
    /// Those of them that lie where the layout said they would.
    pub predicted: usize,
}

impl Layout {
    /// Finds an order of `kernel`, of which boots executed what `profiles` say; the first is the one
    /// to make better.
    ///
    /// # Errors
    /// Names that a linker script cannot hold.
    pub fn find(
        granularity: Granularity,
        kernel: &Kernel<'_>,
        profiles: &[Profile],
        observe: &dyn Observe,
    ) -> Result<Self> {
        let stage = observe.stage("lay out");
        let clock = Instant::now();
        let movable = Movable::new(&kernel.fragments, profiles, |f| kernel.movable(f));
        let problem = movable.problem();
        let order = match granularity {
            Granularity::Function => PackedOrder::default().order(&problem),
            Granularity::Block => {
                let page = problem.start / PAGE_SIZE * PAGE_SIZE;
                let front = Range { start: page, end: problem.start };
                let front_ran = profiles
                    .first()
                    .is_some_and(|first| first.executed().within(front).next().is_some());
                InPlace { front_ran, ..InPlace::default() }.order(&problem)
            }
        };
        let listed: Vec<&Fragment<'_>> = order
            .listed()
            .iter()
            .map(|piece| kernel.fragments.get(movable.fragment(*piece)))
            .collect();
        let written = match granularity {
            Granularity::Function => write(Linker::Kernel, listed),
            Granularity::Block => emit_whole(&listed),
        };
        let took = clock.elapsed();
        let left_out = match written.left_out() {
            0 => String::new(),
            names => format!(", {names} names left out"),
        };
        stage.done(&format!("{} fragments in the order{left_out}", order.listed().len()));
        Ok(Layout { movable, order, written, took })
    }

    /// Accounts for the order in `fitted`, the kernel that was linked with it; `base` is the one that
    /// was laid out.
    ///
    /// # Errors
    /// None: the order is one of ours.
    pub fn check(&self, base: &Kernel<'_>, fitted: &Kernel<'_>) -> Result<OrderCheck> {
        let lines = check(
            &OrderFile::parse(&self.written.text)?,
            &fitted.program,
            &fitted.fragments,
            fitted.pinned(),
            Some(&base.program),
        );
        let projection = Projection::new(&base.fragments, &fitted.fragments);
        let address = |piece| projection.address(self.movable.fragment(piece));
        // What the linker itself puts between functions is known only once it has.
        let made = fitted.linker_made();
        let behind = |piece| address(piece).and_then(|at| made.get(&at)).copied().unwrap_or(0);
        let problem = self.movable.problem();
        let placement = Placement::with_gaps(&problem, &self.order, behind);
        let predicted = placement.honoured(&self.order, address);
        Ok(OrderCheck {
            lines,
            left_out: self.written.left_out(),
            movable: problem.pieces.len(),
            predicted,
        })
    }
}
