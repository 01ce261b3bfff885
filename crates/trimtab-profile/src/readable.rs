//! Names of C++ and Rust functions as tools print them: demangled, each tool in its own words.
//!
//! One function is `shop::spin<int>` to perf, `int shop::spin<int>(int)` to binutils, and
//! `shop::spin` to uftrace. [`Forms`] brings all of them to forms that can be compared.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Longest name that is made readable. Mangled names refer back to their own parts, so that a short one
/// can stand for gigabytes.
const LONGEST: usize = 16 << 10;

/// A demangled name in three forms, each without blanks, return type and compiler's suffixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Forms {
    /// With the types of its parameters, where they were given: `shop::spin<int>(int)`.
    pub(crate) full: String,
    /// Without: `shop::spin<int>`.
    pub(crate) plain: String,
    /// Without arguments of templates either, as uftrace prints it: `shop::spin`.
    pub(crate) bare: String,
}

impl Forms {
    /// The forms of a demangled name.
    pub(crate) fn of(text: &str) -> Self {
        let text = in_one_spelling(without_remarks(text.trim()));
        let pieces = Pieces::of(&text);
        let plain = squeezed(&pieces.name);
        let full = format!("{plain}{}", squeezed(pieces.parameters));
        Forms { bare: bare(&pieces.name), full, plain }
    }

    /// The forms of the function with this symbol; `None` where the symbol is not mangled.
    pub(crate) fn of_symbol(symbol: &str) -> Option<Self> {
        demangle(symbol).map(|text| Forms::of(&text))
    }
}

/// Whether a symbol looks mangled.
pub(crate) fn is_mangled(symbol: &str) -> bool {
    ["_Z", "__Z", "_R"].iter().any(|start| symbol.starts_with(start))
}

/// Whether a name can only be a demangled one.
pub(crate) fn is_readable(name: &str) -> bool {
    name.contains("::") || name.contains(['<', '(', ' ', '~'])
}

/// The name at the start of `name(arguments)…`: all up to the parameters. Parentheses within arguments
/// of templates, lambdas, `(anonymous namespace)` and `operator()` belong to the name.
pub(crate) fn before_parameters(text: &str) -> &str {
    let open = Scanner::outside(text).find(|mark| !mark.word && text.as_bytes()[mark.at] == b'(');
    open.map_or(text, |mark| &text[..mark.at])
}

/// Demangles a symbol of C++ or Rust, whatever the compiler has put behind it.
fn demangle(symbol: &str) -> Option<String> {
    if !is_mangled(symbol) {
        return None;
    }
    // Old names of Rust hold dots; in all others a dot begins the compiler's suffix.
    let end = symbol.find('.').unwrap_or(symbol.len());
    let whole = [symbol, &symbol[..end]];
    let parts = if end == symbol.len() { &whole[..1] } else { &whole[..] };
    parts.iter().find_map(|part| demangle_whole(part))
}

fn demangle_whole(symbol: &str) -> Option<String> {
    let mut text = BoundedText(String::new());
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return write!(text, "{name:#}").is_ok().then_some(text.0);
    }
    // The demangler does not know the mark of a variable that a lambda initializes: `lam` in
    // `_ZNK3lamMUliE_clEi`, which is `lam::{lambda(int)#1}::operator()(int) const`.
    let name = cpp_demangle::Symbol::new(symbol.as_bytes().to_vec())
        .or_else(|_| cpp_demangle::Symbol::new(symbol.replace("MUl", "Ul").into_bytes()))
        .ok()?;
    let options = cpp_demangle::DemangleOptions::new();
    name.structured_demangle(&mut text, &options).is_ok().then_some(text.0)
}

/// Text that takes [`LONGEST`] bytes at most.
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Without what demanglers say of a compiler's suffix, `[clone .constprop.0]` or `(.constprop.0)`, and
/// without the hash that ends old names of Rust.
fn without_remarks(mut text: &str) -> &str {
    loop {
        let start = [" [clone ", " (."].iter().filter_map(|start| text.rfind(start)).max();
        match start {
            Some(start) if text.ends_with([']', ')']) && !text[start..].contains("::") => {
                text = text[..start].trim_end();
            }
            _ => break,
        }
    }
    match text.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name
        }
        _ => text,
    }
}

