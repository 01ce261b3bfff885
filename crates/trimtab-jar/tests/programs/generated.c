/* Code that the program makes while it runs, as JIT compilers and closures of libraries do. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { V0 = 2, V1, A0, A1, A2, A3, T0 = 8, S0 = 16, T9 = 25, SP = 29, RA = 31 };

#define R(function, d, s, t) ((s) << 21 | (t) << 16 | (d) << 11 | (function))
#define I(op, t, s, value) ((uint32_t)(op) << 26 | (s) << 21 | (t) << 16 | ((value) & 0xffff))
#define ADDU(d, s, t) R(33, d, s, t)
#define ADDIU(t, s, value) I(9, t, s, value)
#define LUI(t, value) I(15, t, 0, value)
#define ORI(t, s, value) I(13, t, s, value)
#define LW(t, s, offset) I(35, t, s, offset)
#define SW(t, s, offset) I(43, t, s, offset)
#define BNE(s, t, words) I(5, t, s, words)
#define BNEL(s, t, words) I(21, t, s, words)
#define JR(s) R(8, 0, s, 0)
#define JALR(d, s) R(9, d, s, 0)
#define NOP 0

static uint32_t *page;

/* Puts code where it can be executed. */
static void *code(const uint32_t *words, size_t size)
{
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	memcpy(page, words, size);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)page, (char *)page + size);
	return page;
}

#define CODE(...) code((uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }))

static int twice(int x)
{
	return 2 * x;
}

static double scaled(double x, double y)
{
	return x * 0.5 + y;
}

static sigjmp_buf back;

static void leave(int value)
{
	siglongjmp(back, value + 1);
}

static void on_signal(int signal)
{
	leave(signal);
}

/* Functions without calls or constants in memory: they do the same wherever they are. */
#define COPIED __attribute__((noinline, noclone, section(".text.copied"), optimize("no-jump-tables")))

COPIED uint32_t integers(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t sum = a * b + c;
	int64_t wide = (int64_t)(int32_t)a * (int32_t)b;
	uint64_t uwide = (uint64_t)a * c;
	sum ^= (uint32_t)(wide >> 32) + (uint32_t)(uwide >> 32);
	sum += (int32_t)a / (int32_t)(b | 1) + (int32_t)a % (int32_t)(b | 1);
	sum ^= a / (c | 1) + a % (c | 1) * 7;
	sum += (int8_t)a + (int16_t)b + (uint8_t)c + (a >> 3 & 0x1ff);
	sum ^= a << (b & 31) ^ a >> (c & 31) ^ (uint32_t)((int32_t)b >> (a & 31));
	sum += __builtin_clz(a | 1) + __builtin_bswap32(b) + (a >> 7 | a << 25);
	sum += (a < b) + 2 * ((int32_t)a < (int32_t)b) + 4 * (c == 0) + 8 * ((int32_t)a < -5) + 16 * (a < 77);
	sum ^= ~(a | b) + (a & 0xff00) + (c ^ 0x1234);
	for (uint32_t i = 0; i < (c & 15); i++) {
		sum = sum * 33 + (i & 1 ? a : b);
		if ((int32_t)sum <= 0)
			sum += 3;
	}
	return sum;
}

COPIED uint64_t words(const unsigned char *bytes, int n)
{
	uint64_t sum = n;
	for (int i = 0; i + 8 < n; i += 3) {
		uint32_t w;
		int16_t h;
		__builtin_memcpy(&w, bytes + i, 4);
		__builtin_memcpy(&h, bytes + (i & ~1), 2);
		sum = (sum << 5 | sum >> 59) ^ w;
		sum += h * (int8_t)bytes[i] - bytes[i + 1];
	}
	return sum;
}

COPIED void store(unsigned char *bytes, uint32_t value, double real)
{
	__builtin_memcpy(bytes + 1, &value, 4);
	*(uint16_t *)(bytes + 8) = value;
	bytes[11] = value >> 3;
	*(double *)(bytes + 16) = real;
	*(float *)(bytes + 24) = real;
}

COPIED double reals(double x, float y, int n)
{
	double sum = x * y - n;
	float single = y / (n | 1) + 1.5f;
	for (int i = 0; i < n; i++) {
		if (x < y)
			sum += __builtin_sqrt(__builtin_fabs(sum)) * i;
		else if (x == y || single >= sum)
			sum -= single;
		else
			single = -single + (float)sum * 0.0f;
		sum = x <= sum ? sum : -x;
		x += (int)y + 0.25;
	}
	return sum + single + (int)(sum > 1e9 ? 0 : sum < -1e9 ? 0 : sum);
}

