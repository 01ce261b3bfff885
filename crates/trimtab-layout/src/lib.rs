//! Pure layout algorithms and the cost models that judge them.
