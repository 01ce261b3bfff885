// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A clock that stands still, for programs whose output must not change from run to run: link with
 * -Wl,--wrap=gettimeofday,--wrap=time.
 */
#include <sys/time.h>
#include <time.h>

#define NOW 1700000000

int __wrap_gettimeofday(struct timeval *now, void *zone);
time_t __wrap_time(time_t *now);

int __wrap_gettimeofday(struct timeval *now, void *zone)
{
	(void)zone;
	now->tv_sec = NOW;
	now->tv_usec = 0;
	return 0;
}

time_t __wrap_time(time_t *now)
{
	if (now)
		*now = NOW;
	return NOW;
}
