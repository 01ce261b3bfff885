//! All the ways in which a program is built.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use anyhow::Context;
use trimtab_lab::measure::processor_seconds;
use trimtab_probe::{Hook, Profile, Recording, Selection};

use super::compare::Plan;
use super::dyninst::Expected;
use super::variants::{Compilers, Linked, Variant, Workshop};
use crate::failure::Failure;

/// What makes up the hot functions: this share of a program's cycles.
const HOT: f64 = 0.8;
/// What frida runs.
const LISTEN: &str = include_str!("../../../../../probe/bench/listen.py");

/// A program in all ways.
pub struct Built {
    /// The ways.
    pub variants: Vec<Variant>,
    /// How many functions can be instrumented.
    pub functions: u64,
    /// Nanoseconds that reading the counter of cycles takes.
    pub counter_ns: Option<f64>,
    /// Names of those that make up the hot share.
    pub hot: Vec<String>,
    /// Calls of each in one run.
    pub calls: BTreeMap<String, u64>,
    /// Bytes of the plain objects.
    pub objects: Vec<PathBuf>,
    /// What another tool could not build, and why.
    pub failures: Vec<String>,
}

struct Builder<'a> {
    plan: &'a Plan,
    workshop: &'a Workshop<'a>,
    variants: Vec<Variant>,
    failures: Vec<String>,
}

/// Builds a program in all ways.
///
/// # Errors
/// What cannot be built.
pub fn build(plan: &Plan, workshop: &Workshop<'_>) -> anyhow::Result<Built> {
    workshop.prepare()?;
    let mut builder = Builder { plan, workshop, variants: Vec::new(), failures: Vec::new() };
    let gcc = &plan.gcc;
    let objects = workshop.compile("gcc", gcc, &[])?;
    let plain = workshop.link("plain", gcc, &[], &objects)?;
    builder.add("plain", "", "", 0, &plain);

    let all = Selection::default;
    let (timed, functions) = workshop.probe("time-all", gcc, &objects, Hook::Time, all())?;
    let (hot, counter_ns) = builder.record(&timed, |profile, recording| {
        let hot: Vec<String> = profile.hottest(HOT).into_iter().map(str::to_owned).collect();
        (hot, recording.cycles_per_ns.map(|cycles| recording.counter as f64 / cycles))
    })?;
    let (counted, _) = workshop.probe("count-all", gcc, &objects, Hook::Count, all())?;
    let calls = builder.calls(&counted)?;
    builder.add("trimtab", "count", "all", 0, &counted);
    builder.add("trimtab", "time", "all", 0, &timed);
    let selected = || Selection::default().named(hot.clone());
    for (hook, functions) in [
        (Hook::Count, "hot"),
        (Hook::Value, "hot"),
        (Hook::Value, "all"),
        (Hook::Cycles, "hot"),
        (Hook::Cycles, "all"),
    ] {
        let selection = if functions == "hot" { selected() } else { all() };
        let name = format!("{}-{functions}", hook.name());
        let (linked, _) = workshop.probe(&name, gcc, &objects, hook, selection)?;
        builder.add("trimtab", hook.name(), functions, 0, &linked);
    }
    // Calls alone are where counting shows; elsewhere it is the paper's hook that counts.
    let counts = workshop.program.package.is_none();
    builder.source_level(gcc, counts)?;
    if let Some(clang) = &plan.clang {
        builder.clang(clang, &hot, counts)?;
    }
    if plan.uftrace.is_some() {
        let (linked, _) = workshop.probe("trace-all", gcc, &objects, Hook::Trace, all())?;
        builder.add("trimtab", "trace", "all", 0, &linked);
        builder.uftrace(gcc, &hot)?;
    }
    builder.frida(&plain, &hot)?;
    builder.dyninst(&objects, &plain, &counted, &hot)?;
    let Builder { variants, failures, .. } = builder;
    Ok(Built { variants, functions, counter_ns, hot, calls, objects, failures })
}

