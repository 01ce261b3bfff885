# SPDX-License-Identifier: MIT OR Apache-2.0
# What stress tests of a product ask of its kernel: stress-ng's own, a little of each.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin
mkdir -p /tmp/stress /dev/shm
status=0
tests='pipe switch futex fork vfork pthread poll dir dentry getdent hdd seek sendfile splice eventfd signal
	sigq timer nanosleep mprotect brk msg get utime chmod access'
# It fails where there is none.
[ ! -e /proc/net/unix ] || tests="$tests epoll"
for test in $tests; do
	stress-ng --quiet --seed 1 --temp-path /tmp/stress "--$test" 1 "--$test-ops" 8 > /tmp/stress.said 2>&1
	case $? in
	# 4: nothing for this kernel.
	0 | 4) ;;
	*)
		echo "stress-ng --$test failed"
		cat /tmp/stress.said
		status=1
		;;
	esac
done
rm -rf /tmp/stress /tmp/stress.said
exit $status
