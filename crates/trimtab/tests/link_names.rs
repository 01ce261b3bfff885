//! Orders whose names are unusual, shared or versioned: real linkers follow them, and what they cannot be
//! read is said.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::fs;

use app::Bench;
use serde_json::Value;

/// Names that assemblers take, of functions of UTF-8 C, Zig, Crystal, Swift, OCaml and others.
const NAMES: [&str; 22] = [
    "größe",
    "日本",
    "a,b",
    "f(int)",
    "two words",
    "a#b",
    "a[b",
    "a]b",
    "a*b",
    "a?b",
    "a;b",
    "a{b",
    "a|b",
    "a&b",
    "a<b",
    "a>b",
    "a=b",
    "a~b",
    "a'b",
    "a:b",
    "a$b",
    "plain",
];

/// An assembly source with these functions, and one between each two that does not run.
fn assembly(names: &[&str]) -> String {
    let mut text = String::from(
        ".section .text._start,\"ax\"\n.globl _start\n.type _start,@function\n_start: ret\n.size _start,1\n",
    );
    for (index, name) in names.iter().enumerate() {
        for name in [format!("cold_{index}"), (*name).to_owned()] {
            text += &format!(
                ".section \".text.{name}\",\"ax\",@progbits\n.globl \"{name}\"\n\
                 .type \"{name}\",@function\n\"{name}\": .fill 64,1,0x90\n.size \"{name}\",64\n"
            );
        }
    }
    text
}

fn json(bench: &Bench, arguments: &[&str]) -> Value {
    let (code, output, error) = bench.trimtab(&[arguments, &["--json", "-"]].concat());
    assert_eq!(code, 0, "{arguments:?}: {error}");
    serde_json::from_str(&output).unwrap()
}

#[test]
fn what_a_linker_takes_is_written_and_what_it_cannot_take_is_left_out() {
    let bench = Bench::new();
    fs::write(bench.file("a.s"), assembly(&NAMES)).unwrap();
    bench.sh("gcc -c a.s");
    // In an order of its own, so that placing it is something. A list of names holds no blanks.
    let mut ran: Vec<&str> = NAMES.into_iter().rev().collect();
    ran.retain(|name| *name != "two words" && *name != "a#b");
    fs::write(bench.file("start.trace"), ran.join("\n")).unwrap();
    let head = "sed -n '/SECTIONS/,$p'";
    for (linker, left_out, link) in [
        ("lld", &[][..], "ld.lld a.o -o after --symbol-ordering-file=out.order".to_owned()),
        (
            "gold",
            &["a?b", "a*b", "a[b"],
            "ld.gold a.o -o after --section-ordering-file=out.order".to_owned(),
        ),
        (
            "gnu",
            &["a?b", "a*b", "a[b"],
            format!(
                "sed '/^\\/\\*/d; /{{$/d; /^}}$/d' out.order > lines; \
                 (echo 'SECTIONS {{ .text : {{'; cat lines; echo '*(.text .text.*) }} }}') > a.lds; \
                 {head} a.lds > b.lds; ld.bfd a.o -o after -T b.lds"
            ),
        ),
    ] {
        let before = if linker == "gnu" { "bfd" } else { linker };
        bench.sh(&format!("ld.{before} a.o -o before -Map=before.map"));
        let arguments =
            ["order", "before", "--trace", "start.trace", "--linker", linker, "-o", "out.order"];
        let with_map = [&arguments[..], &["--map", "before.map"]].concat();
        let (code, output, error) = bench.trimtab(&with_map);
        assert_eq!(code, 0, "{linker}: {error}");
        let summary = json(&bench, &with_map);
        let said: Vec<&str> = summary["unwritable"]
            .as_array()
            .map(|all| all.iter().map(|name| name.as_str().unwrap()).collect())
            .unwrap_or_default();
        let mut expected = left_out.to_vec();
        expected.sort_unstable_by_key(|name| ran.iter().position(|other| other == name));
        assert_eq!(said, expected, "{linker}");
        assert_eq!(output.contains("cannot read, left out: "), !left_out.is_empty(), "{output}");
        assert_eq!(summary["lines"], ran.len() as u64 - left_out.len() as u64, "{linker}");
        assert_eq!(summary["functions"], summary["lines"], "{linker}");
        // The linker warns of nothing, and every line is placed.
        let (_, warnings) = bench.sh(&link);
        assert!(!warnings.contains("warning"), "{linker}: {warnings}");
        let check = json(&bench, &["check", "after", "--order", "out.order", "--before", "before"]);
        assert_eq!(check["order"]["placed"], summary["lines"], "{linker}: {check}");
    }
}

