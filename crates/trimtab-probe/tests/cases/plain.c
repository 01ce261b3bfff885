/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Is not instrumented. */
int plain_calls(int (*function)(int), int argument)
{
	return function(argument) + 1;
}
