/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's functions that work on bytes, beside loops that do the same: all sizes up to some, at all alignments. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 400
#define MOST 100

static unsigned char one[ROOM], other[ROOM], expected[ROOM];
static uint32_t state = 1;
/* So that no compiler knows them. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void *(*volatile copy_to_end)(void *, const void *, size_t) = mempcpy;
static void *(*volatile set)(void *, int, size_t) = memset;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static size_t (*volatile length)(const char *) = strlen;
static int (*volatile compare_strings)(const char *, const char *) = strcmp;
static char *(*volatile copy_string)(char *, const char *) = strcpy;
static void *(*volatile find)(const void *, int, size_t) = memchr;
static size_t (*volatile length_up_to)(const char *, size_t) = strnlen;
static char *(*volatile find_in_string)(const char *, int) = strchr;
static char *(*volatile find_or_end)(const char *, int) = strchrnul;
static size_t (*volatile within)(const char *, const char *) = strspn;
static size_t (*volatile without)(const char *, const char *) = strcspn;
static int (*volatile compare_up_to)(const char *, const char *, size_t) = strncmp;
static sigjmp_buf back;

static uint32_t any(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

static void scramble(void)
{
	for (int i = 0; i < ROOM; i++) {
		one[i] = any();
		other[i] = any();
	}
}

static void must(const char *what, int size, int is_so)
{
	if (!is_so) {
		printf("%s is wrong with %d bytes\n", what, size);
		exit(1);
	}
}

static void copies(int size)
{
	for (int to = 0; to < 9; to++) {
		for (int from = 0; from < 9; from++) {
			scramble();
			memcpy(expected, one, ROOM);
			for (int i = 0; i < size; i++)
				expected[50 + to + i] = other[50 + from + i];
			must("memcpy", size, copy(one + 50 + to, other + 50 + from, size) == one + 50 + to);
			must("memcpy", size, !memcmp(one, expected, ROOM));
			must("mempcpy", size, copy_to_end(one + 50 + to, other + 50 + from, size) == one + 50 + to + size);
			must("mempcpy", size, !memcmp(one, expected, ROOM));
			/* Within itself, both ways. */
			for (int distance = -40; distance <= 40; distance += 3 + 2 * to) {
				memcpy(expected, one, ROOM);
				for (int i = 0; i < size; i++)
					expected[150 + distance + i] = one[150 + i];
				must("memmove", size, move(one + 150 + distance, one + 150, size) == one + 150 + distance);
				must("memmove", size, !memcmp(one, expected, ROOM));
			}
		}
	}
}

static void fills(int size)
{
	for (int at = 0; at < 17; at++) {
		int value = any();

		scramble();
		for (int i = 0; i < ROOM; i++)
			expected[i] = i >= 50 + at && i < 50 + at + size ? value : one[i];
		must("memset", size, set(one + 50 + at, value, size) == one + 50 + at);
		must("memset", size, !memcmp(one, expected, ROOM));
	}
}

static void compares(int size)
{
	for (int at = 0; at < 9; at++) {
		scramble();
		for (int i = 0; i < size; i++)
			other[60 + i] = one[50 + at + i];
		must("memcmp", size, compare(one + 50 + at, other + 60, size) == 0);
		if (!size)
			continue;
		for (int i = 0; i < 4; i++) {
			int place = any() % size;
			int found;

			other[60 + place] ^= 1 + any() % 255;
			found = compare(one + 50 + at, other + 60, size);
			printf("%d ", found);
			must("memcmp", size, (found < 0) == (one[50 + at + place] < other[60 + place]));
			other[60 + place] = one[50 + at + place];
		}
	}
}

static void strings(int size)
{
	char *first = (char *)one + 50;
	char *second = (char *)other + 60;

	for (int at = 0; at < 9; at++) {
		for (int i = 0; i < ROOM; i++)
			one[i] = other[i] = 1 + any() % 255;
		first[at + size] = 0;
		must("strlen", size, length(first + at) == (size_t)size);
		must("strcpy", size, copy_string(second, first + at) == second);
		for (int i = 0; i <= size; i++)
			must("strcpy", size, second[i] == first[at + i]);
		must("strcpy", size, other[60 + size + 1] != 0);
		must("strcmp", size, compare_strings(first + at, second) == 0);
		second[size] = 'x';
		second[size + 1] = 0;
		printf("%d ", compare_strings(first + at, second));
		printf("%d ", compare_strings(second, first + at));
		if (size) {
			second[any() % size] ^= 0x80;
			printf("%d ", compare_strings(first + at, second) > 0);
		}
	}
}

