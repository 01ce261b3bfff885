//! How long layouts take, and how much memory, as programs grow: 10 thousand, 100 thousand and a
//! million functions, with ten blocks and fifty events for each function.
//!
//! `cargo bench -p trimtab-layout --bench scale [-- FUNCTIONS...]`
//!
//! Programs and runs are made up, shaped after boots of the lab kernel: a fifth of all functions
//! run; a run goes on to functions that did not run before at a steady pace, each near the one
//! before, and between them calls the same few helpers again and again, a few of them most of the
//! time; each is interrupted before the turn of the next one that did not run yet; the number of a
//! function's blocks is spread over two orders of magnitude, with a median of six; each block goes to
//! one other block nine times of ten, mostly the next, and to a second one otherwise, behind it or in
//! front; one in eight calls, nearly always the same function. Three runs share nine tenths of their
//! way.
//!
//! Two times are printed: of the clock, and of all processors together. On a machine that does
//! other things as well only the second one says anything. Everything runs on one processor, as it
//! does in the commands.
//!
//! The sums are of what commands do between reading and writing: `trimtab order` and `trimtab fit
//! program` by functions; `trimtab fit kernel --granularity block` by blocks, where it lays out the
//! parts of the functions that it has split.
#![allow(missing_docs, clippy::expect_used, clippy::unwrap_used)]

use std::collections::HashMap;
use std::time::Instant;
use trimtab_fixture::{Random, mixed};
use trimtab_layout::{
    Algorithm, BlockIndex, BlockNode, Edge, Flow, InPlace, Piece, PieceId, Prices, Problem, Span,
    algorithms, ext_tsp, ext_tsp_score, split_by_price,
};
use trimtab_program::decode::Jump;
use trimtab_program::{Block, Range, RangeSet};

/// Sizes, where the command line gives none.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
const EVENTS_PER_FUNCTION: usize = 50;
const RUNS: usize = 3;
/// One function in so many runs.
const ONE_IN: usize = 5;
const BLOCK_BYTES: u64 = 28;

/// What a program is made by.
struct Chance(Random);

impl Chance {
    fn of(seed: u64) -> Self {
        Self(Random::of(seed))
    }

