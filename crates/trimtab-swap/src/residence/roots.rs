//! From where code is reached that must never be absent, and where that search ends.
//!
//! All else is computed: see [`Residence`](crate::Residence).

use serde::Serialize;

/// Why code must never be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// It runs between a page fault and the handler that loads a page.
    FaultPath,
    /// It is the handler, what it calls to read the store, or what takes pages away.
    Handler,
    /// It runs where a page fault cannot be served: in exceptions that interrupt the handler.
    NoFault,
    /// A processor runs it that takes no part in shootdowns any more.
    Stopped,
}

impl Group {
    /// All of them.
    pub const ALL: [Group; 4] = [Group::FaultPath, Group::Handler, Group::NoFault, Group::Stopped];

    /// What it is, for people.
    pub fn name(self) -> &'static str {
        match self {
            Group::FaultPath => "the path of a page fault",
            Group::Handler => "the handler that loads pages",
            Group::NoFault => "exceptions in which no fault can be served",
            Group::Stopped => "processors that were stopped",
        }
    }
}

/// Functions from which all that they call is core. A `*` at the end stands for any ending.
///
/// What needs not to be here, though it looks like it:
/// - Code that runs with interrupts off, or under any lock but the handler's: the handler sleeps for
///   nothing and waits for no interrupt, see `linux/coldswap/files/mm/coldswap.c`.
/// - The start of a processor: all have started when swapping begins, and from then on the handler
///   forbids to start another (`cpu_hotplug_disable`).
/// - What flushes address translations for others: the handler asks for that by NMI, and by nothing
///   else.
/// - A panic: it can fault, up to its end. A processor that it stops holds the handler's lock never:
///   the handler runs with interrupts off, and an NMI that interrupts it does nothing but flush.
pub(crate) const ROOTS: &[(&str, Group)] = &[
    ("asm_exc_page_fault", Group::FaultPath),
    ("error_entry", Group::FaultPath),
    ("error_return", Group::FaultPath),
    ("exc_page_fault", Group::FaultPath),
    ("handle_page_fault", Group::FaultPath),
    ("irqentry_enter", Group::FaultPath),
    ("irqentry_exit", Group::FaultPath),
    // What runs under the handler's lock; the rest of the driver is ordinary code. With a linker's
    // map these are all functions of its section.
    ("coldswap_fault", Group::Handler),
    ("coldswap_nmi", Group::Handler),
    ("cold_patch_page", Group::Handler),
    ("cold_count_touch", Group::Handler),
    ("cold_evict_all", Group::Handler),
    ("cold_audit", Group::Handler),
    ("cold_unmap_all", Group::Handler),
    // What it calls, for a kernel that has none yet.
    ("memcpy", Group::Handler),
    ("__memcpy", Group::Handler),
    ("memcpy_orig", Group::Handler),
    ("memset", Group::Handler),
    ("__memset", Group::Handler),
    ("memset_orig", Group::Handler),
    ("LZ4_decompress_safe", Group::Handler),
    ("xxh64", Group::Handler),
    ("asm_exc_nmi", Group::NoFault),
    ("exc_nmi", Group::NoFault),
    ("asm_exc_machine_check", Group::NoFault),
    ("exc_machine_check*", Group::NoFault),
    ("asm_exc_double_fault", Group::NoFault),
    ("exc_double_fault", Group::NoFault),
    ("asm_exc_debug", Group::NoFault),
    ("exc_debug", Group::NoFault),
    ("exc_debug_kernel", Group::NoFault),
    ("asm_exc_int3", Group::NoFault),
    ("exc_int3", Group::NoFault),
    // It first leaves the online processors, for which a shootdown waits. A page that it runs in
    // could then be taken from under it. Of the APIC's driver it calls through pointers.
    ("stop_this_cpu", Group::Stopped),
    ("native_apic_mem_*", Group::Stopped),
    ("native_apic_msr_*", Group::Stopped),
    ("acpi_mp_stop_this_cpu", Group::Stopped),
];

/// Where one of them must be: without it the program is not understood.
pub(crate) const FAULT_HANDLER: &str = "exc_page_fault";

