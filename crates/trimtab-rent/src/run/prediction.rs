//! What [`plan`] says of a guest with no rental memory, to be compared with what one that has it then did.
//!
//! Both run the same load, with nearly as much memory for it. What is recorded lies in memory that is reserved for
//! it, and leaves the guest when the load is over: neither reading nor writing it disturbs the load.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use trimtab_lab::observe::Observe;
use trimtab_machine::{Isa, PAGE_SIZE, Platform};

use super::experiment::RunRequest;
use super::guest::Ran;
use super::load::Load;
use super::plan::{PlanRequest, plan};
use crate::plan::Pool;
use crate::report::prediction::Prediction;

/// Arguments of the kernel that let guests with as much memory evict as much. By default the lists of free pages of each
/// CPU grow and shrink with time, to many MiB, and reclaim goes on for a while after pages of one kind were found among
/// those of another: how much page cache there is varies by a tenth.
pub(super) const STEADY: [&str; 2] =
    ["sysctl.vm.percpu_pagelist_high_fraction=1000", "sysctl.vm.watermark_boost_factor=0"];

/// What such lists would hold, in MiB.
pub(super) const HELD_MIB: u32 = 12;

/// Nor may the file system write its tables meanwhile, as it does after a while: they would take memory of the disk.
pub(super) const STEADY_DISK: &str = "/bin/busybox mount -o remount,noinit_itable /disk\n";

/// Says how much memory is free, when what ended has given back its own.
pub(super) const SAY_FREE: &str = "\
/bin/busybox sleep 1
/bin/busybox awk '/^MemFree/ { print \"trimtab: memory free_kib\", $2 }' /proc/meminfo
";

/// What records from here on, see [`RECORD`], with the size of a page.
pub(super) fn record() -> String {
    let (kib, bytes) = ((PAGE_SIZE >> 10).to_string(), PAGE_SIZE.to_string());
    RECORD.replace("PAGE_KIB", &kib).replace("PAGE_SIZE", &bytes)
}

/// Records from here on, and takes what the guest has more of memory than it was told: by a file in memory, for what
/// recording and lending take differs.
const RECORD: &str = "\
trace=/sys/kernel/tracing/instances/plan
/bin/busybox mount -t tracefs tracefs /sys/kernel/tracing
echo 0 >$trace/options/overwrite
echo 'lru == 3' >$trace/events/pagemap/mm_lru_insertion/filter
for event in filemap/mm_filemap_add_to_page_cache filemap/mm_filemap_delete_from_page_cache \\
  filemap/mm_filemap_get_pages vmscan/mm_vmscan_kswapd_wake vmscan/mm_vmscan_direct_reclaim_begin \\
  vmscan/mm_vmscan_direct_reclaim_end pagemap/mm_lru_activate pagemap/mm_lru_insertion \\
  ext4/ext4_free_inode ext4/ext4_evict_inode ext4/ext4_da_write_begin; do
  echo 1 >$trace/events/$event/enable
done
wanted=$(/bin/busybox sed -n 's/.*trimtab\\.free_kib=\\([0-9]*\\).*/\\1/p' /proc/cmdline)
ballast=0
for try in 1 2 3 4 5 6 7 8; do
  /bin/busybox sleep 1
  /bin/busybox awk -v wanted=$wanted '/^MemFree/ { print int(($2 - wanted) / PAGE_KIB) }' /proc/meminfo >/tmp/more
  read more </tmp/more
  size=$((ballast + more))
  if [ $size -lt 0 ]; then size=0; fi
  if [ $more -gt 0 ]; then
    /bin/busybox dd if=/dev/zero bs=PAGE_KIBk count=$more >>/tmp/ballast 2>/dev/null
  elif [ $more -lt 0 ]; then
    /bin/busybox truncate -s $((size * PAGE_SIZE)) /tmp/ballast
  fi
  ballast=$size
done
";

