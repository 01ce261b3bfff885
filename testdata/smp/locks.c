/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The first program of a guest, which make-locks boots: two processes create, write, read and delete files while the
 * kernel records what they do and which locks they take. Prints the trace.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const char *name, const char *text)
{
	char path[100];
	int file;

	snprintf(path, sizeof(path), "/tracing/%s", name);
	file = open(path, O_WRONLY | O_TRUNC);
	if (file < 0 || write(file, text, strlen(text)) < 0)
		perror(path);
	close(file);
}

static int make_files(int number)
{
	char name[32], text[32];

	snprintf(name, sizeof(name), "/file.%d", number);
	for (int round = 0; round < 3; round++) {
		int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);

		if (file < 0 || write(file, name, sizeof(name)) != sizeof(name) ||
		    pread(file, text, sizeof(text), 0) != sizeof(text) || close(file) != 0 || unlink(name) != 0)
			return 1;
		for (volatile int count = 0; count < 3000; count++)
			;
	}
	return 0;
}

int main(void)
{
	static const char *const events[] = {"lock", "raw_syscalls", "irq", "sched/sched_switch", "sched/sched_waking",
					     "sched/sched_wakeup_new"};
	char line[1000];
	FILE *trace;

	/* There is no device yet. */
	mknod("/console", S_IFCHR | 0600, makedev(5, 1));
	if (!freopen("/console", "w", stdout) || !freopen("/console", "w", stderr))
		return 1;
	prctl(PR_SET_NAME, "files");
	mkdir("/tracing", 0700);
	if (mount("tracefs", "/tracing", "tracefs", 0, NULL) != 0)
		perror("tracefs");
	put("tracing_on", "0");
	put("buffer_size_kb", "8000");
	for (size_t at = 0; at < sizeof(events) / sizeof(events[0]); at++) {
		snprintf(line, sizeof(line), "events/%s/enable", events[at]);
		put(line, "1");
	}
	put("tracing_on", "1");
	for (int number = 0; number < 2; number++)
		if (fork() == 0)
			_exit(make_files(number));
	for (int number = 0; number < 2; number++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			printf("a process failed\n");
	}
	put("tracing_on", "0");
	trace = fopen("/tracing/trace", "r");
	while (trace && fgets(line, sizeof(line), trace))
		fputs(line, stdout);
	fflush(stdout);
	return reboot(RB_AUTOBOOT);
}
