//! What a kernel says against itself and goes on.

/// Words of such lines: of warnings, of checks of memory and of arithmetic, of lockdep, of RCU, of tasks that hang, of
/// the watchdogs, and of interrupts that no driver knows.
const COMPLAINTS: [&str; 17] = [
    "BUG:",
    // Of an allocator's cache: `BUG kmalloc-64 (Not tainted): Poison overwritten`.
    "BUG ",
    "pagealloc:",
    "UBSAN:",
    "WARNING:",
    "Oops",
    "possible recursive",
    "circular locking",
    "inconsistent lock",
    "suspicious RCU",
    "register non-static key",
    "soft lockup",
    "self-detected stall",
    "detected stalls on",
    "blocked for more than",
    "hard LOCKUP",
    "nobody cared",
];

/// The lines of a console on which a kernel complains of itself, without blanks around them.
///
/// Of a kernel that writes the time before its lines (`CONFIG_PRINTK_TIME`), lines without it are of programs,
/// which may say what they like. Of others, all lines are looked at.
pub fn complaints(console: &str) -> Vec<String> {
    let stamps =
        console.lines().filter_map(behind_time).any(|words| words.starts_with("Linux version "));
    // Not as the end of another word, as in `DEBUG:`.
    let has = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
    };
    let complains = |line: &&str| {
        let words = if stamps { behind_time(line) } else { Some(*line) };
        words.is_some_and(|words| COMPLAINTS.iter().any(|word| has(words, word)))
    };
    console.lines().filter(complains).map(|line| line.trim().to_owned()).collect()
}

/// What stands behind the kernel's time, as in `[    1.234567] Linux`; a program's words may stand before it,
/// which had no end of line.
fn behind_time(line: &str) -> Option<&str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    line.match_indices('[').find_map(|(at, _)| {
        let (time, words) = line[at + 1..].split_once("] ")?;
        let (seconds, parts) = time.trim_start().split_once('.')?;
        (digits(seconds) && parts.len() == 6 && digits(parts)).then_some(words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_warns_of_is_not_the_kernels_if_that_writes_the_time() {
        let kernel = "[    0.000000] Linux version 6.12.117 (a@b)\r\n";
        let program = "WARNING: the table is old\nBUG: mine\n[hint] WARNING: x\n[1.5] WARNING: y\n";
        assert_eq!(complaints(&[kernel, program].concat()), [""; 0]);
        let own = "[   12.345678] WARNING: CPU: 0 PID: 1 at kernel/fork.c:1\r\n";
        let all = [kernel, program, own, "so far[   12.345679] BUG: x\nend\n"].concat();
        assert_eq!(complaints(&all), [own.trim(), "so far[   12.345679] BUG: x"]);
        // A program cannot make a kernel one that writes the time, or hide what that says by words before it.
        let plain = "Linux version 6.12.117 (a@b)\nWARNING: CPU: 0 PID: 1\n";
        assert_eq!(complaints(plain), ["WARNING: CPU: 0 PID: 1"]);
    }

    #[test]
    fn a_kernel_that_complains_is_heard() {
        let text = "[    0.1] Linux\r\n[    0.2] WARNING: possible circular locking dependency\r\n\
                    [    0.3] rcu: INFO: rcu_sched self-detected stall on CPU\r\nok\n\
                    [    0.4] INFO: trying to register non-static key.\n\
                    [    0.5] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n\
                    [    0.6] INFO: task init:1 blocked for more than 120 seconds.\n\
                    [    0.7] irq 14: nobody cared (try booting with the \"irqpoll\" option)\n\
                    [    0.8] BUG kmalloc-64 (Not tainted): Poison overwritten\n\
                    [    0.9] pagealloc: memory corruption\n\
                    [    1.0] UBSAN: shift-out-of-bounds in mm/slub.c:1:2\n";
        assert_eq!(complaints(text).len(), 9);
        assert_eq!(complaints("[ 0.1] DEBUG: all is well\n"), [""; 0]);
    }
}
