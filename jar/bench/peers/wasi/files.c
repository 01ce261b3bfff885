/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The operating system of a SQLite that has databases in memory only: WASI has no locks of files. */
#include <string.h>
#include "sqlite3.h"

static int refuse(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	(void)vfs, (void)name, (void)flags, (void)out;
	file->pMethods = NULL;
	return SQLITE_CANTOPEN;
}

static int delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs, (void)name, (void)sync;
	return SQLITE_IOERR_DELETE;
}

static int exists(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
	(void)vfs, (void)name, (void)flags;
	*out = 0;
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	if (strlen(name) >= (size_t)size)
		return SQLITE_CANTOPEN;
	strcpy(out, name);
	return SQLITE_OK;
}

static int randomness(sqlite3_vfs *vfs, int size, char *out)
{
	(void)vfs;
	memset(out, 7, size);
	return size;
}

static int wait(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	return microseconds;
}

static int date(sqlite3_vfs *vfs, double *out)
{
	(void)vfs;
	*out = 2440587.5; /* 1970 */
	return SQLITE_OK;
}

int sqlite3_os_init(void)
{
	static sqlite3_vfs memory = {
		.iVersion = 1, .szOsFile = sizeof(sqlite3_file), .mxPathname = 512, .zName = "none", .xOpen = refuse,
		.xDelete = delete, .xAccess = exists, .xFullPathname = full_name, .xRandomness = randomness, .xSleep = wait,
		.xCurrentTime = date,
	};
	return sqlite3_vfs_register(&memory, 1);
}

int sqlite3_os_end(void)
{
	return SQLITE_OK;
}
