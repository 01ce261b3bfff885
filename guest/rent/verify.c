/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Does random operations on files, and compares each byte that it reads with what should be there:
 *
 *     verify --directory DIRECTORY [--operations N] [--seed N] [--files N] [--file-kib N] [--processes N]
 *            [--devices NAME,NAME...] [--sample-pages N] [--unscrubbed]
 *            [--pressure-mib N] [--keep-mib N] [--filler-mib N] [--drop-caches] [--remount DEVICE:TYPE:OPTIONS]
 *            [--device-every N] [--pressure-every N] [--filler-every N] [--drop-every N] [--remount-every N]
 *            [--mostly KIND] [--plant FAULT]
 *
 * It is the oracle of rental memory: a kernel that keeps copies of evicted pages must never hand out one that is
 * stale, or another file's, or bytes that a device wrote; and no byte of a file may be in an active device. Each
 * process has --files files of at most --file-kib KiB, whose bytes say where they belong (pattern.h), in a folder of
 * its own, and reads, writes, maps, truncates, punches, zeroes, renames and deletes them, with and without the page
 * cache, and in races of reads with changes. In between it has pages and inodes evicted: with --pressure-mib by
 * taking so much memory, but leaving --keep-mib, with --filler-mib by reading a file of that size, with
 * --drop-caches as root; opens and closes devices, which return and lend memory; with --remount it unmounts
 * DIRECTORY and mounts it again. A device has its memory checked by --sample-pages pages, 0 for all. With --mostly,
 * half of the operations on files are of this kind.
 *
 *     trimtab: verify progress NUMBER                                operations of the first process, ten times
 *     trimtab: verify error KIND of process P, operation N: WHAT     at most 10, then it ends
 *     trimtab: verify operations NUMBER
 *     trimtab: verify KIND NUMBER                                    how many of each kind
 *     trimtab: verify bytes NUMBER                                   that were compared
 *     trimtab: verify errors NUMBER
 *     trimtab: counters NAME NUMBER                                  of rental memory, by how much they grew
 *
 * It exits 1 if there was an error. --plant makes a fault on purpose, which must be found: stale, other, place,
 * zero, bit, device, memory, size or end in a file, leak or overwrite in a device.
 */
#define _GNU_SOURCE /* O_DIRECT, fallocate, splice */
#include <signal.h>
#include <sys/wait.h>

#include "device.h"
#include "evict.h"
#include "plant.h"

#define MOST_PROCESSES 8
#define MOST_FILES (MOST_OWNERS / MOST_PROCESSES - 1)

static struct {
	const char *directory, *devices, *remount, *mostly, *plant;
	long operations, seed, files, file_kib, processes, sample_pages;
	long pressure_mib, keep_mib, filler_mib;
	long device_every, pressure_every, filler_every, drop_every, remount_every;
	bool unscrubbed, drop_caches;
} the = {
	.operations = 100000, .seed = 1, .files = 64, .file_kib = 256, .processes = 1, .sample_pages = 256,
	.keep_mib = 16, .device_every = 1000, .pressure_every = 20000, .filler_every = 20000, .drop_every = 4000,
	.remount_every = 50000,
};

static const struct option_value options[] = {
	{"directory", OPTION_TEXT, &the.directory, 0, 0},
	{"operations", OPTION_NUMBER, &the.operations, 1, 10000000},
	{"seed", OPTION_NUMBER, &the.seed, 0, 1000000000},
	{"files", OPTION_NUMBER, &the.files, 2, MOST_FILES},
	{"file-kib", OPTION_NUMBER, &the.file_kib, 8, 65536},
	{"processes", OPTION_NUMBER, &the.processes, 1, MOST_PROCESSES},
	{"devices", OPTION_TEXT, &the.devices, 0, 0},
	{"sample-pages", OPTION_NUMBER, &the.sample_pages, 0, 1000000},
	{"unscrubbed", OPTION_FLAG, &the.unscrubbed, 0, 0},
	{"pressure-mib", OPTION_NUMBER, &the.pressure_mib, 0, 65536},
	{"keep-mib", OPTION_NUMBER, &the.keep_mib, 1, 65536},
	{"filler-mib", OPTION_NUMBER, &the.filler_mib, 0, 127},
	{"drop-caches", OPTION_FLAG, &the.drop_caches, 0, 0},
	{"remount", OPTION_TEXT, &the.remount, 0, 0},
	{"device-every", OPTION_NUMBER, &the.device_every, 1, 10000000},
	{"pressure-every", OPTION_NUMBER, &the.pressure_every, 1, 10000000},
	{"filler-every", OPTION_NUMBER, &the.filler_every, 1, 10000000},
	{"drop-every", OPTION_NUMBER, &the.drop_every, 1, 10000000},
	{"remount-every", OPTION_NUMBER, &the.remount_every, 1, 10000000},
	{"mostly", OPTION_TEXT, &the.mostly, 0, 0},
	{"plant", OPTION_TEXT, &the.plant, 0, 0},
	{0},
};

