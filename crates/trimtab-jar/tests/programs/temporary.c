/* Files of a program that was given none: it can have temporary ones, and no others. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void tell(const char *what, int result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
}

static int fill(FILE *file, long bytes)
{
	static char block[1 << 16];
	for (long done = 0; done < bytes; done += sizeof block)
		if (fwrite(block, 1, sizeof block, file) != sizeof block || fflush(file))
			return -1;
	return 0;
}

int main(void)
{
	char name[] = "/var/tmp/testXXXXXX", read[16] = "";
	FILE *file = tmpfile();
	tell("tmpfile", file ? 0 : -1);
	if (!file)
		return 1;
	fputs("some text", file);
	rewind(file);
	tell("fgets", fgets(read, sizeof read, file) ? 0 : -1);
	puts(read);
	fclose(file);

	int made = mkstemp(name);
	tell("mkstemp", made);
	tell("write", write(made, "x", 1));
	tell("rename", rename(name, "/tmp/moved"));
	tell("rename out", rename("/tmp/moved", "/moved"));
	tell("mkdir", mkdir("/tmp/directory", 0755));
	tell("access", access("/tmp", W_OK));
	DIR *directory = opendir("/tmp");
	struct dirent *entry;
	while (directory && (entry = readdir(directory)))
		printf("entry %s\n", entry->d_name);

	tell("result", open("result.txt", O_WRONLY | O_CREAT, 0644));
	tell("/tmpx", open("/tmpx", O_WRONLY | O_CREAT, 0644));
	tell("/etc/passwd", open("/etc/passwd", O_RDONLY));
	tell("mkdir", mkdir("/directory", 0755));
	tell("access", access("/", W_OK));
	tell("unlink", unlink("/tmp/moved"));

	file = fopen("/tmp/large", "w");
	tell("too much", fill(file, 200L << 20));
	tell("unlink", unlink("/tmp/large"));
	return 0;
}
