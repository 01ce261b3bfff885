/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Changing files in each way that there is, and the model with them.
 */
#ifndef TRIMTAB_RENT_CHANGE_H
#define TRIMTAB_RENT_CHANGE_H

#include <linux/falloc.h>

#include "direct.h"

static inline void grow(struct file *file, uint64_t to)
{
	if (to > file->size)
		file->size = to;
}

/* The disk is full: what was written of a range is not known, so the file begins anew. */
static inline void empty(struct file *file)
{
	count(&me.totals->no_space);
	if (ftruncate(opened(file), 0) != 0)
		call_failed("ftruncate", file);
	clear(file, me.most);
}

static inline void write_range(struct file *file, uint64_t from, uint64_t to)
{
	uint32_t version = next_version();
	ssize_t wrote;

	fit(file, &from, &to, version);
	assign(file, from, to, version);
	expect(file, from, to - from, me.wanted);
	wrote = pwrite(opened(file), me.wanted, to - from, (off_t)from);
	if (wrote == (ssize_t)(to - from))
		grow(file, to);
	else if (wrote >= 0 || errno == ENOSPC)
		empty(file);
	else
		call_failed("pwrite", file);
}

/* Writes by the file's mapping; not further than the file goes. */
static inline void write_mapped(struct file *file, uint64_t from, uint64_t to)
{
	uint32_t version = next_version();
	uint64_t start, end;

	to = to < file->size ? to : file->size;
	if (from >= to)
		return;
	start = from;
	end = to;
	fit(file, &start, &end, version);
	if (end > file->size)
		return;
	assign(file, start, end, version);
	expect(file, start, end - start, me.wanted);
	memcpy(mapped(file) + start, me.wanted, end - start);
	if (one_in(16) && msync(file->map + start / PAGE * PAGE, end - start / PAGE * PAGE,
				one_in(4) ? MS_SYNC : MS_ASYNC) != 0)
		call_failed("msync", file);
}

static inline void write_direct(struct file *file, uint64_t from, uint64_t to, bool cold)
{
	int direct = open_direct(file);
	uint32_t version = next_version();
	unsigned char *bytes = me.wanted;
	ssize_t wrote;

	if (direct < 0)
		return;
	/* The model changes only if the file did. */
	for (uint64_t at = from; at < to; at += BLOCK)
		fill_block((uint64_t *)(void *)(me.wanted + (at - from)),
			   (struct content){OWNER_FILE, file->owner, version}, at / BLOCK);
	if (cold)
		bytes = cold_copy(bytes, to - from);
	wrote = one_in(3) ? write_later(direct, bytes, to - from, (off_t)from) :
			    pwrite(direct, bytes, to - from, (off_t)from);
	if (wrote == (ssize_t)(to - from)) {
		assign(file, from, to, version);
		grow(file, to);
	} else if (wrote >= 0 || errno == ENOSPC) {
		empty(file);
	} else if (errno == EINVAL) {
		count(&me.totals->no_direct);
	} else {
		call_failed("direct pwrite", file);
	}
	close(direct);
}

static inline void truncate_to(struct file *file, uint64_t size)
{
	uint64_t end = (size + BLOCK - 1) / BLOCK * BLOCK;

	if (size < file->size) {
		if (size < end)
			fit(file, &size, &end, 0);
		assign(file, size, (file->size + BLOCK - 1) / BLOCK * BLOCK, 0);
	}
	file->size = size;
	if (ftruncate(opened(file), (off_t)size) != 0)
		call_failed("ftruncate", file);
}

/* Whether fallocate did it; counts it where the file system has no such thing. */
static inline bool allocated(struct file *file, int mode, uint64_t from, uint64_t to, atomic_long *missing)
{
	if (fallocate(opened(file), mode, (off_t)from, (off_t)(to - from)) == 0)
		return true;
	if (errno == EOPNOTSUPP || errno == ENOSYS)
		count(missing);
	else if (errno == ENOSPC)
		empty(file);
	else
		call_failed("fallocate", file);
	return false;
}

static inline void punch(struct file *file, uint64_t from, uint64_t to)
{
	fit(file, &from, &to, 0);
	if (allocated(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to, &me.totals->no_hole))
		assign(file, from, to, 0);
}

static inline void zero_range(struct file *file, uint64_t from, uint64_t to)
{
	bool keep = one_in(2);

	fit(file, &from, &to, 0);
	if (!allocated(file, FALLOC_FL_ZERO_RANGE | (keep ? FALLOC_FL_KEEP_SIZE : 0), from, to,
		       &me.totals->no_zero_range))
		return;
	assign(file, from, to, 0);
	if (!keep)
		grow(file, to);
}

/* Blocks that are there and were never written, which must read as zeroes. */
static inline void allocate(struct file *file, uint64_t from, uint64_t to)
{
	if (allocated(file, 0, from, to, &me.totals->no_allocate))
		grow(file, to);
}

/* The name goes, and with the last open file the inode; the next file may get it. */
static inline void renew(struct file *file)
{
	char path[300];

	path_of(file, path, sizeof(path));
	opened(file);
	if (unlink(path) != 0)
		call_failed("unlink", file);
	/* What has no name is still there. */
	if (one_in(4))
		read_whole(file, LARGEST);
	close_file(file);
	clear(file, me.most);
	opened(file);
}

/* The file takes the name of another one, which goes; and another one begins anew by its old name. */
static inline void rename_over(struct file *from, struct file *to)
{
	char old[300], new[300];
	struct file gone = *to;

	if (from == to)
		return;
	opened(from);
	path_of(from, old, sizeof(old));
	path_of(to, new, sizeof(new));
	close_file(to);
	if (rename(old, new) != 0)
		call_failed("rename", from);
	*to = *from;
	*from = (struct file){.owner = gone.owner, .blocks = gone.blocks, .open = -1};
	clear(from, me.most);
	opened(from);
}

/* Writes all of it to the disk. */
static inline void sync_file(struct file *file)
{
	if ((one_in(2) ? fsync(opened(file)) : fdatasync(opened(file))) != 0)
		call_failed("fsync", file);
}

#endif
