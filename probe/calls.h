/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The calls of a thread that are under way, as a stack of their own beside the program's, and what
 * is counted with it: edges of calls, and by how much a counter of events grew in each.
 */

#define EDGE_SLOTS 4096u
/* More than a stack of 8 MiB has room for; only what is used is touched. */
#define STACK_ENTRIES 524288u

/* So many calls' pages are touched at once. */
#define READY_ENTRIES 2048u

static uint32_t index_of(const struct function *function)
{
	return (uint32_t)(function - __start_trimtab_probe_functions);
}

static struct object *object_of(const struct function *function)
{
	char *object = (char *)&function->object + function->object;

	/* It lies elsewhere: else clang takes it for a part of the table, which never changes. */
	__asm__("" : "+r"(object));
	return (struct object *)object;
}

/* Whether both are on the thread's own stack, or neither is. */
static int same_stack(const struct thread *thread, uint64_t a, uint64_t b)
{
	int a_own = a >= thread->low && a < thread->high;
	int b_own = b >= thread->low && b < thread->high;

	return a_own == b_own;
}

/* Whether the innermost call has ended although it was not left: what longjmp skipped lies below a
 * function that is entered. */
static int is_skipped(const struct thread *thread, uint64_t cfa, int chained)
{
	uint64_t innermost;

	if (!thread->depth)
		return 0;
	innermost = thread->stack[thread->depth - 1].cfa;
	return innermost < cfa + !chained && same_stack(thread, innermost, cfa);
}

/* Adds a call; NULL where there is no room. */
static struct shadow *push(struct thread *thread, uint64_t what, uint64_t cfa)
{
	struct shadow *entry;

	if (thread->depth == STACK_ENTRIES) {
		lose();
		return NULL;
	}
	entry = &thread->stack[thread->depth++];
	entry->what = what;
	entry->cfa = cfa;
	return entry;
}

/* How many calls are around one that is left, itself with them; 0 where it was not entered here. */
static uint32_t depth_of(const struct thread *thread, uint64_t what, uint64_t cfa)
{
	uint32_t depth = thread->depth;

	while (depth && (thread->stack[depth - 1].cfa != cfa ||
			 thread->stack[depth - 1].what != what))
		depth--;
	return depth;
}

