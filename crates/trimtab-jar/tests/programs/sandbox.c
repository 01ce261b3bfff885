/* What a program can reach of the files outside: nothing but below its root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void try(const char *name, int flags)
{
	int file = open(name, flags, 0644);
	printf("%s: %s\n", name, file < 0 ? strerror(errno) : "opened");
	if (file >= 0)
		close(file);
}

static void tell(const char *what, int result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
}

static const char *port(int file)
{
	struct sockaddr_in own;
	socklen_t length = sizeof own;
	return !getsockname(file, (struct sockaddr *)&own, &length) && own.sin_port ? "some" : "none";
}

/* Sockets that may be made, but reach nothing. */
static void ports(void)
{
	int stream = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in address = { .sin_family = AF_INET };
	char c;
	tell("bind", bind(stream, (struct sockaddr *)&address, sizeof address));
	tell("connect", connect(stream, (struct sockaddr *)&address, sizeof address));
	tell("listen", listen(stream, 1));
	tell("recv", recv(datagrams, &c, 1, MSG_DONTWAIT));
	printf("ports: %s %s\n", port(stream), port(datagrams));
}

int main(int argc, char **argv)
{
	struct stat status;
	if (argc > 1 && !strcmp(argv[1], "socket")) {
		printf("socket: %s\n", socket(AF_INET, SOCK_STREAM, 0) < 0 ? strerror(errno) : "opened");
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "ports")) {
		ports();
		return 0;
	}
	try("/given.txt", O_RDONLY);
	try("given.txt", O_RDWR);
	try("/../../../etc/passwd", O_RDONLY);
	try("link", O_RDONLY);
	try("folder/../../../../etc/passwd", O_RDONLY);
	try("made.txt", O_WRONLY | O_CREAT);
	printf("%d\n", stat("/given.txt", &status) ? -1 : (int)status.st_size);
	DIR *directory = opendir("/");
	struct dirent *entry;
	while (directory && (entry = readdir(directory)))
		printf("entry %s\n", entry->d_name);
	return 0;
}
