//! One result model, rendered as table, JSON and HTML.
