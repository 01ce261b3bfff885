//! Prototypes of functions in a C header, as the preprocessor leaves it.
//!
//! This is no parser of C: it knows as much of declarations as it takes to say what a function is given and gives back by
//! the rules of o32, and names what it does not understand.

use std::collections::BTreeMap;

/// A type as a function is given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CType {
    /// No result.
    Void,
    /// Up to 32 bits.
    Int,
    /// 64 bits.
    Long,
    /// `float`.
    Float,
    /// `double`, also `long double`, which is the same.
    Double,
    /// Any pointer.
    Pointer,
    /// `const char *`.
    Text,
    /// `java_object`: the number of an object of Java's.
    Object,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; one that was made where it has none.
    pub name: String,
    /// Its type.
    pub ctype: CType,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// Its name.
    pub name: String,
    /// What it gives back.
    pub result: CType,
    /// What it is given.
    pub parameters: Vec<Parameter>,
    /// The declaration as C has it, on one line.
    pub text: String,
}

/// What a header declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Functions, in their order.
    pub functions: Vec<Prototype>,
    /// Functions that Java cannot call, and why not.
    pub skipped: Vec<(String, &'static str)>,
}

/// What a name of a type stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Type(CType),
    /// Passed by value: a structure.
    Aggregate,
}

/// Reads what a preprocessor wrote. Types may come from anywhere; functions only from `file`, as its line markers name it.
pub fn read_header(text: &str, file: &str) -> Header {
    let mut reader = Reader { types: builtin(), header: Header::default() };
    let mut here = true;
    let mut declaration: Vec<String> = Vec::new();
    let (mut braces, mut parentheses) = (0_i32, 0_i32);
    let mut from_here = true;
    for line in text.lines() {
        if let Some(marker) = line.strip_prefix('#') {
            here = marker.split('"').nth(1).is_none_or(|name| name == file);
            continue;
        }
        for token in tokens(line) {
            if declaration.is_empty() {
                from_here = here;
            }
            match token {
                "{" => braces += 1,
                "}" => braces -= 1,
                "(" => parentheses += 1,
                ")" => parentheses -= 1,
                _ => {}
            }
            let ends = braces <= 0 && parentheses <= 0;
            let is_body =
                token == "}" && ends && declaration.iter().any(|t| t == ")" || t == "extern");
            let after_type = declaration.first().is_some_and(|t| t == "typedef");
            if token == ";" && ends || is_body && !after_type {
                if token == ";" {
                    reader.declaration(&declaration, from_here);
                }
                declaration.clear();
                (braces, parentheses) = (0, 0);
            } else {
                declaration.push(token.to_owned());
                // `extern "C" {` of C++ only opens.
                if declaration.len() == 3 && declaration[0] == "extern" && token == "{" {
                    declaration.clear();
                    braces = 0;
                }
            }
        }
    }
    reader.header
}

/// Names, numbers, strings, and single signs.
fn tokens(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after.trim_start();
    }
    found
}

fn builtin() -> BTreeMap<String, Known> {
    [("java_object", CType::Object), ("__builtin_va_list", CType::Pointer)]
        .into_iter()
        .map(|(name, ctype)| (name.to_owned(), Known::Type(ctype)))
        .collect()
}

struct Reader {
    types: BTreeMap<String, Known>,
    header: Header,
}

/// Words that say nothing of how a value is passed.
const WITHOUT_MEANING: [&str; 14] = [
    "extern",
    "static",
    "inline",
    "__inline",
    "__inline__",
    "const",
    "volatile",
    "restrict",
    "__restrict",
    "__extension__",
    "register",
    "_Noreturn",
    "__const",
    "__signed__",
];

/// Stands for an attribute that makes another type of one.
const OTHER_TYPE: &str = "?";

/// Leaves out `__attribute__((…))`, `__asm__(…)`; those that make another type leave a sign.
fn without_attributes(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let skips =
            ["__attribute__", "__asm__", "asm", "__asm", "_Alignas"].contains(&token.as_str());
        if !skips {
            kept.push(token.clone());
            continue;
        }
        let mut depth = 0;
        while let Some(token) = tokens.get(at) {
            depth += i32::from(token == "(") - i32::from(token == ")");
            at += 1;
            if ["mode", "vector_size"].contains(&token.trim_matches('_')) {
                kept.push(OTHER_TYPE.to_owned());
            }
            if depth == 0 {
                break;
            }
        }
    }
    kept
}

fn is_name(token: &str) -> bool {
    token.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
}

impl Reader {
    fn declaration(&mut self, tokens: &[String], is_here: bool) {
        let mut tokens = without_attributes(tokens);
        tokens.retain(|token| token != "__extension__");
        match tokens.first().map(String::as_str) {
            Some("typedef") => self.type_name(&tokens[1..]),
            Some(_) if is_here && !tokens.iter().any(|token| token == "{" || token == "=") => {
                self.function(&tokens);
            }
            _ => {}
        }
    }

