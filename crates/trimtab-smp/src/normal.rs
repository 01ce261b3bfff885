//! Lines of C as a formatter would break them, so that style does not count: a statement to a line,
//! braces as Kernighan and Ritchie set them, no empty lines, and each line indented by the blocks that it is in.
//!
//! As GNU indent does, breaks within parentheses are undone, and lines that are too long broken; other
//! breaks within a statement stay where the author made them.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::c::token::Kind;

/// Braces and parentheses that are told apart, by their depth. None that people write comes near.
const DEEPEST: usize = 4096;
/// Columns of a line, beyond which it is broken.
const WIDTH: usize = 80;
/// Columns by which a block is indented.
const TAB: usize = 8;
/// The deepest that lines are indented: there must be room left.
const DEEPEST_INDENTED: usize = 64;

/// A token as a preprocessor leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its bytes, one at least.
    pub text: &'a [u8],
    /// Whether there is a space before it.
    pub space: bool,
    /// Whether the author began a line with it.
    pub starts_line: bool,
}

impl Piece<'_> {
    /// Whether it is this byte of punctuation.
    pub fn is(&self, sign: u8) -> bool {
        self.kind == Kind::Sign && self.text == [sign]
    }

    fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word.as_bytes()
    }
}

/// What is in a pair of braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Braces {
    /// Statements.
    Block,
    /// Statements of a `do`, behind which `while` stands.
    Do,
    /// Members, behind which a name may stand.
    Type,
    /// Values, whose lines the author breaks.
    Values,
}

/// A pair of braces that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    braces: Braces,
    /// Parentheses that are open in the same pair of braces around it.
    parentheses: usize,
    /// Parentheses that are open around it in all.
    inside: usize,
}

/// Builds the lines of one build of a file. A line is the hash of its tokens.
#[derive(Clone)]
pub struct Lines {
    is_c: bool,
    lines: Vec<u64>,
    current: FxHasher,
    is_empty: bool,
    before: Before,
    /// Whether a line ends before the next token, unless that belongs to the last one.
    breaks: bool,
    parentheses: usize,
    /// The parentheses of `if`, `for`, `while` and `switch`: the depth of braces and parentheses in which
    /// they stand.
    heads: Vec<(usize, usize)>,
    braces: Vec<Open>,
    closed: Braces,
    /// Columns of the line so far.
    column: usize,
    /// For each parenthesis that is open, the column behind it: there the lines in it begin.
    inside: Vec<usize>,
    /// Conditions and loops without braces that the statement is in.
    unbraced: usize,
    /// Whether the statement so far has a `=`, or one of the words that begin a type.
    has_equals: bool,
    has_type: bool,
    in_case: bool,
    questions: usize,
    words_of_statement: usize,
}

/// What the last token was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Word,
    /// `if`, `for`, `while`, `switch`: parentheses follow, then a statement.
    Head,
    Else,
    Do,
    /// The parenthesis that closes those behind a head.
    HeadEnd,
    OpenBrace,
    CloseBrace,
    Parenthesis,
    Comma,
    Equals,
    Other,
}

impl Lines {
    /// Of a C file, or of another whose lines are as they are.
    pub fn new(is_c: bool) -> Self {
        Self {
            is_c,
            lines: Vec::new(),
            current: FxHasher::default(),
            is_empty: true,
            before: Before::Nothing,
            breaks: false,
            parentheses: 0,
            heads: Vec::new(),
            braces: Vec::new(),
            closed: Braces::Block,
            column: 0,
            inside: Vec::new(),
            unbraced: 0,
            has_equals: false,
            has_type: false,
            in_case: false,
            questions: 0,
            words_of_statement: 0,
        }
    }

    /// The lines.
    pub fn done(mut self) -> Vec<u64> {
        self.end_line();
        self.lines
    }

    fn end_line(&mut self) {
        if !self.is_empty {
            self.lines.push(std::mem::take(&mut self.current).finish());
            self.is_empty = true;
        }
        (self.breaks, self.column) = (false, 0);
    }

    /// Takes the next token.
    pub fn token(&mut self, token: &Piece<'_>) {
        let starts_line = token.starts_line;
        let breaks = match self.in_values() && !token.is(b'}') || !self.is_c {
            true => starts_line,
            false => self.breaks_before(token, starts_line),
        };
        if breaks {
            let has_head = matches!(self.before, Before::HeadEnd | Before::Else | Before::Do);
            self.unbraced = self.unbraced.saturating_add(usize::from(has_head));
            self.end_line();
        } else if self.is_c && !self.in_values() && token.space {
            self.wrap(token);
        }
        if self.is_empty {
            self.column = self.indentation(token);
            self.column.hash(&mut self.current);
        } else {
            self.column += usize::from(token.space);
        }
        self.column += token.text.len();
        token.text.hash(&mut self.current);
        (self.is_empty, self.breaks) = (false, false);
        if self.is_c {
            self.pass(token);
        }
    }

