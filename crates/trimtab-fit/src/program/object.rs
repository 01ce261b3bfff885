//! The linked files that are laid out: where they are, in which versions, and what is in them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trimtab_lab::workdir::write_whole;
use trimtab_native::program::build::link_of;
use trimtab_native::program::place::{Place, folder_for};
use trimtab_native::program::wrap::{COMPILER_FLAGS, Link};
use trimtab_program::{Fragments, LinkMap, Origin, Program, Range, SectionId};
use trimtab_report::number::share;

use trimtab_inputs::{self as inputs, Elf, Text};
use trimtab_lab::failure::Failure;

/// The least share of the text that has to be in sections of single functions. Assembly is not, and
/// templates of C++ are even where a build ignores the flag.
const LEAST_SEPARATE: f64 = 0.3;

/// One linked file of the build.
#[derive(Debug)]
pub(super) struct LinkedFile {
    /// Where the build puts it.
    pub place: Place,
    /// The link that made it.
    pub link: Link,
    folder: PathBuf,
    name: String,
}

impl LinkedFile {
    /// Finds the link that made the file at `path`. `folder` is for what is kept of it.
    pub fn new(path: &Path, links: &[Link], folder: &Path) -> Result<Self> {
        // Before it is looked for: then this says more than that it is not there.
        if links.is_empty() {
            return Err(not_linked(path, links).into());
        }
        let link = link_of(links, path)?.ok_or_else(|| not_linked(path, links))?;
        let place = Place::of(path)?;
        if place.mode()? & 0o6000 != 0 {
            return Err(Failure::new(format!(
                "{} is setuid or setgid: the system refuses to let it be traced as itself",
                path.display()
            ))
            .hint("fit it without that bit, as its build leaves it before it is installed")
            .into());
        }
        let name = place.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(LinkedFile { folder: folder.to_owned(), link: link.clone(), place, name })
    }

    /// A file of the work directory that belongs to it.
    pub fn beside(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}.{what}", self.name))
    }

    /// Its version of this side, `before` or `after`.
    pub fn version(&self, side: &str) -> PathBuf {
        folder_for(self.place.path(), &self.folder).join(format!("{}.{side}", self.name))
    }

    /// Keeps a version of the program that was made by others, under a name.
    pub fn keep_other(&self, name: &str, file: &Path) -> Result<()> {
        let to = self.version(name);
        fs::create_dir_all(to.parent().unwrap_or(&self.folder))
            .and_then(|()| fs::copy(file, &to))
            .with_context(|| format!("cannot copy {} to {}", file.display(), to.display()))?;
        Ok(())
    }

    /// Where its order is.
    pub fn order(&self) -> PathBuf {
        self.beside("order")
    }

    /// Writes its order to the work directory.
    pub fn write_order(&self, order: &str) -> Result<()> {
        Ok(write_whole(&self.order(), order.as_bytes())?)
    }

    /// Keeps what the build has just put in place, with its map, as the version of this side.
    pub fn keep(&mut self, side: &str) -> Result<()> {
        let version = self.version(side);
        self.place.keep(&version)?;
        // Read from another file: what is mapped into a process cannot be dropped from memory.
        let readable = self.beside(&format!("{side}.elf"));
        fs::copy(&version, &readable)
            .with_context(|| format!("cannot write {}", readable.display()))?;
        let map = &self.link.map;
        fs::copy(map, self.beside(&format!("{side}.map")))
            .with_context(|| format!("cannot read the linker's map {}", map.display()))?;
        Ok(())
    }

    /// Finds the link that made the file again, which, where `ordered`, must have followed its order.
    pub fn relinked(&mut self, links: &[Link], ordered: bool) -> Result<()> {
        let path = self.place.path().to_owned();
        let cannot = |what: &str| {
            Failure::new(format!(
                "the second build {what} {}, so no order was followed",
                path.display()
            ))
            .hint(
                "the linked file was removed, and the same build command run again: give one \
                     that then links it again, if need be from scratch (make clean all)",
            )
        };
        if !path.exists() {
            return Err(cannot("did not make").into());
        }
        match link_of(links, &path)?.filter(|link| link.order.is_some() == ordered) {
            Some(link) => self.link = link.clone(),
            None => return Err(cannot("did not link").into()),
        }
        Ok(())
    }

    /// Opens a version.
    pub fn open(&self, side: &str) -> Result<Files> {
        let map = Text::of_map(&self.beside(&format!("{side}.map")))?;
        Ok(Files {
            path: self.place.path().to_owned(),
            elf: Elf::open(&self.beside(&format!("{side}.elf")))?,
            map,
        })
    }
}

