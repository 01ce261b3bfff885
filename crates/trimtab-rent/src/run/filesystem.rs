//! File systems on a guest's disk. Those of ext4 are made here, whatever machine the guest is: it gets the blocks that
//! are not empty, and writes them to its disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_lab::tools::{self, FoundTool};
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};
use trimtab_machine::PAGE_SIZE;

use super::guest::DISK_GIB;

/// Size of the file systems of the oracle. New blocks are taken before those again that are free, and all of them are
/// memory: one as large as the disk grows until there is no other memory.
const ORACLE_MIB: u32 = 96;
/// What the oracle may use of its disk, which is memory, in MiB: its file system, and what the disk has of its own.
pub(super) const ORACLE_USED_MIB: u32 = ORACLE_MIB + 4;
/// What is read and written at once.
const BLOCK: usize = 4096;
/// The same each time, so that the guest is, too.
const UUID: &str = "7472696d-7461-4062-8065-787434000000";
/// When the file system was made, as it says itself: the same each time.
const MADE_AT: &str = "1700000000";
/// How long making one may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// For loads: ext4 with blocks as large as a page, as large as the disk.
    Ext4,
    /// For the oracle: the same, but small.
    Ext4Pages,
    /// For the oracle: ext4 with blocks of 1 KiB: a page can be changed on the disk in part.
    Ext4Parts,
    /// For the oracle: FAT with long names.
    Vfat,
}

impl FileSystem {
    const ALL: [FileSystem; 4] =
        [FileSystem::Ext4, FileSystem::Ext4Pages, FileSystem::Ext4Parts, FileSystem::Vfat];

    /// Its size.
    fn mib(self) -> u32 {
        if self == FileSystem::Ext4 { DISK_GIB << 10 } else { ORACLE_MIB }
    }

    /// How it is made here; not at all where busybox makes it.
    fn made(self) -> Option<Made> {
        let of = |name, block_size| Some(Made { name, block_size, mib: self.mib() });
        match self {
            FileSystem::Ext4 => of("ext4", PAGE_SIZE),
            FileSystem::Ext4Pages => of("ext4-4k", PAGE_SIZE),
            FileSystem::Ext4Parts => of("ext4-1k", 1024),
            FileSystem::Vfat => None,
        }
    }

    /// Its name for `mount`, and a command of the guest's shell that puts it on the disk.
    fn commands(self) -> (&'static str, String) {
        match self.made() {
            Some(made) => ("ext4", format!(". /{}", made.script())),
            None => ("vfat", format!("/bin/busybox mkdosfs /dev/nullb0 {}", self.mib() << 10)),
        }
    }
}

/// A script that puts a file system on the disk, mounts it, and runs `commands`.
///
/// `null_blk` asks for no scheduler. Linux gives one to every disk with a single queue, as memory cards, eMMC and UFS
/// are. Without it reads wait for all writes before them, and half as much can be asked for at once.
pub fn with_disk(file_system: FileSystem, commands: &str) -> String {
    let (kind, put) = file_system.commands();
    // A disk of limited speed never ends a larger request, and what a file system discards is one.
    format!(
        "set -e\nexport PATH=/bin:/usr/bin\n/bin/busybox mkdir -p /disk\n{put}\n\
         /bin/busybox mount -t {kind} /dev/nullb0 /disk\n\
         cd /sys/block/nullb0/queue\n\
         echo $(($(/bin/busybox cat max_hw_sectors_kb) * 1024)) >discard_max_bytes\n\
         echo mq-deadline >scheduler\n\
         cd /\n\
         for what in clear_ns copy_ns; do\n\
         echo trimtab: pages $what $(/bin/busybox cat /sys/module/rent_devices/parameters/$what)\n\
         done\n\
         /bin/busybox awk '/^MemAvailable/ {{ print \"trimtab: memory available_kib\", $2 }}' /proc/meminfo\n\
         {commands}\n"
    )
}

/// What a guest needs for all file systems, by the paths in it.
///
/// # Errors
/// There is no `mke2fs`, or it fails.
pub(super) fn files(work: &WorkDir) -> Result<BTreeMap<String, PathBuf>> {
    let mke2fs = tools::find("mke2fs")?;
    let mut files = BTreeMap::new();
    for made in FileSystem::ALL.into_iter().filter_map(FileSystem::made) {
        let folder = work.get(&Making { made, mke2fs: &mke2fs })?.folder;
        files.insert(made.blocks(), folder.join(BLOCKS));
        files.insert(made.script(), folder.join(SCRIPT));
    }
    Ok(files)
}

/// An ext4 file system.
#[derive(Debug, Clone, Copy)]
struct Made {
    /// Of its files in the guest.
    name: &'static str,
    /// Size of its blocks in bytes.
    block_size: u64,
    mib: u32,
}

impl Made {
    /// Where its blocks are in the guest.
    fn blocks(self) -> String {
        format!("disks/{}", self.name)
    }

