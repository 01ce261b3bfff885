//! All the ways in which a program is built.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use trimtab_native::measure::processor_seconds;
use trimtab_probe::{Hook, Hooks, Options, Profile, Recording, Selection};

use crate::compare::Plan;
use crate::dyninst::Expectation;
use crate::inline::Inliner;
use crate::variants::{Compilers, Executable, Variant, Workshop};
use trimtab_lab::failure::Failure;

/// What makes up the hot functions: this share of a program's cycles.
const HOT: f64 = 0.8;
/// The hook inline, after clang inlined.
const INLINE: &str = "inline (clang)";
/// What frida runs.
const LISTEN: &str = include_str!("../../../probe/bench/listen.py");

/// A program in all ways.
pub struct Builds {
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
    /// The plain objects.
    pub objects: Vec<PathBuf>,
    /// Bytes of code that the run time has.
    pub runtime_text: u64,
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
pub fn build(plan: &Plan, workshop: &Workshop<'_>) -> anyhow::Result<Builds> {
    // Long: the variants, one after the other.
    workshop.prepare()?;
    let mut builder = Builder { plan, workshop, variants: Vec::new(), failures: Vec::new() };
    let gcc = &plan.gcc;
    let objects = workshop.compile("gcc", gcc, &[])?;
    let plain = workshop.link("plain", gcc, &[], &objects)?;
    builder.add("plain", "", "", 0, &plain)?;

    let all = Selection::default;
    let (timed, functions) = workshop.probe("time-all", gcc, &objects, Hook::Time, all())?;
    let (hot, counter_ns) = builder.record(&timed, |profile, recording| {
        let hot: Vec<String> = profile.hottest(HOT).into_iter().map(str::to_owned).collect();
        (hot, recording.cycles_per_ns.map(|cycles| recording.counter as f64 / cycles))
    })?;
    let (counted, _) = workshop.probe("count-all", gcc, &objects, Hook::Count, all())?;
    let calls = builder.calls(&counted)?;
    let stubs = functions.len() as u64;
    builder.add("trimtab", "count", "all", 0, &counted)?.stubs = Some(stubs);
    builder.add("trimtab", "time", "all", 0, &timed)?.stubs = Some(stubs);
    // Calls alone are where counting shows, and what probes take that are off; elsewhere it is the
    // paper's hook that counts.
    let counts = workshop.program.package.is_none();
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
        let (linked, names) = workshop.probe(&name, gcc, &objects, hook, selection)?;
        builder.add("trimtab", hook.name(), functions, 0, &linked)?.stubs =
            Some(names.len() as u64);
        if counts && (hook, functions) == (Hook::Value, "all") {
            for (hook, linked) in [("count", &counted), ("value", &linked), ("time", &timed)] {
                builder.add("trimtab off", hook, "all", 0, linked)?.environment =
                    vec![("TRIMTAB_PROBE".to_owned(), "off".into())];
            }
        }
    }
    builder.user(gcc, &objects, &hot)?;
    builder.source_level(gcc, counts)?;
    if let Some(clang) = &plan.clang {
        builder.clang(clang, &hot, counts)?;
    }
    if plan.uftrace.is_some() {
        let (linked, _) = workshop.probe("trace-all", gcc, &objects, Hook::Trace, all())?;
        builder.add("trimtab", "trace", "all", 0, &linked)?.stubs = Some(stubs);
        builder.uftrace(gcc, &hot)?;
    }
    let runtime_text = workshop.runtime_text(gcc, &objects, &plain)?;
    // Functions of several files can have the same name.
    let names: Vec<String> = BTreeSet::from_iter(functions).into_iter().collect();
    let sets = [("hot", hot.as_slice()), ("all", names.as_slice())];
    builder.frida(&plain, &sets)?;
    builder.dyninst(&objects, &plain, &counted, &sets)?;
    let Builder { variants, failures, .. } = builder;
    Ok(Builds {
        variants,
        functions: stubs,
        counter_ns,
        hot,
        calls,
        objects,
        runtime_text,
        failures,
    })
}

