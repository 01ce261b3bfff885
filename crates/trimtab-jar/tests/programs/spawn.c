/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Starts other programs in all the ways that need no copy of the process, and says what came of it. It is its own child: with the
 * argument `child` it does what the next words say. The arguments are the path by which it can be executed, and that of a file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *self;
static volatile int ended;

static int child(int count, char **words)
{
	if (!strcmp(words[0], "say")) {
		for (int i = 1; i < count; i++)
			printf("%s%s", i > 1 ? " " : "", words[i]);
		printf(" variable %s\n", getenv("VARIABLE") ? getenv("VARIABLE") : "none");
		return 0;
	}
	if (!strcmp(words[0], "number")) {
		printf("%s number\n", getpid() == atoi(words[1]) ? "the same" : "another");
		return 0;
	}
	if (!strcmp(words[0], "copy")) {
		char line[256];
		int lines = 0;

		while (fgets(line, sizeof(line), stdin)) {
			printf("copied %s", line);
			lines++;
		}
		return lines;
	}
	if (!strcmp(words[0], "where")) {
		char folder[4096];

		puts(getcwd(folder, sizeof(folder)) && !strcmp(strrchr(folder, '/'), "/below") ? "below" : "elsewhere");
		return 0;
	}
	if (!strcmp(words[0], "wait")) {
		putchar('.');
		fflush(stdout);
		pause();
	}
	if (!strcmp(words[0], "again")) {
		char *next[] = { "child", "child", "say", "after", "another", NULL };
		char *variables[] = { "VARIABLE=new", NULL };

		execve(self, next, variables);
		return 1;
	}
	return atoi(words[0]);
}

static void tell(const char *what, int status)
{
	if (WIFEXITED(status))
		printf("%s: status %d\n", what, WEXITSTATUS(status));
	else
		printf("%s: signal %d\n", what, WTERMSIG(status) == SIGTERM ? 1 : 0);
	fflush(stdout);
}

static void start(const char *what, posix_spawn_file_actions_t *actions, const char *first, const char *second)
{
	char *words[] = { "child", "child", (char *)first, (char *)second, NULL };
	pid_t number;
	int status = -1;
	int error;

	fflush(stdout);
	error = posix_spawn(&number, self, actions, NULL, words, environ);
	if (error) {
		printf("%s: %s\n", what, strerror(error));
		return;
	}
	if (waitpid(number, &status, 0) != number)
		perror("waitpid");
	tell(what, status);
}

static void count(int signal)
{
	(void)signal;
	ended++;
}

static void redirected(const char *file)
{
	posix_spawn_file_actions_t actions;
	char line[256];
	FILE *read;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	start("to a file", &actions, "say", "first");
	posix_spawn_file_actions_destroy(&actions);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, file, O_WRONLY | O_APPEND, 0);
	start("to its end", &actions, "say", "second");
	posix_spawn_file_actions_destroy(&actions);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, file, O_RDONLY, 0);
	start("from a file", &actions, "copy", NULL);
	posix_spawn_file_actions_destroy(&actions);
	read = fopen(file, "r");
	while (fgets(line, sizeof(line), read))
		printf("the file has %s", line);
	fclose(read);
}

static void by_the_shell(void)
{
	char command[4200];
	char line[256];
	FILE *pipe;

	snprintf(command, sizeof(command), "exec %s child say by shell", self);
	fflush(stdout);
	tell("system", system(command));
	pipe = popen(command, "r");
	while (fgets(line, sizeof(line), pipe))
		printf("read %s", line);
	tell("read to its end", pclose(pipe));
	snprintf(command, sizeof(command), "exec %s child copy", self);
	fflush(stdout);
	pipe = popen(command, "w");
	fputs("one\ntwo\n", pipe);
	fflush(pipe);
	fputs("three\n", pipe);
	tell("written", pclose(pipe));
}

