#include <stdint.h>

#include "trimtab.h"

struct counter;
typedef int (*visit)(void *data, int value, double weight);

struct counter *counter_new(const char *name, int start);
int counter_add(struct counter *counter, int by);
const char *counter_name(const struct counter *counter);
void counter_free(struct counter *counter);
double weigh(double a, float b, int c, double d, int64_t e);
float half(float a);
int64_t wide(int a, int64_t b, int c, int64_t d);
int many(int a, int b, int c, int d, int e, int f);
int each(struct counter *counter, visit function, void *data);
double each_real(double (*function)(double, float, int, double), int times);
int instances(void);
int say(const char *text);
int crash(int how);
void leave(int status);
void leave_thread(int status);
int nested(int depth);
int caught(int depth);
java_object keep(java_object object);
java_object kept(void);
void forget(void);
int spin(int rounds);
int deep(int depth);
int printf_like(const char *format, ...);
