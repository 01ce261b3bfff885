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
    /// A processor runs it before it can take exceptions.
    BringUp,
    /// It runs when the other processors were stopped, one of them perhaps in the handler.
    Panic,
    /// It makes other processors forget an address, for which the handler may be waiting.
    TlbFlush,
}

impl Group {
    /// What it is, for people.
    pub fn name(self) -> &'static str {
        match self {
            Group::FaultPath => "the path of a page fault",
            Group::Handler => "the handler that loads pages",
            Group::NoFault => "exceptions in which no fault can be served",
            Group::BringUp => "the start of a processor",
            Group::Panic => "a panic with the other processors stopped",
            Group::TlbFlush => "flushing of address translations",
        }
    }
}

/// Functions from which all that they call is core. A `*` at the end stands for any ending.
pub(crate) const ROOTS: &[(&str, Group)] = &[
    ("asm_exc_page_fault", Group::FaultPath),
    ("error_entry", Group::FaultPath),
    ("error_return", Group::FaultPath),
    ("paranoid_entry", Group::FaultPath),
    ("paranoid_exit", Group::FaultPath),
    ("exc_page_fault", Group::FaultPath),
    ("handle_page_fault", Group::FaultPath),
    ("coldswap_fault", Group::Handler),
    ("coldswap_poke", Group::Handler),
    ("coldswap_released", Group::Handler),
    ("cold_*", Group::Handler),
    ("memcpy", Group::Handler),
    ("__memcpy", Group::Handler),
    ("memcpy_orig", Group::Handler),
    ("memset", Group::Handler),
    ("LZ4_decompress_safe", Group::Handler),
    ("xxh64", Group::Handler),
    ("asm_exc_nmi", Group::NoFault),
    ("exc_nmi", Group::NoFault),
    ("asm_exc_machine_check", Group::NoFault),
    ("exc_machine_check*", Group::NoFault),
    ("asm_exc_double_fault", Group::NoFault),
    ("exc_double_fault", Group::NoFault),
    ("asm_exc_debug", Group::NoFault),
    ("exc_debug*", Group::NoFault),
    ("asm_exc_int3", Group::NoFault),
    ("exc_int3", Group::NoFault),
    ("startup_64", Group::BringUp),
    ("secondary_startup_64*", Group::BringUp),
    ("cr4_init", Group::BringUp),
    ("cpu_init_exception_handling", Group::BringUp),
    ("load_direct_gdt", Group::BringUp),
    ("panic", Group::Panic),
    ("nmi_panic", Group::Panic),
    ("panic_smp_self_stop", Group::Panic),
    ("stop_this_cpu", Group::Panic),
    ("asm_sysvec_call_function*", Group::TlbFlush),
    ("sysvec_call_function*", Group::TlbFlush),
    ("__sysvec_call_function*", Group::TlbFlush),
    ("generic_smp_call_function_single_interrupt", Group::TlbFlush),
    ("flush_tlb_func", Group::TlbFlush),
    ("do_flush_tlb_all", Group::TlbFlush),
    ("do_kernel_range_flush", Group::TlbFlush),
    ("flush_tlb_kernel_range", Group::TlbFlush),
    ("flush_tlb_one_kernel", Group::TlbFlush),
];

/// Where one of them must be: without it the program is not understood.
pub(crate) const FAULT_HANDLER: &str = "exc_page_fault";

