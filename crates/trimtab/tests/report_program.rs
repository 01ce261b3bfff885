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

/// The first line, which may be broken into several.
fn first_sentence(fit: &FitProgram) -> String {
    let text = fit.terminal(80).split_whitespace().collect::<Vec<_>>().join(" ");
    text.split_once(". ").unwrap().0.to_owned()
}

#[test]
fn the_first_line_says_what_a_start_costs_before_and_after() {
    let line = first_sentence(&fit());
    let expected = "A gain: a cold start has 20 → 1 major faults, brings 1.2 MiB → 528.0 KiB of it into \
                    memory and takes 19 ms → 22 ms (not told apart); a warm start has 117.1 → 102.5 \
                    minor faults and takes";
    assert!(line.starts_with(expected), "{line}");
}

#[test]
fn a_layout_that_gains_nothing_says_so_first() {
    let mut fit = fit();
    fit.layout.touched.before = 9;
    fit.layout.touched.after = 4;
    fit.faults.major = BeforeAfter::new(1.0, 1.0);
    fit.resident_file_kib = BeforeAfter::new(272.0, 256.0);
    let line = first_sentence(&fit);
    let expected = "No gain to expect: a cold start has 1 → 1 major faults, brings 272.0 KiB → 256.0 KiB \
                    of it into memory";
    assert!(line.starts_with(expected), "{line}");
    assert!(fit.page().contains("No gain to expect: "));

    // Without starts there is nothing else to say than what was traced.
    fit.faults.runs = 0;
    let line = first_sentence(&fit);
    assert_eq!(line, "A start touches 9 → 4 pages of code; starts were not measured (--runs 0)");
    fit.layout.touched.after = 9;
    assert!(first_sentence(&fit).starts_with("No gain to expect: a start touches 9 → 9 pages"));
}

/// The words of `text` that are a change, behind `label`.
fn change_after<'a>(text: &'a str, label: &str) -> &'a str {
    let rest = text.split_once(label).unwrap_or_else(|| panic!("{label}: {text}")).1;
    let at = rest.find(['+', '−']).unwrap();
    rest[at..].split_once(" %").unwrap().0
}

#[test]
fn head_table_and_verdict_show_one_change_of_one_time() {
    let mut fit = fit();
    // One start was held up: the means as people are used to them, and the ratios of pairs, disagree.
    let mut before = vec![0.0100; 9];
    before.push(0.0900);
    let after: Vec<f64> = before.iter().map(|seconds| seconds * 0.98).rev().collect();
    let ratio = trimtab_stats::paired_ratio(&before, &after).unwrap();
    fit.time_ratio = Some(ratio);
    let means = [&before, &after].map(|side| trimtab_stats::measured(side).unwrap());
    let [mean_before, mean_after] = means;
    fit.time.as_mut().unwrap().cold = BeforeAfter::new(mean_before, mean_after);
    let text = fit.terminal(132);
    let tile = text.lines().find(|line| line.contains("time of a cold start")).unwrap();
    let tile = change_after(tile, "");
    let row = text.lines().find(|line| line.trim_start().starts_with("time (cold)")).unwrap();
    assert_eq!((tile, change_after(row, "time (cold)")), ("−2.0", "−2.0"), "{text}");
    let stated = format!("from pairs: {}", trimtab_report::number::ratio(ratio.mean));
    assert!(text.contains(&stated) && stated.ends_with("0.9800"), "{stated}: {text}");
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
