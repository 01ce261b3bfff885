//! Arguments that many verbs take.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use trimtab_link::Linker;
use trimtab_program::Isa;

/// Where results go beside the terminal.
#[derive(Debug, Clone, Default, Args)]
pub struct Outputs {
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the report as one HTML page to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Architectures that kernels are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arch {
    /// 64-bit PCs
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit Arm machines
    #[value(name = "arm64", alias = "aarch64")]
    Arm64,
}

impl Arch {
    /// The instruction set that it stands for.
    pub fn isa(self) -> Isa {
        match self {
            Arch::X86_64 => Isa::X86_64,
            Arch::Arm64 => Isa::Aarch64,
        }
    }
}

/// The work directory where none is given.
pub const WORK: &str = "trimtab-work";

/// The least share of a trace that has to be found in the program, where none is given.
pub const MIN_COVERAGE: &str = "0.9";

/// Reads a share: a number from 0 to 1.
///
/// # Errors
/// What was expected instead.
pub fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a number from 0 to 1, such as 0.9 for 90 %".to_owned())
}

/// Reads the name of one of these linkers; help says what each is.
pub fn linkers(linkers: impl IntoIterator<Item = Linker>) -> impl TypedValueParser<Value = Linker> {
    let named =
        linkers.into_iter().map(|linker| PossibleValue::new(linker.name()).help(linker.summary()));
    PossibleValuesParser::new(named).try_map(|name| name.parse::<Linker>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_from_0_to_1() {
        assert_eq!(share("0.9"), Ok(0.9));
        for text in ["90", "-0.1", "NaN", "", "1.01"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
