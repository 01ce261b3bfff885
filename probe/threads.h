/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What each thread has: its cells, and the frames in which probes keep what they need until the
 * function returns.
 */

#define ARENA (64ul << 10)
/* A thread that has ended, and whose probes no longer count. */
#define DEAD ((struct thread *)1)

struct frame_chunk {
	struct frame_chunk *next;
	uint64_t count;
	uint64_t reserved[6];
	struct frame frames[];
};

/* A call that is under way. */
struct shadow {
	uint64_t what; /* is called: of edges the index plus 2, of events the cell */
	uint64_t cfa;
	/* Of events. */
	uint64_t start; /* what the counter was at */
	uint64_t child; /* by how much it grew in callees */
	uint64_t mine;  /* the thread's when it began */
};

/* What a thread has. Handed on to a later thread when it ends. */
struct thread {
	struct thread *next;
	struct thread *every; /* the next of all, also of those that have ended */
	volatile int number;  /* the system's; 0 while no thread has this */
	volatile int settled; /* whether its calls are accounted for at the end */
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
	/* Calls under way, of edges and events. */
	struct shadow *stack;
	uint32_t depth;
	/* Events. */
	uint32_t ready; /* calls that the stack has touched pages for */
	int counts;     /* whether there is a counter */
	uint64_t mine;  /* by how much it has grown by what probes do */
	counter_page *counter;
	volatile uint32_t collecting;
	void *blocks[];
};

static TLS struct thread *self;
/* Set while a probe is at work: one in a signal handler then does nothing. */
static TLS volatile unsigned char busy;

static struct thread *pool, *all_threads;
static volatile int pool_lock;
static uint32_t threads;
static uint32_t objects;
static pthread_key_t key;
static int have_key;

static void lock(void)
{
	while (__atomic_exchange_n(&pool_lock, 1, __ATOMIC_ACQUIRE))
		relax();
}

static void unlock(void)
{
	__atomic_store_n(&pool_lock, 0, __ATOMIC_RELEASE);
}

/* Has the thread count events, as far as it can. */
static void begin_counting(struct thread *thread)
{
	thread->counts = 0;
	thread->mine = 0;
	if (is_hardware())
		open_counter(&thread->counter);
	if (is_hardware() && !thread->counter)
		lose();
	else
		thread->counts = 1;
}

/* Whether the thread counts events. */
static int is_counting(const struct thread *thread)
{
	return trimtab_probe_hook == HOOK_EVENT && thread->counts && *counters_live;
}

/* What is counted before something rare that probes do for themselves. */
static uint64_t before_rare(const struct thread *thread)
{
	return is_counting(thread) ? read_event(thread->counter) : 0;
}

/* By how much that grew is not to be blamed on the functions under way. */
static void excuse(struct thread *thread, uint64_t before)
{
	if (is_counting(thread))
		thread->mine += read_event(thread->counter) - before;
}

/* Touches each page, so that the first use of it by a probe is no page fault of the program's. */
static void touch(void *from, uint64_t bytes)
{
	volatile char *at = from, *end = at + bytes;

	for (; at < end; at += 4096)
		*at = *at;
	if (bytes)
		end[-1] = end[-1];
}

static void end_calls(struct thread *thread);

/* The stack that the process began on; 0 where it is not known. */
static uint64_t first_low, first_high;

/*
 * Linux puts the bytes that AT_RANDOM points to above all frames of the first stack, and maps nothing into
 * as much room below as the stack may have then. The C library would look for both in /proc/self/maps, which
 * takes longer than all else when a process begins.
 */
static void find_first_stack(void)
{
	uint64_t high = getauxval(AT_RANDOM);
	struct rlimit limit;

	if (!high || getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= high)
		return;
	first_low = high - limit.rlim_cur;
	first_high = high;
}

/* Only the thread itself knows where its stack is. */
static void find_stack(struct thread *thread)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	pthread_attr_t attributes;
	void *low;
	size_t size;

	thread->low = thread->high = 0;
	thread->outermost = outermost();
	if (here >= first_low && here < first_high) {
		thread->low = first_low;
		thread->high = first_high;
		return;
	}
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
		if (thread) {
			thread->index = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
			lock();
			thread->every = all_threads;
			all_threads = thread;
			unlock();
		}
	}
	if (thread) {
		thread->number = (int)call6(SYS_gettid, 0, 0, 0, 0, 0, 0);
		find_stack(thread);
		thread->depth = 0;
		trimtab_probe_frames = thread->free_frames;
		thread->free_frames = NULL;
		self = thread;
		if (have_key)
			pthread_setspecific(key, thread);
		if (trimtab_probe_hook == HOOK_EVENT)
			begin_counting(thread);
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
	thread->number = 0;
	end_calls(thread);
	thread->counts = 0;
	close_counter(thread->counter);
	thread->counter = NULL;
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
	uint64_t before;

	if (!thread && busy)
		miss();
	if (!thread)
		return scratch(object);
	if (thread->blocks[object->index])
		return thread->blocks[object->index];
	before = before_rare(thread);
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
	if (is_counting(thread))
		touch(block + 1, bytes);
	excuse(thread, before);
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
	uint64_t count = 63, i, before;
	int few = 1;

	/* The thread's own were just found. */
	if (trimtab_probe_frames)
		return trimtab_probe_frames;
	before = thread ? before_rare(thread) : 0;
	/* The thread may have begun before anything could be unwound. Not on a stack of another coroutine. */
	if (thread && !thread->outermost && rsp >= thread->low && rsp < thread->high)
		thread->outermost = outermost();
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
		excuse(thread, before);
	}
	trimtab_probe_frames = new->frames;
	return new->frames;
}
