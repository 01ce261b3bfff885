# SPDX-License-Identifier: MIT OR Apache-2.0
# What the scripts of trimtab swap run share.

# Ends and removes what a workload leaves: it is written for a guest that has just come up.
clean() {
	kill -9 -1 2>/dev/null
	rm -rf /tmp/* /etc/rc.d
}

# Makes what the kernel counts readable.
counters() {
	/bin/busybox --install -s /bin
	mkdir -p /sys/kernel/debug
	mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
}

# Says what was counted, a line each.
report() {
	counters
	dmesg -n 1
	while read -r name value unit; do
		[ "$name" != MemTotal: ] || echo "trimtab: coldswap mem_total_kib $value"
	done < /proc/meminfo
	echo "trimtab: coldswap cpus $(nproc)"
	while read -r name value; do
		echo "trimtab: coldswap $name $value"
	done < /sys/kernel/debug/coldswap/stats
}
