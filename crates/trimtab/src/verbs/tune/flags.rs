//! `trimtab tune flags`: the space of a compiler's flags.

use std::fmt::Write;

use clap::Args;
use trimtab_tune::run::Compiler;
use trimtab_tune::space::{Group, Purpose, print};

use crate::output;

/// Prints the flags that a compiler lists, takes, and that are safe to choose, in the form that `trimtab
/// tune program --flags` reads: a line for each, or `EITHER` and how many of the next lines exclude each
/// other. Flags that change what a program means are left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the flags of gcc, without those for inlining

    trimtab tune flags > flags.txt
    grep -v inline flags.txt > fewer.txt

Example: how many there are of each kind

    trimtab tune flags --compiler clang --summary")]
pub struct Options {
    /// The compiler: gcc, clang, another name, or a path
    #[arg(long, value_name = "NAME", default_value = "gcc")]
    pub compiler: String,
    /// The level that is tuned on top of
    #[arg(long, value_name = "LEVEL", default_value = "-O2", allow_hyphen_values = true)]
    pub level: String,
    /// Those of a kernel, which forbids more
    #[arg(long)]
    pub kernel: bool,
    /// Only count them, by group
    #[arg(long)]
    pub summary: bool,
}

/// Prints.
///
/// # Errors
/// That there is no such compiler, or it does not say.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let purpose = if options.kernel { Purpose::Kernel } else { Purpose::Program };
    let compiler = Compiler::find(&options.compiler)?;
    let (space, refused) = compiler.space(&options.level, purpose)?;
    if !options.summary {
        return output::print(&print(&space));
    }
    let mut text = format!("{}\n{space}\n", compiler.version);
    for group in Group::ALL {
        let choices = space.choices.iter().filter(|choice| choice.group == group);
        let number = choices.count();
        if number > 0 {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  {group:<16} {number:>4}");
        }
    }
    let _ = writeln!(text, "{} options are listed, and refused or ignored", refused.len());
    output::print(&text)
}
