#include <stdio.h>
#include <trimtab_probe.h>

static __thread uint64_t starts[1024], depth;
static struct {
	const char *name;
	uint64_t cycles;
} largest[1024];

void trimtab_probe_user_enter(const struct trimtab_probe_function *f, uint64_t time)
{
	starts[depth++ & 1023] = time;
}

void trimtab_probe_user_leave(const struct trimtab_probe_function *f, uint64_t time)
{
	uint64_t spent = time - starts[--depth & 1023];

	if (spent > largest[f->id & 1023].cycles) {
		largest[f->id & 1023].name = f->name;
		largest[f->id & 1023].cycles = spent;
	}
}

__attribute__((destructor)) static void end(void)
{
	for (int i = 0; i < 1024; i++)
		if (largest[i].name)
			fprintf(stderr, "%s: %lu cycles\n", largest[i].name, largest[i].cycles);
}
