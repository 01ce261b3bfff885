/* Names that begin at an open directory, and trees that are walked by them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *why(int result)
{
	return result < 0 ? strerror(errno) : "done";
}

static void put(int directory, const char *name, const char *text)
{
	int file = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file < 0 || write(file, text, strlen(text)) < 0)
		printf("%s: %s\n", name, strerror(errno));
	close(file);
}

static void get(int directory, const char *name)
{
	char text[100] = "";
	int file = openat(directory, name, O_RDONLY);
	if (file < 0 || read(file, text, sizeof text - 1) < 0)
		printf("%s: %s\n", name, strerror(errno));
	else
		printf("%s has %s\n", name, text);
	close(file);
}

static int size(int directory, const char *name, int flags)
{
	struct stat status;
	return fstatat(directory, name, &status, flags) ? -errno : (int)status.st_size;
}

/* The same names in two directories. */
static void directories(void)
{
	mkdir("one", 0755);
	int one = open("one", O_RDONLY | O_DIRECTORY);
	put(AT_FDCWD, "same", "above");
	put(one, "same", "in one");
	get(AT_FDCWD, "same");
	get(one, "same");
	get(one, "../same");
	printf("sizes %d %d\n", size(AT_FDCWD, "same", 0), size(one, "same", 0));
	printf("access %s\n", why(faccessat(one, "one", F_OK, 0)));
	printf("mkdir %s\n", why(mkdirat(one, "below", 0755)));
	printf("mkdir again %s\n", why(mkdirat(one, "below", 0755)));
	printf("rename %s\n", why(renameat(one, "same", one, "below/other")));
	get(AT_FDCWD, "one/below/other");
	char buffer[100];
	printf("link %s\n", why(readlinkat(one, "below", buffer, 100)));
	printf("no link %s\n", why(readlinkat(one, "same", buffer, 100)));
	struct statx extended;
	printf("statx %s\n", why(statx(one, "below/other", 0, STATX_SIZE, &extended)));
	printf("size %d\n", (int)extended.stx_size);
	/* A directory that has another name now is the same one. */
	int below = openat(one, "below", O_RDONLY);
	printf("rename %s\n", why(rename("one/below", "elsewhere")));
	mkdirat(one, "below", 0755);
	put(one, "below/other", "not this");
	get(below, "other");
	printf("fchdir %s\n", why(fchdir(below)));
	get(AT_FDCWD, "other");
	printf("rename %s\n", why(renameat(one, "../elsewhere", one, "below/again")));
	printf("%s\n", strstr(getcwd(buffer, sizeof buffer), "/one/"));
	printf("chdir %s\n", why(chdir("../../..")));
	put(one, "rest", "");
	printf("unlink %s\n", why(unlinkat(one, "rest", 0)));
	printf("no file %s\n", why(unlinkat(one, "same", 0)));
	get(AT_FDCWD, "same");
	close(below);
	close(one);
}

static void wrong(void)
{
	int file = open("same", O_RDONLY);
	get(900, "same");
	get(-1, "same");
	get(file, "same");
	get(file, "");
	printf("a file %s\n", why(mkdirat(file, "x", 0755)));
	printf("nothing %s\n", why(unlinkat(900, "x", 0)));
	printf("flags %s\n", why(unlinkat(AT_FDCWD, "x", 0x4000)));
	printf("a file with a path %s\n", why(fchdir(file)));
	printf("a path %s\n", why(chdir("same")));
	printf("below a file %d\n", size(AT_FDCWD, "same/x", 0));
	char name[4096];
	printf("absolute %s\n", why(faccessat(900, strcat(getcwd(name, 4000), "/same"), F_OK, 0)));
	printf("itself %d\n", size(file, "", AT_EMPTY_PATH));
	printf("the current %d\n", size(AT_FDCWD, "", AT_EMPTY_PATH) >= 0);
	printf("empty %d\n", size(file, "", 0));
	/* What is there is kept, or no such flag is known. */
	put(AT_FDCWD, "kept", "kept");
	printf("kept %s\n", why(renameat2(AT_FDCWD, "same", AT_FDCWD, "kept", RENAME_NOREPLACE)));
	get(AT_FDCWD, "kept");
	printf("moved %s\n", why(renameat2(AT_FDCWD, "same", AT_FDCWD, "free", RENAME_NOREPLACE)));
	printf("both %s\n", why(renameat2(AT_FDCWD, "free", AT_FDCWD, "kept", RENAME_NOREPLACE | RENAME_EXCHANGE)));
	get(AT_FDCWD, "free");
	close(file);
}

static int visit(const char *name, const struct stat *status, int kind, struct FTW *at)
{
	printf("%d %d %s %d\n", at->level, kind, name, S_ISREG(status->st_mode) ? (int)status->st_size : 0);
	return 0;
}

static int removed(const char *name, const struct stat *status, int kind, struct FTW *at)
{
	return remove(name);
}

/* Each directory is the current one while its entries are looked at; then all are removed. */
static void walk(void)
{
	printf("walked %d\n", nftw("one", visit, 8, FTW_DEPTH | FTW_PHYS | FTW_CHDIR));
	printf("walked %d\n", nftw("one", visit, 8, FTW_PHYS));
	printf("removed %d\n", nftw("one", removed, 8, FTW_DEPTH | FTW_PHYS));
	printf("gone %s\n", why(access("one", F_OK)));
	printf("there %s\n", why(access("kept", F_OK)));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "links")) {
		struct stat status;
		printf("a directory %d", !stat("tree/link", &status) && S_ISDIR(status.st_mode));
		printf(" %d", !lstat("tree/link", &status) && S_ISDIR(status.st_mode));
		printf(" %s\n", why(open("tree/link", O_RDONLY | O_DIRECTORY | O_NOFOLLOW)));
		printf("removed %d\n", nftw("tree", removed, 8, FTW_DEPTH | FTW_PHYS));
		return 0;
	}
	directories();
	wrong();
	walk();
	unlink("kept");
	unlink("free");
	return 0;
}