    /// Where the commands are that write them.
    fn script(self) -> String {
        format!("disks/{}.sh", self.name)
    }

    fn arguments(self) -> Vec<String> {
        // Without a journal a write goes to its place. What is not written is zero on the disk.
        let fixed = format!("lazy_itable_init=0,hash_seed={UUID},root_owner=0:0");
        format!("-q -F -t ext4 -b {} -O ^has_journal -U {UUID} -E {fixed}", self.block_size)
            .split(' ')
            .map(ToOwned::to_owned)
            .collect()
    }
}

/// A file system that `mke2fs` makes.
struct Making<'a> {
    made: Made,
    mke2fs: &'a FoundTool,
}

/// Files of the step.
const BLOCKS: &str = "blocks";
const SCRIPT: &str = "script";

impl KeptStep for Making<'_> {
    const KIND: &'static str = "file-system";
    const VERSION: u32 = 2;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let key = key.field("mke2fs", self.mke2fs.version_text()).field("name", self.made.name);
        Ok(key.field("mib", self.made.mib).field("arguments", self.made.arguments().join(" ")))
    }

    fn make(&self, at: &Path) -> Result<()> {
        let image = at.join("image");
        let create = || format!("cannot create {}", image.display());
        let file = File::create(&image).with_context(create)?;
        file.set_len(u64::from(self.made.mib) << 20).with_context(create)?;
        drop(file);
        Job::new("making a file system", &self.mke2fs.path)
            .args(self.made.arguments())
            .arg(&image)
            // This machine's choice of features is not used: there is no such file.
            .env("MKE2FS_CONFIG", at.join("mke2fs.conf"))
            .env("SOURCE_DATE_EPOCH", MADE_AT)
            .env("E2FSPROGS_FAKE_TIME", MADE_AT)
            .limit(LIMIT)
            .run_captured()?;
        let read = || format!("cannot read {}", image.display());
        let (blocks, script) =
            packed(&Bytes::open(&image).with_context(read)?, &self.made.blocks());
        std::fs::remove_file(&image).with_context(read)?;
        for (name, bytes) in [(BLOCKS, blocks.as_slice()), (SCRIPT, script.as_bytes())] {
            let path = at.join(name);
            std::fs::write(&path, bytes)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// The blocks of an image that are not zero, one after the other, and commands that write them to the disk from the
/// guest's file of this name.
fn packed(image: &[u8], file: &str) -> (Vec<u8>, String) {
    let mut blocks = Vec::new();
    let mut script = String::new();
    let mut run: Option<(usize, usize)> = None;
    let mut end = |run: &mut Option<(usize, usize)>, stored: usize| {
        if let Some((first, count)) = run.take() {
            // Writing to a string cannot fail.
            let _ = writeln!(
                script,
                "/bin/busybox dd if=/{file} of=/dev/nullb0 bs={BLOCK} skip={} seek={first} count={count} \
                 conv=notrunc 2>/dev/null",
                stored - count
            );
        }
    };
    for (number, block) in image.chunks(BLOCK).enumerate() {
        if block.iter().all(|byte| *byte == 0) {
            end(&mut run, blocks.len() / BLOCK);
            continue;
        }
        run = run.map_or(Some((number, 1)), |(first, count)| Some((first, count + 1)));
        blocks.extend_from_slice(block);
    }
    end(&mut run, blocks.len().div_ceil(BLOCK));
    (blocks, script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_not_zero_are_written_where_they_were() {
        let mut image = vec![0; 7 * BLOCK];
        image[BLOCK] = 1;
        image[3 * BLOCK - 1] = 2;
        image[6 * BLOCK] = 3;
        let (blocks, script) = packed(&image, "f");
        assert_eq!(blocks.len(), 3 * BLOCK);
        assert_eq!((blocks[0], blocks[2 * BLOCK - 1], blocks[2 * BLOCK]), (1, 2, 3));
        let places: Vec<String> = script
            .lines()
            .map(|line| line.split(' ').skip(5).take(3).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(places, ["skip=0 seek=1 count=2", "skip=2 seek=6 count=1"]);
    }

    #[test]
    fn a_file_system_is_the_same_each_time_and_small() {
        let mke2fs = tools::find("mke2fs").unwrap();
        for made in FileSystem::ALL.into_iter().filter_map(FileSystem::made) {
            let [first, second] = [(), ()].map(|()| {
                let at = tempfile::tempdir().unwrap();
                Making { made, mke2fs: &mke2fs }.make(at.path()).unwrap();
                let read = |name| std::fs::read(at.path().join(name)).unwrap();
                (read(BLOCKS), read(SCRIPT))
            });
            assert!(first == second, "{made:?} differs from itself");
            assert!(first.0.len() > BLOCK && first.0.len() < 2 << 20, "{} bytes", first.0.len());
            // Superblocks begin 1 KiB into the disk, Documentation/filesystems/ext4/super.rst.
            assert_eq!(first.0[1024 + 56..1024 + 58], [0x53, 0xef], "{made:?}");
        }
    }
}
