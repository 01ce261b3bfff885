# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs $workload as often as the kernel's argument trimtab.rounds= says, or once, and says what was counted.

. /etc/trimtab/swap_common.sh
status=0
rounds=1
# Before the first round there is no tool but the shell.
read -r line < /proc/cmdline
for word in $line; do
	case $word in trimtab.rounds=*) rounds=${word#*=} ;; esac
done
round=0
while [ "$round" -lt "$rounds" ]; do
	[ "$round" = 0 ] || clean
	round=$((round + 1))
	sh "/etc/trimtab/$workload.sh" || status=$?
done
report
exit $status
