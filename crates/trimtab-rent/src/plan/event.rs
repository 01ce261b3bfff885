//! What the lines of a trace say of the page cache.

use trimtab_profile::ftrace::Line;

/// An event that the planner needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheEvent {
    /// A folio comes into the page cache.
    Add(Folio),
    /// It leaves it.
    Delete(Folio),
    /// A task begins to reclaim memory.
    ReclaimBegins,
    /// It has done so.
    ReclaimEnds,
    /// The thread is kswapd.
    Kswapd,
    /// Pages of a file are read, of which the first are in the cache by now.
    Access {
        /// The file.
        file: FileId,
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// A page of a file that is mapped is needed; it may not be in the cache yet.
    Fault {
        /// The file.
        file: FileId,
        /// The page's first byte.
        at: u64,
    },
    /// Bytes of a page of a file are written, which may not be in the cache yet.
    Write {
        /// The file.
        file: FileId,
        /// The first byte.
        first: u64,
        /// How many.
        length: u64,
    },
    /// The folio in this frame becomes active.
    Activate(u64),
    /// A file is no longer in memory, or no longer there.
    FileGone(FileId),
    /// An event that is none of these.
    Other,
    /// One of these, but not as any kernel that is known prints it.
    Unread,
}

/// A file, as events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The major number of its device; 0 of file systems without one block device, and of the cache of block devices.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
    /// The number of its inode.
    pub inode: u64,
}

/// Where a folio is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Folio {
    /// Its file.
    pub file: FileId,
    /// Its first byte in the file.
    pub offset: u64,
    /// It has two to the power of this pages.
    pub order: u8,
    /// Its frame.
    pub frame: u64,
}

/// The largest folio that is believed: the page cache has none that is larger.
const MOST_ORDER: u8 = 11;

impl CacheEvent {
    /// What a line says.
    pub fn read(line: &Line<'_>) -> Self {
        let Some((name, fields)) = line.event() else { return Self::Other };
        let or_unread = |event: Option<Self>| event.unwrap_or(Self::Unread);
        match name {
            "mm_filemap_add_to_page_cache" => or_unread(folio(fields).map(Self::Add)),
            "mm_filemap_delete_from_page_cache" => or_unread(folio(fields).map(Self::Delete)),
            "mm_vmscan_kswapd_wake" | "mm_vmscan_kswapd_sleep" => Self::Kswapd,
            "mm_vmscan_direct_reclaim_begin"
            | "mm_vmscan_memcg_reclaim_begin"
            | "mm_vmscan_memcg_softlimit_reclaim_begin"
            | "mm_vmscan_node_reclaim_begin" => Self::ReclaimBegins,
            "mm_vmscan_direct_reclaim_end"
            | "mm_vmscan_memcg_reclaim_end"
            | "mm_vmscan_memcg_softlimit_reclaim_end"
            | "mm_vmscan_node_reclaim_end" => Self::ReclaimEnds,
            "mm_filemap_get_pages" | "mm_filemap_fault" => or_unread(access(fields)),
            "ext4_da_write_begin" | "ext4_write_begin" | "f2fs_write_begin" => {
                or_unread(write(fields))
            }
            "mm_lru_activate" => {
                or_unread(field(fields, "pfn=").and_then(frame).map(Self::Activate))
            }
            // A folio that was evicted not long ago is active at once.
            "mm_lru_insertion" if fields.contains("lru=3") => {
                or_unread(field(fields, "pfn=").and_then(frame).map(Self::Activate))
            }
            "ext4_free_inode" | "ext4_evict_inode" | "f2fs_evict_inode" => {
                or_unread(inode(fields).map(Self::FileGone))
            }
            _ => Self::Other,
        }
    }
}

/// `dev 254:0 ino c pfn=0x1f ofs=4096 order=0`. Kernels before 5.16 name a page and no order, those before 4.x write
/// the frame without `0x`, in decimal digits.
fn folio(fields: &str) -> Option<Folio> {
    let (major, minor) = field(fields, "dev ")?.split_once(':')?;
    let inode = u64::from_str_radix(field(fields, "ino ")?, 16).ok()?;
    let order = field(fields, "order=").map_or(Some(0), |order| order.parse().ok())?;
    let folio = Folio {
        file: FileId { major: major.parse().ok()?, minor: minor.parse().ok()?, inode },
        offset: field(fields, "ofs=")?.parse().ok()?,
        order,
        frame: frame(field(fields, "pfn=")?)?,
    };
    (order <= MOST_ORDER).then_some(folio)
}

/// `dev=254:0 ino=c ofs=0-16383` of reads, with one offset of faults.
fn access(fields: &str) -> Option<CacheEvent> {
    let (major, minor) = field(fields, "dev=")?.split_once(':')?;
    let inode = u64::from_str_radix(field(fields, "ino=")?, 16).ok()?;
    let file = FileId { major: major.parse().ok()?, minor: minor.parse().ok()?, inode };
    let range = field(fields, "ofs=")?;
    Some(match range.split_once('-') {
        Some((first, last)) => {
            CacheEvent::Access { file, first: first.parse().ok()?, last: last.parse().ok()? }
        }
        None => CacheEvent::Fault { file, at: range.parse().ok()? },
    })
}

