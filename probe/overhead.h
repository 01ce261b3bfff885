/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How much of the times that probes tell is their own. A call's time is what lies between two
 * readings of the counter: that has a share of the stub inside, and the rest of the stub counts for
 * the caller. A function that does next to nothing, but often, would seem to be dear, and so would
 * who calls it. Both shares are measured before the program begins, by a function that does nothing
 * and is treated as a stub would treat it. It is the same with what HOOK_EVENT counts.
 */

#define OVERHEAD_ROUNDS 5
#define OVERHEAD_CALLS 200

/* Cycles of each call that its caller is not to be blamed for; stubs read it. */
HIDDEN uint64_t trimtab_probe_outside;

static __attribute__((noinline)) void nothing(void)
{
	__asm__ volatile("" : : : "memory");
}

/* What a stub does around nothing() with HOOK_TIME. */
static __attribute__((noinline)) void timed_nothing(volatile uint64_t *cell)
{
	volatile uint64_t *child = &trimtab_probe_child;
	uint64_t frame = (uint64_t)__builtin_frame_address(0);
	volatile uint64_t before, start;
	uint64_t spent;

	if (trimtab_probe_on || !cell)
		return;
	if (cell[3] <= frame)
		cell[3] = frame;
	before = *child;
	*child = 0;
	start = cycles();
	nothing();
	spent = cycles() - start;
	cell[0]++;
	cell[2] += spent - *child;
	if (cell[3] == frame) {
		cell[1] += spent;
		cell[3] = 0;
	}
	*child = before + spent;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Measures while the probes are off. What disturbs it makes it longer: the shortest round counts. */
static void measure_overhead(void)
{
	uint64_t least = ~0ul, plain = 0, inside = 0;
	int round, i;

	head->counter = ~0ul;
	for (round = 0; round < OVERHEAD_ROUNDS; round++) {
		uint64_t cell[4] = { 0, 0, 0, 0 };
		uint64_t begin, middle, end;

		begin = cycles();
		for (i = 1; i < OVERHEAD_CALLS; i++)
			cycles();
		end = cycles();
		if ((end - begin) / OVERHEAD_CALLS < head->counter)
			head->counter = (end - begin) / OVERHEAD_CALLS;
		begin = cycles();
		for (i = 0; i < OVERHEAD_CALLS; i++)
			nothing();
		middle = cycles();
		for (i = 0; i < OVERHEAD_CALLS; i++)
			timed_nothing(cell);
		end = cycles();
		if (end - middle < least) {
			least = end - middle;
			plain = middle - begin;
			inside = cell[2];
		}
	}
	trimtab_probe_child = 0;
	/* The function is there without probes, too. */
	head->inside = less(inside, plain) / OVERHEAD_CALLS;
	trimtab_probe_outside = less(least, inside) / OVERHEAD_CALLS;
}

/* In entry_*.S: a function that does nothing, and what a stub does around it with HOOK_EVENT. */
HIDDEN void trimtab_probe_body(const struct function *function);
HIDDEN void trimtab_probe_around(const struct function *function);

/* The same for HOOK_EVENT, where it is taken off at once. The call and the return that are there
 * without probes, too, count for the caller. */
static void measure_event(void)
{
	static struct object object = { .cell_size = 4 * sizeof(uint64_t) };
	static struct function function;
	struct thread *thread = own();
	uint64_t least = ~0ul, inside = 0;
	int round, i;

	if (!thread || !is_counting(thread))
		return;
	function.object = (int32_t)((char *)&object - (char *)&function.object);
	for (round = 0; round < OVERHEAD_ROUNDS; round++) {
		uint64_t cell[4] = { 0, 0, 0, 0 };
		uint64_t begin, middle, end, added;

		/* Indices of objects begin with 1. */
		thread->blocks[0] = cell;
		begin = read_event(thread->counter);
		for (i = 0; i < OVERHEAD_CALLS; i++)
			trimtab_probe_body(&function);
		middle = read_event(thread->counter);
		for (i = 0; i < OVERHEAD_CALLS; i++)
			trimtab_probe_around(&function);
		end = read_event(thread->counter);
		thread->blocks[0] = NULL;
		added = less(end - middle, middle - begin);
		if (added < least) {
			least = added;
			inside = cell[2];
		}
	}
	head->inside = event_inside = inside / OVERHEAD_CALLS;
	event_outside = less(least, inside) / OVERHEAD_CALLS;
}
