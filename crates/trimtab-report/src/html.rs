//! Results as self-contained HTML pages: one file, nothing from outside, light and dark, readable
//! without JavaScript, on paper and on a telephone.

mod compare;
mod evidence;
mod figures;
mod fit_kernel;
mod fit_program;
mod frame;
mod pages;
mod probe_bench;
mod provenance;
mod shown;
mod swap_run;
mod swap_sweep;
mod tables;

pub use compare::compare;
pub use fit_kernel::fit_kernel;
pub use fit_program::fit_program;
pub use pages::pages;
pub use probe_bench::probe_bench;
pub use swap_run::swap_run;
pub use swap_sweep::swap_sweep;