enum kind {
	READ, READ_MAPPED, READ_DIRECT, READ_AHEAD, READ_SPLICED, WRITE, WRITE_MAPPED, WRITE_DIRECT, TRUNCATE, PUNCH,
	ZERO_RANGE, ALLOCATE, ADVISE, SYNC, RENEW, RENAME, RECLAIM, ASK_CACHE, RACE, DEVICE, PRESSURE, FILLER, DROP,
	REMOUNT, FINAL, KINDS
};

/* How often each is done, in 1,000 operations; those without a number have an option. */
static const struct {
	const char *name;
	unsigned share;
} kinds[KINDS] = {
	[READ] = {"read", 245},
	[READ_MAPPED] = {"read-mapped", 120},
	[READ_DIRECT] = {"read-direct", 40},
	[READ_AHEAD] = {"read-ahead", 30},
	[READ_SPLICED] = {"read-spliced", 15},
	[WRITE] = {"write", 180},
	[WRITE_MAPPED] = {"write-mapped", 70},
	[WRITE_DIRECT] = {"write-direct", 40},
	[TRUNCATE] = {"truncate", 60},
	[PUNCH] = {"punch", 50},
	[ZERO_RANGE] = {"zero-range", 20},
	[ALLOCATE] = {"allocate", 10},
	[ADVISE] = {"advise", 15},
	[SYNC] = {"sync", 10},
	[RENEW] = {"unlink", 10},
	[RENAME] = {"rename", 10},
	[RECLAIM] = {"reclaim", 57},
	[ASK_CACHE] = {"ask-cache", 10},
	[RACE] = {"race", 8},
	[DEVICE] = {"device", 0},
	[PRESSURE] = {"pressure", 0},
	[FILLER] = {"filler", 0},
	[DROP] = {"drop-caches", 0},
	[REMOUNT] = {"remount", 0},
	[FINAL] = {"final", 0},
};

static struct device devices[MOST_DEVICES];
static unsigned device_count;

static void begin(enum kind kind)
{
	me.kind = kinds[kind].name;
	count(&me.totals->kind[kind]);
}

/* ---- Files ---- */

static uint64_t random_length(void)
{
	uint64_t share = below(100);

	return 1 + below(share < 75 ? PAGE : share < 96 ? 4 * PAGE : LARGEST - 4 * PAGE);
}

/* A place in a file, sometimes after its end, and how far an operation goes. */
static void random_range(const struct file *file, uint64_t *from, uint64_t *to)
{
	uint64_t within = one_in(4) ? me.most : file->size + 1;

	*from = below(within < me.most ? within : me.most);
	*to = *from + random_length();
	*to = *to < me.most ? *to : me.most;
}

/* As direct I/O needs it: at sectors, or at pages. */
static void align(uint64_t *from, uint64_t *to)
{
	uint64_t unit = one_in(2) ? BLOCK : PAGE;

	*from = *from / unit * unit;
	*to = (*to + unit - 1) / unit * unit;
	*to = *to < me.most ? *to : me.most / unit * unit;
	if (*to <= *from)
		*from = *to - unit;
}

static struct file *random_file(void)
{
	/* What was evicted a moment ago should be met again soon. */
	if (!me.last || one_in(2))
		me.last = &me.files[below((uint64_t)me.count)];
	return me.last;
}

static void random_truncate(struct file *file)
{
	uint64_t size = one_in(2) ? below(file->size + 1) : below(me.most);
	uint64_t old = file->size;

	if (one_in(4))
		size = size / PAGE * PAGE;
	truncate_to(file, size);
	/* What was cut off must not come back. */
	if (size < old && one_in(2))
		truncate_to(file, old);
}

