#include "lib.h"

#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

struct counter {
    char name[32];
    int value;
};

static int made;
static java_object held;

__attribute__((constructor)) static void begin(void) { made = 100; }

static void end(void) { puts("the end"); }

/* Registers what close must run. */
int instances(void)
{
    if (made == 100)
        atexit(end);
    return made++;
}

struct counter *counter_new(const char *name, int start)
{
    struct counter *counter = malloc(sizeof *counter);
    snprintf(counter->name, sizeof counter->name, "%s", name);
    counter->value = start;
    return counter;
}

int counter_add(struct counter *counter, int by) { return counter->value += by; }
const char *counter_name(const struct counter *counter) { return counter->name; }
void counter_free(struct counter *counter) { free(counter); }
double weigh(double a, float b, int c, double d, int64_t e) { return a * 1000 + b * 100 + c * 10 + d + e / 10.0; }
float half(float a) { return a / 2; }
int64_t wide(int a, int64_t b, int c, int64_t d) { return a + b * 10 + c * 100 + d * 1000; }
int many(int a, int b, int c, int d, int e, int f) { return ((((a * 10 + b) * 10 + c) * 10 + d) * 10 + e) * 10 + f; }

int each(struct counter *counter, visit function, void *data)
{
    int sum = 0;
    for (int i = 0; i < counter->value; i++)
        sum += function(data, i, i / 2.0);
    return sum;
}

double each_real(double (*function)(double, float, int, double), int times)
{
    double sum = 0;
    for (int i = 0; i < times; i++)
        sum += function(i, i * 2.0f, i * 3, i * 4.0);
    return sum;
}

int say(const char *text)
{
    int length = printf("%s\n", text);
    fflush(stdout);
    return length;
}

int crash(int how)
{
    if (how == 1)
        abort();
    return *(volatile int *)(how == 0 ? 16 : how);
}

void leave(int status) { exit(status); }

static void *wait_for_ever(void *unused)
{
    pause();
    return unused;
}

/* Ends the thread that Java calls with, while there is another one. */
void leave_thread(int status)
{
    pthread_t other;
    pthread_create(&other, NULL, wait_for_ever, NULL);
    syscall(SYS_exit, status);
}
int nested(int depth) { return depth == 0 ? 0 : java_again(depth - 1) + 1; }

static void fail(void *how) { java_fail((int)how); }

int caught(int how)
{
    static char text[40];
    java_object thrown = java_try(fail, (void *)how);
    if (!thrown)
        return 0;
    int length = java_message(thrown, text, sizeof text);
    puts(text);
    fflush(stdout);
    java_release(thrown);
    if (how == 3)
        java_throw("from C");
    return length;
}

java_object keep(java_object object)
{
    held = java_retain(object);
    return object;
}

java_object kept(void) { return held; }

void forget(void)
{
    java_release(held);
    held = 0;
}

int spin(int rounds)
{
    volatile int at = 0;
    while (rounds < 0 || at < rounds)
        at++;
    return at;
}

int deep(int depth) { return depth == 0 ? 0 : deep(depth - 1) + 1; }

/* Gives the status of another instance of this program. */
static int nest(void)
{
    char *words[] = {"self", "child", NULL};
    char *none[] = {NULL};
    int number, status;
    if (posix_spawn(&number, "/self", NULL, NULL, words, none))
        return 99;
    return waitpid(number, &status, 0) == number ? WEXITSTATUS(status) : 98;
}

int main(int argc, char **argv)
{
    jmp_buf back;
    if (argc > 1 && !strcmp(argv[1], "child"))
        return getchar() == EOF ? 4 : 3;
    if (argc > 1 && !strcmp(argv[1], "nest"))
        return nest();
    printf("%d %.3f %.2f %d\n", java_add(2, 3), java_mix(1, 2.5, 1LL << 40, 0.25f), java_half(3), java_length("four"));
    java_object list = java_make("a b c");
    printf("%d\n", java_size(list));
    java_release(list);
    if (!setjmp(back))
        longjmp(back, 1);
    printf("%d %d\n", caught(0), caught(1));
    if (argc > 1 && !strcmp(argv[1], "write")) {
        FILE *file = fopen("/made/file", "w");
        printf("%d\n", file ? fprintf(file, "written") : -1);
        if (file)
            fclose(file);
        file = fopen("/given", "r");
        char line[20] = "none";
        if (file)
            fgets(line, sizeof line, file);
        puts(line);
    }
    if (argc > 1 && !strcmp(argv[1], "spin"))
        spin(-1);
    if (argc > 1 && !strcmp(argv[1], "read"))
        getchar();
    fflush(stdout);
    if (argc > 1 && !strcmp(argv[1], "fail"))
        java_fail(2);
    return 7;
}
