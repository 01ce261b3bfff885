//! A small kernel from its file to its plan.

use crate::check::{Refusal, check};
use crate::{
    Bytes, Class, Code, Granularity, Group, Heat, LinkerScript, PatchKind, PatchSites, Plan,
    PlanInputs, Replay, Residence, Returns, Run, SwapError, Threshold, Units, Why, cold_data,
    duplication, links, pieces,
};
use trimtab_fixture::Elf;
use trimtab_fixture::kernel::{self, COLD, COLD_DATA, NAMES, STEP, at, kernel};
use trimtab_layout::cost::Policy;
use trimtab_layout::paged::{Packing, PageProblem, Pages, Places, Recency};
use trimtab_profile::{Source, Stream, stream};
use trimtab_program::{BlockMap, Fragments, LinkMap, Program};

/// What a linker's map says of read-only data.
const MAP: &str = "\
             VMA              LMA     Size Align Out     In      Symbol
ffffffff81a00000          1a00000    20000  4096 .rodata
ffffffff81a00000          1a00000    10800     8         .tmp_vmlinux2.kallsyms.o:(.rodata)
ffffffff81a10800          1a10800     1000     8         vmlinux.a(kernel/kallsyms.o):(.rodata)
";

/// What a plan is made from, at a share.
struct Made {
    units: Units,
    residence: Residence,
    threshold: Threshold,
    pages: Pages,
    places: Places,
    replay: Replay,
    plan: Result<Plan, SwapError>,
}

/// The units where whole functions are swapped, at a threshold.
fn units(
    code: &Code<'_>,
    fragments: &Fragments<'_>,
    heat: &Heat,
    threshold: Threshold,
    residence: &Residence,
) -> Units {
    Units::of(code, fragments, heat, &heat.hot(threshold), residence, Granularity::Function)
}

fn made(bytes: &[u8], share: f64, never: &[PatchKind]) -> Made {
    let program = Program::parse(bytes).unwrap();
    let code = Code::read(&program, None).unwrap();
    let (blocks, executions) = kernel::executed();
    let recorded = stream::write(Source::QemuPlugin, &blocks, &executions);
    let stream = Stream::parse(&recorded).unwrap();
    let (run, from) = Run::after(stream, &code, Some("begin_swapping")).unwrap();
    let runs = [run];
    let heat = Heat::of(&code, &runs);
    let (section, _) = program.section_named(".text").unwrap();
    let fragments = Fragments::from_symbols(&program, section);
    let sites = PatchSites::of(&program).unwrap();
    let residence = Residence::of(&code, &fragments, &sites, never, &runs).unwrap();
    let threshold = heat.threshold(&code, share).unwrap();
    let units = units(&code, &fragments, &heat, threshold, &residence);
    let pieces = pieces(&code, &units);
    let edges = links(&code, &units, &heat);
    let replay = Replay::of(&code, &units, &runs[0]);
    let references = [replay.references()];
    let problem =
        PageProblem { pieces: &pieces, edges: &edges, references: &references, page: 4096 };
    let pages = Recency::default().pack(&problem);
    let places = pages.places(&problem);
    let symbols = cold_data(&LinkMap::parse(MAP).unwrap(), &code, &residence);
    let plan = Plan::new(&PlanInputs {
        kernel: bytes,
        code: &code,
        residence: &residence,
        units: &units,
        granularity: Granularity::Function,
        share,
        threshold,
        least: 0,
        placement: "recency",
        pages: &pages,
        places: &places,
        data: &symbols,
        frames: 16,
        from: &from,
        never,
        duplication: duplication(&code, &units, &residence),
    });
    Made { units, residence, threshold, pages, places, replay, plan }
}

fn class(made: &Made, name: &str) -> Class {
    made.units.as_slice().iter().find(|unit| unit.name == name).unwrap().class
}