static void random_race(struct file *file, uint64_t from, uint64_t to)
{
	to = to < file->size ? to : file->size;
	if (from < to)
		change_in_a_race(file, from, to);
}

/* Looks at a range that has just changed, by the file or by its mapping. */
static void look(struct file *file, uint64_t from, uint64_t to)
{
	from = from < PAGE ? 0 : from - PAGE;
	if (one_in(2))
		read_range(file, from, to - from);
	else
		read_mapped(file, from, to - from);
}

static bool is_on_files(const char *name, enum kind *kind)
{
	for (*kind = READ; *kind < DEVICE; (*kind)++)
		if (strcmp(kinds[*kind].name, name) == 0)
			return true;
	return false;
}

static enum kind random_kind(void)
{
	enum kind kind = READ;
	uint64_t left;

	if (the.mostly && one_in(2) && is_on_files(the.mostly, &kind))
		return kind;
	kind = READ;
	left = below(1000);
	while (left >= kinds[kind].share)
		left -= kinds[kind++].share;
	return kind;
}

static void change(enum kind kind, struct file *file, uint64_t from, uint64_t to)
{
	switch (kind) {
	case WRITE:
		write_range(file, from, to);
		break;
	case WRITE_MAPPED:
		write_mapped(file, from, to);
		break;
	case WRITE_DIRECT:
		align(&from, &to);
		write_direct(file, from, to, false);
		break;
	case TRUNCATE:
		random_truncate(file);
		break;
	case PUNCH:
		punch(file, from, to);
		break;
	case ZERO_RANGE:
		zero_range(file, from, to);
		break;
	case ALLOCATE:
		allocate(file, from, to);
		break;
	default:
		return;
	}
	if (one_in(4))
		look(file, from, to);
}

