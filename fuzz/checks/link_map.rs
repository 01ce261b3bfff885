//! Any text is read as a linker's map or refused, and its fragments fit the program.

use trimtab_program::{Fragments, LinkMap, Program};

static PROGRAM: &[u8] = include_bytes!("../../testdata/programs/lld-x86_64.elf");

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    let text = &*String::from_utf8_lossy(data);
    let Ok(map) = LinkMap::parse(text) else { return false };
    let Ok(program) = Program::parse(PROGRAM) else { return false };
    assert!(map.sections.is_sorted_by_key(|section| section.range));
    for section in &map.sections {
        assert!(section.alignment >= 1);
    }
    let Some((section, _)) = program.section_named(".text") else { return false };
    let fragments = Fragments::from_link_map(&program, &map, section);
    for pair in fragments.as_slice().windows(2) {
        assert!(pair[0].range.end <= pair[1].range.start);
    }
    for id in fragments.ids() {
        let fragment = fragments.get(id);
        if !fragment.range.is_empty() {
            assert_eq!(fragments.at(fragment.range.start), Some(id));
        }
        for function in fragment.functions() {
            assert!(fragment.range.contains(program.function(function).range.start));
        }
    }
    let _ = fragments.orphans(&program).count();
    true
}
