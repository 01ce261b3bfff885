/* Memory: allocation, copies of any alignment, strings, files. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct __attribute__((packed)) odd {
	char a;
	uint32_t b;
	uint16_t c;
	uint64_t d;
	double e;
};

struct __attribute__((packed)) word {
	uint32_t a;
	uint32_t b;
};

/* Copies words to places that may overlap those they come from. */
__attribute__((noinline)) static void pass(struct word *to, const struct word *from, int count)
{
	for (int i = 0; i < count; i++) {
		to[i].a = from[i].b;
		to[i].b = from[i].a + i;
	}
}

__attribute__((noinline)) static void spread(struct word *to, const uint32_t *from, uint32_t *sum)
{
	uint32_t a = to->a;
	*sum += *from;
	to->a = a + 1;
	*sum ^= *from;
	to->b = to->a + *from;
}

static sigjmp_buf back;

static void fault(int signal)
{
	siglongjmp(back, signal);
}

/* Words that are not there, or only in part. */
static void wild(void)
{
	struct word *volatile none = (void *)2;
	signal(SIGSEGV, fault);
	for (int i = 0; i < 3; i++) {
		int found = sigsetjmp(back, 1);
		if (found) {
			printf("%d\n", found);
			continue;
		}
		if (i == 0)
			printf("%u\n", none->a);
		else if (i == 1)
			none->b = 5;
		else
			*none = none[1];
	}
}

static uint32_t hash(const unsigned char *data, size_t size)
{
	uint32_t h = 2166136261u;
	while (size--)
		h = (h ^ *data++) * 16777619u;
	return h;
}

int main(void)
{
	unsigned char *block = malloc(100000), *other = calloc(1, 100000);
	for (int i = 0; i < 100000; i++)
		block[i] = i * 31 + (i >> 8);
	for (int from = 0; from < 9; from++)
		for (int to = 0; to < 9; to++) {
			memcpy(other + to, block + from, 1000 + from * to);
			memmove(other + 2000 + to, other + 2003 + from, 777);
			memmove(other + 5003 + to, other + 5000 + from, 777);
			memset(other + 8000 + to, from, 50 + to);
		}
	printf("%08x\n", hash(other, 100000));
	struct odd odd[3] = { { 1, 0x12345678, 0x9abc, 0x1122334455667788ULL, 2.5 } };
	odd[1] = odd[0];
	odd[1].b += odd[1].c;
	odd[2] = odd[1];
	odd[2].d *= 3;
	odd[2].e /= 8;
	printf("%08x %x %llx %g\n", hash((void *)odd, sizeof odd), odd[2].b, (long long)odd[2].d, odd[2].e);
	for (int i = 0; i < 16; i++) {
		pass((void *)(block + 101 + i), (void *)(block + 109), 20);
		spread((void *)(block + 305 + i), (void *)(block + 308), (void *)(block + 304));
		spread((void *)(block + 405), (void *)(block + 408), (void *)(block + 400 + i / 4 * 4));
	}
	printf("%08x\n", hash(block, 500));
	wild();
	void *kept[200];
	uint32_t x = 1;
	for (int i = 0; i < 200; i++)
		kept[i] = NULL;
	for (int i = 0; i < 20000; i++) {
		x = x * 1103515245 + 12345;
		int at = (x >> 16) % 200;
		kept[at] = realloc(kept[at], (x >> 8) % 5000 + 1);
		memset(kept[at], at, 1);
	}
	unsigned sum = 0;
	for (int i = 0; i < 200; i++)
		if (kept[i])
			sum += *(unsigned char *)kept[i];
	printf("%u\n", sum);
	char *map = mmap(NULL, 70000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("%d %d\n", map != MAP_FAILED, map[69999]);
	munmap(map, 70000);
	char text[200];
	snprintf(text, sizeof text, "%s|%5d|%-8s|%x|%c|%lld", "one", 42, "two", 255, 'z', 1LL << 40);
	printf("%s %zu %s %d\n", text, strlen(text), strstr(text, "two"), strcmp(text, "one"));
	char line[100];
	int lines = 0;
	while (fgets(line, sizeof line, stdin))
		lines += strlen(line);
	printf("read %d\n", lines);
	FILE *file = fopen("new.txt", "w");
	if (!file) {
		printf("no file: %s\n", strerror(errno));
		return 1;
	}
	for (int i = 0; i < 1000; i++)
		fprintf(file, "line %d\n", i);
	fclose(file);
	file = fopen("new.txt", "r+");
	fseek(file, -5, SEEK_END);
	printf("%ld ", ftell(file));
	printf("%s", fgets(line, sizeof line, file));
	fclose(file);
	printf("%d %d %s\n", rename("new.txt", "old.txt"), unlink("old.txt"), strerror(errno));
	return 0;
}
