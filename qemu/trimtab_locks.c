// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A QEMU plugin that writes down which locks a Linux kernel takes and gives back, for x86-64.
 *
 *     -plugin trimtab_locks.so,out=FILE,functions=LIST
 *
 * LIST has the functions that take or give back locks, with + between them, each as
 * START-END-KIND; START and END are hexadecimal addresses. KINDs are
 *
 *     x     takes a lock that nobody else may have at the same time
 *     t     tries to
 *     s     takes a lock that others may have as readers
 *     r     gives back a lock
 *
 * Such a function is found to work on the lock at the address of its first instruction with a lock
 * prefix. Spin locks are given back in place, by a store of one byte, and those of readers by an
 * instruction with a lock prefix: both are recognised by the address of a lock that the CPU has.
 * Only locks that are free when they are taken are seen rightly: let one CPU work at a time.
 *
 * What is between two marks is written down. A mark is the instruction xchg %bx, %bx, which does
 * nothing; guests execute it where what is to be known begins, and where it ends.
 *
 * The file is text, a line for each event in its order:
 *
 *     mark COUNT COUNT...           instructions that each CPU has executed, from the first CPU
 *     CPU COUNT x|t|s LOCK CALLER   a lock is taken, behind so many instructions of this CPU
 *     CPU COUNT r LOCK              a lock is given back
 *     CPU COUNT i                   the CPU has nothing to do
 *     end                           the last line
 *
 * LOCK is the lock's address and CALLER one of the code that called the function, in hexadecimal.
 * A block that an exception cuts short counts as a whole.
 *
 * QEMU must run CPUs in turn on one thread, as it does where it counts instructions. The file is
 * complete or not there: it is written under another name first.
 */
#include "qemu_plugin_api.h"
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API_VERSION;

#define MOST_CPUS 64
#define MOST_FUNCTIONS 256
/* More than lockdep lets a task have. */
#define MOST_HELD 64
/* Some hundred megabytes for who reads them: whoever records more than that records something else. */
#define MOST_EVENTS 5000000

/* A function that takes or gives back locks. */
static struct function {
	uint64_t start, end;
	char kind;
} functions[MOST_FUNCTIONS];
static size_t function_count;

/* A block of instructions. */
struct block {
	uint64_t start;
	uint64_t instructions;
	/* The function that begins with it, if it is one of ours. */
	const struct function *entered;
};

/* An instruction in a block. */
struct place {
	uint64_t address;
	/* How many instructions of its block come after it. */
	uint64_t after;
	/* Whether it has a lock prefix. */
	bool is_locked;
};

/* A lock that is given back in place. */
struct held {
	uint64_t lock;
	bool is_shared;
};

static struct cpu {
	uint64_t executed;
	/* The block that it executes, and that before. */
	uint64_t block, before;
	/* The function that was entered, until the lock is known. */
	const struct function *in;
	uint64_t caller;
	struct held held[MOST_HELD];
	size_t held_count;
} cpus[MOST_CPUS];

static unsigned int cpu_count;
static bool recording;
static bool failed;
static uint64_t events;
static char *out_path;
static char *partial_path;
static FILE *out;

static void complain(const char *what)
{
	if (!failed)
		fprintf(stderr, "trimtab_locks: %s: %s; nothing is written\n", what, strerror(errno));
	failed = true;
}

static struct cpu *cpu_of(unsigned int number)
{
	if (number >= MOST_CPUS) {
		errno = ENOSPC;
		complain("more than 64 CPUs");
		return NULL;
	}
	if (number >= cpu_count)
		cpu_count = number + 1;
	return &cpus[number];
}

/* Whether one more event is written down. */
static bool keeps(void)
{
	if (!recording || failed)
		return false;
	if (++events > MOST_EVENTS) {
		errno = ENOSPC;
		complain("more than 5 million events");
		return false;
	}
	return true;
}

