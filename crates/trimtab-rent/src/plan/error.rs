//! Why a trace cannot be used.

use thiserror::Error;

/// Why a trace cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// It has no lines.
    #[error("it is empty")]
    Empty,
    /// It is no text.
    #[error(
        "line {line} is no text; expected what tracefs, `trace-cmd report` or `perf script` print"
    )]
    NotText {
        /// The line, from 1.
        line: u64,
    },
    /// It has no line that is an event.
    #[error("none of its first {lines} lines is an event of the kernel")]
    NoEvents {
        /// Lines that were read.
        lines: u64,
    },
    /// It has no event of the page cache.
    #[error("of {events} events none is of the page cache")]
    NoCache {
        /// Events.
        events: u64,
    },
    /// The marker is not in it from which on everything is to count.
    #[error("it has no marker with the text {text}")]
    NoMarker {
        /// The text.
        text: String,
    },
    /// Nothing is read from block devices in it.
    #[error("of {events} events none is a read of a block device")]
    NoReads {
        /// Events.
        events: u64,
    },
    /// What is read fits into normal memory.
    #[error("all {pages} pages that are read fit into normal memory")]
    Fits {
        /// Pages that are read.
        pages: u64,
    },
    /// Its events of the page cache have other fields.
    #[error("line {line} is an event of another kernel: {text}")]
    Format {
        /// The line, from 1.
        line: u64,
        /// The line.
        text: String,
    },
    /// Nothing is evicted in it.
    #[error("of {deletes} folios that leave the page cache none is evicted")]
    NoEviction {
        /// Folios that leave the page cache.
        deletes: u64,
    },
    /// It says that events are missing.
    #[error("line {line} says that events are lost")]
    Lost {
        /// The line, from 1.
        line: u64,
    },
    /// Time goes back.
    #[error("time goes back in line {line}")]
    Unordered {
        /// The line, from 1.
        line: u64,
    },
    /// It names more pages than are followed.
    #[error("it names more than {most} pages")]
    TooManyPages {
        /// How many are followed.
        most: usize,
    },
    /// It names more frames of memory than are followed.
    #[error("it names more than {most} frames of memory")]
    TooManyFrames {
        /// How many are followed.
        most: usize,
    },
}

impl PlanError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Lost { .. } => {
                "record it again with larger buffers (`trace-cmd record -b 65536`, or `buffer_size_kb` of tracefs)"
            }
            Self::Unordered { .. } => {
                "hand over the parts of one recording in their order, and sort each by time"
            }
            Self::TooManyPages { .. } | Self::TooManyFrames { .. } => {
                "record less, or hand over a part of it"
            }
            Self::NotText { .. } => {
                "hand over what `trace-cmd report` or `perf script` prints of a binary recording"
            }
            Self::NoEviction { .. } => {
                "record while memory is short, and with the events mm_vmscan_direct_reclaim_begin and \
                 mm_vmscan_direct_reclaim_end: what is dropped otherwise is no eviction"
            }
            Self::Format { .. } => {
                "expected the fields `dev`, `ino`, `pfn` and `ofs` of mm_filemap_add_to_page_cache, as Linux prints \
                 them since 3.13"
            }
            Self::NoMarker { .. } => {
                "write one with `echo TEXT > trace_marker` while it is recorded, or leave out --from"
            }
            Self::NoReads { .. } => {
                "record block_rq_issue or block_bio_queue; without --memory the page cache is read"
            }
            Self::Fits { .. } => {
                "record for longer, or give as --memory what the page cache really has"
            }
            Self::Empty | Self::NoEvents { .. } | Self::NoCache { .. } => {
                "record mm_filemap_add_to_page_cache, mm_filemap_delete_from_page_cache, mm_vmscan_kswapd_wake, \
                 mm_vmscan_direct_reclaim_begin and mm_vmscan_direct_reclaim_end"
            }
        }
    }
}
