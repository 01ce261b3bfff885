/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a frame of the unwinder's is of, where stubs are on the stack. Entries of stubs in the unwind
 * information have their function in place of a table of call sites.
 */

/* The function whose stub a frame is of, or the copy in that; NULL where it is neither. A copy may have the
 * function's own data for exceptions, by which it is not known. */
static const struct function *function_of(struct _Unwind_Context *context)
{
	const struct function *function = (void *)_Unwind_GetLanguageSpecificData(context);
	int is_one = function >= __start_trimtab_probe_functions &&
		     function < __stop_trimtab_probe_functions;

	return is_one ? function : NULL;
}

static int is_copy(const struct function *function)
{
	return (function->flags & FLAG_COPY) != 0;
}

/* Whether a stub is in the call of its function. Elsewhere the function was not entered yet, or is left
 * already. */
static int is_in_call(const struct function *function, struct _Unwind_Context *context)
{
	return _Unwind_GetIP(context) ==
	       _Unwind_GetRegionStart(context) + (function->flags >> FLAG_RETURN_SHIFT);
}

/* The frame of the run time that a stub in the call of its function has; NULL where it has none. */
static struct frame *frame_of(const struct function *function, struct _Unwind_Context *context)
{
	if (!(function->flags & FLAG_FRAME))
		return NULL;
	return (struct frame *)_Unwind_GetGR(context, FRAME_REGISTER);
}
