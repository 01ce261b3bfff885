//! The linker script that lld gets beside an order: where in the file the sections lie that a start needs.

/// A linker script for lld (`-T`) that adds to lld's own layout and replaces nothing else of it.
///
/// Every start reads the tables of the dynamic linker, which stand first in the file, constants, and
/// all data, which is relocated. lld puts the text between constants and data, and in front of the
/// text the tables for unwinding, which no start needs that throws nothing. Here data comes right
/// behind the constants, then the text, whose head is what runs first, then the tables. So what a
/// start touches is one stretch of the file from its beginning on, which the system reads ahead.
///
/// The text lies behind `.bss` in memory, and takes no more memory for that.
pub const TOGETHER_SCRIPT: &str = "\
/* Written by trimtab: what a start needs lies side by side at the head of the file. */
SECTIONS {
  .init : { *(.init) }
  .fini : { *(.fini) }
  .plt : { *(.plt) }
  .text : { *(.text .text.*) }
} INSERT AFTER .bss;
SECTIONS {
  .gcc_except_table : { *(.gcc_except_table .gcc_except_table.*) }
  .eh_frame_hdr : { *(.eh_frame_hdr) }
  .eh_frame : { *(.eh_frame) }
} INSERT AFTER .text;
";
