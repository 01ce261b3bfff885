# SPDX-License-Identifier: MIT OR Apache-2.0
# Files and folders: make, write, read, copy, link, rename, search, pack, remove.
set -e
/bin/busybox --install -s /bin

mkdir -p /tmp/files
cd /tmp/files
for folder in a b c d; do
	mkdir -p $folder/one/two/three
	for file in 1 2 3 4 5; do
		echo "$folder $file" > $folder/$file
		echo "$folder $file" > $folder/one/two/three/$file
	done
done
dd if=/dev/zero of=large bs=64k count=16 2>/dev/null
cp large copy
cmp large copy
echo end >> copy
ln large hard
ln -s large soft
test "$(readlink soft)" = large
mv copy renamed
chmod 600 renamed
touch -d '2026-01-01 00:00:00' renamed
stat renamed > /dev/null
truncate -s 4096 hard
test "$(find . -type f | wc -l)" -eq 43
tar cf /tmp/files.tar .
mkdir /tmp/unpacked
tar xf /tmp/files.tar -C /tmp/unpacked
cmp a/1 /tmp/unpacked/a/1
grep -r 'c 3' /tmp/unpacked > /dev/null
md5sum /tmp/unpacked/a/[1-5] > sums
md5sum -c sums > /dev/null
df /tmp > /dev/null
du -s /tmp/unpacked > /dev/null
mkfifo pipe
sync
rm -r /tmp/files/* /tmp/unpacked /tmp/files.tar
mkdir /tmp/mounted
mount -t tmpfs tmpfs /tmp/mounted
echo mounted > /tmp/mounted/file
umount /tmp/mounted
