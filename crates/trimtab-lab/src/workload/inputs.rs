//! What programs work on, made the same each time.

use super::Input;

/// The text of an input.
pub(crate) fn make(input: Input) -> String {
    match input {
        Input::Words(bytes) => words(bytes),
        Input::Functions(count) => functions(count),
    }
}

/// Something to compress: words in an order that a simple generator makes, the same each time.
fn words(bytes: usize) -> String {
    const WORDS: [&str; 8] =
        ["order", "page", "trace ", "function\n", "kernel, ", "the ", "of ", "linker "];
    let mut state = 1_u32;
    let mut text = String::new();
    while text.len() < bytes {
        // The generator of the C standard's example of `rand`.
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        text.push_str(WORDS[(state >> 16) as usize % WORDS.len()]);
        text.push_str(&(state >> 24).to_string());
    }
    text
}

/// Something to compile: functions in C with structures, loops, switches and calls.
fn functions(count: usize) -> String {
    let mut text = String::from("struct part { int size; long at[4]; struct part *next; };\n");
    for number in 0..count {
        let (a, b) = (number % 7 + 1, number * 31 % 97);
        let callee = number.saturating_sub(a);
        text += &format!(
            "static long step_{number}(struct part *part, int count)\n{{\n\tlong sum = {b};\n\
             \tfor (int i = 0; i < count; i++) {{\n\t\tpart->at[i & 3] += sum * {a} - i;\n\
             \t\tswitch ((sum >> {a}) & 3) {{\n\t\tcase 0: sum += part->size; break;\n\
             \t\tcase 1: sum ^= {b} << i; break;\n\t\tdefault: sum -= part->at[1];\n\t\t}}\n\
             \t}}\n\tif (part->next && count > {a})\n\
             \t\treturn step_{callee}(part->next, count - {a}) + (sum ? sum % {a}0 : 1);\n\
             \treturn (int)sum;\n}}\n"
        );
    }
    text
}
