# SPDX-License-Identifier: MIT OR Apache-2.0
# A disk in use: fio's random reads and writes in three ways, and what a file server's clients do, by
# dbench. On ext2 on a disk in memory, so that it takes the same time each time; where the kernel has
# none, on the guest's root.
set -e
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin
mkdir -p /tmp/storage
cd /tmp
disk=
if [ -b /dev/ram0 ] && mkfs.ext2 /dev/ram0 > /dev/null 2>&1 && mount -t ext4 /dev/ram0 /tmp/storage; then
	disk=/dev/ram0
fi

# Both need System V shared memory.
if [ -e /proc/sysvipc/shm ]; then
	for engine in sync psync pvsync; do
		fio --name=$engine --ioengine=$engine --rw=randrw --bs=4k --size=512k --io_size=1m --fsync=16 \
			--directory=/tmp/storage --thread --randrepeat=1 --invalidate=0 --fadvise_hint=0 \
			--output=/tmp/fio.$engine
	done

	# What a client does with a few documents. dbench does it again until its time is over: what has
	# an end is what fails, so the last thing to do is to remove what is not there.
	{
		echo 'Mkdir "\clients" NT_STATUS_OK'
		echo 'Mkdir "\clients\client1" NT_STATUS_OK'
		for handle in 101 102 103 104 105 106 107 108; do
			name="\"\\clients\\client1\\$handle.doc\""
			new="\"\\clients\\client1\\$handle.bak\""
			echo "NTCreateX $name 0x40 0x2 $handle NT_STATUS_OK"
			echo 'QUERY_FS_INFORMATION 1 NT_STATUS_OK'
			echo "WriteX $handle 0 32768 32768 NT_STATUS_OK"
			echo "WriteX $handle 32768 1000 1000 NT_STATUS_OK"
			echo "Flush $handle NT_STATUS_OK"
			echo "LockX $handle 0 512 NT_STATUS_OK"
			echo "ReadX $handle 4096 4096 4096 NT_STATUS_OK"
			echo "UnlockX $handle 0 512 NT_STATUS_OK"
			echo "QUERY_FILE_INFORMATION $handle 258 NT_STATUS_OK"
			echo "Close $handle NT_STATUS_OK"
			echo "QUERY_PATH_INFORMATION $name 1004 NT_STATUS_OK"
			echo "FIND_FIRST \"\\clients\\client1\\*\" 260 1366 8 NT_STATUS_OK"
			echo "Rename $name $new NT_STATUS_OK"
		done
		for handle in 101 102 103 104 105 106 107 108; do
			echo "Unlink \"\\clients\\client1\\$handle.bak\" 0x6 NT_STATUS_OK"
		done
		echo 'Unlink "\clients\client1\the-end" 0x6 NT_STATUS_OK'
	} > client.txt
	dbench --loadfile=/tmp/client.txt --directory=/tmp/storage --timelimit=60 1 > dbench.said 2>&1 || true
	grep -q 'failed at line 115$' dbench.said
fi

sync
if [ "$disk" ]; then
	umount /tmp/storage
fi
rm -rf /tmp/storage /tmp/client.txt /tmp/fio.* /tmp/dbench.said
