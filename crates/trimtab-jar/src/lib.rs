//! MIPS Linux programs as Java classes.
//!
//! But for the module `run`, this crate is *sans-I/O*: the bytes of an ELF file in, the bytes of classes and of a jar out. What
//! the classes need to run, memory and system calls, is in `jar/`, in Java.
//!
//! [`translate`] goes through these steps:
//! 1. `image`: the program as it is loaded; where its functions begin
//! 2. `function`: each function as blocks of instructions (`ir`), decoded by `mips`
//! 3. `constants`: constants and calls through the table of global offsets; saves of registers that
//!    a callee keeps are dropped
//! 4. `liveness`: what each function reads and gives back, across calls
//! 5. `wide`: 64-bit numbers instead of their halves
//! 6. `emit`: Java code, one method a function; those too large for the just-in-time compiler are
//!    cut into several, by how often `profile` says that their blocks ran
//! 7. `classfile`: the classes that hold it
//!
//! [`archive`] makes a jar of that and the run time.

mod archive;
mod bindings;
mod by_pointer;
mod classfile;
mod co_location;
mod constants;
mod emit;
mod error;
mod floats;
mod four_words;
mod function;
mod given;
mod header;
mod image;
mod ir;
mod libgcc;
mod lines;
mod liveness;
mod loops;
mod merge_guards;
mod mips;
mod no_return;
mod profile;
mod report;
mod return_types;
#[cfg(feature = "run")]
pub mod run;
mod sink;
mod stack_slots;
mod stand_ins;
mod switches;
mod translate;
mod unwind;
mod values;
mod vars;
mod vfork;
mod wide;
mod words;

pub use archive::archive;
pub use bindings::{export_class, import_interface, stubs};
pub use error::JarError;
pub use header::{CType, Header, Parameter, Prototype, read_header};
pub use profile::Profile;
pub use report::{CoLocatedFunctions, Part, Report, SplitFunction};
pub use translate::{Entry, Options, Translation, exported, translate, translate_with};
