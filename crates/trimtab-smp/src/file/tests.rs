//! Small files, with what is to be counted in them.

use proptest::strategy::Strategy;

use super::*;

fn c(text: &str) -> FileCounts {
    count(text.as_bytes(), Language::C)
}

fn lines(text: &str) -> (u64, u64, u64) {
    let found = c(text);
    (found.up, found.smp, found.differing)
}

#[test]
fn lines_are_those_of_each_build() {
    for (text, expected) in [
        ("int a;\nint b;\n", (2, 2, 0)),
        ("int a;\n#ifdef CONFIG_SMP\nint b;\n#endif\nint c;\n", (2, 3, 1)),
        ("#ifndef __SMP__\nint a;\n#else\nint b; int c;\n#endif\n", (1, 2, 3)),
        ("#if defined(CONFIG_SMP) && !defined(X)\nint a;\n#endif\n", (0, 1, 1)),
        ("#ifdef CONFIG_X\nint a;\n#ifdef CONFIG_SMP\nint b;\n#endif\n#endif\n", (0, 0, 0)),
        // What both branches have does not differ.
        ("#ifdef __SMP__\nint a;\nint b;\n#else\nint a;\n#endif\n", (1, 2, 1)),
        // The file defines an option from SMP.
        ("#ifdef CONFIG_SMP\n#define X\n#endif\n#ifdef X\nint a;\n#endif\n", (0, 1, 1)),
        ("#define CONFIG_SMP\nint a;\n#ifdef CONFIG_SMP\nint b;\n#endif\n", (2, 2, 0)),
        ("#ifndef G\n#define G\n#ifdef CONFIG_SMP\nint a;\n#endif\n#endif\n", (0, 1, 1)),
        // Not within a comment, a string or a line that is continued.
        ("/*\n#ifdef CONFIG_SMP\n*/\nint a;\n", (1, 1, 0)),
        ("int a = \"\\\n#ifdef CONFIG_SMP\";\nint b;\n", (2, 2, 0)),
    ] {
        assert_eq!(lines(text), expected, "{text}");
    }
}

#[test]
fn a_line_differs_where_a_macro_stands_for_something_else() {
    let text = "#ifdef CONFIG_SMP\n#define F x\n#else\n#define F y\n#endif\nint F;\nint z;\n";
    assert_eq!(lines(text), (2, 2, 2));
    assert_eq!(lines(&text.replace("F y", "F x")), (2, 2, 0));
    assert_eq!(lines(&text.replace("int F", "#define G F\nint G")), (2, 2, 2));
    assert_eq!(lines(&format!("#define G F\n{}", text.replace("int F", "int G"))), (2, 2, 2));
}

#[test]
fn macros_of_the_file_are_expanded() {
    for (text, expected) in [
        // A macro is one line, however it is written, and its statements are lines.
        ("#define F a(); \\\n b();\nvoid f(void)\n{\n\tF\n}\n", 5),
        ("#define F(x, y) x(y); x(y)\nvoid f(void)\n{\n\tF(a, (b,\n\tc));\n}\n", 5),
        (
            "#define F(x...) g(x)\n#define G(x, ...) g(__VA_ARGS__)\nint a = F(1, 2) + G(1, 2, 3);\n",
            1,
        ),
        ("#define F\nF\nint a;\n", 1),
        ("#define F F\n#define G(x) G(x)\nF G(F);\n", 1),
        // None of these is a call.
        ("#define F(x) a; b; c\nint F;\nint a = F\n", 2),
        ("#define F(x) a; b; c\nint F(x;\n", 1),
        ("#define F(x\nint F(x);\n", 1),
    ] {
        assert_eq!(lines(text), (expected, expected, 0), "{text}");
    }
}

#[test]
fn macros_that_grow_without_end_are_told() {
    let mut text = "#define m40 x;\n".to_owned();
    for number in (0..40).rev() {
        text.push_str(&format!("#define m{number} m{0} m{0}\n", number + 1));
    }
    text.push_str(&"m0\n".repeat(12));
    assert_eq!(c(&text).confusions, [Confusion::Macros]);
    assert!(c(&format!("#define F(x) x x\n{}1{}", "F(".repeat(9999), ")".repeat(9999))).up >= 1);
}

#[test]
fn a_statement_around_a_conditional_differs_as_far_as_it_does() {
    let text =
        "int f(void)\n{\n\tif (a\n#ifdef CONFIG_SMP\n\t    && b\n#endif\n\t    )\n\t\tx();\n}\n";
    assert_eq!(lines(text), (5, 5, 2));
}

