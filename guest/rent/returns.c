/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Opens devices that lend their memory, at random times beside a load, and says how long each took to get it back:
 *
 *     returns --devices NAME,NAME... [--count N] [--pause-us FROM-TO] [--hold-us FROM-TO] [--seed N]
 *             [--sample-pages N] [--limit-ms N] [--unscrubbed] [--wait] [--quiet] [-- COMMAND ARGUMENT...]
 *
 * Each of --count times it pauses, opens all devices of the list (as a player has two), fills --sample-pages pages of
 * each (0: all), holds them, compares these pages with what they were filled with, and closes all. The pauses are
 * random numbers of microseconds, the same for the same --seed. COMMAND is the load: it is begun first, and anew
 * when it ends too soon, and ended when all is done. Devices that have not opened in --limit-ms milliseconds (2,000) fail,
 * if a signal can end what they wait for. If none can, that is
 * one more failure after five times as long, and the last return. With --wait the load runs once, the returns end when it does, and
 * returns waits for it. --quiet leaves out what the load writes. With --unscrubbed, bytes of files may be in a device
 * that has not filled its memory yet.
 *
 *     trimtab: return NUMBER NANOSECONDS            of all devices together: the first 2,000
 *     trimtab: returns failure DEVICE ERROR         that one did not open; the others are closed again
 *     trimtab: returns error WHAT                   its memory did not hold what it should, or held a file's bytes
 *     trimtab: returns NAME NUMBER                  count, failures, errors, loads; p50, p99, mean and max of the
 *                                                   times; DEVICE.p50 ... of each device; first_fill_ and close_
 *                                                   likewise of filling pages and of closing
 *     trimtab: counters NAME NUMBER                 of rental memory, by how much they grew
 *
 * It exits 1 if there was a failure or an error.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "device.h"

#define MOST_RETURNS 100000
#define MOST_LINES 2000

static struct {
	const char *devices;
	long count, seed, sample_pages, limit_ms;
	long pause_us[2], hold_us[2];
	bool wait, quiet, unscrubbed;
} the = {.count = 100, .seed = 1, .sample_pages = 64, .limit_ms = 2000, .pause_us = {1000, 20000}, .hold_us = {0, 1000}};

static const struct option_value options[] = {
	{"devices", OPTION_TEXT, &the.devices, 0, 0},
	{"count", OPTION_NUMBER, &the.count, 1, MOST_RETURNS},
	{"seed", OPTION_NUMBER, &the.seed, 0, 1000000000},
	{"sample-pages", OPTION_NUMBER, &the.sample_pages, 0, 1000000},
	{"limit-ms", OPTION_NUMBER, &the.limit_ms, 1, 1000000},
	{"pause-us", OPTION_RANGE, &the.pause_us, 0, 1000000000},
	{"hold-us", OPTION_RANGE, &the.hold_us, 0, 1000000000},
	{"wait", OPTION_FLAG, &the.wait, 0, 0},
	{"quiet", OPTION_FLAG, &the.quiet, 0, 0},
	{"unscrubbed", OPTION_FLAG, &the.unscrubbed, 0, 0},
	{0},
};

/* Times of one thing that is done at each return. */
struct times {
	uint64_t *ns;
	size_t count;
};

static struct device devices[MOST_DEVICES];
static unsigned device_count;
static char **command;

/* What was found, in memory that the process which watches sees, too. */
static struct found {
	struct times of_all, of_device[MOST_DEVICES], of_fill, of_close;
	long failures, errors, loads;
	pid_t load;
	/* Since when devices are being opened; 0 if none is. */
	volatile uint64_t opening;
} *found;

static void *shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		fail("returns: there is not enough memory");
	return memory;
}

static void make_found(void)
{
	size_t bytes = (size_t)the.count * sizeof(uint64_t);

	found = shared(sizeof(*found));
	found->of_all.ns = shared(bytes);
	found->of_fill.ns = shared(bytes);
	found->of_close.ns = shared(bytes);
	for (unsigned at = 0; at < device_count; at++)
		found->of_device[at].ns = shared(bytes);
}

static void add(struct times *times, uint64_t ns)
{
	times->ns[times->count++] = ns;
}

/* ---- The load ---- */

static void begin_load(void)
{
	pid_t load;

	fflush(stdout);
	load = fork();
	if (load < 0)
		fail("returns: the load cannot begin: %s", strerror(errno));
	if (load == 0) {
		/* So that all of its processes can be ended. */
		setpgid(0, 0);
		if (the.quiet && !freopen("/dev/null", "w", stdout))
			_exit(127);
		execvp(command[0], command);
		_exit(127);
	}
	setpgid(load, load);
	found->load = load;
	found->loads++;
}

