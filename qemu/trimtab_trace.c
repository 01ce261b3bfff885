// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that writes down which blocks of code a guest runs, in the order in which each runs
 * for the first time, and how often.
 *
 *     -plugin trimtab_trace.so,out=FILE[,min=ADDRESS][,jumps=on][,stream=FILE[,limit=N]]
 *
 * QEMU translates a block just before it runs it for the first time, so the order of translation is
 * the order of first execution. From then on QEMU itself counts: one addition per execution of a
 * block, and no call. That is why this costs little.
 *
 * min: events below this hexadecimal address are kept only until the first one at or above it has
 * been seen. For a kernel, give the start of its half of the address space: firmware and the
 * kernel's first steps before paging are kept, and user programs, which cannot run before the
 * kernel does, are not. They still count in "instructions".
 *
 * The head of the file says how many instructions ran: in all, "early" (below min, before the first
 * event at or above it: firmware, the decompressor), "kernel" (at or above min), "user" (the rest).
 * A block that an exception cuts short counts as a whole. With -icount the numbers repeat exactly.
 *
 * With several CPUs that run at once, additions to the same counter may get lost: then counts are
 * lower bounds. What ran, and in which order, stays right.
 *
 * Where QEMU runs a single program (qemu-x86_64), each process that ends writes a file of its own,
 * FILE.PID. Its head then says which files its code came from, a line each:
 *
 *     map START END OFFSET PATH
 *
 * all but the path in hexadecimal. A process that a fork made also has what ran before the fork. A
 * process that becomes another program by exec writes nothing.
 *
 * jumps: also counts how often control passed from one block to another, which takes a call per
 * block. The head of the file then has a line for each pair of them:
 *
 *     jump LAST NEXT COUNT
 *
 * LAST is the address of the last byte of the block that control left, NEXT the first of the one in
 * which it went on, both in hexadecimal. Each CPU or thread is followed by itself; a fall-through,
 * a call and a return are jumps like others.
 *
 * stream: also writes every block that is kept, each time it runs, in order. That takes a call per
 * block, which is slow, and a fraction of a byte. limit: only the first N of them. What several
 * CPUs run is mixed as it comes. The format is described beside its reader,
 * crates/trimtab-profile/src/stream.rs. A process that the traced program forks is not recorded.
 *
 * Each file is complete or not there: it is written under another name first.
 */
#include "qemu_plugin_api.h"
#include "arguments.h"
#include "blocks.h"
#include "mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API_VERSION;

/* Instructions of blocks that are not kept: user programs'. */
static uint64_t user_instructions;

/* Whether QEMU runs a single program rather than a machine. */
static bool single_program;

static uint64_t min_address;
static bool seen_min;
static bool failed;
static char *out_path;

/* The stream, where it is asked for. */
#define LONGEST_RUN 65535
static char *stream_path;
static char *stream_partial;
static FILE *stream;
static uint64_t stream_limit = UINT64_MAX;
static uint64_t stream_length;
static uint32_t stream_blocks;
static uint32_t stream_run;
static struct block *stream_last;

/* Where jumps are counted: the block that each CPU ran last. */
static bool jumps;
static struct block **cpu_last;
static uint32_t cpu_room;

/* Translations may happen on several CPUs at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void complain(const char *what)
{
	/* Once: the same cause would say it again for each block. */
	if (!failed)
		fprintf(stderr, "trimtab_trace: %s: %s; no trace is written\n", what,
			strerror(errno));
	failed = true;
}

static void put(uint64_t value)
{
	while (value >= 0x80) {
		putc_unlocked((int)(value & 0x7f) | 0x80, stream);
		value >>= 7;
	}
	putc_unlocked((int)value, stream);
}

static void put_run(void)
{
	if (stream_run > 0)
		put((uint64_t)stream_run * 2);
	stream_run = 0;
}

/* Counts one more jump between two blocks; whether there was memory for it. */
static bool count_jump(struct block *from, struct block *to)
{
	struct jump **link = &from->jumps;
	struct jump *jump;

	while (*link && (*link)->to != to)
		link = &(*link)->next;
	jump = *link;
	if (jump) {
		*link = jump->next;
	} else {
		jump = calloc(1, sizeof(*jump));
		if (!jump)
			return false;
		jump->to = to;
	}
	/* What came last will likely come again. */
	jump->next = from->jumps;
	from->jumps = jump;
	jump->count++;
	return true;
}

