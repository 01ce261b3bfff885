//! A plain list of what ran, in the order in which it ran: the last resort of every board.
//!
//! ```text
//! # a comment
//! start_kernel
//! do_one_initcall+0x44
//! 0xffffffff81000000
//! ext4_fill_super [ext4]
//! ```

use super::TraceError;
use super::symbol::{hex, is_name, split_offset};
use super::tally::Tally;
use crate::trace::{Place, Source, Trace};

/// Fewest digits of an address without `0x`, so that `add` and `cafe` are names.
const ADDRESS_DIGITS: usize = 8;

/// Fewest digits where the list holds nothing but addresses.
const SHORT_ADDRESS_DIGITS: usize = 6;

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    let mut trace = Trace::new(Source::List);
    let expected = "one name, NAME+0xOFFSET or hexadecimal address";
    let mut tally = Tally::new("list", expected);
    let digits = if is_of_addresses(text) { 1 } else { ADDRESS_DIGITS };
    for (index, line) in text.lines().enumerate() {
        match item(line, digits) {
            Some(Item::Nothing) => continue,
            Some(Item::Address(address)) => trace.record(Place::Address(address), None, 1),
            Some(Item::Name { name, module }) => {
                let object = module.map(|module| trace.intern(module));
                let place = Place::Name(trace.intern(name));
                trace.record_in(object, place, None, 1);
            }
            None => {
                tally.unreadable(index + 1, line);
                continue;
            }
        }
        tally.good();
    }
    tally.finish(&mut trace)?;
    if trace.is_empty() {
        return Err(TraceError::Empty {
            expected: "expected names or addresses, one a line; all its lines are comments",
        });
    }
    Ok(trace)
}

/// Whether all items are hexadecimal, and long enough that no list of names would look so: `perf script
/// -F ip` prints addresses as short as they are.
fn is_of_addresses(text: &str) -> bool {
    let mut items = text.lines().map(without_comment).filter(|item| !item.is_empty()).peekable();
    let mut long = false;
    let mut all_short_are_numbers = true;
    let some = items.peek().is_some();
    for item in items {
        if hex(item.strip_prefix("0x").unwrap_or(item)).is_none() {
            return false;
        }
        long |= item.len() >= ADDRESS_DIGITS;
        all_short_are_numbers &=
            item.len() >= SHORT_ADDRESS_DIGITS && item.bytes().any(|byte| byte.is_ascii_digit());
    }
    some && (long || all_short_are_numbers)
}

/// Whether `line` can stand in a list and says something.
pub(super) fn is_item(line: &str) -> bool {
    matches!(item(line, ADDRESS_DIGITS), Some(Item::Name { .. } | Item::Address(_)))
}

enum Item<'a> {
    Nothing,
    Address(u64),
    Name { name: &'a str, module: Option<&'a str> },
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(item, _)| item).trim()
}

/// What a line says; bare numbers of at least so many `digits` are addresses.
fn item(line: &str, digits: usize) -> Option<Item<'_>> {
    let line = without_comment(line);
    if line.is_empty() {
        return Some(Item::Nothing);
    }
    if let Some(number) = line.strip_prefix("0x").or_else(|| line.strip_prefix("0X")) {
        return hex(number).map(Item::Address);
    }
    if line.len() >= digits
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
    fn short_addresses_among_addresses_are_no_names() {
        let text = "     7fc8ee2893aa\n           40123e\n             1139\n";
        assert_eq!(listing(&read(text).unwrap()), ["7fc8ee2893aa 1", "40123e 1", "1139 1"]);
        let text = "  40123e\n  401306\n";
        assert_eq!(listing(&read(text).unwrap()), ["40123e 1", "401306 1"]);
        // These are names.
        let text = "a00\na01\nadd\ncafe\nfade00\n";
        assert_eq!(listing(&read(text).unwrap()).len(), 5);
        assert_eq!(listing(&read(text).unwrap())[4], "fade00 1");
        assert_eq!(listing(&read("main\n40123e\n").unwrap())[1], "40123e 1");
        assert!(matches!(read("main\n40123e\n").unwrap().events()[1].place, Place::Name(_)));
    }

    #[test]
    fn refuses_anything_else() {
        for text in ["start_kernel\ntwo words\n", "a\nffffffff81000000 T _text\n", "a\n0xfoo\n"] {
            assert!(matches!(read(text), Err(TraceError::Lines { line: 2, .. })), "{text}");
        }
        assert!(matches!(read("# nothing\n"), Err(TraceError::Empty { .. })));
    }
}