impl Builder<'_> {
    fn add(
        &mut self,
        tool: &'static str,
        hook: &'static str,
        functions: &'static str,
        base: usize,
        linked: &Linked,
    ) {
        let program = self.workshop.program;
        let simulated = self.workshop.command(linked, program.small);
        self.variants.push(Variant {
            tool,
            hook,
            functions,
            base,
            command: self.workshop.command(linked, program.arguments),
            // Every event written to a file would fill a disk at valgrind's speed, too.
            simulated: (hook != "trace").then_some(simulated),
            is_slow: hook == "trace",
            reports: false,
            left_alone: Vec::new(),
        });
    }

    /// What the compiler puts into each function, inline and as a call.
    fn source_level(&mut self, gcc: &Compilers, counts: bool) -> anyhow::Result<()> {
        let shop = self.workshop;
        let hooks: &[(&'static str, &[&str])] = match counts {
            true => &[("value", &[]), ("count", &["-DCOUNT"])],
            false => &[("value", &[])],
        };
        let header = shop.folder.join("hooks.h").display().to_string();
        for (hook, flags) in hooks {
            let mut inline = vec!["-finstrument-functions", "-DINLINE", "-include", &header];
            inline.extend(*flags);
            let name = format!("macros-{hook}");
            let mut objects = shop.compile(&name, gcc, &inline)?;
            objects.push(shop.hook(&name, gcc, &["-DINLINE"])?);
            let linked = shop.link(&name, gcc, &[], &objects)?;
            self.add("macros", hook, "all", 0, &linked);

            let mut objects = shop.compile("finstrument", gcc, &["-finstrument-functions"])?;
            let name = format!("finstrument-{hook}");
            objects.push(shop.hook(&name, gcc, flags)?);
            let linked = shop.link(&name, gcc, &[], &objects)?;
            self.add("-finstrument-functions", hook, "all", 0, &linked);
        }
        Ok(())
    }

    /// clang's XRay, and trimtab with what clang compiles.
    fn clang(&mut self, clang: &Compilers, hot: &[String], counts: bool) -> anyhow::Result<()> {
        let shop = self.workshop;
        let objects = shop.compile("clang", clang, &[])?;
        let plain = shop.link("plain-clang", clang, &[], &objects)?;
        let base = self.variants.len();
        self.add("plain", "", "", base, &plain);
        let hot = source_names(hot);
        let mut ways = vec![
            (Hook::Value, "hot", Selection::default().named(hot.iter().cloned())),
            (Hook::Value, "all", Selection::default()),
        ];
        if counts {
            ways.push((Hook::Count, "all", Selection::default()));
        }
        for (hook, functions, selection) in ways {
            let name = format!("clang-{}-{functions}", hook.name());
            let (linked, _) = shop.probe(&name, clang, &objects, hook, selection)?;
            self.add("trimtab (clang)", hook.name(), functions, base, &linked);

            let lines: String = hot.iter().map(|name| format!("fun:{name}\n")).collect();
            // Named by what is in it: objects of another list are compiled anew.
            let mut hasher = DefaultHasher::new();
            lines.hash(&mut hasher);
            let list = shop.folder.join(format!("xray-hot-{:016x}.txt", hasher.finish()));
            super::programs::write_if_new(&list, &format!("[always]\n{lines}"))?;
            let list = format!("-fxray-attr-list={}", list.display());
            let mut flags = vec!["-fxray-instrument"];
            match functions {
                // No other function is so long.
                "hot" => flags.extend([
                    &list,
                    "-fxray-instruction-threshold=1000000",
                    "-fxray-ignore-loops",
                ]),
                _ => flags.push("-fxray-instruction-threshold=1"),
            }
            let mut objects = shop.compile(&format!("xray-{functions}"), clang, &flags)?;
            let mut flags = vec!["-DXRAY", "-fxray-instrument"];
            if hook == Hook::Count {
                flags.push("-DCOUNT");
            }
            let name = format!("xray-{}-{functions}", hook.name());
            objects.push(shop.hook(&name, clang, &flags)?);
            let linked = shop.link(&name, clang, &["-fxray-instrument"], &objects)?;
            self.add("clang XRay", hook.name(), functions, base, &linked);
        }
        Ok(())
    }

    /// uftrace: everything by way of -pg, and the hot functions by way of patchable entries.
    fn uftrace(&mut self, gcc: &Compilers, hot: &[String]) -> anyhow::Result<()> {
        let shop = self.workshop;
        let objects = shop.compile("pg", gcc, &["-pg"])?;
        let traced = shop.link("pg", gcc, &["-pg"], &objects)?;
        self.add_uftrace("uftrace -pg", "all", &[], &traced);
        let objects = shop.compile("patchable", gcc, &["-fpatchable-function-entry=5"])?;
        let patched = shop.link("patchable", gcc, &[], &objects)?;
        let patterns: Vec<String> = source_names(hot).iter().map(|n| format!("-P^{n}$")).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        self.add_uftrace("uftrace patchable", "hot", &patterns, &patched);
        Ok(())
    }

    fn add_uftrace(
        &mut self,
        tool: &'static str,
        functions: &'static str,
        options: &[&str],
        linked: &Linked,
    ) {
        let Some(uftrace) = &self.plan.uftrace else { return };
        self.add(tool, "trace", functions, 0, linked);
        let Some(variant) = self.variants.last_mut() else { return };
        let fixed = [
            "record",
            "--demangle=no",
            "--no-libcall",
            "--no-event",
            "--no-args",
            "-d",
            "uftrace.data",
        ];
        let mut command = vec![uftrace.clone().into_os_string()];
        command.extend(fixed.iter().chain(options).map(OsString::from));
        command.append(&mut variant.command);
        variant.command = command;
    }

    /// frida's Interceptor on the hot functions.
    fn frida(&mut self, plain: &Linked, hot: &[String]) -> anyhow::Result<()> {
        let Some(python) = &self.plan.frida else { return Ok(()) };
        let folder = self.workshop.folder;
        let (script, names) = (folder.join("listen.py"), folder.join("hot.txt"));
        super::programs::write_if_new(&script, LISTEN)?;
        super::programs::write_if_new(&names, &hot.join("\n"))?;
        let mut command: Vec<OsString> = vec![python.into(), script.into(), names.into()];
        command.extend(self.workshop.command(plain, self.workshop.program.arguments));
        self.variants.push(Variant {
            tool: "frida",
            hook: "value",
            functions: "hot",
            base: 0,
            command,
            simulated: None,
            is_slow: true,
            reports: true,
            left_alone: Vec::new(),
        });
        Ok(())
    }

    /// Calls of each function in one run of a program that counts them.
    fn calls(&self, counted: &Linked) -> anyhow::Result<BTreeMap<String, u64>> {
        self.record(counted, |profile, _| {
            let mut calls = BTreeMap::new();
            // Functions of several files can have the same name.
            for row in &profile.functions {
                *calls.entry(row.name.clone()).or_default() += row.calls;
            }
            calls
        })
    }

    /// What Dyninst makes of the program, if that does what it did and calls the hook as often as
    /// it has to. `counted` is the program that counts its calls.
    fn dyninst(
        &mut self,
        objects: &[PathBuf],
        plain: &Linked,
        counted: &Linked,
        hot: &[String],
    ) -> anyhow::Result<()> {
        let Some(rewriter) = &self.plan.dyninst else { return Ok(()) };
        let (shop, gcc) = (self.workshop, &self.plan.gcc);
        let mut objects = objects.to_vec();
        objects.push(shop.hook("dyninst", gcc, &["-DDYNINST"])?);
        let target = shop.link("dyninst-target", gcc, &[&rewriter.link_flag()], &objects)?;
        let expected = Expected {
            output: shop.observe(plain, &[])?,
            calls: [self.calls(counted)?, self.calls(counted)?],
        };
        match rewriter.rewrite(shop, &target, hot, &expected) {
            Ok(rewritten) => {
                self.add("dyninst", "value", "hot", 0, &rewritten.linked);
                if let ([_, ..], Some(variant)) =
                    (rewritten.left_alone.as_slice(), self.variants.last_mut())
                {
                    let names = rewritten.left_alone.join(", ");
                    self.failures.push(format!("dyninst cannot instrument {names}"));
                    variant.left_alone = rewritten.left_alone;
                }
            }
            Err(error) => self.failures.push(format!("dyninst: {error:#}")),
        }
        Ok(())
    }

    /// Runs an instrumented program once, and reads what it recorded.
    fn record<T>(
        &self,
        linked: &Linked,
        look: impl Fn(&Profile, &Recording<'_>) -> T,
    ) -> anyhow::Result<T> {
        let folder = self.workshop.folder;
        let command = self.workshop.command(linked, self.workshop.program.arguments);
        let environment = [("TRIMTAB_PROBE_FILE".to_owned(), OsString::from("record.out"))];
        processor_seconds(&command, folder, &environment)?;
        let path = folder.join("record.out");
        let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let recording = Recording::parse(&data)?;
        let profile = Profile::of(std::slice::from_ref(&recording))
            .ok_or_else(|| Failure::new(format!("{} is empty", path.display())))?;
        Ok(look(&profile, &recording))
    }
}

/// Names as they are in the source: compilers append what they did to a function.
fn source_names(names: &[String]) -> BTreeSet<String> {
    names.iter().map(|name| name.split('.').next().unwrap_or(name).to_owned()).collect()
}
