/* Files in memory: what is stored there reaches the file, or does not. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE 20000

static unsigned sum(const char *name)
{
	static unsigned char bytes[2 * SIZE];
	int file = open(name, O_RDONLY);
	int got = read(file, bytes, sizeof bytes);
	unsigned all = got;
	for (int i = 0; i < got; i++)
		all = all * 31 + bytes[i];
	close(file);
	return all;
}

static void show(const char *what, const char *at, int file)
{
	char bytes[8];
	printf("%s: ", what);
	for (int i = 0; i < 6; i++)
		putchar(at[i] ? at[i] : '.');
	int got = pread(file, bytes, 6, 0);
	printf(" in memory, ");
	for (int i = 0; i < got; i++)
		putchar(bytes[i] ? bytes[i] : '.');
	puts(" in the file");
}

/* What the program writes to the file is in memory, and what it stores beside that stays. */
static void written(void)
{
	int file = open("both.bin", O_RDWR | O_CREAT | O_TRUNC, 0644), other = open("both.bin", O_WRONLY);
	int appends = open("both.bin", O_WRONLY | O_APPEND), reads = open("both.bin", O_RDONLY);
	write(file, "abcdef", 6);
	char *at = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	char *seen = mmap(0, 4096, PROT_READ, MAP_SHARED, reads, 0);
	char *mine = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	mine[0] = 'M';
	show("mapped", at, file);
	pwrite(other, "B", 1, 1);
	show("written", at, file);
	at[2] = 'C';
	pwrite(file, "E", 1, 4);
	show("both", at, file);
	msync(at, 8192, MS_SYNC);
	show("synchronised", at, file);
	show("only read", seen, file);
	show("private", mine, file);
	lseek(other, 3, SEEK_SET);
	write(other, "DDD", 3);
	at[0] = 'A';
	show("at the position", at, file);
	write(appends, "ghi", 3);
	printf("behind the end %.3s\n", at + 6);
	ftruncate(file, 3);
	show("cut", at, file);
	at[5] = 'x';
	show("stored behind the end", at, file);
	ftruncate(file, 0);
	ftruncate(file, 6000);
	show("longer", at, file);
	at[5999] = 'z';
	char last;
	printf("there %d, %c\n", (int)pread(file, &last, 1, 5999), last);
	close(open("both.bin", O_RDWR | O_TRUNC));
	printf("nothing %d\n", (int)pread(file, &last, 1, 0));
	munmap(at, 8192);
	munmap(seen, 4096);
	munmap(mine, 4096);
	close(file);
	close(other);
	close(appends);
	close(reads);
	unlink("both.bin");
}

/* What is longer has the rest of the file. */
static void longer(void)
{
	static char bytes[3 * 4096];
	int file = open("long.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
	memset(bytes, 'a', sizeof bytes);
	write(file, bytes, sizeof bytes);
	char *at = mmap(0, 5000, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	char *mine = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	at[1] = 'b';
	mine[1] = 'c';
	at = mremap(at, 5000, sizeof bytes, MREMAP_MAYMOVE);
	mine = mremap(mine, 4096, sizeof bytes, MREMAP_MAYMOVE);
	printf("longer %c%c%c%c", at[0], at[1], at[7000], at[3 * 4096 - 1]);
	printf(" %c%c%c%c\n", mine[0], mine[1], mine[7000], mine[3 * 4096 - 1]);
	at[10000] = 'd';
	munmap(at, sizeof bytes);
	printf("reached %08x\n", sum("long.bin"));
	munmap(mine, sizeof bytes);
	close(file);
	unlink("long.bin");
	int ends[2];
	pipe(ends);
	printf("a pipe %d", mmap(0, 4096, PROT_READ, MAP_SHARED, ends[0], 0) == MAP_FAILED);
	printf(" %d\n", errno == ENODEV);
}

int main(void)
{
	written();
	longer();
	const char *name = "mapped.bin";
	int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	ftruncate(file, SIZE);
	char *at = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	printf("mapped %d\n", at != MAP_FAILED);
	memset(at + 5000, 'a', 3000);
	msync(at, SIZE, MS_SYNC);
	printf("written %08x\n", sum(name));
	at[19999] = 'z';
	char last;
	pread(file, &last, 1, 19999);
	printf("read %c\n", last);
	/* The file stays mapped when it is closed. */
	close(file);
	at[0] = 'b';
	munmap(at + 8192, 4096);
	at[12288] = 'c';
	at[1] = 'd';
	printf("in parts %08x\n", sum(name));
	munmap(at, SIZE);
	printf("unmapped %08x\n", sum(name));
	/* From its middle on. */
	file = open(name, O_RDWR);
	at = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
	at[2] = 'e';
	char *moved = mremap(at, 8192, 12288, MREMAP_MAYMOVE);
	moved[3] = 'f';
	munmap(moved, 12288);
	printf("moved %08x\n", sum(name));
	/* A private one is a copy. */
	at = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	memset(at, 'x', SIZE);
	munmap(at, SIZE);
	printf("private %08x\n", sum(name));
	close(file);
	file = open(name, O_RDONLY);
	at = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	printf("only read %d %d\n", at == MAP_FAILED, errno == EACCES);
	at = mmap(0, SIZE, PROT_READ, MAP_SHARED, file, 0);
	printf("reads %c%c\n", at[0], at[4098]);
	close(file);
	/* What is still mapped at the end is written then. */
	file = open("last.bin", O_RDWR | O_CREAT | O_TRUNC, 0644);
	ftruncate(file, 3);
	at = mmap(0, 3, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	memcpy(at, "end", 3);
	return 0;
}