static void executed(unsigned int number, void *userdata)
{
	const struct block *block = userdata;
	struct cpu *cpu = cpu_of(number);

	if (!cpu)
		return;
	cpu->executed += block->instructions;
	cpu->before = cpu->block;
	cpu->block = block->start;
	if (block->entered) {
		cpu->in = block->entered;
		cpu->caller = cpu->before;
	}
}

static void marked(unsigned int number, void *userdata)
{
	(void)userdata;
	if (!cpu_of(number))
		return;
	recording = !recording;
	if (failed)
		return;
	fprintf(out, "mark");
	for (unsigned int cpu = 0; cpu < cpu_count; cpu++)
		fprintf(out, " %" PRIu64, cpus[cpu].executed);
	fprintf(out, "\n");
}

static void idle(qemu_plugin_id_t id, unsigned int number)
{
	struct cpu *cpu = cpu_of(number);

	(void)id;
	if (cpu && keeps())
		fprintf(out, "%u %" PRIu64 " i\n", number, cpu->executed);
}

/* The CPU no longer has the lock that is at this place. */
static void forget(struct cpu *cpu, size_t at)
{
	memmove(&cpu->held[at], &cpu->held[at + 1], (--cpu->held_count - at) * sizeof(cpu->held[0]));
}

/* The place of a lock that the CPU has, or that behind all. The one that was taken last is likely given back first. */
static size_t place_of(const struct cpu *cpu, uint64_t lock)
{
	for (size_t at = cpu->held_count; at-- > 0;)
		if (cpu->held[at].lock == lock)
			return at;
	return cpu->held_count;
}

/* Where more are held than there is room for, the oldest is one that another CPU gave back. */
static void hold(struct cpu *cpu, uint64_t lock, bool is_shared)
{
	if (cpu->held_count == MOST_HELD)
		forget(cpu, 0);
	cpu->held[cpu->held_count++] = (struct held){lock, is_shared};
}

/* A function of ours works on a lock. */
static void call(struct cpu *cpu, unsigned int number, uint64_t lock, uint64_t count)
{
	const struct function *function = cpu->in;
	size_t at = place_of(cpu, lock);

	cpu->in = NULL;
	if (function->kind != 'r')
		hold(cpu, lock, function->kind == 's');
	else if (at < cpu->held_count)
		forget(cpu, at);
	if (!keeps())
		return;
	fprintf(out, "%u %" PRIu64 " %c %" PRIx64, number, count, function->kind, lock);
	if (function->kind != 'r')
		fprintf(out, " %" PRIx64, cpu->caller);
	fprintf(out, "\n");
}

static void accessed(unsigned int number, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	const struct place *place = userdata;
	struct cpu *cpu = cpu_of(number);
	uint64_t count;
	size_t at;

	if (!cpu)
		return;
	count = cpu->executed - place->after;
	if (place->is_locked && cpu->in && place->address >= cpu->in->start &&
	    place->address < cpu->in->end) {
		call(cpu, number, address, count);
		return;
	}
	if (!qemu_plugin_mem_is_store(info))
		return;
	at = place_of(cpu, address);
	if (at == cpu->held_count || cpu->held[at].is_shared != place->is_locked)
		return;
	forget(cpu, at);
	if (keeps())
		fprintf(out, "%u %" PRIu64 " r %" PRIx64 "\n", number, count, address);
}

/* What an instruction is, by its bytes. */
enum form {
	OTHER,
	LOCKED,
	/* A store of one byte: a constant's or a register's. */
	BYTE,
	MARK,
};

static enum form form_of(const uint8_t *bytes, size_t size)
{
	static const uint8_t mark[] = {0x66, 0x87, 0xdb};
	bool is_locked = false;
	size_t at = 0;