/* Counts the jump by which this CPU came to this block; whether there was memory for it. */
static bool arrived(unsigned int cpu, struct block *block)
{
	struct block *before;

	if (cpu >= cpu_room) {
		uint32_t room = (cpu + 1) * 2;
		struct block **more = realloc(cpu_last, room * sizeof(*more));

		if (!more)
			return false;
		memset(more + cpu_room, 0, (room - cpu_room) * sizeof(*more));
		cpu_last = more;
		cpu_room = room;
	}
	before = cpu_last[cpu];
	cpu_last[cpu] = block;
	return !before || count_jump(before, block);
}

/* A block starts to run. */
static void executed(unsigned int vcpu_index, void *userdata)
{
	struct block *block = userdata;

	pthread_mutex_lock(&lock);
	if (jumps && !arrived(vcpu_index, block))
		complain("cannot remember a jump");
	if (!stream || stream_length >= stream_limit)
		goto out;
	stream_length++;
	if (stream_last && stream_last->follower == block && stream_run < LONGEST_RUN) {
		stream_run++;
	} else {
		put_run();
		if (block->number == 0) {
			uint64_t before = stream_last ? stream_last->start + stream_last->bytes : 0;
			uint64_t distance = block->start - before;

			put(0);
			put(distance << 1 ^ (distance >> 63 ? UINT64_MAX : 0));
			put(block->bytes);
			block->number = ++stream_blocks;
		} else {
			put((uint64_t)(block->number - 1) * 2 + 3);
		}
	}
	if (stream_last)
		stream_last->follower = block;
	stream_last = block;
out:
	pthread_mutex_unlock(&lock);
}

/* A child has the buffer of its parent, and must not write it as well. */
static void forked(void)
{
	if (stream)
		__fpurge(stream);
	stream = NULL;
}

static bool begin_stream(void)
{
	size_t room = strlen(stream_path) + sizeof(".tmp");

	stream_partial = malloc(room);
	if (!stream_partial)
		return false;
	snprintf(stream_partial, room, "%s.tmp", stream_path);
	stream = fopen(stream_partial, "w");
	if (!stream)
		return false;
	fprintf(stream, "trimtab-stream 1\nsource qemu-plugin\nstream\n");
	return pthread_atfork(NULL, NULL, forked) == 0;
}

static void end_stream(void)
{
	bool good;

	if (!stream)
		return;
	put_run();
	put(1);
	put(stream_length >= stream_limit);
	good = !ferror(stream);
	if (fclose(stream) != 0 || !good || rename(stream_partial, stream_path) != 0) {
		complain(stream_path);
		unlink(stream_partial);
	}
	stream = NULL;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t start = qemu_plugin_tb_vaddr(tb);
	size_t instructions = qemu_plugin_tb_n_insns(tb);
	struct block *block;
	uint64_t bytes;

	(void)id;
	if (instructions == 0)
		return;

	pthread_mutex_lock(&lock);
	if (start >= min_address)
		seen_min = true;
	if (start < min_address && seen_min) {
		pthread_mutex_unlock(&lock);
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							 &user_instructions, instructions);
		return;
	}
	{
		/* A block is contiguous: it ends where its last instruction does. */
		struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, instructions - 1);

		bytes = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last) - start;
	}
	if (single_program) {
		struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);

		find_file(start, (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(first) - start);
	}
	block = entry(start, (uint32_t)bytes, (uint32_t)instructions);
	if (!block)
		complain("cannot remember a block");
	pthread_mutex_unlock(&lock);

	if (block)
		qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							 &block->count, 1);
	if (block && (stream || jumps))
		qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
}

