//! Why a function is left as it is.

/// Why a function is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The selection does not have it.
    NotSelected,
    /// Smaller than was asked for.
    Small,
    /// It runs before the program is loaded completely.
    IfuncResolver,
    /// There is no unwind information: assembly by hand, mostly.
    NoUnwind,
    /// There is no unwind information, and the instructions do not tell what it would say.
    UnknownFrame,
    /// Unwind information of a kind that is not written for such code.
    OddUnwind,
    /// A part of a function that is jumped to.
    NotCalled,
    /// Bytes in it are no instructions.
    Undecoded,
    /// Its first instructions are too short for a jump.
    TooShort,
    /// A loop goes back to the first instruction.
    Loop,
    /// Something jumps into the first instructions.
    Entered,
    /// An instruction that cannot be moved.
    Immovable,
    /// An exception may land in it from its very first call.
    Exception,
    /// It looks at or changes its return address.
    ReturnAddress,
    /// It goes to another stack.
    Stack,
    /// It has a calling convention of its own.
    OtherConvention,
    /// No compiler is known to have written it: registers may hold what the ABI does not say.
    NotCompiled,
    /// It is traced by the compiler's own means: `-pg`, `-finstrument-functions`, XRay.
    Traced,
    /// Instructions that LLVM moved out of several functions: they use registers and stack of these.
    Outlined,
    /// No function but a member of an archive, which has no symbols of functions.
    Stripped,
}

impl Reason {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotSelected => "not selected",
            Self::Small => "smaller than --min-size",
            Self::IfuncResolver => "chooses an implementation while the program is loaded (ifunc)",
            Self::NoUnwind => {
                "no unwind information (assembly, or -fno-asynchronous-unwind-tables)"
            }
            Self::UnknownFrame => {
                "no unwind information, and its instructions do not tell where its frame is"
            }
            Self::OddUnwind => "unwind information of an unusual kind",
            Self::NotCalled => "a part of a function, which is jumped to",
            Self::Undecoded => "bytes that are no known instructions",
            Self::TooShort => "too short for a jump",
            Self::Loop => "a loop goes back to its first instruction",
            Self::Entered => "something jumps into its first instructions",
            Self::Immovable => "begins with an instruction that cannot be moved",
            Self::Exception => "an exception may land in it from its first instructions",
            Self::ReturnAddress => "uses its return address",
            Self::Stack => "switches stacks",
            Self::OtherConvention => "has a calling convention of its own (vectors)",
            Self::NotCompiled => "assembly: any register may be in use",
            Self::Traced => "instrumented by the compiler (-pg or the like)",
            Self::Outlined => {
                "instructions that several functions have in common (LLVM's outliner)"
            }
            Self::Stripped => "an object without symbols of functions (stripped)",
        }
    }
}

/// Whether a function of this name is one by which compilers trace.
pub fn is_tracer(name: &[u8]) -> bool {
    let known: [&[u8]; 6] = [
        b"mcount",
        b"_mcount",
        b"__fentry__",
        b"__cyg_profile_func_enter",
        b"__cyg_profile_func_exit",
        b"__morestack",
    ];
    known.contains(&name)
}
