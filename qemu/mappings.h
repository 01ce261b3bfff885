// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which files the code of a program comes from, where QEMU runs a single program.
 */
#ifndef TRIMTAB_MAPPINGS_H
#define TRIMTAB_MAPPINGS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says once what went wrong. */
static void complain(const char *what);

/* A file in the program's memory: what /proc/self/maps said of it, at the program's addresses. */
struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	char *path;
};

static struct mapping *mappings;
static uint32_t mapping_count;
static uint32_t mapping_room;

/* Pages of code that no file backs (just-in-time compilers): not to be looked up for each block. */
#define ANONYMOUS 1024
static uint64_t anonymous[ANONYMOUS];

static bool add_mapping(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	if (mapping_count == mapping_room) {
		uint32_t room = mapping_room ? mapping_room * 2 : 64;
		struct mapping *more = realloc(mappings, room * sizeof(*mappings));

		if (!more)
			return false;
		mappings = more;
		mapping_room = room;
	}
	mappings[mapping_count].path = strdup(path);
	if (!mappings[mapping_count].path)
		return false;
	mappings[mapping_count].start = start;
	mappings[mapping_count].end = end;
	mappings[mapping_count].offset = offset;
	mapping_count++;
	return true;
}

static bool is_mapped(uint64_t address)
{
	for (uint32_t index = mapping_count; index-- > 0;)
		if (mappings[index].start <= address && address < mappings[index].end)
			return true;
	return false;
}

/*
 * Remembers the file that holds the code at this address, unless it is known. QEMU maps the
 * program's files into its own memory, "base" above the program's addresses, so the system knows
 * them; QEMU's own files are among those lines and do no harm.
 */
static void find_file(uint64_t address, uint64_t base)
{
	uint64_t page = address >> 12;
	uint64_t *none = &anonymous[page % ANONYMOUS];
	char *line = NULL;
	size_t room = 0;
	FILE *maps;

	if (*none == page || is_mapped(address))
		return;
	maps = fopen("/proc/self/maps", "r");
	if (!maps) {
		complain("/proc/self/maps");
		return;
	}
	while (getline(&line, &room, maps) > 0) {
		uint64_t start, end, offset;
		int path = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &start, &end,
			   &offset, &path) != 3 || path == 0 || line[path] != '/')
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (start - base <= address && address < end - base &&
		    !add_mapping(start - base, end - base, offset, line + path))
			complain("cannot remember a file");
	}
	free(line);
	fclose(maps);
	if (!is_mapped(address))
		*none = page;
}

#endif
