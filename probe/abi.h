/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Written by crates/trimtab-probe/src/abi.rs, which says what these are. Not by hand. */
#ifndef TRIMTAB_PROBE_ABI_H
#define TRIMTAB_PROBE_ABI_H

#define PROBE_VERSION 3
#define RECORDING_VERSION 3
#define OBJECT_RUST 1
#define FLAG_FRAME 1
#define FLAG_COPY 2
#define FLAG_RETURN_SHIFT 16
#define SITE_REGISTER_SHIFT 24
#define CHUNK_FUNCTIONS 1
#define CHUNK_CELLS 2
#define CHUNK_TRACE 3
#define CHUNK_EDGES 4
#define EVENT_EXIT 1
#define EVENT_CHAINED 2
#define RECORDING_MAGIC "TTPROBE1"

#define HOOK_COUNT 1
#define HOOK_CYCLES 2
#define HOOK_TIME 3
#define HOOK_ORDER 4
#define HOOK_EDGES 5
#define HOOK_TRACE 6
#define HOOK_USER 7
#define HOOK_VALUE 8
#define HOOK_EVENT 9

/* What crates/trimtab-probe/src/hook.rs says of hooks. */
#define ADDS_UP_IN_STUBS(hook) \
	((hook) == HOOK_CYCLES || (hook) == HOOK_TIME || (hook) == HOOK_VALUE)
#define ADDS_UP(hook) \
	((hook) == HOOK_CYCLES || (hook) == HOOK_TIME || (hook) == HOOK_VALUE || (hook) == HOOK_EVENT)
#define HAS_OVERHEAD(hook) \
	((hook) == HOOK_CYCLES || (hook) == HOOK_TIME)

/* Where the fields of structures are: internal.h has this behind them. */
#define ABI_ASSERTIONS \
	_Static_assert(sizeof(struct object) == 32, "object"); \
	_Static_assert(offsetof(struct object, version) == 0, "object.version"); \
	_Static_assert(offsetof(struct object, hook) == 4, "object.hook"); \
	_Static_assert(offsetof(struct object, cells) == 8, "object.cells"); \
	_Static_assert(offsetof(struct object, cell_size) == 12, "object.cell_size"); \
	_Static_assert(offsetof(struct object, index) == 16, "object.index"); \
	_Static_assert(offsetof(struct object, flags) == 20, "object.flags"); \
	_Static_assert(sizeof(struct function) == 24, "function"); \
	_Static_assert(offsetof(struct function, start) == 0, "function.start"); \
	_Static_assert(offsetof(struct function, size) == 4, "function.size"); \
	_Static_assert(offsetof(struct function, object) == 8, "function.object"); \
	_Static_assert(offsetof(struct function, cell) == 12, "function.cell"); \
	_Static_assert(offsetof(struct function, name) == 16, "function.name"); \
	_Static_assert(offsetof(struct function, flags) == 20, "function.flags"); \
	_Static_assert(sizeof(struct frame) == 64, "frame"); \
	_Static_assert(offsetof(struct frame, ret) == 0, "frame.ret"); \
	_Static_assert(offsetof(struct frame, r11) == 8, "frame.r11"); \
	_Static_assert(offsetof(struct frame, saved) == 16, "frame.saved"); \
	_Static_assert(offsetof(struct frame, at) == 24, "frame.at"); \
	_Static_assert(offsetof(struct frame, start) == 32, "frame.start"); \
	_Static_assert(offsetof(struct frame, child) == 40, "frame.child"); \
	_Static_assert(offsetof(struct frame, next) == 48, "frame.next"); \
	_Static_assert(sizeof(struct header) == 3216, "header"); \
	_Static_assert(offsetof(struct header, magic) == 0, "header.magic"); \
	_Static_assert(offsetof(struct header, version) == 8, "header.version"); \
	_Static_assert(offsetof(struct header, hook) == 12, "header.hook"); \
	_Static_assert(offsetof(struct header, pid) == 16, "header.pid"); \
	_Static_assert(offsetof(struct header, start_cycles) == 24, "header.start_cycles"); \
	_Static_assert(offsetof(struct header, start_ns) == 32, "header.start_ns"); \
	_Static_assert(offsetof(struct header, last_cycles) == 40, "header.last_cycles"); \
	_Static_assert(offsetof(struct header, last_ns) == 48, "header.last_ns"); \
	_Static_assert(offsetof(struct header, bias) == 64, "header.bias"); \
	_Static_assert(offsetof(struct header, lost) == 72, "header.lost"); \
	_Static_assert(offsetof(struct header, ended) == 80, "header.ended"); \
	_Static_assert(offsetof(struct header, counter) == 88, "header.counter"); \
	_Static_assert(offsetof(struct header, inside) == 96, "header.inside"); \
	_Static_assert(offsetof(struct header, event) == 104, "header.event"); \
	_Static_assert(offsetof(struct header, program) == 136, "header.program"); \
	_Static_assert(offsetof(struct header, missed) == 3208, "header.missed"); \
	_Static_assert(sizeof(struct chunk) == 32, "chunk"); \
	_Static_assert(offsetof(struct chunk, kind) == 0, "chunk.kind"); \
	_Static_assert(offsetof(struct chunk, thread) == 4, "chunk.thread"); \
	_Static_assert(offsetof(struct chunk, bytes) == 8, "chunk.bytes"); \
	_Static_assert(offsetof(struct chunk, used) == 16, "chunk.used"); \
	_Static_assert(sizeof(struct block) == 16, "block"); \
	_Static_assert(offsetof(struct block, object) == 0, "block.object"); \
	_Static_assert(offsetof(struct block, bytes) == 4, "block.bytes"); \
	_Static_assert(sizeof(struct function_record) == 32, "function_record"); \
	_Static_assert(offsetof(struct function_record, start) == 0, "function_record.start"); \
	_Static_assert(offsetof(struct function_record, size) == 8, "function_record.size"); \
	_Static_assert(offsetof(struct function_record, object) == 12, "function_record.object"); \
	_Static_assert(offsetof(struct function_record, cell) == 16, "function_record.cell"); \
	_Static_assert(offsetof(struct function_record, name) == 24, "function_record.name"); \
	_Static_assert(offsetof(struct function_record, name_length) == 28, "function_record.name_length"); \
	_Static_assert(sizeof(struct event) == 16, "event"); \
	_Static_assert(offsetof(struct event, time) == 0, "event.time"); \
	_Static_assert(offsetof(struct event, function) == 8, "event.function"); \
	_Static_assert(offsetof(struct event, depth) == 12, "event.depth"); \
	_Static_assert(sizeof(struct edge) == 16, "edge"); \
	_Static_assert(offsetof(struct edge, from) == 0, "edge.from"); \
	_Static_assert(offsetof(struct edge, to) == 4, "edge.to"); \
	_Static_assert(offsetof(struct edge, count) == 8, "edge.count");

#endif