/// With `operator""_km` for whichever blanks a demangler puts into it, and with the letters that old names
/// of Rust hold as `$uf6$`, which not every demangler knows.
fn in_one_spelling(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for (other, ours) in [("operator \"\"", LITERAL), ("operator\"\" ", LITERAL)] {
        if text.contains(other) {
            text = Cow::Owned(text.replace(other, ours));
        }
    }
    // cpp_demangle puts the suffix before it: `operator_km::operator ""`.
    if let Some((before, behind)) = text.split_once("::operator\"\"")
        && let Some((scope, suffix)) = before.rsplit_once(OPERATOR)
        && !suffix.is_empty()
        && suffix.chars().all(is_word)
    {
        text = Cow::Owned(format!("{scope}{LITERAL}{suffix}{behind}"));
    }
    if !text.contains("$u") {
        return text;
    }
    let mut parts = text.split("$u");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let letter = part.split_once('$').and_then(|(digits, rest)| {
            let code = u32::from_str_radix(digits, 16).ok()?;
            Some((char::from_u32(code)?, rest))
        });
        match letter {
            Some((letter, rest)) => {
                plain.push(letter);
                plain.push_str(rest);
            }
            None => {
                plain.push_str("$u");
                plain.push_str(part);
            }
        }
    }
    Cow::Owned(plain)
}

/// A demangled name, taken apart.
struct Pieces<'a> {
    /// Without parameters and return type.
    name: String,
    /// The last parameters, parentheses and all; empty where there are none.
    parameters: &'a str,
}

impl<'a> Pieces<'a> {
    fn of(text: &'a str) -> Self {
        let mut text = text;
        // `void (*pick<int>(int))(int)` returns a pointer to a function; few return one to such a one.
        for _ in 0..4 {
            match group(text, 0) {
                Some((open, close))
                    if text[..open].ends_with(' ')
                        && text[open + 1..].starts_with(['*', '&'])
                        && text[open + 1..close - 1].contains('(') =>
                {
                    text = text[open + 1..close - 1].trim_start_matches(['*', '&', ' ']);
                }
                _ => break,
            }
        }
        let (mut name, mut parameters) = (String::new(), "");
        let mut from = 0;
        while let Some((open, close)) = group(text, from) {
            name.push_str(&text[from..open]);
            parameters = &text[open..close];
            from = close;
            // `f() const::local`: what is within a function.
            let rest = &text[from..];
            let scope = rest.trim_start_matches([' ', '&']).trim_start_matches("const");
            if scope.starts_with("::") || scope.starts_with('(') {
                from += rest.len() - scope.len();
                continue;
            }
            // `decltype ({parm#1}+(1)) f<int>(int)`, `void (*)(int) f<int>(int)`: a return type.
            let goes_on = rest.starts_with(' ') && scope.starts_with(is_word);
            if goes_on
                && !["volatile", "noexcept", "requires"].iter().any(|word| scope.starts_with(word))
            {
                name.clear();
                from = close;
                continue;
            }
            return Pieces { name: without_return_type(&name).to_owned(), parameters };
        }
        name.push_str(&text[from..]);
        if from > 0 && from < text.len() {
            parameters = "";
        }
        Pieces { name: without_return_type(&name).to_owned(), parameters }
    }
}

/// The next parenthesised group at depth 0 from `from` on: its start and the byte behind it.
fn group(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = &text[from..];
    let mut open = None;
    for mark in Scanner::outside(rest).filter(|mark| !mark.word) {
        match (rest.as_bytes()[mark.at], open) {
            (b'(', None) => open = Some(mark.at),
            (b')', Some(open)) => return Some((from + open, from + mark.at + 1)),
            _ => {}
        }
    }
    None
}

/// `int shop::spin<int>` without the type. The blank in `operator new` is part of the name.
fn without_return_type(name: &str) -> &str {
    let name = name.trim();
    let mut last = 0;
    for mark in Scanner::outside(name) {
        if name[mark.at..].starts_with("operator ") && !name[..mark.at].ends_with(is_word) {
            break;
        }
        if name.as_bytes()[mark.at] == b' ' && !mark.word {
            last = mark.at + 1;
        }
    }
    &name[last..]
}

/// Without blanks; `f::<int>` of Rust as `f<int>`.
fn squeezed(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    text.replace("::<", "<")
}

/// Without arguments of templates, and with uftrace's words for what has no name.
fn bare(name: &str) -> String {
    let name = name.replace("(anonymous namespace)", "_GLOBAL__N_1");
    let mut text = String::with_capacity(name.len());
    for mark in Scanner::outside(&name) {
        let rest = &name[mark.at..];
        match rest.chars().next() {
            Some('<' | '>' | '}') if !mark.word => {}
            Some('{') => {
                let lambda = ["{lambda", "{unnamed"].iter().any(|start| rest.starts_with(start));
                text.push_str(if lambda { "$_" } else { "{" });
            }
            first => text.extend(first),
        }
    }
    // Conversions have a type for a name.
    if let Some((scope, kind)) = text.rsplit_once("operator ")
        && !["new", "delete", "co_await"].iter().any(|known| kind.starts_with(known))
    {
        text = format!("{scope}operator(cast)");
    }
    // uftrace prints literal operators without their suffix.
    if let Some((scope, _)) = text.rsplit_once(LITERAL) {
        text = format!("{scope}{LITERAL}");
    }
    // The number of a lambda differs from tool to tool.
    let mut parts = text.split("$_");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| {
        text + "$_" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    });
    squeezed(&text)
}

