//! The hook inline in the functions that are left after inlining, in what clang compiles.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::process::Job;

use crate::variants::{Compilers, Executable, Workshop};
use trimtab_lab::threads;
use trimtab_lab::workload::programs::write_if_new;

/// What LLVM puts calls to into functions that have these attributes.
const HOOKS: [(&str, &str); 2] = [
    ("instrument-function-entry-inlined", "__cyg_profile_func_enter"),
    ("instrument-function-exit-inlined", "__cyg_profile_func_exit"),
];

/// LLVM's tools of the compiler's version.
pub struct Inliner<'a> {
    shop: &'a Workshop<'a>,
    clang: &'a Compilers,
    tools: PathBuf,
    passes: String,
    /// The program as clang has optimised it, before it becomes machine code.
    bitcode: Vec<PathBuf>,
}

impl<'a> Inliner<'a> {
    /// Compiles the program.
    ///
    /// # Errors
    /// That it cannot be compiled, or LLVM's tools are not there.
    pub fn new(shop: &'a Workshop<'a>, clang: &'a Compilers) -> anyhow::Result<Self> {
        let whole = fs::canonicalize(&clang.c)
            .with_context(|| format!("cannot find {}", clang.c.display()))?;
        let tools = whole.parent().unwrap_or(Path::new(".")).to_owned();
        let known = Job::new("asking LLVM what it can do", tools.join("opt"))
            .tool("opt")
            .arg("--print-passes")
            .run_captured()?;
        Ok(Self {
            passes: passes(&known),
            bitcode: shop.compile("ir", clang, &["-emit-llvm"])?,
            shop,
            clang,
            tools,
        })
    }

    /// Links the program with the hook inline in these functions. What optimises it further has
    /// nothing left to inline but the hook, so that all else is as in the plain program.
    ///
    /// # Errors
    /// That a tool fails.
    pub fn link(
        &self,
        name: &str,
        functions: &[String],
        flags: &[&str],
    ) -> anyhow::Result<Executable> {
        let (shop, clang) = (self.shop, self.clang);
        let place = shop.place(name)?;
        let list = place.join("functions.csv");
        write_if_new(&list, &attributes(functions))?;
        let hooks = place.join("hooks.bc");
        Job::new("compiling the hook to put inline", &clang.c)
            .args(["-O2", "-emit-llvm", "-c", "-DAFTER_INLINING"])
            .args(flags)
            .arg(shop.folder.join("hooks.c"))
            .arg("-o")
            .arg(&hooks)
            .run()?;
        let one = |_: usize, from: &PathBuf| {
            let stem = from.file_stem().unwrap_or_default().display();
            let [joined, hooked, object] =
                ["joined.bc", "hooked.bc", "o"].map(|end| place.join(format!("{stem}.{end}")));
            Job::new("joining a program and the hook", self.tools.join("llvm-link"))
                .tool("opt")
                .arg("--internalize")
                .args([from, &hooks])
                .arg("-o")
                .arg(&joined)
                .run()?;
            Job::new("putting the hook inline", self.tools.join("opt"))
                .tool("opt")
                .arg(format!("-forceattrs-csv-path={}", list.display()))
                .arg(format!("-passes={}", self.passes))
                .arg(&joined)
                .arg("-o")
                .arg(&hooked)
                .run()?;
            Job::new("compiling what has the hook inline", shop.compiler(clang))
                .dir(shop.folder)
                .args(["-O3", "-w"])
                .args(&shop.sources.flags)
                .args(["-Xclang", "-disable-llvm-passes", "-c"])
                .arg(&hooked)
                .arg("-o")
                .arg(&object)
                .run()?;
            Ok(object)
        };
        let mut objects = threads::each(&self.bitcode, one, |_| ())?;
        let mut numbers = vec!["-DINLINE"];
        numbers.extend(flags);
        objects.push(shop.hook(name, clang, &numbers)?);
        shop.link(name, clang, &[], &objects)
    }
}

/// The passes that put the hook in, by the names that this version of LLVM has for them.
fn passes(known: &str) -> String {
    let put = match known.contains("post-inline-ee-instrument") {
        true => "post-inline-ee-instrument",
        false => "ee-instrument<post-inline>",
    };
    format!("forceattrs,function({put}),always-inline,globaldce,function(early-cse,dce)")
}

/// What LLVM reads: functions, each with an attribute.
fn attributes(functions: &[String]) -> String {
    let line =
        |name: &String| HOOKS.map(|(attribute, hook)| format!("{name},{attribute}={hook}\n"));
    functions.iter().flat_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_get_both_hooks_by_the_names_that_llvm_knows() {
        let text = attributes(&["a".to_owned(), "_ZN1bE".to_owned()]);
        assert_eq!(text.lines().count(), 4);
        let first = "a,instrument-function-entry-inlined=__cyg_profile_func_enter";
        assert_eq!(text.lines().next(), Some(first));
        assert!(passes("  post-inline-ee-instrument\n").contains("function(post-inline-ee"));
        assert!(passes("ee-instrument<post-inline>\n").contains("(ee-instrument<post-inline>)"));
    }
}
