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

static long long number(int file)
{
	struct stat status;
	return fstat(file, &status) ? -errno : (long long)status.st_ino;
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

/* What is open stays the same whatever its name becomes. */
static void names(void)
{
	int first = open("first", O_RDWR | O_CREAT | O_TRUNC, 0644);
	write(first, "1234567", 7);
	long long own = number(first);
	printf("rename %s\n", why(rename("first", "second")));
	printf("renamed %d %d\n", size(first), number(first) == own);
	int other = open("first", O_RDWR | O_CREAT | O_TRUNC, 0644);
	printf("two %d %d %d\n", size(first), size(other), number(first) != number(other));
	printf("rename %s\n", why(rename("first", "second")));
	printf("replaced %d %d\n", size(first), size(other));
	unlink("second");
	write(other, "123", 3);
	printf("removed %d %d %d\n", size(first), size(other), number(first) == own);
	ftruncate(first, 20);
	printf("larger %d\n", size(first));
	close(first);
	close(other);
	/* Of which a jar has none. */
	mkdir("/tmp", 0755);
	FILE *file = tmpfile();
	fputs("for a while", file);
	fflush(file);
	printf("tmpfile %d\n", size(fileno(file)));
	fclose(file);
	int directory = open(".", O_RDONLY);
	struct stat status;
	printf("directory %d %d\n", fstat(directory, &status), S_ISDIR(status.st_mode));
	close(directory);
}

int main(void)
{
	made();
	names();
	unlink("made");
	return 0;
}
