// SPDX-License-Identifier: GPL-2.0-only
/* Calls about files. Each is made once, timed, and what it did is checked. */
#include "suite.h"

static char page[PAGE], other[PAGE];

static int file_of(size_t size)
{
	int file = open("/tmp/f", O_RDWR | O_CREAT | O_TRUNC, 0600);

	memset(page, 'a', sizeof(page));
	if (file < 0 || write(file, page, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0)
		return -1;
	return file;
}

static enum result do_open(void)
{
	int file;

	NEED(close(file_of(1)) == 0);
	file = TIMED((int)syscall(SYS_open, "/tmp/f", O_RDONLY));
	NEED(file >= 0 && read(file, other, 2) == 1 && other[0] == 'a');
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_openat(void)
{
	int file;

	NEED(close(file_of(1)) == 0);
	file = TIMED((int)syscall(SYS_openat, AT_FDCWD, "/tmp/f", O_RDONLY | O_CLOEXEC));
	NEED(file >= 0 && fcntl(file, F_GETFD) == FD_CLOEXEC);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_creat(void)
{
	struct stat now;
	int file;

	unlink("/tmp/new");
	file = TIMED((int)syscall(SYS_creat, "/tmp/new", 0640));
	NEED(file >= 0 && fstat(file, &now) == 0 && (now.st_mode & 0777) == 0640);
	NEED(close(file) == 0);
	NEED(unlink("/tmp/new") == 0);
	return GOOD;
}

static enum result do_close(void)
{
	int file = file_of(1);

	NEED(TIMED(syscall(SYS_close, file)) == 0);
	NEED(fcntl(file, F_GETFD) == -1 && errno == EBADF);
	return GOOD;
}

/* A call that moves a page between `other` and a file of one page, at its beginning. */
static enum result moved(int file, long gave, int is_write)
{
	NEED(gave == PAGE);
	if (is_write)
		NEED(pread(file, page, PAGE, 0) == PAGE);
	NEED(memcmp(page, other, PAGE) == 0);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_read(void)
{
	int file = file_of(PAGE);

	memset(other, 0, PAGE);
	return moved(file, TIMED(syscall(SYS_read, file, other, PAGE)), 0);
}

static enum result do_write(void)
{
	int file = file_of(PAGE);

	memset(other, 'b', PAGE);
	return moved(file, TIMED(syscall(SYS_write, file, other, PAGE)), 1);
}

static enum result do_pread64(void)
{
	int file = file_of(PAGE);

	memset(other, 0, PAGE);
	return moved(file, TIMED(syscall(SYS_pread64, file, other, PAGE, 0L)), 0);
}

static enum result do_pwrite64(void)
{
	int file = file_of(PAGE);

	memset(other, 'c', PAGE);
	return moved(file, TIMED(syscall(SYS_pwrite64, file, other, PAGE, 0L)), 1);
}

static enum result do_readv(void)
{
	struct iovec parts[2] = {{other, 100}, {other + 100, PAGE - 100}};
	int file = file_of(PAGE);

	memset(other, 0, PAGE);
	return moved(file, TIMED(syscall(SYS_readv, file, parts, 2)), 0);
}

static enum result do_writev(void)
{
	struct iovec parts[2] = {{other, 100}, {other + 100, PAGE - 100}};
	int file = file_of(PAGE);

	memset(other, 'd', PAGE);
	return moved(file, TIMED(syscall(SYS_writev, file, parts, 2)), 1);
}

static enum result do_fstat(void)
{
	struct stat now = {0};
	int file = file_of(77);

	NEED(TIMED(syscall(SYS_fstat, file, &now)) == 0);
	NEED(now.st_size == 77 && S_ISREG(now.st_mode));
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_stat(void)
{
	struct stat now = {0};

	NEED(close(file_of(78)) == 0);
	NEED(TIMED(syscall(SYS_stat, "/tmp/f", &now)) == 0);
	NEED(now.st_size == 78);
	return GOOD;
}

static enum result do_lstat(void)
{
	struct stat now = {0};

	unlink("/tmp/l");
	NEED(symlink("/tmp/f", "/tmp/l") == 0);
	NEED(TIMED(syscall(SYS_lstat, "/tmp/l", &now)) == 0);
	NEED(S_ISLNK(now.st_mode));
	NEED(unlink("/tmp/l") == 0);
	return GOOD;
}

static enum result do_newfstatat(void)
{
	struct stat now = {0};

	NEED(close(file_of(79)) == 0);
	NEED(TIMED(syscall(SYS_newfstatat, AT_FDCWD, "/tmp/f", &now, 0)) == 0);
	NEED(now.st_size == 79);
	return GOOD;
}

static enum result do_statfs(void)
{
	struct statfs now = {0};

	NEED(TIMED(syscall(SYS_statfs, "/tmp", &now)) == 0);
	NEED(now.f_bsize == PAGE);
	return GOOD;
}

static enum result do_access(void)
{
	NEED(close(file_of(1)) == 0);
	NEED(TIMED(syscall(SYS_access, "/tmp/f", R_OK)) == 0);
	NEED(access("/tmp/none", R_OK) == -1 && errno == ENOENT);
	return GOOD;
}

static enum result do_lseek(void)
{
	int file = file_of(100);

	NEED(TIMED(syscall(SYS_lseek, file, -1L, SEEK_END)) == 99);
	NEED(read(file, other, 2) == 1);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_ftruncate(void)
{
	struct stat now;
	int file = file_of(PAGE);

	NEED(TIMED(syscall(SYS_ftruncate, file, 5L)) == 0);
	NEED(fstat(file, &now) == 0 && now.st_size == 5);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_fsync(void)
{
	int file = file_of(PAGE), ends[2];

	NEED(TIMED(syscall(SYS_fsync, file)) == 0);
	NEED(pread(file, other, PAGE, 0) == PAGE && memcmp(page, other, PAGE) == 0);
	/* Not each file can be written out. */
	NEED(pipe(ends) == 0 && syscall(SYS_fsync, ends[1]) == -1 && errno == EINVAL);
	NEED(close(ends[0]) == 0 && close(ends[1]) == 0);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_dup(void)
{
	int file = file_of(3);
	int twin = TIMED((int)syscall(SYS_dup, file));

	NEED(twin >= 0 && twin != file && lseek(file, 1, SEEK_SET) == 1 && read(twin, other, 9) == 2);
	NEED(close(file) == 0 && close(twin) == 0);
	return GOOD;
}

static enum result do_dup2(void)
{
	int file = file_of(3);

	NEED(TIMED(syscall(SYS_dup2, file, 100)) == 100);
	NEED(read(100, other, 9) == 3);
	NEED(close(file) == 0 && close(100) == 0);
	return GOOD;
}

static enum result do_fcntl(void)
{
	int file = file_of(1);

	NEED(TIMED(syscall(SYS_fcntl, file, F_SETFL, O_NONBLOCK)) == 0);
	NEED(fcntl(file, F_GETFL) & O_NONBLOCK);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_getdents64(void)
{
	char name[] = "/tmp/d/0";
	int folder, found = 0;
	long gave;

	mkdir("/tmp/d", 0700);
	for (; name[7] < '8'; name[7]++)
		close(open(name, O_CREAT | O_WRONLY, 0600));
	folder = open("/tmp/d", O_RDONLY | O_DIRECTORY);
	gave = TIMED(syscall(SYS_getdents64, folder, other, sizeof(other)));
	NEED(gave > 0);
	for (long at = 0; at < gave; found++)
		at += ((struct dirent64 *)(other + at))->d_reclen;
	NEED(found == 10);
	NEED(close(folder) == 0);
	return GOOD;
}

static enum result do_mkdir(void)
{
	struct stat now;

	rmdir("/tmp/m");
	NEED(TIMED(syscall(SYS_mkdir, "/tmp/m", 0700)) == 0);
	NEED(stat("/tmp/m", &now) == 0 && S_ISDIR(now.st_mode));
	NEED(rmdir("/tmp/m") == 0);
	return GOOD;
}

static enum result do_rmdir(void)
{
	NEED(mkdir("/tmp/m", 0700) == 0);
	NEED(TIMED(syscall(SYS_rmdir, "/tmp/m")) == 0);
	NEED(access("/tmp/m", F_OK) == -1 && errno == ENOENT);
	return GOOD;
}

static enum result do_rename(void)
{
	NEED(close(file_of(4)) == 0);
	NEED(TIMED(syscall(SYS_rename, "/tmp/f", "/tmp/g")) == 0);
	NEED(access("/tmp/f", F_OK) == -1 && access("/tmp/g", F_OK) == 0);
	NEED(unlink("/tmp/g") == 0);
	return GOOD;
}

static enum result do_link(void)
{
	struct stat now;

	NEED(close(file_of(4)) == 0);
	unlink("/tmp/h");
	NEED(TIMED(syscall(SYS_link, "/tmp/f", "/tmp/h")) == 0);
	NEED(stat("/tmp/h", &now) == 0 && now.st_nlink == 2);
	NEED(unlink("/tmp/h") == 0);
	return GOOD;
}

static enum result do_unlink(void)
{
	NEED(close(file_of(4)) == 0);
	NEED(TIMED(syscall(SYS_unlink, "/tmp/f")) == 0);
	NEED(access("/tmp/f", F_OK) == -1 && errno == ENOENT);
	return GOOD;
}

static enum result do_symlink(void)
{
	unlink("/tmp/l");
	NEED(TIMED(syscall(SYS_symlink, "/tmp/f", "/tmp/l")) == 0);
	NEED(readlink("/tmp/l", other, PAGE) == 6 && memcmp(other, "/tmp/f", 6) == 0);
	NEED(unlink("/tmp/l") == 0);
	return GOOD;
}

static enum result do_readlink(void)
{
	unlink("/tmp/l");
	NEED(symlink("/tmp/target", "/tmp/l") == 0);
	NEED(TIMED(syscall(SYS_readlink, "/tmp/l", other, PAGE)) == 11);
	NEED(memcmp(other, "/tmp/target", 11) == 0);
	NEED(unlink("/tmp/l") == 0);
	return GOOD;
}

static enum result do_chmod(void)
{
	struct stat now;

	NEED(close(file_of(4)) == 0);
	NEED(TIMED(syscall(SYS_chmod, "/tmp/f", 0400)) == 0);
	NEED(stat("/tmp/f", &now) == 0 && (now.st_mode & 0777) == 0400);
	NEED(unlink("/tmp/f") == 0);
	return GOOD;
}

static enum result do_chdir(void)
{
	NEED(TIMED(syscall(SYS_chdir, "/tmp")) == 0);
	NEED(getcwd(other, PAGE) && strcmp(other, "/tmp") == 0);
	NEED(chdir("/") == 0);
	return GOOD;
}

static enum result do_getcwd(void)
{
	NEED(chdir("/tmp") == 0);
	NEED(TIMED(syscall(SYS_getcwd, other, PAGE)) == 5);
	NEED(strcmp(other, "/tmp") == 0);
	NEED(chdir("/") == 0);
	return GOOD;
}

static enum result do_memfd_create(void)
{
	int file = TIMED((int)syscall(SYS_memfd_create, "m", 0));

	NEED(file >= 0 && write(file, page, 10) == 10 && lseek(file, 0, SEEK_END) == 10);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_sendfile(void)
{
	int from = file_of(PAGE), to = open("/tmp/to", O_RDWR | O_CREAT | O_TRUNC, 0600);

	memset(other, 0, PAGE);
	NEED(to >= 0 && TIMED(syscall(SYS_sendfile, to, from, NULL, PAGE)) == PAGE);
	NEED(pread(to, other, PAGE, 0) == PAGE && memcmp(page, other, PAGE) == 0);
	NEED(close(from) == 0 && close(to) == 0 && unlink("/tmp/to") == 0);
	return GOOD;
}

const struct call file_calls[] = {
	{"open", do_open},
	{"openat", do_openat},
	{"creat", do_creat},
	{"close", do_close},
	{"read", do_read},
	{"write", do_write},
	{"pread64", do_pread64},
	{"pwrite64", do_pwrite64},
	{"readv", do_readv},
	{"writev", do_writev},
	{"fstat", do_fstat},
	{"stat", do_stat},
	{"lstat", do_lstat},
	{"newfstatat", do_newfstatat},
	{"statfs", do_statfs},
	{"access", do_access},
	{"lseek", do_lseek},
	{"ftruncate", do_ftruncate},
	{"fsync", do_fsync},
	{"dup", do_dup},
	{"dup2", do_dup2},
	{"fcntl", do_fcntl},
	{"getdents64", do_getdents64},
	{"mkdir", do_mkdir},
	{"rmdir", do_rmdir},
	{"rename", do_rename},
	{"link", do_link},
	{"unlink", do_unlink},
	{"symlink", do_symlink},
	{"readlink", do_readlink},
	{"chmod", do_chmod},
	{"chdir", do_chdir},
	{"getcwd", do_getcwd},
	{"memfd_create", do_memfd_create},
	{"sendfile", do_sendfile},
	{NULL, NULL},
};