/* Whether the thread has the stack. */
static int has_stack(struct thread *thread)
{
	if (!thread->stack)
		thread->stack = map(STACK_ENTRIES * sizeof(*thread->stack));
	return !!thread->stack;
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

static void enter_edge(struct thread *thread, const struct function *function, uint64_t cfa,
		       int chained)
{
	uint32_t to = index_of(function) + 2;

	if (!has_stack(thread))
		return;
	while (is_skipped(thread, cfa, chained))
		thread->depth--;
	count_edge(thread,
		   thread->depth ? (uint32_t)thread->stack[thread->depth - 1].what : 1, to);
	push(thread, to, cfa);
}

static void leave_edge(struct thread *thread, const struct function *function, uint64_t cfa)
{
	uint32_t depth = depth_of(thread, index_of(function) + 2, cfa);

	if (depth)
		thread->depth = depth - 1;
}

/* The function's cell among those of its object on a thread. */
static uint64_t *cell_in(void *block, const struct function *function)
{
	return (uint64_t *)((char *)block +
			    (uint64_t)function->cell * object_of(function)->cell_size);
}

/* The function's cell on this thread, which is made where there is none; of scratch, where there is no memory. */
static uint64_t *cell_of(const struct function *function)
{
	return cell_in(probe_block(object_of(function)), function);
}

/* The function's cell on a thread; NULL where there is no memory for it. */
static uint64_t *known_cell(const struct thread *thread, const struct function *function)
{
	void *block = thread->blocks[object_of(function)->index];

	return block ? cell_in(block, function) : NULL;
}

/* What is counted of each call between entry and exit that is the probe's own, and what is outside of
 * these. */
static uint64_t event_inside, event_outside;

/* The innermost call ends. */
static void end_call(struct thread *thread, uint64_t now)
{
	struct shadow *call = &thread->stack[thread->depth - 1];
	uint64_t *cell = (uint64_t *)call->what;
	uint64_t mine = thread->mine - call->mine + event_inside;
	/* Less than nothing, where the probe's share was a little less than it was taken to be. */
	uint64_t grown = now > call->start ? now - call->start - mine : 0;

	cell[0]++;
	cell[2] += grown - call->child;
	if (cell[3] == thread->depth) {
		cell[1] += grown;
		cell[3] = 0;
	}
	thread->depth--;
	if (thread->depth)
		thread->stack[thread->depth - 1].child += grown;
	thread->mine += event_inside + event_outside;
}

/* All calls of a thread end with it. */
static void end_calls(struct thread *thread)
{
	uint64_t now;

	if (!is_counting(thread) || !thread->depth)
		return;
	now = read_event(thread->counter);
	while (thread->depth)
		end_call(thread, now);
}

/* A function that calls itself counts once in all, from the outermost call. The cell says which that
 * is; it may be left over from one that ended otherwise. */
static void mark_outermost(const struct thread *thread, uint64_t *cell)
{
	uint64_t outermost = cell[3];

	if (!outermost || outermost >= thread->depth ||
	    thread->stack[outermost - 1].what != (uint64_t)cell)
		cell[3] = thread->depth;
}

static void enter_event(struct thread *thread, const struct function *function, uint64_t cfa,
			int chained)
{
	uint64_t *cell = known_cell(thread, function);
	struct shadow *call;

	if (!cell || !has_stack(thread)) {
		lose();
		return;
	}
	if (is_skipped(thread, cfa, chained)) {
		uint64_t now = read_event(thread->counter);

		while (is_skipped(thread, cfa, chained))
			end_call(thread, now);
	}
	if (thread->depth >= thread->ready && thread->depth < STACK_ENTRIES) {
		uint64_t before = before_rare(thread);
		/* Whole pages. */
		uint32_t from = thread->depth & ~(READY_ENTRIES - 1);

		touch(&thread->stack[from], READY_ENTRIES * sizeof(*call));
		thread->ready = from + READY_ENTRIES;
		excuse(thread, before);
	}
	call = push(thread, (uint64_t)cell, cfa);
	if (!call)
		return;
	mark_outermost(thread, cell);
	call->child = 0;
	call->mine = thread->mine;
	call->start = read_event(thread->counter);
	/* The system's counters are those of a child of vfork here, which has the same memory, but
	 * does not come back to what it was called in. */
	if (thread->depth > 1 && call->start < call[-1].start)
		thread->depth--;
}

static void leave_event(struct thread *thread, const struct function *function, uint64_t cfa)
{
	uint64_t now = read_event(thread->counter);
	uint64_t *cell = known_cell(thread, function);
	uint32_t depth = cell ? depth_of(thread, (uint64_t)cell, cfa) : 0;

	while (depth && thread->depth >= depth)
		end_call(thread, now);
}

/* Calls are under way again, so many, and begin as new ones now. */
static void begin_anew(struct thread *thread, uint32_t depth)
{
	uint32_t i;
	uint64_t now;

	thread->depth = 0;
	if (!thread->counts)
		return;
	for (i = 0; i < depth; i++) {
		thread->depth++;
		thread->stack[i].child = 0;
		thread->stack[i].mine = thread->mine;
		mark_outermost(thread, (uint64_t *)thread->stack[i].what);
	}
	now = read_event(thread->counter);
	for (i = 0; i < depth; i++)
		thread->stack[i].start = now;
}

/* The calls that end_calls ended go on after all. */
static void resume_calls(struct thread *thread, uint32_t depth)
{
	uint32_t i;

	for (i = 0; i < depth; i++)
		((uint64_t *)thread->stack[i].what)[0]--;
	begin_anew(thread, depth);
}

/* In a child of fork: its counters begin anew, and so do the calls under way. */
static void count_anew(struct thread *thread)
{
	if (thread) {
		/* What the parent has mapped is not here. */
		thread->counts = 0;
		thread->counter = NULL;
	}
	*counters_live = 1;
	if (!thread)
		return;
	begin_counting(thread);
	thread->ready = 0;
	begin_anew(thread, thread->depth);
}