/// `dev 254,0 ino 12` of ext4, `dev = (254,0), ino = 12` of f2fs; the number is decimal in both.
fn inode(fields: &str) -> Option<FileId> {
    let (major, minor) = number(fields, "dev")?.trim_matches(['(', ')', ',']).split_once(',')?;
    let inode = number(fields, "ino")?.parse().ok()?;
    Some(FileId { major: major.parse().ok()?, minor: minor.parse().ok()?, inode })
}

/// The same with `pos 0 len 4096`, or `pos = 0, len = 4096`.
fn write(fields: &str) -> Option<CacheEvent> {
    let first = number(fields, "pos")?.parse().ok()?;
    let length = number(fields, "len")?.parse().ok()?;
    Some(CacheEvent::Write { file: inode(fields)?, first, length })
}

/// What stands behind a name, with ` = ` or a space between.
fn number<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let found = field(fields, &format!("{name} = ")).or_else(|| field(fields, &format!("{name} ")));
    found.map(|found| found.trim_end_matches(','))
}

/// The word behind a key that begins the text or stands behind a space.
fn field<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    let mut found = fields.match_indices(key).map(|(at, _)| at);
    let at = found.find(|at| *at == 0 || fields.as_bytes()[at - 1] == b' ')?;
    fields[at + key.len()..].split(' ').next()
}

/// A frame's number, hexadecimal with `0x`, decimal without.
fn frame(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> CacheEvent {
        let text = format!("kswapd0-42 [000] d..1. 5.000001: {text}");
        CacheEvent::read(&Line::read(&text).unwrap())
    }

    const FILE: FileId = FileId { major: 254, minor: 0, inode: 12 };

    #[test]
    fn folios_are_read_as_kernels_since_3_13_print_them() {
        let folio = Folio { file: FILE, offset: 8192, order: 0, frame: 0x1f };
        for (fields, order) in [
            ("dev 254:0 ino c pfn=0x1f ofs=8192 order=0", 0),
            ("dev 254:0 ino c pfn=0x1f ofs=8192 order=4", 4),
            ("dev 254:0 ino c page=00000000b1d1d4a5 pfn=0x1f ofs=8192", 0),
            ("dev 254:0 ino c page=ffffea0001 pfn=31 ofs=8192", 0),
        ] {
            let folio = Folio { order, ..folio };
            let add = format!("mm_filemap_add_to_page_cache: {fields}");
            assert_eq!(read(&add), CacheEvent::Add(folio), "{fields}");
            let delete = format!("filemap:mm_filemap_delete_from_page_cache: {fields}");
            assert_eq!(read(&delete), CacheEvent::Delete(folio), "{fields}");
        }
    }

    #[test]
    fn each_kind_of_event_is_read() {
        assert_eq!(read("mm_vmscan_kswapd_wake: nid=0 order=0"), CacheEvent::Kswapd);
        assert_eq!(read("mm_vmscan_direct_reclaim_begin: order=0"), CacheEvent::ReclaimBegins);
        assert_eq!(read("mm_vmscan_memcg_reclaim_end: nr_reclaimed=9"), CacheEvent::ReclaimEnds);
        let access = |first, last| CacheEvent::Access { file: FILE, first, last };
        assert_eq!(read("mm_filemap_get_pages: dev=254:0 ino=c ofs=0-16383"), access(0, 16383));
        let fault = CacheEvent::Fault { file: FILE, at: 4096 };
        assert_eq!(read("mm_filemap_fault: dev=254:0 ino=c ofs=4096"), fault);
        assert_eq!(read("mm_lru_activate: folio=00000000d pfn=0x1f"), CacheEvent::Activate(31));
        assert_eq!(
            read("mm_lru_insertion: folio=d pfn=0x1f lru=3 flags= f"),
            CacheEvent::Activate(31)
        );
        assert_eq!(read("mm_lru_insertion: folio=d pfn=0x1f lru=2 flags= f"), CacheEvent::Other);
        let gone = CacheEvent::FileGone(FILE);
        assert_eq!(read("ext4_free_inode: dev 254,0 ino 12 mode 0100644 uid 0"), gone);
        assert_eq!(read("f2fs_evict_inode: dev = (254,0), ino = 12, pino = 3"), gone);
        let write = CacheEvent::Write { file: FILE, first: 8192, length: 4096 };
        assert_eq!(read("ext4_da_write_begin: dev 254,0 ino 12 pos 8192 len 4096"), write);
        let f2fs = "f2fs_write_begin: dev = (254,0), ino = 12, pos = 8192, len = 4096";
        assert_eq!(read(f2fs), write);
        assert_eq!(read("kmalloc: ptr=1"), CacheEvent::Other);
    }

    #[test]
    fn what_no_kernel_prints_is_said() {
        for text in [
            "mm_filemap_add_to_page_cache: inode=c index=2",
            "mm_filemap_add_to_page_cache: dev 254:0 ino x pfn=0x1f ofs=8192 order=0",
            "mm_filemap_add_to_page_cache: dev 254:0 ino c pfn=0x1f ofs=8192 order=77",
            "mm_filemap_delete_from_page_cache:",
            "mm_filemap_get_pages: dev=254:0 ino=c ofs=0-x",
            "mm_lru_activate: page=1",
            "ext4_free_inode: dev 254 ino 12",
            "ext4_da_write_begin: dev 254,0 ino 12 pos -1 len 4096",
        ] {
            assert_eq!(read(text), CacheEvent::Unread, "{text}");
        }
    }
}