    fn type_name(&mut self, tokens: &[String]) {
        // A pointer to a function, or what ends with its name.
        let pointer = tokens.windows(2).position(|pair| pair[0] == "(" && pair[1] == "*");
        let braces = tokens.iter().rposition(|token| token == "}").map_or(0, |at| at + 1);
        let named = match pointer.filter(|at| *at >= braces) {
            Some(at) => tokens.get(at + 2).map(|name| (name.clone(), Known::Type(CType::Pointer))),
            None => {
                let name = tokens.iter().rfind(|token| is_name(token)).cloned();
                let array = tokens[braces..].iter().any(|token| token == "[");
                let known = if tokens.iter().any(|token| token == OTHER_TYPE) {
                    None
                } else if array {
                    Some(Known::Type(CType::Pointer))
                } else if tokens[braces..].iter().any(|token| token == "(") {
                    // A type of functions: only pointers to it are passed.
                    None
                } else {
                    let end = tokens.len().saturating_sub(1);
                    self.known(&tokens[..end])
                };
                name.zip(known)
            }
        };
        // To C, this one is a number.
        self.types.extend(named.filter(|(name, _)| name != "java_object"));
    }

    /// What a type without a name is passed as.
    fn known(&self, tokens: &[String]) -> Option<Known> {
        let braces = tokens.iter().rposition(|token| token == "}").map_or(0, |at| at + 1);
        let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
        if words.iter().any(|word| [OTHER_TYPE, "_Complex", "__complex__"].contains(word)) {
            return None;
        }
        if words[braces..].contains(&"*") {
            let is_text = words.iter().filter(|word| **word == "*").count() == 1
                && words.contains(&"const")
                && words.contains(&"char")
                && !words.iter().any(|word| ["unsigned", "signed"].contains(word));
            return Some(Known::Type(if is_text { CType::Text } else { CType::Pointer }));
        }
        let words: Vec<&str> =
            words.into_iter().filter(|word| !WITHOUT_MEANING.contains(word)).collect();
        let has = |word: &str| words.contains(&word);
        Some(Known::Type(match words.first()? {
            &"struct" | &"union" => return Some(Known::Aggregate),
            &"enum" => CType::Int,
            &"void" => CType::Void,
            _ if has("double") => CType::Double,
            _ if has("float") => CType::Float,
            _ if words.iter().filter(|word| **word == "long").count() > 1 => CType::Long,
            _ if ["int", "char", "short", "long", "unsigned", "signed", "_Bool"]
                .iter()
                .any(|word| has(word)) =>
            {
                CType::Int
            }
            name => return self.types.get(*name).copied(),
        }))
    }

    fn function(&mut self, tokens: &[String]) {
        let Some(open) = tokens.iter().position(|token| token == "(") else { return };
        let Some(name) = open.checked_sub(1).map(|at| &tokens[at]).filter(|name| is_name(name))
        else {
            return;
        };
        let skip = |reader: &mut Self, why| reader.header.skipped.push((name.clone(), why));
        let before = &tokens[..open - 1];
        if before.is_empty() || self.is_type(name) {
            // A pointer to a function, as a variable or as what a function gives back.
            let inner = tokens[open..].iter().find(|token| is_name(token));
            let inner = inner.filter(|_| tokens.get(open + 1).is_some_and(|token| token == "*"));
            let why = "its declaration is not understood: expected `TYPE NAME(TYPE NAME, …)`";
            self.header.skipped.extend(inner.map(|name| (name.clone(), why)));
            return;
        }
        if tokens.last().is_none_or(|token| token != ")") {
            return;
        }
        let mut depth = 0;
        let closes = tokens[open..].iter().position(|token| {
            depth += i32::from(token == "(") - i32::from(token == ")");
            depth == 0
        });
        if closes.is_none_or(|at| open + at + 1 != tokens.len()) {
            return skip(self, "more than one is declared at once");
        }
        let result = match self.known(before) {
            Some(Known::Type(result)) => result,
            Some(Known::Aggregate) => return skip(self, "it gives back a structure"),
            None => return skip(self, "the type of its result is not known"),
        };
        let parameters = match self.parameters(&tokens[open + 1..tokens.len() - 1]) {
            Ok(parameters) => parameters,
            Err(why) => return skip(self, why),
        };
        let prototype = Prototype { name: name.clone(), result, parameters, text: line(tokens) };
        if !self.header.functions.iter().any(|known| known.name == prototype.name) {
            self.header.functions.push(prototype);
        }
    }

