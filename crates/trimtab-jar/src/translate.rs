//! From a program to classes.

use crate::classfile::{Class, access};
use crate::co_location::{Group, Groups};
use crate::constants::{PartialAddresses, drop_saves, moved_constants, propagate, prune};
use crate::emit::{
    CoLocated, Context, HUGE, Home, LoopMethod, Shape, co_located, entry, pointer, split, whole,
};
use crate::error::JarError;
use crate::floats::{quiet, sets_rounding};
use crate::four_words::{left_results, take_results};
use crate::function::{Function, build};
use crate::image::AT_END;
use crate::image::Image;
use crate::ir::{Callee, End, Op};
use crate::libgcc::{arithmetic, computing};
use crate::liveness::{Summaries, returns_twice, solve};
use crate::loops::{count_loops, fence_waits};
use crate::merge_guards::merge_guards;
use crate::no_return::end_behind_calls;
use crate::profile::{Profile, blocks, first_blocks};
use crate::report::{CoLocatedFunctions, Report, SplitFunction};
use crate::return_types::computed_results;
use crate::sink::sink;
use crate::stack_slots::slots_as_variables;
use crate::stand_ins::{calling, stand_ins};
use crate::switches::find_switches;
use crate::vars::{CALLEE_SAVED, RA};
use crate::vfork::find_vfork;
use crate::wide::widen;
use crate::words::join_words;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A class or another file of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the archive.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A translated program.
#[derive(Debug, Clone)]
pub struct Translation {
    /// Classes, and the program's memory as `program.image`; by ascending path.
    pub entries: Vec<Entry>,
    /// What was done.
    pub report: Report,
}

/// A class is closed when it is this large: the constant pool holds 65,535 entries.
const CLASS_BYTES: usize = 150_000;
/// As above, for the entries of the pool.
const CLASS_ENTRIES: usize = 40_000;

/// Labels by which others may be listed, and of these how many in a table: what people write has one, and some hundreds.
const MOST_BASES: usize = 4;
const MOST_LABELS: u32 = 1 << 12;

/// Ways from block to block in all functions, at most; other functions are left out.
const MOST_EDGES: usize = 1 << 24;

/// How a program is translated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Functions that Java calls.
    pub exports: BTreeSet<String>,
    /// Instructions are counted, so that they can be limited and the program be stopped anywhere.
    pub metered: bool,
    /// Each block counts how often it runs, for a profile.
    pub counted: bool,
    /// How often blocks ran: it decides where large functions are cut.
    pub profile: Profile,
    /// Functions that share a method, by names or addresses as `0x401000`: so each group of these.
    pub co_located: Vec<Vec<String>>,
}

/// Translates a statically linked MIPS32 program: the bytes of its ELF file.
///
/// Takes time in proportion to the code, but for calls: what functions pass each other is worked out
/// by going over them until nothing changes.
///
/// # Errors
/// [`JarError`] says why a program cannot be translated. Never panics, whatever the bytes are.
pub fn translate(elf: &[u8]) -> Result<Translation, JarError> {
    translate_with(elf, &Options::default())
}

/// The same in the way that `options` say.
///
/// # Errors
/// As [`translate`], and where a function is missing that Java is to call, or functions cannot be co-located.
pub fn translate_with(elf: &[u8], options: &Options) -> Result<Translation, JarError> {
    let mut image = Image::read(elf)?;
    image.export(&options.exports)?;
    let mut left_out = BTreeSet::new();
    loop {
        let translation = translated(&mut image, elf, options, &mut left_out)?;
        // Who calls what has no Java code has to know: else once more.
        if translation.report.too_large.len() == left_out.len() {
            return Ok(translation);
        }
    }
}