static bool write_trace(FILE *file)
{
	uint64_t early = 0;
	uint64_t kernel = 0;

	for (uint32_t index = 0; index < block_count; index++) {
		const struct block *block = block_at(index);
		uint64_t ran = block->count * block->instructions;

		if (block->start < min_address)
			early += ran;
		else
			kernel += ran;
	}
	fprintf(file, "trimtab-trace 1\nsource qemu-plugin\n");
	fprintf(file, "instructions %" PRIu64 "\n", early + kernel + user_instructions);
	fprintf(file, "instructions-early %" PRIu64 "\n", early);
	fprintf(file, "instructions-kernel %" PRIu64 "\n", kernel);
	fprintf(file, "instructions-user %" PRIu64 "\n", user_instructions);
	for (uint32_t index = 0; index < mapping_count; index++)
		fprintf(file, "map %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", mappings[index].start,
			mappings[index].end, mappings[index].offset, mappings[index].path);
	for (uint32_t index = 0; index < block_count; index++) {
		const struct block *block = block_at(index);

		for (const struct jump *jump = block->jumps; jump; jump = jump->next)
			fprintf(file, "jump %" PRIx64 " %" PRIx64 " %" PRIu64 "\n",
				block->start + block->bytes - 1, jump->to->start, jump->count);
	}
	fprintf(file, "events\n");
	for (uint32_t index = 0; index < block_count; index++) {
		const struct block *block = block_at(index);

		/* Some blocks are translated and then never run. */
		if (block->count > 0)
			fprintf(file, "%" PRIx64 " %" PRIu32 " %" PRIu64 "\n", block->start,
				block->bytes, block->count);
	}
	return !ferror(file);
}

static void ended(qemu_plugin_id_t id, void *userdata)
{
	char *partial = NULL;
	char *whole = NULL;
	/* Room for the number of a process, too. */
	size_t room = strlen(out_path) + sizeof(".tmp") + 24;
	FILE *file;
	bool good;

	(void)id;
	(void)userdata;
	pthread_mutex_lock(&lock);
	end_stream();
	if (failed)
		goto out;
	partial = malloc(room);
	whole = malloc(room);
	if (!partial || !whole) {
		complain("cannot write the trace");
		goto out;
	}
	if (single_program)
		snprintf(whole, room, "%s.%ld", out_path, (long)getpid());
	else
		snprintf(whole, room, "%s", out_path);
	snprintf(partial, room, "%s.tmp", whole);
	file = fopen(partial, "w");
	if (!file) {
		complain(partial);
		goto out;
	}
	good = write_trace(file);
	/* A full disk may show only here. */
	if (fclose(file) != 0 || !good || rename(partial, whole) != 0) {
		complain(whole);
		unlink(partial);
	}
out:
	free(partial);
	free(whole);
	pthread_mutex_unlock(&lock);
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv)
{
	single_program = !info->system_emulation;
	for (int i = 0; i < argc; i++) {
		const char *value;

		if ((value = value_of(argv[i], "out"))) {
			free(out_path);
			out_path = strdup(value);
		} else if ((value = value_of(argv[i], "min"))) {
			if (!number_of(value, 16, &min_address)) {
				fprintf(stderr, "trimtab_trace: min=%s is not a hexadecimal address\n",
					value);
				return -1;
			}
		} else if ((value = value_of(argv[i], "jumps"))) {
			if (strcmp(value, "on") != 0) {
				fprintf(stderr, "trimtab_trace: jumps=%s is not jumps=on\n",
					value);
				return -1;
			}
			jumps = true;
		} else if ((value = value_of(argv[i], "stream"))) {
			free(stream_path);
			stream_path = strdup(value);
		} else if ((value = value_of(argv[i], "limit"))) {
			if (!number_of(value, 10, &stream_limit) || stream_limit == 0) {
				fprintf(stderr, "trimtab_trace: limit=%s is not a number above 0\n",
					value);
				return -1;
			}
		} else {
			fprintf(stderr,
				"trimtab_trace: unknown argument %s; expected out=FILE, min=ADDRESS, jumps=on, stream=FILE or limit=N\n",
				argv[i]);
			return -1;
		}
	}
	if (!out_path) {
		fprintf(stderr, "trimtab_trace: say where to write the trace with out=FILE\n");
		return -1;
	}
	/* An old trace must not pass for this boot's. */
	if (unlink(out_path) != 0 && errno != ENOENT) {
		fprintf(stderr, "trimtab_trace: cannot replace %s: %s\n", out_path, strerror(errno));
		return -1;
	}
	if (stream_path && ((unlink(stream_path) != 0 && errno != ENOENT) || !begin_stream())) {
		fprintf(stderr, "trimtab_trace: cannot write %s: %s\n", stream_path, strerror(errno));
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