    /// Begins a new line where a token has no room in this one.
    fn wrap(&mut self, token: &Piece<'_>) {
        if !self.is_empty && self.column + 1 + token.text.len() > WIDTH {
            self.end_line();
        }
    }

    /// The column of a line that begins with a token.
    fn indentation(&self, token: &Piece<'_>) -> usize {
        let column = match self.inside.last() {
            Some(column) if self.parentheses > 0 => *column,
            // A block within parentheses.
            Some(column) => column + TAB,
            None => {
                let braces =
                    self.braces.len() - usize::from(token.is(b'}') && !self.braces.is_empty());
                (braces + self.unbraced) * TAB
            }
        };
        if self.is_c { column.min(DEEPEST_INDENTED) } else { 0 }
    }

    fn in_values(&self) -> bool {
        self.braces.last().is_some_and(|open| open.braces == Braces::Values)
    }

    /// Whether a line ends before a token.
    fn breaks_before(&self, token: &Piece<'_>, starts_line: bool) -> bool {
        if token.is(b'{') {
            return match self.before {
                // The brace of a function stands alone.
                Before::Parenthesis => self.braces.is_empty() && !self.has_equals,
                Before::Word | Before::HeadEnd | Before::Else | Before::Do | Before::Equals => {
                    false
                }
                _ => starts_line || self.breaks,
            };
        }
        if token.is(b'}') {
            return !self.in_values() || starts_line;
        }
        match self.before {
            Before::CloseBrace if token.is(b';') || token.is(b',') || token.is(b')') => false,
            Before::CloseBrace if token.is_word("else") => false,
            Before::CloseBrace if token.is_word("while") && self.closed == Braces::Do => false,
            Before::CloseBrace if self.closed == Braces::Type => starts_line,
            Before::HeadEnd if token.is(b';') => starts_line,
            Before::Else if token.is_word("if") => false,
            Before::HeadEnd | Before::Else | Before::Do => true,
            _ => starts_line && self.parentheses == 0 || self.breaks,
        }
    }

    /// What a token changes.
    fn pass(&mut self, token: &Piece<'_>) {
        let before = self.before;
        self.before = Before::Other;
        self.words_of_statement += 1;
        match (token.kind, token.text[0]) {
            (Kind::Word, _) => self.word(token.text),
            (Kind::Sign, b'(') => {
                if before == Before::Head && self.heads.len() < DEEPEST {
                    self.heads.push((self.braces.len(), self.parentheses));
                }
                self.parentheses += 1;
                if self.inside.len() < DEEPEST {
                    self.inside.push(self.column);
                }
            }
            (Kind::Sign, b')') => self.close_parenthesis(),
            (Kind::Sign, b'{') => self.open_brace(before),
            (Kind::Sign, b'}') => {
                let none = Open { braces: Braces::Block, parentheses: 0, inside: 0 };
                let open = self.braces.pop().unwrap_or(none);
                (self.closed, self.parentheses) = (open.braces, open.parentheses);
                self.inside.truncate(open.inside);
                self.before = Before::CloseBrace;
                if open.braces != Braces::Values {
                    self.begin_statement(self.parentheses == 0);
                }
            }
            (Kind::Sign, b';') if self.parentheses == 0 => self.begin_statement(true),
            (Kind::Sign, b'?') => self.questions += 1,
            (Kind::Sign, b':') => self.colon(before),
            (Kind::Sign, b',') => self.before = Before::Comma,
            (Kind::Sign, b'=') => (self.before, self.has_equals) = (Before::Equals, true),
            _ => {}
        }
    }

    fn close_parenthesis(&mut self) {
        self.parentheses = self.parentheses.saturating_sub(1);
        self.inside.pop();
        self.before = Before::Parenthesis;
        if self.heads.last() == Some(&(self.braces.len(), self.parentheses)) {
            self.heads.pop();
            self.before = Before::HeadEnd;
            self.words_of_statement = 0;
        }
    }

    fn open_brace(&mut self, before: Before) {
        let braces = match before {
            _ if self.in_values() => Braces::Values,
            Before::Equals => Braces::Values,
            Before::Parenthesis if self.has_equals || self.parentheses > 0 => Braces::Values,
            Before::Do => Braces::Do,
            Before::Word if self.has_type => Braces::Type,
            _ => Braces::Block,
        };
        if self.braces.len() < DEEPEST {
            let (parentheses, inside) = (self.parentheses, self.inside.len());
            self.braces.push(Open { braces, parentheses, inside });
        }
        self.parentheses = 0;
        self.before = Before::OpenBrace;
        self.begin_statement(braces != Braces::Values);
    }

