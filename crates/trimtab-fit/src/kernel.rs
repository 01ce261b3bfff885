//! The stages of a fit of a kernel.

mod blocks;
mod boots;
mod linked;
pub mod plan;
mod request;
mod result;

pub use request::{Compiler, Granularity, KernelRequest, Tracer};

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use trimtab_lab::tools;
use trimtab_lab::tools::Llvm;
use trimtab_lab::workdir::{WorkDir, write_whole};
use trimtab_layout::{Algorithm, InPlace, Movable, Packed, Placement, Projection};
use trimtab_link::{
    CAN_SPLIT, Check, FILE_ORDER, KERNEL_ORDER, LAYOUT, Linker, OrderFile, SPLIT_FLAGS, Splits,
    check, emit, emit_whole,
};
use trimtab_machine::kernel::{
    Build, Configuration, Generated, KernelImage, Release, Source, Toolchain,
};
use trimtab_machine::testbed::{self, Testbed};
use trimtab_machine::{Isa, Platform};
use trimtab_profile::{Profile, Trace, read};
use trimtab_program::{BlockMap, Fragment, PAGE_SIZE, Range};
use trimtab_report::model::FitKernel;

use blocks::Splitting;
use boots::{Booted, Done, Job, Watch};
use linked::{Files, Kernel};
use plan::Scene;
use trimtab_inputs::Text;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, Stage};

/// All that was measured; [`result::model`] makes the report of it.
struct Measured<'a> {
    pub request: &'a KernelRequest,
    pub release: Release,
    pub toolchain: Toolchain,
    pub source_hash: String,
    pub before: Side<'a>,
    pub after: Side<'a>,
    /// The boot of the first kernel that is the measure of all, found in that kernel.
    pub reference: &'a Profile,
    /// The same machine and workload with the kernel laid out.
    pub reference_after: &'a Profile,
    pub held_out: Vec<HeldOut>,
    pub shuffled: Vec<u32>,
    pub order: Check,
    /// Movable fragments, and how many of them lie where the layout said they would.
    pub predicted: (usize, usize),
    pub ftrace: Option<(Profile, Profile)>,
    /// What was split, at the granularity of blocks.
    pub split: Option<SplitCounts>,
    /// The blocks of the kernel laid out, where functions were split.
    pub block_map: Option<&'a BlockMap>,
    pub wall: Wall,
    pub bench: &'a Testbed<'a>,
    pub trace: String,
    pub seconds: Seconds,
}

/// How much of the functions was moved away.
#[derive(Debug, Clone, Copy)]
struct SplitCounts {
    pub functions: u64,
    pub cold_bytes: u64,
    /// Objects that were compiled again.
    pub objects: usize,
}

/// The kernel with functions split, in the objects' own order.
struct SplitKernel<'work> {
    build: Build<'work>,
    files: Files,
    counts: SplitCounts,
    /// The traced boots once more.
    boots: Vec<Done>,
    took: Duration,
}

/// One of the two kernels.
struct Side<'a> {
    pub linked: &'a KernelImage,
    pub kernel: &'a Kernel<'a>,
    pub counted: Done,
}

