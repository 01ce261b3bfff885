//! The report of a run, drawn.

use super::*;

fn sample() -> TuneProgram {
    let interval = Interval { mean: 0.95, low: 0.93, high: 0.97 };
    let base = Interval { mean: 1.0, low: 1.0, high: 1.0 };
    let timed = |name: &str, flags: &str, fitness_ratio, time_ratio| TimedFlags {
        name: name.to_owned(),
        flags: flags.to_owned(),
        fitness_ratio: Some(fitness_ratio),
        time_ratio,
        wall_ratio: time_ratio,
        rounds: 8,
        is_left: true,
    };
    TuneProgram {
        program: "bzip2".to_owned(),
        compiler: "gcc 12".to_owned(),
        space: SpaceSummary {
            flags: 300,
            options: 700,
            level: "-O2".to_owned(),
            ..SpaceSummary::default()
        },
        search: "incumbent".to_owned(),
        budget: 100,
        seed: 1,
        best: Best { flags: "-O3 -fweb".to_owned(), fitness_ratio: 0.9, ..Best::default() },
        minimal: Smaller {
            flags: "-O3".to_owned(),
            fitness_ratio: 0.91,
            held_out_ratio: Some(0.92),
            bytes_ratio: 1.1,
            stopped: false,
        },
        effects: vec![FlagEffect {
            flag: "-O3".to_owned(),
            fitness_ratio: Some(1.1),
            time_ratio: Some(1.05),
            low: Some(1.01),
            high: Some(1.09),
        }],
        arms: vec![
            ArmResult {
                name: "PGO".to_owned(),
                flags: "-O2 -fprofile-use".to_owned(),
                ratio: Some(0.93),
                bytes_ratio: Some(0.98),
                reason: None,
                is_in_space: true,
                configuration: None,
                other_compiler: None,
            },
            ArmResult { name: "ThinLTO".into(), reason: Some("no".into()), ..ArmResult::default() },
        ],
        evaluations: Evaluations {
            proposed: 100,
            built: 110,
            deduplicated: 30,
            ..Default::default()
        },
        timed: vec![timed("-O2", "-O2", 1.0, base), timed("fewest flags", "-O3", 0.91, interval)],
        fastest: Some(1),
        screen_rank_correlation: Some(1.0),
        history: vec![None, Some(1.0), Some(0.9)],
        front: vec![FrontPoint { flags: "-O3".into(), fitness_ratio: 0.91, bytes_ratio: 1.1 }],
        failing: vec![FailingFlags { flags: "-fbad".into(), reason: "it is wrong".into() }],
        take: Take::new("fewest flags", "-O3"),
        ..TuneProgram::default()
    }
}

#[test]
fn json_is_read_back_and_has_the_keys_that_are_promised() {
    let report = sample();
    let json = report.to_json();
    assert_eq!(TuneProgram::from_json(&json).unwrap(), report);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], "trimtab.tune/1");
    for path in [
        "/space/flags",
        "/search",
        "/budget",
        "/seed",
        "/best/flags",
        "/best/fitness_ratio",
        "/best/held_out_ratio",
        "/best/low",
        "/best/high",
        "/arms/0/name",
        "/arms/0/ratio",
        "/evaluations/proposed",
        "/evaluations/built",
        "/evaluations/measured",
        "/evaluations/failed",
        "/evaluations/deduplicated",
        "/minimal/flags",
        "/minimal/fitness_ratio",
        "/effects/0",
        "/screen_rank_correlation",
        "/history/2",
    ] {
        assert!(value.pointer(path).is_some(), "{path}");
    }
}

