/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which page is evicted, what is patched in a page, and what is counted: no more than
 * this, so that KUnit can test it.
 *
 * Part of coldswap.c, which includes it: what a fault needs must be one piece that no call
 * leaves.
 */

static __always_inline bool cold_spared(unsigned int frame, int spared,
					const unsigned long *candidates)
{
	return frame == spared || !test_bit(frame, candidates);
}

/**
 * cold_pick() - choose the frame whose page is to go
 * @p: the policy and its state
 * @count: number of frames
 * @candidates: frames that have a page
 * @recent: those of them that were used lately; for NRU
 * @spared: a frame that must stay, or -1
 * @age: set if none of them is to count as used lately any more
 *
 * Return: the frame, or -1 if there is none.
 */
static __resident int cold_pick(struct cold_picker *p, unsigned int count,
				const unsigned long *candidates,
				const unsigned long *recent, int spared, bool *age)
{
	unsigned int start = p->hand % count;
	unsigned int pass, i, frame;

	*age = false;
	if (p->policy == RANDOM) {
		p->random ^= p->random << 13;
		p->random ^= p->random >> 17;
		p->random ^= p->random << 5;
		start = p->random % count;
	}
	for (pass = p->policy == NRU ? 0 : 1; pass < 2; pass++) {
		for (i = 0; i < count; i++) {
			frame = (start + i) % count;
			if (cold_spared(frame, spared, candidates))
				continue;
			if (pass == 0 && test_bit(frame, recent))
				continue;
			p->hand = frame + 1;
			*age = p->policy == NRU && pass == 1;
			return frame;
		}
	}
	return -1;
}

/* Applies to a page what was patched in it, in the order in which it was. */
static __resident void cold_apply(u8 *data, const struct cold_patch *patch)
{
	for (; patch; patch = patch->next)
		memcpy(data + patch->offset, patch->bytes, patch->size);
}

/**
 * cold_supersede() - add a patch to those of a page
 * @head: the patches
 * @patch: the new one
 *
 * Return: those that it covers wholly, and which are no longer in the list.
 */
static __resident struct cold_patch *cold_supersede(struct cold_patch **head,
						    struct cold_patch *patch)
{
	struct cold_patch *dead = NULL, *old;

	while ((old = *head)) {
		if (old->offset >= patch->offset &&
		    old->offset + old->size <= patch->offset + patch->size) {
			*head = old->next;
			old->next = dead;
			dead = old;
		} else {
			head = &old->next;
		}
	}
	patch->next = NULL;
	*head = patch;
	return dead;
}

static __resident void cold_account(struct cold_counters *c, enum cold_context context,
				    bool fetch, bool data, u64 cycles)
{
	c->faults[context]++;
	if (!fetch)
		c->reads++;
	if (data)
		c->data_faults++;
	c->cycles += cycles;
	if (cycles > c->worst) {
		c->worst = cycles;
		c->worst_context = context;
	}
}

static __resident enum cold_context cold_context(const struct pt_regs *regs)
{
	if (in_nmi())
		return IN_NMI;
	if (in_hardirq())
		return IN_HARDIRQ;
	if (in_serving_softirq())
		return IN_SOFTIRQ;
	return regs->flags & X86_EFLAGS_IF ? IN_TASK : IRQS_OFF;
}