/// A boot that made no order.
struct HeldOut {
    pub scene: Scene,
    pub before: Profile,
    pub after: Profile,
    pub attempted: u32,
    pub succeeded: u32,
    /// Why the first of the others did not come up.
    pub failed: Option<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seconds {
    pub start: Option<Instant>,
    pub build: Duration,
    pub trace: Duration,
    pub split: Duration,
    pub layout: Duration,
    pub relink: Duration,
}

/// Fits a kernel.
///
/// # Errors
/// Missing tools or sources, no space, a build that fails, a guest that does not come up, a trace
/// that does not fit.
pub fn fit(request: &KernelRequest, progress: &dyn Observe) -> Result<FitKernel> {
    let mut seconds = Seconds { start: Some(Instant::now()), ..Seconds::default() };
    let isa = request.isa;
    can_be_split(request)?;
    let configuration = Configuration::named(&request.config, isa)?.with(&LAYOUT, 1);
    let source = Source::find(request.source.as_deref(), &[&LAYOUT])?;
    let toolchain = toolchain(request, isa)?;
    testbed::require_tools(isa, request.busybox.as_deref())?;
    let work = WorkDir::open(&request.work)?;
    trimtab_lab::interrupt::now_resumable();

    let stage = progress.stage("unpack and patch the kernel source");
    let unpacked = source.unpack(&work, &[&LAYOUT])?;
    stage.ended(unpacked.cached, &format!("Linux {}", unpacked.release.version));
    let stage = progress.stage("configure the kernel");
    let build = Build::configure(&work, &unpacked, &configuration, &toolchain)?;
    let refused = match build.refused() {
        [] => String::new(),
        refused => format!("not available in this kernel: {}", refused.join(" ")),
    };
    stage.ended(build.cached(), &refused);
    if request.granularity == Granularity::Block && !build.has(CAN_SPLIT)? {
        return Err(cannot_split(build.compiler()).into());
    }

    let stage = progress.stage("prepare the guest");
    let bench = Testbed::prepare(&work, isa, request.busybox.as_deref())?;
    stage.ended(bench.cached(), "");
    let stage = progress.stage("build the kernel");
    let before = link(&build, "", &stage)?;
    seconds.build = before.took;
    stage.ended(before.cached, "");
    let before_files = Files::open(&before.vmlinux, &before.map()?)?;
    let before_kernel = before_files.kernel()?;

    // Every boot of the kernel as it was built.
    let traced = plan::traced(request.boots as usize);
    let watch = if request.tracer == Tracer::Ftrace { Watch::Both } else { Watch::Plugin };
    let mut scenes: Vec<(Scene, Watch, u32)> =
        traced.iter().zip(0..).map(|(scene, i)| (scene.clone(), watch, i)).collect();
    scenes.extend(plan::held_out().into_iter().map(|scene| (scene, Watch::Plugin, 0)));
    let has_ftrace = !trimtab_link::kernel::traceable(&before_kernel.program).is_empty();
    if request.tracer == Tracer::Ftrace && !has_ftrace {
        return Err(Failure::new(format!(
            "the configuration {} has no function tracer, which --tracer ftrace needs",
            request.config
        ))
        .hint("use --tracer plugin, or set CONFIG_FUNCTION_TRACER=y")
        .into());
    }
    // The measure of all is a boot without the function tracer, which executes code of its own.
    // Where the order is not made by it, one boot shows what it would have seen.
    match request.tracer {
        Tracer::Ftrace => scenes.push((plan::reference(), Watch::Plugin, 0)),
        Tracer::Plugin if has_ftrace => scenes.push((plan::reference(), Watch::Both, 0)),
        Tracer::Plugin => {}
    }
    let jobs: Vec<Job<'_>> = scenes
        .into_iter()
        .map(|(scene, watch, repetition)| Job { kernel: &before, scene, watch, repetition })
        .collect();
    let stage = progress.stage("trace boots");
    let clock = Instant::now();
    stage.parts(jobs.len() as u64);
    let booted = boots::boot_all(&bench, &jobs, |done| stage.at(done as u64))?;
    let cached = all_cached(&booted);
    let mut booted = jobs
        .iter()
        .zip(booted)
        .map(|(job, boot)| boot.with_context(|| came_up("the kernel as it was built", &job.scene)));
    let mut take = |count: usize| booted.by_ref().take(count).collect::<Result<Vec<Done>>>();
    let (traced_boots, held_out_boots) = (take(traced.len())?, take(plan::held_out().len())?);
    let last = take(1)?.pop();
    let (measured, both) = match request.tracer {
        Tracer::Plugin => (traced_boots[0].clone(), last),
        Tracer::Ftrace => (last.context("a boot is missing")?, Some(traced_boots[0].clone())),
    };
    seconds.trace = clock.elapsed();
    stage.ended(cached, &format!("{} boots", jobs.len()));

    let stage = progress.stage("find what ran");
    let in_blocks = |done: &Done| profile(&before_kernel, &done.blocks()?);
    let calls = |done: &Done| profile(&before_kernel, &done.calls()?);
    let reference = in_blocks(&measured)?;
    let ftrace = both
        .as_ref()
        .map(|done| Ok::<_, anyhow::Error>((in_blocks(done)?, calls(done)?)))
        .transpose()?;
    let profiles = match request.tracer {
        Tracer::Plugin => traced_boots.iter().map(in_blocks).collect::<Result<Vec<Profile>>>()?,
        Tracer::Ftrace => traced_boots.iter().map(calls).collect::<Result<Vec<Profile>>>()?,
    };
    for profile in &profiles {
        profile.coverage().check(request.min_coverage)?;
    }
    stage.done(&format!("{} functions ran", reference.functions().len()));

    // Where functions are split, the kernel with split functions is what is laid out.
    let split = match request.granularity {
        Granularity::Function => None,
        Granularity::Block => {
            let map = before_files.block_map()?;
            let splitting = blocks::splitting(&before_kernel, &map, &build, &profiles)?;
            let split = split_kernel(&build, splitting, &bench, &traced, progress)?;
            seconds.split = split.took;
            Some(split)
        }
    };
    let split_view = split.as_ref().map(|split| split.files.kernel()).transpose()?;
    let (build, kernel, profiles) = match (&split, &split_view) {
        (Some(split), Some(kernel)) => {
            let again = |done: &Done| profile(kernel, &done.blocks()?);
            let profiles = split.boots.iter().map(again).collect::<Result<Vec<Profile>>>()?;
            (&split.build, kernel, profiles)
        }
        _ => (&build, &before_kernel, profiles),
    };
    let stage = progress.stage("lay out");
    let clock = Instant::now();
    let movable = Movable::new(&kernel.fragments, &profiles, |f| kernel.movable(f));
    let problem = movable.problem();
    let order = match request.granularity {
        Granularity::Function => Packed::default().order(&problem),
        Granularity::Block => {
            let page = problem.start / PAGE_SIZE * PAGE_SIZE;
            let front = Range { start: page, end: problem.start };
            let front_ran = profiles[0].executed().within(front).next().is_some();
            InPlace { front_ran, ..InPlace::default() }.order(&problem)
        }
    };
    let listed: Vec<&Fragment<'_>> =
        order.listed().iter().map(|piece| kernel.fragments.get(movable.fragment(*piece))).collect();
    let text = match request.granularity {
        Granularity::Function => emit(Linker::Kernel, listed)?,
        Granularity::Block => emit_whole(&listed)?.text,
    };
    seconds.layout = clock.elapsed();
    stage.done(&format!("{} fragments in the order", order.listed().len()));

    let stage = progress.stage("link the kernel in this order");
    // Linking keeps one processor busy; the other finds out what timed boots can use.
    let after = std::thread::scope(|scope| -> Result<KernelImage> {
        let kvm = scope.spawn(|| match request.wall_boots {
            0 => Ok(()),
            _ => bench.try_kvm(&before),
        });
        let after = link(build, &text, &stage)?;
        kvm.join().map_err(|_| Failure::new("trying KVM ended in a panic: please report it"))??;
        Ok(after)
    })?;
    seconds.relink = after.took;
    stage.ended(after.cached, "");
    let after_files = Files::open(&after.vmlinux, &after.map()?)?;
    let after_kernel = after_files.kernel()?;
    let after_blocks = split.as_ref().map(|_| after_files.block_map()).transpose()?;
    let checked = check(
        &OrderFile::parse(&text)?,
        &after_kernel.program,
        &after_kernel.fragments,
        after_kernel.pinned(),
        Some(&kernel.program),
    );
    let projection = Projection::new(&kernel.fragments, &after_kernel.fragments);
    let address = |piece| projection.address(movable.fragment(piece));
    // What the linker itself puts between functions is known only once it has.
    let made = after_kernel.linker_made();
    let behind = |piece| address(piece).and_then(|at| made.get(&at)).copied().unwrap_or(0);
    let honoured = Placement::with_gaps(&problem, &order, behind).honoured(&order, address);
    let predicted = (problem.pieces.len(), honoured);

    let mut scenes = vec![(plan::reference(), Watch::Plugin)];
    scenes.extend(plan::held_out().into_iter().map(|scene| (scene, Watch::Plugin)));
    let jobs: Vec<Job<'_>> = scenes
        .into_iter()
        .map(|(scene, watch)| Job { kernel: &after, scene, watch, repetition: 0 })
        .collect();
    let stage = progress.stage("boot the kernel laid out");
    stage.parts(jobs.len() as u64);
    let booted = boots::boot_all(&bench, &jobs, |done| stage.at(done as u64))?;
    let cached = all_cached(&booted);
    let booted = jobs
        .iter()
        .zip(booted)
        .map(|(job, boot)| boot.with_context(|| came_up("the kernel laid out", &job.scene)))
        .collect::<Result<Vec<Done>>>()?;
    stage.ended(cached, &format!("{} boots", jobs.len()));
    let in_after = |done: &Done| profile(&after_kernel, &done.blocks()?);
    let reference_after = in_after(&booted[0])?;

    let more = repeat_held_out(&bench, &after, request.held_out_boots, progress)?;
    let held_out = plan::held_out()
        .into_iter()
        .zip(held_out_boots.iter().zip(&booted[1..]))
        .zip(more)
        .map(|((scene, (before, after)), (succeeded, failed))| {
            Ok(HeldOut {
                scene,
                before: in_blocks(before)?,
                after: in_after(after)?,
                attempted: request.held_out_boots,
                // The traced boot is one of them, and it came up.
                succeeded: succeeded + 1,
                failed,
            })
        })
        .collect::<Result<Vec<HeldOut>>>()?;

    let shuffled = crate::shuffled(
        &before_kernel.fragments,
        &reference,
        before_kernel.range(),
        |fragment| before_kernel.movable(fragment),
        request.seed,
    );
    let wall = wall(&bench, &before, &after, request.wall_boots, progress)?;

    // The trace with symbols, so that it also fits another link of the same kernel.
    let trace_path = work.path().join("boot.trace");
    let annotated = match request.tracer {
        Tracer::Plugin => {
            read::write_native(&trace(&traced_boots[0].blocks()?)?, &before_kernel.program)
        }
        // The function tracer names functions itself.
        Tracer::Ftrace => Text::of_trace(&traced_boots[0].calls()?)?.as_str().to_owned(),
    };
    write_whole(&trace_path, annotated.as_bytes())?;
    result::model(Measured {
        request,
        release: unpacked.release.clone(),
        toolchain,
        source_hash: unpacked.key.hash(),
        before: Side { linked: &before, kernel: &before_kernel, counted: measured },
        after: Side { linked: &after, kernel: &after_kernel, counted: booted[0].clone() },
        reference: &reference,
        reference_after: &reference_after,
        held_out,
        shuffled,
        order: checked,
        predicted,
        ftrace,
        split: split.as_ref().map(|split| split.counts),
        block_map: after_blocks.as_ref(),
        wall,
        bench: &bench,
        trace: trace_path.display().to_string(),
        seconds,
    })
}

/// The compilers asked for. Fails at once where they cannot do what they are asked for.
fn toolchain(request: &KernelRequest, isa: Isa) -> Result<Toolchain> {
    let llvm = tools::llvm()?;
    let splits = request.granularity == Granularity::Block && request.compiler == Compiler::Clang;
    if splits && !llvm.maps_blocks() {
        return Err(Failure::new(format!(
            "clang {} cannot split functions: it writes no map of their basic blocks, expected {} \
             or newer",
            llvm.version,
            Llvm::OLDEST_THAT_MAPS_BLOCKS
        ))
        .hint("install a newer LLVM, or use --granularity function; trimtab doctor says what is there")
        .into());
    }
    Ok(match request.compiler {
        Compiler::Clang => Toolchain::Clang(llvm),
        Compiler::Gcc => Toolchain::Gcc { gcc: tools::find(isa.gcc())?, llvm },
    })
}

/// Fails at once where what was asked for is not to be had with functions split.
fn can_be_split(request: &KernelRequest) -> Result<()> {
    if request.granularity == Granularity::Function {
        return Ok(());
    }
    if request.tracer == Tracer::Ftrace {
        return Err(Failure::usage(
            "ftrace sees which functions run, and not which of their blocks; see --help",
        )
        .hint("use --tracer plugin with --granularity block")
        .into());
    }
    match request.compiler {
        Compiler::Clang => Ok(()),
        Compiler::Gcc => Err(cannot_split("gcc").into()),
    }
}

fn cannot_split(compiler: &str) -> Failure {
    Failure::new(format!(
        "{compiler} cannot split functions: the kernel's configuration does not accept \
         CONFIG_BLOCK_ORDER, which needs clang"
    ))
    .hint("use --compiler clang, or --granularity function")
}

/// Compiles what is to be split, links it, and does the traced boots once more: then it is known
/// exactly what ran of each part, and how long each part is.
fn split_kernel<'work>(
    build: &Build<'work>,
    splitting: Splitting,
    bench: &Testbed<'_>,
    scenes: &[Scene],
    progress: &dyn Observe,
) -> Result<SplitKernel<'work>> {
    let stage = progress.stage("compile with functions split");
    let counts = SplitCounts {
        functions: splitting.functions,
        cold_bytes: splitting.cold_bytes,
        objects: splitting.lists.len(),
    };
    let flags = SPLIT_FLAGS.join(" ");
    let first: Vec<&str> = splitting.first.iter().map(String::as_str).collect();
    let splits = Splits { lists: &splitting.lists, flags: &flags, first: &first };
    let build = build.apart(&splits.generated())?;
    let linked = link(&build, FILE_ORDER, &stage)?;
    let files = Files::open(&linked.vmlinux, &linked.map()?)?;
    stage.ended(
        linked.cached,
        &format!("{} functions in {} objects", counts.functions, counts.objects),
    );
    let stage = progress.stage("trace boots with functions split");
    stage.parts(scenes.len() as u64);
    let job = |scene: &Scene| Job {
        kernel: &linked,
        scene: scene.clone(),
        watch: Watch::Plugin,
        repetition: 0,
    };
    let jobs: Vec<Job<'_>> = scenes.iter().map(job).collect();
    let booted = boots::boot_all(bench, &jobs, |done| stage.at(done as u64))?;
    let cached = all_cached(&booted);
    let boots = scenes
        .iter()
        .zip(booted)
        .map(|(scene, boot)| {
            boot.with_context(|| came_up("the kernel with split functions", scene))
        })
        .collect::<Result<Vec<Done>>>()?;
    stage.ended(cached, &format!("{} boots", boots.len()));
    Ok(SplitKernel { build, files, counts, boots, took: linked.took })
}

