/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What our plugins are told by QEMU's command line: KEY=VALUE, separated by commas.
 */
#ifndef TRIMTAB_ARGUMENTS_H
#define TRIMTAB_ARGUMENTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The value of argument KEY=VALUE, or NULL. */
static inline const char *value_of(const char *argument, const char *key)
{
	size_t length = strlen(key);

	if (strncmp(argument, key, length) != 0 || argument[length] != '=')
		return NULL;
	return argument + length + 1;
}

/* Reads a number that is all of the text, to this base. */
static inline bool number_of(const char *text, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, base);
	return !errno && end != text && *end == '\0';
}

#endif
