/* SPDX-License-Identifier: GPL-2.0-only */
/* What the module's tests share. Each runs in a process of its own, attached, and gives 0 if all is well. */
#ifndef SUITE_H
#define SUITE_H

#define PAGE 4096
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* elsewhere.c */
unsigned int apic_id(void);
int is_ours(unsigned int id);
void spin(long rounds);
double now(void);
long long status(const char *name);
int cpus(void);
int attach(const char *how);
long counted(const char *name);
int elsewhere(void);

/* locks.c */
int test_threads(void);
int test_local_futex(void);
int test_stranger_futex(void);
int test_membarrier(void);
int test_robust(void);

/* around.c */
int test_around(void);

/* huge.c */
int test_huge(void);

/* crowd.c */
int test_crowd(void);

/* stale.c */
long lost_pages(int rounds);
int test_stale_translations(void);

/* pages.c */
long wrong_pages(long count);

/* reclaim.c */
int test_reclaim(void);

/* traced.c */
int test_traced_calls(void);

/* futexes.c */
int test_futexes(void);
int test_futex_results(void);
int test_futex_moves(void);
int test_futex_sleepers(void);
int test_futex_restart(void);
int test_futex_stranger(void);

/* local.c */
int test_local_calls(void);
int test_local_seccomp(void);
int test_local_ptrace(void);
int test_local_events(void);

/* proxy.c */
int attach_proxy(void);

/* segments.c */
int test_segments(void);

/* stress.c */
int stress(long calls, long pages, long signals, long ends);
void operation_done(void);

/* failures.c */
int failures(void);

#endif