#[test]
fn locks_are_counted_in_all_branches_and_in_macros() {
    let text = "#define A(x) spin_lock(x)\nvoid f(void)\n{\n#if 0\n\tspin_lock(&a);\n#else\n\tguard(rcu)();\n\
                #endif\n\t/* mutex_lock(&m); */ puts(\"mutex_lock(&m)\");\n}\n";
    let found = c(text);
    assert_eq!((found.locks.spin, found.locks.rcu_read, found.locks.mutex), (2, 2, 0));
    let mut places = Vec::new();
    count_with(text.as_bytes(), Language::C, &mut |place| places.push((place.line, place.places)));
    assert_eq!(places, [(1, 1), (5, 1), (7, 2)]);
}

#[test]
fn questions_for_smp_are_counted() {
    let text = "int f(void)\n{\n\tif (IS_ENABLED(CONFIG_SMP) || IS_ENABLED(CONFIG_X))\n\t\tx();\n}\n\
                #if defined(CONFIG_SMP) || CONFIG_SMP\n#elif defined(__SMP__)\n#endif\n#ifdef CONFIG_SMPX\n#endif\n";
    let found = c(text);
    assert_eq!((found.option_tests, found.conditions), (1, 2));
    assert_eq!(found.complexities, [3]);
}

#[test]
fn of_conditionals_one_branch_is_read_for_functions() {
    let text =
        "#ifdef X\nint f(int a) {\n#else\nint f(long a) {\n#endif\n#if 0\n}\n#endif\nreturn 0; }\n";
    let found = c(text);
    assert_eq!((found.complexities.as_slice(), found.confusions.len()), (&[1][..], 0));
}

#[test]
fn what_is_not_understood_is_told() {
    for (text, expected) in [
        ("int f(void)\n{\n\tSOUP {\n}\n", Confusion::Braces),
        ("#ifdef X\nint a;\n", Confusion::OpenConditional(1)),
        ("int a;\n#endif\n", Confusion::Unopened(2)),
        ("\n#if 1 +\n#endif\n", Confusion::Condition(2)),
        ("int a; /* \n", Confusion::OpenComment(1)),
        ("int a;\0", Confusion::Binary),
    ] {
        assert_eq!(c(text).confusions, [expected], "{text}");
        assert!(!expected.to_string().is_empty());
    }
    assert_eq!(c(&"#endif\n".repeat(99)).confusions.len(), 4);
}

#[test]
fn bytes_of_any_encoding_are_read() {
    let found =
        count(b"/* \xe4 */ int \xe4;\nvoid f(void) { spin_lock(\"\xff\"); }\n", Language::C);
    assert!(!found.is_utf8);
    assert_eq!((found.up, found.locks.spin, found.complexities.len()), (5, 1, 1));
    assert!(c("int a; // \u{e4}").is_utf8);
}

#[test]
fn assembly_is_lines_without_functions() {
    let text = b"f:\tret\n#ifdef CONFIG_SMP\n\tlock; incl x\n#endif\n";
    let found = count(text, Language::Assembly);
    assert_eq!((found.up, found.smp, found.complexities.len()), (1, 2, 0));
    assert_eq!(Language::of("a.S"), Some(Language::Assembly));
    assert_eq!(
        (Language::of("a.h"), Language::of("a.o"), Language::of("c")),
        (Some(Language::C), None, None)
    );
}

/// Words and signs of C.
const WORDS: &[&str] = &[
    "#if ",
    "#ifdef CONFIG_SMP\n",
    "#else\n",
    "#endif\n",
    "#define F ",
    "#define G(a, b) ",
    "F ",
    "G(",
    "(",
    ")",
    "{",
    "}",
    ";\n",
    ",",
    "?",
    ":",
    "&&",
    "if ",
    "else ",
    "do ",
    "while ",
    "case ",
    "guard(",
    "mutex)",
    "spin_lock(",
    "a ",
    "= ",
    "/* ",
    "*/",
    "\"",
    "'",
    "\\\n",
    "\n",
    "\u{e4}",
    "//",
    "#undef F\n",
];

/// Words and signs of C, in any order.
fn soup() -> impl Strategy<Value = String> {
    let words = proptest::sample::select(WORDS);
    proptest::collection::vec(words, 0..200).prop_map(|words| words.concat())
}

proptest::proptest! {
    #[test]
    fn soup_is_read_and_adds_up(text in soup()) {
        for language in [Language::C, Language::Assembly] {
            let mut places = Locks::default();
            let found = count_with(text.as_bytes(), language, &mut |place| places.add(place.kind, place.places));
            proptest::prop_assert_eq!(places, found.locks);
            // What does not differ is in both.
            proptest::prop_assert!(found.differing <= found.up + found.smp);
            proptest::prop_assert_eq!((found.up + found.smp - found.differing) % 2, 0);
            proptest::prop_assert_eq!(&found, &count(text.as_bytes(), language));
        }
    }
}
