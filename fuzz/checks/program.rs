//! Any bytes are read as a program or refused, and what is read holds together.

use trimtab_program::{Fragments, Program, SectionId, compile_units};

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    for unit in compile_units(data).unwrap_or_default() {
        assert!(unit.ranges.iter().all(|range| !range.is_empty()));
    }
    let Ok(program) = Program::parse(data) else { return false };
    let functions = program.functions();
    assert!(!functions.is_empty());
    assert!(functions.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    for id in program.function_ids() {
        let function = program.function(id);
        assert!(!function.range.is_empty());
        assert_eq!(program.function_at(function.range.start), Some(id));
        assert!(program.functions_named(function.name).contains(&id));
        let section = program.section(function.section);
        assert_eq!(section.range.intersection(function.range), function.range);
    }
    for marker in program.markers() {
        assert!(program.address_of(marker.name).is_some());
        let _ = program.lookup(marker.name);
    }
    for section in program.sections() {
        let size = section.range.length();
        assert!(size <= data.len() as u64, "{} is said to have {size} bytes", section.name);
    }
    for section in 0..program.sections().len() {
        let fragments = Fragments::from_symbols(&program, SectionId(section as u32));
        assert_eq!(fragments.orphans(&program).count(), 0);
    }
    true
}
