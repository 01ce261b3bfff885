/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The run time of instrumented programs: what a probe needs beyond its stub.
 *
 * Three kinds of code are here. What runs at the program's start, fork and end may use libc. What
 * a stub calls on rare occasions (a thread's first probe in an object, no free frame) runs between
 * save_vectors and restore_vectors of entry_*.S, and may use libc's simple functions. What runs at
 * each probe must leave the vector registers alone: this file is compiled with
 * -mgeneral-regs-only, and such code makes system calls itself.
 *
 * All that is recorded lies in a file that is mapped: it is complete however the program ends. The
 * file is opened by name whenever it grows, so that no descriptor of ours is among the program's.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "trimtab_probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

/* Threads beyond these share the last one's place in the table. */
#define ARENA (64ul << 10)
#define TRACE_WINDOW (1ul << 20)
#define EDGE_SLOTS 4096u
/* More than a stack of 8 MiB has room for; only what is used is touched. */
#define STACK_ENTRIES 524288u
#define CHUNKS_KEPT 65536u
/* A thread that has ended, and whose probes no longer count. */
#define DEAD ((struct thread *)1)

extern const struct function __start_trimtab_probe_functions[] HIDDEN;
extern const struct function __stop_trimtab_probe_functions[] HIDDEN;
extern const Elf64_Ehdr __ehdr_start HIDDEN __attribute__((weak));

/* Read by every stub. */
HIDDEN volatile unsigned char trimtab_probe_on;
HIDDEN uint32_t trimtab_probe_hook;
/* Free frames of this thread, and cycles that callees took; stubs use them. */
HIDDEN TLS struct frame *trimtab_probe_frames;
HIDDEN TLS uint64_t trimtab_probe_child;

struct shadow {
	uint32_t function; /* index plus 2 */
	uint32_t reserved;
	uint64_t cfa;
};

struct frame_chunk {
	struct frame_chunk *next;
	uint64_t count;
	uint64_t reserved[6];
	struct frame frames[];
};

/* What a thread has. Handed on to a later thread when it ends. */
struct thread {
	struct thread *next;
	uint32_t index;
	struct frame_chunk *chunks;
	struct frame *free_frames;
	uint64_t low, high; /* its stack */
	uint64_t outermost; /* what began it */
	/* Cells: what is left of the arena. */
	struct chunk *arena;
	/* Trace. */
	struct chunk *window;
	/* Edges. */
	struct chunk *edges;
	uint32_t edges_used, edges_slots;
	struct shadow *stack;
	uint32_t depth;
	volatile uint32_t collecting;
	void *blocks[];
};

static TLS struct thread *self;
/* Set while a probe is at work: one in a signal handler then does nothing. */
static TLS volatile unsigned char busy;

static struct header *head;
static char file_name[PATH_MAX];
static struct stat file_identity;
static int anonymous;
static struct thread *pool;
static volatile int pool_lock;
static uint32_t threads;
static uint32_t objects;
static uint64_t sequence;
static pthread_key_t key;
static int have_key;
static struct trimtab_probe_function *described;
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

static void lock(void)
{
	while (__atomic_exchange_n(&pool_lock, 1, __ATOMIC_ACQUIRE))
		relax();
}

static void unlock(void)
{
	__atomic_store_n(&pool_lock, 0, __ATOMIC_RELEASE);
}

/* Only the thread itself knows where its stack is. */
static void find_stack(struct thread *thread)
{
	pthread_attr_t attributes;
	void *low;
	size_t size;

	thread->low = thread->high = 0;
	thread->outermost = outermost();
	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &low, &size)) {
		thread->low = (uint64_t)low;
		thread->high = (uint64_t)low + size;
	}
	pthread_attr_destroy(&attributes);
}

/* What this thread has; NULL once it has ended, or where there is no memory. */
static struct thread *own(void)
{
	struct thread *thread = self;

