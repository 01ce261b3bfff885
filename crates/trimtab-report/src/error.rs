//! Why a stored result cannot be read back.

use thiserror::Error;

/// Why a text is not the result that was expected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Not JSON, or not an object with a `schema`.
    #[error(
        "the result is not a JSON object with a \"schema\": {detail}; expected {expected}; \
         give the file that `--json` wrote"
    )]
    NotResult {
        /// What the JSON reader said.
        detail: String,
        /// The schema expected.
        expected: &'static str,
    },
    /// A result of another verb, or of a later version.
    #[error(
        "the result has the schema {found:?}, expected {expected:?}; \
         give the file of the right verb, or read it with the trimtab that wrote it"
    )]
    Schema {
        /// The schema found.
        found: String,
        /// The schema expected.
        expected: &'static str,
    },
    /// The schema is right, a field is not.
    #[error(
        "the result says {schema:?} and does not keep to it: {detail}; \
         write it again with this trimtab"
    )]
    Field {
        /// The schema that the text claims.
        schema: &'static str,
        /// Which field, and what was expected there.
        detail: String,
    },
}
