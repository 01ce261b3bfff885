//! The only place that runs things.
