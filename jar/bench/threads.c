/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Four threads take blocks from a queue with a lock and two conditions, and count in a table with atomic additions. */
#include <pthread.h>
#include "rounds.h"

#define THREADS 4
#define BLOCKS 2400
#define SIZE 16384
#define ROOM 8

static unsigned char data[BLOCKS * SIZE / 8 + SIZE];
static int queue[ROOM], first, count, done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static uint32_t seen[256], found[BLOCKS];

static int take(void)
{
	pthread_mutex_lock(&lock);
	while (!count && !done)
		pthread_cond_wait(&filled, &lock);
	int block = -1;
	if (count) {
		block = queue[first];
		first = (first + 1) % ROOM;
		count--;
		pthread_cond_signal(&emptied);
	}
	pthread_mutex_unlock(&lock);
	return block;
}

static void put(int block)
{
	pthread_mutex_lock(&lock);
	while (count == ROOM)
		pthread_cond_wait(&emptied, &lock);
	queue[(first + count++) % ROOM] = block;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
	int block;
	while ((block = take()) >= 0) {
		const unsigned char *bytes = data + (size_t)block * SIZE / 8;
		uint32_t h = 2166136261u;
		for (int i = 0; i < SIZE; i++) {
			h = (h ^ bytes[i]) * 16777619u;
			if ((i & 63) == 0)
				__atomic_fetch_add(&seen[h >> 24], 1, __ATOMIC_RELAXED);
		}
		found[block] = h;
	}
	return unused;
}

static uint32_t kernel(void)
{
	uint32_t x = 12345;
	for (size_t i = 0; i < sizeof data; i++) {
		x = x * 1103515245u + 12345;
		data[i] = x >> 16;
	}
	memset(seen, 0, sizeof seen);
	done = 0;
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, work, 0))
			exit(1);
	for (int block = 0; block < BLOCKS; block++)
		put(block);
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	return hash(hash(2166136261u, seen, sizeof seen), found, sizeof found);
}
