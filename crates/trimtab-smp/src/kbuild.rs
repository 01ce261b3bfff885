//! What a makefile of the kernel compiles only with SMP.

/// What the makefile of a folder says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnlySmp {
    /// Objects that are only compiled with SMP, without their ending: `smpboot`.
    pub objects: Vec<String>,
    /// Folders that are only entered with SMP: `smp`.
    pub folders: Vec<String>,
}

/// Whether a file is a makefile that says what is compiled.
pub fn is_makefile(path: &str) -> bool {
    matches!(path.rsplit_once('/').map_or(path, |(_, name)| name), "Makefile" | "Kbuild")
}

/// How a makefile names the option: a variable since 2.2, its value in lists since 2.4.
const NAMES: [&str; 2] = ["CONFIG_SMP", "SMP"];

/// Reads a makefile: `obj-$(CONFIG_SMP) += a.o`, and objects within `ifdef CONFIG_SMP`.
pub fn only_smp(text: &str) -> OnlySmp {
    let mut found = OnlySmp::default();
    // For each conditional that is open: whether it needs SMP, and whether the branch is that one.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in joined.lines().filter(|line| !line.starts_with('\t')) {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        match word {
            "ifdef" | "ifeq" => open.push((needs_smp(word, rest), true)),
            "ifndef" | "ifneq" => open.push((needs_smp(word, rest), needs_smp("ifneq", rest))),
            "else" => {
                if let Some((_, is_branch)) = open.last_mut() {
                    *is_branch = !*is_branch;
                }
            }
            "endif" => _ = open.pop(),
            _ => {
                let is_inside = open.iter().any(|(needs, is_branch)| *needs && *is_branch);
                found.assignment(line, is_inside);
            }
        }
    }
    for list in [&mut found.objects, &mut found.folders] {
        list.sort();
        list.dedup();
    }
    found
}

/// Whether a conditional asks for SMP.
fn needs_smp(word: &str, rest: &str) -> bool {
    let plain: String = rest.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
    NAMES.iter().any(|name| match word {
        "ifdef" | "ifndef" => plain == *name,
        "ifeq" => {
            ["($(N),y)", "($(N),1)", "$(N)y"].iter().any(|form| plain == form.replace('N', name))
        }
        _ => plain == format!("($({name}),)"),
    })
}

impl OnlySmp {
    /// Takes `obj-$(CONFIG_SMP) += smp.o apic/`.
    fn assignment(&mut self, line: &str, is_inside: bool) {
        let Some((left, right)) = line.split_once('=') else { return };
        let left = left.trim_end_matches([':', '+', '?']).trim();
        if !is_inside && !left.ends_with("-$(CONFIG_SMP)") {
            return;
        }
        for word in right.split_whitespace() {
            if let Some(object) = word.strip_suffix(".o") {
                self.objects.push(object.to_owned());
            } else if let Some(folder) = word.strip_suffix('/')
                && left.starts_with("obj-")
            {
                self.folders.push(folder.to_owned());
            }
        }
    }

    /// Whether a file, by its path in the makefile's folder, is compiled only with SMP.
    pub fn has(&self, path: &str) -> bool {
        let stem = path.strip_suffix(".c").or_else(|| path.strip_suffix(".S"));
        let is_in = |folder: &String| {
            path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        stem.is_some_and(|stem| self.objects.iter().any(|object| object == stem))
            || self.folders.iter().any(is_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_all_ages_are_read() {
        for (text, objects) in [
            ("obj-$(CONFIG_SMP) += smp.o \\\n\tboot.o # trampoline.o\n", vec!["boot", "smp"]),
            ("obj-$(CONFIG_SMP)\t\t:= smp.o\nobj-y += a.o\n", vec!["smp"]),
            ("sched-$(CONFIG_SMP) += cpupri.o\nlib-$(CONFIG_SMP)+=dec.o", vec!["cpupri", "dec"]),
            (
                "ifdef SMP\nO_OBJS += smp.o\nelse\nO_OBJS += up.o\nendif\nO_OBJS += b.o\n",
                vec!["smp"],
            ),
            (
                "ifeq ($(CONFIG_SMP),y)\nobj-y += a.o\nifdef X\nobj-y += b.o\nendif\nendif\n",
                vec!["a", "b"],
            ),
            ("ifeq \"$(CONFIG_SMP)\" \"y\"\nobj-y += a.o\nendif\n", vec!["a"]),
            ("ifneq ($(CONFIG_SMP),)\nobj-y += a.o\nelse\nobj-y += b.o\nendif\n", vec!["a"]),
            ("ifndef CONFIG_SMP\nobj-y += up.o\nelse\nobj-y += smp.o\nendif\n", vec!["smp"]),
            ("obj-$(CONFIG_SMPX) += a.o\n\tifdef SMP\nendif\nendif\nelse\nobj-y += c.o\n", vec![]),
        ] {
            assert_eq!(only_smp(text).objects, objects, "{text}");
        }
    }

    #[test]
    fn files_are_those_of_the_objects_and_folders() {
        let found = only_smp("obj-$(CONFIG_SMP) += smp.o locks/\n");
        for (path, is_only) in [
            ("smp.c", true),
            ("smp.S", true),
            ("smp.h", false),
            ("locks/a.c", true),
            ("locks.c", false),
            ("sub/smp.c", false),
        ] {
            assert_eq!(found.has(path), is_only, "{path}");
        }
        assert!(
            is_makefile("a/Kbuild") && is_makefile("Makefile") && !is_makefile("a/Makefile.in")
        );
    }
}
