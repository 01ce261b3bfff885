/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The calls of a thread that are under way, as a stack of their own beside the program's, and what
 * is counted with it: edges of calls.
 */

#define EDGE_SLOTS 4096u
/* More than a stack of 8 MiB has room for; only what is used is touched. */
#define STACK_ENTRIES 524288u

struct shadow {
	uint64_t what; /* is called: of edges the index plus 2 */
	uint64_t cfa;
};

static uint32_t index_of(const struct function *function)
{
	return (uint32_t)(function - __start_trimtab_probe_functions);
}

static struct object *object_of(const struct function *function)
{
	return (struct object *)((char *)&function->object + function->object);
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
