//! Reading the map file that a linker writes (`-Map`): which input section went where.

use crate::ranges::Range;
use std::borrow::Cow;
use thiserror::Error;

/// One input section as the linker placed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSection<'data> {
    /// The output section that took it.
    pub output: &'data str,
    /// The object file, in the form that a linker script matches: `fork.o`, or `lib.a:fork.o` for
    /// the member of an archive.
    pub file: Cow<'data, str>,
    /// Its own name, such as `.text.fork_idle`.
    pub name: &'data str,
    /// Where it lies in memory.
    pub range: Range,
    /// Its alignment in bytes; 1 where the map does not say.
    pub alignment: u64,
}

/// What a linker's map file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkMap<'data> {
    /// All non-empty input sections with an address, by ascending address.
    pub sections: Vec<InputSection<'data>>,
}

/// Why a text is not a linker's map.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkMapError {
    /// None of the known formats.
    #[error(
        "not a linker map: expected the output of lld, GNU ld or gold for `-Map=FILE` \
         (for a kernel: CONFIG_VMLINUX_MAP=y writes vmlinux.map)"
    )]
    UnknownFormat,
}

impl<'data> LinkMap<'data> {
    /// Reads the map of lld (`VMA LMA Size Align Out In Symbol`), of GNU ld or of gold.
    ///
    /// # Errors
    /// [`LinkMapError::UnknownFormat`] where the text is neither.
    pub fn parse(text: &'data str) -> Result<Self, LinkMapError> {
        let first = text.lines().next().unwrap_or_default();
        let words: Vec<&str> = first.split_whitespace().collect();
        let mut sections = if words == ["VMA", "LMA", "Size", "Align", "Out", "In", "Symbol"] {
            parse_lld(text)
        } else if let Some(at) = ["\nLinker script and memory map", "\nMemory map"]
            .iter()
            .find_map(|heading| text.find(heading))
        {
            parse_gnu(&text[at..])
        } else {
            return Err(LinkMapError::UnknownFormat);
        };
        sections.sort_by_key(|section| section.range);
        Ok(LinkMap { sections })
    }
}

/// `archive(member)` as maps print it, to `archive:member` as scripts match it.
fn script_name(file: &str) -> Cow<'_, str> {
    match file.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((archive, member)) => Cow::Owned(format!("{archive}:{member}")),
        None => Cow::Borrowed(file),
    }
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

fn parse_lld(text: &str) -> Vec<InputSection<'_>> {
    let mut output = "";
    let mut sections = Vec::new();
    for line in text.lines().skip(1) {
        // The first four columns are padded; the rest is distinguished by its indent: none for an
        // output section, eight spaces for an input section, sixteen for a symbol.
        let mut rest = line;
        let mut columns = [0u64; 4];
        let mut complete = true;
        for (index, column) in columns.iter_mut().enumerate() {
            rest = rest.trim_start_matches(' ');
            let end = rest.find(' ').unwrap_or(rest.len());
            let value = if index == 3 { rest[..end].parse().ok() } else { hex(&rest[..end]) };
            match value {
                Some(value) => *column = value,
                None => complete = false,
            }
            rest = &rest[end..];
        }
        let Some(rest) = rest.strip_prefix(' ') else { continue };
        if !complete {
            continue;
        }
        let [address, _, size, alignment] = columns;
        let indent = rest.len() - rest.trim_start_matches(' ').len();
        let rest = &rest[indent..];
        match indent {
            0 => output = rest,
            8 if size > 0 => {
                let Some((file, name)) = rest.rsplit_once(":(") else { continue };
                let Some(name) = name.strip_suffix(')') else { continue };
                sections.push(InputSection {
                    output,
                    file: script_name(file),
                    name,
                    range: Range::with_length(address, size),
                    alignment: alignment.max(1),
                });
            }
            _ => {}
        }
    }
    sections
}