    fn parameters(&self, tokens: &[String]) -> Result<Vec<Parameter>, &'static str> {
        let mut parameters = Vec::new();
        for part in parts(tokens) {
            if part == ["void"] || part.is_empty() {
                continue;
            }
            if part.iter().any(|token| token == ".") {
                return Err("it takes any number of arguments");
            }
            parameters.push(self.parameter(part, parameters.len())?);
        }
        Ok(parameters)
    }

    fn parameter(&self, tokens: &[String], index: usize) -> Result<Parameter, &'static str> {
        let made = format!("p{index}");
        let is = |sign: &str| tokens.iter().any(|token| token == sign);
        if is("(") {
            let named = tokens.windows(3).find(|part| part[0] == "(" && part[1] == "*");
            let name = named.map(|part| part[2].clone()).filter(|name| is_name(name));
            let name = name.unwrap_or(made);
            return Ok(Parameter { name, ctype: CType::Pointer });
        }
        let end = tokens.iter().position(|token| token == "[").unwrap_or(tokens.len());
        let array = end < tokens.len();
        // The last word is a name where something comes before it that says a type.
        let last = tokens[..end].iter().rposition(|token| is_name(token)).unwrap_or_default();
        let named = last + 1 == end
            && last > 0
            && !self.is_type(&tokens[last])
            && self.known(&tokens[..last]).is_some();
        let types = if named { &tokens[..last] } else { &tokens[..end] };
        let name = if named { tokens[last].clone() } else { made };
        let ctype = match self.known(types) {
            _ if array => CType::Pointer,
            Some(Known::Type(CType::Void)) | None => {
                return Err("the type of a parameter is not known");
            }
            Some(Known::Aggregate) => return Err("it takes a structure"),
            Some(Known::Type(ctype)) => ctype,
        };
        Ok(Parameter { name, ctype })
    }

    fn is_type(&self, word: &str) -> bool {
        const WORDS: [&str; 9] =
            ["int", "char", "short", "long", "unsigned", "signed", "double", "float", "_Bool"];
        WORDS.contains(&word) || WITHOUT_MEANING.contains(&word) || self.types.contains_key(word)
    }
}

/// Parameters, which commas separate.
fn parts(tokens: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    tokens
        .split(|token| {
            depth += i32::from(token == "(") - i32::from(token == ")");
            depth == 0 && token == ","
        })
        .collect()
}

/// Tokens on a line, with spaces between words only.
fn line(tokens: &[String]) -> String {
    let mut text = String::new();
    for token in tokens {
        let after_word = text.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ',');
        if after_word && (is_name(token) || token == "*") {
            text.push(' ');
        }
        text.push_str(token);
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn functions(text: &str) -> Header {
        read_header(text, "lib.h")
    }

    #[test]
    fn prototypes_say_what_is_passed() {
        let header = functions(
            "# 1 \"/usr/include/other.h\" 1\ntypedef unsigned int size_t;\nint elsewhere(void);\n\
             # 2 \"lib.h\" 2\ntypedef struct db db;\n__extension__ typedef long long int wide;\nenum kind { A, B };\n\
             struct pair { int a; void (*f)(int); };\ntypedef int (*visit)(void *, int);\n\
             typedef struct { int x; } point;\n\
             extern int open_db(const char *name, db **out) __attribute__((nonnull(1)));\n\
             double scale(float, double by, wide n);\nvoid each(db *, int (*call)(void *, char **), void *);\n\
             size_t count(const db *d, visit v, enum kind k, unsigned char);\nint many(const char *format, ...);\n\
             static inline int body(int a) { return a; }\nconst char *text(char names[], java_object o);\n\
             int by_value(struct pair p);\npoint moved(point);\nint unknown(other_t x);\n\
             typedef int wide_by_mode __attribute__((__mode__(__DI__)));\nint mode(wide_by_mode x);\n\
             int two(void), at_once(int);\nint (*handler(int))(int);\nint (*variable)(int);\n\
             double _Complex root(int);\nint vector(float v __attribute__((vector_size(16))));\n",
        );
        use CType::{Double, Float, Int, Long, Object, Pointer, Text};
        let found: Vec<(&str, CType, Vec<CType>)> = header
            .functions
            .iter()
            .map(|f| (f.name.as_str(), f.result, f.parameters.iter().map(|p| p.ctype).collect()))
            .collect();
        assert_eq!(
            found,
            [
                ("open_db", Int, vec![Text, Pointer]),
                ("scale", Double, vec![Float, Double, Long]),
                ("each", CType::Void, vec![Pointer, Pointer, Pointer]),
                ("count", Int, vec![Pointer, Pointer, Int, Int]),
                ("text", Text, vec![Pointer, Object]),
            ]
        );
        let names: Vec<&str> =
            header.functions[0].parameters.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["name", "out"]);
        assert_eq!(header.functions[2].parameters[1].name, "call");
        assert_eq!(header.functions[1].text, "double scale(float, double by, wide n)");
        let skipped: Vec<&str> = header.skipped.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            skipped,
            [
                "many", "by_value", "moved", "unknown", "mode", "two", "handler", "variable",
                "root", "vector"
            ]
        );
    }

    #[test]
    fn what_is_no_header_is_nothing() {
        for text in [
            "",
            ")",
            "(((",
            "typedef",
            "typedef ;",
            "int (",
            "# \"",
            "x(;",
            "int f(;",
            "};};",
            "\"a",
        ] {
            assert_eq!(functions(text).functions, []);
        }
    }
}
