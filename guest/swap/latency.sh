# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs each of $workloads once while a thread of real-time priority sleeps and wakes, and says how much too
# late it woke up at worst, in microseconds, where the kernel can wake it at all; and what was counted.

. /etc/trimtab/swap_common.sh
status=0
/bin/busybox --install -s /bin
for name in $workloads; do
	clean
	cyclictest --quiet --mlockall --priority=80 --interval=1000 > /run/late 2> /run/why &
	timer=$!
	sh "/etc/trimtab/$name.sh" || { status=$?; echo "workload $name failed"; }
	kill -INT $timer
	wait $timer
	worst=$(sed -n 's/.* Max: *\([0-9]*\).*/\1/p' /run/late)
	[ "$worst" ] || { cat /run/late /run/why; continue; }
	echo "trimtab: coldswap late_$name $worst"
done
report
exit $status
