//! A plain list of what ran, in the order in which it ran: the last resort of every board.
//!
//! ```text
//! # a comment
//! start_kernel
//! do_one_initcall+0x44
//! 0xffffffff81000000
//! ext4_fill_super [ext4]
//! ```

use super::symbol::{hex, is_name, split_offset};
use super::{TraceError, bad_line};
use crate::trace::{Place, Source, Trace};

/// Fewest digits of an address without `0x`, so that `add` and `cafe` are names.
const ADDRESS_DIGITS: usize = 8;

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    let mut trace = Trace::new(Source::List);
    for (index, line) in text.lines().enumerate() {
        match item(line) {
            Some(Item::Nothing) => {}
            Some(Item::Address(address)) => trace.record(Place::Address(address), None, 1),
            Some(Item::Name { name, module }) => {
                let object = module.map(|module| trace.intern(module));
                let place = Place::Name(trace.intern(name));
                trace.record_in(object, place, None, 1);
            }
            None => {
                let expected = "one name, NAME+0xOFFSET or hexadecimal address";
                return Err(bad_line(index + 1, "list", line, expected));
            }
        }
    }
    if trace.is_empty() {
        return Err(TraceError::Empty {
            expected: "expected names or addresses, one a line; all its lines are comments",
        });
    }
    Ok(trace)
}

/// Whether `line` can stand in a list and says something.
pub(super) fn is_item(line: &str) -> bool {
    matches!(item(line), Some(Item::Name { .. } | Item::Address(_)))
}

enum Item<'a> {
    Nothing,
    Address(u64),
    Name { name: &'a str, module: Option<&'a str> },
}

fn item(line: &str) -> Option<Item<'_>> {
    let line = line.split_once('#').map_or(line, |(item, _)| item).trim();
    if line.is_empty() {
        return Some(Item::Nothing);
    }
    if let Some(digits) = line.strip_prefix("0x").or_else(|| line.strip_prefix("0X")) {
        return hex(digits).map(Item::Address);
    }
    if line.len() >= ADDRESS_DIGITS
        && let Some(address) = hex(line)
    {
        return Some(Item::Address(address));
    }
    let (name, module) = match line.strip_suffix(']').and_then(|line| line.split_once(" [")) {
        Some((name, module)) => (name, Some(module)),
        None => (line, None),
    };
    let (name, _) = split_offset(name);
    is_name(name).then_some(Item::Name { name, module })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::listing;

    #[test]
    fn reads_names_offsets_and_addresses() {
        let text = "# made by hand\n\nstart_kernel\r\n  do_one_initcall+0x44\nstart_kernel # again\n\
                    0x401000\nffffffff81000000\nadd\nfoo [ext4]\nread+0x0/0x40\n_ZN3foo17h0E\n";
        assert_eq!(
            listing(&read(text).unwrap()),
            [
                "start_kernel 2",
                "do_one_initcall 1",
                "401000 1",
                "ffffffff81000000 1",
                "add 1",
                "foo in ext4 1",
                "read 1",
                "_ZN3foo17h0E 1"
            ]
        );
    }

    #[test]
    fn refuses_anything_else() {
        for text in ["start_kernel\ntwo words\n", "a\nffffffff81000000 T _text\n", "a\n0xfoo\n"] {
            assert!(matches!(read(text), Err(TraceError::Line { line: 2, .. })), "{text}");
        }
        assert!(matches!(read("# nothing\n"), Err(TraceError::Empty { .. })));
    }
}
