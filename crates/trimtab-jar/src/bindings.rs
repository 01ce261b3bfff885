//! Sources that lead from Java to C functions, and from C to Java.

use crate::header::{CType, Parameter, Prototype};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where functions of Java's are: `trimtab.Java` knows it.
pub(crate) const FIRST: u32 = 0xf000_0000;
/// Numbers that the run time and `trimtab.h` have for themselves.
const RESERVED: u32 = 64;
/// Numbers for functions of headers; those above are given at run time.
const NUMBERS: u32 = 1 << 23;

/// The functions of `jar/c/trimtab.h`, by their numbers.
const BUILTIN: [(&str, u32); 5] = [
    ("java_release", 1),
    ("java_retain", 2),
    ("java_throw", 3),
    ("java_try", 4),
    ("java_message", 5),
];

/// Words that Java does not let methods have as names, or that those of `Library` have.
const TAKEN: &str = " abstract assert boolean break byte case catch char class const continue default do double else enum \
     extends final finally float for goto if implements import instanceof int interface long native new package private \
     protected public return short static strictfp super switch synchronized this throw throws transient try void \
     volatile while true false null _ memory handles alloc free string arena function release isClosed close call \
     callDouble callFloat register wait notify notifyAll getClass hashCode toString clone finalize equals functions ";

fn java_name(name: &str) -> String {
    if TAKEN.contains(&format!(" {name} ")) { format!("{name}_") } else { name.to_owned() }
}

/// Package and simple name of a class.
fn parts(class: &str) -> (String, &str) {
    match class.rsplit_once('.') {
        Some((package, name)) => (format!("package {package};\n\n"), name),
        None => (String::new(), class),
    }
}

fn java_type(ctype: CType) -> &'static str {
    match ctype {
        CType::Void => "void",
        CType::Int | CType::Pointer | CType::Text => "int",
        CType::Long => "long",
        CType::Float => "float",
        CType::Double => "double",
        CType::Object => "Object",
    }
}