/// Whether an earlier run did all of these boots.
fn all_cached(boots: &[Booted]) -> bool {
    boots.iter().all(|boot| boot.as_ref().is_ok_and(|done| done.cached))
}

fn came_up(kernel: &str, scene: &Scene) -> String {
    format!("{kernel} did not come up ({})", scene.name)
}

fn link(build: &Build<'_>, order: &str, stage: &Stage) -> Result<KernelImage> {
    let order = Generated::new().with(KERNEL_ORDER, order);
    Ok(build.link(&order, |line| stage.note_make(line))?)
}

fn trace(path: &Path) -> Result<Trace> {
    Text::of_trace(path)?.trace()
}

/// Reads a trace and finds it in a kernel.
fn profile(kernel: &Kernel<'_>, path: &Path) -> Result<Profile> {
    Ok(kernel.profile(&trace(path)?))
}

/// Boots the kernel laid out on each held-out machine until it was booted there `times` times, and
/// counts those that came up.
fn repeat_held_out(
    bench: &Testbed<'_>,
    after: &KernelImage,
    times: u32,
    progress: &dyn Observe,
) -> Result<Vec<(u32, Option<String>)>> {
    let scenes = plan::held_out();
    let more = times.saturating_sub(1);
    if more == 0 {
        return Ok(vec![(0, None); scenes.len()]);
    }
    let stage = progress.stage("boot the held-out machines again");
    let jobs: Vec<Job<'_>> = scenes
        .iter()
        .flat_map(|scene| (0..more).map(move |repetition| (scene.clone(), repetition)))
        .map(|(scene, repetition)| Job {
            kernel: after,
            // Counted, each boot would be the same again.
            scene: scene.in_real_time(),
            watch: Watch::Nothing,
            repetition,
        })
        .collect();
    stage.parts(jobs.len() as u64);
    let booted = boots::boot_all(bench, &jobs, |done| stage.at(done as u64))?;
    stage.ended(all_cached(&booted), &format!("{more} boots of each"));
    Ok(booted
        .chunks(more as usize)
        .map(|boots| (boots.iter().filter(|boot| boot.is_ok()).count() as u32, why(boots.iter())))
        .collect())
}

