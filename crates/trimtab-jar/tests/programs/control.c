/* Ways for control to go: tables, pointers to functions, jumps back to earlier frames, recursion. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_table(int x, int y)
{
	switch (x) {
	case 0: return y + 1;
	case 1: return y * 3;
	case 2: return y - 7;
	case 3: return y ^ 0x55;
	case 4: return -y;
	case 5: return y << 3;
	case 6: return y >> 2;
	case 7: return ~y;
	case 9: return y % 11;
	default: return y + x;
	}
}

__attribute__((noinline)) static int leaf(int x)
{
	return x * 3;
}

__attribute__((noinline)) static double scaled(double x, int y)
{
	return x * y;
}

static double (*volatile scale)(double, int) = scaled;

/* Arguments may stay in their registers while functions are called that leave those alone. */
__attribute__((noinline)) static double kept(double x, int y)
{
	int times = leaf(y);
	return scaled(x, times);
}

__attribute__((noinline)) static double kept_for_pointer(double x, int y)
{
	int times = leaf(y);
	return scale(x, times);
}

/* Functions within one another are given its frame. */
static int within(int n)
{
	int sum = n;
	__attribute__((noinline)) int add(int x)
	{
		return sum += x;
	}
	__attribute__((noinline)) int add_more(int x)
	{
		int more = leaf(x);
		return add(more) + sum;
	}
	return add_more(n) + add(2);
}

/* A `setjmp` of the program's own, which has the address in another register first. */
__asm__(
	"	.set	push\n"
	"	.set	noreorder\n"
	"	.globl	mark\n"
	"	.type	mark, @function\n"
	"	.ent	mark\n"
	"mark:	move	$8, $31\n"
	"	sw	$29, 4($4)\n"
	"	sw	$8, 0($4)\n"
	"	sw	$30, 8($4)\n"
	"	jr	$31\n"
	"	move	$2, $0\n"
	"	.end	mark\n"
	"	.size	mark, .-mark\n"
	"	.globl	back_to\n"
	"	.type	back_to, @function\n"
	"	.ent	back_to\n"
	"back_to:	lw	$31, 0($4)\n"
	"	lw	$29, 4($4)\n"
	"	lw	$30, 8($4)\n"
	"	jr	$31\n"
	"	move	$2, $5\n"
	"	.end	back_to\n"
	"	.size	back_to, .-back_to\n"
	/* It has a value of its own in the first of the registers for results, and one of the callee's in the other. */
	"	.globl	kept_result\n"
	"	.type	kept_result, @function\n"
	"	.ent	kept_result\n"
	"kept_result:	addiu	$29, $29, -32\n"
	"	sw	$31, 28($29)\n"
	"	bal	second_result\n"
	"	lw	$2, 0($4)\n"
	"	addu	$2, $2, $3\n"
	"	lw	$31, 28($29)\n"
	"	jr	$31\n"
	"	addiu	$29, $29, 32\n"
	"	.end	kept_result\n"
	"	.size	kept_result, .-kept_result\n"
	"	.type	second_result, @function\n"
	"	.ent	second_result\n"
	"second_result:	jr	$31\n"
	"	li	$3, 2\n"
	"	.end	second_result\n"
	"	.size	second_result, .-second_result\n"
	"	.set	pop\n");

int kept_result(const int *x);

int mark(unsigned place[3]) __attribute__((returns_twice));
void back_to(const unsigned place[3], int value) __attribute__((noreturn));

static unsigned place[3];

__attribute__((noinline)) static void go_back(int depth)
{
	if (depth > 0)
		go_back(depth - 1);
	back_to(place, depth + 7);
}

__attribute__((noinline)) static int marked(int depth)
{
	volatile int times = 0;
	int value = mark(place);
	if (++times < 3)
		go_back(depth);
	return 10 * times + value;
}

int main(int argc, char **argv);

__attribute__((noinline)) static int lies_in_main(const char *place)
{
	return place > (char *)main && place < (char *)main + 4096;
}

__attribute__((noinline)) int returns_to_main(void)
{
	return lies_in_main(__builtin_return_address(0));
}

static int computed(const char *program, int value)
{
	static void *const to[] = { &&add, &&twice, &&less, &&end };
	goto *to[*program++ - '0'];
add:
	value += 5;
	goto *to[*program++ - '0'];
twice:
	value *= 2;
	goto *to[*program++ - '0'];
less:
	value -= 3;
	goto *to[*program++ - '0'];
end:
	return value;
}