static void check_load(int status)
{
	found->load = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	fail("returns: the load failed: %s %d", WIFEXITED(status) ? "exit status" : "signal",
	     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* Whether to go on: the load runs, or does again. */
static bool load_runs(void)
{
	int status;

	if (!command || waitpid(found->load, &status, WNOHANG) != found->load)
		return true;
	check_load(status);
	if (the.wait)
		return false;
	begin_load();
	return true;
}

static void end_load(void)
{
	int status;

	if (!found->load)
		return;
	if (!the.wait)
		kill(-found->load, SIGKILL);
	if (waitpid(found->load, &status, 0) == found->load && the.wait)
		check_load(status);
}

/* ---- Returns ---- */

static void fill(struct device *device, uint64_t random, uint32_t number)
{
	char text[300];

	device_map(device);
	device_choose(device, (size_t)the.sample_pages, random);
	if (!the.unscrubbed && device_leaks(device, text, sizeof(text))) {
		printf("trimtab: returns error %s\n", text);
		found->errors++;
	}
	device_fill(device, number);
}

static void lend(struct device *device)
{
	char text[300];

	if (device->fill && !device_holds(device, text, sizeof(text))) {
		printf("trimtab: returns error %s\n", text);
		found->errors++;
	}
}

static void on_limit(int number)
{
	(void)number;
}

/* Has what this process waits for end in so many milliseconds; 0: not any more. */
static void limit(long ms)
{
	struct itimerval value = {.it_value = {ms / 1000, ms % 1000 * 1000}};

	if (setitimer(ITIMER_REAL, &value, NULL) != 0)
		fail("returns: there is no timer: %s", strerror(errno));
}

/* Opens all devices; how many of them did open. */
static unsigned open_all(uint64_t *ns)
{
	uint64_t start = now_ns();

	for (unsigned at = 0; at < device_count; at++) {
		uint64_t before = now_ns();
		int error = device_open(&devices[at]);

		if (error) {
			printf("trimtab: returns failure %s %s (%d)\n", devices[at].name, strerror(error), error);
			found->failures++;
			return at;
		}
		add(&found->of_device[at], now_ns() - before);
	}
	*ns = now_ns() - start;
	return device_count;
}

static void give_back(uint32_t number, uint64_t random, long hold_us)
{
	uint64_t ns = 0, start;
	unsigned opened;

	limit(the.limit_ms);
	found->opening = now_ns();
	opened = open_all(&ns);
	found->opening = 0;
	limit(0);
	if (opened == device_count) {
		add(&found->of_all, ns);
		start = now_ns();
		for (unsigned at = 0; at < opened; at++)
			fill(&devices[at], random, number);
		add(&found->of_fill, now_ns() - start);
		sleep_us(hold_us);
		for (unsigned at = 0; at < opened; at++)
			lend(&devices[at]);
	}
	start = now_ns();
	for (unsigned at = 0; at < opened; at++)
		device_close(&devices[at]);
	if (opened == device_count)
		add(&found->of_close, now_ns() - start);
}

static void say(void)
{
	char prefix[80];

	for (size_t at = 0; at < found->of_all.count && at < MOST_LINES; at++)
		printf("trimtab: return %zu %llu\n", at, (unsigned long long)found->of_all.ns[at]);
	printf("trimtab: returns count %zu\ntrimtab: returns failures %ld\n", found->of_all.count, found->failures);
	printf("trimtab: returns errors %ld\ntrimtab: returns loads %ld\n", found->errors, found->loads);
	say_times("returns", "", found->of_all.ns, found->of_all.count);
	for (unsigned at = 0; at < device_count; at++) {
		const char *name = strrchr(devices[at].name, '/');

		/* Names of devices are short. */
		snprintf(prefix, sizeof(prefix), "%.60s.", name ? name + 1 : devices[at].name);
		say_times("returns", prefix, found->of_device[at].ns, found->of_device[at].count);
	}
	say_times("returns", "first_fill_", found->of_fill.ns, found->of_fill.count);
	say_times("returns", "close_", found->of_close.ns, found->of_close.count);
}

/* Opens and closes devices beside the load, as often as it was asked for. */
static void give_back_all(void)
{
	uint64_t random = random_seeded((uint64_t)the.seed);

	if (command)
		begin_load();
	for (long number = 0; number < the.count; number++) {
		sleep_us(random_between(&random, the.pause_us));
		if (!load_runs())
			break;
		give_back((uint32_t)number + 1, random_after(&random), random_between(&random, the.hold_us));
	}
	end_load();
}

/* Whether devices are being opened for so long that the signal of the limit did not end that. */
static bool is_stuck(void)
{
	uint64_t since = found->opening;

	return since && now_ns() - since > (uint64_t)the.limit_ms * 5000000;
}

/* Waits for the process that opens devices, which may wait for ever itself. */
static void watch(pid_t child)
{
	int status;

	while (waitpid(child, &status, WNOHANG) != child) {
		if (is_stuck()) {
			printf("trimtab: returns failure %s they do not open, and a signal does not end that\n", the.devices);
			found->failures++;
			kill(child, SIGKILL);
			if (found->load)
				kill(-found->load, SIGKILL);
			return;
		}
		/* Seldom, so that it is in the way of no return. */
		sleep_us(1000000);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv)
{
	static struct counters before, after;
	pid_t child;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	command = options_read(argv, options);
	if (!*command)
		command = NULL;
	if (!the.devices || (the.wait && !command))
		usage(options);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_limit}, NULL);
	device_count = devices_named(the.devices, devices);
	make_found();
	counters_read(&before);
	child = fork();
	if (child < 0)
		fail("returns: there is no second process: %s", strerror(errno));
	if (child == 0) {
		give_back_all();
		return 0;
	}
	watch(child);
	counters_read(&after);
	say();
	counters_say("counters", &before, &after);
	return found->failures != 0 || found->errors != 0;
}
