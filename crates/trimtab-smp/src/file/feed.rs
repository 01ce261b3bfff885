//! What the preprocessor makes of one build's code: the macros that the file itself defines are expanded.

use crate::c::macros::{Build, Macro, Macros};
use crate::c::token::{Kind, Scanner, Token};
use crate::normal::{Lines, Piece};

/// Tokens that macros of a file may become. None that people write comes near, and macros that double each
/// other grow without end.
const MOST: usize = 2_000_000;
/// Tokens that one call may become.
const LONGEST: usize = 200_000;
/// Tokens between the parentheses of one call.
const LONGEST_CALL: usize = 16_384;
/// How deep macros may stand for each other.
const DEEPEST: usize = 64;

/// Gives the tokens of one build to its lines.
#[derive(Clone)]
pub(super) struct Feed<'a> {
    lines: Lines,
    /// Whether the author began a line since the last token that is left.
    begun: bool,
    /// Where the last token ended in the file.
    end: usize,
    call: Option<Call<'a>>,
    budget: usize,
}

/// A macro with parameters whose call is being read.
#[derive(Clone)]
struct Call<'a> {
    name: Piece<'a>,
    /// What is between its parentheses.
    inside: Vec<Piece<'a>>,
    /// Parentheses that are open; 0 before the first.
    depth: usize,
}

impl<'a> Feed<'a> {
    pub(super) fn new(is_c: bool) -> Self {
        Self { lines: Lines::new(is_c), begun: true, end: 0, call: None, budget: MOST }
    }

    /// The lines.
    pub(super) fn done(mut self) -> Vec<u64> {
        if let Some(call) = self.call.take() {
            self.give_back(call);
        }
        self.lines.done()
    }

    /// Whether macros became more than is read of them.
    pub(super) fn is_exhausted(&self) -> bool {
        self.budget == 0
    }

    /// Takes the next token of the file; `is_active`: whether this build compiles it.
    pub(super) fn token(
        &mut self,
        token: &Token<'a>,
        is_active: bool,
        macros: &Macros<'a>,
        build: Build,
    ) {
        self.begun |= token.starts_line;
        let space = token.start > std::mem::replace(&mut self.end, token.end());
        if !is_active {
            return;
        }
        let starts_line = std::mem::take(&mut self.begun);
        let piece = Piece { kind: token.kind, text: token.text, space, starts_line };
        let Some(piece) = self.collect(piece, macros, build) else { return };
        match macros.get(piece.text, build).filter(|_| piece.kind == Kind::Word && self.budget > 0)
        {
            None => self.lines.token(&piece),
            Some(found) if found.parameters.is_some() => {
                self.call = Some(Call { name: piece, inside: Vec::new(), depth: 0 });
            }
            Some(_) => self.expand(&[piece], piece.starts_line, macros, build),
        }
    }

    /// Gives a token to the call that is being read; gives it back if it is of none.
    fn collect(
        &mut self,
        piece: Piece<'a>,
        macros: &Macros<'a>,
        build: Build,
    ) -> Option<Piece<'a>> {
        let Some(mut call) = self.call.take() else { return Some(piece) };
        if call.depth == 0 && !piece.is(b'(') {
            self.lines.token(&call.name);
            return Some(piece);
        }
        call.depth += usize::from(piece.is(b'('));
        call.depth -= usize::from(piece.is(b')'));
        call.inside.push(Piece { starts_line: false, ..piece });
        if call.depth == 0 {
            let mut pieces = vec![call.name];
            pieces.append(&mut call.inside);
            self.expand(&pieces, call.name.starts_line, macros, build);
        } else if call.inside.len() >= LONGEST_CALL {
            self.give_back(call);
        } else {
            self.call = Some(call);
        }
        None
    }

    /// A call that is none.
    fn give_back(&mut self, call: Call<'a>) {
        self.lines.token(&call.name);
        for piece in &call.inside {
            self.lines.token(piece);
        }
    }

    fn expand(
        &mut self,
        pieces: &[Piece<'a>],
        starts_line: bool,
        macros: &Macros<'a>,
        build: Build,
    ) {
        let budget = self.budget.min(LONGEST);
        let mut expansion =
            Expansion { macros, build, hidden: Vec::new(), budget, out: Vec::new() };
        expansion.scan(pieces);
        self.budget -= budget - expansion.budget;
        let out = expansion.out;
        match out.split_first() {
            // What follows stands where the macro stood.
            None => self.begun |= starts_line,
            Some((first, rest)) => {
                self.lines.token(&Piece { starts_line, ..*first });
                for piece in rest {
                    self.lines.token(&Piece { starts_line: false, ..*piece });
                }
            }
        }
    }
}

