/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How a process ends: calls that are under way then end with it, for the hooks that add up when calls end.
 * Their stubs are found in the stack of calls.
 *
 * The process ends by exit, quick_exit, _exit, exec, or a signal for which the program has no handler. Where
 * it is the end for all threads, each other thread is sent a signal, and accounts for its own calls.
 * Static programs take their unwind information away when they end, and unwinding takes a lock there, which a
 * signal may have interrupted: only the thread that calls exit, _exit or exec is accounted for.
 */

/* As long as other threads have to answer: nanoseconds. */
#define PATIENCE 500000000u
/* As long as a thread keeps still that waited for something when it was asked: nanoseconds. The process has ended
 * by then, unless what still runs of it waits for this thread. */
#define STILLNESS 1000000000u

/* Signals that end a process, and are not for debuggers. */
static const unsigned char ending_signals[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGUSR1, SIGUSR2,
	SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
};

/* Whether calls are accounted for already; the signal that it was for, if any. */
static volatile int ending;
static volatile int ending_by;

/* Whether stubs add up when calls end. */
static int adds_up(void)
{
	return ADDS_UP_IN_STUBS(trimtab_probe_hook);
}

/* Whether anything does. */
static int needs_ends(void)
{
	return ADDS_UP(trimtab_probe_hook);
}

/* Whether a signal with this action ends the process: nobody handles it. */
static int is_final(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

/* Adds a call that is under way. Should it go on after all, it does so as if it began now. */
static void settle(const struct function *function, struct frame *frame, uint64_t *stack)
{
	uint64_t *cell = cell_of(function);
	uint64_t outermost = trimtab_probe_hook == HOOK_TIME ? cell[3] : 0;

	leave(function, frame, stack);
	*(frame ? &frame->start : stack) = trimtab_probe_hook == HOOK_VALUE ? trimtab_probe_value :
									      cycles();
	if (trimtab_probe_hook == HOOK_TIME) {
		cell[3] = outermost;
		*(frame ? &frame->child : stack + 1) = 0;
	}
}

/* A call that is not one yet: it goes on. */
static void unsettle(const struct function *function)
{
	cell_of(function)[0]--;
}

struct walk {
	int back; /* whether the calls go on */
	/* A copy of a function that the last frame was in, if it was, and the stack pointer there. */
	const struct function *copy;
	uint64_t below;
};

static void settle_or_not(const struct walk *walk, const struct function *function,
			  struct frame *frame, uint64_t *stack)
{
	if (walk->back)
		unsettle(function);
	else
		settle(function, frame, stack);
}

static _Unwind_Reason_Code settle_one(struct _Unwind_Context *context, void *argument)
{
	const struct function *function = function_of(context);
	uint64_t here = _Unwind_GetCFA(context);
	struct walk *walk = argument;

	if (walk->copy) {
		/* What its stub keeps is below the return address, if the function has begun and not ended. */
		uint64_t *kept = (uint64_t *)(here - 16);

		if ((uint64_t)kept >= walk->below)
			settle_or_not(walk, walk->copy, NULL, kept);
		walk->copy = NULL;
	}
	if (!function)
		return _URC_NO_REASON;
	if (is_copy(function)) {
		/* A signal may have interrupted it anywhere. */
		walk->copy = function;
		walk->below = here;
		return _URC_NO_REASON;
	}
	if (is_in_call(function, context))
		settle_or_not(walk, function, frame_of(function, context), (uint64_t *)here);
	return _URC_NO_REASON;
}

/* Whether this thread's stack of calls, which events have, can be changed. */
static int has_own_calls(void)
{
	return self && self != DEAD && !busy;
}

static void end_own_calls(void)
{
	if (!has_own_calls())
		return;
	busy = 1;
	end_calls(self);
	busy = 0;
}

/* Whether there is room for unwinding: stacks for signals may be small. */
static int has_room(void)
{
	stack_t stack;

	if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_ONSTACK))
		return 1;
	return (uint64_t)__builtin_frame_address(0) - (uint64_t)stack.ss_sp >= UNWINDING_ROOM;
}

static void walk_own(int back)
{
	struct walk walk = { .back = back };

	if (!has_room() || !can_unwind())
		return;
	_Unwind_Backtrace(settle_one, &walk);
	trimtab_probe_child = 0;
}

