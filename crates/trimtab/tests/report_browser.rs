//! Opens the pages in headless Chromium and looks: they render, nothing overflows, the numbers
//! shown are those of the embedded JSON, and nothing complains.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "report/sample/mod.rs"]
mod sample;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use trimtab_report::Report;

/// A page takes about two seconds; a loaded machine may take much longer.
const LIMIT: Duration = Duration::from_secs(90);

#[derive(Debug, Deserialize)]
struct Probe {
    problems: Vec<String>,
    elements: u32,
    cells: usize,
    numbers: u32,
    headline: String,
    width: u32,
    dark: bool,
    ground: String,
    ink: String,
}

/// Opens a copy of `page` that examines itself, in a window `width` pixels wide.
fn look(page: &str, width: u32, dark: bool) -> Probe {
    let directory = tempfile::tempdir().unwrap();
    let errors = format!("<head><script>{}</script>", include_str!("report/probe/errors.js"));
    let probe = format!("<script>{}</script></body>", include_str!("report/probe/look.js"));
    let copy = page.replacen("<head>", &errors, 1).replacen("</body>", &probe, 1);
    fs::write(directory.path().join("page.html"), copy).unwrap();
    let frame = include_str!("report/probe/frame.html").replace("WIDTH", &width.to_string());
    let file = directory.path().join("frame.html");
    fs::write(&file, frame).unwrap();

    let dom = directory.path().join("dom.html");
    let complaints = directory.path().join("complaints.txt");
    let mut command = Command::new("chromium");
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
        .args(["--window-size=1400,1000", "--virtual-time-budget=5000"])
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&dom).unwrap())
        .stderr(File::create(&complaints).unwrap())
        // A group of its own, so that a browser that hangs is ended with all its processes.
        .process_group(0);
    let mut browser = command.spawn().unwrap_or_else(|error| {
        panic!(
            "chromium could not be started ({error}); this test opens the report in it: \
             install it with `apt-get install chromium`"
        )
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = browser.try_wait().unwrap() {
            break Some(status);
        }
        if started.elapsed() > LIMIT {
            let _ = killpg(Pid::from_raw(browser.id() as i32), Signal::SIGKILL);
            let _ = browser.wait();
            break None;
        }
        sleep(Duration::from_millis(50));
    };
    let complaints = fs::read_to_string(&complaints).unwrap_or_default();
    assert!(
        status.is_some_and(|status| status.success()),
        "chromium did not finish within {LIMIT:?} or failed ({status:?}):\n{complaints}"
    );
    let dom = fs::read_to_string(&dom).unwrap();
    let (_, rest) = dom.split_once("<pre id=\"probe\">").expect("the page ran its probe");
    let (text, _) = rest.split_once("</pre>").expect("the probe's text ends");
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&text).expect("the probe writes JSON")
}

/// Looks at `page` wide and narrow, light and dark, and returns the first look.
fn examine(page: &str) -> Probe {
    let [light, dark, narrow] = [(1280, false), (1280, true), (400, false)].map(|(width, dark)| {
        let probe = look(page, width, dark);
        let sight = format!("at {width} px, dark {dark}");
        assert_eq!((probe.width, probe.dark), (width, dark));
        assert!(probe.problems.is_empty(), "{sight}:\n{}", probe.problems.join("\n"));
        assert!(probe.elements > 100, "{sight}: only {} elements show", probe.elements);
        assert_ne!(probe.ground, probe.ink, "{sight}");
        probe
    });
    assert_ne!(light.ground, dark.ground, "the dark page is as light as the light one");
    assert_eq!(light.numbers, narrow.numbers);
    light
}

#[test]
fn the_page_of_a_fit() {
    let fit = sample::fit_kernel(2048);
    let probe = examine(&fit.page());
    assert_eq!(probe.headline, "810 → 289 pages of code touched while booting");
    assert_eq!(probe.cells, 810 + 289);
    assert!(probe.numbers > 100, "only {} numbers are tied to the JSON", probe.numbers);
}

#[test]
fn pages_of_small_and_large_kernels() {
    for (spanned, width) in [(200, 400), (6000, 1280), (6000, 400)] {
        let probe = look(&sample::fit_kernel(spanned).page(), width, false);
        assert!(probe.problems.is_empty(), "{spanned} pages: {}", probe.problems.join("\n"));
    }
}

#[test]
fn the_page_of_pages() {
    let probe = examine(&sample::pages(2048).page());
    assert_eq!(probe.headline, "810 of 2,048 text pages touched");
    assert_eq!(probe.cells, 810);
    assert!(probe.numbers > 50, "only {} numbers are tied to the JSON", probe.numbers);
}

#[test]
fn the_page_of_instrumented_programs() {
    let probe = examine(&sample::probe_bench().page());
    assert_eq!(probe.headline, "What instrumented programs cost");
    assert!(probe.numbers > 100, "only {} numbers are tied to the JSON", probe.numbers);
}

#[test]
fn long_names_do_not_burst_the_page() {
    let long = "a_very_long_name_without_any_place_to_break_".repeat(6);
    let mut fit = sample::fit_kernel(200);
    fit.config = long.clone();
    fit.held_out[0].name = long.clone();
    fit.sections[0].name = long.clone();
    fit.checks[0].name = long.clone();
    fit.checks[0].detail = long.clone();
    fit.targets[0].name = long.clone();
    fit.repeat.command = long.clone();
    fit.repeat.inputs.insert(long.clone(), long.clone());
    fit.artifacts.vmlinux_after = long;
    for width in [1280, 400] {
        let probe = look(&fit.page(), width, false);
        assert!(probe.problems.is_empty(), "at {width} px:\n{}", probe.problems.join("\n"));
    }
}

#[test]
fn the_examination_finds_what_is_wrong() {
    let page = sample::fit_kernel(200).page();
    let wide = page.replacen("<main>", "<main><p style=\"width:3000px\">wide</p>", 1);
    let wrong = page.replacen("data-key=\"touched.after\">", "data-key=\"touched.after\">9", 1);
    let broken = page.replacen("</main>", "</main><script>undefined_name()</script>", 1);
    for (page, expected) in
        [(wide, "px wide"), (wrong, "touched.after is"), (broken, "undefined_name")]
    {
        let problems = look(&page, 1280, false).problems.join("\n");
        assert!(problems.contains(expected), "expected {expected:?} in:\n{problems}");
    }
}
