//! The tokens of a C file, one after the other: comments, white space and continued lines are taken out,
//! literals stay as one token each.
//!
//! Any bytes are read, in one pass and without memory of their own. A literal that its line does not
//! close ends with the line, so that an apostrophe in skipped text or in a comment of an assembler does
//! no harm.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Word,
    /// A number, as preprocessors see it.
    Number,
    /// A string or a character, in its quotes.
    Literal,
    /// One byte of punctuation, or any other byte.
    Sign,
}

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its bytes.
    pub text: &'a [u8],
    /// Where it begins in the file, in bytes.
    pub start: usize,
    /// Its line, from 1.
    pub line: u32,
    /// Whether it is the first of a line, where a continued line is one.
    pub starts_line: bool,
}

impl Token<'_> {
    /// Whether it is this byte of punctuation.
    pub fn is(&self, sign: u8) -> bool {
        self.kind == Kind::Sign && self.text == [sign]
    }

    /// Whether it is this word.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word.as_bytes()
    }

    /// Where it ends.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Reads tokens.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
    starts_line: bool,
    unclosed: Option<u32>,
}

impl<'a> Scanner<'a> {
    /// Reads from the beginning of a file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1, starts_line: true, unclosed: None }
    }

    /// The line of a comment that had no end, if one was met.
    pub fn unclosed_comment(&self) -> Option<u32> {
        self.unclosed
    }

    /// The next token, if it belongs to the line that is being read.
    pub fn next_in_line(&mut self) -> Option<Token<'a>> {
        self.skip();
        if self.starts_line { None } else { self.next() }
    }

    /// Goes to the next token, over all that is none.
    fn skip(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.starts_line = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'\\' => match self.continued(self.at) {
                    0 => return,
                    length => {
                        self.line += 1;
                        self.at += length;
                    }
                },
                b'/' => match self.bytes.get(self.at + 1) {
                    Some(b'*') => self.skip_comment(),
                    Some(b'/') => self.skip_line_comment(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// Bytes of a backslash at the end of a line, with that end; 0 where there is none.
    fn continued(&self, at: usize) -> usize {
        match (self.bytes.get(at + 1), self.bytes.get(at + 2)) {
            (Some(b'\n'), _) => 2,
            (Some(b'\r'), Some(b'\n')) => 3,
            _ => 0,
        }
    }

    fn skip_comment(&mut self) {
        let begin = self.line;
        self.at += 2;
        loop {
            match self.bytes.get(self.at) {
                None => {
                    self.unclosed.get_or_insert(begin);
                    return;
                }
                Some(b'*') if self.bytes.get(self.at + 1) == Some(&b'/') => {
                    self.at += 2;
                    return;
                }
                // A comment is a space: the line goes on behind it.
                Some(b'\n') => self.line += 1,
                Some(_) => {}
            }
            self.at += 1;
        }
    }

    fn skip_line_comment(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'\\' => match self.continued(self.at) {
                    0 => self.at += 1,
                    length => {
                        self.line += 1;
                        self.at += length;
                    }
                },
                _ => self.at += 1,
            }
        }
    }

    /// The end of the literal that begins at `at`, on its line or where that is continued.
    fn literal(&mut self, quote: u8) -> usize {
        let mut at = self.at + 1;
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'\n' => return at,
                b'\\' => match self.continued(at) {
                    0 => at += 2,
                    length => {
                        self.line += 1;
                        at += length;
                    }
                },
                byte if *byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        at.min(self.bytes.len())
    }

    fn run(&self, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[self.at..];
        self.at + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip();
        let first = *self.bytes.get(self.at)?;
        let (start, line) = (self.at, self.line);
        let (kind, end) = match first {
            b'"' | b'\'' => (Kind::Literal, self.literal(first)),
            b'0'..=b'9' => (Kind::Number, self.run(|byte| is_of_word(byte) || byte == b'.')),
            byte if is_of_word(byte) => (Kind::Word, self.run(is_of_word)),
            _ => (Kind::Sign, self.at + 1),
        };
        self.at = end;
        let starts_line = std::mem::take(&mut self.starts_line);
        Some(Token { kind, text: &self.bytes[start..end], start, line, starts_line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let token = |token: Token<'_>| {
            let mark = if token.starts_line { "^" } else { "" };
            format!("{mark}{}", String::from_utf8_lossy(token.text))
        };
        Scanner::new(text.as_bytes()).map(token).collect()
    }

    #[test]
    fn comments_are_spaces_and_continued_lines_are_one() {
        assert_eq!(texts("a /* x\n y */ b\nc // d \\\n e\nf \\\n g"), ["^a", "b", "^c", "^f", "g"]);
        assert_eq!(texts("#if A /* x\n*/ && B\nz"), ["^#", "if", "A", "&", "&", "B", "^z"]);
        assert_eq!(texts("a \\\r\n b\r\nc"), ["^a", "b", "^c"]);
    }

    #[test]
    fn literals_hide_what_is_in_them() {
        assert_eq!(texts(r#"f("/* \" */", '"', '\'') x"#).last().unwrap(), "x");
        assert_eq!(texts("\"a // b\" c"), ["^\"a // b\"", "c"]);
    }

    #[test]
    fn a_literal_without_an_end_ends_with_its_line() {
        assert_eq!(texts("don't\nlock()"), ["^don", "'t", "^lock", "(", ")"]);
        assert_eq!(texts("\"a\\"), ["^\"a\\"]);
        assert_eq!(texts("'\\\nb"), ["^'\\\nb"]);
    }

    #[test]
    fn lines_are_counted_through_comments_and_continued_lines() {
        let lines: Vec<u32> =
            Scanner::new(b"a\n/*\n*/ b \\\n c\n\n\"x\\\ny\" d").map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 4, 6, 7]);
    }

    #[test]
    fn a_comment_without_an_end_is_told() {
        let mut scanner = Scanner::new(b"a\n/* b\nc");
        assert_eq!(scanner.by_ref().count(), 1);
        assert_eq!(scanner.unclosed_comment(), Some(2));
    }

    #[test]
    fn bytes_of_any_kind_are_tokens() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut end = 0;
        for token in Scanner::new(&bytes) {
            assert!(token.start >= end && !token.text.is_empty());
            end = token.end();
        }
        assert_eq!(texts("0x1F.p+1u 12ab"), ["^0x1F.p", "+", "1u", "12ab"]);
    }
}
