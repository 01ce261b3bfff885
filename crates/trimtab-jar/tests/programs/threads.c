// SPDX-License-Identifier: MIT OR Apache-2.0
/* Threads: what they share and what they do not, and how they wait for each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 50000

static atomic_int counted;
static atomic_uchar bytes[4];
static atomic_short halves[2];
static int guarded;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static __thread int own = 5;
static volatile int flag, answer;
static int turn;

static void *count(void *argument)
{
	int number = (int)(long)argument;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		atomic_fetch_add(&counted, 1);
		atomic_fetch_add(&bytes[number & 3], 1);
		atomic_fetch_add(&halves[number & 1], 3);
		own++;
		pthread_mutex_lock(&mutex);
		guarded++;
		pthread_mutex_unlock(&mutex);
	}
	return (void *)(long)(own + number);
}

static void *wait_for_flag(void *argument)
{
	while (!flag)
		;
	atomic_thread_fence(memory_order_acquire);
	return (void *)(long)(answer + (argument != NULL));
}

static void *ping(void *argument)
{
	int mine = argument != NULL;

	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % 2 != mine)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static sem_t items, room;
static int ring[8], produced;

static void *produce(void *argument)
{
	(void)argument;
	for (int i = 1; i <= 5000; i++) {
		sem_wait(&room);
		ring[produced++ % 8] = i;
		sem_post(&items);
	}
	return NULL;
}

static int tube[2];

static void *write_late(void *argument)
{
	(void)argument;
	usleep(20000);
	if (write(tube[1], "through the pipe", 17) != 17)
		return NULL;
	usleep(20000);
	close(tube[1]);
	return NULL;
}

static jmp_buf back;

static void *jump(void *argument)
{
	volatile int tries = 0;

	(void)argument;
	if (setjmp(back) < 3) {
		tries++;
		longjmp(back, tries);
	}
	return (void *)(long)tries;
}

static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *value)
{
	destroyed += (int)(long)value;
}

static void *leave(void *argument)
{
	pthread_setspecific(key, argument);
	pthread_exit((void *)17);
	return NULL;
}

static atomic_int handled;

static void handler(int signal)
{
	handled += signal;
}

static void *sleep_long(void *argument)
{
	struct timespec left = {20, 0};

	(void)argument;
	flag = 2;
	return (void *)(long)(nanosleep(&left, &left) != 0 && errno == EINTR && left.tv_sec >= 10 &&
			      left.tv_sec < 20);
}

static sem_t never;

/* A signal that is held back, and one whose handler lets calls go on. */
static void *wait_through(void *argument)
{
	struct timespec shortly = {0, 150000000};
	sigset_t held;
	int slept;

	(void)argument;
	sigemptyset(&held);
	sigaddset(&held, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &held, NULL);
	flag = 3;
	slept = nanosleep(&shortly, NULL);
	flag = 4;
	return (void *)(long)(slept * 10 + sem_wait(&never));
}

static __attribute__((noinline)) int is_set(void)
{
	return flag;
}

/* Loops that wait: for what a function loads, and with a loop within. */
static void *wait_in_turn(void *argument)
{
	(void)argument;
	while (is_set() != 5)
		;
	while (flag != 6)
		for (int i = 0; i < 64; i++)
			asm volatile("");
	return NULL;
}

static char pages[2][4099];

/* What lies beside is another thread's. */
static void *fill(void *argument)
{
	char *own = pages[argument != NULL];

	for (int i = 0; i < 3000; i++) {
		memset(own, i, sizeof(pages[0]));
		for (unsigned j = 0; j < sizeof(pages[0]); j++)
			if (own[j] != (char)i)
				return (void *)1;
	}
	return NULL;
}

static void *read_one(void *argument)
{
	char byte;

	(void)argument;
	return (void *)(long)read(tube[0], &byte, 1);
}

static void *allocate(void *argument)
{
	unsigned sum = 0;

	for (int i = 1; i < 2000; i++) {
		unsigned char *block = malloc(i % 700 + 1);

		memset(block, i, i % 700 + 1);
		sum += block[i % 700];
		free(block);
	}
	return (void *)(long)(sum + (argument != NULL));
}

