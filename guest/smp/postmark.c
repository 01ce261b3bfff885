/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Runs Debian's PostMark in a folder of its own, in one process: postmark TRANSACTIONS FILES SIZE.
 *
 * PostMark creates so many files of so many bytes, then reads or appends to one and creates or deletes one in each
 * transaction, and deletes all. It fails without saying so by its exit code: what it writes is looked at.
 */
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads.h"

#define POSTMARK "/usr/bin/postmark"
#define MOST 10000000L

/* Is PostMark, whose words go to a file. */
static void become(const char *script, const char *words)
{
	if (!freopen(words, "w", stdout))
		fail("postmark: its words cannot be kept");
	execl(POSTMARK, POSTMARK, script, (char *)NULL);
	fail("postmark: " POSTMARK " cannot run");
}

/* Whether it came to its end, and had nothing to complain of. */
static bool is_done(const char *words)
{
	FILE *file = fopen(words, "r");
	bool found = false, complains = false;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		found |= strstr(line, "kilobytes written") != NULL;
		complains |= strstr(line, "Error") != NULL;
	}
	if (file)
		fclose(file);
	return found && !complains;
}

int main(int argc, char **argv)
{
	long transactions = argument(argv, 1, 1, MOST), files = argument(argv, 2, 1, MOST);
	long size = argument(argv, 3, 1, MOST);
	char folder[64], script[96], words[96];
	int status;
	FILE *file;
	pid_t child;

	(void)argc;
	snprintf(folder, sizeof(folder), "/postmark.%d", (int)getpid());
	snprintf(script, sizeof(script), "%s/script", folder);
	snprintf(words, sizeof(words), "%s/words", folder);
	if (mkdir(folder, 0700) != 0 || !(file = fopen(script, "w")))
		fail("postmark: there is no folder for its files");
	fprintf(file, "set location %s\nset number %ld\nset transactions %ld\nset size %ld %ld\nrun\nquit\n", folder,
		files, transactions, size, size);
	if (fclose(file) != 0)
		fail("postmark: its script cannot be written");
	child = fork();
	if (child < 0)
		fail("postmark: a process cannot begin");
	if (child == 0)
		become(script, words);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || !is_done(words))
		fail("postmark: PostMark failed");
	return 0;
}
