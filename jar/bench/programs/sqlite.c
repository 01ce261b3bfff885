/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SQLite, in memory: inserts 100,000 rows into a table with an index, changes some, and asks, as its speedtest1 does. */
#include "../rounds.h"
#include "sqlite3.h"

#define ROWS 100000

static sqlite3 *db;

static void check(int code)
{
	if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
		fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		exit(1);
	}
}

static uint32_t ask(uint32_t h, const char *sql)
{
	sqlite3_stmt *statement;
	check(sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
	int code;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const char *text = (const char *)sqlite3_column_text(statement, i);
			h = hash(h, text ? text : "-", text ? strlen(text) : 1);
		}
	}
	check(code);
	sqlite3_finalize(statement);
	return h;
}

static uint32_t insert(void)
{
	sqlite3_stmt *statement;
	check(sqlite3_prepare_v2(db, "insert into t values(?,?,?)", -1, &statement, NULL));
	uint32_t x = 1;
	for (int i = 0; i < ROWS; i++) {
		char text[64];
		x = x * 1103515245u + 12345;
		int length = snprintf(text, sizeof text, "row %d of %u", i, x >> 16);
		sqlite3_bind_int(statement, 1, i);
		sqlite3_bind_int(statement, 2, x >> 8);
		sqlite3_bind_text(statement, 3, text, length, SQLITE_TRANSIENT);
		check(sqlite3_step(statement));
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	return x;
}

static uint32_t kernel(void)
{
	check(sqlite3_open(":memory:", &db));
	uint32_t h = ask(2166136261u, "pragma temp_store = memory");
	h = ask(h, "create table t(a integer primary key, b integer, c text)");
	h = ask(h, "create index i on t(b)");
	h = ask(h, "begin");
	h ^= insert();
	h = ask(h, "commit");
	h = ask(h, "select count(*), sum(b), avg(a), max(c) from t where b between 1000 and 9000000");
	h = ask(h, "select count(*) from t where c like '%77%'");
	h = ask(h, "select b % 100 as g, count(*), sum(a) from t group by g order by g");
	h = ask(h, "select x.a, y.c from t x join t y on y.a = x.b % 100000 where x.a % 50 = 0 order by y.c limit 100");
	h = ask(h, "update t set c = c || '.' where a % 10 = 3");
	h = ask(h, "delete from t where a % 7 = 1");
	h = ask(h, "select a, b, substr(c, 3, 5) from t order by b limit 1000");
	h = ask(h, "select count(*) from t where a in (select b % 100000 from t where a < 20000)");
	check(sqlite3_close(db));
	return h;
}
