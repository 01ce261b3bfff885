/* Pipes and pairs of sockets: how much is read at once, how much fits in, and what poll says of their ends. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static char bytes[200000];

static void at_once(void)
{
	int ends[2], there;
	char text[32] = "";
	pipe(ends);
	write(ends[1], "one, ", 5);
	write(ends[1], "two, ", 5);
	write(ends[1], "three", 5);
	ioctl(ends[0], FIONREAD, &there);
	printf("there %d, ", there);
	printf("read %d", (int)read(ends[0], text, 2));
	printf(", %d: %s\n", (int)read(ends[0], text + 2, 29), text);
	/* Byte by byte. */
	memset(bytes, 'x', 60000);
	printf("write %d\n", (int)write(ends[1], bytes, 60000));
	int count = 0;
	while (count < 60000 && read(ends[0], text, 1) == 1)
		count++;
	printf("bytes %d\n", count);
	close(ends[1]);
	printf("end %d\n", (int)read(ends[0], text, 1));
	close(ends[0]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	write(ends[0], "four", 4);
	write(ends[0], "five", 4);
	printf("peek %d, ", (int)recv(ends[1], text, 6, MSG_PEEK));
	memset(text, 0, sizeof text);
	printf("read %d: %s\n", (int)read(ends[1], text, 30), text);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	at_once();
	return 0;
}
