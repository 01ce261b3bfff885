/* Sockets, and waiting for several files; timers and signals that are waited for. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in loopback(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static int port_of(int file)
{
	struct sockaddr_in address;
	socklen_t length = sizeof address;
	return getsockname(file, (struct sockaddr *)&address, &length) ? -1 : ntohs(address.sin_port);
}

static int all(int file, char *to, int size)
{
	int done = 0;
	while (done < size) {
		int got = read(file, to + done, size - done);
		if (got <= 0)
			break;
		done += got;
	}
	return done;
}

static char caller[64];

/* Answers each line in capitals, until the other end closes. */
static void *server(void *at)
{
	int listening = *(int *)at;
	struct sockaddr_in from;
	socklen_t length = sizeof from;
	int file = accept(listening, (struct sockaddr *)&from, &length);
	snprintf(caller, sizeof caller, "called from %s, length %d", inet_ntoa(from.sin_addr), (int)length);
	char c;
	while (read(file, &c, 1) == 1) {
		c = c >= 'a' && c <= 'z' ? c - 32 : c;
		if (write(file, &c, 1) != 1)
			break;
	}
	close(file);
	return 0;
}

static void tcp(void)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	struct sockaddr_in address = loopback(0);
	printf("bind %d\n", bind(listening, (struct sockaddr *)&address, sizeof address));
	printf("listen %d\n", listen(listening, 5));
	int port = port_of(listening);
	pthread_t thread;
	pthread_create(&thread, 0, server, &listening);
	int file = socket(AF_INET, SOCK_STREAM, 0);
	address = loopback(port);
	printf("connect %d\n", connect(file, (struct sockaddr *)&address, sizeof address));
	setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	struct sockaddr_in peer;
	socklen_t length = sizeof peer;
	printf("peer %d, the same %d\n", getpeername(file, (struct sockaddr *)&peer, &length), ntohs(peer.sin_port) == port);
	char buffer[64] = "";
	printf("wrote %d\n", (int)write(file, "hello, ", 7));
	struct iovec parts[2] = { { "wor", 3 }, { "ld\n", 3 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	printf("sent %d\n", (int)sendmsg(file, &message, 0));
	struct pollfd polled = { .fd = file, .events = POLLIN };
	printf("poll %d %d\n", poll(&polled, 1, 5000), polled.revents);
	printf("peeked %d\n", (int)recv(file, buffer, 1, MSG_PEEK));
	printf("read %d ", all(file, buffer, 13));
	printf("%s", buffer);
	struct stat status;
	fstat(file, &status);
	int type = 0;
	length = sizeof type;
	printf("socket %d, stream %d\n", S_ISSOCK(status.st_mode), !getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &length) && type == SOCK_STREAM);
	fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
	int got = read(file, buffer, 1);
	printf("nothing there %d %d\n", got, errno == EAGAIN);
	fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
	struct timeval patience = { 0, 20000 };
	setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	got = read(file, buffer, 1);
	printf("nothing comes %d %d\n", got, errno == EAGAIN);
	shutdown(file, SHUT_WR);
	patience.tv_usec = 0;
	setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	printf("end %d\n", (int)read(file, buffer, 1));
	polled.events = POLLIN | POLLOUT | POLLRDHUP;
	printf("poll %d %x\n", poll(&polled, 1, 0), polled.revents);
	pthread_join(thread, 0);
	puts(caller);
	close(file);
	close(listening);
	/* Nobody listens there any more. */
	file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	address = loopback(port);
	int result = connect(file, (struct sockaddr *)&address, sizeof address);
	if (result == 0 || errno != EINPROGRESS)
		printf("refused %d\n", errno == ECONNREFUSED);
	else {
		polled.fd = file;
		polled.events = POLLOUT;
		poll(&polled, 1, 5000);
		int error = 0;
		length = sizeof error;
		getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &length);
		/* QEMU gives the number of its own machine. */
		printf("refused %d\n", error != 0);
	}
	close(file);
	file = socket(AF_INET, SOCK_STREAM, 0);
	result = connect(file, (struct sockaddr *)&address, sizeof address);
	printf("refused %d %d\n", result, errno == ECONNREFUSED);
	close(file);
}

static void udp(void)
{
	int first = socket(AF_INET, SOCK_DGRAM, 0), second = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in address = loopback(0), from;
	bind(first, (struct sockaddr *)&address, sizeof address);
	bind(second, (struct sockaddr *)&address, sizeof address);
	address = loopback(port_of(first));
	printf("sent %d\n", (int)sendto(second, "one", 3, 0, (struct sockaddr *)&address, sizeof address));
	char buffer[32];
	socklen_t length = sizeof from;
	int got = recvfrom(first, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &length);
	printf("received %d %.3s, from the other %d\n", got, buffer, ntohs(from.sin_port) == port_of(second));
	printf("connect %d\n", connect(first, (struct sockaddr *)&from, sizeof from));
	printf("sent %d\n", (int)send(first, "four", 4, 0));
	fd_set set;
	FD_ZERO(&set);
	FD_SET(first, &set);
	FD_SET(second, &set);
	struct timeval time = { 5, 0 };
	got = select(second + 1, &set, 0, 0, &time);
	printf("select %d %d %d\n", got, FD_ISSET(first, &set) != 0, FD_ISSET(second, &set) != 0);
	printf("cut %d\n", (int)recv(second, buffer, 2, 0));
	printf("rest lost %d\n", (int)recv(second, buffer, 2, MSG_DONTWAIT));
	close(first);
	close(second);
}

