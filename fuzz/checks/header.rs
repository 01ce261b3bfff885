//! Any text is read as a C header, and what is made of it for Java and C holds together.

use std::collections::{BTreeMap, BTreeSet};

/// Whether it declares a function.
pub fn check(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let header = trimtab_jar::read_header(&text, "lib.h");
    let names: BTreeSet<&str> = header.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names.len(), header.functions.len(), "a function is declared twice");
    let addresses: BTreeMap<String, u32> =
        names.iter().map(|name| ((*name).to_owned(), 0x40_1000)).collect();
    let class = trimtab_jar::export_class("org.example.Lib", &header.functions, &[], &addresses);
    let interface = trimtab_jar::import_interface("org.example.Host", &header.functions);
    for text in [&class, &interface] {
        // Comments hold what the header says, each on one line.
        let code = text.lines().filter(|line| !line.trim_start().starts_with("/**"));
        let braces: i64 = code
            .flat_map(str::chars)
            .map(|sign| i64::from(sign == '{') - i64::from(sign == '}'))
            .sum();
        assert_eq!(braces, 0, "{text}");
        assert!(!text.contains("*/ /"), "a comment ends early: {text}");
    }
    let stubs = trimtab_jar::stubs(&header.functions);
    for name in &names {
        assert!(stubs.contains(&format!(".globl {name}\\n")), "{name} leads nowhere");
    }
    !names.is_empty()
}