/* The calls of this thread. */
static void settle_own(void)
{
	if (adds_up())
		walk_own(0);
	else
		end_own_calls();
}

/* Whether there is a loader, and so unwind information at any time, and no lock on the way to it. */
static int is_dynamic(void)
{
	return getauxval(AT_BASE) != 0;
}

/* In another thread: accounts for its calls. One that waited for something waits here: what it would do, it
 * would do only because of the signal. */
static void settle_here(int number, siginfo_t *info, void *context)
{
	uint64_t limit = nanoseconds() + STILLNESS, now;

	(void)number;
	(void)info;
	if (!self || self == DEAD)
		return;
	if (busy && !adds_up()) {
		asked = 1;
		return;
	}
	settle_own();
	self->settled = 1;
	if (!waited_in_vain(context))
		return;
	while ((now = nanoseconds()) < limit) {
		struct timespec left = { .tv_nsec = (long)(limit - now) };

		call6(SYS_ppoll, 0, 0, (long)&left, 0, 0, 0);
	}
	/* Calls of events are not counted again when they are left. */
	if (adds_up())
		walk_own(1);
}

/* A signal that the program has no use for; 0 where there is none. */
static int free_signal(void)
{
	struct sigaction action;
	int number;

	for (number = SIGRTMAX; number >= SIGRTMIN; number--)
		if (!sigaction(number, NULL, &action) && is_final(&action))
			return number;
	return 0;
}

static int is_waited_for(const struct thread *thread)
{
	return thread != self && thread->number && !thread->settled;
}