fn not_linked(path: &Path, links: &[Link]) -> Failure {
    if links.is_empty() {
        return Failure::new(format!(
            "the build linked nothing through trimtab's tools, so {} cannot be laid out",
            path.display()
        ))
        .hint("where all was up to date: begin with a clean build, as in --build 'make clean all'")
        .hint(
            "where the build ignores PATH and COMPILER_PATH: let it use the cc and ld that are \
             first in PATH (CMake remembers the first compiler it saw: use a fresh build folder)",
        );
    }
    let outputs: Vec<String> =
        links.iter().take(10).map(|link| link.output.display().to_string()).collect();
    Failure::new(format!(
        "{} is none of the {} files that the build linked: {}",
        path.display(),
        links.len(),
        outputs.join(", ")
    ))
    .hint("give one of them with --program or --library; a copy that was stripped is another file")
}

/// The file of one version, and its map.
#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    elf: Elf,
    map: Text,
}

impl Files {
    /// The file's content.
    pub fn bytes(&self) -> &[u8] {
        self.elf.bytes()
    }

    /// Makes sense of them.
    pub fn object(&self) -> Result<Object<'_>> {
        let path = &self.path;
        let program =
            Program::parse(self.elf.bytes()).with_context(|| path.display().to_string())?;
        let text = inputs::section(&program, path, None)?;
        let mut map = self.map.link_map()?;
        forget_temporary_names(&mut map, &std::env::temp_dir());
        let fragments = inputs::fragments(&program, Some((&map, self.map.path())), text)?;
        Ok(Object { path, program, text, fragments, bytes: self.elf.bytes().len() as u64 })
    }
}

/// Compilers that compile and link at once give their objects names that are never the same.
fn forget_temporary_names(map: &mut LinkMap<'_>, temporary: &Path) {
    for section in &mut map.sections {
        if Path::new(section.file.as_ref()).starts_with(temporary) {
            section.file = Cow::Borrowed("*");
        }
    }
}

/// One version of a linked file.
#[derive(Debug)]
pub(super) struct Object<'data> {
    /// Where the build puts it.
    pub path: &'data Path,
    /// Its functions.
    pub program: Program<'data>,
    /// The section that is laid out.
    pub text: SectionId,
    /// Its input sections.
    pub fragments: Fragments<'data>,
    /// Length of the file.
    pub bytes: u64,
}

