# SPDX-License-Identifier: MIT OR Apache-2.0
# What a small appliance does until its shell is there: device nodes, kernel settings, host name,
# loopback, logging, a shell.
set -e
/bin/busybox --install -s /bin

mkdir -p /dev/pts /dev/shm /var/log /var/run /root /mnt
[ ! -d /sys/kernel/debug ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null || true
mount -t devpts devpts /dev/pts -o gid=5,mode=620 2>/dev/null || true
mount -t tmpfs tmpfs /dev/shm
mdev -s 2>/dev/null

hostname appliance
[ ! -e /proc/sys/kernel/panic_on_oops ] || echo 1 > /proc/sys/kernel/panic_on_oops
[ ! -e /proc/sys/vm/swappiness ] || echo 10 > /proc/sys/vm/swappiness

# A kernel without a network has none of this.
if [ -d /proc/sys/net/ipv4 ]; then
	ifconfig lo 127.0.0.1 netmask 255.0.0.0 up
	route -n > /dev/null
fi

if [ -e /proc/net/unix ]; then
	syslogd -O /var/log/messages
	logger -t appliance 'system is up'
fi
dmesg > /var/log/dmesg
mount -o remount,rw / 2>/dev/null || true
cat /proc/meminfo /proc/cpuinfo /proc/mounts > /var/log/machine
ps > /var/log/processes
sh -c 'test "$(hostname)" = appliance && id > /dev/null'