	if (thread == DEAD)
		return NULL;
	if (thread || busy)
		return thread;
	busy = 1;
	lock();
	thread = pool;
	if (thread)
		pool = thread->next;
	unlock();
	if (!thread) {
		thread = map(sizeof(*thread) + objects * sizeof(void *));
		if (thread)
			thread->index = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
	}
	if (thread) {
		find_stack(thread);
		thread->depth = 0;
		trimtab_probe_frames = thread->free_frames;
		thread->free_frames = NULL;
		self = thread;
		if (have_key)
			pthread_setspecific(key, thread);
	}
	busy = 0;
	return thread;
}

static void thread_ends(void *pointer)
{
	struct thread *thread = pointer;

	/* Frames in use are those of functions that pthread_exit left without unwinding. */
	thread->free_frames = trimtab_probe_frames;
	trimtab_probe_frames = NULL;
	self = DEAD;
	lock();
	thread->next = pool;
	pool = thread;
	unlock();
}

/* Cells that nobody reads: for threads that have none of their own. */
static void *scratch(const struct object *object)
{
	static void *volatile spare;
	static uint64_t spare_bytes;
	uint64_t bytes = (uint64_t)object->cells * object->cell_size;
	void *new;

	if (spare && spare_bytes >= bytes)
		return spare;
	new = map(bytes);
	if (!new)
		abort();
	spare_bytes = bytes;
	spare = new;
	return new;
}

/* The cells of an object for this thread. */
HIDDEN void *probe_block(const struct object *object)
{
	struct thread *thread = own();
	uint64_t bytes = (uint64_t)object->cells * object->cell_size;
	uint64_t need = bytes + sizeof(struct block);
	struct block *block;
	struct chunk *arena;

	if (!thread)
		return scratch(object);
	if (thread->blocks[object->index])
		return thread->blocks[object->index];
	arena = thread->arena;
	if (!arena || arena->bytes - sizeof(*arena) - arena->used < need) {
		uint64_t size = need + sizeof(*arena) > ARENA ? need + sizeof(*arena) : ARENA;

		arena = chunk(CHUNK_CELLS, size, thread->index);
		if (!arena)
			return scratch(object);
		thread->arena = arena;
	}
	block = (struct block *)((char *)(arena + 1) + arena->used);
	block->object = object->index;
	block->bytes = (uint32_t)bytes;
	arena->used += need;
	thread->blocks[object->index] = block + 1;
	return block + 1;
}

/*
 * Frames that can be taken again. All frames of the thread are in use or lost when this is called:
 * exceptions gave theirs back, or longjmp skipped them, which shows on the thread's own stack by
 * their place below the stack pointer.
 */
static struct frame *collect(struct thread *thread, uint64_t rsp, int *few)
{
	uint64_t begin = rsp >= thread->low && rsp < thread->high ? outermost() : 0;
	int own_stack = begin && begin == thread->outermost;
	uint64_t i, all = 0, found = 0;
	struct frame *list = NULL;
	struct frame_chunk *chunk;

	for (chunk = thread->chunks; chunk; chunk = chunk->next) {
		all += chunk->count;
		for (i = 0; i < chunk->count; i++) {
			struct frame *frame = &chunk->frames[i];

			if (frame->at > FRAME_RELEASED) {
				if (!own_stack || frame->at < thread->low ||
				    frame->at + 16 > rsp || is_active(frame))
					continue;
			}
			frame->next = (uint64_t)list;
			list = frame;
			found++;
		}
	}
	*few = found * 4 < all;
	return list;
}

/* Free frames: those that can be taken again, and as many new ones as there are where that is few. It
 * takes the longer the more there are, and so must not be needed soon again. */