/// The section of the handler, all of which is a root.
pub(crate) const HANDLER_SECTION: &str = ".coldswap.text";

/// Functions that find out whether a page fault is one of cold code, and serve it if it is: of what
/// calls them, code from which no way leads to that call can be absent.
pub(crate) const FAULT_HOOK: &str = "coldswap_fault";

/// What an NMI calls before all else that can be absent. It ends an NMI that interrupted the handler.
pub(crate) const NMI_HOOK: &str = "coldswap_nmi";

/// Keeps what patches swapped code, for all that patches code by `text_poke`.
pub(crate) const POKE_HOOK: &str = "coldswap_poke";

/// A call at which the search for core code ends.
pub(crate) struct ExcludedCall {
    /// Functions that call.
    pub from: &'static [&'static str],
    /// What they call; `POINTERS` for calls through pointers.
    pub to: &'static str,
    /// Why that can be absent.
    pub reason: &'static str,
    /// Whether that is so only where an NMI calls [`NMI_HOOK`] first.
    pub by_nmi_hook: bool,
}

/// Stands for all calls through pointers.
pub(crate) const POINTERS: &str = "through pointers";

const fn cut(
    from: &'static [&'static str],
    to: &'static str,
    reason: &'static str,
) -> ExcludedCall {
    ExcludedCall { from, to, reason, by_nmi_hook: false }
}

const fn nmi(to: &'static str) -> ExcludedCall {
    let from = &["default_do_nmi", "exc_nmi"];
    ExcludedCall { from, to, reason: BEHIND_NMI, by_nmi_hook: true }
}

/// The calls. `*` in `from` and `to` stands for anything, once in each.
pub(crate) const CUTS: &[ExcludedCall] = &[
    // Behind the hook of a page fault: it is not one of cold code, and while it is dealt with another
    // can be served. Where the hook is linked this is computed as well.
    cut(&["exc_page_fault", "handle_page_fault"], "do_kern_addr_fault", BEHIND),
    cut(&["exc_page_fault", "handle_page_fault"], "do_user_addr_fault", BEHIND),
    cut(&["exc_page_fault", "handle_page_fault"], "kmmio_*", BEHIND),
    cut(&["exc_page_fault", "handle_page_fault"], "trace_page_fault_*", BEHIND),
    cut(&["exc_page_fault", "handle_page_fault"], "*kvm_handle_async_pf", GUEST),
    // Of a fault in user space: the hook serves none, and what serves it can fault itself.
    cut(&["*"], "irqentry_enter_from_user_mode", USER),
    cut(&["*"], "irqentry_exit_to_user_mode*", USER),
    cut(&["exc_int3"], "do_int3_user*", USER),
    cut(&["asm_exc_debug"], "*exc_debug_user", USER),
    cut(&["asm_exc_debug"], "noist_exc_debug", USER),
    cut(&["asm_exc_nmi"], "swapgs_restore_regs_and_return_to_usermode", USER),
    // The way back from a fault that was served.
    cut(&["irqentry_exit"], "*irqentry_exit_cond_resched", SERVED),
    cut(&["irqentry_exit"], "preempt_schedule_irq", SERVED),
    cut(&["error_return"], "swapgs_restore_regs_and_return_to_usermode", USER),
    // Behind the hook of an NMI.
    nmi("nmi_handle*"),
    nmi("io_check_error*"),
    nmi("pci_serr_error*"),
    nmi("unknown_nmi_error*"),
    nmi("run_crash_ipi_callback"),
    nmi("microcode_nmi_handler"),
    nmi("_raw_spin_*"),
    nmi("__raw_spin_*"),
    nmi(POINTERS),
    cut(&["exc_int3"], "do_int3*", STRAY),
    cut(&["exc_debug", "exc_debug_kernel"], "notify_debug*", WATCHED),
    cut(&["stop_this_cpu"], POINTERS, MAILBOX),
    cut(&["disable_local_APIC", "clear_local_APIC"], POINTERS, APIC),
    // Messages.
    cut(&["*"], "panic", MESSAGE),
    cut(&["*"], "nmi_panic", MESSAGE),
    cut(&["*"], "_printk*", MESSAGE),
    cut(&["*"], "__warn*", MESSAGE),
    cut(&["*"], "die", MESSAGE),
    cut(&["exc_double_fault"], "notify_die", MESSAGE),
    cut(&["exc_double_fault"], "handle_stack_overflow*", MESSAGE),
    cut(&["*"], "__stack_chk_fail", MESSAGE),
];

