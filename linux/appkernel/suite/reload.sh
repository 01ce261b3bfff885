#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The module is loaded and unloaded again and again, and refuses what it cannot do: on a machine with two CPUs that
# Linux does not run, and the module is loaded. Speaks KTAP, by checks.sh.

cycle() { load && suite runs_elsewhere threads stale_translations && unload; }
cycles() {
	for round in 1 2 3 4 5 6 7 8; do
		cycle || return
	done
}

echo "KTAP version 1"
echo "1..12"
check "it has two CPUs" has 2
/bin/suite --spin &
spins=$!
until $busybox grep -q '^threads 1' /sys/kernel/debug/appkernel/status; do
	$busybox sleep 0.1
done
check "it is not unloaded while a thread is attached" not unload
kill -9 $spins
wait $spins
check "but is once that has ended" unload
check "an address that no CPU can start at is refused" not load page=0x10001
check "so is one above 1 MB" not load page=0x100000
check "and it says why" says "page=0x10[0-9]* is no page below 1 MB" -ge 2
check "one CPU can be asked for" load cpus=1
check "and it has that" has 1
check "so threads take turns there" suite runs_elsewhere threads crowd
check "it is unloaded again" unload
check "and loaded and unloaded, again and again" cycles
check "no CPU was lost" says "CPU [0-9]* is lost" -eq 0
exit $failed