HIDDEN struct frame *probe_frame(uint64_t rsp)
{
	struct thread *thread = own();
	struct frame_chunk *new;
	struct frame *list = NULL;
	uint64_t count = 63, i;
	int few = 1;

	/* The thread's own were just found. */
	if (trimtab_probe_frames)
		return trimtab_probe_frames;
	if (thread && thread->chunks) {
		/* A signal may come here again. */
		if (!thread->collecting) {
			thread->collecting = 1;
			list = collect(thread, rsp, &few);
			thread->collecting = 0;
		}
		count = thread->chunks->count * 2 + 1;
	}
	new = few ? map(sizeof(*new) + count * sizeof(struct frame)) : NULL;
	if (!new) {
		/* The function cannot be entered without. */
		if (!list)
			abort();
		trimtab_probe_frames = list;
		return list;
	}
	new->count = count;
	for (i = 0; i + 1 < count; i++)
		new->frames[i].next = (uint64_t)&new->frames[i + 1];
	new->frames[i].next = (uint64_t)list;
	if (thread) {
		new->next = thread->chunks;
		thread->chunks = new;
	}
	trimtab_probe_frames = new->frames;
	return new->frames;
}

HIDDEN void probe_first(uint64_t *cell)
{
	cell[1] = __atomic_add_fetch(&sequence, 1, __ATOMIC_RELAXED);
}

static uint32_t index_of(const struct function *function)
{
	return (uint32_t)(function - __start_trimtab_probe_functions);
}

/* Whether the function was reached by a jump from one that has a frame, too: it returns into the
 * other's stub, and both have the same place on the stack. */
static int is_chained(const struct function *function, const struct frame *frame)
{
	return function->flags & FLAG_FRAME && is_in_stub(frame->ret);
}

static void trace(struct thread *thread, const struct function *function, uint64_t cfa,
		  uint64_t kind)
{
	struct chunk *window = thread->window;
	struct event *event;

	if (!window || window->bytes - sizeof(*window) - window->used < sizeof(*event)) {
		struct chunk *full = window;

		window = chunk(CHUNK_TRACE, TRACE_WINDOW, thread->index);
		if (!window)
			return;
		thread->window = window;
		if (full && full->reserved)
			kept[full->reserved - 1].at = NULL;
		if (full)
			call6(SYS_munmap, (long)full, (long)full->bytes, 0, 0, 0, 0);
	}
	event = (struct event *)((char *)(window + 1) + window->used);
	event->function = index_of(function);
	event->depth = (uint32_t)(cfa >> 3);
	window->used += sizeof(*event);
	event->time = (cycles() & ~3ull) | kind;
}

static void count_edge(struct thread *thread, uint32_t from, uint32_t to)
{
	struct chunk *table = thread->edges;
	struct edge *slots;
	uint32_t place;

	if (!table || thread->edges_used * 2 > thread->edges_slots) {
		uint32_t count = table ? thread->edges_slots * 2 : EDGE_SLOTS;

		table = chunk(CHUNK_EDGES, sizeof(*table) + count * sizeof(struct edge),
			      thread->index);
		if (!table)
			return;
		table->used = count * sizeof(struct edge);
		thread->edges = table;
		thread->edges_slots = count;
		thread->edges_used = 0;
	}
	slots = (struct edge *)(table + 1);
	place = (from * 0x9e3779b1u ^ to * 0x85ebca6bu) & (thread->edges_slots - 1);
	while (slots[place].from && (slots[place].from != from || slots[place].to != to))
		place = (place + 1) & (thread->edges_slots - 1);
	if (!slots[place].from) {
		slots[place].from = from;
		slots[place].to = to;
		thread->edges_used++;
	}
	slots[place].count++;
}

/* Whether both are on the thread's own stack, or neither is. */
static int same_stack(const struct thread *thread, uint64_t a, uint64_t b)
{
	int a_own = a >= thread->low && a < thread->high;
	int b_own = b >= thread->low && b < thread->high;

	return a_own == b_own;
}

static void enter_edge(struct thread *thread, const struct function *function, uint64_t cfa,
		       int chained)
{
	uint32_t to = index_of(function) + 2;
	struct shadow *stack = thread->stack;

	if (!stack) {
		stack = thread->stack = map(STACK_ENTRIES * sizeof(*stack));
		if (!stack)
			return;
	}
	/* What longjmp skipped lies below. */
	while (thread->depth && stack[thread->depth - 1].cfa < cfa + !chained &&
	       same_stack(thread, stack[thread->depth - 1].cfa, cfa))
		thread->depth--;
	count_edge(thread, thread->depth ? stack[thread->depth - 1].function : 1, to);
	if (thread->depth == STACK_ENTRIES) {
		lose();
		return;
	}
	stack[thread->depth].function = to;
	stack[thread->depth].cfa = cfa;
	thread->depth++;
}

