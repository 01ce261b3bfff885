/* What GNU's dialect of C adds to ways for control to go. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The addresses of labels are made by code: they are in no table. */
static int by_label(int i)
{
	void *to[] = { &&one, &&two, &&three };
	goto *to[i];
one:
	return 1;
two:
	return 2;
three:
	return 3;
}

/* A table has the distances of labels from one of them, so that it need not be relocated. */
static int by_difference(const char *program)
{
	static const int to[] = { &&add - &&add, &&twice - &&add, &&end - &&add };
	int value = 1;
	goto *(&&add + to[*program++ - '0']);
add:
	value += 5;
	goto *(&&add + to[*program++ - '0']);
twice:
	value *= 2;
	goto *(&&add + to[*program++ - '0']);
end:
	return value;
}

static int compare_by(int (*compare)(const void *, const void *))
{
	int numbers[] = { 4, 17, 9, -3, 25 };
	qsort(numbers, 5, sizeof(int), compare);
	return numbers[0] * 1000 + numbers[4];
}

/* A pointer to a function within another one leads to code on the stack. */
static int by_distance(int from)
{
	int calls = 0;
	int compare(const void *a, const void *b)
	{
		calls++;
		return abs(*(const int *)a - from) - abs(*(const int *)b - from);
	}
	int first = compare_by(compare);
	return first * 2 + (calls > 3);
}

/* Jumps out of functions within others, also over further calls of the same function. */
static int search(int depth, void (*found)(int))
{
	__label__ out;
	int result = -1;
	void leave(int value)
	{
		result = value * 100 + depth;
		goto out;
	}
	if (depth == 3)
		return search(depth - 1, leave);
	if (depth > 0)
		return search(depth - 1, found) + 1;
	found(7);
	return -2;
out:
	return result;
}

static void give_up(int value)
{
	printf("nothing takes %d\n", value);
	exit(1);
}

static void *buffers[4][5];

__attribute__((noinline)) static void back_to(int which)
{
	__builtin_longjmp(buffers[which], 1);
}

__attribute__((noinline)) static int builtin(int n)
{
	volatile int count = n;
	if (__builtin_setjmp(buffers[n])) {
		count += 10;
		return count;
	}
	if (n > 0)
		return builtin(n - 1) * 100 + n;
	count++;
	back_to(2);
	return -1;
}

/* Each call has its own place to come back to; those below it are left. */
static jmp_buf places[6];

__attribute__((noinline)) static int down(int n)
{
	int value = setjmp(places[n]);
	if (value != 0)
		return value * 10 + n;
	if (n == 0)
		longjmp(places[4], 3);
	return down(n - 1) + 1000;
}

/* Arrays of variable sizes: the stack's pointer is taken back from memory. */
static int variable(int n)
{
	int sum = 0;
	for (int i = 1; i < n; i++) {
		char text[i * 8];
		memset(text, i, sizeof(text));
		sum += text[i] + sizeof(text);
	}
	struct {
		int all[n];
		char one;
	} both[2];
	both[1].one = n;
	return sum + both[1].one;
}

#define COMPLEX(type, name) \
	__attribute__((noinline)) static _Complex type name(int x) \
	{ \
		_Complex type result; \
		__real result = x + 1; \
		__imag result = x - 1; \
		return result; \
	}
COMPLEX(float, singles)
COMPLEX(double, doubles)
COMPLEX(char, chars)
COMPLEX(int, ints)

/* An interpreter that jumps from one instruction to the next, by a table that has a place for fewer numbers than the mask lets
 * through. */
__attribute__((noinline)) static int threaded(const unsigned *code, int x)
{
	static const void *const places[] = { &&stop, &&add, &&subtract, &&twice, &&back_if, &&swap };
	int y = 1;
	unsigned ins;

#define NEXT() do { ins = *code++; goto *places[ins & 7]; } while (0)
	NEXT();
add:
	x += ins >> 3;
	NEXT();
subtract:
	x -= y;
	NEXT();
twice:
	x *= 2;
	NEXT();
back_if:
	y++;
	if (x < 1000)
		code -= ins >> 3;
	NEXT();
swap:
	x ^= y;
	y ^= x;
	x ^= y;
	NEXT();
stop:
	return x * 31 + y;
}

/* The same by bytes, of which most have no place. */
__attribute__((noinline)) static int by_bytes(const unsigned char *code, int x)
{
	static const void *const places[] = { &&stop, &&add, &&times, &&less };

	goto *places[*code];
add:
	x += code[1];
	code += 2;
	goto *places[*code];
times:
	x *= 3;
	code++;
	goto *places[*code];
less:
	x -= 7;
	code = x > 500 ? code + 2 : code - code[1];
	goto *places[*code];
stop:
	return x;
}

/* Results of four words. */
typedef int vector __attribute__((vector_size(16)));
typedef _Complex long long pair;

__attribute__((noinline)) static pair longs(long long x)
{
	return x * 0x100000007 + (x - 9) * 0x300000001i;
}

/* Its result is that of another one. */
__attribute__((noinline)) static pair longs_of(const char *text)
{
	return longs((long long)strlen(text));
}

__attribute__((noinline)) static vector steps(int from, int step)
{
	return (vector){ from, from + step, from + 2 * step, from + 3 * step };
}

/* Others are called before it returns. */
__attribute__((noinline)) static vector sorted(vector all)
{
	for (int i = 0; i < 4; i++)
		for (int j = i + 1; j < 4; j++)
			if (abs(all[j]) < abs(all[i])) {
				int other = all[i];

				all[i] = all[j];
				all[j] = other;
			}
	return all;
}

static vector (*volatile by_pointer)(int, int) = steps;

static void print_four(vector all)
{
	printf("%d %d %d %d\n", all[0], all[1], all[2], all[3]);
}

static void four_words(int count)
{
	pair first = longs(count), second = longs_of("three words long");

	printf("%llx %llx\n", __real first, __imag first);
	printf("%llx %llx\n", __real second, __imag second);
	print_four(steps(count, 3));
	print_four(steps(7, -count) + sorted(steps(-5, 4)));
	print_four(by_pointer(20, count) * 2);
}

int main(int count, char **arguments)
{
	(void)arguments;
	const unsigned code[] = { 1 | 5 << 3, 3, 2, 5, 3, 1 | 77 << 3, 4 | 7 << 3, 0 };
	const unsigned char bytes[] = { 1, 9, 2, 1, 200, 3, 5, 0 };

	printf("%d %d\n", threaded(code, 3), threaded(code, 2000));
	printf("%d %d\n", by_bytes(bytes, 1), by_bytes(bytes, 4000));
	printf("%d %d %d\n", by_label(0), by_label(1), by_label(2));
	printf("%d\n", by_difference("0110112"));
	printf("%d %d\n", by_distance(10), by_distance(-10));
	printf("%d\n", search(6, give_up));
	printf("%d\n", builtin(3));
	printf("%d\n", down(5));
	printf("%d\n", variable(9));
	four_words(count);
	printf("%g %g\n", __real singles(5), __imag singles(5));
	printf("%g %g\n", __real doubles(5), __imag doubles(5));
	printf("%d %d %d %d\n", __real chars(5), __imag chars(5), __real ints(5), __imag ints(5));
	return 0;
}
