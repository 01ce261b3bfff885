//! A tree of kernel source of a few lines, in which all is present that `trimtab smp study` counts.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

/// Its files.
const FILES: [(&str, &str); 8] = [
    ("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\nEXTRAVERSION =\n"),
    ("kernel/sched.c", SCHED),
    ("kernel/fork.c", FORK),
    ("mm/memory.c", "int used;\n\nint pages(void)\n{\n\treturn used;\n}\n"),
    ("arch/x86/kernel/smp.c", SMP),
    ("arch/x86/kernel/Makefile", "obj-$(CONFIG_SMP) += smp.o\n"),
    ("arch/x86/Kconfig", KCONFIG),
    ("drivers/disk.c", DISK),
];

const SCHED: &str = "\
#include <linux/sched.h>

static int weight(struct task *p, int cpu)
{
\tint weight = p->weight;
#ifdef CONFIG_SMP
\tif (p->cpu == cpu && !p->moved)
\t\tweight += 15;
#endif
\treturn weight;
}

void schedule(struct runqueue *rq)
{
\tspin_lock_irq(&rq->lock);
\t/* spin_lock_irq(&rq->lock) is a comment here. */
\twhile (rq->next && rq->curr != rq->next)
\t\tswitch_to(rq);
\tspin_unlock_irq(&rq->lock);
}
";

const FORK: &str = "\
int copy(struct task *p)
{
\tguard(mutex)(&p->lock);
\trcu_read_lock();
\tp->parent = rcu_dereference(p->real_parent);
\trcu_read_unlock();
\treturn IS_ENABLED(CONFIG_SMP) ? 1 : 0;
}
";

const SMP: &str = "\
#ifdef CONFIG_SMP
void stop(int cpu)
{
\tsend(cpu, STOP);
}
#endif
";

const KCONFIG: &str = "\
config SMP
\tbool \"Several CPUs\"
\tselect HOTPLUG_CORE

config NR_CPUS
\tint \"How many\"
\tdepends on SMP
\thelp
\t  This depends on memory:
\t  depends on !SMP

config UP_APIC
\tbool
\tdepends on !SMP
";

const DISK: &str = "\
void request(struct disk *d)
{
\tdown(&d->sem);
\tstart(d);
\tup(&d->sem);
}
";

/// Writes it into a folder.
pub fn write(folder: &Path) {
    for (name, text) in FILES {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