/// Pages of the start, as the order promises and as the linked program has them.
fn promised_and_kept(bench: &Bench, order: &[&str], link: &str, section: &[&str]) -> (u64, u64) {
    let summary = json(bench, order);
    bench.sh(link);
    let pages = json(bench, &[&["pages", "after", "--trace", "start.trace"], section].concat());
    let promised = summary["traces"][0]["touched_after"].as_u64().unwrap();
    (promised, pages["touched"].as_u64().unwrap())
}

#[test]
fn a_namesake_that_never_ran_is_foreseen() {
    let bench = Bench::new();
    let small: String = (0..30)
        .map(|i| format!("__attribute__((noinline)) int a{i:02}(int x) {{ volatile int v = x; return v * {i}; }}\n"))
        .collect();
    let calls: String = (0..30).map(|i| format!("s += a{i:02}(c);")).collect();
    let one =
        "static __attribute__((noinline)) int setup(int x) { volatile int v = x; return v + 1; }\n";
    let many: String = (0..900).map(|i| format!("v = v * {} + {i};\n", i + 3)).collect();
    fs::write(
        bench.file("a.c"),
        format!("{one}{small}int other(int);\nint main(int c, char **v) {{ int s = setup(c); {calls} if (c > 9) s += other(c); return s == 0; }}\n"),
    )
    .unwrap();
    fs::write(
        bench.file("b.c"),
        format!("static __attribute__((noinline)) int setup(int x) {{ volatile int v = x; {many} return v; }}\nint other(int x) {{ return setup(x); }}\n"),
    )
    .unwrap();
    bench.sh("gcc -O1 -ffunction-sections -c a.c b.c");
    for (linker, option) in [("lld", "--symbol-ordering-file"), ("gold", "--section-ordering-file")]
    {
        bench
            .sh(&format!("gcc -no-pie -Btools/ -fuse-ld={linker} -Wl,-Map=app.map -o app a.o b.o"));
        // The `setup` of a.c is the shorter one: its address tells them apart, as perf's do.
        let (symbols, _) = bench.sh("nm --defined-only -n app");
        let starts: Vec<(&str, &str)> = symbols
            .lines()
            .filter_map(|line| Some((line.split(' ').next()?, line.split(' ').nth(2)?)))
            .filter(|(_, name)| {
                *name == "main" || *name == "setup" || (name.len() == 3 && name.starts_with('a'))
            })
            .collect();
        let first_setup = starts.iter().find(|(_, name)| *name == "setup").unwrap().0;
        let trace: String = starts
            .iter()
            .filter(|(address, name)| *name != "setup" || *address == first_setup)
            .map(|(address, _)| format!("0x{address}\n"))
            .collect();
        fs::write(bench.file("start.trace"), trace).unwrap();
        let order = [
            "order",
            "app",
            "--trace",
            "start.trace",
            "--map",
            "app.map",
            "--linker",
            linker,
            "-o",
            "app.order",
        ];
        let (_, output, _) = bench.trimtab(&order);
        assert!(
            output.split_whitespace().collect::<Vec<_>>().join(" ").contains("come along, as")
                && output.contains("setup"),
            "{output}"
        );
        let summary = json(&bench, &order);
        assert_eq!(summary["namesakes"][0]["name"], "setup", "{summary}");
        assert!(summary["namesakes"][0]["bytes"].as_u64().unwrap() > 4096, "{summary}");
        let link = format!(
            "gcc -no-pie -Btools/ -fuse-ld={linker} -Wl,{option}=app.order -o after a.o b.o"
        );
        // Names: in the linked program addresses are others.
        let by_name: String = starts.iter().map(|(_, name)| format!("{name}\n")).collect();
        let summary_before = summary["traces"][0]["touched_after"].as_u64().unwrap();
        bench.sh(&link);
        let (symbols, _) = bench.sh("nm --defined-only -n -S after");
        let page = |address: u64| address / 4096;
        let mut touched: Vec<u64> = symbols
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let [start, size, _, name] = words[..] else { return None };
                let number = |text| u64::from_str_radix(text, 16).unwrap();
                let ran = by_name.lines().any(|ran| ran == name)
                    && (name != "setup" || number(size) < 4096);
                ran.then(|| (page(number(start)), page(number(start) + number(size) - 1)))
            })
            .flat_map(|(first, last)| first..=last)
            .collect();
        touched.sort_unstable();
        touched.dedup();
        assert_eq!(summary_before, touched.len() as u64, "{linker}: {symbols}");
    }
}

