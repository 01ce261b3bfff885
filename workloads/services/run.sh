# SPDX-License-Identifier: MIT OR Apache-2.0
# Another init than `boot`: it runs start scripts one after the other as an init with levels does,
# keeps settings on a partition, starts services, serves a status page and writes a crash report.
set -e
/bin/busybox --install -s /bin

mkdir -p /etc/init.d /etc/rc.d /var/run /var/log /var/lib/settings /srv
mount -t tmpfs -o size=2m settings /var/lib/settings
mount --bind /var/lib/settings /srv 2>/dev/null || true

for script in clock settings logging network status; do
	cat > /etc/init.d/$script <<'END'
#!/bin/sh
name=${0##*/}
echo $$ > /var/run/$name.pid
case $name in
clock) date -s '2026-01-01 12:00:00' > /dev/null || true ;;
settings) printf 'volume=7\nlanguage=de\n' > /var/lib/settings/user.conf
	sed 's/7/8/' /var/lib/settings/user.conf > /var/lib/settings/new.conf
	mv /var/lib/settings/new.conf /var/lib/settings/user.conf
	grep -q 'volume=8' /var/lib/settings/user.conf ;;
logging) [ ! -e /proc/net/unix ] || { syslogd -n -O /var/log/services & logger -t init 'services start'; } ;;
network) [ ! -d /proc/sys/net/ipv4 ] || {
	ifconfig lo up 127.0.0.1
	echo 'volume 8' > /srv/status
	httpd -p 127.0.0.1:8080 -h /srv
	wget -q -O - http://127.0.0.1:8080/status | grep -q 'volume 8'; } ;;
status) uptime > /dev/null; free > /dev/null; df > /dev/null; vmstat=$(cat /proc/vmstat | wc -l)
	test "$vmstat" -gt 10 ;;
esac
END
	chmod 755 /etc/init.d/$script
done
number=10
for script in clock settings logging network status; do
	ln -s ../init.d/$script /etc/rc.d/S$number$script
	number=$((number + 10))
done
for link in /etc/rc.d/S*; do
	/etc/init.d/"$(basename "$(readlink "$link")")" start
done
test "$(ls /var/run/*.pid | wc -l)" -ge 5

# A service that fails is started again, and its report is packed.
(sleep 1 & echo $! > /var/run/failing.pid; kill -9 $!; wait $!) 2>/dev/null || true
(cd /var && tar cf - run log 2>/dev/null | gzip -1 > /srv/report.tar.gz)
gunzip -c /srv/report.tar.gz | tar tf - | grep -q failing.pid
find /var -name '*.pid' | sort | xargs cat > /dev/null
umount /srv 2>/dev/null || true
