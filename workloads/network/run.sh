# SPDX-License-Identifier: MIT OR Apache-2.0
# The network of one machine: loopback, a web server and its client, a stream, a datagram socket.
set -e
/bin/busybox --install -s /bin
mkdir -p /var/log /tmp/www

if [ ! -d /proc/sys/net/ipv4 ]; then
	echo 'this kernel has no network'
	exit 0
fi
ifconfig lo 127.0.0.1 netmask 255.0.0.0 up
ip addr show lo > /dev/null
ip route > /dev/null
ping -c 1 127.0.0.1 > /dev/null

# Waits for a listener, by its port in hexadecimal. Never longer than ten seconds.
listening() {
	tries=0
	until cat /proc/net/tcp* | grep -q ":$1 0*:0000 0A"; do
		tries=$((tries + 1))
		test $tries -lt 1000
		usleep 10000
	done
}

# It answers before it goes to the background, so there is nothing to wait for.
seq 1 2000 > /tmp/www/index.html
httpd -p 127.0.0.1:80 -h /tmp/www
for number in 1 2 3; do
	wget -q -O /tmp/page http://127.0.0.1/index.html
	cmp /tmp/page /tmp/www/index.html
done
if wget -q -O /tmp/none http://127.0.0.1/none 2>/dev/null; then
	exit 1
fi

nc -l -p 7 -e /bin/sh -c 'cat > /tmp/stream' &
listening 0007
dd if=/dev/zero bs=16k count=8 2>/dev/null | nc 127.0.0.1 7
wait $!
test "$(wc -c < /tmp/stream)" -eq 131072

syslogd -O /tmp/messages
for number in 1 2 3 4 5; do
	logger "message $number"
done
netstat -an > /dev/null
ifconfig lo down