static void leave_edge(struct thread *thread, uint64_t cfa)
{
	uint32_t depth = thread->depth;

	while (depth && thread->stack[depth - 1].cfa != cfa)
		depth--;
	if (depth)
		thread->depth = depth - 1;
}

/* The function is entered; `cfa` is the same when it is left. */
HIDDEN void probe_enter(const struct function *function, uint64_t cfa, const struct frame *frame)
{
	struct thread *thread = self;
	int chained;

	if (!thread || thread == DEAD || busy)
		return;
	busy = 1;
	chained = is_chained(function, frame);
	if (trimtab_probe_hook == HOOK_TRACE)
		trace(thread, function, cfa, chained ? EVENT_CHAINED : 0);
	else if (trimtab_probe_hook == HOOK_EDGES)
		enter_edge(thread, function, cfa, chained);
	busy = 0;
}

HIDDEN void probe_leave(const struct function *function, uint64_t cfa)
{
	struct thread *thread = self;

	if (!thread || thread == DEAD || busy)
		return;
	busy = 1;
	if (trimtab_probe_hook == HOOK_TRACE)
		trace(thread, function, cfa, EVENT_EXIT);
	else if (trimtab_probe_hook == HOOK_EDGES)
		leave_edge(thread, cfa);
	busy = 0;
}

__attribute__((weak)) void trimtab_probe_user_enter(const struct trimtab_probe_function *function,
						    uint64_t time)
{
	(void)function;
	(void)time;
}

__attribute__((weak)) void trimtab_probe_user_leave(const struct trimtab_probe_function *function,
						    uint64_t time)
{
	(void)function;
	(void)time;
}

HIDDEN void probe_enter_user(const struct function *function)
{
	if (described && !busy) {
		busy = 1;
		trimtab_probe_user_enter(&described[index_of(function)], cycles());
		busy = 0;
	}
}

HIDDEN void probe_leave_user(const struct function *function)
{
	if (described && !busy) {
		busy = 1;
		trimtab_probe_user_leave(&described[index_of(function)], cycles());
		busy = 0;
	}
}

static struct object *object_of(const struct function *function)
{
	return (struct object *)((char *)&function->object + function->object);
}

/* Does what the stub would have done, had the function returned. `stack` is the stack pointer that
 * the stub would have had. */
static void leave(const struct function *function, struct frame *frame, const uint64_t *stack)
{
	struct object *object = object_of(function);
	uint64_t spent = cycles() - (frame ? frame->start : stack[0]);
	const uint64_t *marker = frame ? stack : stack + 2;
	uint64_t *cell;

	cell = (uint64_t *)((char *)probe_block(object) +
			    (uint64_t)function->cell * object->cell_size);
	switch (trimtab_probe_hook) {
	case HOOK_COUNT:
		cell[1]++;
		break;
	case HOOK_CYCLES:
		cell[0]++;
		cell[1] += spent;
		break;
	case HOOK_TIME:
		cell[0]++;
		cell[2] += spent - trimtab_probe_child;
		if (cell[3] == (uint64_t)marker) {
			cell[1] += spent;
			cell[3] = 0;
		}
		trimtab_probe_child = spent + (frame ? frame->child : stack[1]);
		break;
	case HOOK_EDGES:
	case HOOK_TRACE:
		probe_leave(function, (uint64_t)stack);
		break;
	case HOOK_USER:
		probe_leave_user(function);
		break;
	}
}

/*
 * The personality of stubs: an exception, or the end of a thread, passes through. In place of a
 * table of call sites they have their function.
 */
