#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Each allocation in turn fails, those that may wait for memory, too.

for what in failslab fail_page_alloc; do
	echo N >/sys/kernel/debug/$what/ignore-gfp-wait
	echo 0 >/sys/kernel/debug/$what/verbose
done
echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem
echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
exec /bin/suite --failures
