#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What scripts of checks share: it stands before each of them. A check is a line of KTAP.

busybox=/bin/busybox
number=0 failed=0
check() {
	local name=$1

	shift
	number=$((number + 1))
	if "$@" 2>&1; then
		echo "ok $number $name"
	else
		echo "not ok $number $name"
		failed=1
	fi
}
not() { ! "$@"; }
load() { $busybox insmod /lib/modules/appkernel.ko "$@"; }
unload() { $busybox rmmod appkernel; }
# Whether the module has so many CPUs.
has() { [ "$($busybox grep -c '^cpu ' /sys/kernel/debug/appkernel/status)" = "$1" ]; }
# Whether Linux says so, in a number of lines that passes a test.
says() { [ "$($busybox dmesg | $busybox grep -c "appkernel: $1")" "$2" "$3" ]; }
# Whether all of these tests pass.
suite() { ! /bin/suite "$@" | $busybox grep '^not ok'; }
