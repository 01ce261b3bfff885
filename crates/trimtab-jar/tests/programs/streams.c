/* What a program writes to standard output is seen at once, and who stops reading is noticed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *way = argv[1];
	char line[4096];
	memset(line, 'x', sizeof line - 1);
	line[sizeof line - 1] = '\n';
	if (argc != 2)
		return 1;
	if (!strcmp(way, "computes")) {
		puts("before");
		fflush(stdout);
		for (volatile unsigned i = 0;; i++)
			;
	}
	if (!strcmp(way, "pipe")) {
		int ends[2];
		if (pipe(ends))
			return 1;
		close(ends[0]);
		void (*before)(int) = signal(SIGPIPE, SIG_IGN);
		int written = write(ends[1], line, 10);
		printf("%d %s\n", written, strerror(errno));
		fflush(stdout);
		signal(SIGPIPE, before);
		write(ends[1], line, 10);
		return 4;
	}
	if (!strcmp(way, "ignores"))
		signal(SIGPIPE, SIG_IGN);
	puts("before");
	fflush(stdout);
	while (write(1, line, sizeof line) >= 0)
		;
	fprintf(stderr, "%s\n", strerror(errno));
	return 3;
}