HIDDEN _Unwind_Reason_Code trimtab_probe_personality(int version, _Unwind_Action actions,
						     uint64_t class,
						     struct _Unwind_Exception *exception,
						     struct _Unwind_Context *context)
{
	const struct function *function = (void *)_Unwind_GetLanguageSpecificData(context);
	uint64_t start = _Unwind_GetRegionStart(context);
	struct frame *frame = NULL;

	(void)version;
	(void)class;
	(void)exception;
	if (!(actions & _UA_CLEANUP_PHASE) || !function)
		return _URC_CONTINUE_UNWIND;
	/* Elsewhere in the stub the function was not entered yet, or is left already. */
	if (_Unwind_GetIP(context) != start + (function->flags >> FLAG_RETURN_SHIFT))
		return _URC_CONTINUE_UNWIND;
	if (function->flags & FLAG_FRAME)
		frame = (struct frame *)_Unwind_GetGR(context, FRAME_REGISTER);
	leave(function, frame, (const uint64_t *)_Unwind_GetCFA(context));
	/* The unwinder still reads what is in the frame: it may be taken only later. */
	if (frame)
		frame->at = FRAME_RELEASED;
	return _URC_CONTINUE_UNWIND;
}

void trimtab_probe_turn_on(void)
{
	if (head)
		trimtab_probe_on = 1;
}

void trimtab_probe_turn_off(void)
{
	trimtab_probe_on = 0;
}

/* The end of a process, whichever way it comes to it. */
static void end(void)
{
	if (!head)
		return;
	trimtab_probe_on = 0;
	head->last_cycles = cycles();
	head->last_ns = nanoseconds();
	head->ended = 1;
}

