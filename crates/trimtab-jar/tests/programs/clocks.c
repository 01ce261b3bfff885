/* Clocks of the program and of its threads begin with it, and stand still while it sleeps. */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
	struct timespec now;
	if (clock_gettime(clock, &now))
		return -1;
	return now.tv_sec + now.tv_nsec / 1e9;
}

static double used(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6 + usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6;
}

static double ticks(void)
{
	struct tms all;
	times(&all);
	return (all.tms_utime + all.tms_stime) / (double)sysconf(_SC_CLK_TCK);
}

/* Computes until the process has used some time. */
static void compute(double more)
{
	double end = seconds(CLOCK_PROCESS_CPUTIME_ID) + more;
	volatile unsigned sum = 0;
	while (seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			sum += i;
}

static void *thread(void *given)
{
	double begin = seconds(CLOCK_THREAD_CPUTIME_ID), all = seconds(CLOCK_PROCESS_CPUTIME_ID);
	compute(0.2);
	double end = seconds(CLOCK_THREAD_CPUTIME_ID);
	/* The process has computed for longer. */
	printf("a thread begins later %d, computes %d\n", 2 * begin < all, end - begin > 0.05);
	return given;
}

int main(void)
{
	/* The machine is up for longer, and a JVM needs a second at most. */
	printf("begins %d %d %d %d\n", clock() / CLOCKS_PER_SEC < 10, seconds(CLOCK_PROCESS_CPUTIME_ID) < 10, used() < 10, ticks() < 10);
	double before[] = { clock() / (double)CLOCKS_PER_SEC, seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_THREAD_CPUTIME_ID), used(), ticks() };
	compute(0.3);
	double after[] = { clock() / (double)CLOCKS_PER_SEC, seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_THREAD_CPUTIME_ID), used(), ticks() };
	for (int i = 0; i < 5; i++)
		printf("computes %d\n", after[i] - before[i] > 0.1 && after[i] - before[i] < 5);
	double real = seconds(CLOCK_MONOTONIC), own = seconds(CLOCK_THREAD_CPUTIME_ID);
	usleep(400000);
	double slept = seconds(CLOCK_MONOTONIC) - real;
	printf("sleeps %d %d\n", slept >= 0.4, 2 * (seconds(CLOCK_THREAD_CPUTIME_ID) - own) < slept);
	pthread_t other;
	own = seconds(CLOCK_THREAD_CPUTIME_ID);
	double all = seconds(CLOCK_PROCESS_CPUTIME_ID);
	pthread_create(&other, 0, thread, 0);
	pthread_join(other, 0);
	printf("waits %d\n", 3 * (seconds(CLOCK_THREAD_CPUTIME_ID) - own) < seconds(CLOCK_PROCESS_CPUTIME_ID) - all);
	printf("no clock %g\n", seconds(200));
	return 0;
}
