/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counters of the processor and of the system, for HOOK_EVENT. TRIMTAB_PROBE_EVENT names the one that
 * is counted, as perf names it.
 *
 * A counter of the processor is read without a system call, from a page that the kernel keeps for the
 * thread. The page keeps the counter alive, so no descriptor of ours is among the program's. The
 * system's counters take a system call each time.
 */

/* Where there is none, and what to take. */
#define REFUSED "the counter of %s (TRIMTAB_PROBE_EVENT) cannot be read: "
#define INSTEAD "; page-faults and task-clock can be counted anywhere"
/* Of the system, in place of a type of perf's. */
#define OF_SYSTEM 1000u
enum { PAGE_FAULTS, MINOR_FAULTS, MAJOR_FAULTS, CONTEXT_SWITCHES, TASK_CLOCK };
/* Misses of reading. */
#define MISSES(cache) \
	((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

struct known_event {
	const char *name;
	uint32_t type;
	uint64_t config;
};

static const struct known_event known_events[] = {
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_L1D) },
	{ "L1-icache-load-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_L1I) },
	{ "LLC-load-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_LL) },
	{ "dTLB-load-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_DTLB) },
	{ "iTLB-load-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_ITLB) },
	{ "page-faults", OF_SYSTEM, PAGE_FAULTS },
	{ "minor-faults", OF_SYSTEM, MINOR_FAULTS },
	{ "major-faults", OF_SYSTEM, MAJOR_FAULTS },
	{ "context-switches", OF_SYSTEM, CONTEXT_SWITCHES },
	{ "task-clock", OF_SYSTEM, TASK_CLOCK },
};

#define KNOWN_EVENTS (sizeof(known_events) / sizeof(known_events[0]))

/* The one that is counted. */
static struct known_event event_chosen;
/* Not 0 while counters are this process's: the kernel clears it in a child, which has no pages of
 * counters either, also in one that fork's handlers are not called in. */
static volatile uint64_t *counters_live;

typedef const volatile struct perf_event_mmap_page counter_page;

static int is_hardware(void)
{
	return event_chosen.type != OF_SYSTEM;
}

/* What a counter of the processor is at, by the protocol of linux/perf_event.h. */
static uint64_t read_page(counter_page *page)
{
	uint64_t count, part;
	uint32_t before, number;
	unsigned unused;

	do {
		before = page->lock;
		__asm__ volatile("" : : : "memory");
		number = page->index;
		count = (uint64_t)page->offset;
		if (page->cap_user_rdpmc && number) {
			/* It has a sign, and fewer bits than 64. */
			unused = 64u - page->pmc_width;
			part = hardware_counter(number - 1) << unused;
			count += (uint64_t)((int64_t)part >> unused);
		}
		__asm__ volatile("" : : : "memory");
	} while (page->lock != before);
	return count;
}

static uint64_t read_system(void)
{
	struct timespec time = { 0, 0 };
	struct rusage usage;

	if (event_chosen.config == TASK_CLOCK) {
		call6(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&time, 0, 0, 0, 0);
		return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	}
	if (call6(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0, 0, 0))
		return 0;
	switch (event_chosen.config) {
	case MINOR_FAULTS:
		return (uint64_t)usage.ru_minflt;
	case MAJOR_FAULTS:
		return (uint64_t)usage.ru_majflt;
	case CONTEXT_SWITCHES:
		return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
	default:
		return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
	}
}

/* What the chosen counter of this thread is at. The page is not looked at for the system's. */
static uint64_t read_event(counter_page *page)
{
	return is_hardware() ? read_page(page) : read_system();
}

/* Opens the processor's counter for this thread. Where that fails, page is NULL and the result is
 * the number of the error, or 0 where there is a counter that cannot be read like this. */
static int open_counter(counter_page **page)
{
	struct perf_event_attr wanted;
	counter_page *at;
	long fd, mapped;

	*page = NULL;
	__builtin_memset(&wanted, 0, sizeof(wanted));
	wanted.size = sizeof(wanted);
	wanted.type = event_chosen.type;
	wanted.config = event_chosen.config;
	wanted.exclude_kernel = 1;
	wanted.exclude_hv = 1;
	/* It counts all the time that the thread runs, or not at all. */
	wanted.pinned = 1;
	fd = call6(SYS_perf_event_open, (long)&wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
	if (failed(fd))
		return (int)-fd;
	mapped = call6(SYS_mmap, 0, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	call6(SYS_close, fd, 0, 0, 0, 0, 0);
	if (failed(mapped))
		return (int)-mapped;
	at = (counter_page *)mapped;
	if (!at->cap_user_rdpmc || !at->index) {
		int busy_elsewhere = at->cap_user_rdpmc && !at->index;

		call6(SYS_munmap, mapped, PAGE, 0, 0, 0, 0);
		return busy_elsewhere ? EBUSY : 0;
	}
	*page = at;
	return 0;
}

static void close_counter(counter_page *page)
{
	if (page)
		call6(SYS_munmap, (long)page, PAGE, 0, 0, 0, 0);
}

/* Finds an event by its name; whether there is one. */
static int find_event(const char *name)
{
	char *end;
	size_t i;

	for (i = 0; i < KNOWN_EVENTS; i++)
		if (!strcmp(name, known_events[i].name)) {
			event_chosen = known_events[i];
			return 1;
		}
	/* Of the processor, by its number, as perf takes it. */
	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]) || strlen(name) > 17)
		return 0;
	event_chosen.name = name;
	event_chosen.type = PERF_TYPE_RAW;
	event_chosen.config = strtoull(name + 1, &end, 16);
	return !*end;
}

static void name_events(char *text, size_t room)
{
	size_t i, used = strlen(text);

	for (i = 0; i < KNOWN_EVENTS && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s, ", known_events[i].name);
	if (used < room)
		snprintf(text + used, room - used, "or r and a number in hexadecimal");
}

/* Why the processor's counter cannot be counted, and what to do. */
static void tell_refusal(char *why, size_t room, int error)
{
	const char *reason = "the system does not open it";

	switch (error) {
	case 0:
		reason = "programs may not read it by themselves here, unless root writes 1 to "
			 "/sys/bus/event_source/devices/cpu/rdpmc";
		break;
	case EACCES:
	case EPERM:
		reason = "the system does not let this program have it, unless root writes 2 to "
			 "/proc/sys/kernel/perf_event_paranoid";
		break;
	case EBUSY:
		reason = "the processor's counters are in use, such as by perf or the kernel's "
			 "nmi_watchdog";
		break;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case EINVAL:
	case ENOSYS:
		reason = "this machine does not have it, like many virtual ones";
		break;
	}
	snprintf(why, room, REFUSED "%s (perf_event_open: %s)" INSTEAD, event_chosen.name, reason,
		 error ? strerror(error) : "opened");
}

/* Chooses what is counted, when the program starts. Where that cannot be, says why. */
static int choose_event(char *why, size_t room)
{
	const char *name = getenv("TRIMTAB_PROBE_EVENT");
	counter_page *page = NULL;

	if (!name || !*name)
		name = "instructions";
	if (!find_event(name)) {
		snprintf(why, room, "TRIMTAB_PROBE_EVENT is '%.40s', expected ", name);
		name_events(why, room);
		return 0;
	}
	if (is_hardware() && !HARDWARE_COUNTERS) {
		snprintf(why, room, REFUSED "the processor's are read on x86-64 only" INSTEAD, name);
		return 0;
	}
	if (is_hardware()) {
		int error = open_counter(&page);

		if (!page) {
			tell_refusal(why, room, error);
			return 0;
		}
		close_counter(page);
	}
	counters_live = map(PAGE);
	if (!counters_live) {
		snprintf(why, room, "there is no memory");
		return 0;
	}
	/* Before Linux 4.14 it is not cleared: there children must come from the C library's fork. */
	madvise((void *)counters_live, PAGE, MADV_WIPEONFORK);
	*counters_live = 1;
	return 1;
}
