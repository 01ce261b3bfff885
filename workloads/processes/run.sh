# SPDX-License-Identifier: MIT OR Apache-2.0
# Processes: start, pipe, wait, signal, end, measure time.
set -e
/bin/busybox --install -s /bin

number=0
while [ $number -lt 40 ]; do
	/bin/true
	number=$((number + 1))
done
for number in 1 2 3 4 5 6 7 8 9 10; do
	(sh -c 'exit 0') &
done
wait
test "$(seq 1 3000 | sort -rn | uniq | head -n 1)" -eq 3000
test "$(yes | head -n 1000 | wc -l)" -eq 1000

sleep 100 &
kill -STOP $!
kill -CONT $!
kill -TERM $!
wait $! || test $? -eq 143

caught=no
trap 'caught=yes' USR1
kill -USR1 $$
test $caught = yes
trap - USR1

timeout 100 true
nice -n 5 true 2>/dev/null || true
usleep 20000
date > /dev/null
ps > /dev/null
(ulimit -n 16; true)
unshare true 2>/dev/null || true
mkfifo /tmp/pipe
echo through > /tmp/pipe &
read word < /tmp/pipe
test $word = through
wait
