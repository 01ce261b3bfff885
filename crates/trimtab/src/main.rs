//! The command.

use std::process::ExitCode;

fn main() -> ExitCode {
    trimtab::run()
}
