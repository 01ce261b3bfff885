//! What `trimtab doctor` found: `trimtab.doctor/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::number::NONE;
use trimtab_report::phrase::{bytes as number, count, mark};
use trimtab_report::section::{Block, Head, Section, Table, name, text};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

/// Which tools this machine has, which it lacks, and how to install those.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Its schema.
    pub schema: Schema<DoctorReport>,
    /// Whether `trimtab fit kernel` has all it needs.
    pub ok: bool,
    /// The tools, those that most verbs need first.
    pub tools: Vec<Tool>,
    /// What else jobs depend on.
    pub machine: Machine,
}

/// What the machine has. What cannot be found out is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// CPUs that may be used.
    pub cores: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Those that are free.
    pub memory_free_bytes: Option<u64>,
    /// The work directory.
    pub work: String,
    /// Bytes that are free where it is or would be.
    pub disk_free_bytes: Option<u64>,
    /// Whether guests may run on the processor itself.
    pub kvm: Kvm,
}

/// What can be said of KVM without starting a guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kvm {
    /// Not there.
    #[default]
    Absent,
    /// There, but not for this user.
    Forbidden,
    /// There; whether a guest runs is another matter.
    Present,
}

/// A tool that some verb needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// The command or file looked for.
    pub name: String,
    /// The verbs that need it.
    pub needed_by: Vec<String>,
    /// Where it is; `null` where it is missing.
    pub found: Option<String>,
    /// Its version; `null` where it is missing or does not say.
    pub version: Option<String>,
    /// The oldest version that works; empty: any.
    pub wanted: String,
    /// Whether it is there and of that version.
    pub ok: bool,
    /// The exact command that installs it, where it is not ok.
    pub install: Option<String>,
    /// What is wrong, where it is not ok.
    pub problem: Option<String>,
}

impl Report for DoctorReport {
    const VERB: &'static str = "doctor";
    const SCHEMA: &'static str = "trimtab.doctor/1";

    fn title(&self) -> String {
        "What this machine has".to_owned()
    }

    fn head(&self) -> Head {
        let missing = self.tools.iter().filter(|tool| !tool.ok).count();
        let what = match missing {
            0 => "Nothing is missing.".to_owned(),
            _ => {
                format!("{missing} of {} tools are missing or of a wrong version", self.tools.len())
            }
        };
        Head { what: what.into(), ..Head::default() }
    }

    fn sections(&self) -> Vec<Section> {
        let mut all = vec![self.tools(), self.machine.section()];
        let problems = self.tools.iter().filter_map(|tool| tool.problem.as_deref());
        let problems: Vec<_> = problems.map(Into::into).collect();
        if !problems.is_empty() {
            all.push(Section::new("wrong", "What is wrong", "").with(Block::List(problems)));
        }
        let mut commands: Vec<String> = Vec::new();
        for command in self.tools.iter().filter_map(|tool| tool.install.as_ref()) {
            if !commands.contains(command) {
                commands.push(command.clone());
            }
        }
        if !commands.is_empty() {
            let install = Section::new("install", "Install them with", "");
            all.push(install.with(Block::Commands(commands)));
        }
        all
    }
}

impl DoctorReport {
    fn tools(&self) -> Section {
        let rows = self.tools.iter().map(|tool| {
            let state = match (tool.ok, &tool.found) {
                (true, _) => mark(true, "ok", ""),
                (false, None) => mark(false, "", "missing"),
                (false, Some(_)) => mark(false, "", "wrong"),
            };
            let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
            let wanted = match tool.wanted.as_str() {
                "" => "any".to_owned(),
                version => format!("{version} or newer"),
            };
            row![
                &tool.name,
                state,
                or_none(&tool.version),
                wanted,
                tool.needed_by.join(", "),
                or_none(&tool.found),
            ]
        });
        let columns = [
            name("tool"),
            name("state"),
            text("version"),
            text("wanted"),
            text("needed by"),
            text("found").aside(),
        ];
        Section::new("tools", "Tools", "").with(Table::new("Tools", columns, rows))
    }
}

impl Machine {
    fn section(&self) -> Section {
        let unknown = || Phrase::from("unknown");
        let size = |key: &str, bytes: Option<u64>| {
            bytes.map_or_else(unknown, |bytes| number(format!("machine.{key}"), bytes).into())
        };
        let cores = |cores| count("machine.cores", cores).into();
        let kvm = match self.kvm {
            Kvm::Absent => "/dev/kvm is absent; guests are emulated",
            Kvm::Forbidden => "/dev/kvm is not open to this user; guests are emulated",
            Kvm::Present => "/dev/kvm is present; used once a guest has run with it",
        };
        let memory = phrase![
            size("memory_bytes", self.memory_bytes),
            ", ",
            size("memory_free_bytes", self.memory_free_bytes),
            " free",
        ];
        let disk = phrase![
            size("disk_free_bytes", self.disk_free_bytes),
            format!(" free for {}", self.work),
        ];
        let rows = [
            row!["cores", self.cores.map_or_else(unknown, cores)],
            row!["memory", memory],
            row!["disk", disk],
            row!["kvm", kvm],
        ];
        let columns = [name(""), text("")];
        Section::new("machine", "The machine", "").with(Table::new("The machine", columns, rows))
    }
}
