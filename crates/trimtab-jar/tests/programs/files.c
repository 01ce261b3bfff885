/* Files that are open: what they are when their names are gone, and errors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *why(int result)
{
	return result < 0 ? strerror(errno) : "done";
}

static int size(int file)
{
	struct stat status;
	return fstat(file, &status) ? -errno : (int)status.st_size;
}

/* Calls that others do the work of as well. */
static void made(void)
{
	int file = creat("made", 0644);
	printf("creat %d, %d\n", file >= 0, (int)write(file, "12345", 5));
	close(file);
	printf("truncate %s\n", why(truncate("made", 3)));
	printf("truncate %s\n", why(truncate64("made", 100)));
	printf("of nothing %s\n", why(truncate("nothing", 3)));
	printf("of a directory %s\n", why(truncate(".", 3)));
	printf("below nothing %s\n", why(truncate("made", -1)));
	file = open("made", O_RDONLY);
	char text[8] = "";
	printf("%d %d %s\n", size(file), (int)read(file, text, 7), text);
	close(file);
	close(creat("made", 0644));
	file = open("made", O_RDONLY);
	printf("creat again %d\n", size(file));
	close(file);
	int poll = epoll_create(1);
	printf("epoll %d\n", poll >= 0);
	close(poll);
	poll = epoll_create(0);
	printf("epoll of none %s\n", why(poll));
}

int main(void)
{
	made();
	unlink("made");
	return 0;
}
