//! Workers on boards that share no folder with this machine. A worker here takes the jobs and passes them on, line by
//! line, through one connection of ssh to a trimtab there, which answers each. trimtab and the program's folder are
//! copied there first, where they are not there yet.

use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Silent;
use trimtab_lab::process::{Job, RunningJob};
use trimtab_lab::shell;
use trimtab_lab::workers::{Lost, Worker};

use super::elsewhere::{Assignment, CountedImages, Fingerprint, own_rooms, to_be_told};
use super::request::Setup;
use super::room;
use super::source::ProgramSource;
use super::starter::{Board, over_ssh};
use super::stopwatch::Here;
use super::tuning::prepare_found;

/// What the trimtab on a board is to know first.
#[derive(Debug, Serialize, Deserialize)]
struct Shipment {
    /// The program; its folder is another there.
    source: ProgramSource,
    setup: Setup,
    /// What the program is on the machine that searches.
    expected: Fingerprint,
}

/// What comes back of each line.
type Answer = Result<Value, Failure>;

/// Where copies are, below the home directory of a board.
const PLACE: &str = ".cache/trimtab/boards";
/// The program's folder in a copy.
const PROGRAM: &str = "program";
/// trimtab in a copy.
const TRIMTAB: &str = "trimtab";
/// The work directory in a copy.
const WORK: &str = "work";
/// A copy may take so long.
const COPYING: Duration = Duration::from_secs(3600);
/// A connection lives as long as there are jobs.
const LIFE: Duration = Duration::from_secs(365 * 24 * 3600);

/// Has a board do jobs of the spool in `folder` as the worker `name`, until there are no more.
///
/// # Errors
/// A spool that cannot be read, a board that cannot be reached or goes away, and one on which the program, its
/// compiler or QEMU is another.
pub fn work_on_board(folder: &Path, name: &str, board: &Board) -> Result<()> {
    let worker = Worker::new(folder, name);
    let assignment: Assignment = worker.setup()?;
    let Assignment { source, setup, expected } = assignment;
    let mut connection = board.connected(source, setup, expected)?;
    worker.work(|input| connection.ask(&input))
}

/// A trimtab on a board, which does one job after the other.
pub struct Connection {
    job: RunningJob,
    host: String,
}

impl Connection {
    /// Has it do a job.
    ///
    /// # Errors
    /// That the board has gone away, and what it could not do.
    pub fn ask(&mut self, input: &Value) -> Result<Value> {
        match told(&mut self.job, &serde_json::to_string(input)?)? {
            Some(answer) => Ok(answer?),
            None => {
                let said = self.job.tail().lines.join(" ");
                Err(Lost(format!("the connection to {} ended: {said}", self.host)).into())
            }
        }
    }
}

/// What comes back of a line; none where the connection has ended.
fn told(connection: &mut RunningJob, line: &str) -> Result<Option<Answer>> {
    if connection.say(line).is_err() {
        return Ok(None);
    }
    let Some(line) = connection.next_line()? else { return Ok(None) };
    let answer = serde_json::from_str(&line.text);
    answer
        .map(Some)
        .with_context(|| format!("expected an answer of trimtab, found {:?}", line.text))
}

impl Board {
    /// A job there.
    fn job(&self, what: &str, line: &str) -> Job {
        over_ssh(format!("{what} on {}", self.host), &self.host, &self.options, line)
    }

    /// A trimtab there, with a copy of the program.
    ///
    /// # Errors
    /// A board that cannot be reached, and one on which the program, its compiler or QEMU is another.
    pub fn connected(
        &self,
        source: ProgramSource,
        setup: Setup,
        expected: Fingerprint,
    ) -> Result<Connection> {
        let place = self.copied(&source)?;
        let line = format!("cd {place} && exec ./{TRIMTAB} worker --served");
        let mut job = self.job("a worker", &line).limit(LIFE).spawn_dialogue()?;
        let shipment = serde_json::to_string(&Shipment { source, setup, expected })?;
        match told(&mut job, &shipment)? {
            None => {
                // Why it ended is what ssh or trimtab said.
                job.wait()?;
                Err(anyhow!("the worker on {} ended before its first job", self.host))
            }
            Some(answer) => {
                _ = answer?;
                Ok(Connection { job, host: self.host.clone() })
            }
        }
    }

