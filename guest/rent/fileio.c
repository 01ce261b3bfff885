/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reads and writes blocks of files at random places, and says how long that took:
 *
 *     fileio --directory DIRECTORY [--mode rndrd|rndrw|rndwr] [--mib N] [--files N] [--block-kib N] [--requests N]
 *            [--seed N] [--warm] [--warm-requests N] [--preallocate MIB] [--hog MIB] [--disk NAME] [--prepare]
 *
 * It is the load of the paper on rental memory, sysbench's file I/O: --files files of together --mib MiB, of which
 * --requests blocks are read, or read and written 3:2 in turn, without fsync. The files are made if they are not
 * there; --prepare does only that, and has the kernel forget them. Before the requests that count, --preallocate has
 * it take so much memory; --warm reads all files once, and --warm-requests reads so many blocks at random places.
 * With --hog it takes so much memory step by step during the requests. A block says which one it is, and that is
 * checked. If tracefs is mounted, the requests that count begin and end in the trace with the markers `fileio begins`
 * and `fileio ends`.
 *
 *     trimtab: fileio NAME NUMBER       requests, nanoseconds, mib_per_second, reads, writes, and of single requests
 *                                       read_p50 to write_max in nanoseconds (of 8 steps for each power of two)
 *     trimtab: disk NAME NUMBER         read_sectors and written_sectors, of 512 bytes, during the requests
 *     trimtab: cpu busy_ns NUMBER       how long the CPU was busy meanwhile, with anything
 *     trimtab: vmstat NAME NUMBER       of the kernel, by how much they grew
 *     trimtab: counters NAME NUMBER     of rental memory, likewise
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "memory.h"
#include "pattern.h"

#define MOST_FILES 4096
/* Each power of two nanoseconds in 8 steps. */
#define STEPS 8
#define BUCKETS (64 * STEPS)

static struct {
	const char *directory, *mode, *disk;
	long mib, files, block_kib, requests, seed, warm_requests, preallocate, hog;
	bool warm, prepare;
} the = {.mode = "rndrd", .disk = "nullb0", .mib = 100, .files = 32, .block_kib = 16, .requests = 10000, .seed = 1};

static const struct option_value options[] = {
	{"directory", OPTION_TEXT, &the.directory, 0, 0},
	{"mode", OPTION_TEXT, &the.mode, 0, 0},
	{"disk", OPTION_TEXT, &the.disk, 0, 0},
	{"mib", OPTION_NUMBER, &the.mib, 1, 65536},
	{"files", OPTION_NUMBER, &the.files, 1, MOST_FILES},
	{"block-kib", OPTION_NUMBER, &the.block_kib, 1, 1024},
	{"requests", OPTION_NUMBER, &the.requests, 1, 100000000},
	{"seed", OPTION_NUMBER, &the.seed, 0, 1000000000},
	{"warm", OPTION_FLAG, &the.warm, 0, 0},
	{"warm-requests", OPTION_NUMBER, &the.warm_requests, 0, 100000000},
	{"preallocate", OPTION_NUMBER, &the.preallocate, 0, 65536},
	{"hog", OPTION_NUMBER, &the.hog, 0, 65536},
	{"prepare", OPTION_FLAG, &the.prepare, 0, 0},
	{0},
};

/* How many requests took how long. */
struct histogram {
	uint64_t count, most, in[BUCKETS];
};

static int files[MOST_FILES];
static size_t block;
static uint64_t blocks_of_a_file;
static unsigned char *bytes;
static struct histogram reads, writes;

static void took(struct histogram *all, uint64_t ns)
{
	int power = ns < STEPS ? 0 : 63 - __builtin_clzll(ns);
	uint64_t step = ns < STEPS ? ns : (ns >> (power - 3)) % STEPS;

	all->in[power * STEPS + (int)step]++;
	all->count++;
	all->most = ns > all->most ? ns : all->most;
}