#[test]
fn a_symbol_with_a_version_is_written_as_the_linker_knows_it() {
    let bench = Bench::new();
    fs::write(
        bench.file("lib.c"),
        "int api_v1(int x){ return x+1; } int api_v2(int x){ return x+2; }\n\
         static __attribute__((noinline)) int in(int x){ volatile int v=x; return v; }\n\
         int other(int x){ return in(x); }\n\
         __asm__(\".symver api_v1,api@V1\"); __asm__(\".symver api_v2,api@@V2\");\n",
    )
    .unwrap();
    fs::write(
        bench.file("lib.map"),
        "V1 { global: api; other; f_*; local: *; };\nV2 { global: api; } V1;\n",
    )
    .unwrap();
    bench.sh("gcc -O1 -fPIC -ffunction-sections -c lib.c");
    let link = "gcc -shared -Btools/ -fuse-ld=lld -Wl,--version-script=lib.map";
    // lld leaves the versions out of the table of symbols, others write them there.
    for (name, linker) in [
        ("api@@V2", "lld"),
        ("api_v2", "lld"),
        ("api@@V2", "bfd"),
        ("api_v2", "bfd"),
        ("api@@V2", "gold"),
    ] {
        bench.sh(&format!("{} -o before lib.o", link.replace("=lld", &format!("={linker}"))));
        fs::write(bench.file("start.trace"), format!("in\n{name}\nother\n")).unwrap();
        let order = ["order", "before", "--trace", "start.trace", "-o", "out.order"];
        let (code, _, error) = bench.trimtab(&order);
        assert_eq!(code, 0, "{linker} {name}: {error}");
        let text = fs::read_to_string(bench.file("out.order")).unwrap();
        assert!(!text.contains('@') && text.contains("\napi_v2\n"), "{linker} {name}: {text}");
        let (_, warnings) =
            bench.sh(&format!("{link} -Wl,--symbol-ordering-file=out.order -o after lib.o"));
        assert!(!warnings.contains("warning"), "{warnings}");
        let check = json(&bench, &["check", "after", "--order", "out.order", "--before", "before"]);
        let lines = text.lines().count() as u64 - 1;
        assert_eq!(check["order"]["placed"], lines, "{linker} {name}: {text}{check}");
    }
}

#[test]
fn functions_in_sections_of_likely_and_unlikely_code_are_ordered_as_well() {
    let bench = Bench::new();
    fs::write(
        bench.file("a.c"),
        "#define KEEP __attribute__((noinline))\n\
         KEEP __attribute__((hot)) int h1(int x){ volatile int v=x; return v+1; }\n\
         KEEP __attribute__((hot)) int h2(int x){ volatile int v=x; return v+2; }\n\
         KEEP __attribute__((cold)) int c1(int x){ volatile int v=x; return v+3; }\n\
         KEEP __attribute__((cold)) int c2(int x){ volatile int v=x; return v+4; }\n\
         KEEP int f1(int x){ volatile int v=x; return v+5; }\n\
         KEEP int f2(int x){ volatile int v=x; return v+6; }\n\
         int main(int c, char **v){ (void)v; return h2(c)+h1(c)+c2(c)+c1(c)+f2(c)+f1(c) == 0; }\n",
    )
    .unwrap();
    fs::write(bench.file("start.trace"), "main\nh2\nh1\nc2\nc1\nf2\nf1\n").unwrap();
    bench.sh("gcc -O2 -ffunction-sections -c a.c");
    let link = "gcc -no-pie -Btools/ -fuse-ld=lld -Wl,-z,keep-text-section-prefix";
    bench.sh(&format!("{link} -Wl,-Map=before.map -o before a.o"));
    let order = ["order", "before", "--trace", "start.trace", "-o", "out.order"];
    assert_eq!(json(&bench, &order)["lines"], 7);
    let (promised, _) = promised_and_kept(
        &bench,
        &order,
        &format!("{link} -Wl,--symbol-ordering-file=out.order -o after a.o"),
        &[],
    );
    let (symbols, _) = bench.sh("nm -n --defined-only after | grep -E ' [hcf][12]$'");
    let names: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    for (second, first) in [("h1", "h2"), ("c1", "c2"), ("f1", "f2")] {
        let at = |name| names.iter().position(|other| *other == name).unwrap();
        assert!(at(first) < at(second), "{names:?}");
    }
    assert_eq!(promised, json(&bench, &order)["traces"][0]["touched_before"].as_u64().unwrap());
    // A piece of linker script is for one section: what is elsewhere is said.
    let (code, output, _) = bench.trimtab(&[
        "order",
        "before",
        "--trace",
        "start.trace",
        "--linker",
        "gnu",
        "--map",
        "before.map",
        "-o",
        "gnu.order",
    ]);
    assert_eq!(code, 0);
    for section in [".text.hot", ".text.unlikely"] {
        assert!(output.contains(&format!("ran in {section}")), "{output}");
    }
}
