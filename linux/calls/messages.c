// SPDX-License-Identifier: GPL-2.0-only
/* Calls about pipes, sockets, and waiting for them. */
#include "suite.h"

#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/un.h>

#define NAME "\0suite"
static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = NAME};
/*
 * No byte more than the name has. The kernel's memcpy() goes forwards or backwards over 32 bytes and more, by
 * the lowest byte of the two addresses, and one way takes 4 instructions more: where a slab happens to be would
 * be seen as a cost of bind().
 */
#define ADDRESS ((const struct sockaddr *)&address), offsetof(struct sockaddr_un, sun_path) + sizeof(NAME) - 1

static enum result closed(const int ends[2])
{
	NEED(close(ends[0]) == 0 && close(ends[1]) == 0);
	return GOOD;
}

static enum result do_pipe(void)
{
	char byte = 0;
	int ends[2];

	NEED(TIMED(syscall(SYS_pipe, ends)) == 0);
	NEED(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x');
	return closed(ends);
}

static enum result do_socket(void)
{
	int type = 0, file = TIMED((int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
	socklen_t size = sizeof(type);

	NEED(file >= 0);
	NEED(getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_socketpair(void)
{
	char byte = 0;
	int ends[2];

	NEED(TIMED(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends)) == 0);
	NEED(write(ends[1], "y", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'y');
	return closed(ends);
}

static enum result do_sendto(void)
{
	char bytes[100] = "z";
	int ends[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	NEED(TIMED(syscall(SYS_sendto, ends[0], bytes, sizeof(bytes), 0, NULL, 0)) == sizeof(bytes));
	bytes[0] = 0;
	NEED(read(ends[1], bytes, sizeof(bytes)) == sizeof(bytes) && bytes[0] == 'z');
	return closed(ends);
}

static enum result do_recvfrom(void)
{
	char bytes[100] = "w";
	int ends[2];

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	NEED(write(ends[0], bytes, sizeof(bytes)) == sizeof(bytes));
	bytes[0] = 0;
	NEED(TIMED(syscall(SYS_recvfrom, ends[1], bytes, sizeof(bytes), 0, NULL, NULL)) == sizeof(bytes));
	NEED(bytes[0] == 'w');
	return closed(ends);
}

static enum result do_bind(void)
{
	int file = socket(AF_UNIX, SOCK_STREAM, 0), again = socket(AF_UNIX, SOCK_STREAM, 0);

	NEED(file >= 0 && again >= 0);
	NEED(TIMED(syscall(SYS_bind, file, ADDRESS)) == 0);
	NEED(bind(again, ADDRESS) == -1 && errno == EADDRINUSE);
	NEED(close(file) == 0 && close(again) == 0);
	return GOOD;
}

/* Makes both ends of a connection. What is timed is the one that is asked for. */
static enum result connection(int timed)
{
	int listening = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), server;
	struct sockaddr_un peer;
	socklen_t size = sizeof(peer);
	uint64_t listened, connected;
	char byte = 0;

	NEED(listening >= 0 && client >= 0 && bind(listening, ADDRESS) == 0);
	NEED(TIMED(syscall(SYS_listen, listening, 5)) == 0);
	listened = spent;
	NEED(TIMED(syscall(SYS_connect, client, ADDRESS)) == 0);
	connected = spent;
	NEED(getpeername(client, (struct sockaddr *)&peer, &size) == 0);
	server = TIMED((int)syscall(SYS_accept, listening, NULL, NULL));
	NEED(server >= 0 && write(client, "v", 1) == 1 && read(server, &byte, 1) == 1 && byte == 'v');
	if (timed == SYS_listen)
		spent = listened;
	if (timed == SYS_connect)
		spent = connected;
	NEED(close(listening) == 0 && close(client) == 0 && close(server) == 0);
	return GOOD;
}

static enum result do_listen(void)
{
	return connection(SYS_listen);
}

static enum result do_connect(void)
{
	return connection(SYS_connect);
}

static enum result do_accept(void)
{
	return connection(SYS_accept);
}

/* A pipe with so many bytes in it. */
static int filled(int ends[2], size_t bytes)
{
	static const char text[16];

	return pipe(ends) == 0 && write(ends[1], text, bytes) == (ssize_t)bytes;
}

static enum result do_ioctl(void)
{
	int ends[2], bytes = 0;

	NEED(filled(ends, 11));
	NEED(TIMED(syscall(SYS_ioctl, ends[0], FIONREAD, &bytes)) == 0);
	NEED(bytes == 11);
	return closed(ends);
}

static enum result do_poll(void)
{
	struct pollfd files[2];
	int ends[2];

	NEED(filled(ends, 1));
	files[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	files[1] = (struct pollfd){.fd = ends[1], .events = POLLIN};
	NEED(TIMED(syscall(SYS_poll, files, 2, 1000)) == 1);
	NEED(files[0].revents == POLLIN && files[1].revents == 0);
	return closed(ends);
}

static enum result do_select(void)
{
	struct timeval limit = {.tv_sec = 1};
	fd_set files;
	int ends[2];

	NEED(filled(ends, 1));
	FD_ZERO(&files);
	FD_SET(ends[0], &files);
	FD_SET(ends[1], &files);
	NEED(TIMED(syscall(SYS_select, ends[1] + 1, &files, NULL, NULL, &limit)) == 1);
	NEED(FD_ISSET(ends[0], &files) && !FD_ISSET(ends[1], &files));
	return closed(ends);
}

/* What epoll does with a pipe that has a byte; what is timed is the one that is asked for. */
static enum result watched(int timed)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 33}, found = {0};
	uint64_t made, added;
	int ends[2], queue;

	NEED(filled(ends, 1));
	queue = TIMED((int)syscall(SYS_epoll_create1, 0));
	made = spent;
	NEED(queue >= 0);
	NEED(TIMED(syscall(SYS_epoll_ctl, queue, EPOLL_CTL_ADD, ends[0], &event)) == 0);
	added = spent;
	NEED(TIMED(syscall(SYS_epoll_wait, queue, &found, 1, 1000)) == 1);
	NEED(found.data.u32 == 33 && found.events == EPOLLIN);
	if (timed == SYS_epoll_create1)
		spent = made;
	if (timed == SYS_epoll_ctl)
		spent = added;
	NEED(close(queue) == 0);
	return closed(ends);
}

static enum result do_epoll_create1(void)
{
	return watched(SYS_epoll_create1);
}

static enum result do_epoll_ctl(void)
{
	return watched(SYS_epoll_ctl);
}

static enum result do_epoll_wait(void)
{
	return watched(SYS_epoll_wait);
}

static enum result do_eventfd2(void)
{
	uint64_t value = 0;
	int file = TIMED((int)syscall(SYS_eventfd2, 5, 0));

	NEED(file >= 0 && read(file, &value, sizeof(value)) == sizeof(value) && value == 5);
	NEED(close(file) == 0);
	return GOOD;
}

static enum result do_inotify_init1(void)
{
	int file = TIMED((int)syscall(SYS_inotify_init1, IN_NONBLOCK));
	char events[256] __attribute__((aligned(8)));
	struct inotify_event *event = (struct inotify_event *)events;

	unlink("/tmp/seen");
	NEED(file >= 0 && inotify_add_watch(file, "/tmp", IN_CREATE) > 0);
	NEED(read(file, events, sizeof(events)) == -1 && errno == EAGAIN);
	NEED(close(open("/tmp/seen", O_CREAT | O_WRONLY, 0600)) == 0);
	NEED(read(file, events, sizeof(events)) > (ssize_t)sizeof(*event));
	NEED(event->mask == IN_CREATE && strcmp(event->name, "seen") == 0);
	NEED(unlink("/tmp/seen") == 0);
	NEED(close(file) == 0);
	return GOOD;
}

const struct call message_calls[] = {
	{"pipe", do_pipe},
	{"socket", do_socket},
	{"socketpair", do_socketpair},
	{"sendto", do_sendto},
	{"recvfrom", do_recvfrom},
	{"bind", do_bind},
	{"listen", do_listen},
	{"connect", do_connect},
	{"accept", do_accept},
	{"ioctl", do_ioctl},
	{"poll", do_poll},
	{"select", do_select},
	{"epoll_create1", do_epoll_create1},
	{"epoll_ctl", do_epoll_ctl},
	{"epoll_wait", do_epoll_wait},
	{"eventfd2", do_eventfd2},
	{"inotify_init1", do_inotify_init1},
	{NULL, NULL},
};