/// Sends what was recorded. Where the outlet is no terminal, it takes bytes as they are.
pub(super) fn send(isa: Isa) -> String {
    let port = isa.outlet();
    format!(
        "echo 0 >$trace/tracing_on\n\
         /bin/busybox awk -F': ' '/overrun|dropped/ {{ lost += $2 }} END {{ print \"trimtab: trace lost\", lost }}' \\\n  \
         $trace/per_cpu/cpu0/stats\n\
         case {port} in tty*) /bin/busybox stty -F /dev/{port} raw ;; esac\n\
         /bin/busybox cat $trace/trace >/dev/{port}\n"
    )
}

/// The marker with which `fileio` begins what is measured.
const BEGINS: &str = "fileio begins";
/// Bytes of events for a page that is asked for: that it comes, that it becomes active, that another is evicted, that it
/// is written.
const BYTES_OF_A_PAGE: u64 = 4 * 48;
/// The most memory for what is recorded, in MiB.
const MOST_RING_MIB: u64 = 512;
/// Memory that a guest has more than it should for certain; it takes the rest. Where it sends what was recorded to a
/// virtio port, the queues of that take 11 MiB: virtio-mmio makes each of 1,024 entries, and two are filled with pages.
const SPARE_MIB: u32 = 14;
/// Memory may differ by so much: of 100 MiB that are read in 80, 64 pages less make a fiftieth more reads. Mostly it is
/// less than 20 pages.
const NEAR_KIB: u64 = 256;
const PAGES_OF_A_REQUEST: u64 = 4;
const PAGES_OF_A_MIB: u64 = (1 << 20) / PAGE_SIZE;

/// How a guest is booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct How {
    /// Memory for all but the kernel, the devices and the disk, in MiB.
    pub(super) normal_mib: u32,
    /// Memory beside that, in MiB.
    pub(super) more_mib: u32,
    /// Arguments of the kernel.
    pub(super) arguments: Vec<String>,
    /// Whether it sends something.
    pub(super) outlet: bool,
}

impl How {
    /// As Linux does by default.
    pub(super) fn plain(normal_mib: u32) -> Self {
        Self { normal_mib, more_mib: 0, arguments: Vec::new(), outlet: false }
    }

    /// With as much page cache as another guest with as much memory.
    pub(super) fn steady(normal_mib: u32) -> Self {
        let normal_mib = normal_mib.saturating_sub(HELD_MIB);
        Self { arguments: STEADY.map(str::to_owned).to_vec(), ..Self::plain(normal_mib) }
    }

    /// The same where the page cache is recorded, of a load that asks for this many blocks after it has asked for all
    /// of them twice, with so much memory free then. None where that is too much to be recorded, or not done.
    pub(super) fn recorded(&self, load: Load, requests: u32, free_kib: u64) -> Option<Self> {
        let Load::Files(files) = load else { return None };
        let pages = 2 * u64::from(files.mib) * PAGES_OF_A_MIB;
        let pages = pages + u64::from(requests) * PAGES_OF_A_REQUEST;
        let ring = 4 + ((pages * BYTES_OF_A_PAGE) >> 20);
        if ring > MOST_RING_MIB {
            return None;
        }
        // The kernel has 64 bytes for each page, whatever it is used for.
        let tables = ring.div_ceil(64);
        let mut how = Self { outlet: true, ..self.clone() };
        how.more_mib += u32::try_from(ring + tables).ok()? + SPARE_MIB;
        how.arguments.extend([
            format!("reserve_mem={ring}M:1M:trace"),
            "trace_instance=plan@trace".to_owned(),
            format!("trimtab.free_kib={free_kib}"),
        ]);
        Some(how)
    }
}

