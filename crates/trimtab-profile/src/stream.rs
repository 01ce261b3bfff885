//! Every block that ran, each time: the binary format that the QEMU plugin writes with `stream=FILE`.
//!
//! ```text
//! trimtab-stream 1
//! source qemu-plugin
//! stream
//! ```
//!
//! Then tokens follow, each a number *v* as a LEB128 varint:
//!
//! | token | meaning |
//! | --- | --- |
//! | 0 | a block that did not run before: the zigzag varint of its address less the end of the block before (0 at first), then the varint of its length in bytes; blocks are numbered from 0 |
//! | 1 | the end: a varint follows, 0 where all was recorded, 1 where it was cut at the limit |
//! | 2*n*, *n* > 0 | *n* blocks, at most 65,535, each the one that last followed the block before |
//! | 2*k* + 3 | the block with the number *k* |
//!
//! Loops and straight code are mostly of the third kind, so a block takes a fraction of a byte.

use crate::trace::{Place, Source, Trace};
use thiserror::Error;

const MAGIC: &[u8] = b"trimtab-stream 1\n";
const HEAD_END: &[u8] = b"stream\n";

/// Most lines of facts in a head: newer tracers can say more, within reason.
const MOST_FACTS: usize = 100;

/// Most blocks of one token.
const LONGEST_RUN: u64 = 65_535;

/// Most executions that are read: more would take hours to simulate.
pub const MOST_EXECUTIONS: u64 = 1 << 32;

/// Why bytes are not a stream.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// Another file.
    #[error("not a trimtab stream; expected it to begin with the line `trimtab-stream 1`")]
    Magic,
    /// The head has no end, or a fact that is not known.
    #[error("the head of the stream is damaged: found `{found}`, expected {expected}")]
    Head {
        /// The line, cut to 80 characters.
        found: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// It ends before its end.
    #[error(
        "the stream is cut off after {executions} blocks: expected a token at byte {at}; did the \
         traced machine end before it was asked to?"
    )]
    Cut {
        /// Offset in the file.
        at: usize,
        /// Blocks before it.
        executions: u64,
    },
    /// A token that says something impossible.
    #[error("the stream is damaged at byte {at}: {what}")]
    Token {
        /// Offset in the file.
        at: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Nothing ran.
    #[error("the stream is empty: expected at least one block; was anything traced?")]
    Empty,
}

/// A block of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamBlock {
    /// Address of its first instruction.
    pub start: u64,
    /// Length in bytes.
    pub length: u32,
    /// How often it ran.
    pub count: u64,
}

/// A stream that was read and found sound. Executions are decoded each time they are asked for: they
/// would not fit into memory.
#[derive(Debug, Clone)]
pub struct Stream<'data> {
    source: Source,
    blocks: Vec<StreamBlock>,
    executions: u64,
    whole: bool,
    tokens: &'data [u8],
}

/// Whether a file is a stream, by its first bytes.
pub fn is_stream(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl<'data> Stream<'data> {
    /// Reads a stream.
    ///
    /// # Errors
    /// Whatever [`StreamError`] lists. Never panics, whatever the bytes are.
    pub fn parse(bytes: &'data [u8]) -> Result<Self, StreamError> {
        let (source, head) = head(bytes)?;
        let tokens = &bytes[head..];
        let mut decoder = Decoder::new(tokens, head);
        let mut executions = 0;
        let mut counts: Vec<u64> = Vec::new();
        while let Some(block) = decoder.next_block()? {
            executions += 1;
            if executions > MOST_EXECUTIONS {
                return Err(decoder.bad("it has more than 2^32 executions; record it with limit="));
            }
            counts.resize(decoder.blocks.len(), 0);
            counts[block as usize] += 1;
        }
        if executions == 0 {
            return Err(StreamError::Empty);
        }
        let blocks = decoder
            .blocks
            .iter()
            .zip(counts)
            .map(|(block, count)| StreamBlock { count, ..*block })
            .collect();
        Ok(Stream { source, blocks, executions, whole: decoder.whole, tokens })
    }

    /// All blocks that ran, in the order of first execution.
    pub fn blocks(&self) -> &[StreamBlock] {
        &self.blocks
    }

    /// How many executions it has.
    pub fn len(&self) -> u64 {
        self.executions
    }

    /// Never: a stream without executions is not read.
    pub fn is_empty(&self) -> bool {
        self.executions == 0
    }

    /// Whether all that ran was recorded. Otherwise it was cut at the limit.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The blocks that ran, each time, as indices of [`Self::blocks`].
    pub fn executions(&self) -> impl Iterator<Item = u32> + use<'data> {
        let mut decoder = Decoder::new(self.tokens, 0);
        // Reading went through all of it without an error.
        std::iter::from_fn(move || decoder.next_block().ok().flatten())
    }

    /// The stream as a trace of first executions, with counts.
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::new(self.source);
        for block in &self.blocks {
            let place = Place::Block { start: block.start, length: block.length };
            trace.record(place, None, block.count);
        }
        trace
    }
}