static void forked(const char *file)
{
	char *const words[] = { "child", "child", "say", "forked", NULL };
	char line[256];
	volatile int seen = 1;
	int status;
	pid_t number;
	FILE *read;

	fflush(stdout);
	number = vfork();
	if (!number) {
		int made = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		seen = 2;
		if (made < 0 || dup2(made, 1) < 0)
			_exit(90);
		execv(self, words);
		_exit(91);
	}
	printf("it waits for none: %d\n", waitpid(number, &status, 0) == number);
	tell("forked", status);
	printf("seen %d\n", seen);
	read = fopen(file, "r");
	printf("wrote %s", fgets(line, sizeof(line), read));
	fclose(read);
	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		number = vfork();
		if (!number && i == 2) {
			execv("/no/such/program", words);
			_exit(errno == ENOENT ? 33 : 34);
		}
		if (!number)
			_exit(10 * i + 7);
		if (waitpid(number, &status, 0) != number)
			perror("waitpid");
		tell("it only ends", status);
	}
}

/* What a file that is mapped gets before others are started, and what it gets then. */
static void mapped(const char *file)
{
	posix_spawn_file_actions_t actions;
	char line[16] = "";
	int made = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *at;

	if (ftruncate(made, 8))
		perror("ftruncate");
	at = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
	strcpy(at, "before\n");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, file, O_RDONLY, 0);
	start("from a mapped file", &actions, "copy", NULL);
	posix_spawn_file_actions_destroy(&actions);
	strcpy(at, "behind\n");
	if (pread(made, line, 8, 0) != 8)
		perror("pread");
	printf("%s", line);
	munmap(at, 8);
	close(made);
}

/* Not where a jar can do it; elsewhere it says the same. */
static void forked_by_pointer(void)
{
	pid_t (*volatile pointer)(void) = vfork;
	pid_t number = pointer();

	if (!number)
		_exit(3);
	if (number > 0)
		waitpid(number, NULL, 0);
	printf("by a pointer: %d\n", number > 0 || errno == ENOSYS);
}

static void ended_by_us(void)
{
	char *words[] = { "child", "child", "wait", NULL };
	posix_spawn_file_actions_t actions;
	pid_t number, other;
	int status, pipe[2];
	char byte;

	if (pipe2(pipe, O_CLOEXEC))
		perror("pipe2");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
	fflush(stdout);
	if (posix_spawn(&number, self, &actions, NULL, words, environ) ||
	    posix_spawn(&other, self, &actions, NULL, words, environ))
		puts("not started");
	close(pipe[1]);
	for (int i = 0; i < 2; i++) {
		byte = 'x';
		if (read(pipe[0], &byte, 1) == 1)
			printf("it waits: %c\n", byte);
	}
	printf("none has ended: %d\n", waitpid(-1, &status, WNOHANG));
	printf("it is there: %d\n", kill(number, 0));
	printf("told: %d\n", kill(number, SIGTERM));
	printf("that one: %d\n", wait(&status) == number);
	tell("ended", status);
	kill(other, SIGTERM);
	printf("the other: %d\n", waitpid(other, &status, 0) == other);
	printf("the pipe's end: %zd\n", read(pipe[0], &byte, 1));
	status = wait(&status);
	printf("no more: %d %s\n", status, strerror(errno));
	printf("nobody: %d\n", kill(number, SIGTERM));
}

int main(int count_of, char **arguments)
{
	char number[16];
	posix_spawn_file_actions_t actions;
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };

	self = getenv("SELF");
	if (count_of > 2 && !strcmp(arguments[1], "child"))
		return child(count_of - 2, arguments + 2);
	self = arguments[1];
	setenv("SELF", self, 1);
	setenv("VARIABLE", "of mine", 1);
	start("said", NULL, "say", "something");
	unsetenv("VARIABLE");
	start("without", NULL, "say", "something else");
	start("with a status", NULL, "42", NULL);
	start("again", NULL, "again", NULL);
	snprintf(number, sizeof(number), "%d", getpid());
	start("with a number", NULL, "number", number);
	self = "/no/such/program";
	start("missing", NULL, "say", "nothing");
	self = arguments[1];
	redirected(arguments[2]);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, "below");
	start("in a directory", &actions, "where", NULL);
	by_the_shell();
	forked(arguments[2]);
	forked_by_pointer();
	mapped(arguments[2]);
	sigaction(SIGCHLD, &action, NULL);
	ended_by_us();
	printf("told of ends: %d\n", ended > 0);
	signal(SIGCHLD, SIG_IGN);
	fflush(stdout);
	execl(self, "child", "child", "number", number, NULL);
	return 1;
}