/// An expansion under way.
struct Expansion<'m, 'a> {
    macros: &'m Macros<'a>,
    build: Build,
    /// Macros that are being expanded: within themselves they are names.
    hidden: Vec<&'a [u8]>,
    budget: usize,
    out: Vec<Piece<'a>>,
}

impl<'a> Expansion<'_, 'a> {
    /// Puts out these tokens with all macros in them expanded.
    fn scan(&mut self, pieces: &[Piece<'a>]) {
        let mut at = 0;
        while let Some(piece) = pieces.get(at) {
            at += 1;
            self.budget = self.budget.saturating_sub(1);
            let is_name = piece.kind == Kind::Word && !self.hidden.contains(&piece.text);
            let can_go_on = self.budget > 0 && self.hidden.len() < DEEPEST;
            let found = self.macros.get(piece.text, self.build).filter(|_| is_name && can_go_on);
            let inner = match found {
                None => None,
                Some(Macro { parameters: None, body }) => Some(pieces_of(body)),
                Some(Macro { parameters: Some(parameters), body }) => {
                    let closed = arguments(&pieces[at..]);
                    closed.map(|(arguments, length)| {
                        at += length;
                        substitute(body, parameters, &arguments, self.budget)
                    })
                }
            };
            match inner {
                None => self.out.push(*piece),
                Some(inner) => {
                    self.hidden.push(piece.text);
                    self.scan(&inner);
                    self.hidden.pop();
                }
            }
        }
    }
}

fn pieces_of(body: &[u8]) -> Vec<Piece<'_>> {
    let mut end = 0;
    Scanner::new(body)
        .map(|token| {
            let space = token.start > std::mem::replace(&mut end, token.end());
            Piece { kind: token.kind, text: token.text, space, starts_line: false }
        })
        .collect()
}

/// The arguments of a call whose parentheses come first, and how many tokens these are; none where they are
/// not closed.
fn arguments<'p, 'a>(pieces: &'p [Piece<'a>]) -> Option<(Vec<&'p [Piece<'a>]>, usize)> {
    let mut depth = 0_usize;
    let mut begin = 1;
    let mut arguments = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if piece.is(b'(') {
            depth += 1;
        } else if depth == 0 {
            return None;
        } else if piece.is(b')') {
            depth -= 1;
            if depth == 0 {
                arguments.push(&pieces[begin..at]);
                return Some((arguments, at + 1));
            }
        } else if depth == 1 && piece.is(b',') {
            arguments.push(&pieces[begin..at]);
            begin = at + 1;
        }
    }
    None
}

/// The body of a macro with arguments in the place of parameters.
fn substitute<'a>(
    body: &'a [u8],
    parameters: &'a [u8],
    arguments: &[&[Piece<'a>]],
    budget: usize,
) -> Vec<Piece<'a>> {
    let names: Vec<&[u8]> =
        Scanner::new(parameters).filter(|token| token.kind == Kind::Word).map(|t| t.text).collect();
    let is_variadic = parameters.ends_with(b"...");
    let mut out = Vec::new();
    for piece in pieces_of(body) {
        let place = match piece.text {
            b"__VA_ARGS__" if is_variadic => Some(names.len()),
            _ if piece.kind == Kind::Word => names.iter().position(|name| *name == piece.text),
            _ => None,
        };
        match place {
            _ if out.len() > budget => break,
            None => out.push(piece),
            Some(place) => {
                let is_rest = is_variadic && place + 1 >= names.len();
                let last = if is_rest { arguments.len() } else { place + 1 };
                let given = arguments.get(place..last.max(place)).unwrap_or_default();
                out.extend(given.iter().flat_map(|argument| argument.iter().copied()));
            }
        }
    }
    out
}
