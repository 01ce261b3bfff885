//! What a Linux kernel pins, and the symbols that bound its text.

use trimtab_program::{Fragment, Origin, Program, Range};

/// Pairs of symbols between which the kernel expects certain code and nothing else, with what they
/// are for. A layout must neither move code across them nor lose them.
pub const BOUNDED: [(&str, &str, &str); 15] = [
    ("__noinstr_text_start", "__noinstr_text_end", "code that must not be instrumented"),
    ("__cpuidle_text_start", "__cpuidle_text_end", "idle loops, recognised in backtraces"),
    ("__sched_text_start", "__sched_text_end", "scheduler code, skipped by get_wchan"),
    ("__lock_text_start", "__lock_text_end", "lock functions, skipped by profilers"),
    ("__kprobes_text_start", "__kprobes_text_end", "code that kprobes must not touch"),
    ("__entry_text_start", "__entry_text_end", "entry code, mapped into user page tables"),
    ("__irqentry_text_start", "__irqentry_text_end", "interrupt entry code"),
    ("__softirqentry_text_start", "__softirqentry_text_end", "softirq entry code"),
    ("__static_call_text_start", "__static_call_text_end", "static call trampolines"),
    // arm64's. Each but the second must also fit one page or a few, which its linker script asserts.
    (
        "__hyp_idmap_text_start",
        "__hyp_idmap_text_end",
        "KVM's code that runs at physical addresses",
    ),
    ("__hyp_text_start", "__hyp_text_end", "code that KVM maps at EL2"),
    ("__idmap_text_start", "__idmap_text_end", "code that runs at physical addresses"),
    ("__entry_tramp_text_start", "__entry_tramp_text_end", "vectors that user page tables map"),
    ("__hibernate_exit_text_start", "__hibernate_exit_text_end", "code copied to resume from disk"),
    ("__relocate_new_kernel_start", "__relocate_new_kernel_end", "code copied to start a kernel"),
];

/// Single symbols that must stay at the same address or alignment: the text's bounds, and the
/// return thunks whose exact address bits mitigate a processor fault.
pub const FIXED: [(&str, SymbolRule); 9] = [
    ("_text", SymbolRule::SameAddress),
    ("_stext", SymbolRule::SameAddress),
    ("_etext", SymbolRule::Present),
    ("srso_alias_untrain_ret", SymbolRule::LowBits(21)),
    ("srso_alias_safe_ret", SymbolRule::LowBits(21)),
    ("retbleed_return_thunk", SymbolRule::LowBits(6)),
    ("srso_safe_ret", SymbolRule::LowBits(6)),
    ("its_return_thunk", SymbolRule::LowBits(6)),
    // arm64: the processor takes the address of the exception vectors in units of 2 KiB.
    ("vectors", SymbolRule::LowBits(11)),
];

/// What must hold of a symbol in [`FIXED`], where the kernel has it at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolRule {
    /// The address itself.
    SameAddress,
    /// Nothing but that it is still there.
    Present,
    /// This many low bits of its address.
    LowBits(u32),
}

/// Why a fragment stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Its input section has a place of its own in the kernel's linker script.
    Section,
    /// It lies between boundary symbols.
    Bounds,
    /// The linker makes it as it places the rest: see [`is_linker_made`].
    Linker,
}

/// The input sections that the kernel's linker script takes into the ordinary text, and that an
/// order may therefore move: `.text`, `.text.NAME`, `.text.unlikely.NAME` and the like.
///
/// Names with two dots (`.text..__x86.return_thunk`) are thunks with places of their own, and any
/// other name (`.noinstr.text`, `.sched.text`, `.head.text`) is a pinned section.
fn is_ordinary(section: &str) -> bool {
    match section.strip_prefix(".text") {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('.')
            .and_then(|name| name.bytes().next())
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
        None => false,
    }
}

/// The address ranges between the boundary symbols that `program` has.
pub fn bounded_ranges(program: &Program<'_>) -> Vec<Range> {
    let mut ranges: Vec<Range> = BOUNDED
        .iter()
        .filter_map(|(start, end, _)| {
            let range = Range { start: program.address_of(start)?, end: program.address_of(end)? };
            (!range.is_empty()).then_some(range)
        })
        .collect();
    ranges.sort_unstable();
    ranges
}

/// Whether, and why, `fragment` must stay where it is. `bounded` comes from [`bounded_ranges`].
pub fn pinned(fragment: &Fragment<'_>, bounded: &[Range]) -> Option<Pin> {
    if is_linker_made(fragment.name) {
        return Some(Pin::Linker);
    }
    if let Origin::InputSection { file, section } = &fragment.origin {
        if file == "<internal>" {
            return Some(Pin::Linker);
        }
        if !is_ordinary(section) {
            return Some(Pin::Section);
        }
    }
    bounded.iter().any(|range| range.contains(fragment.range.start)).then_some(Pin::Bounds)
}

