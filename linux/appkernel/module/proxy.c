// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thesis's way, to compare ours with: system calls and faults of a thread that is elsewhere are no matter of its
 * own context. They become a message in the program's memory, and a proxy in user mode, with a stack of its own,
 * makes the call, or touches the page, and says what came of it. As there, signals are not for such programs; what
 * begins, replaces or ends a process does not go through the proxy, and what comes of it has none.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/trap_pf.h>
#include <asm/unistd.h>
#include "appkernel.h"
#include "proxy.h"

/* The instruction, as a number. */
#define AK_SYSCALL_CODE 0x050f

/**
 * struct ak_proxy - what is known of a thread's proxy
 * @message: where messages are written
 * @entry: where it begins
 * @stack: with which stack
 * @address: of a fault that it has to take, or 0
 * @write: whether that was a write
 * @faulted: what it does is to take a fault
 * @runs: it runs, and so the thread does not leave
 * @is_done: it has done what it had to
 * @result: of that, if it was a call
 * @regs: the program's registers, while it runs
 */
struct ak_proxy {
	struct ak_message __user *message;
	u64 entry, stack, address;
	bool write, faulted, runs, is_done;
	unsigned long result;
	struct pt_regs regs;
};

/* Puts the proxy in the place of the program. */
static void send(struct ak_proxy *proxy, const struct ak_message *message, struct pt_regs *regs)
{
	if (copy_to_user(proxy->message, message, offsetof(struct ak_message, entry)))
		return;
	proxy->faulted = message->number == AK_PROXY_FAULT;
	if (!proxy->faulted)
		regs->ip += 2;
	proxy->regs = *regs;
	proxy->runs = true;
	proxy->is_done = false;
	regs->ip = proxy->entry;
	regs->sp = proxy->stack;
	regs->di = (unsigned long)proxy->message;
	regs->flags &= ~X86_EFLAGS_DF;
}

/* Calls that a proxy cannot make in the place of another. */
static bool is_own(long number)
{
	switch (number) {
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
	case __NR_execve:
	case __NR_execveat:
	case __NR_exit:
	case __NR_exit_group:
	case __NR_rt_sigreturn:
		return true;
	default:
		return false;
	}
}

static void forget(struct ak_thread *thread)
{
	kfree(thread->proxy);
	thread->proxy = NULL;
	/* It may be queued again already. */
	thread->work.func = ak_thread_work;
}

/* What the thread came back for is its next instruction here, so far. */
static void send_what_comes(struct ak_thread *thread, struct pt_regs *regs)
{
	struct ak_proxy *proxy = thread->proxy;
	struct ak_message message = {
		.number = regs->ax,
		.arguments = { regs->di, regs->si, regs->dx, regs->r10, regs->r8, regs->r9 },
	};
	u16 code;

	/* Proxies have no way to live in the kernel. */
	thread->calls = 0;
	if (proxy->address) {
		message = (struct ak_message){
			.number = AK_PROXY_FAULT,
			.arguments = { proxy->address, proxy->write },
		};
		proxy->address = 0;
		send(proxy, &message, regs);
		return;
	}
	if (get_user(code, (u16 __user *)regs->ip) || code != AK_SYSCALL_CODE)
		return;
	/* Whoever replaces its program loses the proxy with it. */
	if (message.number == __NR_execve || message.number == __NR_execveat)
		forget(thread);
	else if (!is_own(message.number))
		send(proxy, &message, regs);
}

/* The program goes on behind its call, or with what the fault interrupted. */
static void go_on(struct ak_proxy *proxy, struct pt_regs *regs)
{
	*regs = proxy->regs;
	proxy->runs = false;
	if (!proxy->faulted)
		regs->ax = proxy->result;
}

/* Instead of ak_thread_work(). */
static void work(struct callback_head *head)
{
	struct ak_thread *thread = container_of(head, struct ak_thread, work);

	if (!thread->task || (current->flags & PF_EXITING)) {
		ak_thread_work(head);
		return;
	}
	if (thread->proxy->runs && !thread->proxy->is_done) {
		WRITE_ONCE(thread->queued, 0);
		return;
	}
	if (thread->proxy->runs)
		go_on(thread->proxy, task_pt_regs(current));
	if (thread->mm)
		WRITE_ONCE(thread->mm->has_proxies, true);
	/* Of a fault before a signal, which is taken once more. */
	thread->proxy->address = 0;
	ak_thread_work(head);
	if (!signal_pending(current))
		send_what_comes(thread, task_pt_regs(current));
}

/**
 * ak_proxy_faults - remembers a page fault for the proxy of the current thread
 * @cpu: the CPU that it came from
 *
 * Return: false if it has none.
 */
bool ak_proxy_faults(struct ak_cpu *cpu)
{
	struct ak_thread *thread = ak_thread_find(current);

	if (!thread || !thread->proxy || cpu->fault_address >= TASK_SIZE_MAX)
		return false;
	thread->proxy->address = cpu->fault_address;
	thread->proxy->write = cpu->error & X86_PF_WRITE;
	return true;
}

/* Gives the current thread a proxy; attaches it, unless what started it was. */
static long start(struct ak_message __user *message)
{
	struct ak_thread *thread = ak_thread_find(current);
	struct ak_proxy *proxy;
	struct ak_message said;
	long error;

	if (thread && thread->proxy)
		return -EBUSY;
	if (copy_from_user(&said, message, sizeof(said)))
		return -EFAULT;
	if (said.entry >= TASK_SIZE_MAX || said.stack >= TASK_SIZE_MAX)
		return -EINVAL;
	proxy = kzalloc(sizeof(*proxy), GFP_KERNEL);
	if (!proxy)
		return -ENOMEM;
	proxy->message = message;
	proxy->entry = said.entry;
	proxy->stack = said.stack;
	error = thread ? 0 : ak_hooks_on();
	if (!error && !thread)
		error = ak_thread_attach(current, NULL, false, GFP_KERNEL);
	if (error) {
		kfree(proxy);
		return error;
	}
	/* Its work runs behind this call. */
	thread = ak_thread_find(current);
	thread->proxy = proxy;
	thread->work.func = work;
	return 0;
}

/* The work behind this call lets the program go on: what this gives would be cut to 32 bits. */
static long done(unsigned long result)
{
	struct ak_thread *thread = ak_thread_find(current);

	if (!thread || !thread->proxy || !thread->proxy->runs)
		return -EINVAL;
	thread->proxy->result = result;
	thread->proxy->is_done = true;
	return 0;
}

/**
 * ak_proxy_ioctl - starts a proxy, or lets its program go on
 * @file: the device
 * @command: AK_PROXY_START or AK_PROXY_DONE
 * @argument: the address of the message, or the result
 *
 * Return: 0 or an error.
 */
long ak_proxy_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	switch (command) {
	case AK_PROXY_START:
		return start((struct ak_message __user *)argument);
	case AK_PROXY_DONE:
		return done(argument);
	default:
		return -ENOTTY;
	}
}