int main(void)
{
	pthread_t threads[THREADS];
	void *result;
	int total = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, count, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		total += (int)(long)result;
	}
	printf("%d %d %d %d %d\n", counted, guarded, total, own, bytes[1]);
	printf("%d %d\n", halves[0], halves[1]);

	pthread_create(&threads[0], NULL, wait_for_flag, NULL);
	usleep(200000);
	answer = 42;
	atomic_thread_fence(memory_order_release);
	flag = 1;
	pthread_join(threads[0], &result);
	printf("seen: %d\n", (int)(long)result);

	pthread_create(&threads[0], NULL, ping, NULL);
	pthread_create(&threads[1], NULL, ping, (void *)1);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("turns: %d\n", turn);

	sem_init(&items, 0, 0);
	sem_init(&room, 0, 8);
	pthread_create(&threads[0], NULL, produce, NULL);
	total = 0;
	for (int i = 0; i < 5000; i++) {
		sem_wait(&items);
		total += ring[i % 8];
		sem_post(&room);
	}
	pthread_join(threads[0], NULL);
	printf("consumed: %d\n", total);

	char text[32] = "";

	if (pipe(tube))
		return 1;
	pthread_create(&threads[0], NULL, write_late, NULL);
	total = read(tube[0], text, sizeof(text));
	printf("%d %s %d\n", total, text, (int)read(tube[0], text, sizeof(text)));
	pthread_join(threads[0], NULL);

	pthread_create(&threads[0], NULL, jump, NULL);
	pthread_join(threads[0], &result);
	printf("jumps: %d\n", (int)(long)result);

	pthread_key_create(&key, destroy);
	pthread_create(&threads[0], NULL, leave, (void *)9);
	pthread_join(threads[0], &result);
	printf("left: %d %d\n", (int)(long)result, destroyed);

	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 30000000;
	if (soon.tv_nsec >= 1000000000) {
		soon.tv_sec++;
		soon.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&mutex);
	printf("late: %d\n", pthread_cond_timedwait(&changed, &mutex, &soon) == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);

	signal(SIGUSR1, handler);
	flag = 0;
	pthread_create(&threads[0], NULL, sleep_long, NULL);
	while (flag != 2)
		sched_yield();
	usleep(100000);
	pthread_kill(threads[0], SIGUSR1);
	pthread_join(threads[0], &result);
	printf("disturbed: %d %d\n", (int)(long)result, handled == SIGUSR1);

	signal(SIGUSR2, handler);
	sem_init(&never, 0, 0);
	pthread_create(&threads[0], NULL, wait_through, NULL);
	while (flag != 3)
		sched_yield();
	usleep(30000);
	pthread_kill(threads[0], SIGUSR2);
	while (flag != 4)
		sched_yield();
	usleep(50000);
	handled = 0;
	pthread_kill(threads[0], SIGUSR1);
	usleep(50000);
	sem_post(&never);
	pthread_join(threads[0], &result);
	printf("through: %d %d\n", (int)(long)result, handled == SIGUSR1);

	pthread_create(&threads[0], NULL, wait_in_turn, NULL);
	usleep(200000);
	flag = 5;
	usleep(200000);
	flag = 6;
	pthread_join(threads[0], NULL);

	pthread_create(&threads[0], NULL, fill, NULL);
	pthread_create(&threads[1], NULL, fill, (void *)1);
	pthread_join(threads[0], &result);
	total = (int)(long)result;
	pthread_join(threads[1], &result);
	printf("damaged: %d\n", total + (int)(long)result);

	if (pipe(tube))
		return 1;
	pthread_create(&threads[0], NULL, read_one, NULL);
	pthread_create(&threads[1], NULL, read_one, NULL);
	usleep(50000);
	total = write(tube[1], "++", 2);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("both read: %d\n", total);

	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)i);
	total = 0;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		total += (int)(long)result;
	}
	printf("allocated: %d\n", total);
	return 0;
}
