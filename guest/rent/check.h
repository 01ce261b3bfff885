/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reading files in each way that there is, and comparing what was read with the model.
 *
 * A process has files of its own, so what it reads depends on nothing but what it did. Includers define _GNU_SOURCE.
 */
#ifndef TRIMTAB_RENT_CHECK_H
#define TRIMTAB_RENT_CHECK_H

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "model.h"

/* Bytes that one operation reads or writes. */
#define LARGEST (128UL * 1024)
/* More are not looked for. */
#define MOST_ERRORS 10
#define MOST_KINDS 64

/* What all processes add to. */
struct totals {
	atomic_long errors;
	atomic_long operations;
	atomic_long bytes;
	atomic_long kind[MOST_KINDS];
	/* What a file system does not do. */
	atomic_long no_space, no_direct, no_hole, no_zero_range, no_allocate, no_splice, no_pageout, no_async;
	atomic_long opens, open_failures, leaks;
};

static struct {
	unsigned process;
	char folder[256];
	struct file *files;
	long count;
	/* Bytes of a file. */
	uint64_t most;
	struct file filler;
	uint64_t filler_bytes;
	uint64_t random;
	/* Of the last write of this process. */
	uint32_t version;
	long operation;
	const char *kind;
	struct file *last;
	/* A page more than an operation needs, on both sides. */
	unsigned char *buffer, *wanted;
	struct totals *totals;
} me;

static inline uint64_t below(uint64_t count)
{
	return random_below(&me.random, count);
}

static inline bool one_in(uint64_t count)
{
	return below(count) == 0;
}

static inline void count(atomic_long *what)
{
	atomic_fetch_add_explicit(what, 1, memory_order_relaxed);
}

static inline uint32_t next_version(void)
{
	if (++me.version >= MOST_VERSIONS)
		fail("there are no more versions: use fewer operations");
	return me.version;
}

static inline void path_of(const struct file *file, char *path, size_t size)
{
	if (file == &me.filler)
		snprintf(path, size, "%s/filler", me.folder);
	else
		snprintf(path, size, "%s/f%ld", me.folder, (long)(file - me.files));
}

/* What went wrong, on a line with where; returns whether to go on. */
__attribute__((format(printf, 1, 2))) static inline void error_line(const char *format, ...)
{
	long number = atomic_fetch_add(&me.totals->errors, 1);
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (number < MOST_ERRORS)
		printf("trimtab: verify error %s of process %u, operation %ld: %s\n", me.kind, me.process,
		       me.operation, text);
}

/* A call that cannot fail did; what follows would make no sense. */
__attribute__((noreturn)) static inline void call_failed(const char *call, const struct file *file)
{
	char path[300] = "";
	int error = errno;

	if (file)
		path_of(file, path, sizeof(path));
	error_line("%s %s: %s", call, path, strerror(error));
	fflush(stdout);
	_exit(1);
}

static inline bool too_many_errors(void)
{
	return atomic_load_explicit(&me.totals->errors, memory_order_relaxed) >= MOST_ERRORS;
}

/* ---- Open files ---- */

static inline int opened(struct file *file)
{
	char path[300];

	if (file->open < 0) {
		path_of(file, path, sizeof(path));
		file->open = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (file->open < 0)
			call_failed("open", file);
	}
	return file->open;
}

static inline unsigned char *mapped(struct file *file)
{
	if (!file->map) {
		file->map = mmap(NULL, me.most, PROT_READ | PROT_WRITE, MAP_SHARED, opened(file), 0);
		if (file->map == MAP_FAILED)
			call_failed("mmap", file);
	}
	return file->map;
}

static inline void unmap(struct file *file)
{
	if (file->map)
		munmap(file->map, me.most);
	file->map = NULL;
}

static inline void close_file(struct file *file)
{
	unmap(file);
	if (file->open >= 0 && close(file->open) != 0)
		call_failed("close", file);
	file->open = -1;
}

static inline void close_all(void)
{
	for (long at = 0; at < me.count; at++)
		close_file(&me.files[at]);
	close_file(&me.filler);
}

/* Opens it for direct I/O, or returns -1 where the file system has none. */
static inline int open_direct(struct file *file)
{
	char path[300];
	int direct;

	opened(file);
	path_of(file, path, sizeof(path));
	direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (direct < 0 && errno == EINVAL)
		count(&me.totals->no_direct);
	else if (direct < 0)
		call_failed("open for direct I/O", file);
	return direct;
}

/* ---- Comparing ---- */

static const char *cause_of(const struct file *file, uint64_t at, const struct origin *found)
{
	if (found->content.kind == OWNER_DEVICE)
		return "a device's bytes in a file";
	if (found->content.kind == OWNER_ANONYMOUS)
		return "anonymous memory in a file";
	if (found->content.owner != file->owner)
		return "another file's bytes";
	if (found->block != at / BLOCK)
		return "bytes of another place";
	return "stale bytes";
}

static inline void report(const struct file *file, uint64_t from, size_t length, const unsigned char *bytes)
{
	char found[100], expected[100], path[300];
	const char *cause = "wrong bytes";
	size_t first = 0, differ = 0, end;
	struct origin origin;

	for (size_t at = length; at-- > 0;) {
		if (bytes[at] != me.wanted[at]) {
			first = at;
			differ++;
		}
	}
	/* What is right after them says nothing of where they came from. */
	for (end = first; end < length && memcmp(bytes + end, me.wanted + end, length - end < 8 ? length - end : 8); end++)
		;
	path_of(file, path, sizeof(path));
	if (describe_bytes(bytes + first, end - first, from + first, &origin, found, sizeof(found)))
		cause = cause_of(file, from + first, &origin);
	else if (strcmp(found, "zeroes") == 0)
		cause = "zeroes";
	snprintf(expected, sizeof(expected), "file %u block %llu version %u", file->owner,
		 (unsigned long long)((from + first) / BLOCK), version_at(file, from + first));
	error_line("%s: %s at byte %llu of %llu: expected %s, found %s; %zu bytes of %zu from %llu differ", cause, path,
		   (unsigned long long)(from + first), (unsigned long long)file->size, expected, found, differ, length,
		   (unsigned long long)from);
}

