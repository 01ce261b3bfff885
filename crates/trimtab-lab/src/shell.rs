//! Words for a shell to read, or for a person to type.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A word as a shell reads it back. Words of letters, digits and `-_./=,:+@%` stay as they are.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=,:+@%".contains(byte);
    let bytes = word.as_bytes();
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return word.to_string_lossy().into_owned();
    }
    // No word of a command line holds a NUL; where one does, the shell leaves it out.
    let quoted = shlex::bytes::Quoter::new().allow_nul(true).quote(bytes);
    let quoted = quoted.map_or_else(|_| bytes.to_vec(), std::borrow::Cow::into_owned);
    OsString::from_vec(quoted).to_string_lossy().into_owned()
}

/// The words that this process was started with, as text: bytes that are not UTF-8 are replaced.
pub fn own_words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A command line that a shell reads back as these words.
pub fn command_line<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stay_and_a_shell_reads_the_others_back() {
        assert_eq!(command_line(["ld", "-Map=a,b", "50%", "x@y:z+w"]), "ld -Map=a,b 50% x@y:z+w");
        assert_eq!(command_line(["a b", ""]), "'a b' ''");
        let words =
            ["it's", "$HOME", "a\\b", "`x`", "\"q\"", "^!", "two\nlines", "*", "#", "ä ö", "~"];
        let script =
            format!("for word in {}; do printf '%s\\0' \"$word\"; done", command_line(words));
        let captured = crate::process::Job::new("trying it", "sh").args(["-c", &script]).capture();
        let expected: String = words.iter().map(|word| format!("{word}\0")).collect();
        assert_eq!(String::from_utf8(captured.unwrap().output).unwrap(), expected);
    }
}
