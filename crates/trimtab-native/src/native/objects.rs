//! The programs and libraries that are watched, and what ran of each.

use super::image::{Image, Unfit};
use super::request::Objects;
use super::{ExecutedFunction, NativeError, Object, SkippedFile};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Index of a watched file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectId(u32);

/// A file as the system knows it, whatever its names are. Another version in its place is another
/// file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    device: u64,
    number: u64,
    size: u64,
    changed: (i64, i64),
}

/// A watched file.
#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    image: Image,
    /// For each function whether it ran.
    ran: Vec<bool>,
    /// The functions that ran with their place in the order of all.
    order: Vec<(usize, u64)>,
}

/// All files that were looked at.
#[derive(Debug)]
pub(super) struct WatchedFiles<'a> {
    wanted: &'a Objects,
    known: HashMap<Identity, Option<ObjectId>>,
    objects: Vec<WatchedFile>,
    skipped: Vec<SkippedFile>,
    /// How many functions ran in all.
    entered: u64,
    /// The program that the command started first.
    program: Option<Identity>,
}

impl<'a> WatchedFiles<'a> {
    pub(super) fn new(wanted: &'a Objects) -> Self {
        WatchedFiles {
            wanted,
            known: HashMap::new(),
            objects: Vec::new(),
            skipped: Vec::new(),
            entered: 0,
            program: None,
        }
    }

    /// The watched file of this content, which a process knows as `path`; nothing where it is not
    /// to be watched. `executed` says that it is not a library.
    ///
    /// # Errors
    /// That it is the program itself, and cannot be watched.
    pub(super) fn open(
        &mut self,
        file: &File,
        path: &Path,
        executed: bool,
    ) -> Result<Option<ObjectId>, NativeError> {
        let Ok(data) = file.metadata() else { return Ok(None) };
        let identity = Identity {
            device: data.dev(),
            number: data.ino(),
            size: data.size(),
            changed: (data.mtime(), data.mtime_nsec()),
        };
        if let Some(known) = self.known.get(&identity) {
            return Ok(*known);
        }
        let first = executed && self.program.is_none();
        if first {
            self.program = Some(identity);
        }
        let main = first && self.wanted.program;
        let wanted = main || self.wanted.all || self.wanted.names(path);
        let id = if wanted { self.read(file, path, main)? } else { None };
        self.known.insert(identity, id);
        Ok(id)
    }

    fn read(
        &mut self,
        file: &File,
        path: &Path,
        main: bool,
    ) -> Result<Option<ObjectId>, NativeError> {
        match Image::read(file) {
            Ok(image) => {
                let id = ObjectId(self.objects.len() as u32);
                let ran = vec![false; image.functions().len()];
                let path = path.to_owned();
                self.objects.push(WatchedFile { path, image, ran, order: Vec::new() });
                Ok(Some(id))
            }
            Err(why) if main => {
                Err(NativeError::Unfit { path: path.to_owned(), why: why.to_string() })
            }
            Err(why) => {
                // Data that is mapped executable is nothing to tell of.
                if !matches!(why, Unfit::Foreign) {
                    self.skip(path.to_owned(), why.to_string());
                }
                Ok(None)
            }
        }
    }

    /// Notes that something is not or not fully watched.
    pub(super) fn skip(&mut self, path: PathBuf, why: String) {
        let skipped = SkippedFile { path, why };
        if !self.skipped.contains(&skipped) {
            self.skipped.push(skipped);
        }
    }

    /// What is known of a watched file.
    pub(super) fn image(&self, id: ObjectId) -> &Image {
        &self.objects[id.0 as usize].image
    }

    /// Whether a function of a watched file has run.
    pub(super) fn has_run(&self, id: ObjectId, function: usize) -> bool {
        self.objects[id.0 as usize].ran[function]
    }

    /// Notes that a function runs, unless it has run before.
    pub(super) fn record(&mut self, id: ObjectId, function: usize) {
        let object = &mut self.objects[id.0 as usize];
        if !std::mem::replace(&mut object.ran[function], true) {
            object.order.push((function, self.entered));
            self.entered += 1;
        }
    }

    /// What ran, by file in the order in which they were mapped.
    pub(super) fn finish(self) -> (Vec<Object>, Vec<SkippedFile>) {
        let recorded = self.objects.into_iter().map(|object| {
            let WatchedFile { path, image, order, .. } = object;
            let entered = order.into_iter().map(|(index, order)| {
                let function = &image.functions()[index];
                ExecutedFunction {
                    address: function.address,
                    size: function.size,
                    name: image.name(function),
                    order,
                }
            });
            Object {
                path,
                functions: image.functions().len(),
                entered: entered.collect(),
                build_id: image.build_id,
            }
        });
        (recorded.collect(), self.skipped)
    }
}
