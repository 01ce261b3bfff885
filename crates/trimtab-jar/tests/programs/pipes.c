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

static void *reader(void *at)
{
	static char got[200000];
	int file = *(int *)at, count = 0, now;
	unsigned sum = 0;
	usleep(50000);
	while ((now = read(file, got, sizeof got)) > 0)
		for (int i = 0; i < now; i++, count++)
			sum = sum * 31 + got[i];
	printf("read %d, sum %08x\n", count, sum);
	return 0;
}

static int filled(int file)
{
	int total = 0, now;
	fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
	while ((now = write(file, bytes, 1024)) > 0)
		total += now;
	printf("full: %s, ", strerror(errno));
	return total;
}

/* No more fits in than in Linux. */
static void bounds(void)
{
	int ends[2];
	pthread_t thread;
	pipe(ends);
	printf("%d\n", filled(ends[1]));
	printf("small %d %s", (int)write(ends[1], bytes, 1), why(write(ends[1], bytes, 4096)));
	printf(", large %d\n", (int)write(ends[1], bytes, 200000));
	printf("polled %x", polled(ends[1], POLLOUT));
	printf(" %d", (int)read(ends[0], bytes, 1));
	printf(" %x", polled(ends[1], POLLOUT));
	printf(" %d", (int)read(ends[0], bytes, 8192));
	printf(" %x\n", polled(ends[1], POLLOUT));
	close(ends[0]);
	close(ends[1]);
	/* Waiting until there is room. */
	pipe(ends);
	for (int i = 0; i < (int)sizeof bytes; i++)
		bytes[i] = i * 7;
	pthread_create(&thread, 0, reader, ends);
	printf("wrote %d\n", (int)write(ends[1], bytes, sizeof bytes));
	for (int i = 0; i < 1000; i++)
		write(ends[1], bytes + i, 4000);
	close(ends[1]);
	pthread_join(thread, 0);
	close(ends[0]);
	/* A pair takes more, but not all. */
	memset(bytes, 'x', sizeof bytes);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	int total = filled(ends[0]);
	printf("%d %x\n", total > 65536 && total < 1000000, polled(ends[0], POLLOUT));
	fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) & ~O_NONBLOCK);
	pthread_create(&thread, 0, reader, ends + 1);
	int rest = 300000 - total;
	while (rest > 0)
		rest -= write(ends[0], bytes, rest < 100000 ? rest : 100000);
	shutdown(ends[0], SHUT_WR);
	pthread_join(thread, 0);
	close(ends[0]);
	close(ends[1]);
}

static int writes_to;

static void ring(int signal)
{
	write(writes_to, "ring", 4);
}

static void nothing(int signal)
{
}

static void *closer(void *file)
{
	usleep(50000);
	close(*(int *)file);
	return 0;
}

/* One thread, whose timer ends what would else wait for ever. */
static void alone(void)
{
	struct itimerval soon = { .it_value.tv_usec = 50000 };
	struct sigaction action = { .sa_handler = ring, .sa_flags = SA_RESTART };
	char text[8] = "";
	int ends[2];
	pipe(ends);
	writes_to = ends[1];
	sigaction(SIGALRM, &action, 0);
	setitimer(ITIMER_REAL, &soon, 0);
	printf("read %d", (int)read(ends[0], text, 8));
	printf(" %s\n", text);
	action.sa_handler = nothing;
	action.sa_flags = 0;
	sigaction(SIGALRM, &action, 0);
	setitimer(ITIMER_REAL, &soon, 0);
	printf("disturbed %s", why(read(ends[0], text, 8)));
	setitimer(ITIMER_REAL, &soon, 0);
	printf(", %d", (int)write(ends[1], bytes, 100000));
	setitimer(ITIMER_REAL, &soon, 0);
	printf(", %s\n", why(write(ends[1], bytes, 100)));
	/* Who waits for room is told that nobody reads any more. */
	pthread_t thread;
	pthread_create(&thread, 0, closer, ends);
	printf("nobody reads %s\n", why(write(ends[1], bytes, 100)));
	pthread_join(thread, 0);
	close(ends[1]);
}

int main(void)
{
	setbuf(stdout, 0);
	signal(SIGPIPE, SIG_IGN);
	alone();
	bounds();
	at_once();
	ready();
	return 0;
}