const OPERATOR: &str = "operator";
/// How the operator of literals begins.
const LITERAL: &str = "operator\"\"";

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Length of the operator's sign behind the word `operator`, for the signs that look like brackets.
fn sign(text: &str) -> usize {
    const SIGNS: [&str; 14] =
        ["(cast)", "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"];
    SIGNS.iter().find(|sign| text.starts_with(**sign)).map_or(0, |sign| sign.len())
}

/// One character of a demangled name.
struct Mark {
    /// Where it begins.
    at: usize,
    /// How many brackets are open around it; a bracket itself is outside of what it holds.
    depth: usize,
    /// Whether a bracket here would be none: it is part of `operator()` or `(anonymous namespace)`.
    word: bool,
}

/// Goes through the characters of a demangled name.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The closing bracket that each open one waits for.
    open: Vec<u8>,
    /// Up to here brackets are part of a word.
    word_end: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Scanner { text, at: 0, open: Vec::new(), word_end: 0 }
    }

    /// The characters outside of all brackets.
    fn outside(text: &'a str) -> impl Iterator<Item = Mark> + 'a {
        Scanner::new(text).filter(|mark| mark.depth == 0)
    }
}

impl Iterator for Scanner<'_> {
    type Item = Mark;

    fn next(&mut self) -> Option<Mark> {
        let rest = self.text.get(self.at..)?;
        let first = rest.chars().next()?;
        let at = self.at;
        self.at += first.len_utf8();
        if at >= self.word_end {
            if rest.starts_with(OPERATOR) && !self.text[..at].ends_with(is_word) {
                let behind = at + OPERATOR.len();
                self.word_end = behind + sign(&self.text[behind..]);
            } else if rest.starts_with("(anonymous ") {
                self.word_end = at + rest.find(')').map_or(0, |end| end + 1);
            }
        }
        let depth = self.open.len();
        if at < self.word_end {
            return Some(Mark { at, depth, word: true });
        }
        let closing = match first {
            '(' => b')',
            '<' => b'>',
            '{' => b'}',
            '[' => b']',
            _ => {
                let closes = first.is_ascii() && self.open.last() == Some(&(first as u8));
                if closes {
                    self.open.pop();
                }
                return Some(Mark { at, depth: self.open.len(), word: false });
            }
        };
        self.open.push(closing);
        Some(Mark { at, depth, word: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What binutils, perf and uftrace make of one symbol; the first two have the same plain form, and
    /// all three the same bare one.
    const NAMES: [(&str, &str, &str, &str); 18] = [
        ("_ZN4shop4spinIiEET_S1_", "int shop::spin<int>(int)", "shop::spin<int>", "shop::spin"),
        ("_Z4overPKc", "over(char const*)", "over", "over"),
        (
            "_ZN12_GLOBAL__N_16hiddenEi",
            "(anonymous namespace)::hidden(int)",
            "(anonymous namespace)::hidden",
            "_GLOBAL__N_1::hidden",
        ),
        (
            "_ZN4shop1AclEi",
            "shop::A::operator()(int)",
            "shop::A::operator()",
            "shop::A::operator()",
        ),
        (
            "_ZN4shop1AlsEi",
            "shop::A::operator<<(int)",
            "shop::A::operator<<",
            "shop::A::operator<<",
        ),
        ("_ZN4shop1TIlE3getEl", "shop::T<long>::get(long)", "shop::T<long>::get", "shop::T::get"),
        (
            "_ZNK4shop1AcviEv",
            "shop::A::operator int() const",
            "shop::A::operator int",
            "shop::A::operator(cast)",
        ),
        (
            "_ZZ4mainENKUliE_clEi",
            "main::{lambda(int)#1}::operator()(int) const",
            "main::{lambda(int)#1}::operator()",
            "main::$_0::operator()",
        ),
        (
            "_ZNK3lamMUliE_clEi",
            "lam::{lambda(int)#1}::operator()(int) const",
            "lam::{lambda(int)#1}::operator()",
            "lam::$_0::operator()",
        ),
        ("_Znwm", "operator new(unsigned long)", "operator new", "operator new"),
        ("_ZN4shop1AD1Ev", "shop::A::~A()", "shop::A::~A", "shop::A::~A"),
        (
            "_Z3strRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEf",
            "str(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, float)",
            "str",
            "str",
        ),
        (
            "_ZN3app4work17h0123456789abcdefE",
            "app::work::h0123456789abcdef",
            "app::work",
            "app::work",
        ),
        (
            "_ZN4shopli3_kmEy",
            "shop::operator\"\" _km(unsigned long long)",
            "shop::operator\"\" _km",
            "shop::operator\"\"",
        ),
        ("_Z4foooIiEDTplfp_Li1EET_", "decltype ({parm#1}+(1)) fooo<int>(int)", "fooo<int>", "fooo"),
        ("_Z4pickIiEPFviET_", "void (*pick<int>(int))(int)", "pick<int>", "pick"),
        (
            "_ZN2rs13gr$uf6$$udf$e8$ufc$ber17h0123456789abcdefE",
            "rs::größe::über",
            "rs::gr$uf6$$udf$e::$ufc$ber",
            "rs::größe::über",
        ),
        (
            "_ZN4shop5priceEi.constprop.0",
            "shop::price(int) [clone .constprop.0]",
            "shop::price",
            "shop::price",
        ),
    ];

    #[test]
    fn one_function_is_the_same_in_the_words_of_every_tool() {
        for (symbol, full, plain, bare) in NAMES {
            let forms = Forms::of_symbol(symbol).unwrap();
            assert_eq!(Forms::of(full).plain, forms.plain, "{symbol}");
            assert_eq!(Forms::of(plain).plain, forms.plain, "{symbol}");
            assert_eq!(Forms::of(full).bare, forms.bare, "{symbol}");
            assert_eq!(Forms::of(bare).bare, forms.bare, "{symbol}");
        }
    }

    #[test]
    fn parameters_tell_overloads_apart() {
        let [text, number] = ["_Z4overPKc", "_Z4overi"].map(|s| Forms::of_symbol(s).unwrap());
        assert_eq!(text.plain, number.plain);
        assert_ne!(text.full, number.full);
        assert_eq!(Forms::of("over(char const*)").full, text.full);
        // What is within a function has the function's parameters in its name.
        let local = Forms::of("f(int)::{lambda(int)#1}::operator()(int) const");
        assert_eq!(local.plain, "f::{lambda(int)#1}::operator()");
    }

    #[test]
    fn rust_is_read_with_and_without_its_hash() {
        let old = Forms::of_symbol("_ZN4core3ptr13drop_in_place17h0123456789abcdefE").unwrap();
        assert_eq!(old.plain, "core::ptr::drop_in_place");
        let new = Forms::of_symbol("_RINvCs5nM2MZpNkmC_3app4spinlE").unwrap();
        assert_eq!(new.plain, Forms::of("app::spin::<i32>").plain);
    }

    #[test]
    fn other_symbols_have_no_forms() {
        for symbol in ["main", "_start", "_Zebra", "", "_Z", "_R", "größe"] {
            assert_eq!(Forms::of_symbol(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn a_call_is_its_name_and_its_parameters() {
        for (call, name) in [
            ("main(1, \"(\")", "main"),
            ("shop::A::operator()()", "shop::A::operator()"),
            ("main::{lambda(int)#1}::operator()(int) const()", "main::{lambda(int)#1}::operator()"),
            ("(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden"),
            (
                "std::_Rb_tree<int, std::less<f()> >::erase(int)",
                "std::_Rb_tree<int, std::less<f()> >::erase",
            ),
            ("shop::A::operator(cast)(0x7f)", "shop::A::operator(cast)"),
            ("leaf", "leaf"),
        ] {
            assert_eq!(before_parameters(call), name);
        }
    }

    #[test]
    fn a_short_symbol_that_stands_for_very_much_is_given_up() {
        // Each `S…_` refers back to what came before, which doubles the text.
        let mut symbol = String::from("_Z1fIiE");
        for index in 0..30 {
            symbol += &format!("1aIS{}_S{}_E", index, index);
        }
        let _ = Forms::of_symbol(&symbol);
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,60}", symbol in "_(Z|R|ZN)[A-Za-z0-9_]{0,40}") {
            let _ = Forms::of(&text);
            let _ = Forms::of_symbol(&symbol);
        }

        #[test]
        fn never_panics_on_pieces_of_names(text in "(operator|[(]anonymous namespace[)]|::|<|>|[({})]| |é|a|const|[.]|[$]_0|\\[|\\]){0,14}") {
            let forms = Forms::of(&text);
            prop_assert!(!forms.plain.contains(' '));
            let _ = before_parameters(&text);
        }
    }
}
