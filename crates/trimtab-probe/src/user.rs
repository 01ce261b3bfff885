//! Hooks of the user's: two functions in an object of their own, which stubs call, or have inside.

use object::elf;
use trimtab_program::Isa;

use crate::elf::{Object, Symbol};
use crate::error::ProbeError;
use crate::function::{Function, functions};

/// Names of the two functions.
const NAMES: [&str; 2] = ["trimtab_probe_user_enter", "trimtab_probe_user_leave"];
/// Names that sections get which only the hooks' object knew: their numbers follow.
const SECTION: &str = "trimtab_probe_hooks.";

/// The user's functions, as their object has them.
#[derive(Debug, Clone)]
pub struct Hooks {
    /// The object that programs are to be linked with: as it was, but that stubs may name what was
    /// known to it alone.
    pub bytes: Vec<u8>,
    isa: Isa,
    enter: Placement,
    leave: Placement,
}

/// What happens at one end of functions.
#[derive(Debug, Clone)]
enum Placement {
    /// There is no such function.
    Nothing,
    /// What stubs have inside.
    Inside(InlineHook),
    /// A call, and why.
    Called(WhyCalled),
}

/// Why a function of the user's is called, and not put into the stubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WhyCalled {
    /// Stubs for this machine only call.
    Machine,
    /// It calls something, or goes on elsewhere.
    Calls,
    /// It uses the stack, or registers that it has to save there.
    Stack,
    /// It uses vector registers or floating point.
    Vectors,
    /// It names something that cannot be named from elsewhere.
    Unnamed,
    /// It is long.
    Long,
    /// Instructions of another kind.
    Other,
}

impl WhyCalled {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Machine => "this is only done for x86-64",
            Self::Calls => "it calls other functions",
            Self::Stack => "it needs the stack: more registers than calls may change, or no -O2",
            Self::Vectors => "it uses vector registers or floating point",
            Self::Unnamed => "it uses a constant, such as a string, that only its object knows",
            Self::Long => "it is too long to be in every probe",
            Self::Other => "it has instructions that are not copied",
        }
    }
}

impl Hooks {
    /// The hooks of an object, of which `read` reads one that stubs may have inside.
    ///
    /// # Errors
    /// [`ProbeError::NoHooks`] where it has neither of them.
    pub(crate) fn of(
        mut object: Object,
        data: &[u8],
        read: impl Fn(&mut Object, &Function) -> Result<InlineHook, WhyCalled>,
    ) -> Result<Self, ProbeError> {
        let known = functions(&object);
        let [enter, leave] =
            NAMES.map(|name| known.iter().find(|it| it.name == name && !it.is_local));
        if enter.is_none() && leave.is_none() {
            return Err(ProbeError::NoHooks);
        }
        let symbols = object.symbols.len();
        let isa = object.isa();
        let mut place = |function: Option<&Function>| match function {
            None => Placement::Nothing,
            Some(function) => match read(&mut object, function) {
                Ok(inline) => Placement::Inside(inline),
                Err(why) => Placement::Called(why),
            },
        };
        let (enter, leave) = (place(enter), place(leave));
        let is_as_it_was = object.symbols.len() == symbols;
        let bytes = if is_as_it_was { data.to_vec() } else { object.write()? };
        Ok(Self { bytes, isa, enter, leave })
    }

    /// Names of the functions that are inside the stubs, and of those that these call, with the reason.
    pub fn summary(&self) -> (Vec<&'static str>, Vec<(&'static str, WhyCalled)>) {
        let (mut inside, mut called) = (Vec::new(), Vec::new());
        for (name, at) in NAMES.into_iter().zip([&self.enter, &self.leave]) {
            match at {
                Placement::Nothing => {}
                Placement::Inside(_) => inside.push(name),
                Placement::Called(why) => called.push((name, *why)),
            }
        }
        (inside, called)
    }

    /// The hooks as the stubs of an object have them, whose symbols they use.
    pub(crate) fn linked<'a>(&'a self, object: &mut Object) -> ObjectHooks<'a> {
        let mut link = |at: &'a Placement| match at {
            _ if self.isa != object.isa() => UserHook::Called,
            Placement::Nothing => UserHook::Nothing,
            Placement::Called(_) => UserHook::Called,
            Placement::Inside(inline) => {
                let numbers = inline.names.iter().map(|wanted| named(object, wanted)).collect();
                UserHook::Inside(inline, numbers)
            }
        };
        ObjectHooks { enter: link(&self.enter), leave: link(&self.leave) }
    }
}

