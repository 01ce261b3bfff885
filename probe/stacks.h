/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What instrumented objects call in place of backtrace and backtrace_symbols: stubs are passed over, and
 * functions that are called by their stubs have the names that they had. The symbols of these lead to the
 * stubs.
 */

struct collected {
	void **to;
	int room, count;
	int is_first;
	uint64_t last;
};

static _Unwind_Reason_Code collect_one(struct _Unwind_Context *context, void *argument)
{
	const struct function *function = function_of(context);
	struct collected *all = argument;
	uint64_t here = _Unwind_GetCFA(context);
	void *address = (void *)_Unwind_GetIP(context);

	if (all->is_first || (function && !is_copy(function))) {
		/* The function below, or code that is not the program's. */
		all->is_first = 0;
		return _URC_NO_REASON;
	}
	if (all->count == all->room)
		return _URC_END_OF_STACK;
	/* Where unwinding goes in a circle it ends. */
	if (all->count && all->to[all->count - 1] == address && all->last == here)
		return _URC_END_OF_STACK;
	all->to[all->count++] = address;
	all->last = here;
	return _URC_NO_REASON;
}

HIDDEN int trimtab_probe_backtrace(void **to, int room)
{
	struct collected all = { .to = to, .room = room, .is_first = 1 };

	if (room <= 0 || !can_unwind())
		return 0;
	_Unwind_Backtrace(collect_one, &all);
	/* The outermost function may have no caller. */
	if (all.count > 1 && !to[all.count - 1])
		all.count--;
	return all.count;
}

/* The name of the function that an address is in, and how far; NULL where it is not instrumented. */
static const char *name_at(const void *address, uint64_t *behind)
{
	const struct function *one = __start_trimtab_probe_functions;

	for (; one < __stop_trimtab_probe_functions; one++) {
		*behind = (uint64_t)address - ((uint64_t)&one->start + (uint64_t)(int64_t)one->start);
		if (*behind < one->size)
			return (const char *)&one->name + one->name;
	}
	return NULL;
}

/* As backtrace_symbols has it; the first part is the file's, as the C library wrote it. */
static int write_name(char *to, size_t room, const char *known, const void *address)
{
	const char *file_end = strchr(known, '(');
	uint64_t behind;
	const char *name = name_at(address, &behind);

	if (!name || !file_end)
		return snprintf(to, room, "%s", known);
	return snprintf(to, room, "%.*s(%s+%#lx) [%p]", (int)(file_end - known), known, name,
			(unsigned long)behind, address);
}

HIDDEN char **trimtab_probe_backtrace_symbols(void *const *addresses, int count)
{
	char **known = backtrace_symbols(addresses, count), **all;
	size_t bytes = (size_t)count * sizeof(*all);
	char *text;
	int i;

	if (!known)
		return NULL;
	for (i = 0; i < count; i++)
		bytes += (size_t)write_name(NULL, 0, known[i], addresses[i]) + 1;
	/* One piece, as the caller frees it. */
	all = malloc(bytes);
	if (!all)
		return known;
	text = (char *)(all + count);
	for (i = 0; i < count; i++) {
		all[i] = text;
		text += write_name(text, bytes, known[i], addresses[i]) + 1;
	}
	free(known);
	return all;
}

HIDDEN void trimtab_probe_backtrace_symbols_fd(void *const *addresses, int count, int file)
{
	uint64_t behind;
	int i;

	for (i = 0; i < count; i++) {
		const char *name = name_at(addresses[i], &behind);

		if (name)
			dprintf(file, "%s(%s+%#lx) [%p]\n", head ? head->program : "", name,
				(unsigned long)behind, addresses[i]);
		else
			backtrace_symbols_fd(addresses + i, 1, file);
	}
}
