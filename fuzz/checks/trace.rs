//! Any text is read as a trace or refused, in each of the formats, and gives a profile.

use trimtab_profile::{Profile, Source, read};
use trimtab_program::Program;

static PROGRAM: &[u8] = include_bytes!("../../testdata/programs/lld-x86_64.elf");

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    let text = &*String::from_utf8_lossy(data);
    let Ok(trace) = read::read(text) else { return false };
    assert!(!trace.is_empty());
    // What only stack traces show is not counted: two tracers write them, and a frame in which each
    // sample was taken may have no name. All others count whatever they see.
    let has_stacks = matches!(trace.source(), Source::Perf | Source::Ftrace);
    assert!(has_stacks || trace.events().iter().all(|event| event.count >= 1));
    let Ok(program) = Program::parse(PROGRAM) else { return false };
    let profile = Profile::resolve(&trace, &program);
    let coverage = profile.coverage();
    assert!(coverage.names_found <= coverage.names_total);
    assert!(coverage.bytes_found <= coverage.bytes_total);
    assert_eq!(coverage.bytes_found, profile.executed().bytes());
    let _ = coverage.check(0.9);
    for executed in profile.functions() {
        assert!(executed.count >= 1);
        let range = program.function(executed.function).range;
        assert!(profile.executed().within(range).next().is_some());
    }
    assert!(Profile::merge(&[profile.clone(), profile]).is_some());
    let written = read::write_native(&trace, &program);
    if let Ok(again) = read::read(&written) {
        assert!(again.events().len() <= trace.events().len());
    }
    true
}