    /// The folder there of a copy of this trimtab and the program, which is made where it is not there.
    fn copied(&self, source: &ProgramSource) -> Result<String> {
        let own = std::env::current_exe().context("cannot find trimtab's own file")?;
        let bytes = Bytes::open(&own).context("cannot read trimtab's own file")?;
        let key = Key::new("board/1")
            .field("trimtab", hex::encode(Sha256::digest(&*bytes)))
            .field("program", &source.digest)
            .hash();
        let place = format!("{PLACE}/{}", key.get(..32).unwrap_or(&key));
        let asked = format!("if test -d {place}; then echo there; fi");
        let said = self.job("looking for a copy of trimtab", &asked).run_captured()?;
        if said.trim() != "there" {
            let archive = archive(&own, source)?;
            // Whole or not at all, also where two workers do so at once.
            let line = format!(
                "p={place} && n=$p.$$ && mkdir -p $n && tar -x -C $n && \
                 {{ mv -T $n $p 2>/dev/null || rm -rf $n; }} && test -x $p/{TRIMTAB}"
            );
            let copying = self.job("copying trimtab and the program to a folder", &line);
            copying.input(archive).limit(COPYING).run()?;
        }
        Ok(shell::quoted(place))
    }
}

/// An archive of trimtab and the folder of a program.
fn archive(own: &Path, source: &ProgramSource) -> Result<Vec<u8>> {
    let cannot = "cannot copy trimtab and the program for a board";
    let folder = tempfile::tempdir().context(cannot)?;
    let whole = folder.path().join("whole");
    fs::create_dir(&whole).context(cannot)?;
    fs::copy(own, whole.join(TRIMTAB)).context(cannot)?;
    room::copy(&source.template, &whole.join(PROGRAM), &source.left_out).context(cannot)?;
    let file = folder.path().join("archive");
    let packing = Job::new("packing trimtab and the program for a board", "tar");
    packing.args(["-c", "-C"]).arg(&whole).arg(".").run_into(&file)?;
    fs::read(&file).context(cannot)
}

/// Does the jobs of another machine, on a board, in the folder that was copied there: the first line of `input` is what
/// is to be known, each other line is a job, and each is answered by a line.
///
/// # Errors
/// That nothing can be read or written any more.
pub fn serve(input: impl BufRead, mut output: impl Write) -> Result<()> {
    let mut lines = input.lines();
    let Some(first) = lines.next().transpose().context("cannot read what is to be done")? else {
        return Ok(());
    };
    let mut answer = |answer: Result<Value>| -> Result<()> {
        let answer: Answer = answer.map_err(|error| to_be_told(&error));
        writeln!(output, "{}", serde_json::to_string(&answer)?)?;
        Ok(output.flush()?)
    };
    let prepared = || -> Result<_> {
        let shipment: Shipment = serde_json::from_str(&first).context("it is no shipment")?;
        let here = std::env::current_dir().context("cannot find the current folder")?;
        let mut source = shipment.source;
        source.template = here.join(PROGRAM);
        source.left_out = Vec::new();
        let setup = Setup { work: here.join(WORK), ..shipment.setup };
        let rooms = own_rooms()?;
        let tools = prepare_found(|_| Ok(source), &setup, Some(rooms.path()), &Silent)?;
        Ok((rooms, tools, setup, shipment.expected))
    };
    let (_rooms, tools, setup, expected) = match prepared() {
        Ok(prepared) => prepared,
        Err(error) => return answer(Err(error)),
    };
    let program = tools.program(&tools.compiler);
    match Fingerprint::of(&program, &setup).and_then(|own| own.check(&expected)) {
        Ok(()) => answer(Ok(Value::Null))?,
        Err(error) => return answer(Err(error)),
    }
    let mut stopwatch = Here::new(&program);
    let mut known = CountedImages::default();
    for line in lines {
        let line = line.context("cannot read a job")?;
        answer(match serde_json::from_str(&line) {
            Ok(asked) => stopwatch.answer(asked),
            Err(_) => serde_json::from_str(&line)
                .context("a job that is none")
                .and_then(|job| known.done(&program, job)),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_answered_by_one() {
        let mut output = Vec::new();
        serve(&b"{}\n"[..], &mut output).unwrap();
        let answer: Answer = serde_json::from_slice(&output).unwrap();
        assert!(answer.unwrap_err().to_string().starts_with("it is no shipment"));
    }
}
