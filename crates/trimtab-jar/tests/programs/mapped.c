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

int main(void)
{
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