static void pairs(void)
{
	int ends[2], pipes[2];
	printf("pair %d\n", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	write(ends[0], "abc", 3);
	int there = 0;
	ioctl(ends[1], FIONREAD, &there);
	char buffer[8];
	printf("there %d, read %d\n", there, (int)read(ends[1], buffer, 8));
	write(ends[1], "xy", 2);
	printf("back %d\n", (int)read(ends[0], buffer, 8));
	pipe(pipes);
	struct pollfd polled[4] = { { pipes[0], POLLIN }, { pipes[1], POLLOUT }, { ends[0], POLLIN | POLLOUT }, { 77, POLLIN } };
	int ready = poll(polled, 4, 0);
	printf("poll %d: %d %d %d %d\n", ready, polled[0].revents, polled[1].revents, polled[2].revents, polled[3].revents);
	write(pipes[1], "q", 1);
	struct timespec time = { 1, 0 };
	ready = ppoll(polled, 1, &time, 0);
	printf("ppoll %d: %d\n", ready, polled[0].revents);
	read(pipes[0], buffer, 8);
	close(pipes[1]);
	ready = poll(polled, 1, 1000);
	printf("closed %d: %d\n", ready, polled[0].revents);
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	int wrote = write(ends[1], "z", 1);
	printf("nobody reads %d %d, end %d\n", wrote, errno == EPIPE, (int)read(ends[1], buffer, 1));
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ready = poll(0, 0, 30);
	clock_gettime(CLOCK_MONOTONIC, &end);
	long millis = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
	printf("waited %d %d\n", ready, millis >= 29);
	/* Standard input: two lines, then the end. */
	polled[0] = (struct pollfd){ 0, POLLIN };
	ready = poll(polled, 1, 5000);
	printf("input %d %d\n", ready, polled[0].revents & POLLIN);
	int total = 0, got;
	while ((got = read(0, buffer, 8)) > 0)
		total += got;
	ready = poll(polled, 1, 5000);
	printf("all %d, at the end %d %d\n", total, ready, (int)read(0, buffer, 8));
}

static void events(void)
{
	int counter = eventfd(2, EFD_NONBLOCK), ends[2], epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t value = 40;
	int wrote = write(counter, &value, 8);
	value = 0;
	int got = read(counter, &value, 8);
	printf("counter %d %d %d\n", wrote, got, (int)value);
	got = read(counter, &value, 8);
	printf("empty %d %d\n", got, errno == EAGAIN);
	pipe(ends);
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0x123456789abull }, told[4];
	printf("add %d\n", epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event));
	got = epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	printf("again %d %d\n", got, errno == EEXIST);
	event = (struct epoll_event){ .events = EPOLLIN | EPOLLONESHOT, .data.fd = counter };
	epoll_ctl(epoll, EPOLL_CTL_ADD, counter, &event);
	printf("nothing %d\n", epoll_wait(epoll, told, 4, 10));
	value = 1;
	write(counter, &value, 8);
	got = epoll_wait(epoll, told, 4, 1000);
	printf("counter %d %d %d\n", got, (int)told[0].events, told[0].data.fd == counter);
	printf("once %d\n", epoll_wait(epoll, told, 4, 0));
	write(ends[1], "x", 1);
	got = epoll_wait(epoll, told, 4, 1000);
	printf("pipe %d %d %llx\n", got, (int)told[0].events, (unsigned long long)told[0].data.u64);
	printf("delete %d\n", epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], 0));
	printf("nothing %d\n", epoll_wait(epoll, told, 4, 0));
	close(epoll);
	close(counter);
}

static volatile int rings, user;

static void ring(int signal)
{
	(void)signal;
	rings++;
}

static void told(int signal)
{
	(void)signal;
	user++;
}

static void timers(void)
{
	struct sigaction action = { .sa_handler = ring };
	sigaction(SIGALRM, &action, 0);
	struct itimerval time = { { 0, 5000 }, { 0, 10000 } }, left;
	setitimer(ITIMER_REAL, &time, 0);
	while (rings < 3) {
		int result = pause();
		if (result != -1 || errno != EINTR)
			printf("pause %d\n", result);
	}
	time = (struct itimerval){ { 0, 0 }, { 50, 0 } };
	setitimer(ITIMER_REAL, &time, &left);
	printf("rang, period %d\n", (int)left.it_interval.tv_usec);
	getitimer(ITIMER_REAL, &left);
	printf("left %d\n", left.it_value.tv_sec >= 48);
	printf("alarm %d\n", (int)alarm(0) >= 49);
	/* poll is ended by a signal; others are held back until sigsuspend. */
	rings = 0;
	time = (struct itimerval){ { 0, 0 }, { 0, 10000 } };
	setitimer(ITIMER_REAL, &time, 0);
	int result = poll(0, 0, 5000);
	printf("poll %d %d, rings %d\n", result, errno == EINTR, rings);
	signal(SIGUSR1, told);
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	raise(SIGUSR1);
	printf("held back %d\n", user);
	result = sigsuspend(&old);
	printf("suspended %d, told %d\n", result, user);
	raise(SIGUSR1);
	struct timespec nanos = { 5, 0 };
	result = ppoll(0, 0, &nanos, &old);
	printf("ppoll %d, told %d\n", result, user);
	sigprocmask(SIG_SETMASK, &old, 0);
}

int main(void)
{
	setvbuf(stdout, 0, _IOLBF, 1024);
	tcp();
	udp();
	pairs();
	events();
	timers();
	return 0;
}
