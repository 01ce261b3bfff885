/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* As much of a shell as `sh -c 'exec PROGRAM WORD ...'` needs. */
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	char *words[64];
	int used = 0;

	if (count != 3 || strcmp(arguments[1], "-c"))
		return 2;
	for (char *word = strtok(arguments[2], " "); word && used < 63; word = strtok(NULL, " "))
		words[used++] = word;
	words[used] = NULL;
	if (used < 2 || strcmp(words[0], "exec"))
		return 2;
	execv(words[1], words + 1);
	return 127;
}