/// The source that the head names, and where the head ends.
fn head(bytes: &[u8]) -> Result<(Source, usize), StreamError> {
    let mut at = if is_stream(bytes) { MAGIC.len() } else { return Err(StreamError::Magic) };
    let mut source = Source::QemuPlugin;
    for _ in 0..MOST_FACTS {
        let rest = &bytes[at..];
        let end = rest.iter().take(1000).position(|byte| *byte == b'\n');
        let line = &rest[..end.map_or(rest.len().min(80), |end| end + 1)];
        let bad = |expected| StreamError::Head {
            found: String::from_utf8_lossy(line).trim_end().chars().take(80).collect(),
            expected,
        };
        if end.is_none() {
            return Err(bad("a line `stream` before the tokens"));
        }
        at += line.len();
        if line == HEAD_END {
            return Ok((source, at));
        }
        if let Some(name) = line.strip_prefix(b"source ") {
            let name = String::from_utf8_lossy(name);
            source = Source::from_name(name.trim_end()).ok_or_else(|| bad("a known source"))?;
        }
    }
    let expected = "a line `stream` within the first hundred lines";
    Err(StreamError::Head { found: String::new(), expected })
}

/// No block.
const NONE: u32 = u32::MAX;

struct Decoder<'data> {
    tokens: &'data [u8],
    /// Offset of the tokens in the file, for messages.
    base: usize,
    at: usize,
    blocks: Vec<StreamBlock>,
    /// For each block the one that followed it last.
    follower: Vec<u32>,
    last: u32,
    /// Blocks that are still to come from the present token.
    run: u64,
    executions: u64,
    whole: bool,
    ended: bool,
}

impl<'data> Decoder<'data> {
    fn new(tokens: &'data [u8], base: usize) -> Self {
        Decoder {
            tokens,
            base,
            at: 0,
            blocks: Vec::new(),
            follower: Vec::new(),
            last: NONE,
            run: 0,
            executions: 0,
            whole: true,
            ended: false,
        }
    }

    fn bad(&self, what: &'static str) -> StreamError {
        StreamError::Token { at: self.base + self.at, what }
    }

    fn varint(&mut self) -> Result<u64, StreamError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.tokens.get(self.at) else {
                return Err(StreamError::Cut {
                    at: self.base + self.at,
                    executions: self.executions,
                });
            };
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.bad("a number does not fit into 64 bits"))
    }

    /// The next block that ran; `None` at the end.
    fn next_block(&mut self) -> Result<Option<u32>, StreamError> {
        if self.ended {
            return Ok(None);
        }
        if self.run == 0 {
            match self.varint()? {
                0 => {
                    let block = self.new_block()?;
                    return Ok(Some(self.step(block)));
                }
                1 => {
                    self.whole = self.varint()? == 0;
                    self.ended = true;
                    return match self.at == self.tokens.len() {
                        true => Ok(None),
                        false => Err(self.bad("there are bytes behind its end")),
                    };
                }
                token if token % 2 == 0 => {
                    self.run = token / 2;
                    if self.run > LONGEST_RUN {
                        return Err(self.bad("a run has more than 65,535 blocks"));
                    }
                }
                token => {
                    let block = (token - 3) / 2;
                    return match u32::try_from(block) {
                        Ok(block) if (block as usize) < self.blocks.len() => {
                            Ok(Some(self.step(block)))
                        }
                        _ => Err(self.bad("there is no block of this number yet")),
                    };
                }
            }
        }
        self.run -= 1;
        match self.follower.get(self.last as usize) {
            Some(&next) if next != NONE => Ok(Some(self.step(next))),
            _ => Err(self.bad("nothing followed this block before")),
        }
    }

    fn new_block(&mut self) -> Result<u32, StreamError> {
        let distance = self.varint()?;
        let distance = (distance >> 1) ^ (distance & 1).wrapping_neg();
        let length = self.varint()?;
        let Some(length) = u32::try_from(length).ok().filter(|length| *length > 0) else {
            return Err(self.bad("the length of a block is 0 or does not fit into 32 bits"));
        };
        let before = self
            .blocks
            .get(self.last as usize)
            .map_or(0, |block| block.start.wrapping_add(block.length.into()));
        let start = before.wrapping_add(distance);
        if self.blocks.len() >= NONE as usize {
            return Err(self.bad("it has too many blocks"));
        }
        self.blocks.push(StreamBlock { start, length, count: 0 });
        self.follower.push(NONE);
        Ok(self.blocks.len() as u32 - 1)
    }

    fn step(&mut self, block: u32) -> u32 {
        if let Some(follower) = self.follower.get_mut(self.last as usize) {
            *follower = block;
        }
        self.last = block;
        self.executions += 1;
        block
    }
}