static int sum(int n, ...)
{
	va_list list;
	int total = 0;
	va_start(list, n);
	for (int i = 0; i < n; i++)
		total += i % 3 == 2 ? (int)va_arg(list, double) : va_arg(list, int);
	va_end(list);
	return total;
}

static jmp_buf back;
static int depth;

static void deep(int n, int value)
{
	volatile char here[64];
	here[0] = n;
	depth++;
	if (n == 0)
		longjmp(back, value);
	deep(n - 1, value);
	depth += here[0];
}

static int jumps(void)
{
	volatile int count = 0;
	int value = setjmp(back);
	count++;
	if (value < 5)
		deep(10 + value, value + 1);
	return count * 100 + value;
}

static int nested(void)
{
	jmp_buf outer, inner;
	volatile int trail = 0;
	if (!setjmp(outer)) {
		if (!setjmp(inner))
			longjmp(inner, 1);
		trail = trail * 10 + 1;
		longjmp(outer, 2);
	}
	return trail * 10 + 2;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static sigjmp_buf out;
static volatile sig_atomic_t caught;

static void handler(int signal)
{
	caught += signal;
}

static void escape(int signal)
{
	siglongjmp(out, signal);
}

static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

struct big { int a, b, c; double d; };

static struct big make(int x) { return (struct big){ x, x * 2, x * 3, x / 4.0 }; }

static __attribute__((noinline, used)) int only_here(int x)
{
	volatile int kept = x;

	return kept * 3 + 1;
}

/* A call of a function by an address whose first part is on the stack, as compilers put it there in large
 * functions. */
static __attribute__((noinline)) int by_parts(int x)
{
	register int argument asm("$4") = x;
	register int result asm("$2");

	asm volatile("addiu $sp, $sp, -32\n"
		     "lw $8, %%got(only_here)($28)\n"
		     "sw $8, 24($sp)\n"
		     "lw $8, 24($sp)\n"
		     "addiu $25, $8, %%lo(only_here)\n"
		     "jalr $25\n"
		     "nop\n"
		     "addiu $sp, $sp, 32"
		     : "=r"(result), "+r"(argument)
		     :
		     : "$1", "$3", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15",
		       "$24", "$25", "$31", "hi", "lo", "memory");
	return result;
}

/* Values that a conditional move chooses by, and from, made of what its register held before. */
static __attribute__((noinline)) int chosen(int x, int y)
{
	int first, second;

	asm volatile("addiu $8, %2, 5\n"
		     "addu $10, $8, %3\n"
		     "xor $9, $8, %3\n"
		     "li $8, 2\n"
		     "movn $8, %3, $9\n"
		     "addu %0, $8, $10\n"
		     "addiu $8, %2, 9\n"
		     "addu $10, $8, %3\n"
		     "addiu $9, $8, 40\n"
		     "li $8, 2\n"
		     "movz $8, $9, %3\n"
		     "addu %1, $8, $10"
		     : "=&r"(first), "=&r"(second)
		     : "r"(x), "r"(y)
		     : "$8", "$9", "$10");
	return first * 1000 + second;
}

int main(int argc, char **argv)
{
	printf("%g %g %d\n", kept(1.5, 5), kept_for_pointer(2.5, 7), within(11));
	printf("%d %d %d\n", marked(5), returns_to_main(), kept_result(&argc));
	printf("%d %d %d %d\n", by_parts(argc), chosen(7, 12), chosen(7, 2), chosen(2, 0));
	int total = 0;
	for (int i = 0; i < 60; i++)
		total = total * 7 + by_table(i % 12, i * i - total);
	printf("%d %d %d\n", total, computed("0120123", argc), sum(5, 1, 2, 3.5, 4, 5));
	printf("%d %d %d\n", jumps(), depth, nested());
	int list[100];
	for (int i = 0; i < 100; i++)
		list[i] = i * 7919 % 101;
	qsort(list, 100, sizeof *list, compare);
	printf("%d %d %d %d\n", list[0], list[50], list[99], fibonacci(20));
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	raise(SIGUSR1);
	printf("caught %d\n", caught);
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = escape;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
	int signal = sigsetjmp(out, 1);
	if (!signal)
		*(volatile int *)0 = 1;
	printf("signal %d\n", signal);
	signal = sigsetjmp(out, 1);
	volatile int zero = 0;
	if (!signal)
		printf("%d\n", 1 / zero);
	printf("signal %d\n", signal);
	struct big big = make(argc + 4);
	printf("%d %d %d %g %s\n", big.a, big.b, big.c, big.d, argc > 1 ? argv[1] : "none");
	atexit((void (*)(void))fflush);
	return 7;
}