/// Why the first boot that did not come up did not.
fn why<'a>(mut boots: impl Iterator<Item = &'a Booted>) -> Option<String> {
    boots.find_map(|boot| boot.as_ref().err().map(ToString::to_string))
}

/// Boots of two kernels in turn.
#[derive(Default)]
struct Wall {
    /// Seconds of each pair; none where the guest did not come up.
    pub pairs: Vec<(Option<f64>, Option<f64>)>,
    /// Why the kernel laid out did not come up, where that happened first.
    pub failed: Option<String>,
}

/// Boots the two kernels in turn, and gives the wall times of each pair, in seconds; `None` where
/// the guest did not come up.
fn wall(
    bench: &Testbed<'_>,
    before: &KernelImage,
    after: &KernelImage,
    pairs: u32,
    progress: &dyn Observe,
) -> Result<Wall> {
    if pairs == 0 {
        return Ok(Wall::default());
    }
    let stage = progress.stage("boot the two kernels in turn");
    let jobs: Vec<Job<'_>> = (0..pairs)
        .flat_map(|repetition| {
            [before, after].map(|kernel| Job {
                kernel,
                scene: plan::reference().in_real_time(),
                watch: Watch::Nothing,
                repetition,
            })
        })
        .collect();
    stage.parts(jobs.len() as u64);
    let booted = boots::boot_all(bench, &jobs, |done| stage.at(done as u64))?;
    let seconds = |boot: &Booted| boot.as_ref().ok().map(|done| done.record.wall);
    stage.ended(all_cached(&booted), &format!("{pairs} boots of each"));
    Ok(Wall {
        pairs: booted.chunks(2).map(|pair| (seconds(&pair[0]), seconds(&pair[1]))).collect(),
        failed: why(booted.iter().skip(1).step_by(2)),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use trimtab_lab::process::Tail;
    use trimtab_machine::boot::BootError;

    use super::*;

    #[test]
    fn why_a_repeated_boot_did_not_come_up_is_kept() {
        let hung = |seconds| {
            Err(BootError::Hung {
                limit: Duration::from_secs(seconds),
                tail: Tail::default(),
                argument: "earlyprintk",
            })
        };
        let boots: [Booted; 2] = [hung(60), hung(61)];
        let text = why(boots.iter()).unwrap();
        assert!(text.contains("had not ended after 60 s"), "{text}");
        assert_eq!(why(boots[..0].iter()), None);
    }

    #[test]
    fn a_kernel_that_does_not_come_up_is_told_with_its_last_words() {
        let scene = &plan::held_out()[1];
        let boot: Booted = Err(BootError::Panicked {
            lines: vec!["BUG: unable to handle page fault".to_owned(), "RIP: 0010:foo".to_owned()],
            log: "work/steps/boot-1/console.log".into(),
        });
        assert!(!all_cached(std::slice::from_ref(&boot)));
        let error = boot.with_context(|| came_up("the kernel laid out", scene)).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "the kernel laid out did not come up (2 CPUs): the guest's kernel panicked; \
             the whole console is in work/steps/boot-1/console.log:\n    \
             BUG: unable to handle page fault\n    RIP: 0010:foo"
        );
    }
}
