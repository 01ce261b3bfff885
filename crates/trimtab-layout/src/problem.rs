/// A run of bytes within a piece: offsets `[start, end)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First offset.
    pub start: u64,
    /// First offset after it.
    pub end: u64,
}

/// A piece of code that is moved as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// Length in bytes.
    pub size: u64,
    /// Alignment in bytes: a power of two.
    pub alignment: u64,
    /// Which of its bytes ran, in any of the runs: ascending, disjoint; empty where none did.
    pub executed: Vec<Span>,
}

impl Piece {
    /// Length up to and with the last byte that ran; 0 where none did.
    pub fn executed_end(&self) -> u64 {
        self.executed.last().map_or(0, |span| span.end)
    }
}

/// What an algorithm is asked to order.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// All movable pieces, in the order in which the linker places them today.
    pub pieces: &'a [Piece],
    /// The runs: for each the indices of the pieces that it executed, in the order of first
    /// execution, each once. The first run is the one to make fast; the others say what else can
    /// be expected to run.
    pub runs: &'a [Vec<u32>],
    /// Address at which the first piece will be placed, where it is known; else 0.
    pub start: u64,
}
