/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses that are taken without a name: of functions, and of labels, also where both begin. Each
 * loop goes round more often than a stack has room for. */
#include <stdio.h>

#define ROUNDS (10 * 1000 * 1000)

#define BEGIN(name) "\n.type " #name ",@function\n" #name ":\n.L" #name ":\n.cfi_startproc\n"
#define END(name) "\n.cfi_endproc\n.size " #name ",.-" #name "\n"

/* A loop that a table of distances goes back to, without anything in front of it. */
#define SCAN(name)                                                                                   \
	".globl " #name BEGIN(name) "cmpl $0, %edi\njle 2f\nsubl $1, %edi\n"                         \
	"leaq .Ltable_" #name "(%rip), %rcx\nmovl %edi, %eax\nandl $1, %eax\n"                       \
	"movslq (%rcx,%rax,4), %rax\naddq %rcx, %rax\njmp *%rax\n"                                   \
	"1: movslq (%rcx), %rax\naddq %rcx, %rax\njmp *%rax\n"                                       \
	"2: movl $3, %eax\nret" END(name) ".section .rodata\n.p2align 2\n.Ltable_" #name ":\n"       \
	".long .L" #name "-.Ltable_" #name "\n.long 1b-.Ltable_" #name "\n.text\n"

__asm__(".text\n" SCAN(labels_scan) SCAN(labels_scan_known)
	".section .rodata\n.globl labels_distance\nlabels_distance: .long .Llabels_scan_known - .\n.text\n"
	/* The same by addresses. */
	".globl labels_goto" BEGIN(labels_goto) "cmpl $0, %edi\njle 2f\nsubl $1, %edi\n"
	"leaq .Laddresses(%rip), %rcx\nmovl %edi, %eax\nandl $1, %eax\n"
	"movq (%rcx,%rax,8), %rax\njmp *%rax\n1: movq (%rcx), %rax\njmp *%rax\n"
	"2: movl $5, %eax\nret"
	END(labels_goto) ".section .data.rel.ro,\"aw\"\n.p2align 3\n.Laddresses: .quad .Llabels_goto, 1b\n.text\n"
	/* Addresses where something else may work on code. */
	".globl labels_patched" BEGIN(labels_patched) "leal 1(%rdi), %eax\nleal (%rax,%rdi), %eax\nret"
	END(labels_patched) ".section patches,\"aw\"\n.globl labels_patch\nlabels_patch: .quad .Llabels_patched\n"
	".text");

int labels_scan(int n);
int labels_scan_known(int n);
int labels_goto(int n);
int labels_patched(int n);
extern const int labels_distance;
extern int (*labels_patch)(int);

struct number {
	const struct kind *kind;
	int value;
};

struct kind {
	int (*change)(const struct number *);
	int (*again)(const struct number *);
};

static int labels_changed(const struct number *number)
{
	return number->value ^ 3;
}

/* Ends with a jump to an address. */
static int labels_handed_on(const struct number *number)
{
	return number->kind->change(number);
}

static const struct kind kinds[] = { { labels_changed, labels_handed_on } };

__attribute__((noinline, noclone)) static int labels_is_changed(int (*what)(const struct number *))
{
	return what == labels_changed;
}

__attribute__((constructor)) static void labels_begin(void)
{
	puts("begin");
}

int main(void)
{
	const struct kind *volatile kind = kinds;
	const char *place = (const char *)&labels_distance + labels_distance;
	int (*volatile known)(int) = (int (*)(int))place;
	int sum = 0;

	for (int i = 0; i < 1000; i++) {
		struct number number = { kind, i };

		sum += kind->change(&number) + kind->again(&number);
		sum += labels_is_changed(kind->change) + labels_patch(i) + labels_patched(i);
	}
	sum += labels_scan(ROUNDS) + known(ROUNDS) + labels_scan_known(ROUNDS) + labels_goto(ROUNDS);
	printf("%d\n", sum);
	return 0;
}
