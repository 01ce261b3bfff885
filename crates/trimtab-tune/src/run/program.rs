//! A program as what is tuned: it is built in rooms.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Result;
use trimtab_lab::cache::Key;

use super::compiler::Compiler;
use super::counter::{Counter, RunCount};
use super::profiles::Profiles;
use super::request::Limits;
use super::room::Room;
use super::source::ProgramSource;
use super::subject::{Built, Costs, Fault, Image, Subject, is_same_cost};

/// A program with a compiler.
pub struct ProgramSubject<'a> {
    /// The program.
    pub source: &'a ProgramSource,
    compiler: &'a Compiler,
    counter: &'a Counter,
    limits: Limits,
    scratch: PathBuf,
    /// What the program must print; not there where that is not compared, or not known yet.
    expected: OnceLock<String>,
    rooms: Mutex<Vec<Room<'a>>>,
    profiles: Profiles,
}

impl<'a> ProgramSubject<'a> {
    /// A program that is built in rooms in `scratch`.
    pub fn new(
        source: &'a ProgramSource,
        compiler: &'a Compiler,
        counter: &'a Counter,
        limits: Limits,
        scratch: PathBuf,
    ) -> Self {
        Self {
            source,
            compiler,
            counter,
            limits,
            scratch,
            expected: OnceLock::new(),
            rooms: Mutex::new(Vec::new()),
            profiles: Profiles::default(),
        }
    }

    /// From now on the program must print what has this SHA-256.
    pub fn expect(&self, output: String) {
        if self.source.compares_output {
            self.expected.get_or_init(|| output);
        }
    }

    /// What runs are judged by.
    pub fn metric(&self) -> &'static str {
        self.counter.metric()
    }

    /// The SHA-256 of what the program must print; none where that is not compared.
    pub fn expected(&self) -> Option<&str> {
        self.expected.get().map(String::as_str)
    }

    /// Builds the program with flags and counts its run twice, which must give the same.
    ///
    /// # Errors
    /// What keeps it from being built or run, or that it differs from run to run.
    pub fn reference(&self, flags: &[String]) -> Result<RunCount, Fault> {
        let room = self.built(flags)?;
        room.check()?;
        let first = room.count(self.counter, &self.source.run)?;
        let second = room.count(self.counter, &self.source.run)?;
        if first.output != second.output && self.source.compares_output {
            return Err(Fault::Flags(
                "what it prints differs from run to run, so that nothing says whether it works; \
                 give a command that says so with --check"
                    .to_owned(),
            ));
        }
        let metric = self.counter.metric();
        let [one, other] =
            [&first, &second].map(|run| run.costs.get(metric).copied().unwrap_or(0.0));
        if !is_same_cost(one, other) {
            return Err(Fault::Flags(format!(
                "it takes {one} {metric} in one run and {other} in the next; expected the same"
            )));
        }
        self.give_back(room);
        Ok(first)
    }

    /// Builds it with flags, and counts a command that runs it.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn count(&self, flags: &[String], command: &str) -> Result<(Image, RunCount), Fault> {
        let room = self.room()?;
        let image = room.build(flags, &self.profiles)?;
        let counted = room.count(self.counter, command)?;
        self.give_back(room);
        Ok((image, counted))
    }

    /// A room with the program built in it.
    ///
    /// # Errors
    /// What keeps it from being built.
    pub fn built(&self, flags: &[String]) -> Result<Room<'a>, Fault> {
        let room = self.room()?;
        room.build(flags, &self.profiles)?;
        Ok(room)
    }

    fn room(&self) -> Result<Room<'a>> {
        let free = self.rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(room) => Ok(room),
            None => Room::new(self.source, self.compiler, self.limits, &self.scratch),
        }
    }

    fn give_back(&self, room: Room<'a>) {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).push(room);
    }
}

impl Subject for ProgramSubject<'_> {
    fn name(&self) -> &str {
        &self.source.name
    }

    fn key(&self) -> Key {
        let key = self
            .source
            .key
            .clone()
            .field("compiler", self.compiler.c.display())
            .field("compiler-version", &self.compiler.version)
            .after(&self.compiler.parts)
            .field("qemu", &self.counter.version)
            // What fails for want of memory does not with more.
            .field("memory", self.limits.memory);
        match self.counter.core() {
            Some(core) => key.after(&core.key),
            None => key,
        }
    }

    fn trial(&self, flags: &[String]) -> String {
        self.compiler.trial(flags)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn at_once(&self) -> usize {
        std::thread::available_parallelism().map_or(2, usize::from)
    }

    fn build<'s>(&'s self, flags: &[String]) -> Result<Box<dyn Built + 's>, Fault> {
        let room = self.room()?;
        let image = room.build(flags, &self.profiles)?;
        Ok(Box::new(BuiltProgram { of: self, room: Some(room), image }))
    }
}

/// A program that was built in a room, which is given back.
struct BuiltProgram<'s, 'a> {
    of: &'s ProgramSubject<'a>,
    /// There until it is given back.
    room: Option<Room<'a>>,
    image: Image,
}

impl Built for BuiltProgram<'_, '_> {
    fn image(&self) -> &Image {
        &self.image
    }

    fn measure(&self) -> Result<Costs, Fault> {
        let Some(room) = &self.room else { return Ok(Costs::new()) };
        room.check()?;
        let counted = room.count(self.of.counter, &self.of.source.run)?;
        if self.of.expected().is_some_and(|wanted| wanted != counted.output) {
            let reason = "it is wrong: it prints something else than without these flags";
            return Err(Fault::Flags(reason.to_owned()));
        }
        Ok(counted.costs)
    }
}

impl Drop for BuiltProgram<'_, '_> {
    fn drop(&mut self) {
        if let Some(room) = self.room.take() {
            self.of.give_back(room);
        }
    }
}
