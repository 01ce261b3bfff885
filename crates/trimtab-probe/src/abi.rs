//! What the emitted code, the run time in `probe/` and the reader of recordings agree on: the one source
//! of these numbers. `probe/abi.h` is written from it, as a test makes sure, and asserts where the fields
//! of the C structures are.

#[cfg(test)]
pub mod header;

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
/// In the flags of an object: rustc compiled it.
pub const OBJECT_RUST: u32 = 1;
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

/// How recordings begin.
pub const MAGIC: &[u8] = b"TTPROBE1";
/// The unit of a recording's file, whatever pages the machine has that it was written on.
pub const PAGE: usize = 4096;

/// Kind of the chunk with the functions.
pub const CHUNK_FUNCTIONS: u32 = 1;
/// Kind of the chunks with cells.
pub const CHUNK_CELLS: u32 = 2;
/// Kind of the chunks with events.
pub const CHUNK_TRACE: u32 = 3;
/// Kind of the chunks with edges.
pub const CHUNK_EDGES: u32 = 4;

/// In the time of an event: the function is left.
pub const EVENT_EXIT: u64 = 1;
/// In the time of an event: the function was reached by a tail call, and is left with its caller.
pub const EVENT_CHAINED: u64 = 2;

/// Where the fields of a recording's first page are.
pub mod recording {
    pub const VERSION: usize = 8;
    pub const HOOK: usize = 12;
    pub const PROCESS: usize = 16;
    pub const START_CYCLES: usize = 24;
    pub const START_NS: usize = 32;
    pub const LAST_CYCLES: usize = 40;
    pub const LAST_NS: usize = 48;
    pub const BIAS: usize = 64;
    pub const LOST: usize = 72;
    pub const ENDED: usize = 80;
    pub const COUNTER: usize = 88;
    pub const INSIDE: usize = 96;
    pub const EVENT: usize = 104;
    pub const PROGRAM: usize = 136;
    pub const MISSED: usize = 3208;
}

/// Where the fields of a chunk's head are, and its size.
pub mod chunk {
    pub const KIND: usize = 0;
    pub const THREAD: usize = 4;
    pub const BYTES: usize = 8;
    pub const USED: usize = 16;
    pub const SIZE: usize = 32;
}

/// Where the fields in front of an object's cells are, and their size.
pub mod block {
    pub const OBJECT: usize = 0;
    pub const BYTES: usize = 4;
    pub const SIZE: usize = 16;
}

/// Where the fields of a function are in a recording, and its size.
pub mod function_record {
    pub const START: usize = 0;
    pub const BYTES: usize = 8;
    pub const OBJECT: usize = 12;
    pub const CELL: usize = 16;
    pub const NAME: usize = 24;
    pub const NAME_LENGTH: usize = 28;
    pub const SIZE: usize = 32;
}

/// Where the fields of an event are, and its size.
pub mod event {
    pub const TIME: usize = 0;
    pub const FUNCTION: usize = 8;
    pub const DEPTH: usize = 12;
    pub const SIZE: usize = 16;
}

/// Where the fields of an edge are, and its size.
pub mod edge {
    pub const FROM: usize = 0;
    pub const TO: usize = 4;
    pub const COUNT: usize = 8;
    pub const SIZE: usize = 16;
}

/// Where the fields of a function's entry in [`FUNCTIONS`] are that are distances.
pub mod function {
    pub const START: u64 = 0;
    pub const OBJECT: u64 = 8;
    pub const NAME: u64 = 16;
}
