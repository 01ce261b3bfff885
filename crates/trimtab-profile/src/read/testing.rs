//! What a trace holds, in a form that tests can compare.

use crate::trace::{Place, Trace};

/// Each event as `PLACE [SYMBOL+OFFSET] [in OBJECT] COUNT`.
pub(super) fn listing(trace: &Trace) -> Vec<String> {
    trace
        .events()
        .iter()
        .map(|event| {
            let mut text = match event.place {
                Place::Block { start, length } => format!("{start:x}/{length}"),
                Place::Address(address) => format!("{address:x}"),
                Place::Name(name) => trace.name(name).to_owned(),
            };
            if let Some((name, offset)) = event.symbol {
                text += &format!(" {}+{offset:#x}", trace.name(name));
            }
            if let Some(object) = event.object {
                text += &format!(" in {}", trace.name(object));
            }
            format!("{text} {}", event.count)
        })
        .collect()
}

/// The names of all events, which must have one.
pub(super) fn names(trace: &Trace) -> Vec<&str> {
    let name = |event: &crate::trace::Event| match (event.place, event.symbol) {
        (Place::Name(name), _) | (_, Some((name, _))) => Some(name),
        _ => None,
    };
    trace.events().iter().filter_map(name).map(|name| trace.name(name)).collect()
}