static void file_operation(void)
{
	struct file *file = random_file();
	enum kind kind = random_kind();
	uint64_t from, to;

	begin(kind);
	random_range(file, &from, &to);
	switch (kind) {
	case READ:
		read_range(file, from, to - from);
		break;
	case READ_MAPPED:
		read_mapped(file, from, to - from);
		break;
	case READ_DIRECT:
		align(&from, &to);
		read_direct(file, from, to - from);
		break;
	case READ_AHEAD:
		read_ahead(file, from / 2, to - from, 1024 << below(6));
		break;
	case READ_SPLICED:
		read_spliced(file, from, to - from);
		break;
	case ADVISE:
		if (one_in(2))
			sync_file(file);
		posix_fadvise(opened(file), one_in(2) ? 0 : (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
		break;
	case SYNC:
		sync_file(file);
		break;
	case RENEW:
		renew(file);
		break;
	case RENAME:
		rename_over(file, &me.files[below((uint64_t)me.count)]);
		break;
	case RECLAIM:
		if (one_in(2))
			reclaim(file, 0, file->size);
		else
			reclaim(file, from, to - from);
		break;
	case ASK_CACHE:
		ask_cache(file, from, to - from);
		break;
	case RACE:
		random_race(file, from, to);
		break;
	default:
		change(kind, file, from, to);
	}
}

/* ---- Devices ---- */

static void use_device(struct device *device, bool last)
{
	char text[300];

	if (device->open >= 0) {
		if (the.plant && strcmp(the.plant, "overwrite") == 0)
			fill_block((uint64_t *)(void *)(device->map + device->first * PAGE),
				   (struct content){OWNER_FILE, 3, 7}, 9);
		if (!device_holds(device, text, sizeof(text)))
			error_line("wrong bytes in a device: %s", text);
		if (last || !one_in(8))
			device_close(device);
		else
			device_fill(device, next_version());
		return;
	}
	if (last)
		return;
	count(&me.totals->opens);
	if (device_open(device) != 0) {
		count(&me.totals->open_failures);
		return;
	}
	device_map(device);
	device_choose(device, one_in(16) ? 0 : (size_t)the.sample_pages, random_after(&me.random));
	if (the.plant && strcmp(the.plant, "leak") == 0)
		fill_block((uint64_t *)(void *)(device->map + device->first * PAGE),
			   (struct content){OWNER_FILE, 3, 7}, 9);
	if (!the.unscrubbed && device_leaks(device, text, sizeof(text))) {
		count(&me.totals->leaks);
		error_line("%s", text);
	}
	device_fill(device, next_version());
}

/* Each device belongs to one process. */
static struct device *device_of_this_process(uint64_t number)
{
	uint64_t at = number * (uint64_t)the.processes + me.process;

	return at < device_count ? &devices[at] : NULL;
}

/* A device of this process lends its memory most of the time, or there would be few copies. */
static void random_device(void)
{
	uint64_t own = (device_count + (uint64_t)(the.processes - 1) - me.process) / (uint64_t)the.processes;
	uint64_t every = (uint64_t)the.device_every;
	struct device *device;

	if (own == 0)
		return;
	device = device_of_this_process(below(own));
	if (!one_in(device->open < 0 ? every : (every + 3) / 4))
		return;
	begin(DEVICE);
	use_device(device, false);
}

/* ---- What is done now and then ---- */

static pthread_barrier_t *meeting;

static void mount_again(void)
{
	char text[256], *type, *data;

	snprintf(text, sizeof(text), "%s", the.remount);
	type = strchr(text, ':');
	if (!type)
		fail("--remount is not DEVICE:TYPE");
	*type++ = '\0';
	data = strchr(type, ':');
	if (data)
		*data++ = '\0';
	if (umount(the.directory) != 0)
		fail("%s cannot be unmounted: %s", the.directory, strerror(errno));
	if (mount(text, the.directory, type, 0, data) != 0)
		fail("%s cannot be mounted: %s", text, strerror(errno));
}

static void look_at_all(void)
{
	for (long at = 0; at < me.count && !too_many_errors(); at++) {
		read_whole(&me.files[at], LARGEST);
		read_mapped(&me.files[at], me.files[at].size - readable(&me.files[at], 0, 1), 1);
	}
}

/* All processes close their files, and one of them mounts the file system again. */
static void remount(void)
{
	close_everything();
	pthread_barrier_wait(meeting);
	if (me.process == 0)
		mount_again();
	pthread_barrier_wait(meeting);
	look_at_all();
}

static void rare_operations(void)
{
	/* On the same operation in each process, for they meet. */
	if (the.remount && me.operation % the.remount_every == 0) {
		begin(REMOUNT);
		remount();
	}
	random_device();
	if (the.pressure_mib && one_in((uint64_t)the.pressure_every)) {
		begin(PRESSURE);
		press(1 + below((uint64_t)the.pressure_mib), the.keep_mib);
	}
	if (the.filler_mib && one_in((uint64_t)the.filler_every)) {
		begin(FILLER);
		read_filler();
	}
	if (the.drop_caches && one_in((uint64_t)the.drop_every)) {
		begin(DROP);
		drop_caches();
	}
	if (the.plant && is_planted_fault(the.plant) && me.operation % (the.operations / 4 + 1) == 0)
		plant(the.plant);
}

/* ---- Processes ---- */

static void *memory(size_t count, size_t size)
{
	void *found = mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (found == MAP_FAILED)
		fail("there is not enough memory");
	return found;
}

static void make_file(struct file *file, unsigned owner, uint64_t most, uint64_t size)
{
	*file = (struct file){.owner = owner, .open = -1, .blocks = memory(most / BLOCK, sizeof(struct block))};
	clear(file, most);
	file->size = size;
	write_anew(file, 0, size);
}

static void set_up(unsigned process)
{
	unsigned owner = process * (MOST_FILES + 1);

	me.process = process;
	me.random = random_seeded((uint64_t)the.seed << 4 | process);
	me.count = the.files;
	me.most = (uint64_t)the.file_kib * 1024;
	me.kind = "setup";
	me.buffer = memory(LARGEST + 8 * PAGE, 1);
	me.wanted = memory(LARGEST + 8 * PAGE, 1);
	me.files = memory((size_t)me.count, sizeof(struct file));
	snprintf(me.folder, sizeof(me.folder), "%s/p%u", the.directory, process);
	if (mkdir(me.folder, 0700) != 0)
		fail("%s cannot be made: %s", me.folder, strerror(errno));
	for (long at = 0; at < me.count; at++)
		make_file(&me.files[at], owner + (unsigned)at, me.most, below(me.most + 1));
	me.filler_bytes = (uint64_t)the.filler_mib * MIB;
	if (me.filler_bytes)
		make_file(&me.filler, owner + MOST_FILES, me.filler_bytes, me.filler_bytes);
	else
		me.filler.open = -1;
}

/* An access of a mapping that the file system cannot serve. */
static void on_bus_error(int number)
{
	(void)number;
	error_line("a mapped page of a file cannot be had (SIGBUS)");
	fflush(stdout);
	_exit(1);
}

static int run(unsigned process)
{
	struct device *device;

	signal(SIGBUS, on_bus_error);
	set_up(process);
	for (me.operation = 1; me.operation <= the.operations && !too_many_errors(); me.operation++) {
		file_operation();
		rare_operations();
		count(&me.totals->operations);
		if (process == 0 && me.operation % ((the.operations + 9) / 10) == 0)
			printf("trimtab: verify progress %ld\n", me.operation);
	}
	begin(FINAL);
	if (the.plant && is_planted_fault(the.plant))
		plant(the.plant);
	look_at_all();
	for (uint64_t at = 0; (device = device_of_this_process(at)); at++)
		use_device(device, true);
	close_everything();
	fflush(stdout);
	/* Others may wait for a process that ends before its time. */
	return too_many_errors();
}

static bool wait_for_all(const pid_t *all)
{
	bool right = true;
	int status;
	pid_t ended;

	while ((ended = wait(&status)) > 0) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		if (!WIFEXITED(status) && right)
			printf("trimtab: verify error a process ended by signal %d\n", WTERMSIG(status));
		right = false;
		/* The others might wait for it. */
		for (long at = 0; at < the.processes; at++)
			if (all[at] != ended)
				kill(all[at], SIGKILL);
	}
	return right;
}

static void say_totals(const struct totals *totals)
{
	const struct {
		const char *name;
		long count;
	} others[] = {
		{"no-space", totals->no_space},		{"no-direct", totals->no_direct},
		{"no-hole", totals->no_hole},		{"no-zero-range", totals->no_zero_range},
		{"no-allocate", totals->no_allocate},	{"no-splice", totals->no_splice},
		{"no-reclaim", totals->no_pageout},	{"no-async", totals->no_async},
		{"opens", totals->opens},		{"open-failures", totals->open_failures},
		{"leaks", totals->leaks},		{"bytes", totals->bytes},
	};

	printf("trimtab: verify operations %ld\n", totals->operations);
	for (int kind = 0; kind < KINDS; kind++)
		printf("trimtab: verify %s %ld\n", kinds[kind].name, totals->kind[kind]);
	for (size_t at = 0; at < sizeof(others) / sizeof(others[0]); at++)
		printf("trimtab: verify %s %ld\n", others[at].name, others[at].count);
}

int main(int argc, char **argv)
{
	size_t page = (sizeof(struct totals) + sizeof(pthread_barrier_t) + 64) / PAGE * PAGE + PAGE;
	static struct counters before, after;
	pid_t all[MOST_PROCESSES];
	pthread_barrierattr_t shared;
	enum kind kind;
	long errors;
	bool right;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (*options_read(argv, options) || !the.directory)
		usage(options);
	if (the.mostly && !is_on_files(the.mostly, &kind))
		usage(options);
	if (the.plant && !is_planted_fault(the.plant) && strcmp(the.plant, "leak") != 0 &&
	    strcmp(the.plant, "overwrite") != 0)
		usage(options);
	device_count = the.devices ? devices_named(the.devices, devices) : 0;
	me.totals = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (me.totals == MAP_FAILED)
		fail("there is not enough memory");
	meeting = (pthread_barrier_t *)(void *)((char *)me.totals + page - (sizeof(*meeting) + 63) / 64 * 64);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(meeting, &shared, (unsigned)the.processes);
	counters_read(&before);
	for (long process = 0; process < the.processes; process++) {
		all[process] = fork();
		if (all[process] < 0)
			fail("a process cannot begin");
		if (all[process] == 0)
			_exit(run((unsigned)process));
	}
	right = wait_for_all(all);
	counters_read(&after);
	counters_say("counters", &before, &after);
	say_totals(me.totals);
	errors = atomic_load(&me.totals->errors);
	errors += errors == 0 && !right;
	printf("trimtab: verify errors %ld\n", errors);
	return errors != 0;
}