/// The program without the functions that are `left_out`; those are added that do not fit into methods and classes.
fn translated(
    image: &mut Image<'_>,
    elf: &[u8],
    options: &Options,
    left_out: &mut BTreeSet<u32>,
) -> Result<Translation, JarError> {
    // Long: the translation, step by step.
    let mut functions = find_functions(image, options.metered, left_out);
    if !image.named {
        // Functions that only code names by their addresses begin somewhere within others.
        while image.add_functions(named_by_code(image, &functions)) {
            functions = find_functions(image, options.metered, left_out);
        }
    }
    end_behind_calls(&mut functions);
    let left = left_results(&mut functions);
    let all_known = image.named && options.exports.is_empty() && left_out.is_empty();
    let summaries = solve(&mut functions, image.entry, &left, all_known);
    let starts: Vec<u32> = functions.iter().map(|function| function.start).collect();
    functions.retain(|function| function.reached);
    functions.iter_mut().for_each(|function| improve(&summaries, function));
    // A class has lines of one file.
    functions.sort_by_key(|function| (image.lines.file(function.start), function.start));
    let named: Vec<(u32, String)> = functions.iter().map(|f| (f.start, f.name.clone())).collect();
    let names = Image::unique_names(&named);
    let mut report = Report {
        functions: functions.len(),
        others: starts.len() - functions.len(),
        too_large: left_out.iter().map(|start| image.function_name(*start)).collect(),
        instructions: image.instructions(),
        elf_bytes: elf.len(),
        loses_exceptions: image.unwind.catchers.iter().any(|catcher| catcher.types)
            && !image.symbols.contains_key("_Unwind_RaiseException"),
        ..Report::default()
    };
    for function in &functions {
        report.count(function);
        if returns_twice(&summaries, Callee::At(function.start)) {
            report.returning_twice.push(function.name.clone());
        }
    }

    let (homes, class_of) = places(image, &functions, names, &summaries);
    let (lines, metered) = (&image.lines, options.metered);
    let counters = options.counted.then(|| first_blocks(&functions));
    let (counters, profile) = (counters.as_ref(), &options.profile);
    let groups = &groups(image, options, &functions, &summaries)?;
    let context =
        Context { homes: &homes, summaries: &summaries, lines, metered, counters, profile, groups };

    let numbered: Vec<(&Function, usize)> = functions.iter().zip(class_of).collect();
    let classes: Vec<&[(&Function, usize)]> = numbered.chunk_by(|a, b| a.1 == b.1).collect();
    let classes_of_code = classes.len().max(1);
    let made: Result<Vec<MadeClass>, JarError> =
        classes.into_par_iter().map(|of| made_class(&context, of)).collect();
    let mut entries = Vec::new();
    for made in made? {
        entries.push(made.entry);
        report.split.extend(made.split);
        report.co_located.extend(made.co_located);
        report.full_classes += made.full;
        left_out.extend(made.too_large);
    }
    let mut taken: Vec<u32> = functions
        .iter()
        .filter(|f| f.taken || f.start == image.entry || f.is_stand_in())
        .map(|function| function.start)
        .collect();
    taken.sort_unstable();
    let all: BTreeSet<u32> = starts.into_iter().chain(left_out.iter().copied()).collect();
    let others: Vec<u32> =
        all.into_iter().filter(|start| taken.binary_search(start).is_err()).collect();
    let pointers: Vec<(u32, Vec<u8>)> =
        taken.iter().filter_map(|start| Some((*start, pointer(&context, *start)?))).collect();
    entries.push(Entry {
        path: "program.image".to_owned(),
        bytes: memory(image, classes_of_code, &pointers, &others, options.metered),
    });
    if options.counted {
        let bytes = blocks(elf, &functions).into_bytes();
        entries.push(Entry { path: "program.blocks".to_owned(), bytes });
    }
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    report.classes = entries.iter().filter(|entry| entry.path.ends_with(".class")).count();
    Ok(Translation { entries, report })
}