/* The nanoseconds within which so many of 100 requests were done. */
static uint64_t within(const struct histogram *all, uint64_t percent)
{
	uint64_t rank = (all->count * percent + 99) / 100, seen = 0;
	int at = 0;

	while (at < BUCKETS - 1 && (seen += all->in[at]) < rank)
		at++;
	return at < STEPS ? (uint64_t)at : (uint64_t)(STEPS + at % STEPS + 1) << (at / STEPS - 3);
}

static void say_histogram(const char *name, const struct histogram *all)
{
	uint64_t p50 = within(all, 50), p99 = within(all, 99);

	if (all->count == 0)
		return;
	printf("trimtab: fileio %s_p50 %llu\n", name, (unsigned long long)(p50 < all->most ? p50 : all->most));
	printf("trimtab: fileio %s_p99 %llu\n", name, (unsigned long long)(p99 < all->most ? p99 : all->most));
	printf("trimtab: fileio %s_max %llu\n", name, (unsigned long long)all->most);
}

/* ---- Files ---- */

static struct content content_of(long file)
{
	return (struct content){OWNER_FILE, (unsigned)file % MOST_OWNERS, 1};
}

/* What a block begins with. */
static uint64_t name_of(long file, uint64_t at)
{
	return mixed(first_word(content_of(file), at));
}

static void write_block(long file, uint64_t at)
{
	uint64_t name = name_of(file, at);

	memcpy(bytes, &name, sizeof(name));
	if (pwrite(files[file], bytes, block, (off_t)(at * block)) != (ssize_t)block)
		fail("fileio: block %llu of file %ld cannot be written: %s", (unsigned long long)at, file,
		     strerror(errno));
}

static void read_block(long file, uint64_t at)
{
	uint64_t name = name_of(file, at), found;

	if (pread(files[file], bytes, block, (off_t)(at * block)) != (ssize_t)block)
		fail("fileio: block %llu of file %ld cannot be read: %s", (unsigned long long)at, file,
		     strerror(errno));
	memcpy(&found, bytes, sizeof(found));
	if (found != name)
		fail("fileio: block %llu of file %ld is another one", (unsigned long long)at, file);
}

static void open_files(void)
{
	struct stat status;
	char path[320];

	for (long file = 0; file < the.files; file++) {
		snprintf(path, sizeof(path), "%s/fileio.%ld", the.directory, file);
		files[file] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (files[file] < 0 || fstat(files[file], &status) != 0)
			fail("fileio: %s cannot be opened: %s", path, strerror(errno));
		if ((uint64_t)status.st_size == blocks_of_a_file * block)
			continue;
		for (uint64_t at = 0; at < blocks_of_a_file; at++)
			write_block(file, at);
		if (fsync(files[file]) != 0)
			fail("fileio: %s cannot be written: %s", path, strerror(errno));
	}
}

static void forget_files(void)
{
	for (long file = 0; file < the.files; file++)
		posix_fadvise(files[file], 0, 0, POSIX_FADV_DONTNEED);
}

static void read_all(void)
{
	for (long file = 0; file < the.files; file++)
		for (uint64_t at = 0; at < blocks_of_a_file; at++)
			read_block(file, at);
}

/* ---- Requests ---- */

/* Whether the request of this number writes: of five, the modes write none, two or all. */
static bool is_write(long request)
{
	long of_five = strcmp(the.mode, "rndrd") == 0 ? 0 : strcmp(the.mode, "rndrw") == 0 ? 2 : 5;

	return request % 5 * of_five / 5 != (request % 5 + 1) * of_five / 5;
}

static void request_all(uint64_t *random, unsigned char *hog)
{
	long held = 0;

	for (long request = 0; request < the.requests; request++) {
		uint64_t at = random_below(random, (uint64_t)the.files * blocks_of_a_file), start;
		long file = (long)(at / blocks_of_a_file);

		memory_grow(hog, &held, the.hog, request + 1, the.requests);
		at %= blocks_of_a_file;
		start = now_ns();
		if (is_write(request)) {
			write_block(file, at);
			took(&writes, now_ns() - start);
		} else {
			read_block(file, at);
			took(&reads, now_ns() - start);
		}
	}
}

/* A line in the kernel's trace, if there is one. */
static void mark(const char *text)
{
	tell("/sys/kernel/tracing/instances/plan/trace_marker", text);
}

