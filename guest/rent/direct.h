/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Direct writes: at once, or asynchronous; from memory, or from a file that the kernel has to read first, so that a
 * write takes long between the moment when it drops cached pages and the moment when it reaches the disk.
 */
#ifndef TRIMTAB_RENT_DIRECT_H
#define TRIMTAB_RENT_DIRECT_H

#include <linux/aio_abi.h>

#include "check.h"

/* Bytes of the file that writes come from. */
#define COLD_BYTES (LARGEST + 8 * PAGE)

static int cold_file = -1;
static unsigned char *cold_map;

static inline void close_cold(void)
{
	if (cold_file < 0)
		return;
	munmap(cold_map, COLD_BYTES);
	close(cold_file);
	cold_file = -1;
}

/* The same bytes in memory that is not there: each page is read from the disk when it is needed. */
static inline unsigned char *cold_copy(const unsigned char *bytes, size_t length)
{
	char path[300];

	if (cold_file < 0) {
		snprintf(path, sizeof(path), "%s/cold", me.folder);
		cold_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (cold_file < 0 || ftruncate(cold_file, (off_t)COLD_BYTES) != 0)
			call_failed("open of the cold file", NULL);
		cold_map = mmap(NULL, COLD_BYTES, PROT_READ, MAP_SHARED, cold_file, 0);
		if (cold_map == MAP_FAILED)
			call_failed("mmap of the cold file", NULL);
		madvise(cold_map, COLD_BYTES, MADV_RANDOM);
	}
	if (pwrite(cold_file, bytes, length, 0) != (ssize_t)length || fdatasync(cold_file) != 0)
		call_failed("write of the cold file", NULL);
	/* Pages that are mapped stay. */
	madvise(cold_map, COLD_BYTES, MADV_DONTNEED);
	posix_fadvise(cold_file, 0, 0, POSIX_FADV_DONTNEED);
	return cold_map;
}

/* As pwrite, but the kernel says later that it is done. */
static inline ssize_t write_later(int file, const void *bytes, size_t length, off_t at)
{
	static aio_context_t context;
	struct iocb block = {
		.aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_fildes = (uint32_t)file,
		.aio_buf = (uintptr_t)bytes,
		.aio_nbytes = length,
		.aio_offset = at,
	};
	struct iocb *blocks[] = {&block};
	struct io_event event;

	if (!context && syscall(SYS_io_setup, 4, &context) != 0) {
		count(&me.totals->no_async);
		return pwrite(file, bytes, length, at);
	}
	if (syscall(SYS_io_submit, context, 1, blocks) != 1)
		return -1;
	while (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1)
		if (errno != EINTR)
			call_failed("io_getevents", NULL);
	if (event.res < 0)
		errno = (int)-event.res;
	return event.res < 0 ? -1 : (ssize_t)event.res;
}

#endif