/// Where each function's method will be, and the number of its class: as many instructions to a class as give about its size.
fn places(
    image: &Image<'_>,
    functions: &[Function],
    names: Vec<String>,
    summaries: &Summaries,
) -> (FxHashMap<u32, Home>, Vec<usize>) {
    let mut homes = FxHashMap::default();
    let mut class_of = Vec::new();
    let (mut class, mut bytes) = (0, 0);
    let mut before = None;
    for (function, name) in functions.iter().zip(names) {
        let size = function.instructions() * 12;
        let file = image.lines.file(function.start);
        let begins = std::mem::replace(&mut before, file) != file;
        if bytes > 0 && (bytes + size > CLASS_BYTES || begins) {
            class += 1;
            bytes = 0;
        }
        bytes += size;
        class_of.push(class);
        let shape = Shape::of(&summaries[&function.start]);
        homes.insert(function.start, Home { class: format!("program/Code{class}"), name, shape });
    }
    (homes, class_of)
}

/// The functions that share methods.
fn groups<'a>(
    image: &Image<'_>,
    options: &Options,
    functions: &'a [Function],
    summaries: &Summaries,
) -> Result<Groups<'a>, JarError> {
    let known = image.functions.values().map(|(_, name)| name.clone()).collect();
    Groups::new(&options.co_located, functions, summaries, &known, image.entry)
}

/// Addresses of the functions that Java calls, by their names, with those of `main`, `malloc` and `free`; nothing where
/// it calls none.
///
/// # Errors
/// Where a function is missing.
pub fn exported(elf: &[u8], names: &BTreeSet<String>) -> Result<BTreeMap<String, u32>, JarError> {
    Image::read(elf)?.export(names)
}

/// A class with some of the functions, and what is to be said of them.
struct MadeClass {
    entry: Entry,
    split: Vec<SplitFunction>,
    co_located: Vec<CoLocatedFunctions>,
    /// How many functions found the pool of constants grown large.
    full: usize,
    /// Functions that do not fit.
    too_large: Vec<u32>,
}

/// The class of these functions, which are all of one file.
fn made_class(
    context: &Context<'_>,
    functions: &[(&Function, usize)],
) -> Result<MadeClass, JarError> {
    let number = functions.first().map_or(0, |(_, number)| *number);
    let mut class = Class::new(&format!("program/Code{number}"), "java/lang/Object");
    let file = functions.first().and_then(|(first, _)| context.lines.file(first.start));
    class.source = file.and_then(|file| context.lines.name(file)).map(str::to_owned);
    let (mut split, mut full, mut too_large) = (Vec::new(), 0, Vec::new());
    let mut co_located = Vec::new();
    for (function, _) in functions {
        let Some(home) = context.homes.get(&function.start) else { continue };
        if let Some(group) = context.groups.made_with(function.start) {
            co_located.push(co_locate(context, group, &mut class)?);
        }
        match method(context, function, &mut class, home) {
            Method::Whole => {}
            Method::Split(function) => split.push(function),
            Method::TooLarge => too_large.push(function.start),
        }
        full += usize::from(class.entries() > CLASS_ENTRIES);
        if !class.fits() {
            too_large.push(function.start);
            break;
        }
    }
    let path = format!("{}.class", class.name());
    let entry = Entry { path, bytes: class.finish() };
    Ok(MadeClass { entry, split, co_located, full, too_large })
}

/// How a function was added to a class.
enum Method {
    Whole,
    Split(SplitFunction),
    TooLarge,
}

/// Adds the method of several functions to a class.
fn co_locate(
    context: &Context<'_>,
    group: &Group<'_>,
    class: &mut Class,
) -> Result<CoLocatedFunctions, JarError> {
    let CoLocated { name, descriptor, code, loops, sizes } = co_located(context, group, class);
    let names: Vec<String> =
        group.members.iter().map(|member| member.function.name.clone()).collect();
    if code.len() > HUGE {
        return Err(too_large_together(names.into_iter().zip(sizes).collect(), code.len()));
    }
    let flags = access::PUBLIC | access::STATIC;
    class.method(flags, &name, &descriptor, &code);
    for LoopMethod { home, code, .. } in &loops {
        class.method(flags, &home.name, &home.shape.descriptor(), code);
    }
    let (jumps, calls) = group.calls();
    Ok(CoLocatedFunctions { names, method: name, bytes: code.len(), jumps, calls })
}

