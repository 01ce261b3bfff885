//! The renderings of a fitted program, from the result of a real fit of the SQLite shell with BOLT's
//! and lld's versions beside it (`bench/programs sqlite`).

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use trimtab_fit::report::FitProgram;
use trimtab_fit::report::{BlockOrder, Granularity, ObjectLayout};
use trimtab_report::Report;
use trimtab_report::common::{BeforeAfter, Check};

fn fit() -> FitProgram {
    FitProgram::from_json(include_str!("report/sample/fit-program.json")).unwrap()
}

#[test]
fn it_reads_back() {
    assert_eq!(FitProgram::from_json(&fit().to_json()).unwrap(), fit());
    let empty = FitProgram::default();
    assert_eq!(FitProgram::from_json(&empty.to_json()).unwrap(), empty);
    assert!(empty.page().ends_with("</html>"));
    assert!(!empty.terminal(80).contains("NaN"));
}

#[test]
fn the_table_says_all_and_keeps_its_width() {
    for width in [80, 100, 132] {
        let text = fit().terminal(width);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.into(), "{widest} > {width}:\n{text}");
        for part in
            ["What a start costs", "Beside it", "bolt-hfsort", "lld-bp", "3 hold", "To keep it"]
        {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }
}

#[test]
fn what_does_not_hold_is_seen_everywhere() {
    let mut fit = fit();
    fit.checks.push(Check::new("the moon is round", false, "it is <flat>"));
    assert!(fit.terminal(80).contains("the moon is round"));
    let page = fit.page();
    assert!(page.contains("Not everything holds.") && !page.contains("<flat>"));
}

#[test]
fn jumps_and_the_order_of_blocks_are_shown_where_they_are_known() {
    let mut fit = fit();
    fit.granularity = Granularity::Block;
    assert!(!fit.terminal(80).contains("ext-tsp"));
    fit.split.block_order = BlockOrder::ExtTsp;
    fit.jumps_taken = Some(BeforeAfter::new(31_824, 19_885));
    let text = fit.terminal(80);
    assert!(text.contains("jumps taken") && text.contains("19,885"), "{text}");
    assert!(text.contains("(ext-tsp)"), "{text}");
    assert!(fit.page().contains("jumps taken"));
    let json = fit.to_json();
    assert!(json.contains("\"block_order\": \"ext-tsp\""), "{json}");
}

#[test]
fn libraries_are_shown() {
    let mut fit = fit();
    fit.libraries.push(ObjectLayout { file: "libmore.so".to_owned(), ..fit.layout.clone() });
    assert!(fit.terminal(80).contains("libmore.so"));
    assert!(fit.page().contains("libmore.so"));
}

#[test]
fn numbers_of_the_page_are_those_of_the_json() {
    let page = fit().page();
    let json: Value = serde_json::from_str(&fit().to_json()).unwrap();
    let mut seen = 0;
    for part in page.split("<data value=\"").skip(1) {
        let (value, rest) = part.split_once('"').unwrap();
        let key = rest.split("data-key=\"").nth(1).unwrap().split('"').next().unwrap();
        if key.contains(['/', '-']) {
            continue;
        }
        let found = json.pointer(&format!("/{}", key.replace('.', "/")));
        let found = found.and_then(Value::as_f64).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(value.parse::<f64>().unwrap(), found, "{key}");
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let page = fit().page();
    for foreign in ["http://", "https://", "src=", "@import", "<link"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}
