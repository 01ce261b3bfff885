//! The renderings of made-up results: what they show, and that they read back.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "report/sample/mod.rs"]
mod sample;

use std::fs;
use std::path::Path;
use trimtab::verbs::doctor::model::DoctorReport;
use trimtab_bench::report::ProbeBench;
use trimtab_fit::report::{CheckReport, FitKernel, PagesReport};
use trimtab_report::{Report, ReportError};

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn every_result_reads_back_from_its_json() {
    let fit = sample::fit_kernel(2048);
    assert_eq!(FitKernel::from_json(&fit.to_json()).unwrap(), fit);
    let pages = sample::pages(2048);
    assert_eq!(PagesReport::from_json(&pages.to_json()).unwrap(), pages);
    let check = sample::check();
    assert_eq!(CheckReport::from_json(&check.to_json()).unwrap(), check);
    let doctor = sample::doctor();
    assert_eq!(DoctorReport::from_json(&doctor.to_json()).unwrap(), doctor);
    let bench = sample::probe_bench();
    assert_eq!(ProbeBench::from_json(&bench.to_json()).unwrap(), bench);
    for text in [fit.to_json(), pages.to_json(), check.to_json(), doctor.to_json(), bench.to_json()]
    {
        assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
    }
}

#[test]
fn an_empty_result_reads_back_and_renders() {
    let fit = FitKernel::default();
    assert_eq!(FitKernel::from_json(&fit.to_json()).unwrap(), fit);
    assert!(fit.terminal(80).contains('–'));
    assert!(fit.page().ends_with("</html>"));
    let pages = PagesReport::default();
    assert!(!pages.terminal(80).contains("NaN"));
    assert!(pages.page().ends_with("</html>"));
    let bench = ProbeBench::default();
    assert!(!bench.terminal(80).contains("NaN"));
    assert!(bench.page().ends_with("</html>"));
}

#[test]
fn the_keys_that_are_promised_are_there() {
    let json: serde_json::Value =
        serde_json::from_str(&sample::fit_kernel(2048).to_json()).unwrap();
    assert_eq!(json["schema"], "trimtab.fit.kernel/1");
    let promised = "kernel.version kernel.arch config text.pages_spanned.before \
        text.pages_spanned.after touched.before touched.after touched.shuffled \
        minimum.function_pages minimum.executed_pages held_out.0.name held_out.0.touched_before \
        held_out.0.touched_after held_out.0.minimum_function_pages functions.total \
        functions.executed coverage.names coverage.bytes curve_area.before curve_area.after \
        image.vmlinux_bytes.before image.vmlinux_bytes.after image.compressed_bytes.before \
        image.compressed_bytes.after boot.instructions.before boot.instructions.after \
        order.placed order.unknown order.duplicate order.discarded order.pinned \
        artifacts.vmlinux_before artifacts.vmlinux_after artifacts.image_before \
        artifacts.image_after artifacts.guest artifacts.order_file artifacts.trace \
        artifacts.html excess.alignment excess.pinned_sections excess.sharing excess.other \
        seconds.total seconds.build seconds.trace seconds.layout seconds.relink \
        granularity split.functions split.cold_bytes split.block_order \
        tracer seed page_size text.bytes.before boot.wall_seconds.after.samples \
        boot.wall_ratio.low boot.virtual_seconds.before boot.booted.attempted \
        held_out.0.ratio held_out.0.booted.succeeded page_map.before curve.step curve.after \
        sections.0.executed_bytes ftrace.invisible.before_start repeat.command \
        repeat.tool_versions repeat.inputs repeat.seed checks.0.ok targets.0.met";
    for path in promised.split_whitespace() {
        let pointer = format!("/{}", path.replace('.', "/"));
        assert!(json.pointer(&pointer).is_some_and(|value| !value.is_null()), "{path}");
    }
}

#[test]
fn the_keys_that_are_promised_of_instrumented_programs_are_there() {
    let json: serde_json::Value = serde_json::from_str(&sample::probe_bench().to_json()).unwrap();
    assert_eq!(json["schema"], "trimtab.probe.bench/1");
    let promised = "time_ratio.mean time_ratio.low time_ratio.high instruction_ratio events \
        ns_per_event branch_miss_ratio l1i_miss_ratio l1d_miss_ratio text_bytes text_ratio \
        loaded_bytes loaded_ratio stubs bytes_per_stub tool hook functions runs seconds";
    for path in promised.split_whitespace() {
        let pointer = format!("/programs/1/tools/0/{}", path.replace('.', "/"));
        assert!(json.pointer(&pointer).is_some_and(|value| !value.is_null()), "{path}");
    }
    // What older versions wrote has fewer keys.
    let mut old = json;
    for key in ["text_bytes", "loaded_bytes"] {
        old["programs"][0].as_object_mut().unwrap().remove(key);
    }
    for key in ["text_bytes", "text_ratio", "stubs", "bytes_per_stub"] {
        old["programs"][0]["tools"][0].as_object_mut().unwrap().remove(key);
    }
    old["rewriting"].as_object_mut().unwrap().remove("written");
    assert!(ProbeBench::from_json(&old.to_string()).is_ok());
}

