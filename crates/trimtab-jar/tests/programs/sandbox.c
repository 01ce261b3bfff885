/* What a program can reach of the files outside: nothing but below its root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void try(const char *name, int flags)
{
	int file = open(name, flags, 0644);
	printf("%s: %s\n", name, file < 0 ? strerror(errno) : "opened");
	if (file >= 0)
		close(file);
}

int main(int argc, char **argv)
{
	struct stat status;
	if (argc > 1 && !strcmp(argv[1], "socket")) {
		printf("socket: %s\n", socket(AF_INET, SOCK_STREAM, 0) < 0 ? strerror(errno) : "opened");
		return 0;
	}
	try("/given.txt", O_RDONLY);
	try("given.txt", O_RDWR);
	try("/../../../etc/passwd", O_RDONLY);
	try("link", O_RDONLY);
	try("folder/../../../../etc/passwd", O_RDONLY);
	try("made.txt", O_WRONLY | O_CREAT);
	printf("%d\n", stat("/given.txt", &status) ? -1 : (int)status.st_size);
	DIR *directory = opendir("/");
	struct dirent *entry;
	while (directory && (entry = readdir(directory)))
		printf("entry %s\n", entry->d_name);
	return 0;
}
