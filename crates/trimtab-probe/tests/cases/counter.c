/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How the run time reads a counter of the processor, from a page that is made up. */
#define _GNU_SOURCE
#include "machine.h"
#include "trimtab_probe.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct perf_event_mmap_page page;
static uint64_t told;
static int asked, interrupted;

/* In place of the instruction. The kernel may come in between and change the page. */
static uint64_t made_up(uint32_t number)
{
	asked++;
	assert(number == page.index - 1u);
	if (interrupted) {
		interrupted = 0;
		page.lock++;
		page.index = 3;
		page.offset = 5000;
	}
	return told;
}

#define hardware_counter(number) made_up(number)
#include "recording.h"
#include "events.h"

int main(void)
{
	char why[640];

	/* The counter is not on a processor: only what was added up so far counts. */
	page.cap_user_rdpmc = 1;
	page.pmc_width = 48;
	page.offset = 1000;
	assert(read_page(&page) == 1000 && asked == 0);
	page.index = 2;
	told = 77;
	assert(read_page(&page) == 1077 && asked == 1);
	/* Negative, in 48 bits: the kernel sets counters so that they overflow in time. */
	told = (1ul << 48) - 60;
	assert(read_page(&page) == 940);
	/* Bits above the width are none of it. */
	told = 77 | 3ul << 50;
	assert(read_page(&page) == 1077);
	told = 77;
	asked = 0;
	interrupted = 1;
	assert(read_page(&page) == 5077 && asked == 2);
	/* The kernel took the right to read it away. */
	page.cap_user_rdpmc = 0;
	assert(read_page(&page) == 5000);

	assert(find_event("LLC-load-misses") && event_chosen.type == PERF_TYPE_HW_CACHE);
	assert(event_chosen.config == 0x10002 && is_hardware());
	assert(find_event("r01C0") && event_chosen.type == PERF_TYPE_RAW);
	assert(event_chosen.config == 0x1c0);
	assert(find_event("task-clock") && !is_hardware());
	assert(!find_event("r") && !find_event("r1g") && !find_event("rr1") && !find_event(""));
	assert(!find_event("r11112222333344445") && !find_event("instruction"));

	/* Each way to be refused says what to do, within the room that there is. */
	assert(find_event("L1-dcache-load-misses"));
	for (int error = 0; error < 134; error++) {
		tell_refusal(why, sizeof(why), error);
		assert(strlen(why) < sizeof(why) - 1 && strstr(why, "anywhere"));
	}
	tell_refusal(why, sizeof(why), EACCES);
	assert(strstr(why, "/proc/sys/kernel/perf_event_paranoid"));
	tell_refusal(why, sizeof(why), 0);
	assert(strstr(why, "/sys/bus/event_source/devices/cpu/rdpmc"));
	setenv("TRIMTAB_PROBE_EVENT", "a name that is very long, longer than any that there is", 1);
	assert(!choose_event(why, sizeof(why)) && strstr(why, "task-clock, or r and a number"));
	puts("read");
	return 0;
}
