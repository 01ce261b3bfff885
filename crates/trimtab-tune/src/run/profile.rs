//! The system calls of a command: what a kernel should be fast at.

use anyhow::Result;
use syscalls::Sysno;
use trimtab_native::native::{self, Request};
use trimtab_report::common::Repeat;

use crate::report::{CallRow, TuneProfile};

/// Counts the system calls of a command and of all that it starts.
///
/// # Errors
/// That it cannot be started or traced.
pub fn profile(request: &Request, program: &str, command: String) -> Result<TuneProfile> {
    let found = native::calls(request)?;
    let calls = found.calls.iter().map(|(number, count)| CallRow {
        name: name(*number),
        times: count.times,
        failed: count.failed,
        seconds: count.time.as_secs_f64(),
        weight: 0.0,
    });
    let profile = TuneProfile {
        program: program.to_owned(),
        ended: found.ended.to_string(),
        processes: found.processes,
        calls: calls.collect(),
        seconds: found.wall.as_secs_f64(),
        repeat: Repeat { command, ..Repeat::default() },
        ..TuneProfile::default()
    };
    Ok(profile.sorted())
}

/// What a call is called; its number where it is newer than the list.
fn name(number: u64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| number.to_string(), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_names_and_those_that_are_not_known_numbers() {
        assert_eq!(name(Sysno::openat as u64), "openat");
        assert_eq!(name(100_000), "100000");
    }
}