    /// A number below `most`.
    fn below(&mut self, most: usize) -> usize {
        ((u128::from(self.0.number()) * most as u128) >> 64) as usize
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn unit(&mut self) -> f64 {
        self.0.unit()
    }
}

struct GeneratedProgram {
    /// Number of each function's first block; one more at the end.
    first_block: Vec<u32>,
    /// Executed blocks of each run, all executions.
    events: Vec<Vec<u32>>,
}

fn make(functions: usize) -> GeneratedProgram {
    let mut chance = Chance::of(functions as u64);
    let mut first_block = Vec::with_capacity(functions + 1);
    let mut blocks = 0usize;
    for _ in 0..functions {
        first_block.push(blocks as u32);
        // Log-normal: median 6, mean 10.
        let spread: f64 = (0..12).map(|_| chance.unit()).sum::<f64>() - 6.0;
        blocks += (6.09 * spread.exp()).round().clamp(1.0, 600.0) as usize;
    }
    first_block.push(blocks as u32);
    let events = (0..RUNS)
        .map(|run| events(run, functions, functions * EVENTS_PER_FUNCTION / RUNS, &first_block))
        .collect();
    GeneratedProgram { first_block, events }
}

fn events(run: usize, functions: usize, count: usize, first_block: &[u32]) -> Vec<u32> {
    // The same chances in each run, but for one part in ten of the way.
    let mut chance = Chance::of(1);
    let mut own = Chance::of(1000 + run as u64);
    let hot = (functions / ONE_IN).max(1);
    let function_of = |place: usize| (place * ONE_IN + place % 3).min(functions - 1);
    let mut events = Vec::with_capacity(count);
    let pace = (count / hot).max(1);
    // Functions that are under way, with the block that each is in.
    let mut stack: Vec<(usize, u32)> = Vec::new();
    // How many of them ran because it was their turn.
    let mut begun = 0;
    while events.len() < count {
        let reached = (events.len() / pace).min(hot - 1);
        let part = reached * 100 / hot;
        let chance = if part % 10 == 9 { &mut own } else { &mut chance };
        let place = match chance.below(10) {
            // On to what did not run before.
            _ if begun <= reached => {
                begun += 1;
                begun - 1
            }
            // A helper: of all that ran so far, a few most of the time.
            0..=6 => (reached as f64 * chance.unit().powi(6)) as usize,
            // Something near.
            _ => reached.saturating_sub(chance.below(64)),
        };
        let function = function_of(place);
        stack.push((function, first_block[function]));
        // It is interrupted before the next one's turn, whatever it calls.
        let interrupted = events.len() + 1 + chance.below(pace);
        while let Some((function, block)) = stack.pop() {
            events.push(block);
            if events.len() == count {
                return events;
            }
            if events.len() == interrupted {
                stack.clear();
                break;
            }
            let (first, end) = (first_block[function], first_block[function + 1]);
            // Both ways out of a block are always the same.
            let way = mixed(u64::from(block) + 1);
            let ahead = block + 1 + ((way >> 8) % 4) as u32;
            let back = first + ((way >> 16) % u64::from(block - first + 1)) as u32;
            let next = match (chance.below(10), way % 4) {
                (0..9, 0..3) => block + 1,
                (0..9, _) => ahead,
                (_, 0 | 1) => ahead + 1,
                _ => back,
            };
            // A function of many blocks does not run for ever.
            if next < end && !chance.one_in(40) {
                stack.push((function, next));
            }
            if stack.len() < 12 && mixed(u64::from(block)).is_multiple_of(8) {
                let callee = match chance.one_in(50) {
                    true => chance.below(reached + 1),
                    // Never what has not been reached yet.
                    false => ((mixed(u64::from(block) + 2) as usize) % hot).min(reached),
                };
                let callee = function_of(callee);
                stack.push((callee, first_block[callee]));
            }
        }
    }
    events
}

/// What a layout of functions starts from.
struct Input {
    pieces: Vec<Piece>,
    runs: Vec<Vec<PieceId>>,
    flow: Flow,
}

fn input(made: &GeneratedProgram, function_of: &[PieceId]) -> Input {
    let functions = made.first_block.len() - 1;
    let mut pieces: Vec<Piece> = (0..functions)
        .map(|function| {
            let blocks = made.first_block[function + 1] - made.first_block[function];
            Piece { size: u64::from(blocks) * BLOCK_BYTES, alignment: 16, executed: Vec::new() }
        })
        .collect();
    let mut sequences = Vec::new();
    let mut runs = Vec::new();
    for events in &made.events {
        let mut seen = vec![false; functions];
        let mut run = Vec::new();
        let mut sequence: Vec<PieceId> = Vec::new();
        for &block in events {
            let function = function_of[block as usize];
            if sequence.last() != Some(&function) {
                sequence.push(function);
            }
            if !std::mem::replace(&mut seen[function.index()], true) {
                run.push(function);
                let piece = &mut pieces[function.index()];
                piece.executed = vec![Span { start: 0, end: piece.size.div_ceil(2) }];
            }
        }
        sequences.push(sequence);
        runs.push(run);
    }
    let flow = Flow::observed(sequences, functions);
    Input { pieces, runs, flow }
}

/// Orders the blocks of each function that ran. Returns functions, blocks, and the score before and
/// after.
fn blocks(made: &GeneratedProgram, function_of: &[PieceId]) -> (usize, usize, f64, f64) {
    let blocks = *made.first_block.last().unwrap() as usize;
    let mut counts = vec![0u64; blocks];
    // A jump as one number: most are counted by sorting once.
    let mut jumps: Vec<u64> = Vec::new();
    let mut edges: Vec<(u64, u64)> = Vec::new();
    for events in &made.events {
        for pair in events.windows(2) {
            counts[pair[0] as usize] += 1;
            if function_of[pair[0] as usize] == function_of[pair[1] as usize] {
                jumps.push(u64::from(pair[0]) << 32 | u64::from(pair[1]));
            }
        }
        jumps.sort_unstable();
        edges.extend(jumps.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)));
        jumps.clear();
    }
    drop(jumps);
    edges.sort_unstable();
    let of = |edge: &(u64, u64)| function_of[(edge.0 >> 32) as usize];
    let by_function: Vec<&[(u64, u64)]> = edges.chunk_by(|a, b| of(a) == of(b)).collect();
    let one = |edges: &&[(u64, u64)]| -> (usize, f64, f64) {
        let function = of(&edges[0]).index();
        let (first, end) = (made.first_block[function], made.first_block[function + 1]);
        let nodes: Vec<BlockNode> = (first..end)
            .map(|block| BlockNode { size: BLOCK_BYTES, count: counts[block as usize] })
            .collect();
        let edges: Vec<Edge<BlockIndex>> = edges
            .iter()
            .map(|(jump, count)| Edge {
                from: BlockIndex((jump >> 32) as u32 - first),
                to: BlockIndex(*jump as u32 - first),
                count: *count,
            })
            .collect();
        let order = ext_tsp(&nodes, &edges);
        let given: Vec<BlockIndex> = BlockIndex::all(nodes.len()).collect();
        (nodes.len(), ext_tsp_score(&nodes, &edges, &given), ext_tsp_score(&nodes, &edges, &order))
    };
    by_function.iter().map(one).fold((by_function.len(), 0, 0.0, 0.0), |sum, found| {
        (sum.0, sum.1 + found.0, sum.2 + found.1, sum.3 + found.2)
    })
}

