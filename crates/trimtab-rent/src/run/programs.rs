//! Programs of this machine that are started in the guest, from its disk: what a developer's machine has, from small
//! tools to a compiler.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use trimtab_lab::process::Job;
use trimtab_lab::tools;
use trimtab_lab::workload::{DiskLoad, GuestFile};
use trimtab_machine::{Isa, Platform, guest};

use super::load::Load;

/// What is started in the guest of a load.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// All files, by their paths in the guest: programs, their libraries, and what they read.
    pub files: BTreeMap<String, PathBuf>,
    /// A line for each that is started by itself: its name, and what is executed.
    pub commands: Vec<String>,
    /// Size of all files in MiB, rounded up.
    pub mib: u32,
}

/// Where programs are, and what is executed in the guest.
const PROGRAMS: &[(&str, &str)] = &[
    ("bash", "-c 'echo $((6 * 7))'"),
    ("perl", "-e 'print join(q(,), sort map { $_ * 7 % 13 } 1..20)'"),
    ("python3", "-S -I -c 'import json, re; print(json.dumps(re.findall(\"a+\", \"aabaaa\")))'"),
    ("git", "hash-object /data/sample.c"),
    ("make", "--version"),
    ("as", "-o /tmp/a.o /data/sample.s"),
    ("ld.bfd", "--verbose"),
    ("objdump", "-d /usr/bin/make"),
    ("readelf", "-SW /usr/bin/git"),
    ("nm", "-D /usr/bin/git"),
    ("strings", "/usr/bin/perl"),
    ("openssl", "version -a"),
    ("gdb", "--configuration"),
    ("tar", "--help"),
    ("xz", "-0 -k -c -T1 /data/sample.c"),
    ("sed", "-n 5p /data/sample.c"),
    ("diff", "--version"),
    ("find", "/usr -name 'lib*' -maxdepth 2"),
    ("sort", "-n /data/sample.c"),
    ("mawk", "'{ print NF }' /data/sample.c"),
    ("qemu-system-x86_64", "-machine help"),
];

/// Modules of Python's that it needs from files.
const PYTHON_MODULES: &str = "import json, re, sys\n\
    print(*sorted({m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)}), sep='\\n')";

/// What compilers and others read in the guest.
const SAMPLE_C: &str = "\
struct node { struct node *next; int key; };
int sum(const struct node *list)
{
	int all = 0;
	for (; list; list = list->next)
		all += list->key % 7 ? list->key : -list->key;
	return all;
}
";
const SAMPLE_S: &str = "\
	.globl zero
zero:	xorl %eax, %eax
	ret
";

/// How long a program may take that only says something.
const LIMIT: Duration = Duration::from_secs(60);

impl Programs {
    /// Those of the list that this machine has, and its compiler.
    ///
    /// # Errors
    /// There are too few, or one has a library that cannot be found.
    pub fn find() -> Result<Programs> {
        let mut paths = Vec::new();
        let mut commands = Vec::new();
        for (name, arguments) in PROGRAMS {
            let path = Path::new("/usr/bin").join(name);
            if path.is_file() {
                commands.push(format!("{name} /usr/bin/{name} {arguments}"));
                paths.push(path);
            }
        }
        let mut files = BTreeMap::new();
        if paths.iter().any(|path| path.ends_with("python3")) {
            for module in said("/usr/bin/python3", &["-S", "-I", "-c", PYTHON_MODULES])?.lines() {
                files.insert(module.trim_start_matches('/').to_owned(), PathBuf::from(module));
            }
        }
        let gcc = tools::find("gcc")?;
        commands.push("cc1 /usr/bin/cc1 -quiet -ffreestanding -O2 /data/sample.c -o -".to_owned());
        paths.push(guest::programs::of_gcc(&gcc.path, "cc1")?);
        ensure!(
            paths.len() >= 12,
            "only {} of the programs that are started in the guest are here; more are needed",
            paths.len()
        );
        files.extend(guest::programs::files(&paths)?);
        Self::with(files, commands)
    }

    /// What a load runs of this machine: what is started, or what a workload of the catalogue needs.
    ///
    /// # Errors
    /// As [`Programs::find`]; a program is not here; and the guest is another machine than this.
    pub fn of(load: Load, isa: Isa) -> Result<Programs> {
        let needed = match load {
            Load::Files(_) => return Ok(Self::default()),
            Load::Rounds(rounds) if rounds.manifest().programs.is_empty() => {
                return Ok(Self::default());
            }
            Load::Rounds(rounds) => Some(rounds.manifest()),
            Load::Starts => None,
        };
        ensure!(
            isa.is_here(),
            "the load {} runs programs of this machine, which is none of {}: leave it out",
            load.name(),
            isa.kbuild()
        );
        match needed {
            Some(manifest) => Self::with(needed_by(manifest)?, Vec::new()),
            None => Self::find(),
        }
    }

