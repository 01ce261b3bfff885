// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that puts what a guest executes through a model of a core: how often its first-level caches and
 * its branch predictor are wrong.
 *
 *     -plugin trimtab_core.so,out=FILE,l1i=ENTRIES-WAYS-BYTES,l1d=ENTRIES-WAYS-BYTES,history=BITS
 *             [,min=ADDRESS,entry=ADDRESS,calls=ADDRESS+ADDRESS...]
 *
 * l1i, l1d: a cache whose sets each replace the line that was used the longest ago. A store needs its line like a
 * load. An access counts at its first byte.
 *
 * history: conditional branches are predicted by 2^BITS counters of two bits each, which the branch's address and
 * the last BITS branches choose (gshare: S. McFarling, "Combining Branch Predictors", DEC WRL TN-36, 1993).
 * Jumps and calls by a register or through memory are predicted to go where they went last, by a table of as many
 * entries. Returns and direct jumps are never wrong. This knows the instructions of x86-64.
 *
 * Each CPU, or thread, has a core of its own. Where QEMU runs a single program, each process that ends writes a
 * file of its own, FILE.PID; one that a fork made also counts what ran before the fork.
 *
 * The file is text:
 *
 *     trimtab-core 1
 *     total INSTRUCTIONS L1I L1D BRANCHES       what was executed, and how often each was wrong
 *     call NUMBER INSTRUCTIONS L1I L1D BRANCHES
 *
 * Of a kernel, give the start of its half of the address space as min: what is below does not count. entry is where
 * system calls enter it, and calls are functions, numbered from 0. A line "call" is written for each time that
 * a CPU came in by entry and called one of these, the first of them: from there to the next instruction of a program.
 * It begins with empty caches, as if a program had worked on for long, and what it had learnt of branches. All numbers are
 * hexadecimal where they are given, and decimal where they are written.
 *
 * A block that an exception cuts short counts as a whole. The file is complete or not there: it is written under
 * another name first.
 */
#include "qemu_plugin_api.h"
#include "arguments.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API_VERSION;

#define MOST_CPUS 4096
#define MOST_CALLS 512
#define MOST_ENTRIES (1 << 20)
#define MOST_HISTORY 20
/* No line of a cache has this address. */
#define EMPTY UINT64_MAX

/* The shape of a cache. */
struct shape {
	uint32_t sets, ways, shift;
};

struct cache {
	const struct shape *shape;
	/* Set by set, the most recently used line first. */
	uint64_t *lines;
	/* The line that was used last. */
	uint64_t last;
};

/* How a block ends. */
enum ending { DIRECT, CONDITIONAL, INDIRECT };

/* A block of instructions. */
struct block {
	uint64_t start, end;
	/* Where its last instruction is. */
	uint64_t last;
	uint32_t instructions;
	enum ending ending;
	/* Whether system calls enter here, and one more than the number of the function that begins here. */
	bool is_entry;
	uint32_t call;
};

struct counts {
	uint64_t instructions, l1i, l1d, branches;
};

/* A CPU, or a thread of a program. */
struct core {
	struct cache l1i, l1d;
	uint8_t *counters;
	uint64_t *targets;
	uint32_t history;
	/* The block that it executes. */
	const struct block *at;
	/* All that it executed, and since a system call began. */
	struct counts total, call;
	bool in_call;
	/* One more than the number of the call, once it is known. */
	uint32_t call_number;
};

static struct core *cores[MOST_CPUS];
static struct shape l1i_shape, l1d_shape;
static uint32_t history_bits;
static uint64_t min_address, entry_address;
static uint64_t calls[MOST_CALLS];
static uint32_t call_count;
static bool single_program;
static bool failed;
static char *out_path, *partial_path;
/* Lines of calls, as they come. */
static FILE *out;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void complain(const char *what)
{
	if (!failed)
		fprintf(stderr, "trimtab_core: %s: %s; nothing is written\n", what, strerror(errno));
	failed = true;
}