#[test]
fn core_is_the_closure_of_the_fault_path() {
    let bytes = kernel();
    let made = made(&bytes, 0.5, &[]);
    for name in [
        "asm_exc_page_fault",
        "exc_page_fault",
        "coldswap_fault",
        "handler_helper",
        "in_ops",
        "never",
    ] {
        assert_eq!(class(&made, name), Class::Core, "{name}");
    }
    // Past the hook, and what only that calls.
    assert_eq!(class(&made, "do_user_addr_fault"), Class::Swappable);
    assert_eq!(class(&made, "slow_mm"), Class::Swappable);
    assert_eq!(class(&made, "hot_path"), Class::Base);
    assert_eq!(class(&made, "seldom"), Class::Swappable);
    let program = Program::parse(&bytes).unwrap();
    let id = |name: &str| program.functions_named(name)[0];
    let path = made.residence.path(id("in_ops"));
    assert_eq!(path[0], (id("in_ops"), Why::HeldFor(id("coldswap_fault"))));
    assert!(matches!(path.last(), Some((_, Why::Root(_)))));
    assert_eq!(made.residence.why(id("never")), Some(Why::Patched(PatchKind::JumpLabels)));
    let ends: Vec<(&str, &str)> =
        made.residence.ends().iter().map(|end| (&*end.from, &*end.to)).collect();
    assert_eq!(ends, [("exc_page_fault", "do_user_addr_fault")]);
    assert!(made.residence.unresolved().is_empty());
}

#[test]
fn what_brings_code_into_the_core_adds_up() {
    let bytes = kernel();
    let made = made(&bytes, 0.5, &[]);
    let program = Program::parse(&bytes).unwrap();
    let causes = made.residence.causes(&program);
    let length = STEP - 0x10;
    let of = |group| causes.groups.iter().find(|found| found.0 == group).unwrap();
    // The path of a fault leads to the handler, too.
    assert_eq!(of(Group::FaultPath).1, 6 * length);
    assert_eq!(of(Group::FaultPath).2, 3 * length);
    assert_eq!(of(Group::Handler).1, 3 * length);
    assert_eq!(of(Group::Handler).2, 0);
    assert_eq!(of(Group::Stopped).1, 0);
    assert_eq!(causes.pinned, []);
    let jump_labels = causes.patched.iter().find(|found| found.0 == PatchKind::JumpLabels);
    assert_eq!(jump_labels.unwrap().1, length);
    // `in_ops`: `LZ4_decompress_safe` is a root of its own.
    let handler = program.functions_named("coldswap_fault")[0];
    let found = causes.functions.iter().find(|found| found.function == handler).unwrap();
    assert_eq!((found.reached, found.alone), (2 * length, length));
}

