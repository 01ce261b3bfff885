//! Columns of `perf script` that say nothing of the code that ran.

use super::super::symbol::hex;

/// Without the columns between the event and the address of the code: what a jump was (`call`, `tr strt`),
/// and the address, kind and weight of the data (`7f9aa190e99a 5080021 |OP LOAD|LCK No  35`).
pub(super) fn behind_columns(text: &str) -> &str {
    let mut rest = text;
    while let Some(word) = rest.split_ascii_whitespace().next() {
        let behind = rest[word.len()..].trim_start();
        let next = behind.split_ascii_whitespace().next().unwrap_or_default();
        if hex(word).is_some() && is_code(next, behind) {
            return rest;
        }
        // Only what is known to stand here is passed over.
        let known = JUMPS.contains(&word) || hex(word).is_some() || text.contains(" |OP ");
        if !known {
            break;
        }
        rest = behind;
    }
    text
}

/// The words by which perf tells kinds of jumps.
const JUMPS: [&str; 18] = [
    "call", "return", "jmp", "jcc", "int", "iret", "syscall", "sysret", "async", "hw", "tx",
    "abrt", "tr", "strt", "end", "vmentry", "vmexit", "(x)",
];

/// Whether `word`, which `text` begins with, can stand behind the address of code: as its symbol, or as the
/// file, or as nothing.
fn is_code(word: &str, text: &str) -> bool {
    if word.starts_with('|') {
        return false;
    }
    let last = text.len() == word.len() || text[word.len()..].trim_start().starts_with(['(', '[']);
    // `add` and `face` are names, too; a name does not begin with a digit.
    hex(word).is_none() || (last && !word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Without the columns behind the file, such as those of `-F +insn`: ` insn: 48 83 c2 01`.
pub(super) fn without_columns(text: &str) -> &str {
    if text.ends_with(')') {
        return text;
    }
    let file = [" (/", " (["].iter().filter_map(|start| text.rfind(start)).max();
    let end = file.and_then(|at| Some(at + text[at..].find(')')? + 1));
    // Of a file that is deleted.
    let end = end.map(|end| end + usize::from(text[end..].starts_with(')')));
    end.map_or(text, |end| &text[..end])
}
