/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs SQL: a program whose start-up bench/orders traces. */
#include "sqlite3.h"

#include <stdio.h>

static int show(void *data, int count, char **values, char **names)
{
	(void)data;
	(void)names;
	for (int i = 0; i < count; i++)
		printf("%s|", values[i] ? values[i] : "");
	puts("");
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db;

	if (argc < 2 || sqlite3_open(argv[1], &db) != SQLITE_OK)
		return 1;
	for (int i = 2; i < argc; i++) {
		char *error = NULL;

		if (sqlite3_exec(db, argv[i], show, NULL, &error) != SQLITE_OK)
			puts(error ? error : "failed");
		sqlite3_free(error);
	}
	return sqlite3_close(db);
}