/// Functions of `0x100` bytes from `0x1000` on, with these bytes at their starts.
fn functions(parts: &[(&'static str, &[u8])]) -> Elf {
    let mut elf = Elf::new().text(".text", 0x1000, 0x1000);
    for (place, (name, bytes)) in parts.iter().enumerate() {
        let start = 0x1000 + place as u64 * 0x100;
        elf = elf.function(name, start, 0x100).contents(start, bytes);
        // ret
        elf = elf.contents(start + 0xff, &[0xc3]);
    }
    elf.loaded()
}

/// A call from one place of [`functions`] to the function of a number.
fn call_of(place: u32, to: u32) -> [u8; 5] {
    let distance = (0x1000 + to * 0x100).wrapping_sub(0x1000 + place + 5);
    let [a, b, c, d] = distance.to_le_bytes();
    [0xe8, a, b, c, d]
}

fn residence_of(bytes: &[u8], never: &[PatchKind]) -> Residence {
    let program = Program::parse(bytes).unwrap();
    let code = Code::read(&program, None).unwrap();
    let (section, _) = program.section_named(".text").unwrap();
    let fragments = Fragments::from_symbols(&program, section);
    Residence::of(&code, &fragments, &PatchSites::of(&program).unwrap(), never, &[]).unwrap()
}

#[test]
fn what_a_fault_runs_behind_the_hook_can_be_absent() {
    // call before; call the hook; test al, al; je +6; call served; ret; call inlined; ret
    let path = [
        &call_of(0, 1)[..],
        &call_of(5, 2),
        &[0x84, 0xc0, 0x74, 0x06],
        &call_of(14, 3),
        &[0xc3],
        &call_of(20, 4),
        &[0xc3],
    ]
    .concat();
    let bytes = functions(&[
        ("exc_page_fault", &path),
        ("before", &[0xc3]),
        ("coldswap_fault", &[0xc3]),
        ("served", &[0xc3]),
        ("inlined", &[0xc3]),
    ])
    .build();
    let program = Program::parse(&bytes).unwrap();
    let residence = residence_of(&bytes, &[]);
    let is_core = |name: &str| residence.why(program.functions_named(name)[0]).is_some();
    assert!(is_core("before") && is_core("coldswap_fault"));
    assert!(!is_core("served") && !is_core("inlined"));
    let to: Vec<&str> = residence.ends().iter().map(|end| end.to.as_str()).collect();
    assert_eq!(to, ["inlined", "served"]);
    assert!(residence.ends()[0].reason.contains("once the hook has found"));
}

#[test]
fn an_nmi_can_fault_only_behind_a_hook_of_its_own() {
    for (hook, expected) in [("coldswap_nmi", false), ("other", true)] {
        let nmi = [&call_of(0x100, 3)[..], &call_of(0x105, 2), &[0xc3]].concat();
        let bytes = functions(&[
            ("exc_page_fault", &[0xc3]),
            ("default_do_nmi", &nmi),
            ("nmi_handle", &[0xc3]),
            (hook, &[0xc3]),
            ("exc_nmi", &[&call_of(0x400, 1)[..], &[0xc3]].concat()),
            ("coldswap_fault", &[0xc3]),
        ])
        .build();
        let program = Program::parse(&bytes).unwrap();
        let handlers = program.functions_named("nmi_handle")[0];
        assert_eq!(residence_of(&bytes, &[]).why(handlers).is_some(), expected, "{hook}");
    }
}

#[test]
fn a_handler_that_keeps_patches_lets_patched_code_be_swapped() {
    for (name, patched) in [("coldswap_poke", false), ("other", true)] {
        let bytes = functions(&[("exc_page_fault", &[0xc3]), ("traced", &[0xc3]), (name, &[0xc3])])
            .data(".data", 0x3000, 0x10)
            .label("__start_mcount_loc", 0x3000)
            .label("__stop_mcount_loc", 0x3008)
            .contents(0x3000, &0x1100u64.to_le_bytes())
            .build();
        let program = Program::parse(&bytes).unwrap();
        let traced = program.functions_named("traced")[0];
        let why = residence_of(&bytes, &[]).why(traced);
        assert_eq!(why, patched.then_some(Why::Patched(PatchKind::Ftrace)), "{name}");
    }
}

#[test]
fn what_is_never_patched_can_be_swapped() {
    let made = made(&kernel(), 0.5, &[PatchKind::JumpLabels]);
    assert_eq!(class(&made, "never"), Class::Swappable);
}

#[test]
fn the_hottest_blocks_that_make_up_the_share_are_base() {
    let bytes = kernel();
    // A thousand executions against ten of functions of the same length.
    for (share, count, base) in [(0.5, 1000, 1), (0.98, 1000, 1), (0.995, 10, 2)] {
        let made = made(&bytes, share, &[]);
        assert_eq!(made.threshold.count, count, "{share}");
        let units = made.units.as_slice();
        let found = units.iter().filter(|unit| unit.class == Class::Base).count();
        assert_eq!(found, base, "{share}");
    }
    // What ran before swapping began does not count, but where it begins does.
    assert_eq!(class(&made(&bytes, 1.0, &[]), "slow_mm"), Class::Swappable);
    assert_eq!(class(&made(&bytes, 1.0, &[]), "begin_swapping"), Class::Base);
    let program = Program::parse(&bytes).unwrap();
    let code = Code::read(&program, None).unwrap();
    for share in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(Heat::of(&code, &[]).threshold(&code, share).is_err());
    }
}

#[test]
fn a_short_run_weighs_as_much_as_a_long_one() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let code = Code::read(&program, None).unwrap();
    let name = |index: usize| program.functions_named(NAMES[index])[0];
    let recorded = |function: usize, times: usize| {
        let length = code.blocks_of(name(function)).next().unwrap();
        let length = code.block(length).range.length() as u32;
        let executions = vec![0; times];
        stream::write(Source::QemuPlugin, &[(at(function as u64), length)], &executions)
    };
    let (short, long) = (recorded(1, 3), recorded(2, 3000));
    let streams = [&short, &long].map(|bytes| Run::whole(Stream::parse(bytes).unwrap()));
    let heat = Heat::of(&code, &streams);
    assert_eq!(heat.most(&code, name(2)), 3000);
    assert_eq!(heat.most(&code, name(1)), 3000);
    assert_eq!(heat.most(&code, name(3)), 0);
}

#[test]
fn a_replay_counts_the_pages_that_are_missing() {
    let made = made(&kernel(), 0.5, &[]);
    // `begin_swapping` and `seldom`, on one page.
    assert_eq!(made.replay.len(), 2);
    assert_eq!(made.places.pages, 1);
    assert_eq!(made.replay.faults(&made.places, 2, Policy::Nru), 1);
    // Of all code: a thousand times 236, eleven times 240.
    assert_eq!(made.replay.instructions(), 236_000 + 2_640);
}