#[test]
fn foreign_text_is_refused_with_a_sentence() {
    let not = FitKernel::from_json("ELF").unwrap_err();
    assert!(matches!(not, ReportError::NotResult { .. }), "{not}");
    let other = FitKernel::from_json(&sample::pages(200).to_json()).unwrap_err().to_string();
    assert!(other.contains("trimtab.pages/1") && other.contains("trimtab.fit.kernel/1"), "{other}");
    let damaged = sample::fit_kernel(200).to_json().replace("\"config\"", "\"konfig\"");
    let damaged = FitKernel::from_json(&damaged).unwrap_err().to_string();
    assert!(damaged.contains("config"), "{damaged}");
    let later = sample::fit_kernel(200).to_json().replacen('{', "{\"new_key\": 1,", 1);
    assert_eq!(FitKernel::from_json(&later).unwrap(), sample::fit_kernel(200));
}

#[test]
fn tables_fit_into_their_width_and_have_no_colour() {
    for width in [80, 100, 132] {
        for text in [
            sample::fit_kernel(2048).terminal(width),
            sample::fit_kernel(6000).terminal(width),
            sample::fit_kernel_by_blocks(2048).terminal(width),
            sample::pages(2048).terminal(width),
            sample::check().terminal(width),
            sample::doctor().terminal(width),
            sample::probe_bench().terminal(width),
        ] {
            assert!(widest(&text) <= width.into(), "{} > {width}:\n{text}", widest(&text));
            assert!(!text.contains('\u{1b}'));
            assert!(text.lines().all(|line| line == line.trim_end()));
        }
    }
}

/// Compares `text` with a file in `golden/`; UPDATE_GOLDEN=1 in the environment rewrites the file.
fn assert_golden(text: &str, name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, text).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap();
    assert_eq!(
        text, expected,
        "{name} changed; where that is meant, run the test with UPDATE_GOLDEN=1; it now is:\n{text}"
    );
}

#[test]
fn the_tables() {
    assert_golden(&sample::fit_kernel(2048).terminal(80), "fit-kernel.txt");
    let by_blocks = sample::fit_kernel_by_blocks(2048);
    assert_golden(&by_blocks.terminal(80), "fit-kernel-blocks.txt");
    assert_golden(&sample::pages(2048).terminal(80), "pages.txt");
    assert_golden(&sample::check().terminal(80), "check.txt");
    assert_golden(&sample::doctor().terminal(80), "doctor.txt");
    assert_golden(&sample::check().to_json(), "check.json");
    assert_golden(&sample::probe_bench().terminal(80), "probe-bench.txt");
}

/// What a page says: the text between its tags, a line for each.
fn said(page: &str) -> String {
    let (_, rest) = page.split_once("<main>").unwrap();
    let (main, _) = rest.split_once("</main>").unwrap();
    let texts =
        main.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
    texts.filter(|text| !text.is_empty()).map(|text| text.to_owned() + "\n").collect()
}

#[test]
fn the_page_of_instrumented_programs_says_what_the_table_does() {
    let bench = sample::probe_bench();
    let page = said(&bench.page());
    assert_golden(&page, "probe-bench-page.txt");
    let table = bench.terminal(400);
    for text in bench.left_out.iter().chain(bench.targets.iter().map(|target| &target.name)) {
        let escaped = text.replace('\'', "&#39;");
        assert!(page.contains(text) || page.contains(&escaped), "{text}");
        assert!(table.contains(text), "{text}");
    }
    assert!(table.contains("67.11") && page.contains("67.11"), "{table}{page}");
}

#[test]
fn contradictions_are_told_everywhere() {
    let mut fit = sample::fit_kernel(2048);
    assert!(fit.contradictions().is_empty(), "{:?}", fit.contradictions());
    assert!(fit.ok());
    fit.touched.after += 1;
    assert!(!fit.ok());
    assert!(fit.terminal(80).contains("CONTRADICT"));
    assert!(fit.page().contains("contradict"));
}

#[test]
fn pages_need_nothing_from_outside() {
    for text in [
        sample::fit_kernel(2048).page(),
        sample::fit_kernel_by_blocks(2048).page(),
        sample::pages(2048).page(),
        sample::probe_bench().page(),
    ] {
        for foreign in ["http://", "https://", "src=", "@import", "<link"] {
            assert!(!text.contains(foreign), "{foreign}");
        }
        // The only references are to the page's own patterns.
        assert_eq!(text.matches("url(").count(), text.matches("url(#").count());
        assert!(text.starts_with("<!DOCTYPE html>"));
        assert_eq!(text.matches("id=\"result\"").count(), 1);
    }
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let mut fit = sample::fit_kernel(200);
    fit.config = "</script><script>alert(1)</script>".into();
    fit.held_out[0].name = "<img>".into();
    let text = fit.page();
    assert!(!text.contains("<script>alert") && !text.contains("<img>"));
}

#[test]
fn the_same_result_gives_the_same_bytes() {
    let (one, two) = (sample::fit_kernel(2048), sample::fit_kernel(2048));
    assert_eq!(one.page(), two.page());
    assert_eq!(one.to_json(), two.to_json());
}