/// Says without which functions the others fit: the smallest one that suffices, else the largest ones.
fn too_large_together(sizes: Vec<(String, usize)>, bytes: usize) -> JarError {
    let mut left: Vec<&(String, usize)> = sizes.iter().collect();
    left.sort_by_key(|(name, size)| (*size, name));
    let (mut rest, mut leave_out) = (bytes, Vec::new());
    while rest > HUGE && !left.is_empty() {
        let suffices = left.iter().position(|(_, size)| rest - size <= HUGE);
        let (name, size) = left.remove(suffices.unwrap_or(left.len() - 1));
        rest -= size;
        leave_out.push(name.clone());
    }
    JarError::CoLocatedSize { sizes, bytes, limit: HUGE, leave_out }
}

/// Adds a function to a class.
fn method(context: &Context<'_>, function: &Function, class: &mut Class, home: &Home) -> Method {
    let flags = access::PUBLIC | access::STATIC;
    if let Some((group, at)) = context.groups.of(function.start) {
        if group.members[at].is_entered {
            let code = entry(context, group, at, class);
            class.method(flags, &home.name, &home.shape.descriptor(), &code);
        }
        return Method::Whole;
    }
    let found = whole(context, function, class);
    if found.code.len() <= HUGE {
        class.method(flags, &home.name, &home.shape.descriptor(), &found.code);
        for LoopMethod { home, code, .. } in &found.loops {
            class.method(flags, &home.name, &home.shape.descriptor(), code);
        }
        return Method::Whole;
    }
    let loops: usize = found.loops.iter().map(|found| found.code.len()).sum();
    let bytes = found.code.len() + loops;
    let Some(cut) = split(context, function, class, home) else { return Method::TooLarge };
    let sizes = cut.parts.iter().map(|part| part.bytes);
    let methods = std::iter::once(cut.driver).chain(sizes).collect();
    let (name, parts) = (function.name.clone(), cut.parts);
    Method::Split(SplitFunction { name, bytes, methods, parts })
}

/// What is done with a function of which it is known what is live.
fn improve(summaries: &Summaries, function: &mut Function) {
    slots_as_variables(summaries, function);
    merge_guards(summaries, function);
    sink(summaries, function);
    widen(summaries, function);
}

/// Makes functions of all code that symbols and calls lead to, but for what is left out; what has too many ways from block to block
/// is left out as well.
fn find_functions(image: &Image<'_>, metered: bool, left_out: &mut BTreeSet<u32>) -> Vec<Function> {
    // Long: what is found in a function may have others be looked at again.
    let mut edges = 0;
    let stand_ins = stand_ins(image, metered);
    let arithmetic = arithmetic(image, metered);
    let mut known: BTreeMap<u32, Function> = BTreeMap::new();
    let mut open: BTreeSet<u32> = image.functions.keys().copied().collect();
    let mut labels = BTreeSet::new();
    while let Some(start) = open.pop_first() {
        if left_out.contains(&start) {
            continue;
        }
        let (end, name) = match image.functions.range(..=start).next_back() {
            Some((at, (end, name))) if *at == start => (*end, name.clone()),
            Some((_, (end, name))) if start < *end => (*end, format!("{name}_{start:x}")),
            _ => (image.code_end(start), format!("f_{start:x}")),
        };
        let built = match (stand_ins.get(&start), arithmetic.get(&start)) {
            (Some(stand_in), _) => Some(calling(start, &name, *stand_in)),
            (_, Some(what)) => Some(computing(start, &name, *what)),
            _ => build(image, start, end, &name, &labels),
        };
        edges -= known.remove(&start).map_or(0, |before| before.edges());
        let Some(mut function) = built.filter(|built| edges + built.edges() <= MOST_EDGES) else {
            left_out.insert(start);
            continue;
        };
        take_results(&mut function);
        function.computed = computed_results(&function);
        propagate(image, &mut function);
        prune(&mut function);
        let made = made_labels(image, &function).chain(listed_labels(image, &function));
        let new: Vec<u32> = made.filter(|to| labels.insert(*to)).collect();
        if !new.is_empty() {
            // Functions with these are cut into other blocks then.
            let owner =
                |to: &u32| image.functions.range(..=to).next_back().map(|(owner, _)| *owner);
            open.extend(new.iter().filter_map(owner));
            open.insert(start);
            continue;
        }
        join_words(&mut function);
        find_switches(image, &mut function);
        prune(&mut function);
        drop_saves(&mut function, CALLEE_SAVED);
        find_vfork(&mut function);
        fence_waits(&mut function);
        count_loops(&mut function);
        function.rounds = image.sets_rounding() || sets_rounding(&function);
        quiet(&mut function);
        let further = function.callees();
        edges += function.edges();
        known.insert(start, function);
        open.extend(
            further.into_iter().filter(|to| !known.contains_key(to) && image.word(*to).is_some()),
        );
    }
    let mut functions: Vec<Function> = known.into_values().collect();
    for function in &mut functions {
        // What jumps to earlier frames cannot be interpreted: those have Java code.
        function.taken = image.pointers.binary_search(&function.start).is_ok() || leaves(function);
    }
    functions
}