/* Other threads end with the process. Those that do not listen to signals are not waited for long. */
static void settle_others(void)
{
	struct sigaction action;
	struct thread *thread;
	int number = free_signal(), waits = 0;
	uint64_t limit;

	if (!number || !is_dynamic())
		return;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = settle_here;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigfillset(&action.sa_mask);
	sigaction(number, &action, NULL);
	for (thread = all_threads; thread; thread = thread->every)
		if (is_waited_for(thread))
			waits |= !call6(SYS_tgkill, getpid(), thread->number, number, 0, 0, 0);
	limit = nanoseconds() + PATIENCE;
	while (waits && nanoseconds() < limit) {
		waits = 0;
		for (thread = all_threads; thread; thread = thread->every)
			waits |= is_waited_for(thread);
		call6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
}

/* In a child of fork there is one thread. */
static void forget_other_threads(void)
{
	struct thread *thread;

	ending = 0;

	for (thread = all_threads; thread; thread = thread->every)
		thread->number = 0;
	if (self && self != DEAD)
		self->number = (int)call6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* The end of a process, whichever way it comes to it. */
static void end(void)
{
	if (!head || head->ended)
		return;
	trimtab_probe_on = 0;
	if (needs_ends())
		settle_others();
	end_own_calls();
	head->last_cycles = cycles();
	head->last_ns = nanoseconds();
	head->ended = 1;
}

/* Whether the process is the one that records: a child of vfork has the same memory. */
static int is_own_process(void)
{
	return head && head->pid == (uint64_t)getpid();
}

/* Before destructors. */
static void end_open_calls(void)
{
	if (is_own_process() && !__atomic_exchange_n(&ending, 1, __ATOMIC_SEQ_CST) && adds_up())
		settle_own();
}

static void end_quickly(void)
{
	end_open_calls();
	end();
}

/* What the program has in place of _exit and _Exit. */
HIDDEN __attribute__((noreturn)) void trimtab_probe__exit(int status)
{
	if (is_own_process())
		end_quickly();
	_exit(status);
}

HIDDEN __attribute__((noreturn)) void trimtab_probe__Exit(int status)
{
	trimtab_probe__exit(status);
}

/* The program becomes another one, if that is there. Gives how many calls of the thread's stack have ended. */
static uint32_t leave_for(void)
{
	uint32_t depth;

	if (!is_own_process())
		return 0;
	depth = has_own_calls() ? self->depth : 0;
	settle_own();
	head->last_cycles = cycles();
	head->last_ns = nanoseconds();
	return depth;
}

/* It was not: they go on. */
static int stay(uint32_t depth, int result)
{
	int error = errno;

	if (!is_own_process())
		return result;
	if (adds_up()) {
		walk_own(1);
	} else if (depth && has_own_calls()) {
		busy = 1;
		resume_calls(self, depth);
		busy = 0;
	}
	errno = error;
	return result;
}

HIDDEN int trimtab_probe_execve(const char *path, char *const *arguments, char *const *environment)
{
	uint32_t depth = leave_for();

	return stay(depth, execve(path, arguments, environment));
}

HIDDEN int trimtab_probe_fexecve(int file, char *const *arguments, char *const *environment)
{
	uint32_t depth = leave_for();

	return stay(depth, fexecve(file, arguments, environment));
}

HIDDEN int trimtab_probe_execv(const char *path, char *const *arguments)
{
	uint32_t depth = leave_for();

	return stay(depth, execv(path, arguments));
}

HIDDEN int trimtab_probe_execvp(const char *name, char *const *arguments)
{
	uint32_t depth = leave_for();

	return stay(depth, execvp(name, arguments));
}

HIDDEN int trimtab_probe_execvpe(const char *name, char *const *arguments, char *const *environment)
{
	uint32_t depth = leave_for();

	return stay(depth, execvpe(name, arguments, environment));
}

/* Arguments as a list: they end with NULL. */
#define LISTED(name, call)                                                              \
	HIDDEN int trimtab_probe_##name(const char *path, const char *first, ...)       \
	{                                                                               \
		size_t count = 1, i;                                                    \
		va_list list;                                                           \
                                                                                        \
		va_start(list, first);                                                  \
		if (first)                                                              \
			while (va_arg(list, const char *))                              \
				count++;                                                \
		va_end(list);                                                           \
		const char *arguments[count + 1];                                       \
		char *const *environment = environ;                                     \
                                                                                        \
		arguments[0] = first;                                                   \
		va_start(list, first);                                                  \
		for (i = 1; first && i <= count; i++)                                   \
			arguments[i] = va_arg(list, const char *);                      \
		if (HAS_ENVIRONMENT_##name)                                             \
			environment = va_arg(list, char *const *);                      \
		va_end(list);                                                           \
		uint32_t depth = leave_for();                                           \
                                                                                        \
		return stay(depth, call(path, (char *const *)arguments, environment));  \
	}

#define HAS_ENVIRONMENT_execl 0
#define HAS_ENVIRONMENT_execlp 0
#define HAS_ENVIRONMENT_execle 1
LISTED(execl, execve)
LISTED(execlp, execvpe)
LISTED(execle, execve)

/* A signal for which the program has no handler: accounts for calls, and lets it end the process. */
static void end_by_signal(int number, siginfo_t *info, void *context)
{
	int error = errno;
	int is_fault = info->si_code > 0 && (number == SIGSEGV || number == SIGBUS ||
					     number == SIGFPE || number == SIGILL);

	(void)context;
	if (!is_own_process()) {
		/* A child of vfork. */
	} else if (!__atomic_exchange_n(&ending, 1, __ATOMIC_SEQ_CST)) {
		ending_by = number;
		settle_own();
		end();
	} else if (ending_by && ending_by != number && is_fault) {
		/* The stack was not what it should be. */
		sigset_t set;

		number = ending_by;
		is_fault = 0;
		sigemptyset(&set);
		sigaddset(&set, number);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	/* The handler is no longer there: what it was for happens once more. */
	if (!is_fault)
		call6(SYS_tgkill, getpid(), call6(SYS_gettid, 0, 0, 0, 0, 0, 0), number, 0, 0, 0);
	errno = error;
}

/* Whether a part of the program is compiled by rustc. */
static int is_rust(void)
{
	const struct function *one = __start_trimtab_probe_functions;

	for (; one < __stop_trimtab_probe_functions; one++)
		if (object_of(one)->flags & OBJECT_RUST)
			return 1;
	return 0;
}

static void listen_for_ends(void)
{
	struct sigaction action, before;
	size_t i;

	if (!is_dynamic() || !needs_ends())
		return;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = end_by_signal;
	action.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK;
	for (i = 0; i < sizeof(ending_signals); i++) {
		int number = ending_signals[i];

		/* Rust's library handles these, to tell of a stack that is too deep, where nobody else does. */
		if ((number == SIGSEGV || number == SIGBUS) && is_rust())
			continue;
		if (!sigaction(number, NULL, &before) && is_final(&before))
			sigaction(number, &action, NULL);
	}
}
