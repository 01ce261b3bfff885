#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Which CPUs Linux with SMP may have while the module has some: on a machine with three CPUs, of which Linux was
# started with one (maxcpus=1), and the module is loaded. Speaks KTAP, by checks.sh.

# Linux's CPU of a number comes online, or goes offline.
online() { echo 1 2>/dev/null >"/sys/devices/system/cpu/cpu$1/online"; }
offline() { echo 0 2>/dev/null >"/sys/devices/system/cpu/cpu$1/online"; }

echo "KTAP version 1"
echo "1..16"
check "the module has all others" has 2
check "one that runs programs cannot come online" not online 1
check "and Linux says why" says "CPU 1 runs programs beside Linux" -eq 1
check "so it has all others still" suite runs_elsewhere threads
check "they are given back" unload
check "then it can" online 1
check "the module takes what is left" load
check "which is one" has 1
check "with two CPUs of Linux's" suite runs_elsewhere calls threads crowd stale_translations
# Linux has run all of them once: from now on it interrupts all at once, whose they are does not matter.
unload
online 2
check "there is none for the module" not load
check "and it says why" says "Linux runs all CPUs of this machine" -ge 1
offline 2
check "one that went offline is the module's" load
/bin/suite --spin &
spins=$!
check "and ignores what is not for it" suite runs_elsewhere local_events exceptions threads stale_translations \
	local_events crowd
kill -9 $spins
wait $spins
check "no CPU was lost" says "CPU [0-9]* is lost" -eq 0
offline 1
check "Linux's own can go offline meanwhile" suite runs_elsewhere calls threads
unload
check "all come online again" eval 'online 1 && online 2'
exit $failed