/// Whether the linker made the function of this name itself. With
/// `CONFIG_ARM64_ERRATUM_843419` it puts two instructions behind any code that a fault of
/// Cortex-A53 processors would hit, which depends on the addresses of that code: no two links have
/// the same ones.
pub fn is_linker_made(name: &str) -> bool {
    name.starts_with("__CortexA53843419_")
}

/// Whether `program` is a Linux kernel: it has the bounds of a kernel's text.
pub fn is_kernel(program: &Program<'_>) -> bool {
    ["_stext", "_etext", "__sched_text_start"].iter().all(|name| program.address_of(name).is_some())
}

/// What a layout may move: in a kernel only what its linker script does not pin, in any other
/// program everything.
#[derive(Debug, Clone)]
pub struct Mobility {
    /// The ranges between boundary symbols; `None` where the program is no kernel.
    bounded: Option<Vec<Range>>,
}

impl Mobility {
    /// Finds out whether `program` is a kernel, and what it pins.
    pub fn of(program: &Program<'_>) -> Self {
        Self { bounded: is_kernel(program).then(|| bounded_ranges(program)) }
    }

    /// Whether the program is a kernel.
    pub fn is_kernel(&self) -> bool {
        self.bounded.is_some()
    }

    /// The ranges that do not follow an order.
    pub fn pinned(&self) -> &[Range] {
        self.bounded.as_deref().unwrap_or_default()
    }

    /// Whether an order may move this fragment.
    pub fn allows(&self, fragment: &Fragment<'_>) -> bool {
        self.bounded.as_ref().is_none_or(|bounded| pinned(fragment, bounded).is_none())
    }
}

/// Addresses that the kernel's function tracer can patch, ascending: its own table of the places of
/// its calls. See [`is_traceable`]. Empty for kernels without that tracer, and where the table is
/// filled only as the kernel relocates itself.
pub fn traceable(program: &Program<'_>) -> Vec<u64> {
    let bounds = program
        .address_of("__start_mcount_loc")
        .zip(program.address_of("__stop_mcount_loc"))
        .map(|(start, end)| Range { start, end });
    let Some(bytes) = bounds.and_then(|range| program.bytes(range)) else { return Vec::new() };
    let (words, _) = bytes.as_chunks::<8>();
    let mut addresses: Vec<u64> = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .filter(|address| *address != 0)
        .collect();
    addresses.sort_unstable();
    addresses
}

/// Bytes that the tracer keeps in front of a function on arm64
/// (`CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS`): its table then names where they begin.
const BEFORE_FUNCTION: u64 = 8;

/// Whether the function at `range` is among those that [`traceable`] gives places of.
pub fn is_traceable(traceable: &[u64], range: Range) -> bool {
    let start = range.start.saturating_sub(BEFORE_FUNCTION);
    let first = traceable.partition_point(|address| *address < start);
    traceable.get(first).is_some_and(|address| *address < range.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_fixture::Elf;
    use trimtab_program::{Fragments, LinkMap};

    #[test]
    fn what_the_linker_makes_is_not_moved() {
        let map = LinkMap::parse(
            "             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      100    16 .text
            1000             1000       10    16         a.o:(.text.a)
            1010             1010        8     4         <internal>:(.text.patch)
            1018             1018       10     4         b.o:(.text.b)
",
        )
        .unwrap();
        let bytes = Elf::new()
            .text(".text", 0x1000, 0x100)
            .function("a", 0x1000, 0x10)
            .local("__CortexA53843419_1008", 0x1010, 8)
            .function("b", 0x1018, 0x10)
            .build();
        let program = Program::parse(&bytes).unwrap();
        let section = program.section_named(".text").unwrap().0;
        for fragments in [
            Fragments::from_link_map(&program, &map, section),
            Fragments::from_symbols(&program, section),
        ] {
            let pins: Vec<_> = fragments.as_slice().iter().map(|f| pinned(f, &[])).collect();
            assert_eq!(pins, [None, Some(Pin::Linker), None]);
        }
    }

    #[test]
    fn a_function_is_traceable_by_a_place_in_it_or_right_before_it() {
        let traceable = [0x1000, 0x1018, 0x1044];
        for (start, end, expected) in [
            (0x1000, 0x1010, true),
            (0x1020, 0x1040, true),
            (0x1040, 0x1050, true),
            (0x1010, 0x1014, false),
            (0x1050, 0x1060, false),
        ] {
            assert_eq!(is_traceable(&traceable, Range { start, end }), expected, "{start:#x}");
        }
    }

    #[test]
    fn tells_ordinary_text_from_what_the_kernel_pins() {
        for name in [".text", ".text.fork", ".text.unlikely.panic", ".text._raw", ".text.3c59x"] {
            assert!(is_ordinary(name), "{name}");
        }
        for name in [".text..__x86.return_thunk", ".noinstr.text", ".textual", ".sched.text"] {
            assert!(!is_ordinary(name), "{name}");
        }
    }
}
