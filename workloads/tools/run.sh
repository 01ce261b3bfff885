# SPDX-License-Identifier: MIT OR Apache-2.0
# The tools of a small system, most of them once: what a person at its console may ask for. Tools
# that this kernel has nothing for are passed over.
/bin/busybox --install -s /bin

mkdir -p /tmp/tools/folder /dev/pts /dev/shm
cd /tmp/tools
seq 1 500 > numbers
seq 250 750 > others
{
	arch; hostid; nproc; tty; uname -a; whoami; who; id; groups; logname; env; pwd; uptime; free
	cal; date; date -s '2026-03-04 05:06:07'; hwclock -r; mount; df -i; du -a .; dmesg -s 4096
	ls -laR /proc/self; ls -la /sys /dev; lsof; lspci; lsscsi; blkid; fdisk -l; ifconfig -a; route
	netstat -a; arp -a; ipcs; top -b -n 1; pstree; pmap $$; pgrep sh; pidof sh; pwdx $$; iostat; mpstat
	sysctl -a; cat /proc/interrupts /proc/vmstat /proc/slabinfo /proc/modules /proc/filesystems
	cat /proc/self/maps /proc/self/smaps /proc/self/status /proc/self/limits /proc/buddyinfo
	cat /proc/loadavg /proc/stat /proc/diskstats /proc/partitions /proc/zoneinfo /proc/iomem
	find /sys -maxdepth 4 -type f -perm -400 -name 'u*' | head -n 40 | xargs cat
	stty -a; stty rows 25; chvt 1; setfont; loadkmap < /dev/null; reset < /dev/null

	cp numbers copy; install -m 600 copy installed; ln copy hard; ln -s copy soft; link copy linked
	unlink linked; mv hard moved; chmod 640 moved; chown 1:1 moved; chgrp 0 moved; chattr +d moved
	lsattr moved; touch -r copy moved; truncate -s 1M sparse; fallocate -l 64k space; fsync copy
	mkfifo pipe; mknod null c 1 3; mktemp; readlink soft; realpath soft; stat -f .; rmdir folder
	flock copy true; shred -n 1 space; split -l 100 numbers part; sync; dd if=/dev/urandom of=noise bs=4k count=4
	tail -n 3 numbers; tac numbers; head -c 100 noise | hexdump -C; od noise | head -n 2; xxd noise | head -n 2
	sort -R numbers; comm numbers others; diff numbers others; cmp numbers others; join numbers others
	paste numbers others; cut -c 1 numbers; fold -w 20 numbers; nl numbers; rev numbers; tr 0-9 a-j < numbers
	sed -n '/7/p' numbers; awk '{ n += $1 } END { print n }' numbers; grep -c 1 numbers; expr 6 '*' 7
	md5sum copy; sha256sum copy; sha512sum copy; cksum copy; crc32 copy; sum copy; base64 noise; uuencode x < noise
	gzip -k copy; bzip2 -k numbers; tar cf all.tar numbers others; tar tf all.tar; find . | cpio -o -H newc > all.cpio
	cpio -t < all.cpio; gunzip -c copy.gz; bunzip2 -c numbers.bz2; strings all.tar; patch --dry-run < /dev/null
	xargs -n 50 echo < numbers; tree; which sh; time true; timeout 1 true; nohup true; setsid true; nice true
	ionice true; renice 5 $$; chrt -p $$; taskset -p $$; chroot / true; unshare -m true; timeout -s KILL 1 watch -t true
	killall -0 sh; mesg n; ulimit -a; times; umask
	mount -t tmpfs -o size=1m tools folder || { mkdir folder; mount -t tmpfs tools folder; }
	mount -o remount,ro folder; mount -o bind /proc folder; umount folder; umount folder; mountpoint /proc
	dd if=/dev/zero of=disk bs=64k count=32; mkfs.ext2 disk; mkswap space; losetup -f disk; losetup -a; losetup -d /dev/loop0
} > /tmp/output 2>&1 < /dev/null
cd /
rm -rf /tmp/tools
test -s /tmp/output
