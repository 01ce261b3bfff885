/* Files that are open: what they are when their names are gone, and errors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
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

static void modes(void)
{
	char text[8] = "";
	struct iovec part = { text, 4 };
	int reads = open("mode", O_RDONLY | O_CREAT | O_TRUNC, 0644);
	int writes = open("mode", O_WRONLY);
	printf("write %s\n", why(write(writes, "abcd", 4)));
	printf("write where it is read %s\n", why(write(reads, "x", 1)));
	printf("pwrite %s\n", why(pwrite(reads, "x", 1, 0)));
	printf("writev %s\n", why(writev(reads, &part, 1)));
	printf("ftruncate %s\n", why(ftruncate(reads, 1)));
	printf("mmap %d %d\n", mmap(0, 4, PROT_READ, MAP_PRIVATE, writes, 0) == MAP_FAILED, errno == EACCES);
	printf("read where it is written %s\n", why(read(writes, text, 4)));
	printf("pread %s\n", why(pread(writes, text, 4, 0)));
	printf("readv %s\n", why(readv(writes, &part, 1)));
	printf("ftruncate below nothing %s\n", why(ftruncate(writes, -1)));
	printf("pread below nothing %s\n", why(pread(reads, text, 4, -1)));
	printf("pwrite below nothing %s\n", why(pwrite(writes, text, 4, -2)));
	printf("pread of nothing open %s\n", why(pread(900, text, 4, -1)));
	printf("seek %s\n", why(lseek(reads, -1, SEEK_SET)));
	printf("of nothing open %s\n", why(ftruncate(900, 1)));
	printf("ftruncate longer %s %d\n", why(ftruncate(writes, 6)), size(reads));
	printf("far %s\n", why(pread64(reads, text, 4, 1LL << 32)));
	printf("farther %s\n", why(pread64(reads, text, 4, (1LL << 32) + 1)));
	printf("there %lld\n", (long long)lseek64(reads, 5000000000LL, SEEK_SET));
	printf("nothing there %d\n", (int)read(reads, text, 4));
	printf("read %d %s\n", (int)pread(reads, text, 4, 0), text);
	printf("at the end %d\n", (int)pread(reads, text, 4, 6));
	printf("of size 0 %d %d\n", (int)read(reads, text, 0), (int)write(writes, text, 0));
	close(reads);
	close(writes);
	int ends[2];
	pipe(ends);
	printf("pipes %s", why(read(ends[1], text, 1)));
	printf(", %s", why(write(ends[0], text, 1)));
	printf(", %s", why(pread(ends[0], text, 1, 0)));
	printf(", %s", why(pwrite(ends[1], text, 1, 0)));
	printf(", %s\n", why(ftruncate(ends[1], 0)));
	int directory = open(".", O_RDONLY);
	printf("directory %s", why(read(directory, text, 1)));
	printf(", %s", why(write(directory, text, 1)));
	printf(", %s\n", why(ftruncate(directory, 0)));
	close(directory);
}

static void opened(void)
{
	printf("exclusive %s\n", why(open("mode", O_RDONLY | O_CREAT | O_EXCL, 0644)));
	printf("exclusive %s\n", why(open("mode", O_RDWR | O_CREAT | O_EXCL, 0644)));
	unlink("mode");
	int file = open("mode", O_RDONLY | O_CREAT | O_EXCL, 0644);
	printf("exclusive %s, %d\n", why(file), size(file));
	close(file);
	printf("mkdir below a file %s", why(mkdir("mode/x", 0755)));
	printf(", a directory to a file %s", why(mkdir("folder", 0755) | rename("folder", "mode")));
	printf(", a file to a directory %s\n", why(rename("mode", "folder")));
	printf("into itself %s\n", why(rename("folder", "folder/x")));
	rmdir("folder");
	printf("a directory %s", why(open(".", O_WRONLY)));
	printf(", %s", why(open(".", O_RDONLY | O_CREAT, 0644)));
	printf(", %s\n", why(open(".", O_RDONLY | O_CREAT | O_EXCL, 0644)));
	printf("no directory %s", why(open("mode", O_RDONLY | O_DIRECTORY)));
	printf(", %s", why(open("mode/x", O_RDONLY)));
	printf(", %s\n", why(open("mode/x", O_RDWR | O_CREAT, 0644)));
	printf("nothing %s", why(open("nothing/x", O_RDWR | O_CREAT, 0644)));
	printf(", %s\n", why(open("nothing", O_RDWR)));
	/* A null device takes all, and has nothing. */
	char text[8];
	int null = open("/dev/null", O_RDWR);
	printf("null %d %d %d\n", (int)write(null, "x", 1), (int)read(null, text, 8), (int)pread(null, text, 8, 0));
	close(null);
	null = open("/dev/null", O_RDONLY);
	printf("null %s\n", why(write(null, "x", 1)));
	close(null);
	null = open("/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	printf("null %s\n", why(read(null, text, 1)));
	close(null);
}

int main(void)
{
	made();
	names();
	modes();
	opened();
	unlink("made");
	unlink("mode");
	return 0;
}