/// Functions that core code calls and that need not be core, with the reason. The search does not go
/// on in them.
pub(crate) const ENDS: &[(&str, &str)] = &[
    // Behind the hook: the fault is not one of ours, so that another can be served.
    ("do_user_addr_fault", PAST),
    ("do_kern_addr_fault", PAST),
    ("bad_area*", PAST),
    ("__bad_area*", PAST),
    ("kernelmode_fixup_or_oops*", PAST),
    ("page_fault_oops", PAST),
    ("pgtable_bad", PAST),
    ("is_prefetch*", PAST),
    ("spurious_kernel_fault*", PAST),
    ("kvm_handle_async_pf", PAST),
    ("__kvm_handle_async_pf", PAST),
    ("fixup_exception", PAST),
    ("kmmio_handler", PAST),
    ("irqentry_enter_from_user_mode", PAST),
    ("emulate_vsyscall*", PAST),
    ("local_touch_nmi", PAST),
    // Leaving an exception: what interrupted it is done.
    ("irqentry_exit_to_user_mode", LEAVING),
    ("exit_to_user_mode_*", LEAVING),
    ("syscall_exit_*", LEAVING),
    ("irq_exit*", LEAVING),
    ("__irq_exit*", LEAVING),
    ("irq_enter_rcu", LEAVING),
    ("do_softirq*", LEAVING),
    ("__do_softirq", LEAVING),
    ("handle_softirqs", LEAVING),
    ("invoke_softirq", LEAVING),
    ("raise_softirq*", LEAVING),
    ("schedule*", LEAVING),
    ("__schedule*", LEAVING),
    ("preempt_schedule*", LEAVING),
    ("raw_irqentry_exit_cond_resched", LEAVING),
    ("__SCT__irqentry_exit_cond_resched", LEAVING),
    ("try_to_wake_up", LEAVING),
    ("ttwu_*", LEAVING),
    ("sched_ttwu_pending", LEAVING),
    ("wake_up_*", LEAVING),
    ("__wake_up*", LEAVING),
    ("complete*", LEAVING),
    ("swake_up*", LEAVING),
    ("irq_work_*", LEAVING),
    ("rcu_core*", LEAVING),
    ("rcu_nmi_*", LEAVING),
    ("force_sig*", LEAVING),
    ("send_sig*", LEAVING),
    ("do_trap*", LEAVING),
    ("do_error_trap", LEAVING),
    // Messages: they are written when something is wrong already, and by code that holds no lock of
    // the handler.
    ("_printk*", MESSAGE),
    ("printk*", MESSAGE),
    ("vprintk*", MESSAGE),
    ("__warn*", MESSAGE),
    ("warn_slowpath*", MESSAGE),
    ("dump_stack*", MESSAGE),
    ("show_regs*", MESSAGE),
    ("__show_regs", MESSAGE),
    ("show_stack*", MESSAGE),
    ("die*", MESSAGE),
    ("__die*", MESSAGE),
    ("oops_*", MESSAGE),
    ("report_bug", MESSAGE),
    ("handle_stack_overflow", MESSAGE),
    ("add_taint", MESSAGE),
    ("debug_show_all_locks", MESSAGE),
    ("trigger_*cpu_backtrace", MESSAGE),
    ("__ftrace_*", MESSAGE),
    ("ftrace_dump*", MESSAGE),
    ("trace_*", MESSAGE),
    ("__trace_*", MESSAGE),
    ("__traceiter_*", MESSAGE),
    ("perf_*", MESSAGE),
    ("__perf_*", MESSAGE),
    ("bust_spinlocks", MESSAGE),
    ("console_*", MESSAGE),
    ("kmsg_dump*", MESSAGE),
    ("__kstrtab*", MESSAGE),
    ("__stack_chk_fail", MESSAGE),
];

const PAST: &str = "it runs only once the hook has found that the fault is not one of cold code";
const LEAVING: &str = "it runs when the exception has been served";
const MESSAGE: &str = "it reports what is wrong already, and a fault in it can be served";

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

/// Why the search for core code ends at a function, if it does.
pub(crate) fn end(name: &str) -> Option<&'static str> {
    ENDS.iter().find(|(pattern, _)| means(pattern, name)).map(|(_, reason)| *reason)
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
        assert_eq!(root("cold_evict"), Some(Group::Handler));
        assert!(end("bad_area_nosemaphore").is_some());
        assert!(end("trigger_all_cpu_backtrace").is_some());
        assert!(end("memcpy").is_none());
        assert!(!means("ab*ba", "aba"));
    }

    #[test]
    fn no_root_is_an_end() {
        for (pattern, _) in ROOTS {
            assert_eq!(end(pattern.trim_end_matches('*')), None, "{pattern}");
        }
    }
}