/* Whether another process is writing to this file. */
static int in_use(const char *name)
{
	struct header found;
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int taken = 0;

	if (fd < 0)
		return 0;
	if (read(fd, &found, 64) == 64 && !memcmp(found.magic, "TTPROBE1", 8) &&
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

/* A child of fork goes on by itself: what its parent counted is not counted twice. All that stubs
 * know stays where it is; only the file behind it is another. */
static void child_begins(void)
{
	unsigned char was_on = trimtab_probe_on;
	uint32_t i, count = kept_count < CHUNKS_KEPT ? kept_count : CHUNKS_KEPT;
	struct header old;

	if (!head || anonymous)
		return;
	trimtab_probe_on = 0;
	old = *head;
	if (!create_file(1, head)) {
		/* The parent's file must not be touched any more. */
		anonymous = 1;
		mmap(head, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
	}
	*head = old;
	head->pid = (uint64_t)getpid();
	head->lost = 0;
	head->ended = 0;
	head->start_cycles = head->last_cycles = cycles();
	head->start_ns = head->last_ns = nanoseconds();
	for (i = 0; i < count; i++) {
		struct chunk *at = kept[i].at;
		uint64_t bytes = kept[i].bytes, used;
		char *copy;

		if (!at || !kept[i].offset)
			continue;
		copy = malloc(bytes);
		if (!copy)
			continue;
		memcpy(copy, at, bytes);
		if (anonymous || !map_file(kept[i].offset, bytes, at))
			mmap(at, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		*at = *(struct chunk *)copy;
		switch (at->kind) {
		case CHUNK_FUNCTIONS:
			memcpy(at, copy, bytes);
			break;
		case CHUNK_TRACE:
			at->used = 0;
			break;
		case CHUNK_CELLS:
			for (used = sizeof(*at); used < sizeof(*at) + at->used;) {
				struct block *block = (struct block *)((char *)at + used);

				*block = *(struct block *)(copy + used);
				used += sizeof(*block) + block->bytes;
			}
			break;
		}
		free(copy);
	}
	/* Slots of edges are empty again. */
	if (self && self != DEAD)
		self->edges_used = 0;
	trimtab_probe_on = was_on;
}

/* Writes which functions there are, so that a recording can be read by itself. */
static int describe(uint32_t count)
{
	const struct function *all = __start_trimtab_probe_functions;
	uint64_t names = 0;
	struct function_record *records;
	struct chunk *table;
	char *text;
	uint32_t i;

	for (i = 0; i < count; i++)
		names += strlen((const char *)&all[i].name + all[i].name) + 1;
	table = chunk(CHUNK_FUNCTIONS, sizeof(*table) + count * sizeof(*records) + names, count);
	if (!table)
		return -1;
	table->used = count * sizeof(*records) + names;
	records = (struct function_record *)(table + 1);
	text = (char *)(records + count);
	described = map(count * sizeof(*described));
	for (i = 0; i < count; i++) {
		const char *name = (const char *)&all[i].name + all[i].name;
		const void *start = (const char *)&all[i].start + all[i].start;

		records[i].start = (uint64_t)start;
		records[i].size = all[i].size;
		records[i].object = object_of(&all[i])->index;
		records[i].cell = all[i].cell;
		records[i].flags = all[i].flags;
		records[i].name_length = (uint32_t)strlen(name);
		records[i].name = (uint32_t)(text - (char *)(records + count));
		memcpy(text, name, records[i].name_length + 1);
		text += records[i].name_length + 1;
		if (described) {
			described[i].id = i;
			described[i].size = all[i].size;
			described[i].start = start;
			described[i].name = name;
		}
	}
	return 0;
}

static void toggle(int number)
{
	(void)number;
	trimtab_probe_on = !trimtab_probe_on;
}

/* A signal that turns the probes on and off from outside. */
static void listen_for(const char *number)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = toggle;
	action.sa_flags = SA_RESTART;
	sigaction(atoi(number), &action, NULL);
}

static void complain(const char *what)
{
	dprintf(2, "trimtab-probe: %s: nothing is recorded\n", what);
}

static void begin(void)
{
	const struct function *all = __start_trimtab_probe_functions;
	uint32_t count = (uint32_t)(__stop_trimtab_probe_functions - all), i;
	const char *initial = getenv("TRIMTAB_PROBE");
	const char *number = getenv("TRIMTAB_PROBE_SIGNAL");
	struct object *first;
	uint64_t before, least = ~0ul;
	ssize_t length;

	if (head || !count)
		return;
	first = object_of(&all[0]);
	for (i = 0; i < count; i++) {
		struct object *object = object_of(&all[i]);

		if (object->version != PROBE_VERSION || object->hook != first->hook) {
			complain("objects of the program were instrumented in different ways");
			return;
		}
		if (!object->index)
			object->index = ++objects;
	}
	/* Indices begin with 1. */
	objects++;
	trimtab_probe_hook = first->hook;
	find_vectors();
	head = create_file(0, NULL);
	if (!head) {
		char text[256];

		snprintf(text, sizeof(text), "cannot write %.200s", file_name);
		complain(text);
		anonymous = 1;
		head = map(PAGE);
		if (!head)
			return;
	}
	memcpy(head->magic, "TTPROBE1", 8);
	head->version = PROBE_VERSION;
	head->hook = first->hook;
	head->cell_size = first->cell_size;
	head->pid = (uint64_t)getpid();
	head->end = PAGE;
	if (&__ehdr_start && __ehdr_start.e_type == ET_DYN)
		head->bias = (uint64_t)&__ehdr_start;
	length = readlink("/proc/self/exe", head->program, sizeof(head->program) - 1);
	if (length < 0)
		head->program[0] = 0;
	for (i = 0; i < 1000; i++) {
		before = cycles();
		before = cycles() - before;
		if (before < least)
			least = before;
	}
	head->overhead = least;
	head->start_cycles = cycles();
	head->start_ns = nanoseconds();
	if (describe(count)) {
		complain("there is no memory");
		return;
	}
	have_key = !pthread_key_create(&key, thread_ends);
	pthread_atfork(NULL, NULL, child_begins);
	if (number)
		listen_for(number);
	if (!initial || strcmp(initial, "off"))
		trimtab_probe_on = 1;
}

/* As early as can be, and as late. */
__attribute__((constructor(101))) static void constructor(void)
{
	begin();
}

__attribute__((destructor(101))) static void destructor(void)
{
	end();
}
