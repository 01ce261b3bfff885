//! The frame of every page: head, style, the embedded result.

use crate::json;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

/// Nothing may be loaded, whatever a name in the result says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A whole page: `title` for the window, `body`, and `result` as the JSON that it shows.
pub fn page<T: Serialize>(title: &str, body: &Markup, result: &T) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (body)
                div #tip role="presentation" hidden {}
                script type="application/json" id="result" {
                    (PreEscaped(json::write_embedded(result)))
                }
                script { (PreEscaped(include_str!("hover.js"))) }
            }
        }
    }
    .into_string()
}

/// The foot of a page.
pub fn foot(schema: &str) -> Markup {
    html! {
        footer {
            p {
                "Written by trimtab " (env!("CARGO_PKG_VERSION")) ". The whole result is inside "
                "this page as JSON (" code { (schema) } "), in the element "
                code { "script#result" } "."
            }
        }
    }
}
