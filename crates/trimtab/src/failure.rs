//! How failures are printed: one line that says what is wrong, then what to do about it.
//!
//! Verbs return [`anyhow::Error`]. The causes become one line; hints come from errors that know what
//! to install or to free, and from [`Failure`].

use std::process::ExitCode;

use trimtab_lab::failure::{Failure, Hinter};
use trimtab_lab::observe::say;

/// The crates whose errors may know a remedy.
const HINTERS: [Hinter; 3] = [trimtab_lab::hint, trimtab_machine::hint, trimtab_native::hint];

/// How lines begin that an error quotes: the last ones of a log, say. They are shown as they are.
const QUOTED: &str = "    ";

/// Prints a failure on standard error and gives the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let (text, code) = render(error);
    say(text.trim_end());
    ExitCode::from(code)
}

pub(crate) fn render(error: &anyhow::Error) -> (String, u8) {
    let mut message = String::new();
    let mut details = String::new();
    let mut hints = Vec::new();
    let mut code = 1;
    for cause in error.chain() {
        let text = cause.to_string();
        let (text, quoted): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| !line.starts_with(QUOTED));
        let text = one_line(&text.join(" "));
        let quoted: String = quoted.iter().map(|line| format!("{line}\n")).collect();
        if !details.ends_with(&quoted) {
            details.push_str(&quoted);
        }
        // Many errors already end with what caused them.
        if message.is_empty() {
            message = text;
        } else if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            hints.extend(failure.hints().iter().cloned());
            if failure.is_usage() {
                code = 2;
            }
        }
        hints.extend(HINTERS.iter().filter_map(|hint| hint(cause)));
    }
    let mut text = format!("trimtab: {message}\n{details}");
    for hint in hints {
        text.push_str(&format!("  hint: {}\n", one_line(&hint)));
    }
    (text, code)
}

/// Some causes come from files or tools and hold line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use trimtab_lab::workdir::WorkError;
    use trimtab_machine::boot::BootError;
    use trimtab_machine::kernel::KernelError;

    use super::*;

    #[test]
    fn causes_make_one_line_and_hints_follow() {
        let error = Err::<(), _>(Failure::new("it\nbroke").hint("mend it"))
            .context("cannot fit the kernel")
            .unwrap_err();
        let (text, code) = render(&error);
        assert_eq!(text, "trimtab: cannot fit the kernel: it broke\n  hint: mend it\n");
        assert_eq!(code, 1);
        assert_eq!(render(&Failure::usage("no").into()).1, 2);
    }

    #[test]
    fn what_is_quoted_keeps_its_lines() {
        let error =
            Failure::new("make failed; it said last:\n    a.c:1: no\n    make: *** Error 2");
        let (text, _) = render(&anyhow::Error::from(error).context("cannot build"));
        assert_eq!(
            text,
            "trimtab: cannot build: make failed; it said last:\n    a.c:1: no\n    make: *** Error 2\n"
        );
    }

    #[test]
    fn a_kernel_that_finds_no_space_says_what_to_do() {
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let work = WorkError::Io { action: "write", path: "x".into(), source: full() };
        let file = KernelError::File { action: "write", path: "x".into(), source: full() };
        for error in [KernelError::Work(work), file] {
            let (text, code) = render(&error.into());
            assert_eq!(text.matches("\n  hint: free some space").count(), 1, "{text}");
            assert_eq!(code, 1);
        }
    }

    #[test]
    fn a_kernel_that_panicked_is_told_with_its_last_words() {
        let error = BootError::Panicked {
            lines: vec!["BUG: unable to handle page fault".to_owned(), "RIP: 0010:foo".to_owned()],
            log: "work/steps/boot-1/console.log".into(),
        };
        let error = Err::<(), _>(error).context("the kernel did not come up").unwrap_err();
        let (text, code) = render(&error);
        assert_eq!(
            text,
            "trimtab: the kernel did not come up: the guest's kernel panicked; the whole console is \
             in work/steps/boot-1/console.log:\n    BUG: unable to handle page fault\n    \
             RIP: 0010:foo\n"
        );
        assert_eq!(code, 1);
    }

    #[test]
    fn a_cause_is_not_said_twice() {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = WorkError::Io { action: "write", path: "x".into(), source };
        let (text, _) = render(&error.into());
        assert_eq!(text.matches("no storage space").count(), 1, "{text}");
        assert!(text.contains("\n  hint: free some space"), "{text}");
    }
}