#[test]
fn it_says_what_to_take_and_why() {
    let report = sample();
    let text = report.terminal(100);
    for said in ["CFLAGS=\"-O3\"", "PGO", "fewest flags", "ThinLTO", "-fbad", "−9.0 %"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let page = report.page();
    assert!(page.contains("CMAKE_C_FLAGS_RELEASE") && page.contains("best so far"));
    let mut untimed = sample();
    untimed.timed.clear();
    untimed.fastest = None;
    assert!(untimed.terminal(100).contains("It was not timed"));
    let reason = "in round 1: it hangs".to_owned();
    untimed.not_timed = vec![FailingFlags { flags: "-O2".to_owned(), reason }];
    assert!(untimed.terminal(100).contains("Not timed: -O2: in round 1"));
}

#[test]
fn the_lines_to_paste_give_each_compiler_and_the_linker_what_was_built_with() {
    let lines = |flags: &str| -> Vec<String> {
        Take::new("best", flags).lines.into_iter().map(|line| line.line).collect()
    };
    let plain = lines("-O3 -fweb");
    assert_eq!(plain[0], "CFLAGS=\"-O3 -fweb\" CXXFLAGS=\"-O3 -fweb\"");
    assert_eq!(plain[2], "CFLAGS = \"-O3 -fweb\"\nCXXFLAGS = \"-O3 -fweb\"");
    for flags in ["-O3 -flto=auto", "-O2 -fprofile-use"] {
        let expected = format!("CFLAGS=\"{flags}\" CXXFLAGS=\"{flags}\" LDFLAGS=\"{flags}\"");
        assert_eq!(lines(flags)[0], expected);
    }
}

#[test]
fn of_a_kernel_it_shows_each_call_and_what_was_held_out() {
    let call = |name: &str, weight, base, tuned| CallCost {
        name: name.to_owned(),
        weight,
        base,
        tuned,
        ratio: tuned / base,
        boots_ratio: None,
    };
    let calls = vec![call("open", 1.0, 2000.0, 1900.0), call("fork", 0.0, 90000.0, 81000.0)];
    let report = TuneProgram {
        kernel: Some(KernelCalls {
            rounds: 21,
            calls,
            missing: vec!["futex".to_owned()],
            not_covered: vec!["bpf".to_owned()],
            beside: vec![OtherSearch {
                search: "paper-ga".to_owned(),
                flags: "-fweb".to_owned(),
                fitness_ratio: Some(1.375),
                held_out_ratio: Some(1.25),
                bytes_ratio: Some(1.0),
                calls: vec![Some(1.375), None],
                ..OtherSearch::default()
            }],
            ..KernelCalls::default()
        }),
        take: Take::kernel("-O3"),
        minimal: Smaller { stopped: true, ..sample().minimal },
        space: SpaceSummary { level: "-Os".to_owned(), ..sample().space },
        ..sample()
    };
    let text = report.terminal(100);
    let head = text.lines().find(|line| line.contains("call ") && line.contains("tuned"));
    assert!(head.is_some_and(|line| line.contains("-Os")), "{text}");
    assert!(text.contains("stopped at --ablation") && !text.contains("distribution"), "{text}");
    assert!(!sample().terminal(100).contains("--ablation"));
    for said in [
        "make KCFLAGS=\"-O3\"",
        "81,000",
        "−10.0 %",
        "held out",
        "futex",
        "bpf",
        "+37.5 %",
        "best of paper-ga",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(report.page().contains("instructions of system calls of"));
    let json = report.to_json();
    assert_eq!(TuneProgram::from_json(&json).unwrap(), report);
    // Of a program there are none, and an older report has no such key.
    assert!(!sample().to_json().contains("\"kernel\""));
}

#[test]
fn of_a_kernel_that_was_booted_again_it_shows_between_what_ratios_are() {
    let interval = |low: f64, high: f64| {
        let mean = f64::midpoint(low, high);
        Some(Interval { mean, low, high })
    };
    let call = |name: &str, boots_ratio| CallCost {
        name: name.to_owned(),
        base: 2000.0,
        tuned: 1900.0,
        ratio: 0.95,
        boots_ratio,
        ..CallCost::default()
    };
    let kernel = KernelCalls {
        calls: vec![call("open", interval(0.94, 0.965)), call("fork", None)],
        beside: vec![OtherSearch {
            search: "paper-ga".to_owned(),
            fitness_boots_ratio: interval(1.02, 1.04),
            calls_boots_ratio: vec![interval(1.125, 1.25)],
            ..OtherSearch::default()
        }],
        boots: 7,
        fitness_boots_ratio: interval(0.92, 0.94),
        held_out_boots_ratio: interval(0.96, 0.98),
        failed_boots: vec![FailingFlags { flags: "-fweb".into(), reason: "in state 3: no".into() }],
        ..KernelCalls::default()
    };
    let with = |kernel| TuneProgram { kernel: Some(kernel), ..sample() };
    let report = with(kernel.clone());
    let text = report.terminal(120);
    for said in [
        "−6.0 % to −3.5 %",
        "+12.5 % to +25.0 %",
        "−8.0 % to −6.0 %",
        "−4.0 % to −2.0 %",
        "best of paper-ga   +3.0 %  +2.0 % to +4.0 %",
        "there were 7 more boots",
        "Does not work in state 3: no: -fweb",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let fork = text.lines().find(|line| line.trim_start().starts_with("fork")).unwrap();
    assert!(fork.contains('–'), "{fork}");
    assert_eq!(TuneProgram::from_json(&report.to_json()).unwrap(), report);
    assert!(report.page().contains("In other states of the guest"));
    // An older report has none of it.
    let older = with(KernelCalls { calls: kernel.calls, ..KernelCalls::default() });
    assert!(!older.terminal(120).contains("to −3.5 %"));
    assert!(!with(KernelCalls::default()).to_json().contains("boots"));
}

#[test]
fn what_is_judged_by_a_core_speaks_of_cycles() {
    let cost = |what: &str, base, tuned| CoreCost {
        what: what.to_owned(),
        base,
        tuned,
        ratio: (base > 0.0).then(|| tuned / base),
    };
    let counts = vec![cost("cycles", 2000.0, 1500.0), cost("l1d misses", 0.0, 0.0)];
    let name = "small in-order core".to_owned();
    let core = CoreCosts { name, l1_cycles: 15, branch_cycles: 13, counts };
    let report = TuneProgram { core: Some(core.clone()), ..sample() };
    let text = report.terminal(100);
    for said in
        ["cycles of bzip2", "small in-order core", "15 for each miss", "−25.0 %", "l1d misses"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("instructions of bzip2"), "{text}");
    let json = report.to_json();
    assert_eq!(TuneProgram::from_json(&json).unwrap(), report);
    assert!(!sample().to_json().contains("\"core\""));
    let calls = CoreCosts { counts: Vec::new(), ..core };
    let kernel = Some(KernelCalls::default());
    let text = TuneProgram { core: Some(calls), kernel, ..sample() }.page();
    assert!(text.contains("begins with empty caches"), "{text}");
}

#[test]
fn the_share_that_is_saved_counts_what_was_known() {
    let mut report = sample();
    assert!((report.saved() - 30.0 / 110.0).abs() < 1e-9);
    report.evaluations.known = 110;
    assert!((report.saved() - 140.0 / 220.0).abs() < 1e-9);
    report.evaluations = Evaluations::default();
    assert_eq!(report.saved(), 0.0);
}
