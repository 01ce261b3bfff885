//! The verbs, one file each.

pub mod check;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod fit;
pub mod jar;
pub mod man_pages;
pub mod order;
pub mod pages;
pub mod probe;
pub mod rent;
pub mod report;
pub mod smp;
pub mod stored;
pub mod swap;
pub mod trace;
pub mod tune;
pub mod worker;
pub mod wrapped;
