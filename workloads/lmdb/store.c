/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes, reads, walks and deletes in an LMDB database in the folder that it is started in. */
#include <stdio.h>
#include <stdlib.h>

#include "lmdb.h"

#define FLAGS (MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK | MDB_WRITEMAP)

static void check(int code)
{
	if (code) {
		fprintf(stderr, "store: %s\n", mdb_strerror(code));
		exit(1);
	}
}

static unsigned long key_of(unsigned i)
{
	return (unsigned long)i * 2654435761u % 1000003u;
}

int main(int argc, char **argv)
{
	const unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	unsigned long sum = 0, key;
	char text[48];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_cursor *cursor;
	MDB_val k, v;
	unsigned i;
	int found;

	remove("store.db");
	check(mdb_env_create(&env));
	check(mdb_env_set_mapsize(env, 64ul << 20));
	check(mdb_env_open(env, "store.db", FLAGS, 0600));
	for (i = 0; i < count; i++) {
		if (i % 500 == 0) {
			check(mdb_txn_begin(env, NULL, 0, &txn));
			check(mdb_dbi_open(txn, NULL, 0, &dbi));
		}
		key = key_of(i);
		k = (MDB_val){ sizeof(key), &key };
		v = (MDB_val){ (size_t)snprintf(text, sizeof(text), "value %u of %lu", i, key), text };
		check(mdb_put(txn, dbi, &k, &v, 0));
		if (i % 500 == 499 || i + 1 == count)
			check(mdb_txn_commit(txn));
	}
	check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
	for (i = 0; i < 2 * count; i++) {
		key = key_of(i * 7u);
		k = (MDB_val){ sizeof(key), &key };
		found = mdb_get(txn, dbi, &k, &v);
		if (!found)
			sum += v.mv_size;
		else if (found != MDB_NOTFOUND)
			check(found);
	}
	check(mdb_cursor_open(txn, dbi, &cursor));
	while (!mdb_cursor_get(cursor, &k, &v, MDB_NEXT))
		sum += *(const unsigned char *)k.mv_data;
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	check(mdb_txn_begin(env, NULL, 0, &txn));
	for (i = 0; i < count; i += 3) {
		key = key_of(i);
		k = (MDB_val){ sizeof(key), &key };
		found = mdb_del(txn, dbi, &k, NULL);
		if (found && found != MDB_NOTFOUND)
			check(found);
	}
	check(mdb_txn_commit(txn));
	mdb_env_close(env);
	remove("store.db");
	printf("%lu\n", sum);
	return 0;
}