fn parse_gnu(text: &str) -> Vec<InputSection<'_>> {
    let mut output = "";
    // A long name stands on a line of its own, the numbers follow on the next.
    let mut pending: Option<&str> = None;
    let mut sections = Vec::new();
    for line in text.lines() {
        if line.is_empty() {
            pending = None;
            continue;
        }
        let starts_output = !line.starts_with(' ');
        let words: Vec<&str> = line.split_whitespace().collect();
        if starts_output && words.first().is_some_and(|word| word.starts_with('.')) {
            output = words[0];
            pending = None;
            continue;
        }
        let named = line.starts_with(' ') && !line.starts_with("  ");
        let (name, numbers) = match words.as_slice() {
            [name] if named && name.starts_with('.') => {
                pending = Some(name);
                continue;
            }
            [name, numbers @ ..] if named && name.starts_with('.') => (*name, numbers),
            numbers => match pending.take() {
                Some(name) => (name, numbers),
                None => continue,
            },
        };
        pending = None;
        let [address, size, file @ ..] = numbers else { continue };
        let (Some(address), Some(size)) = (address.strip_prefix("0x"), size.strip_prefix("0x"))
        else {
            continue;
        };
        let (Some(address), Some(size)) = (hex(address), hex(size)) else { continue };
        if size == 0 || file.is_empty() {
            continue;
        }
        // The file's name is the rest of the line, blanks in it and all. The same word can also
        // be part of the section's name.
        let start = file[0].as_ptr() as usize - line.as_ptr() as usize;
        let file = line[start..].trim_end();
        sections.push(InputSection {
            output,
            file: script_name(file),
            name,
            range: Range::with_length(address, size),
            alignment: 1,
        });
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_map_of_lld() {
        let text = "\
             VMA              LMA     Size Align Out     In      Symbol
ffffffff81000000          1000000   40ae48  4096 .text
ffffffff81000000          1000000        0     1         _text = .
ffffffff81000120          1000120       40    16         vmlinux.a(init/main.o):(.text.run_init)
ffffffff81000120          1000120       3c     1                 run_init
ffffffff81000160          1000160       10     4         extra.o:(.text)
";
        let map = LinkMap::parse(text).unwrap();
        assert_eq!(map.sections.len(), 2);
        assert_eq!(
            map.sections[0],
            InputSection {
                output: ".text",
                file: "vmlinux.a:init/main.o".into(),
                name: ".text.run_init",
                range: Range { start: 0xffff_ffff_8100_0120, end: 0xffff_ffff_8100_0160 },
                alignment: 16,
            }
        );
        assert_eq!(map.sections[1].file, "extra.o");
    }

    #[test]
    fn reads_the_map_of_gnu_ld() {
        let text = "
Archive member included

Linker script and memory map

LOAD a.o

.text           0x0000000000401000      0x123
 *(.text.unlikely .text.*_unlikely)
 .text          0x0000000000401000       0x20 a b.o
 .text.a_function_with_a_long_name
                0x0000000000401020       0x10 libx.a(m.o)
                0x0000000000401020                a_function_with_a_long_name
 .text.empty    0x0000000000401030        0x0 c.o
 *fill*         0x0000000000401030        0x4
";
        let map = LinkMap::parse(text).unwrap();
        let seen: Vec<_> =
            map.sections.iter().map(|s| (s.file.as_ref(), s.name, s.range.start)).collect();
        assert_eq!(
            seen,
            [
                ("a b.o", ".text", 0x401000),
                ("libx.a:m.o", ".text.a_function_with_a_long_name", 0x401020)
            ]
        );
        assert!(map.sections.iter().all(|section| section.output == ".text"));
    }

    #[test]
    fn a_file_can_be_called_like_its_section() {
        let text = "
Linker script and memory map

.text           0x401000      0x123
 .text.ab       0x401000       0x20 a
 .text.c        0x401020       0x20 dir (old)/lib.a(c.o)
";
        let map = LinkMap::parse(text).unwrap();
        let files: Vec<_> = map.sections.iter().map(|s| s.file.as_ref()).collect();
        assert_eq!(files, ["a", "dir (old)/lib.a:c.o"]);
    }

    #[test]
    fn refuses_other_text() {
        for text in ["", "hello\n", "VMA LMA\n"] {
            assert_eq!(LinkMap::parse(text), Err(LinkMapError::UnknownFormat));
        }
    }
}
