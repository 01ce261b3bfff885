//! Code locations as the kernel and its tools print them: `name+0x4/0x40 [module] <address>`.

/// One code location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Symbol<'a> {
    /// Name of the function; `None` where the tool knew only the address.
    pub(super) name: Option<&'a str>,
    /// Offset in the function in bytes.
    pub(super) offset: Option<u64>,
    /// Address of the instruction.
    pub(super) address: Option<u64>,
    /// Kernel module that holds it.
    pub(super) module: Option<&'a str>,
}

impl<'a> Symbol<'a> {
    /// Reads a location that fills all of `text`, arguments in parentheses behind it allowed.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut text = text.trim();
        let mut symbol = Symbol::default();
        // Function arguments, which 6.15 and later can print.
        if text.ends_with(')') {
            text = text[..text.find('(')?].trim_end();
        }
        if let Some((rest, address)) = text.strip_suffix('>').and_then(|t| t.rsplit_once(" <")) {
            symbol.address = Some(hex(address)?);
            text = rest.trim_end();
        }
        if let Some((rest, module)) = text.strip_suffix(']').and_then(|t| t.rsplit_once(" [")) {
            symbol.module = Some(module);
            text = rest.trim_end();
        }
        if let Some(address) = text.strip_prefix("0x").and_then(hex) {
            symbol.address = Some(address);
            return Some(symbol);
        }
        let (name, offset) = split_offset(text);
        symbol.offset = offset;
        // The kernel hides the return address of a probed function behind this.
        if name == "[unknown/kretprobe'd]" {
            return symbol.address.is_some().then_some(symbol);
        }
        symbol.name = Some(name);
        is_name(name).then_some(symbol)
    }
}

/// Splits `name+0x4` and `name+0x4/0x40`.
pub(super) fn split_offset(text: &str) -> (&str, Option<u64>) {
    let Some((name, numbers)) = text.rsplit_once("+0x") else { return (text, None) };
    let (offset, size) = numbers.split_once('/').unwrap_or((numbers, "0x0"));
    match (hex(offset), size.strip_prefix("0x").and_then(hex)) {
        (Some(offset), Some(_)) => (name, Some(offset)),
        _ => (text, None),
    }
}

/// Whether `text` can be the name of a function. Names of events end in a colon.
pub(super) fn is_name(text: &str) -> bool {
    let start = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    text.starts_with(start)
        && !text.ends_with(':')
        && text.bytes().all(|byte| byte > b' ' && byte != 0x7f)
}

/// A number in hexadecimal without prefix.
pub(super) fn hex(text: &str) -> Option<u64> {
    // `from_str_radix` takes a plus sign, these formats do not.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits { u64::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_forms() {
        let name = Some("foo");
        let plain = Symbol { name, ..Symbol::default() };
        let offset = Symbol { offset: Some(4), ..plain };
        let address = Some(0xffff_ffff_8100_6ca4);
        for (text, expected) in [
            ("foo", plain),
            ("foo+0x4/0x20", offset),
            ("foo+0x4", offset),
            ("foo <ffffffff81006ca4>", Symbol { address, ..plain }),
            ("foo+0x4/0x20 <ffffffff81006ca4>", Symbol { address, ..offset }),
            ("foo [ext4]", Symbol { module: Some("ext4"), ..plain }),
            (
                "foo+0x4/0x20 [ext4] <ffffffff81006ca4>",
                Symbol { address, module: Some("ext4"), ..offset },
            ),
            ("foo(fd=3, buf=0x7ffd)", plain),
            ("foo <ffffffff81006ca4>(fd=3)", Symbol { address, ..plain }),
            ("0xffffffff81006ca4", Symbol { address, ..Symbol::default() }),
        ] {
            assert_eq!(Symbol::parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_function() {
        for text in ["", "sched_switch:", "two words", "foo <xyz>", "[unknown/kretprobe'd]", "(x)"]
        {
            assert_eq!(Symbol::parse(text), None, "{text}");
        }
    }

    #[test]
    fn keeps_signs_and_suffixes_out_of_numbers() {
        assert_eq!(hex("+12"), None);
        assert_eq!(hex("12345678123456789"), None);
        assert_eq!(split_offset("operator+0xyz"), ("operator+0xyz", None));
        assert_eq!(split_offset("foo.constprop.0+0x10"), ("foo.constprop.0", Some(0x10)));
    }
}