impl Builder<'_> {
    /// The hook that all are compared with, as a user would write it.
    fn user(&mut self, gcc: &Compilers, objects: &[PathBuf], hot: &[String]) -> anyhow::Result<()> {
        let shop = self.workshop;
        let flags = ["-DUSER", "-fno-tree-vectorize", "-fno-stack-protector"];
        let object = shop.hook("user", gcc, &flags)?;
        let data =
            fs::read(&object).with_context(|| format!("cannot read {}", object.display()))?;
        let hooks = Arc::new(Hooks::read(&data)?);
        for functions in ["hot", "all"] {
            let selection = match functions {
                "hot" => Selection::default().named(hot.iter().cloned()),
                _ => Selection::default(),
            };
            let hooks = Some(Arc::clone(&hooks));
            let options = Options { selection, hooks, ..Options::new(Hook::User) };
            let (linked, names) =
                shop.probe_as(&format!("user-{functions}"), gcc, objects, &options)?;
            self.add("trimtab", "user", functions, 0, &linked)?.stubs = Some(names.len() as u64);
        }
        Ok(())
    }

    fn add(
        &mut self,
        tool: &'static str,
        hook: &'static str,
        functions: &'static str,
        base: usize,
        linked: &Executable,
    ) -> anyhow::Result<&mut Variant> {
        let program = self.workshop.program;
        let simulated = self.workshop.command(linked, program.small);
        self.variants.push(Variant {
            tool,
            hook,
            functions,
            base,
            command: self.workshop.command(linked, program.arguments),
            environment: Vec::new(),
            // Every event written to a file would fill a disk at valgrind's speed, too.
            simulated: (hook != "trace").then_some(simulated),
            is_slow: hook == "trace",
            reports: false,
            left_alone: Vec::new(),
            events: None,
            size: Some(linked.size()?),
            stubs: None,
        });
        self.variants.last_mut().context("a way was added and is not there")
    }

    /// How often the hook of another tool is entered; none, and a failure to tell, if it fails.
    fn entries(&mut self, tool: &str, counting: &Executable) -> Option<u64> {
        let entries = self.workshop.entries(counting);
        entries.map_err(|error| self.failures.push(format!("calls of {tool}: {error:#}"))).ok()
    }

    /// What the compiler puts into each function, inline and as a call.
    fn source_level(&mut self, gcc: &Compilers, counts: bool) -> anyhow::Result<()> {
        let shop = self.workshop;
        let header = shop.folder.join("hooks.h").display().to_string();
        let macros = |hook: &str, flags: &[&str]| -> anyhow::Result<Executable> {
            let mut inline = vec!["-finstrument-functions", "-DINLINE", "-include", &header];
            inline.extend(flags);
            let name = format!("macros-{hook}");
            let mut objects = shop.compile(&name, gcc, &inline)?;
            let mut numbers = vec!["-DINLINE"];
            numbers.extend(flags);
            objects.push(shop.hook(&name, gcc, &numbers)?);
            shop.link(&name, gcc, &[], &objects)
        };
        let ways = [macros("value", &[])?, macros("count", &["-DCOUNT"])?];
        self.source_ways("macros", &ways, counts)?;

        let objects = shop.compile("finstrument", gcc, &["-finstrument-functions"])?;
        let calling = |hook: &str, flags: &[&str]| -> anyhow::Result<Executable> {
            let name = format!("finstrument-{hook}");
            let mut objects = objects.clone();
            objects.push(shop.hook(&name, gcc, flags)?);
            shop.link(&name, gcc, &[], &objects)
        };
        let ways = [calling("value", &[])?, calling("count", &["-DCOUNT"])?];
        self.source_ways("-finstrument-functions", &ways, counts)
    }

    /// Adds a way with the paper's hook and, where that is measured, with one that counts; what that
    /// counts are the calls of both.
    fn source_ways(
        &mut self,
        tool: &'static str,
        [value, count]: &[Executable; 2],
        counts: bool,
    ) -> anyhow::Result<()> {
        let events = self.entries(tool, count);
        self.add(tool, "value", "all", 0, value)?.events = events;
        if counts {
            self.add(tool, "count", "all", 0, count)?.events = events;
        }
        Ok(())
    }

    /// What is measured beside what clang compiles: trimtab, XRay, and the hook inline.
    fn clang(&mut self, clang: &Compilers, hot: &[String], counts: bool) -> anyhow::Result<()> {
        let shop = self.workshop;
        let objects = shop.compile("clang", clang, &[])?;
        let plain = shop.link("plain-clang", clang, &[], &objects)?;
        let base = self.variants.len();
        self.add("plain", "", "", base, &plain)?;
        let hot = source_names(hot);
        let inliner = Inliner::new(shop, clang);
        for functions in ["hot", "all"] {
            let selection = || match functions {
                "hot" => Selection::default().named(hot.iter().cloned()),
                _ => Selection::default(),
            };
            let name = format!("clang-count-{functions}");
            let (counted, names) = shop.probe(&name, clang, &objects, Hook::Count, selection())?;
            let events = Some(self.calls(&counted)?.values().sum());
            let hooks = match counts && functions == "all" {
                true => [Hook::Value, Hook::Count].as_slice(),
                false => &[Hook::Value],
            };
            for hook in hooks {
                let name = format!("clang-{}-{functions}", hook.name());
                let (linked, _) = shop.probe(&name, clang, &objects, *hook, selection())?;
                self.add("trimtab (clang)", hook.name(), functions, base, &linked)?.events = events;
            }
            self.xray(clang, base, (functions, &hot), hooks)?;
            if let Ok(inliner) = &inliner
                && let Err(error) = self.inline(inliner, base, (functions, &names), hooks)
            {
                self.failures.push(format!("{INLINE}: {error:#}"));
            }
        }
        if let Err(error) = inliner {
            self.failures.push(format!("{INLINE}: {error:#}"));
        }
        Ok(())
    }

    /// clang's XRay.
    fn xray(
        &mut self,
        clang: &Compilers,
        base: usize,
        (functions, hot): (&'static str, &BTreeSet<String>),
        hooks: &[Hook],
    ) -> anyhow::Result<()> {
        let shop = self.workshop;
        let lines: String = hot.iter().map(|name| format!("fun:{name}\n")).collect();
        // Named by what is in it: objects of another list are compiled anew.
        let mut hasher = DefaultHasher::new();
        lines.hash(&mut hasher);
        let list = shop.folder.join(format!("xray-hot-{:016x}.txt", hasher.finish()));
        trimtab_lab::workload::programs::write_if_new(&list, &format!("[always]\n{lines}"))?;
        let list = format!("-fxray-attr-list={}", list.display());
        let mut flags = vec!["-fxray-instrument"];
        match functions {
            // No other function is so long.
            "hot" => {
                flags.extend([&list, "-fxray-instruction-threshold=1000000", "-fxray-ignore-loops"])
            }
            _ => flags.push("-fxray-instruction-threshold=1"),
        }
        let objects = shop.compile(&format!("xray-{functions}"), clang, &flags)?;
        let link = |hook: Hook| -> anyhow::Result<Executable> {
            let mut flags = vec!["-DXRAY", "-fxray-instrument"];
            if hook == Hook::Count {
                flags.push("-DCOUNT");
            }
            let name = format!("xray-{}-{functions}", hook.name());
            let mut objects = objects.clone();
            objects.push(shop.hook(&name, clang, &flags)?);
            shop.link(&name, clang, &["-fxray-instrument"], &objects)
        };
        let events = self.entries("clang XRay", &link(Hook::Count)?);
        for hook in hooks {
            let linked = link(*hook)?;
            self.add("clang XRay", hook.name(), functions, base, &linked)?.events = events;
        }
        Ok(())
    }

    /// The hook inline in the functions that trimtab instruments, after the compiler inlined.
    fn inline(
        &mut self,
        inliner: &Inliner<'_>,
        base: usize,
        (functions, names): (&'static str, &[String]),
        hooks: &[Hook],
    ) -> anyhow::Result<()> {
        let link = |hook: Hook| {
            let flags: &[&str] = if hook == Hook::Count { &["-DCOUNT"] } else { &[] };
            inliner.link(&format!("inline-{}-{functions}", hook.name()), names, flags)
        };
        let events = self.entries(INLINE, &link(Hook::Count)?);
        for hook in hooks {
            let linked = link(*hook)?;
            self.add(INLINE, hook.name(), functions, base, &linked)?.events = events;
        }
        Ok(())
    }

    /// uftrace: everything by way of -pg, and the hot functions by way of patchable entries.
    fn uftrace(&mut self, gcc: &Compilers, hot: &[String]) -> anyhow::Result<()> {
        let shop = self.workshop;
        let objects = shop.compile("pg", gcc, &["-pg"])?;
        let traced = shop.link("pg", gcc, &["-pg"], &objects)?;
        self.add_uftrace("uftrace -pg", "all", &[], &traced)?;
        let objects = shop.compile("patchable", gcc, &["-fpatchable-function-entry=5"])?;
        let patched = shop.link("patchable", gcc, &[], &objects)?;
        let patterns: Vec<String> = source_names(hot).iter().map(|n| format!("-P^{n}$")).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        self.add_uftrace("uftrace patchable", "hot", &patterns, &patched)
    }

    fn add_uftrace(
        &mut self,
        tool: &'static str,
        functions: &'static str,
        options: &[&str],
        linked: &Executable,
    ) -> anyhow::Result<()> {
        let Some(uftrace) = &self.plan.uftrace else { return Ok(()) };
        let variant = self.add(tool, "trace", functions, 0, linked)?;
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
        Ok(())
    }

    /// frida's Interceptor, on each of these sets of functions.
    fn frida(
        &mut self,
        plain: &Executable,
        sets: &[(&'static str, &[String])],
    ) -> anyhow::Result<()> {
        let Some(python) = &self.plan.frida else { return Ok(()) };
        let folder = self.workshop.folder;
        let script = folder.join("listen.py");
        trimtab_lab::workload::programs::write_if_new(&script, LISTEN)?;
        for &(functions, names) in sets {
            let list = folder.join(format!("{functions}.txt"));
            trimtab_lab::workload::programs::write_if_new(&list, &names.join("\n"))?;
            let mut command: Vec<OsString> =
                vec![python.into(), script.clone().into(), list.into()];
            command.extend(self.workshop.command(plain, self.workshop.program.arguments));
            self.variants.push(Variant {
                tool: "frida",
                hook: "value",
                functions,
                base: 0,
                command,
                environment: Vec::new(),
                simulated: None,
                is_slow: true,
                reports: true,
                left_alone: Vec::new(),
                events: None,
                size: None,
                stubs: None,
            });
        }
        Ok(())
    }

    /// Calls of each function in one run of a program that counts them.
    fn calls(&self, counted: &Executable) -> anyhow::Result<BTreeMap<String, u64>> {
        self.record(counted, |profile, _| {
            let mut calls = BTreeMap::new();
            // Functions of several files can have the same name.
            for row in &profile.functions {
                *calls.entry(row.name.clone()).or_default() += row.calls;
            }
            calls
        })
    }

    /// What Dyninst makes of the program, for each of these sets of functions, if that does what it
    /// did and calls the hook as often as it has to. `counted` is the program that counts its calls.
    fn dyninst(
        &mut self,
        objects: &[PathBuf],
        plain: &Executable,
        counted: &Executable,
        sets: &[(&'static str, &[String])],
    ) -> anyhow::Result<()> {
        let Some(rewriter) = &self.plan.dyninst else { return Ok(()) };
        let (shop, gcc) = (self.workshop, &self.plan.gcc);
        let mut objects = objects.to_vec();
        objects.push(shop.hook("dyninst", gcc, &["-DDYNINST"])?);
        let target = shop.link("dyninst-target", gcc, &[&rewriter.link_flag()], &objects)?;
        let expected = Expectation {
            output: shop.observe(plain, &[])?,
            calls: [self.both_ways(counted)?, self.both_ways(counted)?],
        };
        for &(functions, names) in sets {
            match rewriter.rewrite(shop, &target, (functions, names), &expected) {
                Ok(rewritten) => {
                    let left_alone = rewritten.left_alone;
                    if !left_alone.is_empty() {
                        let line = format!(
                            "dyninst cannot instrument {} of {} functions ({functions}): {}",
                            left_alone.len(),
                            names.len(),
                            first(&left_alone)
                        );
                        self.failures.push(line);
                    }
                    self.add("dyninst", "value", functions, 0, &rewritten.linked)?.left_alone =
                        left_alone;
                }
                Err(error) => self.failures.push(format!("dyninst ({functions}): {error:#}")),
            }
        }
        Ok(())
    }

    /// Calls and returns of each function in one run of a program that counts them.
    fn both_ways(&self, counted: &Executable) -> anyhow::Result<BTreeMap<String, (u64, u64)>> {
        self.record(counted, |_, recording| {
            let mut both: BTreeMap<String, (u64, u64)> = BTreeMap::new();
            for function in &recording.functions {
                let (calls, exits) = both.entry(function.name.clone()).or_default();
                *calls += function.calls;
                *exits += function.exits;
            }
            both
        })
    }

    /// Runs an instrumented program once, and reads what it recorded.
    fn record<T>(
        &self,
        linked: &Executable,
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

/// Some names, and how many more there are.
fn first(names: &[String]) -> String {
    const MOST: usize = 12;
    let more = names.len().saturating_sub(MOST);
    let some = names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { some } else { format!("{some} and {more} more") }
}

/// Names as they are in the source: compilers append what they did to a function.
fn source_names(names: &[String]) -> BTreeSet<String> {
    names.iter().map(|name| name.split('.').next().unwrap_or(name).to_owned()).collect()
}
