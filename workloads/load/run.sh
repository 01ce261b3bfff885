# SPDX-License-Identifier: MIT OR Apache-2.0
# What servers do most: messages between many processes, and many small files; with a thread beside them
# that has to be in time.
set -e
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin
cyclictest --quiet --mlockall --priority=80 --interval=1000 --loops=40 > /dev/null 2>&1 &
hackbench --pipe --process --groups 2 --fds 5 --loops 20
mkdir -p /tmp/post
printf '%s\n' 'set location /tmp/post' 'set number 100' 'set transactions 300' 'set seed 1' 'run' 'quit' |
	postmark > /dev/null
wait
rm -rf /tmp/post
