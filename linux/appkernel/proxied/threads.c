// SPDX-License-Identifier: GPL-2.0-only
/* Gives each thread of a program a proxy of its own. It is linked with --wrap=pthread_create. */
#include <pthread.h>
#include <stdlib.h>
#include "suite.h"

struct start {
	void *(*body)(void *data);
	void *data;
};

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *data), void *data);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *data), void *data);

static void *begin(void *given)
{
	struct start start = *(struct start *)given;

	free(given);
	if (attach_proxy())
		abort();
	return start.body(start.data);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *data), void *data)
{
	struct start *start = malloc(sizeof(*start));

	if (!start)
		abort();
	start->body = body;
	start->data = data;
	return __real_pthread_create(thread, how, begin, start);
}
