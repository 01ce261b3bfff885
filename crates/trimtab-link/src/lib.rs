//! What linkers must be told, and the check that they honoured it.
