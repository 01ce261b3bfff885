# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs all $workloads three times over, the driver's own tests where the kernel has them, and says what was
# counted.

. /etc/trimtab/swap_common.sh
status=0
for round in 1 2 3; do
	for name in $workloads; do
		clean
		sh "/etc/trimtab/$name.sh" || { status=$?; echo "workload $name failed"; }
	done
	# The kernel's table of its symbols, where it has one, all of which is to be there.
	if [ -r /proc/kallsyms ]; then
		found=$(sort /proc/kallsyms | md5sum)
		[ "$found" = "${first=$found}" ] || { status=1; echo "the symbols changed"; }
	fi
done
counters
tests=/sys/kernel/debug/kunit/coldswap
if [ -e $tests/run ]; then
	# Some need code that is swapped out, and were skipped at boot.
	echo 1 > $tests/run
	cat $tests/results
	if grep -q -e SKIP -e "not ok" $tests/results; then
		status=1
		echo "a test of the driver failed or was skipped"
	fi
fi
report
exit $status