/// Hooks of the user's in the stubs of one object.
#[derive(Debug)]
pub struct ObjectHooks<'a> {
    /// In front of functions.
    pub enter: UserHook<'a>,
    /// Behind them.
    pub leave: UserHook<'a>,
}

/// What a stub does at one end of its function.
#[derive(Debug)]
pub enum UserHook<'a> {
    /// Nothing.
    Nothing,
    /// A call of the run time, which calls the user's function.
    Called,
    /// This, with the numbers of the symbols that it names.
    Inside(&'a InlineHook, Vec<u32>),
}

/// A function of the user's that is copied into stubs.
#[derive(Debug, Clone)]
pub struct InlineHook {
    /// Its instructions.
    pub steps: Vec<Step>,
    /// Registers that it changes, as bits by their numbers in instructions.
    pub changes: u16,
    /// Whether it wants to know which function it is.
    pub reads_function: bool,
    /// Whether it wants to know the time.
    pub reads_time: bool,
    /// Symbols that it names.
    pub names: Vec<SymbolName>,
}

/// An instruction.
#[derive(Debug, Clone)]
pub enum Step {
    /// As it is.
    Plain(Vec<u8>, Vec<Naming>),
    /// A branch, on a condition or always, to the instruction with this index.
    Branch(Option<u8>, usize),
    /// The end.
    Return,
}

/// What a relocation has an instruction name.
#[derive(Debug, Clone, Copy)]
pub struct Naming {
    /// Where in the instruction.
    pub offset: u64,
    /// Kind of the relocation.
    pub kind: u32,
    /// Which of the function's names.
    pub name: usize,
    /// Added to that.
    pub addend: i64,
}

/// A symbol that hooks in stubs name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    /// Its name.
    pub name: Vec<u8>,
    /// Whether each thread has its own.
    pub is_thread_local: bool,
}

impl SymbolName {
    /// What a symbol of the hooks' object is called elsewhere, and its offset from that. What only that
    /// object knows is called by its section, which gets a name; none for what cannot be, such as
    /// constants that linkers put together with their like.
    pub fn of(object: &mut Object, number: u32) -> Option<(Self, i64)> {
        let symbol = object.symbols.get(number as usize)?;
        let is_thread_local = symbol.kind() == elf::STT_TLS;
        if symbol.binding() != elf::STB_LOCAL {
            return Some((Self { name: symbol.name.clone(), is_thread_local }, 0));
        }
        let offset = symbol.value as i64;
        let section = symbol.defined_in()?;
        let home = &object.sections[section];
        if home.is_text() || home.has(elf::SHF_MERGE) || !home.has(elf::SHF_ALLOC) {
            return None;
        }
        let is_thread_local = home.has(elf::SHF_TLS);
        let name = format!("{SECTION}{section}").into_bytes();
        if !object.symbols.iter().any(|symbol| symbol.name == name) {
            let kind = if is_thread_local { elf::STT_TLS } else { elf::STT_OBJECT };
            object.add_symbol(Symbol {
                name: name.clone(),
                info: elf::STB_GLOBAL << 4 | kind,
                other: elf::STV_HIDDEN,
                section: section as u16,
                value: 0,
                size: 0,
            });
        }
        Some((Self { name, is_thread_local }, offset))
    }
}

/// Has linkers take the user's hooks from archives, and miss them where there are none: the run time by
/// itself would do without. Where hooks are known, those that there are.
pub(crate) fn want_hooks(object: &mut Object, hooks: Option<&Hooks>) {
    for (index, name) in NAMES.into_iter().enumerate() {
        let is_there =
            hooks.is_none_or(|it| !matches!([&it.enter, &it.leave][index], Placement::Nothing));
        if is_there {
            named(object, &SymbolName { name: name.as_bytes().to_vec(), is_thread_local: false });
        }
    }
}

/// The number of a symbol that other objects see, or that is elsewhere.
fn named(object: &mut Object, wanted: &SymbolName) -> u32 {
    let is_it = |symbol: &Symbol| symbol.binding() != elf::STB_LOCAL && symbol.name == wanted.name;
    if let Some(number) = object.symbols.iter().position(is_it) {
        return number as u32;
    }
    let kind = if wanted.is_thread_local { elf::STT_TLS } else { elf::STT_NOTYPE };
    object.add_symbol(Symbol {
        name: wanted.name.clone(),
        info: elf::STB_GLOBAL << 4 | kind,
        other: elf::STV_DEFAULT,
        section: crate::elf::UNDEFINED,
        value: 0,
        size: 0,
    })
}
