//! An application kernel: CPUs that Linux does not know run the user mode of its programs. The kernel's part
//! is the module in `linux/appkernel`; here are its use on this machine ([`device`]) and its experiment
//! ([`run`]): a guest with one CPU for Linux and others for the module, whose tests say whether threads find
//! everything the same there, and what a system call and a page fault cost.

pub mod device;
pub mod guest;
pub mod report;
pub mod run;

pub use guest::APPKERNEL;
pub use report::AppKernelReport;