COPIED int atomically(int *at, int by)
{
	return __sync_fetch_and_add(at, by) + __sync_val_compare_and_swap(at, by, -by);
}

COPIED void end_of_copied(void)
{
	__asm__ volatile("");
}

static uint32_t state = 88172645;

static uint32_t next(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* Calls each function where it is and where its code was copied to. */
static void compare(void)
{
	char *first = (char *)integers;
	const void *all[] = { integers, words, store, reals, atomically };
	for (int i = 0; i < 5; i++)
		if ((char *)all[i] < first)
			first = (char *)all[i];
	size_t size = 4096;
	char *copy = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, first, size);
	mprotect(copy, size, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(copy, copy + size);
#define AT(function) ((__typeof__(&function))(copy + ((char *)function - first)))
	int differ = 0;
	uint64_t sum = 0;
	for (int i = 0; i < 3000; i++) {
		uint32_t a = next(), b = next() >> (next() & 31), c = next() >> (next() & 31);
		uint32_t one = integers(a, b, c);
		differ += one != AT(integers)(a, b, c);
		sum = sum * 31 + one;
		double x = (int32_t)a / 256.0;
		float y = (int32_t)b / 16.0f;
		double real = reals(x, y, c & 31), other = AT(reals)(x, y, c & 31);
		differ += memcmp(&real, &other, 8) != 0;
		sum ^= (uint64_t)(int64_t)(real > 1e15 || real < -1e15 ? 0 : real);
		unsigned char bytes[64] __attribute__((aligned(8))), more[64] __attribute__((aligned(8)));
		for (int k = 0; k < 64; k++)
			bytes[k] = more[k] = next();
		store(bytes, a, x);
		AT(store)(more, a, x);
		differ += memcmp(bytes, more, 64) != 0;
		uint64_t long_one = words(bytes, 64);
		differ += long_one != AT(words)(bytes, 64);
		sum += long_one;
		int at = b, elsewhere = b;
		differ += atomically(&at, a) != AT(atomically)(&elsewhere, a) || at != elsewhere;
	}
	printf("copied: %d differ, %016llx\n", differ, (unsigned long long)sum);
}

int main(void)
{
	page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*two)(int, int) = CODE(JR(RA), ADDU(V0, A0, A1));
	printf("sum %d\n", two(40, 2));
	/* The same memory with other code: a loop, and a branch that skips its delay slot. */
	two = CODE(ADDIU(V0, 0, 0), ADDU(V0, V0, A0), ADDIU(A1, A1, -1), BNE(A1, 0, -3), NOP, BNEL(A0, A0, 2), ADDIU(V0, 0, 1),
		   JR(RA), NOP);
	printf("product %d\n", two(6, 7));
	/* It calls what it is given a pointer to, twice. */
	int (*call)(int (*)(int), int) = CODE(ADDIU(SP, SP, -32), SW(RA, SP, 28), SW(S0, SP, 24), ADDU(S0, A0, 0), ADDU(T9, A0, 0),
					      JALR(RA, T9), ADDU(A0, A1, 0), ADDU(T9, S0, 0), JALR(RA, T9), ADDIU(A0, V0, 1),
					      LW(RA, SP, 28), LW(S0, SP, 24), JR(RA), ADDIU(SP, SP, 32));
	printf("called %d\n", call(twice, 10));
	/* A closure: the function and its first argument are part of the code. */
	uint32_t to = (uint32_t)scaled;
	double (*real)(double, double) = CODE(LUI(T9, to >> 16), ORI(T9, T9, to & 0xffff), JR(T9), NOP);
	printf("real %g\n", real(3, 0.25));
	uint32_t leaves = (uint32_t)leave;
	int (*jumps)(int) = CODE(LUI(T9, leaves >> 16), ORI(T9, T9, leaves & 0xffff), JR(T9), NOP);
	int value = sigsetjmp(back, 1);
	if (!value)
		jumps(41);
	printf("left with %d\n", value);
	/* Faults in generated code, and calls of what is no code, are signals. */
	signal(SIGSEGV, on_signal);
	int (*loads)(int *) = CODE(JR(RA), LW(V0, A0, 0));
	int there = 5;
	printf("loaded %d\n", loads(&there));
	value = sigsetjmp(back, 1);
	if (!value)
		loads((int *)8);
	printf("signal %d\n", value - 1);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	value = sigsetjmp(back, 1);
	if (!value)
		loads(&there);
	printf("signal %d\n", value - 1);
	munmap(page, 4096);
	value = sigsetjmp(back, 1);
	if (!value)
		loads(&there);
	printf("signal %d\n", value - 1);
	compare();
	/* What jars do not have, and say so if they are to be strict. */
	getsid(0);
	return 0;
}