    fn word(&mut self, word: &[u8]) {
        self.before = match word {
            b"if" | b"for" | b"while" | b"switch" => Before::Head,
            b"else" => Before::Else,
            b"do" => Before::Do,
            _ => Before::Word,
        };
        if matches!(word, b"else" | b"do") {
            self.words_of_statement = 0;
        }
        self.in_case |= matches!(word, b"case" | b"default");
        self.has_type |= matches!(word, b"struct" | b"union" | b"enum");
    }

    /// A label ends its line, and so does a case.
    fn colon(&mut self, before: Before) {
        if self.in_case && self.questions == 0 {
            self.begin_statement(true);
        } else if self.questions > 0 {
            self.questions -= 1;
        } else if before == Before::Word && self.words_of_statement == 2 && !self.braces.is_empty()
        {
            self.begin_statement(true);
        }
    }

    fn begin_statement(&mut self, breaks: bool) {
        self.unbraced = 0;
        self.breaks = breaks;
        (self.has_equals, self.has_type, self.in_case) = (false, false, false);
        self.questions = 0;
        self.words_of_statement = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::token::{Scanner, Token};

    fn broken(text: &str, is_c: bool) -> Vec<u64> {
        let mut lines = Lines::new(is_c);
        let mut end = 0;
        for token in Scanner::new(text.as_bytes()) {
            let Token { kind, text, starts_line, .. } = token;
            let space = token.start > end;
            end = token.end();
            lines.token(&Piece { kind, text, space, starts_line });
        }
        lines.done()
    }

    fn lines(text: &str) -> Vec<u64> {
        broken(text, true)
    }

    /// Each text is written as a formatter leaves it: it must not be broken otherwise, and be the same when
    /// all its breaks or none were made by the author.
    #[test]
    fn a_statement_is_a_line() {
        for text in [
            "int f(int a)\n{\nif (a)\nreturn 1;\nelse if (b)\nx();\nelse\ny();\nreturn 0;\n}",
            "void f(void)\n{\nfor (i = 0; i < 3; i++) {\na();\nb();\n}\nc();\n}",
            "void f(void)\n{\nif (a) {\nx();\n} else {\ny();\n}\ndo {\nz();\n} while (c);\n}",
            "void f(void)\n{\nswitch (a) {\ncase 1:\ncase B ? 1 : 2:\nx();\nbreak;\ndefault:\n;\n}\n}",
            "void f(void)\n{\nwhile (a) ;\nout:\nx(a ? b : c);\n}",
            "struct s {\nint a;\nint b:3;\n} s;\nint c;",
            "void f(void)\n{\ndo\nx();\nwhile (c);\n}",
        ] {
            let expected = text.lines().count();
            assert_eq!(lines(text).len(), expected, "{text}");
            assert_eq!(lines(&text.replace('\n', " ")), lines(text), "{text}");
        }
    }

    #[test]
    fn braces_and_else_stand_where_they_belong() {
        let one = lines("void f(void)\n{\nif (a) {\nx();\n} else {\ny();\n}\n}");
        let other = lines("void f(void) {\n\n if (a)\n {\n  x();\n }\n else\n {\n  y(); }\n}");
        assert_eq!(one, other);
    }

    #[test]
    fn values_and_long_statements_keep_their_breaks() {
        assert_eq!(lines("int a[] = {\n1, 2,\n3,\n};").len(), 4);
        assert_eq!(lines("int a[] = { {1}, {2; 3} };").len(), 1);
        assert_eq!(lines("x(a,\n  b);").len(), 1);
        assert_eq!(lines("a =\n  b;").len(), 2);
        assert_eq!(
            lines("void f(void)\n{\ns = (struct s) { 1 }; t();\ng((int[]){ 1 });\n}").len(),
            6
        );
        assert_eq!(lines("void f(void)\n{\nx = ({ a(); b(); });\n}").len(), 7);
    }

    #[test]
    fn a_line_that_moves_into_a_block_is_another() {
        let text = "void f(void)\n{\nx();\n}";
        let [outside, inside, unbraced] = ["x();", "{ x(); }", "if (a) x();"].map(|body| {
            let found = lines(&text.replace("x();", body));
            found[found.len() - 2 - usize::from(body.starts_with('{'))]
        });
        assert!(outside != inside && inside == unbraced);
        let ends =
            ["a", "ab"].map(|name| lines(&format!("{name}({} end);", "word, ".repeat(20))).pop());
        assert_ne!(ends[0], ends[1]);
    }

    #[test]
    fn long_lines_are_broken() {
        let long = format!("x({});", ["argument"; 20].join(", "));
        assert_eq!(lines(&long).len(), 3);
        assert_eq!(lines(&format!("int a[] = {{ {} }};", ["1"; 100].join(", "))).len(), 1);
    }

    #[test]
    fn lines_of_assembly_are_as_they_are() {
        assert_eq!(broken("a: mov b; mov {c}\n\n  ret", false).len(), 2);
    }
}