	if (size == sizeof(mark) && memcmp(bytes, mark, size) == 0)
		return MARK;
	for (; at < size; at++) {
		if (bytes[at] == 0xf0)
			is_locked = true;
		else if (!strchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65", bytes[at]) || !bytes[at])
			break;
	}
	if (is_locked)
		return LOCKED;
	if (at < size && (bytes[at] & 0xf0) == 0x40)
		at++;
	return at < size && (bytes[at] == 0xc6 || bytes[at] == 0x88) ? BYTE : OTHER;
}

static const struct function *function_at(uint64_t start)
{
	for (size_t at = 0; at < function_count; at++)
		if (functions[at].start == start)
			return &functions[at];
	return NULL;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t instructions = qemu_plugin_tb_n_insns(tb);
	struct block *block;

	(void)id;
	block = malloc(sizeof(*block));
	if (!block) {
		complain("cannot remember a block");
		return;
	}
	*block = (struct block){qemu_plugin_tb_vaddr(tb), instructions,
				function_at(qemu_plugin_tb_vaddr(tb))};
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
	for (size_t at = 0; at < instructions; at++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, at);
		enum form form = form_of(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
		struct place *place;

		if (form == MARK)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked, QEMU_PLUGIN_CB_NO_REGS, NULL);
		/* Programs take no locks of the kernel's. */
		if ((form != LOCKED && form != BYTE) || !(block->start >> 63))
			continue;
		place = malloc(sizeof(*place));
		if (!place) {
			complain("cannot remember an instruction");
			return;
		}
		*place = (struct place){qemu_plugin_insn_vaddr(insn), instructions - at - 1, form == LOCKED};
		qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, place);
	}
}

static void ended(qemu_plugin_id_t id, void *userdata)
{
	bool good;

	(void)id;
	(void)userdata;
	fprintf(out, "end\n");
	good = !ferror(out);
	/* A full disk may show only here. */
	if (fclose(out) != 0 || !good)
		complain(partial_path);
	if (failed || rename(partial_path, out_path) != 0) {
		complain(out_path);
		unlink(partial_path);
	}
}

/* Reads START-END-KIND, and goes on behind it. */
static bool read_function(const char **list)
{
	struct function *function = &functions[function_count];
	int length = 0;

	if (function_count == MOST_FUNCTIONS ||
	    sscanf(*list, "%" SCNx64 "-%" SCNx64 "-%c%n", &function->start, &function->end,
		   &function->kind, &length) != 3 ||
	    !length || !strchr("xtsr", function->kind))
		return false;
	function_count++;
	*list += length;
	return true;
}

static bool read_functions(const char *list)
{
	for (;;) {
		if (!read_function(&list))
			return false;
		if (*list == '\0')
			return true;
		if (*list++ != '+')
			return false;
	}
}

static bool begin(void)
{
	size_t room = strlen(out_path) + sizeof(".tmp");

	/* An old one must not pass for this boot's. */
	if (unlink(out_path) != 0 && errno != ENOENT)
		return false;
	partial_path = malloc(room);
	if (!partial_path)
		return false;
	snprintf(partial_path, room, "%s.tmp", out_path);
	out = fopen(partial_path, "w");
	return out != NULL;
}

PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				      char **argv)
{
	if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
		fprintf(stderr, "trimtab_locks: this is for machines of x86_64\n");
		return -1;
	}
	for (int i = 0; i < argc; i++) {
		const char *value;

		if ((value = value_of(argv[i], "out"))) {
			free(out_path);
			out_path = strdup(value);
		} else if ((value = value_of(argv[i], "functions"))) {
			if (!read_functions(value)) {
				fprintf(stderr, "trimtab_locks: functions=%s is no list of START-END-KIND\n",
					value);
				return -1;
			}
		} else {
			fprintf(stderr, "trimtab_locks: unknown argument %s; expected out=FILE or functions=LIST\n",
				argv[i]);
			return -1;
		}
	}
	if (!out_path || function_count == 0) {
		fprintf(stderr, "trimtab_locks: say where to write with out=FILE, and functions=LIST\n");
		return -1;
	}
	if (!begin()) {
		fprintf(stderr, "trimtab_locks: cannot write %s: %s\n", out_path, strerror(errno));
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_vcpu_idle_cb(id, idle);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
