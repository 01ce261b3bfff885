//! `trimtab rent plan`: what renting would bring, from a trace.

use std::path::PathBuf;

use clap::Args;
use trimtab_program::PAGE_SIZE;
use trimtab_rent::run::{MOST_MIB, PlanRequest, plan};

use crate::arguments::Outputs;
use crate::progress::Progress;
use crate::verbs::stored::StoreArguments;
use crate::{destination, output};

/// Says from a trace of the page cache how many reads rental memory would save, by its size and by what is stored
/// in it, and what it would cost. The kernel of the trace needs no patch.
///
/// The trace is what `trace` or `trace_pipe` of tracefs, `trace-cmd report` or `perf script` print of events of the page
/// cache and of reclaim. It can come from any machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: a board, for a minute of use

    trace-cmd record -b 65536 \\
        -e mm_filemap_add_to_page_cache -e mm_filemap_delete_from_page_cache \\
        -e mm_vmscan_kswapd_wake -e mm_vmscan_direct_reclaim_begin -e mm_vmscan_direct_reclaim_end \\
        -e mm_lru_activate -e mm_lru_insertion -e ext4_free_inode -e ext4_evict_inode \\
        -e mm_filemap_get_pages -e mm_filemap_fault -e ext4_da_write_begin sleep 60
    trace-cmd report > board.txt
    trimtab rent plan board.txt --pools 33,72,105 --html plan.html")]
pub struct Options {
    /// The text of the trace, in parts where it has several; - reads standard input
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    /// Sizes of rental memory, in MiB
    #[arg(
        long,
        value_name = "MIB,...",
        value_delimiter = ',',
        default_value = "8,16,33,48,72,105,160,256,512",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_MIB))
    )]
    pub pools: Vec<u32>,
    /// Bytes of a page on the machine of the trace
    #[arg(long, value_name = "BYTES", default_value_t = PAGE_SIZE.to_string(), value_parser = ["4096", "16384", "65536"])]
    pub page_size: String,
    /// What copying a page takes there
    #[arg(long, value_name = "NANOSECONDS", default_value = "2000", value_parser = clap::value_parser!(u32).range(1..))]
    pub copy_time: u32,
    /// Replay what is read from block devices instead, with a page cache of so many MiB: an approximation
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_MIB)))]
    pub memory: Option<u32>,
    /// Count only from the first marker with this text on; what comes before fills the page cache and the pools
    #[arg(long, value_name = "TEXT")]
    pub from: Option<String>,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Plans.
///
/// # Errors
/// A trace that cannot be read or does not say enough, and files that cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let request = PlanRequest {
        traces: options.traces.clone(),
        pools: options.pools.clone(),
        // The parser has let only numbers pass.
        page_size: options.page_size.parse()?,
        copy_nanoseconds: f64::from(options.copy_time),
        memory: options.memory,
        from: options.from.clone(),
        command: trimtab_lab::shell::own_words().join(" "),
    };
    let found = plan(&request, &Progress::new())?;
    options.kept.keep(&found)?;
    output::report(&options.outputs, &found)
}
