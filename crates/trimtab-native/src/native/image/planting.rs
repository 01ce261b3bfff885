//! Writing breakpoints into a program's memory, and the code that they replaced back.

use super::Image;
use std::fs::File;
use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Only whole pages are written, for each page written is one that the kernel copies.
const PAGE: u64 = trimtab_program::PAGE_SIZE;

/// The longest piece that is written at once.
const LONGEST_WRITE: u64 = 1 << 18;

/// What is written while a thread begins.
const WORTH_A_THREAD: u64 = 1 << 19;

/// Pages side by side.
#[derive(Debug)]
struct Run {
    /// Linked addresses.
    pages: Range<u64>,
    /// Where in the file they begin.
    offset: u64,
    /// Where in them breakpoints are to stand.
    places: Vec<u64>,
}

impl Image {
    /// Writes a breakpoint to each function of which `wanted` says so, into a program's memory
    /// where the linked addresses have moved by `bias` and only those in `window` are mapped.
    ///
    /// Writes whole runs of pages: the bytes between are those of the file, which nothing has
    /// changed yet. What takes its time is that the kernel copies each page, and so all processors
    /// do it.
    pub(in crate::native) fn plant(
        &self,
        memory: &File,
        bias: u64,
        window: &Range<u64>,
        wanted: impl Fn(usize) -> bool,
    ) -> io::Result<()> {
        let runs = self.runs(window, wanted);
        let next = AtomicUsize::new(0);
        let some = || {
            let mut code = Vec::new();
            while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.write(run, memory, bias, &mut code)?;
            }
            Ok(())
        };
        let bytes: u64 = runs.iter().map(|run| run.pages.end - run.pages.start).sum();
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = threads.min((bytes / WORTH_A_THREAD) as usize + 1);
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(some)).collect();
            let done = some();
            others.into_iter().fold(done, |done, other| {
                done.and(other.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
            })
        })
    }

    /// The runs of pages that hold the functions of which `wanted` says so.
    fn runs(&self, window: &Range<u64>, wanted: impl Fn(usize) -> bool) -> Vec<Run> {
        let mut runs = Vec::new();
        for segment in &self.segments {
            let addresses = segment.addresses();
            let mapped = addresses.start.max(window.start)..addresses.end.min(window.end);
            let first = self.functions.partition_point(|f| f.address < mapped.start);
            let behind = self.functions.partition_point(|f| f.address < mapped.end);
            let mut indices = (first..behind.max(first)).filter(|index| wanted(*index)).peekable();
            while let Some(first) = indices.next() {
                let mut pages = pages(self.functions[first].address, &mapped);
                let mut places = vec![self.functions[first].address];
                while let Some(next) = indices.next_if(|next| {
                    let next = self::pages(self.functions[*next].address, &mapped);
                    next.start <= pages.end && next.end - pages.start <= LONGEST_WRITE
                }) {
                    pages.end = self::pages(self.functions[next].address, &mapped).end;
                    places.push(self.functions[next].address);
                }
                let offset = segment.file.0.saturating_add(pages.start - addresses.start);
                runs.push(Run { pages, offset, places });
            }
        }
        runs
    }

    /// Writes a run of pages with its breakpoints; `code` is room for them.
    fn write(&self, run: &Run, memory: &File, bias: u64, code: &mut Vec<u8>) -> io::Result<()> {
        let Run { pages, offset, places } = run;
        let length = (pages.end - pages.start) as usize;
        code.resize(code.len().max(length), 0);
        let code = &mut code[..length];
        self.file.read_exact_at(code, *offset)?;
        for place in places {
            let code = &mut code[(place - pages.start) as usize..];
            if self.breakpoint.fits(*place, code) {
                code[..self.breakpoint.bytes.len()].copy_from_slice(self.breakpoint.bytes);
            }
        }
        memory.write_all_at(code, pages.start.wrapping_add(bias))
    }

    /// Writes the code of a function's first instruction back.
    pub(in crate::native) fn restore(
        &self,
        memory: &File,
        bias: u64,
        index: usize,
    ) -> io::Result<()> {
        let address = self.functions[index].address;
        let code = self.code(address).unwrap_or_default();
        let code = code.get(..self.breakpoint.bytes.len()).unwrap_or(code);
        memory.write_all_at(code, address.wrapping_add(bias))
    }
}

/// The page that holds a mapped address, as far as it is mapped.
fn pages(address: u64, mapped: &Range<u64>) -> Range<u64> {
    let start = address / PAGE * PAGE;
    start.max(mapped.start)..start.saturating_add(PAGE).min(mapped.end)
}
