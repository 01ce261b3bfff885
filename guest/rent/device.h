/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Devices that lend their memory: opening one returns it, and closing it lends it again. While one is open, its
 * memory is filled with a pattern, and must hold that until it is closed.
 */
#ifndef TRIMTAB_RENT_DEVICE_H
#define TRIMTAB_RENT_DEVICE_H

#include <sys/mman.h>

#include "pattern.h"

#define MOST_DEVICES 8

struct device {
	/* As it was given. */
	char name[64];
	char path[80];
	unsigned number;
	/* -1 if it is not open. */
	int open;
	unsigned char *map;
	/* Bytes. */
	size_t size;
	/* Which fill it has; 0 before the first one. */
	uint32_t fill;
	/* Of so many pages in a row, one is filled, and which. */
	size_t stride, first;
};

/* Devices by their names, with commas between them: `decoder` is /dev/rent-decoder, and a path is itself. */
static inline unsigned devices_named(const char *names, struct device *devices)
{
	unsigned found = 0;

	while (*names) {
		struct device *device = &devices[found];
		size_t length = strcspn(names, ",");

		if (found == MOST_DEVICES || length == 0 || length >= sizeof(device->name))
			fail("%s names no device, or too many", names);
		*device = (struct device){.number = found++, .open = -1, .stride = 1};
		snprintf(device->name, sizeof(device->name), "%.*s", (int)length, names);
		snprintf(device->path, sizeof(device->path), "%s%s", strchr(device->name, '/') ? "" : "/dev/rent-",
			 device->name);
		names += length;
		names += *names == ',';
	}
	return found;
}

/* The device takes its memory back. Returns 0, or the error. */
static inline int device_open(struct device *device)
{
	device->open = open(device->path, O_RDWR | O_CLOEXEC);
	device->fill = 0;
	return device->open < 0 ? errno : 0;
}

static inline void device_map(struct device *device)
{
	off_t size = lseek(device->open, 0, SEEK_END);

	if (size < (off_t)PAGE)
		fail("%s has no memory", device->path);
	device->size = (size_t)size / PAGE * PAGE;
	device->map = mmap(NULL, device->size, PROT_READ | PROT_WRITE, MAP_SHARED, device->open, 0);
	if (device->map == MAP_FAILED)
		fail("%s cannot be mapped: %s", device->path, strerror(errno));
}

/* The device lends its memory. */
static inline void device_close(struct device *device)
{
	if (device->map)
		munmap(device->map, device->size);
	device->map = NULL;
	if (close(device->open) != 0)
		fail("%s cannot be closed: %s", device->path, strerror(errno));
	device->open = -1;
}

/* Which pages are filled: about `sample` of them, in places that depend on `random`; 0 for all. */
static inline void device_choose(struct device *device, size_t sample, uint64_t random)
{
	size_t pages = device->size / PAGE;

	device->stride = sample == 0 || sample >= pages ? 1 : pages / sample;
	device->first = (size_t)(random % device->stride);
}

/* Looks at the chosen pages of a device that was not filled yet: bytes of files must not be in them. */
static inline bool device_leaks(const struct device *device, char *text, size_t size)
{
	struct origin origin;
	uint64_t words[2];
	char what[100];

	for (size_t page = device->first; page < device->size / PAGE; page += device->stride) {
		for (size_t at = page * PAGE; at < (page + 1) * PAGE; at += BLOCK) {
			memcpy(words, device->map + at, sizeof(words));
			if (!origin_of_two(words, 0, &origin) || origin.content.kind == OWNER_DEVICE)
				continue;
			describe_origin(&origin, what, sizeof(what));
			snprintf(text, size, "a file's bytes in %s, at byte %zu: %s", device->path, at, what);
			return true;
		}
	}
	return false;
}

static inline void device_fill(struct device *device, uint32_t fill)
{
	struct content content = {OWNER_DEVICE, device->number, fill};

	device->fill = fill;
	for (size_t page = device->first; page < device->size / PAGE; page += device->stride)
		for (size_t at = page * PAGE; at < (page + 1) * PAGE; at += BLOCK)
			fill_block((uint64_t *)(void *)(device->map + at), content, at / BLOCK);
}

/* Whether the chosen pages hold what they were filled with; says what is there if not. */
static inline bool device_holds(const struct device *device, char *text, size_t size)
{
	struct content content = {OWNER_DEVICE, device->number, device->fill};
	uint64_t wanted[WORDS_OF_A_BLOCK], found[WORDS_OF_A_BLOCK];
	struct origin origin;
	char what[100];

	for (size_t page = device->first; page < device->size / PAGE; page += device->stride) {
		for (size_t at = page * PAGE; at < (page + 1) * PAGE; at += BLOCK) {
			size_t first = 0;

			fill_block(wanted, content, at / BLOCK);
			memcpy(found, device->map + at, BLOCK);
			if (memcmp(found, wanted, BLOCK) == 0)
				continue;
			while (first + 1 < BLOCK && ((char *)found)[first] == ((char *)wanted)[first])
				first++;
			describe_bytes((unsigned char *)found + first, BLOCK - first, at + first, &origin, what,
				       sizeof(what));
			snprintf(text, size, "%s at byte %zu: expected device %u block %zu fill %u, found %s",
				 device->path, at + first, device->number, at / BLOCK % MOST_BLOCKS, device->fill, what);
			return false;
		}
	}
	return true;
}

#endif
