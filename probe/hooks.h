/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What is done when a function is entered and left, where its stub does not do it by itself: a full
 * trace, what needs the stack of calls, functions of the user's. And what is done when an exception
 * leaves it.
 */

#define TRACE_WINDOW (1ul << 20)

static uint64_t sequence;
static struct trimtab_probe_function *described;

HIDDEN void probe_first(uint64_t *cell)
{
	cell[1] = __atomic_add_fetch(&sequence, 1, __ATOMIC_RELAXED);
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
	event->time = (cycles() & ~(uint64_t)(EVENT_EXIT | EVENT_CHAINED)) | kind;
}

/* Set where the thread was to end its calls while a probe was at work on them. */
static TLS volatile unsigned char asked;

/* A probe has done its work. */
static void leave_probe(void)
{
	busy = 0;
	if (!asked)
		return;
	asked = 0;
	busy = 1;
	end_calls(self);
	busy = 0;
	self->settled = 1;
}

/* The function is entered; `cfa` is the same when it is left. */
HIDDEN void probe_enter(const struct function *function, uint64_t cfa, const struct frame *frame)
{
	struct thread *thread = self;
	int chained;

	if (!thread || thread == DEAD)
		return;
	if (busy) {
		miss();
		return;
	}
	busy = 1;
	chained = is_chained(function, frame);
	if (trimtab_probe_hook == HOOK_TRACE)
		trace(thread, function, cfa, chained ? EVENT_CHAINED : 0);
	else if (trimtab_probe_hook == HOOK_EDGES)
		enter_edge(thread, function, cfa, chained);
	else if (is_counting(thread))
		enter_event(thread, function, cfa, chained);
	leave_probe();
}

HIDDEN void probe_leave(const struct function *function, uint64_t cfa)
{
	struct thread *thread = self;

	if (!thread || thread == DEAD)
		return;
	if (busy) {
		miss();
		return;
	}
	busy = 1;
	if (trimtab_probe_hook == HOOK_TRACE)
		trace(thread, function, cfa, EVENT_EXIT);
	else if (trimtab_probe_hook == HOOK_EDGES)
		leave_edge(thread, function, cfa);
	else if (is_counting(thread))
		leave_event(thread, function, cfa);
	leave_probe();
}

/* The user's, with --hook user: instrumented objects have them undefined, so that linkers take them from
 * archives, and miss them. With other hooks there are none. */
#pragma weak trimtab_probe_user_enter
#pragma weak trimtab_probe_user_leave

HIDDEN void probe_enter_user(const struct function *function)
{
	if (!described || !trimtab_probe_user_enter)
		return;
	if (busy) {
		miss();
		return;
	}
	busy = 1;
	trimtab_probe_user_enter(&described[index_of(function)], cycles());
	busy = 0;
}

HIDDEN void probe_leave_user(const struct function *function)
{
	if (!described || !trimtab_probe_user_leave)
		return;
	if (busy) {
		miss();
		return;
	}
	busy = 1;
	trimtab_probe_user_leave(&described[index_of(function)], cycles());
	busy = 0;
}

/* Does what the stub would have done, had the function returned. `stack` is the stack pointer that
 * the stub would have had. */
static void leave(const struct function *function, struct frame *frame, const uint64_t *stack)
{
	uint64_t now = trimtab_probe_hook == HOOK_VALUE ? trimtab_probe_value : cycles();
	uint64_t spent = now - (frame ? frame->start : stack[0]);
	const uint64_t *marker = frame ? stack : stack + 2;
	uint64_t *cell = cell_of(function);

	switch (trimtab_probe_hook) {
	case HOOK_COUNT:
		cell[1]++;
		break;
	case HOOK_CYCLES:
	case HOOK_VALUE:
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
		trimtab_probe_child = spent + trimtab_probe_outside +
				      (frame ? frame->child : stack[1]);
		break;
	case HOOK_EDGES:
	case HOOK_TRACE:
	case HOOK_EVENT:
		probe_leave(function, (uint64_t)stack);
		break;
	case HOOK_USER:
		probe_leave_user(function);
		break;
	}
}

/* What the stub keeps, where a copy of the function is in a call; NULL elsewhere. */
static const uint64_t *kept_by_copy(const struct function *function,
				    struct _Unwind_Context *context)
{
	uint64_t start = _Unwind_GetRegionStart(context);
	const struct sites *sites = (void *)(start + (function->flags >> FLAG_RETURN_SHIFT));
	uint64_t address = _Unwind_GetIP(context) - start;
	uint32_t i;

	for (i = 0; i < sites->count; i++) {
		const struct site *site = &sites->sites[i];

		if (site->address != address)
			continue;
		/* The stack pointer is what the unwinder calls the frame address of the callee. */
		return (const uint64_t *)((site->place >> SITE_REGISTER_SHIFT == STACK_REGISTER ?
					   _Unwind_GetCFA(context) :
					   (uint64_t)_Unwind_GetGR(context, site->place >> SITE_REGISTER_SHIFT)) +
					  (site->place & ((1u << SITE_REGISTER_SHIFT) - 1)));
	}
	return NULL;
}

/*
 * The personality of stubs: an exception, or the end of a thread, passes through.
 */
HIDDEN _Unwind_Reason_Code trimtab_probe_personality(int version, _Unwind_Action actions,
						     uint64_t class,
						     struct _Unwind_Exception *exception,
						     struct _Unwind_Context *context)
{
	const struct function *function = function_of(context);
	struct frame *frame;

	(void)version;
	(void)class;
	(void)exception;
	if (!(actions & _UA_CLEANUP_PHASE) || !function)
		return _URC_CONTINUE_UNWIND;
	if (is_copy(function)) {
		const uint64_t *kept = kept_by_copy(function, context);

		if (kept)
			leave(function, NULL, kept);
		return _URC_CONTINUE_UNWIND;
	}
	if (!is_in_call(function, context))
		return _URC_CONTINUE_UNWIND;
	frame = frame_of(function, context);
	leave(function, frame, (const uint64_t *)_Unwind_GetCFA(context));
	/* The unwinder still reads what is in the frame: it may be taken only later. */
	if (frame)
		frame->at = FRAME_RELEASED;
	return _URC_CONTINUE_UNWIND;
}