/* Writes a range anew, so that one fault is not met again and again. */
static inline void write_anew(struct file *file, uint64_t from, uint64_t to)
{
	uint32_t version = next_version();

	from = from / BLOCK * BLOCK;
	to = (to + BLOCK - 1) / BLOCK * BLOCK;
	to = to < file->size ? to : file->size;
	for (uint64_t at = from, part; at < to; at += part) {
		part = to - at < LARGEST ? to - at : LARGEST;
		assign(file, at, at + part, version);
		expect(file, at, part, me.wanted);
		if (pwrite(opened(file), me.wanted, part, (off_t)at) != (ssize_t)part)
			call_failed("pwrite", file);
	}
}

/* Compares bytes of a file that are at most LARGEST. */
static inline bool check(struct file *file, uint64_t from, size_t length, const unsigned char *bytes)
{
	expect(file, from, length, me.wanted);
	atomic_fetch_add_explicit(&me.totals->bytes, (long)length, memory_order_relaxed);
	if (memcmp(bytes, me.wanted, length) == 0)
		return true;
	report(file, from, length, bytes);
	write_anew(file, from, from + length);
	return false;
}

/* How many bytes a read of a range gets. */
static inline size_t readable(const struct file *file, uint64_t from, size_t length)
{
	if (from >= file->size)
		return 0;
	return file->size - from < length ? (size_t)(file->size - from) : length;
}

/* Checks what a read returned: as many bytes as there are, and those. */
static inline void check_read(struct file *file, uint64_t from, size_t length, ssize_t got,
			      const unsigned char *bytes, const char *call)
{
	size_t right = readable(file, from, length);

	if (got < 0)
		call_failed(call, file);
	if ((size_t)got != right)
		error_line("%s: %zd bytes from %llu, expected %zu: size %llu", call, got, (unsigned long long)from,
			   right, (unsigned long long)file->size);
	check(file, from, (size_t)got < right ? (size_t)got : right, bytes);
}

/* ---- Reading ---- */

static inline void read_range(struct file *file, uint64_t from, size_t length)
{
	/* Not aligned, as the bytes of most programs. */
	unsigned char *bytes = me.buffer + from % 64;

	check_read(file, from, length, pread(opened(file), bytes, length, (off_t)from), bytes, "pread");
}

static inline void read_whole(struct file *file, size_t part)
{
	for (uint64_t at = 0; at <= file->size; at += part)
		read_range(file, at, part);
}

/* Reads by the file's mapping, also what follows the last byte in its page, which must be zeroes. */
static inline void read_mapped(struct file *file, uint64_t from, size_t length)
{
	uint64_t end, page_end = (file->size + PAGE - 1) / PAGE * PAGE;
	const unsigned char *map;

	length = readable(file, from, length);
	if (length == 0)
		return;
	map = mapped(file);
	end = from + length;
	/* The memory might change between being compared and being described. */
	memcpy(me.buffer, map + from, length);
	check(file, from, length, me.buffer);
	for (; end == file->size && file->size < page_end; page_end--) {
		if (map[page_end - 1] != 0) {
			error_line("byte %llu after the end of the file is %02x, and not zero: size %llu",
				   (unsigned long long)page_end - 1, map[page_end - 1], (unsigned long long)file->size);
			break;
		}
	}
}

static inline void read_direct(struct file *file, uint64_t from, size_t length)
{
	int direct = open_direct(file);
	ssize_t got;

	if (direct < 0)
		return;
	got = pread(direct, me.buffer, length, (off_t)from);
	if (got < 0 && errno == EINVAL)
		count(&me.totals->no_direct);
	else
		check_read(file, from, length, got, me.buffer, "direct pread");
	close(direct);
}

/* Reads ahead, and then from the range's begin to its end, as programs do. */
static inline void read_ahead(struct file *file, uint64_t from, size_t length, size_t part)
{
	if (one_in(2))
		posix_fadvise(opened(file), 0, 0, one_in(2) ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_NORMAL);
	else
		readahead(opened(file), (off_t)from, length);
	for (uint64_t at = from; at < from + length; at += part)
		read_range(file, at, part);
}

/* Reads by a pipe, which gets pages of the file. */
static inline void read_spliced(struct file *file, uint64_t from, size_t length)
{
	off_t at = (off_t)from;
	ssize_t moved, got = 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		call_failed("pipe", file);
	/* A pipe has 16 places for pages, and the first and last one may be in part. */
	length = length < 8 * PAGE ? length : 8 * PAGE;
	length = readable(file, from, length);
	moved = length == 0 ? 0 : splice(opened(file), &at, ends[1], NULL, length, SPLICE_F_NONBLOCK);
	if (moved < 0 && (errno == EINVAL || errno == EAGAIN))
		count(&me.totals->no_splice);
	else if (moved < 0)
		call_failed("splice", file);
	while (got < moved) {
		ssize_t part = read(ends[0], me.buffer + got, (size_t)(moved - got));

		if (part <= 0)
			call_failed("read of a pipe", file);
		got += part;
	}
	if (moved > 0)
		check(file, from, (size_t)moved, me.buffer);
	close(ends[0]);
	close(ends[1]);
}

#endif