    /// Of these files and lines.
    fn with(files: BTreeMap<String, PathBuf>, commands: Vec<String>) -> Result<Programs> {
        let mut bytes = 0;
        for path in files.values() {
            let read = || format!("cannot read {}", path.display());
            bytes += path.metadata().with_context(read)?.len();
        }
        let mib = u32::try_from(bytes.div_ceil(1 << 20))?;
        Ok(Programs { files, commands, mib })
    }

    /// Commands of a shell that write what programs read, and `/data/commands` with a line for each.
    pub fn data(&self) -> String {
        let lines = self.commands.join("\n") + "\n";
        let mut said = "/bin/busybox mkdir -p /data\n".to_owned();
        for (name, text) in
            [("commands", lines.as_str()), ("sample.c", SAMPLE_C), ("sample.s", SAMPLE_S)]
        {
            said += &format!("/bin/busybox cat >/data/{name} <<'END'\n{text}END\n");
        }
        said
    }
}

/// The programs that a workload's rounds run, with their libraries and what they read.
fn needed_by(manifest: &DiskLoad) -> Result<BTreeMap<String, PathBuf>> {
    let found = |program: &GuestFile| Ok(tools::find(&program.name())?.path);
    let paths = manifest.programs.iter().map(found).collect::<Result<Vec<PathBuf>>>()?;
    let mut files = guest::programs::files(&paths)?;
    for GuestFile { path, package } in &manifest.files {
        add_all(path, &mut files).with_context(|| {
            format!("files of the package are needed: apt-get install {package}")
        })?;
    }
    Ok(files)
}

/// Adds a file, or all files below a folder. Links to folders in it are not followed: they may lead back.
fn add_all(path: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let read = || format!("cannot read {}", path.display());
    if path.metadata().with_context(read)?.is_file() {
        files.insert(path.to_string_lossy().trim_start_matches('/').to_owned(), path.to_owned());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).with_context(read)? {
        let path = entry.with_context(read)?.path();
        if !(path.is_symlink() && path.is_dir()) {
            entries.push(path);
        }
    }
    entries.sort();
    entries.iter().try_for_each(|entry| add_all(entry, files))
}

/// What a program writes.
fn said(program: impl AsRef<Path>, arguments: &[&str]) -> Result<String> {
    let program = program.as_ref();
    let job = Job::new("asking a program for its files", program).args(arguments).limit(LIMIT);
    Ok(job.run_captured()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_this_machine_are_not_started_in_another() {
        let elsewhere = Isa::KERNELS.into_iter().find(|isa| !isa.is_here()).unwrap();
        let error = Programs::of(Load::Starts, elsewhere).unwrap_err().to_string();
        assert!(error.contains("leave it out"), "{error}");
        let files = Load::named("rndrd:100").unwrap();
        assert!(Programs::of(files, elsewhere).unwrap().files.is_empty());
    }

    #[test]
    fn a_workload_gets_its_programs_and_what_they_read() {
        let of_fonts =
            |path: &Path| GuestFile { path: path.to_owned(), package: "fonts".to_owned() };
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("fonts")).unwrap();
        std::fs::write(folder.path().join("fonts/one"), "1").unwrap();
        let program = GuestFile { path: "/usr/bin/perl".into(), package: "perl".to_owned() };
        let manifest = DiskLoad {
            script: "load.sh".to_owned(),
            mib: 1,
            programs: vec![program],
            files: vec![of_fonts(folder.path())],
        };
        let files = needed_by(&manifest).unwrap();
        assert!(files.contains_key("usr/bin/perl"), "{files:?}");
        let font = folder.path().join("fonts/one");
        assert_eq!(files.get(font.to_str().unwrap().trim_start_matches('/')), Some(&font));
        let missing = DiskLoad { files: vec![of_fonts(Path::new("/none"))], ..manifest };
        let error = format!("{:#}", needed_by(&missing).unwrap_err());
        assert!(error.contains("apt-get install fonts: cannot read /none"), "{error}");
    }

    #[test]
    fn this_machine_has_programs_with_all_their_files() {
        let found = Programs::find().unwrap();
        assert!(found.commands.len() >= 12 && found.mib > 50, "{found:?}");
        assert!(found.files.contains_key("usr/bin/cc1"), "{found:?}");
        for line in &found.commands {
            let program = line.split(' ').nth(1).unwrap().trim_start_matches('/');
            assert!(found.files.contains_key(program), "{line}");
        }
        let data = found.data();
        assert_eq!(
            data.matches("<<'END'").count(),
            data.lines().filter(|line| *line == "END").count()
        );
    }
}