/// What C calls it, for a comment of Java's.
fn comment(prototype: &Prototype) -> String {
    let clean: String =
        prototype.text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    let clean =
        clean.replace('&', "&amp;").replace('<', "&lt;").replace("*/", "* /").replace('@', "");
    format!("  /** <code>{clean}</code>. */\n")
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for parameter in parameters {
        let mut name = java_name(&parameter.name);
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// How arguments are passed by the rules of o32: the floating-point registers, and the words.
fn passed(parameters: &[Parameter], names: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut reals, mut words): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut leads = true;
    for (parameter, name) in parameters.iter().zip(names) {
        let wide = matches!(parameter.ctype, CType::Long | CType::Double);
        if wide && words.len() % 2 == 1 {
            words.push("0".to_owned());
        }
        leads &= matches!(parameter.ctype, CType::Float | CType::Double) && reals.len() < 2;
        match parameter.ctype {
            CType::Double if leads => {
                reals.push(name.clone());
                words.extend(["0".to_owned(), "0".to_owned()]);
            }
            CType::Float if leads => {
                reals.push(format!("register({name})"));
                words.push("0".to_owned());
            }
            CType::Double => {
                let bits = format!("Double.doubleToRawLongBits({name})");
                words.extend([format!("(int) {bits}"), format!("(int) ({bits} >> 32)")]);
            }
            CType::Float => words.push(format!("Float.floatToRawIntBits({name})")),
            CType::Long => words.extend([format!("(int) {name}"), format!("(int) ({name} >> 32)")]),
            _ => words.push(name.clone()),
        }
    }
    (reals, words)
}

/// The expression that calls a function.
fn call(prototype: &Prototype, address: u32, names: &[String]) -> String {
    let (mut reals, mut words) = passed(&prototype.parameters, names);
    let result = prototype.result;
    let is_real = matches!(result, CType::Float | CType::Double);
    let arguments = if is_real || !reals.is_empty() || words.len() > 4 {
        reals.resize(2, "0".to_owned());
        [reals, words].concat().join(", ")
    } else {
        words.resize(4, "0".to_owned());
        words.join(", ")
    };
    let method = match result {
        CType::Float => "callFloat",
        CType::Double => "callDouble",
        _ => "call",
    };
    let call = format!("{method}(0x{address:x}, {arguments})");
    match result {
        CType::Void => call,
        CType::Int | CType::Pointer | CType::Text => format!("return (int) {call}"),
        CType::Object => format!("return handles().get((int) {call})"),
        _ => format!("return {call}"),
    }
}

/// A method that takes addresses, and one that takes strings where the function has any.
fn methods(text: &mut String, prototype: &Prototype, address: u32) {
    let names = names(&prototype.parameters);
    let name = java_name(&prototype.name);
    let result = java_type(prototype.result);
    let list = |strings: bool| -> String {
        let one = |(parameter, name): (&Parameter, &String)| match parameter.ctype {
            CType::Text if strings => format!("String {name}"),
            ctype => format!("{} {name}", java_type(ctype)),
        };
        prototype.parameters.iter().zip(&names).map(one).collect::<Vec<_>>().join(", ")
    };
    let is = |ctype| move |pair: &(&Parameter, &String)| pair.0.ctype == ctype;
    let all = || prototype.parameters.iter().zip(&names);
    let objects: Vec<&String> = all().filter(is(CType::Object)).map(|(_, name)| name).collect();
    let texts: Vec<&String> = all().filter(is(CType::Text)).map(|(_, name)| name).collect();
    text.push_str(&comment(prototype));
    let _ = writeln!(text, "  public {result} {name}({}) {{", list(false));
    let handle = |name: &String| {
        if objects.contains(&name) { format!("{name}Handle") } else { name.clone() }
    };
    let passed: Vec<String> = names.iter().map(handle).collect();
    let body = call(prototype, address, &passed);
    guarded(text, &objects, "Handle", "handles().put", "handles().release", &body);
    if !texts.is_empty() {
        text.push_str(&comment(prototype));
        let _ = writeln!(text, "  public {result} {name}({}) {{", list(true));
        let copied = |name: &String| {
            if texts.contains(&name) { format!("{name}Copy") } else { name.clone() }
        };
        let arguments: Vec<String> = names.iter().map(copied).collect();
        let returns = if prototype.result == CType::Void { "" } else { "return " };
        let body = format!("{returns}{name}({})", arguments.join(", "));
        guarded(text, &texts, "Copy", "string", "free", &body);
    }
}

/// The body of a method that makes something of each of `names`, and gives it back at its end.
fn guarded(text: &mut String, names: &[&String], suffix: &str, make: &str, drop: &str, body: &str) {
    let mut indent = "    ".to_owned();
    for name in names {
        let _ = writeln!(text, "{indent}int {name}{suffix} = {make}({name});\n{indent}try {{");
        indent.push_str("  ");
    }
    let _ = writeln!(text, "{indent}{body};");
    for name in names.iter().rev() {
        indent.truncate(indent.len() - 2);
        let _ =
            writeln!(text, "{indent}}} finally {{\n{indent}  {drop}({name}{suffix});\n{indent}}}");
    }
    text.push_str("  }\n\n");
}

/// The class whose methods are functions of the program: those of `prototypes`, and `untyped` ones, which take words and give
/// back one. `addresses` has all of them, and `malloc` and `free`.
pub fn export_class(
    class: &str,
    prototypes: &[Prototype],
    untyped: &[String],
    addresses: &BTreeMap<String, u32>,
) -> String {
    let (package, name) = parts(class);
    let of = |function: &str| addresses.get(function).copied().unwrap_or_default();
    let mut text = format!(
        "// Made by trimtab jar.\n{package}import trimtab.embed.Library;\nimport trimtab.embed.Program;\n\
         import trimtab.embed.Settings;\n\n/** An instance of the library: its functions. */\n\
         public final class {name} extends Library {{\n  private static final Program PROGRAM = Program.of({name}.class);\n\n\
         \x20 /** With the default settings. */\n  public {name}() {{\n    this(new Settings());\n  }}\n\n\
         \x20 /** With these. */\n  public {name}(Settings settings) {{\n    \
         super(PROGRAM, settings, 0x{:x}, 0x{:x});\n  }}\n\n",
        of("malloc"),
        of("free"),
    );
    for prototype in prototypes {
        methods(&mut text, prototype, of(&prototype.name));
    }
    for function in untyped {
        let _ = writeln!(
            text,
            "  /** <code>{function}</code>, of which no header is known: arguments and result are words. */\n  \
             public int {}(int... words) {{\n    return (int) call(0x{:x}, 0, 0, words);\n  }}\n",
            java_name(function),
            of(function)
        );
    }
    text.push_str("}\n");
    text
}

/// The addresses of functions that Java has for C: by what C calls them, so that a program that was compiled with another
/// header finds none.
fn import_addresses(prototypes: &[Prototype]) -> BTreeMap<&str, u32> {
    let mut numbers: BTreeMap<u32, &str> = BTreeMap::new();
    let sorted: BTreeMap<&str, &Prototype> =
        prototypes.iter().map(|prototype| (prototype.name.as_str(), prototype)).collect();
    for (name, prototype) in sorted {
        // FNV-1a, 32 bits.
        let hash = prototype
            .text
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let mut number = RESERVED + hash % (NUMBERS - RESERVED);
        while numbers.contains_key(&number) {
            number = RESERVED + (number - RESERVED + 1) % (NUMBERS - RESERVED);
        }
        numbers.insert(number, name);
    }
    numbers.into_iter().map(|(number, name)| (name, FIRST + 4 * number)).collect()
}

/// The interface that Java implements for the program.
pub fn import_interface(interface: &str, prototypes: &[Prototype]) -> String {
    let (package, name) = parts(interface);
    let addresses = import_addresses(prototypes);
    let mut text = format!(
        "// Made by trimtab jar.\n{package}import java.util.HashMap;\nimport java.util.Map;\n\
         import trimtab.embed.Callback;\n\n/** What the program calls in Java. */\npublic interface {name} {{\n"
    );
    for prototype in prototypes {
        let names = names(&prototype.parameters);
        let one = |(parameter, name): (&Parameter, &String)| match parameter.ctype {
            CType::Text => format!("String {name}"),
            ctype => format!("{} {name}", java_type(ctype)),
        };
        let list: Vec<String> = prototype.parameters.iter().zip(&names).map(one).collect();
        text.push_str(&comment(prototype));
        let result = java_type(prototype.result);
        let _ = writeln!(text, "  {result} {}({});\n", java_name(&prototype.name), list.join(", "));
    }
    let _ = writeln!(
        text,
        "  /** These functions for {{@link trimtab.embed.Settings#functions}}. */\n  \
         static Map<Integer, Callback> functions({name} java) {{\n    Map<Integer, Callback> all = new HashMap<>();"
    );
    for prototype in prototypes {
        let read = |parameter: &Parameter| match parameter.ctype {
            CType::Long => "c.longInteger()",
            CType::Float => "c.single()",
            CType::Double => "c.real()",
            CType::Text => "c.string()",
            CType::Object => "c.object()",
            _ => "c.integer()",
        };
        let list: Vec<&str> = prototype.parameters.iter().map(read).collect();
        let call = format!("java.{}({})", java_name(&prototype.name), list.join(", "));
        let body = match prototype.result {
            CType::Void => format!("{{\n      {call};\n      return 0;\n    }}"),
            CType::Float | CType::Double | CType::Object => format!("c.result({call})"),
            _ => call,
        };
        let address = addresses.get(prototype.name.as_str()).copied().unwrap_or_default();
        let _ = writeln!(text, "    all.put(0x{address:x}, c -> {body});");
    }
    text.push_str("    return all;\n  }\n}\n");
    text
}

/// C source with the functions that lead to Java.
pub fn stubs(prototypes: &[Prototype]) -> String {
    let mut text = String::from(
        "/* Made by trimtab jar: functions that lead to Java. Compile it with the program. */\n\n",
    );
    let builtin = BUILTIN.into_iter().map(|(name, number)| (name, FIRST + 4 * number));
    for (name, address) in builtin.chain(import_addresses(prototypes)) {
        let _ = writeln!(
            text,
            "__asm__(\".text\\n.align 2\\n.globl {name}\\n.ent {name}\\n.type {name}, @function\\n{name}:\\n.set noreorder\\n\"\n        \
             \"lui $25, 0x{:x}\\nori $25, $25, 0x{:x}\\njr $25\\nnop\\n.set reorder\\n.end {name}\\n.size {name}, .-{name}\\n\");",
            address >> 16,
            address & 0xffff,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::read_header;

    #[test]
    fn arguments_go_where_o32_has_them() {
        let text = "double f(double a, float b, int c, double d);\nlong long g(int a, long long b, int c);\n\
                    float h(float a, float b);\nint i(int a, double b);\nvoid j(java_object class, const char *free);\n";
        let functions = read_header(text, "").functions;
        let name = |index: usize| names(&functions[index].parameters);
        let call = |index: usize| call(&functions[index], 0x40_0000, &name(index));
        let bits = |of: &str| {
            let bits = format!("Double.doubleToRawLongBits({of})");
            format!("(int) {bits}, (int) ({bits} >> 32)")
        };
        // The words of what registers hold are left out; a double begins at an even one.
        assert_eq!(
            call(0),
            format!("return callDouble(0x400000, a, register(b), 0, 0, 0, c, {})", bits("d"))
        );
        assert_eq!(call(1), "return call(0x400000, 0, 0, a, 0, (int) b, (int) (b >> 32), c)");
        assert_eq!(call(2), "return callFloat(0x400000, register(a), register(b), 0, 0)");
        assert_eq!(call(3), format!("return (int) call(0x400000, a, 0, {})", bits("b")));
        assert_eq!(call(4), "call(0x400000, class_, free_, 0, 0)");
        let addresses = import_addresses(&functions);
        assert!(addresses.values().all(|at| (FIRST + 256..FIRST + (1 << 25)).contains(at)));
        assert_eq!(addresses.len(), 5);
    }
}
