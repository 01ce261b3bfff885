//! How to get the same result again: command, versions, hashes, files.

use super::frame::section;
use super::shown;
use crate::model::FitKernel;
use maud::{Markup, html};

/// Everything that it takes to repeat the run.
pub fn repeat(fit: &FitKernel) -> Markup {
    let spent = fit.seconds;
    let files = &fit.artifacts;
    let paths = [
        ("vmlinux before", Some(&files.vmlinux_before)),
        ("vmlinux after", Some(&files.vmlinux_after)),
        ("image before", Some(&files.image_before)),
        ("image after", Some(&files.image_after)),
        ("guest", Some(&files.guest)),
        ("order", Some(&files.order_file)),
        ("trace", Some(&files.trace)),
        ("this page", files.html.as_ref()),
    ];
    section(
        "repeat",
        "How to repeat it",
        &html! {
            "Seed " (shown::count("repeat.seed", fit.repeat.seed)) ". This run took "
            (shown::seconds("seconds.total", spent.total)) ": build "
            (shown::seconds("seconds.build", spent.build)) ", trace "
            (shown::seconds("seconds.trace", spent.trace)) ", layout "
            (shown::seconds("seconds.layout", spent.layout)) ", relink "
            (shown::seconds("seconds.relink", spent.relink)) "."
        },
        &html! {
            pre { code { (fit.repeat.command) } }
            div.facts {
                div {
                    h3 { "Tools" }
                    (list(fit.repeat.tool_versions.iter().map(|(a, b)| (a.as_str(), b.as_str()))))
                }
                div {
                    h3 { "Files" }
                    (list(paths.iter().filter_map(|(name, path)| Some((*name, path.as_ref()?.as_str())))))
                }
                div.wide {
                    h3 { "SHA-256" }
                    (list(fit.repeat.inputs.iter().map(|(a, b)| (a.as_str(), b.as_str()))))
                }
            }
        },
    )
}

/// Names and what they stand for.
pub fn list<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! {
        dl.list { @for (name, value) in entries { div { dt { (name) } dd { code { (value) } } } } }
    }
}