#[test]
fn a_plan_reads_back_and_lists_each_section_once() {
    let made = made(&kernel(), 0.5, &[]);
    let plan = made.plan.unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(Plan::parse(&text).unwrap(), plan);
    assert!(text.starts_with("{\"schema\":\"trimtab.swap.plan/1\",\"id\":\""));
    let lists = [Class::Core, Class::Base, Class::Swappable].map(|class| plan.list(class));
    let all: Vec<&str> = lists.iter().flat_map(|list| list.lines()).collect();
    assert_eq!(all.len(), NAMES.len());
    assert_eq!(lists[1], "hot_path\n");
    let whole = plan.linker_script().unwrap();
    let script = &whole.code;
    assert_eq!(script.matches("ALIGN(4096)").count(), 2, "{script}");
    assert!(script.contains("*(.text.slow_mm)\n"), "{script}");
    assert!(!script.contains("exc_page_fault"));
    // Of the objects with `kallsyms` in their names, that which is made when the kernel is linked, and
    // whatever number that link has.
    assert_eq!(whole.data, ". += 16;\n*.kallsyms.o(.rodata)\n");
    assert_eq!(plan.code_bytes.data, 0x10800);
    assert_ne!(whole.id(), LinkerScript { data: String::new(), ..whole.clone() }.id());
    let order = plan.resident_order().unwrap();
    let hottest = plan.units.iter().filter(|unit| unit.class != Class::Swappable);
    let hottest = hottest.max_by_key(|unit| unit.count).unwrap();
    assert!(order.starts_with(&format!("*({})\n", hottest.section)), "{order}");
    assert!(!order.contains("slow_mm"), "{order}");
    let bytes = plan.code_bytes;
    assert_eq!(bytes.original, NAMES.len() as u64 * (STEP - 0x10));
    assert_eq!(bytes.original, bytes.core + bytes.base + bytes.swappable);
    assert_eq!(bytes.descriptors, 24 * (made.places.pages + 17), "0x10800 bytes are 17 pages");
    assert_eq!(bytes.net_resident, bytes.core + bytes.base + 18 * 4096 + bytes.descriptors);
    assert_eq!(Bytes::of(&made.units, made.places.pages, &plan.data, 16), bytes);
    assert_eq!(made.pages.groups.len(), 1);
    assert!(matches!(Plan::parse("{}"), Err(SwapError::Plan { .. })));
}

#[test]
fn symbols_that_core_code_reads_stay_in_memory() {
    // mov SYMBOLS + 0x10000, %rax: as code does that writes reports down, for which a kernel that checks
    // itself calls from everywhere.
    let read = [&[0x48, 0x8b, 0x04, 0x25][..], &0x81a1_0000_u32.to_le_bytes()].concat();
    let planned = |function| made(&kernel::kernel_with(&[(at(function), &read)]), 0.5, &[]).plan;
    // Function 4 is a part of the handler, 9 is swapped.
    let stays = planned(4).unwrap();
    assert!(stays.data.is_empty() && stays.code_bytes.data == 0, "{:?}", stays.data);
    assert_eq!(stays.linker_script().unwrap().data, "");
    let swapped = planned(9).unwrap();
    assert_eq!((swapped.data.len(), swapped.code_bytes.data), (1, 0x10800));
}

#[test]
fn a_plan_without_gain_says_what_patches_all() {
    let start = at(0);
    let bytes = Elf::new()
        .text(".text", start, 0x100)
        .function("exc_page_fault", start, 0x10)
        .contents(start + 0xf, &[0xc3])
        .function("traced", start + 0x10, 0x10)
        .data(".data", start + 0x1000, 0x10)
        .label("__start_mcount_loc", start + 0x1000)
        .label("__stop_mcount_loc", start + 0x1008)
        .contents(start + 0x1000, &(start + 0x10).to_le_bytes())
        .loaded()
        .build();
    let program = Program::parse(&bytes).unwrap();
    assert_eq!(PatchSites::of(&program).unwrap().count(PatchKind::Ftrace), 1);
    let code = Code::read(&program, None).unwrap();
    let (section, _) = program.section_named(".text").unwrap();
    let fragments = Fragments::from_symbols(&program, section);
    let sites = PatchSites::of(&program).unwrap();
    let residence = Residence::of(&code, &fragments, &sites, &[], &[]).unwrap();
    let heat = Heat::of(&code, &[]);
    let threshold = heat.threshold(&code, 1.0).unwrap();
    let units = units(&code, &fragments, &heat, threshold, &residence);
    let plan = Plan::new(&PlanInputs {
        kernel: &bytes,
        code: &code,
        residence: &residence,
        units: &units,
        granularity: Granularity::Function,
        share: 1.0,
        threshold,
        least: 0,
        placement: "recency",
        pages: &Pages::default(),
        places: &Places { offsets: vec![None; 2], pages: 0 },
        data: &[],
        frames: 16,
        from: "",
        never: &[],
        duplication: duplication(&code, &units, &residence),
    });
    assert_eq!(
        plan,
        Err(SwapError::NothingSwappable { functions: 2, patched: 1, kinds: "ftrace".to_owned() })
    );
}