/// Whether a function jumps to an earlier frame, as `longjmp` does.
fn leaves(function: &Function) -> bool {
    function.blocks.iter().any(|block| matches!(block.end, End::Away(_)))
}

/// Labels in any function whose addresses this one makes, as GNU's dialect of C has them. Numbers that happen to be such addresses
/// only cost time. Without symbols they cannot be told from the starts of functions; and multiples of 64 KiB are what the
/// table of global offsets has for addresses near them, of which the rest is added.
fn made_labels<'a>(image: &'a Image<'_>, function: &'a Function) -> impl Iterator<Item = u32> + 'a {
    let is_label = |to: &u32| {
        image.named
            && image.word(*to).is_some()
            && !to.is_multiple_of(1 << 16)
            && !image.functions.contains_key(to)
    };
    let ins = function.blocks.iter().flat_map(|block| &block.ins);
    // A branch and link to the next instruction is how code finds where it is.
    ins.filter(|ins| ins.d != Some(RA)).flat_map(moved_constants).filter(is_label)
}

/// Labels of a function whose distances from another one are in a table: `&&there - &&here`. Of tables only the starts are
/// known, which code has; each goes on as long as its words lead into the function. Code has the other label, too: from labels that are
/// only listed, any small numbers would lead to further ones, and from these to others.
fn listed_labels<'a>(
    image: &'a Image<'_>,
    function: &'a Function,
) -> impl Iterator<Item = u32> + 'a {
    let jumps = function.blocks.iter().any(|block| matches!(block.end, End::Table { .. }));
    let (start, end) =
        (function.start, image.functions.get(&function.start).map_or(0, |(end, _)| *end));
    let own = made_labels(image, function).filter(|to| jumps && (start..end).contains(to));
    let bases: BTreeSet<u32> = own.collect();
    bases.into_iter().take(MOST_BASES).flat_map(move |base| {
        let ins = function.blocks.iter().flat_map(|block| &block.ins);
        ins.flat_map(moved_constants).flat_map(move |table| {
            let place = move |index| {
                image.data(table.checked_add(4 * index)?).map(|by| base.wrapping_add(by))
            };
            let leads = move |to: &u32| (start..end).contains(to) && image.word(*to).is_some();
            (0..MOST_LABELS).map_while(place).take_while(leads)
        })
    })
}