static void empty(struct cache *cache)
{
	memset(cache->lines, 0xff, sizeof(*cache->lines) * cache->shape->sets * cache->shape->ways);
	cache->last = EMPTY;
}

static bool make_cache(struct cache *cache, const struct shape *shape)
{
	cache->shape = shape;
	cache->lines = malloc(sizeof(*cache->lines) * shape->sets * shape->ways);
	if (!cache->lines)
		return false;
	empty(cache);
	return true;
}

/* Uses a line, which goes to the front of its set; whether it was not there. */
static bool misses(struct cache *cache, uint64_t line)
{
	uint32_t ways = cache->shape->ways;
	uint64_t *set = &cache->lines[(line & (cache->shape->sets - 1)) * ways];
	uint32_t place = 0;
	bool missed;

	if (line == cache->last)
		return false;
	cache->last = line;
	while (place < ways && set[place] != line)
		place++;
	missed = place == ways;
	if (missed)
		place--;
	memmove(set + 1, set, place * sizeof(*set));
	set[0] = line;
	return missed;
}

/* The core of a CPU, which only that CPU uses; made the first time. */
static struct core *core_of(unsigned int number)
{
	struct core *core;

	if (number < MOST_CPUS && cores[number])
		return cores[number];
	core = number < MOST_CPUS ? calloc(1, sizeof(*core)) : NULL;
	if (core && make_cache(&core->l1i, &l1i_shape) && make_cache(&core->l1d, &l1d_shape)) {
		/* Weakly not taken. */
		core->counters = malloc((size_t)1 << history_bits);
		core->targets = calloc((size_t)1 << history_bits, sizeof(*core->targets));
	}
	if (!core || !core->counters || !core->targets) {
		errno = ENOMEM;
		complain("cannot have one more CPU");
		return NULL;
	}
	memset(core->counters, 1, (size_t)1 << history_bits);
	cores[number] = core;
	return core;
}

static uint32_t entry_of(uint64_t address)
{
	return (uint32_t)(address >> 1 ^ address >> (history_bits + 1)) & ((1u << history_bits) - 1);
}

/* Whether a core expected something else than that its block goes on at an address. */
static bool mispredicts(struct core *core, uint64_t next)
{
	const struct block *block = core->at;
	uint32_t mask = (1u << history_bits) - 1;

	if (block->ending == CONDITIONAL) {
		uint8_t *counter = &core->counters[entry_of(block->last) ^ core->history];
		bool taken = next != block->end;
		bool wrong = (*counter >= 2) != taken;

		if (taken && *counter < 3)
			++*counter;
		if (!taken && *counter > 0)
			--*counter;
		core->history = (core->history << 1 | taken) & mask;
		return wrong;
	}
	if (block->ending == INDIRECT) {
		uint64_t *target = &core->targets[entry_of(block->last)];
		bool wrong = *target != next;

		*target = next;
		return wrong;
	}
	return false;
}

static void add(struct counts *sum, const struct counts *more)
{
	sum->instructions += more->instructions;
	sum->l1i += more->l1i;
	sum->l1d += more->l1d;
	sum->branches += more->branches;
}

static void write_counts(FILE *file, const struct counts *counts)
{
	fprintf(file, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", counts->instructions, counts->l1i,
		counts->l1d, counts->branches);
}

/* A system call is over. */
static void end_call(struct core *core)
{
	if (core->call_number) {
		pthread_mutex_lock(&lock);
		fprintf(out, "call %" PRIu32, core->call_number - 1);
		write_counts(out, &core->call);
		pthread_mutex_unlock(&lock);
	}
	add(&core->total, &core->call);
	core->call = (struct counts){};
	core->in_call = false;
	core->call_number = 0;
}

static void begin_call(struct core *core)
{
	end_call(core);
	empty(&core->l1i);
	empty(&core->l1d);
	core->in_call = true;
}

/* A program goes on. */
static void left(unsigned int number, void *userdata)
{
	struct core *core = number < MOST_CPUS ? cores[number] : NULL;

	(void)userdata;
	if (core && core->in_call)
		end_call(core);
	if (core)
		core->at = NULL;
}

