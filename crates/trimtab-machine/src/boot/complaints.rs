//! What a kernel says against itself and goes on.

/// Words of such lines: of warnings, of lockdep, of RCU, of tasks that hang and of the watchdogs.
const COMPLAINTS: [&str; 13] = [
    "BUG:",
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
];

/// The lines of a console on which a kernel complains of itself, without blanks around them.
pub fn complaints(console: &str) -> Vec<String> {
    // Not as the end of another word, as in `DEBUG:`.
    let has = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
    };
    let complains = |line: &&str| COMPLAINTS.iter().any(|word| has(line, word));
    console.lines().filter(complains).map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_complains_is_heard() {
        let text = "[    0.1] Linux\r\n[    0.2] WARNING: possible circular locking dependency\r\n\
                    [    0.3] rcu: INFO: rcu_sched self-detected stall on CPU\r\nok\n\
                    [    0.4] INFO: trying to register non-static key.\n\
                    [    0.5] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n\
                    [    0.6] INFO: task init:1 blocked for more than 120 seconds.\n";
        assert_eq!(complaints(text).len(), 5);
        assert_eq!(complaints("[ 0.1] DEBUG: all is well\n"), [""; 0]);
    }
}