#[test]
fn foreign_programs_are_refused() {
    let other = Elf::new().text(".text", 0x1000, 0x100).function("main", 0x1000, 0x10).loaded();
    let bytes = other.build();
    let program = Program::parse(&bytes).unwrap();
    let code = Code::read(&program, None).unwrap();
    let sites = PatchSites::of(&program).unwrap();
    let (section, _) = program.section_named(".text").unwrap();
    let fragments = Fragments::from_symbols(&program, section);
    assert!(matches!(
        Residence::of(&code, &fragments, &sites, &[], &[]),
        Err(SwapError::NoFaultPath { .. })
    ));
    let bytes = other.clone().machine(183).build();
    let program = Program::parse(&bytes).unwrap();
    assert_eq!(
        Code::read(&program, None).map(|_| ()),
        Err(SwapError::InstructionSet { found: "aarch64" })
    );
    // A table that is cut off.
    let bytes = other
        .data(".data", 0x2000, 0x10)
        .label("__start_mcount_loc", 0x2000)
        .label("__stop_mcount_loc", 0x2005)
        .build();
    let program = Program::parse(&bytes).unwrap();
    assert!(matches!(PatchSites::of(&program).map(|_| ()), Err(SwapError::Table { .. })));
}

/// A kernel linked by the plan: these functions lie between the bounds.
fn linked(
    plan: &Plan,
    inside: &[&'static str],
    bounds: bool,
) -> Result<crate::check::LinkSummary, Refusal> {
    checked(linked_file(inside, bounds), plan)
}

fn checked(elf: Elf, plan: &Plan) -> Result<crate::check::LinkSummary, Refusal> {
    check(&Program::parse(&elf.loaded().build()).unwrap(), plan)
}

fn linked_file(inside: &[&'static str], bounds: bool) -> Elf {
    if bounds { kernel::linked_within_bounds(inside) } else { kernel::linked(inside) }
}

#[test]
fn data_that_core_code_reads_is_not_swapped() {
    let plan = made(&kernel(), 0.5, &[]).plan.unwrap();
    let cold = ["seldom", "slow_mm", "do_user_addr_fault", "begin_swapping"];
    // mov COLD_DATA + at, %rax: of the first function that stays, or of the first that does not.
    let reading = |function: u64, at: u64| {
        let operand = ((COLD_DATA + at) as u32).to_le_bytes();
        let code = [&[0x48, 0x8b, 0x04, 0x25][..], &operand, &[0xc3]].concat();
        checked(linked_file(&cold, true).contents(function, &code), &plan)
    };
    assert_eq!(reading(COLD, 0x10ff8).map(|found| found.data), Ok(0x11000));
    assert_eq!(reading(COLD + 0x2000, 0x11000).map(|found| found.data), Ok(0x11000));
    // The handler compares addresses with the bound.
    assert_eq!(reading(COLD + 0x2000, 0).map(|found| found.data), Ok(0x11000));
    let refused = reading(COLD + 0x2000, 0x10ff8);
    assert_eq!(refused, Err(Refusal::Data { count: 1, names: NAMES[0].to_owned() }));
    // Who swaps no data needs no bounds of any.
    let without = Plan { data: Vec::new(), ..plan };
    let unlabelled = |elf: Elf| checked(elf.label("__coldswap_data_end", COLD_DATA), &without);
    assert_eq!(unlabelled(linked_file(&cold, true)).map(|found| found.data), Ok(0));
}

#[test]
fn a_kernel_with_core_code_between_the_bounds_is_refused() {
    let plan = made(&kernel(), 0.5, &[]).plan.unwrap();
    let cold = ["seldom", "slow_mm", "do_user_addr_fault", "begin_swapping"];
    let good = linked(&plan, &cold, true).unwrap();
    assert_eq!((good.functions, good.swappable, good.outside), (4, 4, 0));
    assert_eq!((good.pages, good.pages_kept), (1, 1));
    // What is swappable may stay.
    assert_eq!(linked(&plan, &cold[..2], true).unwrap().outside, 2);
    let with_core = [&cold[..], &["handler_helper"]].concat();
    assert!(matches!(
        linked(&plan, &with_core, true),
        Err(Refusal::Resident { count: 1, names }) if names == "handler_helper"
    ));
    let with_base = [&cold[..], &["hot_path"]].concat();
    assert!(matches!(linked(&plan, &with_base, true), Err(Refusal::Resident { .. })));
    let with_new = [&cold[..], &["unheard_of"]].concat();
    assert!(matches!(linked(&plan, &with_new, true), Err(Refusal::Unknown { count: 1, .. })));
    assert!(matches!(linked(&plan, &cold, false), Err(Refusal::NoBounds { .. })));
    let mut other = plan.clone();
    for unit in &mut other.units {
        unit.name.push_str("_of_another_build");
    }
    assert!(matches!(linked(&other, &cold, true), Err(Refusal::OtherBuild { .. })));
}

#[test]
fn a_block_without_bytes_goes_where_what_it_falls_into_goes() {
    let code = [0x90u8; 12];
    let bytes =
        Elf::new().text(".text", 0x1000, 12).function("f", 0x1000, 12).contents(0x1000, &code);
    let bytes = bytes.loaded().build();
    let program = Program::parse(&bytes).unwrap();
    // Of each block its number, bytes of padding before it, its bytes, and that it falls through.
    let blocks =
        [[0, 0, 4, 8], [5, 0, 0, 8], [2, 0, 0, 8], [1, 0, 4, 8], [3, 0, 4, 0], [4, 0, 0, 0]];
    let mut section = vec![2, 0];
    section.extend(0x1000u64.to_le_bytes());
    section.push(6);
    section.extend(blocks.as_flattened());
    let map = BlockMap::from_section(&section).unwrap();
    let code = Code::read(&program, Some(&map)).unwrap();
    let all: Vec<Vec<u32>> = (0..code.blocks().len())
        .map(|block| code.empty_before(crate::BlockId::at(block)).collect())
        .collect();
    assert_eq!(all, [vec![], vec![5, 2], vec![]]);
    let unit = crate::Unit {
        name: "f".to_owned(),
        section: ".text.f".to_owned(),
        file: None,
        part: crate::Part::Warm,
        class: Class::Swappable,
        size: 4,
        alignment: 1,
        position: 0x1004,
        functions: Vec::new(),
        ranges: vec![code.blocks()[1].range],
        count: 1,
        executed: 4,
    };
    assert_eq!(crate::plan::lists::numbers(&code, &unit), [5, 2, 1]);
}

#[test]
fn what_comes_back_to_a_cache_that_forgot_it_can_stay_as_well() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let code = Code::read(&program, None).unwrap();
    let length = STEP - 0x10;
    // 6 once, then 8 and 9 in turn, and each twice behind the other.
    let blocks = [6, 8, 9].map(|function| (at(function), length as u32));
    let recorded = stream::write(Source::QemuPlugin, &blocks, &[0, 1, 1, 2, 1, 2, 2, 1]);
    let runs = [Run::whole(Stream::parse(&recorded).unwrap())];
    let heat = Heat::of(&code, &runs);
    let none = heat.hot(Threshold { count: u64::MAX, executed: 0, hot: 0 });
    let first = |function| code.block_at(at(function)).unwrap();
    let counts = |hot: &crate::HotBlocks, capacity| {
        let returns = Returns::of(&code, &runs, &heat, hot, capacity);
        [6, 8, 9].map(|function| returns.count(first(function)))
    };
    // Of three bytes or more between, of as much as one of them is long, and of more than that.
    assert_eq!(counts(&none, 3), [0, 2, 1]);
    assert_eq!(counts(&none, length), [0, 2, 1]);
    assert_eq!(counts(&none, length + 1), [0, 0, 0]);
    // What is hot is not in the cache and takes no room there.
    let hot = Returns::of(&code, &runs, &heat, &none, 3).added_to(&none, 2);
    assert!(hot.contains(first(8)) && !hot.contains(first(9)));
    assert_eq!(counts(&hot, 3), [0, 0, 0]);
    let all = Returns::of(&code, &runs, &heat, &none, 3).added_to(&none, 0);
    assert!(all.contains(first(9)) && !all.contains(first(6)));
}