/* What finds bytes, and spans of them. */
static void finds(int size)
{
	for (int at = 0; at < 9; at++) {
		char *string = (char *)one + 50 + at;
		char set[4] = { 1 + any() % 255, 1 + any() % 255, any() % 2 };
		int sought = any() % 256, place = 0, in = 0, out = 0;

		for (int i = 0; i < ROOM; i++)
			one[i] = 1 + any() % 255;
		if (any() % 3 == 0)
			string[size ? any() % size : 0] = sought;
		if (any() % 3 == 0)
			string[size ? any() % size : 0] = set[any() % 2];
		while (place < size && string[place] != (char)sought)
			place++;
		must("memchr", size, find(string, sought, size) == (place < size ? string + place : NULL));
		must("memchr", size, find(string, sought | 0x300, size) == (place < size ? string + place : NULL));
		string[size] = 0;
		string[size + 1 + any() % 9] = sought;
		for (place = 0; string[place] && string[place] != (char)sought; place++)
			;
		must("strchr", size, find_in_string(string, sought) == (string[place] == (char)sought ? string + place : NULL));
		must("strchrnul", size, find_or_end(string, sought) == string + place);
		must("strchr", size, find_in_string(string, 0) == string + length(string));
		must("memchr", size, find(string, 0, -1) == string + length(string));
		must("strnlen", size, length_up_to(string, size + any() % 3) == length(string));
		must("strnlen", size, length_up_to(string, size / 2) == (length(string) < size / 2U ? length(string) : size / 2U));
		while (string[out] && (string[out] != set[0] && string[out] != set[1] && string[out] != set[2]))
			out++;
		must("strcspn", size, without(string, set) == (size_t)out);
		must("strcspn", size, without(string, "") == length(string));
		for (int i = 0; i < size; i++)
			if (any() % 20)
				string[i] = set[any() % 2];
		while (string[in] && (string[in] == set[0] || string[in] == set[1] || (set[2] && string[in] == set[2])))
			in++;
		must("strspn", size, within(string, set) == (size_t)in);
		must("strspn", size, within(string, "") == 0);
		copy_string((char *)other + 60, string);
		must("strncmp", size, compare_up_to(string, (char *)other + 60, -1) == 0);
		if (size) {
			int differs = any() % size;

			other[60 + differs] ^= 1 + any() % 255;
			must("strncmp", size, compare_up_to(string, (char *)other + 60, differs) == 0);
			printf("%d ", compare_up_to(string, (char *)other + 60, differs + 1));
			printf("%d ", compare_up_to((char *)other + 60, string, size));
		}
	}
}

static void caught(int signal)
{
	siglongjmp(back, signal);
}

static void faults(void)
{
	char *volatile nothing = NULL;
	char *volatile far = (char *)0x7ffffff0;
	volatile int signal;

	sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = caught, .sa_flags = SA_NODEFER }, NULL);
	copy(nothing, nothing, 0);
	move(nothing, one, 0);
	set(nothing, 1, 0);
	printf("\nnothing of nothing: %d\n", compare(nothing, nothing, 0));
	printf("of more than there is: %d\n", compare("one", "other", -1));
	printf("nothing in nothing: %d\n", find(nothing, 1, 0) != 0 || length_up_to(nothing, 0) || compare_up_to(nothing, nothing, 0));
	for (int i = 0; i < 20; i++) {
		signal = sigsetjmp(back, 1);
		if (signal) {
			printf("%d: signal %d\n", i, signal);
			continue;
		}
		switch (i) {
		case 0: copy(nothing, one, 1); break;
		case 1: copy(one, nothing, 1); break;
		case 2: copy(nothing, one, 50); break;
		case 3: move(one, far, 300); break;
		case 4: set(nothing, 1, 1); break;
		case 5: set(nothing, 1, 9); break;
		case 6: set(nothing, 1, 90); break;
		case 7: printf("%d\n", compare(nothing, one, 1)); break;
		case 8: printf("%d\n", compare(nothing, one, 99)); break;
		case 9: printf("%zu\n", length(nothing)); break;
		case 10: printf("%d\n", compare_strings("", nothing)); break;
		case 11: copy_string(nothing, "text"); break;
		case 12: printf("%d\n", find(nothing, 1, 9) != 0); break;
		case 13: printf("%d\n", find(far, 1, 900) != 0); break;
		case 14: printf("%d\n", find_in_string(nothing, 1) != 0); break;
		case 15: printf("%d\n", find_or_end(nothing, 1) != 0); break;
		case 16: printf("%zu\n", within("text", nothing)); break;
		case 17: printf("%zu\n", without(nothing, "text")); break;
		case 18: printf("%zu\n", length_up_to(nothing, 3)); break;
		case 19: printf("%d\n", compare_up_to(nothing, "text", 3)); break;
		}
		printf("%d: nothing happened\n", i);
	}
}

int main(void)
{
	for (int size = 0; size < MOST; size++) {
		copies(size);
		fills(size);
		compares(size);
		strings(size);
		finds(size);
	}
	faults();
	return 0;
}