pub(crate) const BEHIND: &str =
    "it runs only once the hook has found that the fault is not one of cold code";
const BEHIND_NMI: &str = "it runs only once the hook has found that the NMI interrupted no handler, and saves CR2 before";
const GUEST: &str = "it does something in guests of KVM only, in which no kernel can swap";
const USER: &str = "it runs where user space was interrupted, and nothing of the kernel";
const SERVED: &str = "it runs when the fault has been served";
const STRAY: &str = "it handles breakpoints that no patch of code made, and kprobes and kgdb cannot be \
                     built into a kernel that swaps: what remains is a report";
const WATCHED: &str = "it handles hardware breakpoints, of which none may be set on what the handler \
                       runs and touches";
const MAILBOX: &str = "it can call acpi_mp_stop_this_cpu only, which is core where there is one";
const APIC: &str = "it calls what reads and writes registers of the APIC, all of which is core";
const MESSAGE: &str = "it reports what is wrong already; the handler gives up its lock before";

/// Whether a function's name is one that a pattern means. The parts that clang and GCC split off,
/// behind a dot, go with the function.
pub(crate) fn means(pattern: &str, name: &str) -> bool {
    let whole = name.split('.').next().unwrap_or(name);
    match pattern.split_once('*') {
        None => whole == pattern,
        Some((start, end)) => {
            whole.len() >= start.len() + end.len()
                && whole.starts_with(start)
                && whole.ends_with(end)
        }
    }
}

/// Why the search for core code ends at a call, if it does. `hook` says whether an NMI calls
/// [`NMI_HOOK`] first.
pub(crate) fn end(from: &str, to: &str, hook: bool) -> Option<&'static str> {
    let found = CUTS.iter().find(|cut| {
        (hook || !cut.by_nmi_hook)
            && means(cut.to, to)
            && cut.from.iter().any(|pattern| means(pattern, from))
    });
    found.map(|cut| cut.reason)
}

/// The group of which a function is a root, if it is one.
pub(crate) fn root(name: &str) -> Option<Group> {
    ROOTS.iter().find(|(pattern, _)| means(pattern, name)).map(|(_, group)| *group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_whole_names_and_split_off_parts() {
        assert_eq!(root("exc_page_fault"), Some(Group::FaultPath));
        assert_eq!(root("exc_page_fault.cold"), Some(Group::FaultPath));
        assert_eq!(root("exc_page_fault_other"), None);
        assert_eq!(root("cold_audit"), Some(Group::Handler));
        assert!(end("exc_page_fault", "do_user_addr_fault", false).is_some());
        assert!(end("cold_evict", "do_user_addr_fault", true).is_none());
        assert!(end("default_do_nmi", "nmi_handle", true).is_some());
        assert!(end("default_do_nmi", "nmi_handle", false).is_none());
        assert!(end("default_do_nmi", POINTERS, true).is_some());
        assert!(!means("ab*ba", "aba"));
    }

    #[test]
    fn no_pattern_has_more_than_one_star() {
        let ends = CUTS.iter().flat_map(|cut| cut.from.iter().chain([&cut.to]));
        for pattern in ROOTS.iter().map(|(pattern, _)| pattern).chain(ends) {
            assert!(pattern.matches('*').count() < 2, "{pattern}");
        }
    }

    #[test]
    fn no_root_is_an_end() {
        for (pattern, _) in ROOTS {
            assert_eq!(
                end("exc_page_fault", pattern.trim_end_matches('*'), true),
                None,
                "{pattern}"
            );
        }
    }
}