/// Splits each function that ran at the lowest price. Each block has a jump, mostly over a few
/// others. Returns how many bytes leave each function.
fn split_all(made: &GeneratedProgram, problem: &Problem<'_>) -> Vec<u64> {
    let mut ran = vec![false; *made.first_block.last().unwrap() as usize];
    made.events.iter().flatten().for_each(|block| ran[*block as usize] = true);
    let prices = Prices { idle_byte: 16, branch: 20, longer: 4, jump: 5, part: 120 };
    let one = |function: usize| -> u64 {
        let own = made.first_block[function]..made.first_block[function + 1];
        if problem.pieces[function].executed.is_empty() {
            return 0;
        }
        let at = |block: u32| Range::with_length(u64::from(block) * BLOCK_BYTES, BLOCK_BYTES);
        let blocks: Vec<Block> = own
            .clone()
            .map(|block| Block { id: block - own.start, range: at(block), falls_through: true })
            .collect();
        let executed: RangeSet = own.clone().filter(|b| ran[*b as usize]).map(at).collect();
        let count = blocks.len();
        let jumps: Vec<Jump> = (0..count)
            .map(|from| {
                let way = mixed(from as u64) as usize;
                let to = match way % 4 {
                    0 => (way >> 8) % (from + 1),
                    _ => from + 2 + (way >> 8) % 4,
                };
                Jump { from, to: to.min(count - 1) }
            })
            .collect();
        let split = split_by_price(&blocks, &jumps, &executed, prices);
        split.map_or(0, |split| split.cold_bytes)
    };
    (0..problem.pieces.len()).map(one).collect()
}

/// The parts of functions of which so many bytes are cold: the hot part where the function was, the
/// cold one right behind it.
fn parts(problem: &Problem<'_>, cold: &[u64]) -> (Vec<Piece>, Vec<Vec<PieceId>>) {
    let mut pieces = Vec::new();
    let mut hot = Vec::with_capacity(cold.len());
    for (piece, cold) in problem.pieces.iter().zip(cold) {
        hot.push(PieceId::at(pieces.len()));
        if *cold == 0 {
            pieces.push(piece.clone());
            continue;
        }
        let size = piece.size - cold;
        let executed = vec![Span { start: 0, end: size }];
        pieces.push(Piece { size, alignment: 2, executed });
        pieces.push(Piece { size: *cold, alignment: 1, executed: Vec::new() });
    }
    let runs = problem.runs.iter().map(|run| run.iter().map(|f| hot[f.index()]).collect());
    let runs = runs.collect();
    (pieces, runs)
}

/// The most memory that this process has had so far, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0u64) / 1024
}

/// Seconds of processor time that this process has used so far.
fn used() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which can hold anything; in ticks, of which Linux always has a hundred.
    let numbers = stat.rsplit(')').next().unwrap_or_default();
    let mut numbers = numbers.split_whitespace().skip(11).map(|ticks| ticks.parse().unwrap_or(0.0));
    (numbers.next().unwrap_or(0.0) + numbers.next().unwrap_or(0.0)) / 100.0
}