static void executed(unsigned int number, void *userdata)
{
	const struct block *block = userdata;
	struct core *core = core_of(number);
	struct counts *counts;

	if (!core)
		return;
	counts = &core->call;
	if (block->is_entry)
		begin_call(core);
	if (block->call && !core->call_number && core->in_call)
		core->call_number = block->call;
	if (core->at && mispredicts(core, block->start))
		counts->branches++;
	core->at = block;
	counts->instructions += block->instructions;
	for (uint64_t line = block->start >> l1i_shape.shift; line <= (block->end - 1) >> l1i_shape.shift; line++)
		counts->l1i += misses(&core->l1i, line);
}

static void accessed(unsigned int number, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	struct core *core = core_of(number);

	(void)info;
	(void)userdata;
	if (core)
		core->call.l1d += misses(&core->l1d, address >> l1d_shape.shift);
}

/* How control leaves an instruction of x86-64. */
static enum ending ending_of(const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (at < size && bytes[at] && (strchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65", bytes[at]) ||
					  (bytes[at] & 0xf0) == 0x40))
		at++;
	if (at + 1 >= size)
		return DIRECT;
	/* jcc, loop and jrcxz; the long forms of jcc. */
	if ((bytes[at] & 0xf0) == 0x70 || (bytes[at] >= 0xe0 && bytes[at] <= 0xe3))
		return CONDITIONAL;
	if (bytes[at] == 0x0f && (bytes[at + 1] & 0xf0) == 0x80)
		return CONDITIONAL;
	/* call and jmp of a register or of what is in memory. */
	if (bytes[at] == 0xff && ((bytes[at + 1] >> 3 & 7) == 2 || (bytes[at + 1] >> 3 & 7) == 4))
		return INDIRECT;
	return DIRECT;
}

static uint32_t call_at(uint64_t address)
{
	for (uint32_t number = 0; number < call_count; number++)
		if (calls[number] == address)
			return number + 1;
	return 0;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t start = qemu_plugin_tb_vaddr(tb);
	size_t instructions = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *last;
	struct block *block;

	(void)id;
	if (instructions == 0)
		return;
	if (start < min_address) {
		qemu_plugin_register_vcpu_tb_exec_cb(tb, left, QEMU_PLUGIN_CB_NO_REGS, NULL);
		return;
	}
	/* QEMU has its address for as long as it runs. */
	block = malloc(sizeof(*block));
	if (!block) {
		complain("cannot remember a block");
		return;
	}
	last = qemu_plugin_tb_get_insn(tb, instructions - 1);
	*block = (struct block){
		.start = start,
		.end = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last),
		.last = qemu_plugin_insn_vaddr(last),
		.instructions = (uint32_t)instructions,
		.ending = ending_of(qemu_plugin_insn_data(last), qemu_plugin_insn_size(last)),
		.is_entry = entry_address && start == entry_address,
		.call = call_at(start),
	};
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
	for (size_t at = 0; at < instructions; at++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, at), accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
}

/* Where it is written until it is complete. A process that a fork made has its own. */
static bool begin(void)
{
	/* Room for the number of a process, too. */
	size_t room = strlen(out_path) + sizeof(".tmp") + 24;

	partial_path = malloc(room);
	if (!partial_path)
		return false;
	snprintf(partial_path, room, single_program ? "%s.%ld.tmp" : "%s.tmp", out_path, (long)getpid());
	out = fopen(partial_path, "w");
	return out != NULL;
}

static bool end(void)
{
	char *whole = strdup(partial_path);
	bool good = false;

	if (!whole)
		return false;
	whole[strlen(whole) - strlen(".tmp")] = '\0';
	good = !ferror(out);
	/* A full disk may show only here. */
	good = fclose(out) == 0 && good && rename(partial_path, whole) == 0;
	free(whole);
	return good;
}

