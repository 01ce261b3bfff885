/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The recording: a file that is mapped, so that it is complete however the program ends. It is
 * opened by name whenever it grows, so that no descriptor of ours is among the program's.
 */

#define CHUNKS_KEPT 65536u

static struct header *head;
static char file_name[PATH_MAX];
static struct stat file_identity;
static int anonymous;
/* Where chunks are mapped: what a child of fork maps anew. */
static struct {
	struct chunk *at;
	uint64_t bytes, offset;
} kept[CHUNKS_KEPT];
static uint32_t kept_count;

static inline int failed(long result)
{
	return (unsigned long)result > -4096ul;
}

static void *map(uint64_t bytes)
{
	long at = call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return failed(at) ? NULL : (void *)at;
}

static uint64_t nanoseconds(void)
{
	struct timespec now = { 0, 0 };

	call6(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void lose(void)
{
	__atomic_fetch_add(&head->lost, 1, __ATOMIC_RELAXED);
}

/* A probe was interrupted by a signal, whose handler has probes, too. */
static void miss(void)
{
	__atomic_fetch_add(&head->missed, 1, __ATOMIC_RELAXED);
}

/* Maps bytes of the file at an offset, at an address if one is given. */
static void *map_file(uint64_t offset, uint64_t bytes, void *where)
{
	struct stat found;
	long fd, at = -1;
	int fixed = where ? MAP_FIXED : 0;

	fd = call6(SYS_openat, AT_FDCWD, (long)file_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
	if (failed(fd))
		return NULL;
	/* The file could have been moved, and another be there. */
	if (!call6(SYS_fstat, fd, (long)&found, 0, 0, 0, 0) &&
	    found.st_ino == file_identity.st_ino && found.st_dev == file_identity.st_dev &&
	    call6(SYS_pwrite64, fd, (long)"", 1, (long)(offset + bytes - 1), 0, 0) == 1)
		at = call6(SYS_mmap, (long)where, (long)bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | fixed, fd, (long)offset);
	call6(SYS_close, fd, 0, 0, 0, 0, 0);
	return failed(at) ? NULL : (void *)at;
}

/* A new piece of the recording; NULL where there is no room. */
static struct chunk *chunk(uint32_t kind, uint64_t bytes, uint32_t thread)
{
	struct chunk *new = NULL;
	uint64_t offset = 0;
	uint32_t place;

	bytes = (bytes + PAGE - 1) & -PAGE;
	if (!anonymous) {
		offset = __atomic_fetch_add(&head->end, bytes, __ATOMIC_RELAXED);
		new = map_file(offset, bytes, NULL);
	}
	if (!new) {
		lose();
		/* The program must go on whether it is recorded or not. */
		new = map(bytes);
		if (!new)
			return NULL;
		offset = 0;
	}
	new->kind = kind;
	new->thread = thread;
	new->bytes = bytes;
	place = __atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED);
	if (place < CHUNKS_KEPT) {
		kept[place].bytes = bytes;
		kept[place].offset = offset;
		kept[place].at = new;
		new->reserved = place + 1;
	}
	head->last_cycles = cycles();
	head->last_ns = nanoseconds();
	return new;
}

/* Whether another process is writing to this file. */
static int in_use(const char *name)
{
	struct header found;
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int taken = 0;

	if (fd < 0)
		return 0;
	if (read(fd, &found, 64) == 64 && !memcmp(found.magic, RECORDING_MAGIC, 8) &&
	    found.pid != (uint64_t)getpid())
		taken = !kill((pid_t)found.pid, 0) || errno == EPERM;
	close(fd);
	return taken;
}

/* Where to record: TRIMTAB_PROBE_FILE, %p in it being the process; made absolute, so that the
 * program may go to other folders. */
static void choose_file(int child)
{
	const char *wanted = getenv("TRIMTAB_PROBE_FILE");
	char *to = file_name, *limit = file_name + sizeof(file_name) - 32;
	int has_process = 0;

	if (!wanted || !*wanted)
		wanted = "trimtab-probe.out";
	if (*wanted != '/' && getcwd(file_name, sizeof(file_name) / 2)) {
		to += strlen(to);
		*to++ = '/';
	}
	for (; *wanted && to < limit; wanted++) {
		if (wanted[0] == '%' && wanted[1] == 'p') {
			to += sprintf(to, "%d", (int)getpid());
			wanted++;
			has_process = 1;
		} else {
			*to++ = *wanted;
		}
	}
	*to = 0;
	if (!has_process && (child || in_use(file_name)))
		sprintf(to, ".%d", (int)getpid());
}

/* Makes the file and maps its first page. */
static struct header *create_file(int child, void *where)
{
	struct header *made = MAP_FAILED;
	int fd;

	choose_file(child);
	unlink(file_name);
	fd = open(file_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0) {
		if (!ftruncate(fd, PAGE) && !fstat(fd, &file_identity))
			made = mmap(where, PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | (where ? MAP_FIXED : 0), fd, 0);
		close(fd);
	}
	return made == MAP_FAILED ? NULL : made;
}