/// Times of the clock and of all processors.
#[derive(Clone, Copy)]
struct Times(f64, f64);

impl Times {
    /// Runs something and times it.
    fn of<T>(work: impl FnOnce() -> T) -> (T, Times) {
        let (start, before) = (Instant::now(), used());
        let found = work();
        (found, Times(start.elapsed().as_secs_f64(), used() - before))
    }

    fn and(self, other: Times) -> Times {
        Times(self.0 + other.0, self.1 + other.1)
    }

    fn print(self, what: &str, remark: &str) {
        println!("  {what:<18}{:>9.2} s{:>9.2} s   {remark}", self.0, self.1);
    }
}

/// What takes longer than so many seconds of processor time is left out, and said to be.
const PATIENCE: f64 = 60.0;

/// How long each algorithm took for a smaller program, by name: functions and seconds of processor
/// time.
type Known = HashMap<&'static str, (usize, f64)>;

fn measure(functions: usize, known: &mut Known) {
    let made = make(functions);
    let count = *made.first_block.last().unwrap() as usize;
    let mut function_of = vec![PieceId(0); count];
    for function in 0..functions {
        let own = made.first_block[function] as usize..made.first_block[function + 1] as usize;
        function_of[own].fill(PieceId::at(function));
    }
    let events: usize = made.events.iter().map(Vec::len).sum();
    println!("{functions} functions, {count} blocks, {events} events");
    let (input, flow_times) = Times::of(|| input(&made, &function_of));
    let ran = input.flow.counts.iter().filter(|count| **count > 0).count();
    let edges = input.flow.edges.len();
    flow_times.print("flow", &format!("{ran} functions ran, {edges} transitions between them"));
    let ((hot, blocks, before, after), block_times) = Times::of(|| blocks(&made, &function_of));
    let gain = after / before.max(1.0);
    block_times.print(
        "ext-tsp",
        &format!("{blocks} blocks of {hot} functions, score {gain:.3} of before"),
    );
    let problem =
        Problem { pieces: &input.pieces, runs: &input.runs, start: 0, flow: Some(&input.flow) };
    let (cold, split_times) = Times::of(|| split_all(&made, &problem));
    let split = cold.iter().filter(|bytes| **bytes > 0).count();
    let bytes: u64 = cold.iter().sum();
    split_times
        .print("split by price", &format!("{split} functions, {} KiB leave them", bytes / 1024));
    let (parts, parts_times) = Times::of(|| parts(&problem, &cold));
    let in_parts = Problem { pieces: &parts.0, runs: &parts.1, start: 0, flow: None };
    let (listed, times) = Times::of(|| InPlace::default().order(&in_parts).listed().len());
    times.print("in-place", &format!("{listed} of {} parts listed", parts.0.len()));
    let by_blocks = flow_times.and(split_times).and(parts_times).and(times);
    drop(parts);
    let mut by_functions = flow_times;
    for algorithm in algorithms() {
        if let Some((smaller, seconds)) = known.get(algorithm.name()) {
            let expected = seconds * functions as f64 / *smaller as f64;
            if expected > PATIENCE {
                println!("  {:<18}left out: about {expected:.0} s or more", algorithm.name());
                continue;
            }
        }
        let (listed, times) = Times::of(|| algorithm.order(&problem).listed().len());
        known.insert(algorithm.name(), (functions, times.1));
        if algorithm.name() == "fault-curve" {
            by_functions = flow_times.and(times);
        }
        times.print(algorithm.name(), &format!("{listed} listed"));
    }
    let memory = peak();
    by_functions.print("by functions", "flow and fault-curve");
    by_blocks.print("by blocks", "flow, split by price and in-place");
    println!("  at most {memory} MiB of memory so far");
}

fn main() {
    // Cargo passes options of its own, such as --bench.
    let given: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let test = std::env::args().any(|word| word == "--test");
    let sizes = match (given.is_empty(), test) {
        (false, _) => given,
        (true, true) => vec![1000],
        (true, false) => SIZES.to_vec(),
    };
    let mut known = Known::new();
    for functions in sizes {
        measure(functions.max(10), &mut known);
    }
}