impl Object<'_> {
    /// Addresses of its text.
    pub fn range(&self) -> Range {
        self.program.section(self.text).range
    }

    /// Where its text lies in the file.
    pub fn text_in_file(&self) -> Range {
        let range = self.range();
        let segments = self.program.segments();
        let segment = segments.iter().find(|segment| segment.range.contains(range.start));
        segment.map_or(Range { start: 0, end: 0 }, |segment| {
            let start = segment.file.start + (range.start - segment.range.start);
            Range::with_length(start, range.length())
        })
    }

    /// Share of the text, 0 to 1, in input sections that are named after a function. The compiler's
    /// start files do not count, nor what this build did not compile: archives of the system, compiled
    /// long ago. Other archives count where there is nothing else.
    pub fn separate(&self) -> f64 {
        let (mut separate, mut all) = ([0; 2], [0; 2]);
        for fragment in self.fragments.as_slice() {
            let Origin::InputSection { file, section } = &fragment.origin else { continue };
            if fragment.functions().next().is_none() || is_start_file(file) || is_of_system(file) {
                continue;
            }
            let archived = usize::from(file.contains(".a:") || file.contains(".rlib:"));
            let names: BTreeSet<&str> =
                fragment.functions().map(|id| self.program.function(id).name).collect();
            all[archived] += fragment.range.length();
            if section.strip_prefix(".text.").is_some_and(|rest| {
                // Compilers put `unlikely.` and the like in between.
                let last = rest.split_once('.').map_or(rest, |(_, last)| last);
                names.contains(rest) || names.contains(last)
            }) {
                separate[archived] += fragment.range.length();
            }
        }
        let which = usize::from(all[0] * 100 < all[1]);
        separate[which] as f64 / all[which].max(1) as f64
    }

    /// Fails where the build compiled without function sections.
    pub fn require_function_sections(&self) -> Result<()> {
        let separate = self.separate();
        if separate >= LEAST_SEPARATE {
            return Ok(());
        }
        Err(Failure::new(format!(
            "the build ignored {COMPILER_FLAGS}: {} of the text of {} is in sections of single \
             functions, so there is little that a linker could move",
            share(separate),
            self.path.display()
        ))
        .hint(
            "let the build use the compilers that are first in PATH, or add the flag to its own: \
             $TRIMTAB_CFLAGS holds it while trimtab builds",
        )
        .hint("objects of an earlier build have no such sections: begin with a clean build")
        .into())
    }
}

/// Whether it is one of the objects that a compiler links into every program: `Scrt1.o`, `crti.o`,
/// `crtbeginS.o` and the like.
fn is_start_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let start = name.trim_start_matches(['S', 'g', 'r', 'M']);
    start.starts_with("crt") && name.ends_with(".o")
}

/// Whether it is a member of an archive that came with the system or with the compiler.
fn is_of_system(file: &str) -> bool {
    let archive = file.split_once(".a:").or_else(|| file.split_once(".rlib:"));
    let folders = ["/usr/", "/lib/", "/lib32/", "/lib64/", "/opt/", "/nix/"];
    archive.is_some_and(|(archive, _)| {
        let system = folders.iter().any(|folder| archive.starts_with(folder))
            || archive.contains("/.rustup/");
        let ours = std::env::current_dir()
            .is_ok_and(|directory| Path::new(archive).starts_with(directory));
        system && !ours
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_forgotten_and_others_kept() {
        let text = "\
             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      100    16 .text
            1000             1000       10    16         /tmp/ccAbCdEf.o:(.text.main)
            1010             1010       10    16         /tmpfiles/b.o:(.text.other)
";
        let mut map = LinkMap::parse(text).unwrap();
        forget_temporary_names(&mut map, Path::new("/tmp"));
        let files: Vec<&str> = map.sections.iter().map(|section| section.file.as_ref()).collect();
        assert_eq!(files, ["*", "/tmpfiles/b.o"]);
    }

    #[test]
    fn archives_of_the_system_are_told_from_those_of_the_build() {
        for (file, system) in [
            ("/usr/lib/x86_64-linux-gnu/libc.a:printf.o", true),
            (
                "/usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/libm-2.36.a:s_sin.o",
                true,
            ),
            ("/home/me/.rustup/toolchains/stable/lib/libstd-1.rlib:std.o", true),
            ("libmine.a:a.o", false),
            ("/home/me/build/libmine.a:a.o", false),
            ("/usr/lib/crt1.o", false),
        ] {
            assert_eq!(is_of_system(file), system, "{file}");
        }
    }

    #[test]
    fn a_file_that_was_not_linked_is_told_with_what_was() {
        let none = not_linked(Path::new("app"), &[]).to_string();
        assert!(none.contains("linked nothing"), "{none}");
        let link = Link {
            output: "/b/other".into(),
            map: "/b/map".into(),
            directory: "/b".into(),
            order: None,
            together: false,
        };
        let some = not_linked(Path::new("app"), &[link]).to_string();
        assert_eq!(some, "app is none of the 1 files that the build linked: /b/other");
    }
}
