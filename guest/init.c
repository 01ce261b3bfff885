/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The first process of a guest: mounts what a workload needs, runs the workload that the kernel
 * command line names, tells the host how it went, and ends the machine.
 *
 * It is C and not a script so that a boot to it is as short as can be, and so that it still reports
 * when there is no shell. What it says, one line each:
 *
 *     trimtab: ready                         init runs, everything is mounted
 *     trimtab: uptime SECONDS                at that moment, by the guest's monotonic clock
 *     trimtab: module NAME ok                or: why it was not loaded
 *     trimtab: workload NAME ok              or: failed CODE
 *     trimtab: finished SECONDS              when it had ended, by the same clock
 *     trimtab: ftrace CALLS FUNCTIONS LOST   only if the function tracer ran
 *     trimtab: error TEXT                    something init itself could not do
 *     trimtab: end                           nothing follows
 *
 * A workload may say more, of whatever it is about:
 *
 *     trimtab: TOPIC NAME VALUE
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* Of syslog(2): sets the level below which kernel messages reach the console. */
#define SET_CONSOLE_LEVEL 8

void say(const char *format, ...)
{
	char line[512] = "trimtab: ";
	size_t start = strlen(line);
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	length = (int)strlen(line);
	line[length++] = '\n';

	/* A serial console sends in pieces, and a kernel message may come between two of them. */
	klogctl(SET_CONSOLE_LEVEL, NULL, 1);
	tcdrain(STDOUT_FILENO);
	for (int done = 0; done < length;) {
		ssize_t wrote = write(STDOUT_FILENO, line + done, (size_t)(length - done));

		if (wrote < 0 && errno != EINTR)
			break;
		if (wrote > 0)
			done += (int)wrote;
	}
	tcdrain(STDOUT_FILENO);
	klogctl(SET_CONSOLE_LEVEL, NULL, 7);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void open_console(void)
{
	int console;

	/* An initramfs without device nodes starts init with no open file at all. */
	mkdir("/dev", 0755);
	if (mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755") != 0) {
		mknod("/dev/console", S_IFCHR | 0600, makedev(5, 1));
		mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3));
		mknod("/dev/ttyS1", S_IFCHR | 0600, makedev(4, 65));
	}
	console = open("/dev/console", O_RDWR | O_NOCTTY);
	if (console < 0)
		return;
	for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
		if (console != file)
			dup2(console, file);
	if (console > STDERR_FILENO)
		close(console);
}

static void mount_at(const char *type, const char *path, const char *data)
{
	mkdir(path, 0755);
	if (mount(type, path, type, MS_NOSUID | MS_NODEV, data) != 0 && errno != EBUSY)
		say("error cannot mount %s at %s: %s", type, path, strerror(errno));
}

/*
 * Finds KEY=VALUE on the kernel command line and copies the value. Returns whether it is there.
 */
static int argument(const char *key, char *value, size_t size)
{
	char line[4096];
	int file = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, line, sizeof(line) - 1);
	size_t key_length = strlen(key);

	if (file >= 0)
		close(file);
	if (length <= 0)
		return 0;
	line[length] = '\0';
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		if (strncmp(word, key, key_length) == 0 && word[key_length] == '=') {
			snprintf(value, size, "%s", word + key_length + 1);
			return 1;
		}
	}
	return 0;
}

/*
 * Finds the parameters of a module on the kernel command line, where they are NAME.PARAMETER=VALUE, and
 * copies them as the kernel takes them with a module. What does not fit is left out.
 */
static void parameters(const char *module, char *values, size_t size)
{
	char line[4096];
	int file = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, line, sizeof(line) - 1);
	size_t name_length = strlen(module);
	size_t used = 0;

	if (file >= 0)
		close(file);
	values[0] = '\0';
	line[length < 0 ? 0 : length] = '\0';
	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		size_t word_length = strlen(word);

		if (strncmp(word, module, name_length) != 0 || word[name_length] != '.')
			continue;
		word += name_length + 1;
		word_length -= name_length + 1;
		if (used + word_length + 2 > size)
			continue;
		memcpy(values + used, word, word_length);
		used += word_length;
		values[used++] = ' ';
		values[used] = '\0';
	}
}