/// Writes a stream: what the plugin does, for tests and for traces from elsewhere. `executions` are
/// indices of `blocks` (address and length, each different); those out of range are left out.
pub fn write(source: Source, blocks: &[(u64, u32)], executions: &[u32]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(format!("source {}\n", source.name()).bytes());
    bytes.extend(HEAD_END);
    let mut number = vec![NONE; blocks.len()];
    let mut follower = vec![NONE; blocks.len()];
    let (mut last, mut next_number, mut run) = (NONE, 0, 0);
    for &block in executions.iter().filter(|block| (**block as usize) < blocks.len()) {
        let expected = follower.get(last as usize).copied().unwrap_or(NONE);
        if expected == block && run < LONGEST_RUN {
            run += 1;
        } else {
            put_run(&mut bytes, &mut run);
            if number[block as usize] == NONE {
                let (start, length) = blocks[block as usize];
                let end = |block: &(u64, u32)| block.0.wrapping_add(block.1.into());
                let before = blocks.get(last as usize).map_or(0, end);
                let distance = start.wrapping_sub(before);
                put(&mut bytes, 0);
                put(&mut bytes, (distance << 1) ^ ((distance as i64 >> 63) as u64));
                put(&mut bytes, length.into());
                number[block as usize] = next_number;
                next_number += 1;
            } else {
                put(&mut bytes, u64::from(number[block as usize]) * 2 + 3);
            }
        }
        if let Some(follower) = follower.get_mut(last as usize) {
            *follower = block;
        }
        last = block;
    }
    put_run(&mut bytes, &mut run);
    put(&mut bytes, 1);
    put(&mut bytes, 0);
    bytes
}

fn put_run(bytes: &mut Vec<u8>, run: &mut u64) {
    if *run > 0 {
        put(bytes, std::mem::take(run) * 2);
    }
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &[u8] = b"trimtab-stream 1\nsource qemu-plugin\nstream\n";

    fn damaged(tokens: &[u8]) -> String {
        Stream::parse(&[HEAD, tokens].concat()).unwrap_err().to_string()
    }

    #[test]
    fn a_loop_takes_few_bytes() {
        let executions: Vec<u32> = (0..30_000).map(|step| step % 3).collect();
        let bytes = write(Source::QemuPlugin, &[(0x1000, 5), (0x1005, 2), (0x900, 7)], &executions);
        assert!(bytes.len() < HEAD.len() + 30, "{}", bytes.len());
        let stream = Stream::parse(&bytes).unwrap();
        assert_eq!(stream.executions().collect::<Vec<_>>(), executions);
        assert_eq!(stream.blocks()[2], StreamBlock { start: 0x900, length: 7, count: 10_000 });
        assert_eq!(stream.len(), 30_000);
        assert!(stream.is_whole() && !stream.is_empty());
        assert_eq!(stream.trace().events()[0].count, 10_000);
    }

    #[test]
    fn what_is_damaged_is_said() {
        assert_eq!(Stream::parse(b"trimtab-trace 1\n").unwrap_err(), StreamError::Magic);
        assert!(Stream::parse(b"trimtab-stream 1\nsource magic\n").is_err());
        assert!(Stream::parse(b"trimtab-stream 1\nsource qemu-plugin").is_err());
        assert!(damaged(&[1, 0]).contains("empty"));
        assert!(damaged(&[]).contains("cut off"));
        assert!(damaged(&[0, 2, 4]).contains("cut off after 1 blocks"));
        assert!(damaged(&[2, 1, 0]).contains("nothing followed"));
        assert!(damaged(&[3, 1, 0]).contains("no block of this number"));
        assert!(damaged(&[0, 2, 0, 1, 0]).contains("length"));
        assert!(damaged(&[0, 2, 4, 1, 0, 9]).contains("behind its end"));
        assert!(damaged(&[0xff; 12]).contains("64 bits"));
        assert!(damaged(&[0, 2, 4, 3, 0x80, 0x80, 0x80, 0x08, 1, 0]).contains("65,535"));
    }

    #[test]
    fn what_was_cut_at_the_limit_is_known() {
        let bytes = [HEAD, &[0, 2, 4, 1, 1]].concat();
        assert!(!Stream::parse(&bytes).unwrap().is_whole());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            blocks in prop::collection::vec((any::<u64>(), 1u32..), 1..20),
            picks in prop::collection::vec(any::<u32>(), 1..300),
        ) {
            let executions: Vec<u32> =
                picks.iter().map(|pick| pick % blocks.len() as u32).collect();
            let bytes = write(Source::Perf, &blocks, &executions);
            let stream = Stream::parse(&bytes).unwrap();
            let place = |block: StreamBlock| (block.start, block.length);
            let found: Vec<_> =
                stream.executions().map(|block| place(stream.blocks()[block as usize])).collect();
            let expected: Vec<_> =
                executions.iter().map(|block| blocks[*block as usize]).collect();
            prop_assert_eq!(found, expected);
            // Cut anywhere, it is refused.
            for cut in HEAD.len()..bytes.len().min(HEAD.len() + 40) {
                prop_assert!(Stream::parse(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn never_panics_on_any_bytes(tokens in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Stream::parse(&tokens);
            if let Ok(stream) = Stream::parse(&[HEAD, &tokens].concat()) {
                prop_assert_eq!(stream.executions().count() as u64, stream.len());
            }
        }
    }
}
