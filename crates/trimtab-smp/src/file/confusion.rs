//! What of a file could not be understood.

/// Why a file, or a part of it, could not be understood. What else there is of it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confusion {
    /// Braces do not match.
    Braces,
    /// A conditional has no end, begun in this line.
    OpenConditional(u32),
    /// `#else` or `#endif` without a beginning, in this line.
    Unopened(u32),
    /// A condition is no expression, in this line.
    Condition(u32),
    /// Conditionals lie too deep in one another, in this line.
    TooDeep(u32),
    /// A comment has no end, begun in this line.
    OpenComment(u32),
    /// More macros, or more of what they become, than is kept.
    Macros,
    /// It holds zero bytes: it is no text.
    Binary,
}

impl std::fmt::Display for Confusion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Braces => {
                write!(f, "its braces do not match; functions were found by their style")
            }
            Self::OpenConditional(line) => {
                write!(f, "the conditional of line {line} has no #endif")
            }
            Self::Unopened(line) => write!(f, "line {line} ends a conditional that none began"),
            Self::Condition(line) => write!(f, "the condition of line {line} is no expression"),
            Self::TooDeep(line) => {
                write!(f, "conditionals lie too deep in each other in line {line}")
            }
            Self::OpenComment(line) => write!(f, "the comment of line {line} has no end"),
            Self::Macros => write!(f, "it has more macros, or they become more, than is read"),
            Self::Binary => write!(f, "it holds zero bytes: it is no text"),
        }
    }
}