/* Loads modules, whose names have commas between them, in this order. */
static void load(char *names)
{
	char path[640], values[1024];

	for (char *end, *name = names; name; name = end) {
		int file;

		end = strchr(name, ',');
		if (end)
			*end++ = '\0';
		parameters(name, values, sizeof(values));
		snprintf(path, sizeof(path), "/lib/modules/%s.ko", name);
		file = strchr(name, '/') ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		if (file < 0)
			say("module %s is not in this guest", name);
		else if (syscall(SYS_finit_module, file, values, 0) != 0)
			say("module %s %s", name, strerror(errno));
		else
			say("module %s ok", name);
		if (file >= 0)
			close(file);
	}
}

static void run(const char *name)
{
	char script[128];
	char *const arguments[] = {"/bin/busybox", "sh", script, NULL};
	char *const environment[] = {
		"PATH=/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root", "TERM=linux", NULL,
	};
	int status = 0;
	pid_t child;

	snprintf(script, sizeof(script), "/etc/trimtab/%s.sh", name);
	if (strchr(name, '/') || access(script, R_OK) != 0) {
		say("error this guest has no workload of that name");
		say("workload %s failed 127", name);
		return;
	}
	child = fork();
	if (child == 0) {
		setsid();
		execve(arguments[0], arguments, environment);
		_exit(126);
	}
	if (child < 0) {
		say("error cannot fork: %s", strerror(errno));
		say("workload %s failed 125", name);
		return;
	}
	/* Orphans of the workload become children of init: reap them too. */
	for (;;) {
		int one;
		pid_t ended = wait(&one);

		if (ended == child) {
			status = one;
			break;
		}
		if (ended < 0 && errno != EINTR)
			break;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		say("workload %s ok", name);
	else
		say("workload %s failed %d", name,
		    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	/* Whatever it left in the background must not run beside what follows. */
	kill(-1, SIGKILL);
}

/* Makes the file of a virtio port, whose number is another in each kernel, where devtmpfs does not. */
static void make_port(const char *device, const char *path)
{
	char number[128];
	unsigned int major, minor;
	FILE *file;

	if (access(path, F_OK) == 0)
		return;
	snprintf(number, sizeof(number), "/sys/class/virtio-ports/%s/dev", device);
	file = fopen(number, "re");
	if (!file)
		return;
	if (fscanf(file, "%u:%u", &major, &minor) == 2)
		mknod(path, S_IFCHR | 0600, makedev(major, minor));
	fclose(file);
}

static int open_out(const char *device)
{
	char path[80];
	struct termios terminal;
	int out;

	snprintf(path, sizeof(path), "/dev/%s", device);
	make_port(device, path);
	out = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (out < 0) {
		say("error cannot open %s, which leads out of the machine: %s", path,
		    strerror(errno));
		return -1;
	}
	/* A virtio port is no terminal, and takes bytes as they are. */
	if (tcgetattr(out, &terminal) != 0)
		return out;
	/* Bytes as they are: no newline translation. */
	cfmakeraw(&terminal);
	cfsetspeed(&terminal, B115200);
	tcsetattr(out, TCSANOW, &terminal);
	return out;
}

int main(void)
{
	char name[64];
	char value[64];
	char modules[512];

	open_console();
	mount_at("proc", "/proc", NULL);
	mount_at("sysfs", "/sys", NULL);
	mount_at("tmpfs", "/tmp", "mode=1777");
	mount_at("tmpfs", "/run", "mode=0755");

	say("ready");
	say("uptime %.9f", now());

	if (argument("trimtab.modules", modules, sizeof(modules)))
		load(modules);
	if (argument("trimtab.workload", name, sizeof(name)))
		run(name);
	say("finished %.9f", now());

	if (argument("trimtab.ftrace", value, sizeof(value))) {
		int out;

		mount_at("tracefs", "/sys/kernel/tracing", NULL);
		out = open_out(value);
		if (out >= 0 && ftrace_send(out) == 0)
			tcdrain(out);
	}

	say("end");
	sync();
	/*
	 * The host runs the machine so that a reboot ends it. That needs no power management in the
	 * kernel, unlike switching it off.
	 */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
