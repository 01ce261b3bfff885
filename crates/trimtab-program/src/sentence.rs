//! Lists in sentences, for messages and help.

/// Names that can be chosen from: `a, b or c`.
pub fn any_of<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_stands_behind_or() {
        assert_eq!(any_of(["a", "b", "c"]), "a, b or c");
        assert_eq!(any_of(["a", "b"]), "a or b");
        assert_eq!((any_of(["a"]), any_of([""; 0])), ("a".to_owned(), String::new()));
    }
}
