//! What the emitted code, the run time in `probe/` and the reader of recordings agree on. The same
//! numbers are in `probe/internal.h`.

/// Version of the emitted code.
pub const VERSION: u32 = 3;
/// Version of recordings.
pub const RECORDING_VERSION: u32 = 3;

/// Section with an entry for each instrumented function.
pub const FUNCTIONS: &str = "trimtab_probe_functions";
/// The function's place for the return address and more is a frame of the run time.
pub const FLAG_FRAME: u32 = 1;
/// The stub has a copy of the function inside.
pub const FLAG_COPY: u32 = 2;
/// How far behind the stub's start its body returns to, or the list of a copy's calls is, in the
/// upper half of the flags.
pub const FLAG_RETURN_SHIFT: u32 = 16;
/// What fits there is less than this.
pub const LONGEST_STUB: usize = 1 << 16;

/// Section with the record of an object.
pub const OBJECT: &str = ".data.trimtab_probe";
/// Bytes of the record of an object.
pub const OBJECT_SIZE: usize = 32;
/// Section with the names of the instrumented functions.
pub const NAMES: &str = ".rodata.trimtab_probe";
/// Section with a pointer to the object's cells, for each thread.
pub const CELLS: &str = ".tbss.trimtab_probe";

/// In a frame: the return address.
pub const FRAME_RETURN: i32 = 0;
/// In a frame: x86-64's r11 as the caller had it, then as the function left it.
pub const FRAME_R11: i32 = 8;
/// In a frame: the register that points at the frame (rbx, x19) as the caller had it.
pub const FRAME_SAVED: i32 = 16;
/// In a frame: the stack pointer at entry, less 8 (x86-64) or 16 (AArch64).
pub const FRAME_AT: i32 = 24;
/// In a frame: when the function was entered.
pub const FRAME_START: i32 = 32;
/// In a frame: what the caller's callees took before.
pub const FRAME_CHILD: i32 = 40;
/// In a frame that is free: the next one.
pub const FRAME_NEXT: i32 = 48;

/// In a list of calls: the register's number in DWARF by which the frame address is found stands above
/// its offset.
pub const SITE_REGISTER_SHIFT: u32 = 24;