static void ended(qemu_plugin_id_t id, void *userdata)
{
	struct counts total = {};

	(void)id;
	(void)userdata;
	for (uint32_t number = 0; number < MOST_CPUS; number++) {
		if (!cores[number])
			continue;
		add(&total, &cores[number]->total);
		add(&total, &cores[number]->call);
	}
	/* A program writes now, so that no process has the file of another. */
	if (!failed && single_program && !begin())
		complain(out_path);
	if (!failed) {
		if (single_program)
			fprintf(out, "trimtab-core 1\n");
		fprintf(out, "total");
		write_counts(out, &total);
		if (!end())
			complain(partial_path);
	}
	if (failed && partial_path)
		unlink(partial_path);
}

/* Reads ENTRIES-WAYS-BYTES: a power of two of sets, and of bytes. */
static bool read_shape(const char *text, struct shape *shape)
{
	unsigned int entries, ways, bytes;
	int length = 0;

	if (sscanf(text, "%u-%u-%u%n", &entries, &ways, &bytes, &length) != 3 || text[length] != '\0')
		return false;
	if (!ways || !entries || entries > MOST_ENTRIES || entries % ways || bytes < 2)
		return false;
	shape->sets = entries / ways;
	shape->ways = ways;
	while (shape->shift < 16 && 1u << shape->shift < bytes)
		shape->shift++;
	return (shape->sets & (shape->sets - 1)) == 0 && 1u << shape->shift == bytes;
}

static bool read_calls(const char *list)
{
	int length = 0;

	for (;;) {
		if (call_count == MOST_CALLS || sscanf(list, "%" SCNx64 "%n", &calls[call_count], &length) != 1)
			return false;
		call_count++;
		list += length;
		if (*list == '\0')
			return true;
		if (*list++ != '+')
			return false;
	}
}

/* Takes an argument; whether it can be one. */
static bool take(const char *argument)
{
	const char *value;
	uint64_t number;

	if ((value = value_of(argument, "out"))) {
		free(out_path);
		out_path = strdup(value);
		return out_path != NULL;
	}
	if ((value = value_of(argument, "l1i")))
		return read_shape(value, &l1i_shape);
	if ((value = value_of(argument, "l1d")))
		return read_shape(value, &l1d_shape);
	if ((value = value_of(argument, "min")))
		return number_of(value, 16, &min_address);
	if ((value = value_of(argument, "entry")))
		return number_of(value, 16, &entry_address);
	if ((value = value_of(argument, "calls")))
		return read_calls(value);
	value = value_of(argument, "history");
	if (!value || !number_of(value, 10, &number) || number < 1 || number > MOST_HISTORY)
		return false;
	history_bits = (uint32_t)number;
	return true;
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv)
{
	if (strcmp(info->target_name, "x86_64") != 0) {
		fprintf(stderr, "trimtab_core: this knows the instructions of x86_64, and not those of %s\n",
			info->target_name);
		return -1;
	}
	single_program = !info->system_emulation;
	for (int i = 0; i < argc; i++) {
		if (take(argv[i]))
			continue;
		fprintf(stderr,
			"trimtab_core: cannot take %s; expected out=FILE, l1i=ENTRIES-WAYS-BYTES, l1d=ENTRIES-WAYS-BYTES, history=BITS, min=ADDRESS, entry=ADDRESS or calls=ADDRESS+ADDRESS\n",
			argv[i]);
		return -1;
	}
	if (!out_path || !l1i_shape.ways || !l1d_shape.ways || !history_bits) {
		fprintf(stderr, "trimtab_core: say where to write with out=FILE, and of which core with l1i, l1d and history\n");
		return -1;
	}
	/* An old one must not pass for this one's. */
	if ((unlink(out_path) != 0 && errno != ENOENT) || (!single_program && !begin())) {
		fprintf(stderr, "trimtab_core: cannot write %s: %s\n", out_path, strerror(errno));
		return -1;
	}
	if (!single_program)
		fprintf(out, "trimtab-core 1\n");
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
