/* Pipes and pairs of sockets: how much is read at once, how much fits in, and what poll says of their ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static char bytes[200000];

static const char *why(int result)
{
	return result < 0 ? strerror(errno) : "done";
}

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

static int polled(int file, int events)
{
	struct pollfd poll_ = { .fd = file, .events = events };
	return poll(&poll_, 1, 0) < 0 ? -1 : poll_.revents;
}

static int told(int file)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP }, found = { 0 };
	int all = epoll_create1(0);
	epoll_ctl(all, EPOLL_CTL_ADD, file, &event);
	int count = epoll_wait(all, &found, 1, 0);
	close(all);
	return count == 1 ? (int)found.events : count;
}

static void ready(void)
{
	int ends[2];
	char c;
	const int all = POLLIN | POLLOUT | POLLRDHUP;
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	printf("pair %x %x", polled(ends[0], all), polled(ends[0], POLLIN));
	write(ends[1], "x", 1);
	printf(" %x", polled(ends[0], all));
	read(ends[0], &c, 1);
	shutdown(ends[1], SHUT_WR);
	printf(", shut down %x %x %x", polled(ends[0], all), polled(ends[0], POLLIN), told(ends[0]));
	printf(" %x %x", polled(ends[1], all), told(ends[1]));
	printf(" %d", (int)read(ends[0], &c, 1));
	printf(" %d\n", (int)write(ends[0], "y", 1));
	close(ends[0]);
	close(ends[1]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	write(ends[1], "last", 4);
	close(ends[1]);
	printf("closed %x %x %x", polled(ends[0], all), polled(ends[0], POLLIN), told(ends[0]));
	read(ends[0], bytes, 10);
	printf(", nothing more %x %x %d", polled(ends[0], all), told(ends[0]), (int)read(ends[0], &c, 1));
	printf(", %s\n", why(write(ends[0], "z", 1)));
	close(ends[0]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	shutdown(ends[0], SHUT_RDWR);
	printf("both %x %x %x\n", polled(ends[0], all), polled(ends[1], all), told(ends[1]));
	close(ends[0]);
	close(ends[1]);
	pipe(ends);
	printf("pipe %x %x", polled(ends[0], all), polled(ends[1], all));
	write(ends[1], "x", 1);
	printf(", written %x", polled(ends[0], all));
	close(ends[1]);
	printf(", closed %x", polled(ends[0], all));
	read(ends[0], &c, 1);
	printf(", read %x\n", polled(ends[0], all));
	close(ends[0]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	at_once();
	ready();
	return 0;
}