/// Constants in code, and pointers in data, that may be addresses of functions. What is in a function
/// with computed jumps is rather a place that those lead to.
fn named_by_code(image: &Image<'_>, functions: &[Function]) -> BTreeSet<u32> {
    let ins = functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.ins);
    let starts: BTreeMap<u32, bool> = functions
        .iter()
        .map(|f| {
            (
                f.start,
                f.blocks.iter().any(|b| matches!(b.end, End::Table { .. } | End::Switch { .. })),
            )
        })
        .collect();
    let jumps = |at: &u32| starts.range(..=*at).next_back().is_some_and(|(_, jumps)| *jumps);
    let pointers = image.pointers.iter().copied().filter(|at| !jumps(at));
    // Where control goes from within a function, none begins.
    let inner: BTreeSet<u32> = functions
        .iter()
        .flat_map(|f| f.blocks.iter().map(|block| block.key).filter(|key| *key != f.start))
        .collect();
    let called = |function| PartialAddresses::of(function).called().collect::<Vec<_>>();
    let sums = functions.iter().flat_map(called).filter(|at| !inner.contains(at));
    ins.flat_map(moved_constants)
        .chain(pointers)
        .chain(sums)
        .filter(|address| image.looks_like_function(*address))
        .collect()
}

/// The memory that the program begins with, as the run time reads it: big-endian words.
///
/// The number of classes with the program's code; entry, address and number of the program headers, address of `main` or 0, whether instructions are counted; the number of functions whose addresses are
/// known, and of each, ascending, its address, the length of the class of its pointer, and that class; the number of runs of code, and start and end of each; the number of other functions, and those,
/// ascending; what is called for an exception that nothing caught; the number of functions that look at exceptions,
/// and of each, ascending, start, end, table and personality routine; then segments: address, bytes, size in memory, and the bytes.
fn memory(
    image: &Image<'_>,
    classes: usize,
    pointers: &[(u32, Vec<u8>)],
    others: &[u32],
    metered: bool,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let word = |value: u32, bytes: &mut Vec<u8>| bytes.extend(value.to_be_bytes());
    word(classes as u32, &mut bytes);
    word(image.entry, &mut bytes);
    word(image.headers.0, &mut bytes);
    word(u32::from(image.headers.1), &mut bytes);
    word(image.symbols.get("main").copied().unwrap_or_default(), &mut bytes);
    word(u32::from(metered), &mut bytes);
    word(pointers.len() as u32, &mut bytes);
    for (start, class) in pointers {
        word(*start, &mut bytes);
        word(class.len() as u32, &mut bytes);
        bytes.extend(class);
    }
    let runs: Vec<(u32, u32)> = image.runs_of_code().collect();
    word(runs.len() as u32, &mut bytes);
    for (start, end) in runs {
        word(start, &mut bytes);
        word(end, &mut bytes);
    }
    word(others.len() as u32, &mut bytes);
    for start in others {
        word(*start, &mut bytes);
    }
    for name in AT_END {
        word(image.symbols.get(name).copied().unwrap_or_default(), &mut bytes);
    }
    word(image.unwind.catchers.len() as u32, &mut bytes);
    for catcher in &image.unwind.catchers {
        for part in [catcher.start, catcher.end, catcher.table, catcher.personality] {
            word(part, &mut bytes);
        }
    }
    word(image.segments.len() as u32, &mut bytes);
    for segment in &image.segments {
        word(segment.address, &mut bytes);
        word(segment.bytes.len() as u32, &mut bytes);
        word(segment.size, &mut bytes);
        bytes.extend(segment.bytes);
    }
    bytes
}

/// Names of the functions of a program; none where it cannot be read.
#[cfg(feature = "run")]
pub(crate) fn function_names(elf: &[u8]) -> BTreeSet<String> {
    Image::read(elf).map(|image| image.symbols.into_keys().collect()).unwrap_or_default()
}

/// Whether a function has an instruction that is not known.
pub(crate) fn has_unknown(function: &Function) -> bool {
    function.blocks.iter().flat_map(|block| &block.ins).any(|ins| ins.op == Op::Unknown)
}
