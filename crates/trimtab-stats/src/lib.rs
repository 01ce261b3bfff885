//! Statistics of measurements: means, intervals, rank tests, bootstrap, correlation, racing.
//!
//! Values in, values out; each method names its source. Whoever measures keeps the samples; nothing
//! here throws one away. All tests are two-sided. Every random choice takes a seed.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod bootstrap;
mod correlation;
mod distribution;
mod error;
mod friedman;
mod interval;
mod mean;
mod multiple;
mod quantile;
mod racing;
mod rank;
mod rank_test;

pub use bootstrap::{Bootstrap, bootstrap};
pub use correlation::{Correlation, kendall, pearson, spearman};
pub use error::StatisticsError;
pub use friedman::{Friedman, friedman};
pub use interval::{
    CONFIDENCE, CONFIDENCE_TEXT, Estimate, Interval, measured, paired_ratio, t_interval,
};
pub use mean::{deviation, geometric_mean, mean};
pub use multiple::holm;
pub use quantile::{median, quantile};
pub use racing::{Race, RaceTest};
pub use rank::ranks;
pub use rank_test::{RankTest, mann_whitney, wilcoxon};
