/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Allocates buffers from a DMA-BUF heap, as a player or a camera does, and checks what is in them:
 *
 *     heap --heap NAME [--count N] [--most-kib N] [--held N] [--pause-us FROM-TO] [--seed N] [-- COMMAND ARGUMENT...]
 *
 * Each of --count times it pauses, frees one of at most --held buffers, compares its bytes with what it was filled with
 * before, and allocates another one of a random size up to --most-kib, which must be cleared, and fills it. Then all are
 * checked and freed. COMMAND is a load beside it, which is begun first and ended when all is done.
 *
 *     trimtab: heap error WHAT      a new buffer was not cleared, or one does not hold what it was filled with
 *     trimtab: heap NAME NUMBER     count, full (the heap had no room), errors, p50, p99, mean, max of the nanoseconds of an
 *                                   allocation; and kib, of all together
 *     trimtab: counters NAME NUMBER of rental memory, by how much they grew
 *
 * It exits 1 if there was an error.
 */
#include <linux/dma-heap.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "rent.h"

#define MOST_COUNT 100000
#define MOST_HELD 64

static struct {
	const char *heap;
	long count, most_kib, held, seed;
	long pause_us[2];
} the = {.count = 100, .most_kib = 8192, .held = 4, .seed = 1, .pause_us = {1000, 20000}};

static const struct option_value options[] = {
	{"heap", OPTION_TEXT, &the.heap, 0, 0},
	{"count", OPTION_NUMBER, &the.count, 1, MOST_COUNT},
	{"most-kib", OPTION_NUMBER, &the.most_kib, 4, 1 << 20},
	{"held", OPTION_NUMBER, &the.held, 1, MOST_HELD},
	{"seed", OPTION_NUMBER, &the.seed, 0, 1000000000},
	{"pause-us", OPTION_RANGE, &the.pause_us, 0, 1000000000},
	{0},
};

/* Memory that a heap gave; not there if map is NULL. */
struct buffer {
	int file;
	size_t size;
	uint64_t *map;
	uint64_t first_word;
};

static struct buffer buffers[MOST_HELD];
static long errors, full, allocated_kib;
static uint64_t times[MOST_COUNT];
static size_t time_count;

static void wrong(const char *what, size_t at, uint64_t found)
{
	printf("trimtab: heap error %s: byte %zu begins %#llx\n", what, at * sizeof(found), (unsigned long long)found);
	if (++errors == 10)
		fail("heap: too many errors");
}

/* Each word says where it is and in which buffer. */
static void fill(struct buffer *buffer, uint64_t first_word)
{
	buffer->first_word = first_word;
	for (size_t at = 0; at < buffer->size / sizeof(first_word); at++)
		buffer->map[at] = first_word + at;
}

static void check_and_free(struct buffer *buffer)
{
	if (!buffer->map)
		return;
	for (size_t at = 0; at < buffer->size / sizeof(*buffer->map); at++) {
		if (buffer->map[at] != buffer->first_word + at) {
			wrong("it holds something else", at, buffer->map[at]);
			break;
		}
	}
	munmap(buffer->map, buffer->size);
	close(buffer->file);
	buffer->map = NULL;
}

/* Nobody has a copy of his own, or what is behind it. */
static void check_limits(const struct buffer *buffer)
{
	if (mmap(NULL, buffer->size, PROT_READ, MAP_PRIVATE, buffer->file, 0) != MAP_FAILED)
		wrong("it can be mapped privately", 0, 0);
	if (mmap(NULL, buffer->size + PAGE, PROT_READ, MAP_SHARED, buffer->file, 0) != MAP_FAILED)
		wrong("more than it has can be mapped", 0, 0);
	if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, buffer->file, (off_t)buffer->size) != MAP_FAILED)
		wrong("what is behind it can be mapped", 0, 0);
}

/* Whether the heap had room for it. */
static bool allocate(int heap, struct buffer *buffer, size_t size)
{
	struct dma_heap_allocation_data asked = {.len = size, .fd_flags = O_RDWR | O_CLOEXEC};
	uint64_t before = now_ns();

	if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &asked) != 0) {
		if (errno != ENOMEM)
			fail("heap: %zu bytes cannot be allocated: %s", size, strerror(errno));
		return false;
	}
	times[time_count++] = now_ns() - before;
	buffer->file = (int)asked.fd;
	buffer->size = size;
	buffer->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->file, 0);
	if (buffer->map == MAP_FAILED)
		fail("heap: a buffer cannot be mapped: %s", strerror(errno));
	check_limits(buffer);
	for (size_t at = 0; at < size / sizeof(*buffer->map); at++) {
		if (buffer->map[at]) {
			wrong("it is not cleared", at, buffer->map[at]);
			break;
		}
	}
	return true;
}

static pid_t begin_load(char **command)
{
	pid_t load = fork();

	if (load == 0) {
		setpgid(0, 0);
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execvp(command[0], command);
		_exit(127);
	}
	if (load < 0)
		fail("heap: the load cannot begin: %s", strerror(errno));
	setpgid(load, load);
	return load;
}

int main(int argc, char **argv)
{
	static struct counters before, after;
	char **command, path[128];
	uint64_t random;
	pid_t load = 0;
	int heap;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	command = options_read(argv, options);
	if (!the.heap)
		usage(options);
	snprintf(path, sizeof(path), "/dev/dma_heap/%s", the.heap);
	heap = open(path, O_RDWR | O_CLOEXEC);
	if (heap < 0)
		fail("heap: %s cannot be opened: %s", path, strerror(errno));
	if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &(struct dma_heap_allocation_data){.len = 3ULL << 30}) == 0 ||
	    errno != EINVAL)
		wrong("a buffer of 3 GiB is not refused", 0, 0);
	random = random_seeded((uint64_t)the.seed);
	counters_read(&before);
	fflush(stdout);
	if (*command)
		load = begin_load(command);
	for (long number = 0; number < the.count; number++) {
		struct buffer *buffer = &buffers[random_below(&random, (uint64_t)the.held)];
		size_t pages = 1 + random_below(&random, (uint64_t)the.most_kib / 4);

		sleep_us(random_between(&random, the.pause_us));
		if (load && waitpid(load, NULL, WNOHANG) == load)
			fail("heap: the load has come to its end");
		check_and_free(buffer);
		if (!allocate(heap, buffer, pages * PAGE)) {
			full++;
			continue;
		}
		allocated_kib += (long)pages * 4;
		fill(buffer, random_after(&random));
	}
	for (long at = 0; at < the.held; at++)
		check_and_free(&buffers[at]);
	if (load) {
		kill(-load, SIGKILL);
		waitpid(load, NULL, 0);
	}
	counters_read(&after);
	printf("trimtab: heap count %zu\ntrimtab: heap full %ld\ntrimtab: heap errors %ld\ntrimtab: heap kib %ld\n",
	       time_count, full, errors, allocated_kib);
	say_times("heap", "", times, time_count);
	counters_say("counters", &before, &after);
	return errors != 0;
}