/// Plans from what `recorded` recorded, beside what `measured` did with rental memory.
///
/// # Errors
/// Lost events, guests that differ in memory, and whatever the planner does not like.
pub(super) fn predict(
    (asked, load): (&RunRequest, Load),
    recorded: &Ran,
    measured: &Ran,
    observe: &dyn Observe,
) -> Result<Prediction> {
    let trace = recorded.outlet();
    let console = recorded.console.display();
    let lost = recorded.number("trace", "lost")?;
    ensure!(lost == 0, "{lost} events of the page cache were lost in the guest: see {console}");
    let free = |ran: &Ran| ran.number("memory", "free_kib");
    let (has, had) = (free(recorded)?, free(measured)?);
    ensure!(
        has.abs_diff(had) <= NEAR_KIB,
        "the guest that is recorded had {has} KiB for the load, and the other {had}; another --normal may bring them \
         together: see {console}"
    );
    let found =
        plan(&request(&trace, asked.devices.iter().map(|device| device.mib).sum()), observe)?;
    let pool = found.pools.iter().find(|pool| pool.policy.name() == asked.policy);
    let pool = pool.with_context(|| format!("the planner knows no policy {}", asked.policy))?;
    let misses = |ratio: f64| (1.0 - ratio) * found.coverage.counts.uses as f64;
    prediction((asked, load), pool, measured, &misses, &trace)
}

fn request(trace: &Path, pool_mib: u32) -> PlanRequest {
    let trace = trace.to_owned();
    let shown = trace.display();
    let command = format!("trimtab rent plan '{shown}' --from '{BEGINS}' --pools {pool_mib}");
    PlanRequest {
        traces: vec![trace],
        pools: vec![pool_mib],
        page_size: PAGE_SIZE,
        copy_nanoseconds: 2000.0,
        memory: None,
        from: Some(BEGINS.to_owned()),
        command,
    }
}

fn prediction(
    (asked, load): (&RunRequest, Load),
    pool: &Pool,
    measured: &Ran,
    misses: &dyn Fn(f64) -> f64,
    trace: &Path,
) -> Result<Prediction> {
    let pages = (u64::from(asked.requests) * PAGES_OF_A_REQUEST) as f64;
    let of_all = |misses: f64| 1.0 - misses / pages;
    // Memory is full: for each page that comes one is evicted, if nothing else takes memory. What is read where its
    // copy is does not come.
    let evicted = measured.number("vmstat", "pgsteal_kswapd")?
        + measured.number("vmstat", "pgsteal_direct")?;
    let counter = |name| measured.number_or_zero("counters", name);
    let found = counter("hits").saturating_sub(counter("hits_in_place"));
    let is_full = matches!(load, Load::Files(files) if files.memory.hog_mib == 0);
    Ok(Prediction {
        hits: pool.hits,
        stores: pool.stores,
        measured_hit_ratio: is_full.then(|| of_all(evicted.saturating_sub(found) as f64)),
        hit_ratio: pool.hit_ratio.map(|ratio| of_all(misses(ratio))),
        lru_hit_ratio: pool.lru_hit_ratio.map(|ratio| of_all(misses(ratio))),
        trace: trace.display().to_string(),
        from: BEGINS.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_a_load_does() {
        let load = |name| Load::named(name).unwrap();
        let of = |name, requests| How::steady(80).recorded(load(name), requests, 123_456);
        let found = of("rndrd:200", 6000).unwrap();
        assert!(found.arguments.contains(&"trimtab.free_kib=123456".to_owned()), "{found:?}");
        assert!(found.arguments.contains(&"reserve_mem=27M:1M:trace".to_owned()), "{found:?}");
        assert_eq!((found.normal_mib, found.more_mib), (68, 27 + 1 + SPARE_MIB));
        assert_eq!(of("rndrd:200", 1_000_000), None);
        assert_eq!(of("starts", 100), None);
    }

    #[test]
    fn the_program_marks_what_is_measured() {
        let program = include_str!("../../../../guest/rent/fileio.c");
        assert!(program.contains(&format!("mark(\"{BEGINS}\");")));
        assert!(program.contains("\"/sys/kernel/tracing/instances/plan/trace_marker\""));
        assert!(record().contains("/sys/kernel/tracing/instances/plan\n"));
    }

    #[test]
    fn the_guest_takes_memory_by_pages() {
        let script = record();
        for line in ["print int(($2 - wanted) / 4)", "bs=4k count=", "$((size * 4096)) /tmp/"] {
            assert!(script.contains(line), "{script}");
        }
    }
}