static void say(uint64_t ns, const struct sectors *disk, const struct counters *vmstat)
{
	static const char *const names[] = {
		"pgpgin", "pgpgout", "pgmajfault", "pgscan_direct", "pgscan_kswapd", "pgsteal_direct", "pgsteal_kswapd",
		"workingset_refault_file", "workingset_activate_file", "nr_dirtied", "nr_written",
	};
	double mib = (double)the.requests * (double)block / (double)MIB;
	long long from, to;

	printf("trimtab: fileio requests %ld\ntrimtab: fileio nanoseconds %llu\n", the.requests,
	       (unsigned long long)ns);
	printf("trimtab: fileio mib_per_second %.3f\n", ns ? mib * 1e9 / (double)ns : 0);
	printf("trimtab: fileio reads %llu\ntrimtab: fileio writes %llu\n", (unsigned long long)reads.count,
	       (unsigned long long)writes.count);
	say_histogram("read", &reads);
	say_histogram("write", &writes);
	if (disk[0].known && disk[1].known)
		printf("trimtab: disk read_sectors %llu\ntrimtab: disk written_sectors %llu\n",
		       disk[1].read - disk[0].read, disk[1].written - disk[0].written);
	for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++)
		if (counter_of(&vmstat[0], names[at], &from) && counter_of(&vmstat[1], names[at], &to))
			printf("trimtab: vmstat %s %lld\n", names[at], to - from);
}

int main(int argc, char **argv)
{
	static struct counters rental[2], vmstat[2];
	struct rusage used[2];
	struct sectors disk[2];
	unsigned char *hog;
	uint64_t random, ns, busy;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (*options_read(argv, options) || !the.directory ||
	    (strcmp(the.mode, "rndrd") && strcmp(the.mode, "rndrw") && strcmp(the.mode, "rndwr")))
		usage(options);
	block = (size_t)the.block_kib * 1024;
	blocks_of_a_file = (uint64_t)the.mib * MIB / block / (uint64_t)the.files;
	if (blocks_of_a_file == 0)
		fail("fileio: %ld files of %ld MiB have no block each", the.files, the.mib);
	bytes = memory_room(1 + (long)(block / MIB));
	for (size_t at = 0; at < block; at++)
		bytes[at] = (unsigned char)(at * 7);
	open_files();
	if (the.prepare) {
		forget_files();
		return 0;
	}
	memory_take(memory_room(the.preallocate + 1), 0, the.preallocate);
	hog = memory_room(the.hog + 1);
	random = random_seeded((uint64_t)the.seed);
	if (the.warm)
		read_all();
	for (long request = 0; request < the.warm_requests; request++)
		read_block((long)random_below(&random, (uint64_t)the.files), random_below(&random, blocks_of_a_file));

	counters_read(&rental[0]);
	counters_of("/proc/vmstat", &vmstat[0]);
	disk[0] = sectors_of(the.disk);
	getrusage(RUSAGE_SELF, &used[0]);
	busy = busy_ns();
	mark("fileio begins");
	ns = now_ns();
	request_all(&random, hog);
	ns = now_ns() - ns;
	mark("fileio ends");
	busy = busy_ns() - busy;
	getrusage(RUSAGE_SELF, &used[1]);
	disk[1] = sectors_of(the.disk);
	counters_of("/proc/vmstat", &vmstat[1]);
	counters_read(&rental[1]);

	say(ns, disk, vmstat);
	printf("trimtab: cpu busy_ns %llu\n", (unsigned long long)busy);
	printf("trimtab: fileio cpu_us %lld\n",
	       (used[1].ru_utime.tv_sec + used[1].ru_stime.tv_sec - used[0].ru_utime.tv_sec -
		used[0].ru_stime.tv_sec) * 1000000LL +
		       used[1].ru_utime.tv_usec + used[1].ru_stime.tv_usec - used[0].ru_utime.tv_usec -
		       used[0].ru_stime.tv_usec);
	counters_say("counters", &rental[0], &rental[1]);
	return 0;
}
