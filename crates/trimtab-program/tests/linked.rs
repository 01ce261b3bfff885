//! Reads what real linkers wrote: `testdata/programs`.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::path::Path;
use trimtab_program::{Fragments, InputSection, Isa, LinkMap, Origin, Program};

const LINKERS: [&str; 4] = ["lld-x86_64", "lld-aarch64", "gnu-x86_64", "gold-x86_64"];

fn bytes(name: &str, extension: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/programs");
    std::fs::read(folder.join(format!("{name}.{extension}"))).unwrap()
}

fn map(name: &str) -> String {
    String::from_utf8(bytes(name, "map")).unwrap()
}

#[test]
fn programs_of_all_linkers_have_the_same_functions() {
    for linker in LINKERS {
        let file = bytes(linker, "elf");
        let program = Program::parse(&file).unwrap();
        let arm = linker.ends_with("aarch64");
        assert_eq!(program.isa(), if arm { Isa::Aarch64 } else { Isa::X86_64 });
        let mut names: Vec<&str> = program.functions().iter().map(|f| f.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["_start", "alpha", "beta", "helper", "helper"], "{linker}");
        assert_eq!(program.lookup("beta_alias"), program.lookup("beta"), "{linker}");
        assert_eq!(program.build_id().map(<[u8]>::len), Some(20), "{linker}");
        let start = program.functions_named("_start")[0];
        assert_eq!(program.function(start).range.start, program.entry(), "{linker}");
        assert_eq!(program.section(program.function(start).section).name, ".init.text");
    }
}

#[test]
fn maps_of_all_linkers_say_which_file_each_function_is_of() {
    for linker in LINKERS {
        let (file, text) = (bytes(linker, "elf"), map(linker));
        let program = Program::parse(&file).unwrap();
        let map = LinkMap::parse(&text).unwrap();
        let (section, _) = program.section_named(".text").unwrap();
        let fragments = Fragments::from_link_map(&program, &map, section);
        let mut seen: Vec<_> = fragments
            .as_slice()
            .iter()
            .map(|fragment| {
                let Origin::InputSection { file, section } = &fragment.origin else {
                    panic!("{fragment:?}");
                };
                (fragment.name, file.as_ref(), *section, fragment.functions().count())
            })
            .collect();
        seen.sort_unstable();
        let expected = [
            ("alpha", "libalpha.a:alpha.o", ".text.alpha", 1),
            ("beta", "beta.o", ".text.beta", 1),
            ("helper", "beta.o", ".text.helper", 1),
            ("helper", "libalpha.a:alpha.o", ".text.helper", 1),
        ];
        assert_eq!(seen, expected, "{linker}");
        assert_eq!(fragments.orphans(&program).count(), 0, "{linker}");
        for fragment in fragments.as_slice() {
            assert!(fragment.alignment.is_power_of_two(), "{linker}");
            assert_eq!(fragment.range.start % fragment.alignment, 0, "{linker}");
        }
        assert!(map.sections.iter().any(|s| s.output == ".init.text"), "{linker}");
    }
}

#[test]
fn every_cut_of_a_map_is_read_or_refused() {
    for linker in LINKERS {
        let text = map(linker);
        let whole = LinkMap::parse(&text).unwrap();
        for length in 0..text.len() {
            if let Ok(part) = LinkMap::parse(&text[..length]) {
                assert!(part.sections.len() <= whole.sections.len());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_maps_never_panic(
        linker in prop::sample::select(&LINKERS[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "\\PC|[ \n:()0x.]"), 1..12),
    ) {
        let mut text: Vec<String> = map(linker).chars().map(String::from).collect();
        for (index, value) in changes {
            let at = index.index(text.len());
            text[at] = value;
        }
        let text = text.concat();
        if let Ok(map) = LinkMap::parse(&text) {
            let ordered = |pair: &[InputSection<'_>]| pair[0].range.start <= pair[1].range.start;
            prop_assert!(map.sections.windows(2).all(ordered));
        }
    }

    #[test]
    fn changed_programs_never_panic(
        linker in prop::sample::select(&LINKERS[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut file = bytes(linker, "elf");
        for (index, value) in changes {
            let at = index.index(file.len());
            file[at] = value;
        }
        let text = map(linker);
        let map = LinkMap::parse(&text).unwrap();
        if let Ok(program) = Program::parse(&file)
            && let Some((section, _)) = program.section_named(".text")
        {
            let fragments = Fragments::from_link_map(&program, &map, section);
            let _ = fragments.orphans(&program).count();
            let _ = Fragments::from_symbols(&program, section);
        }
    }
}
