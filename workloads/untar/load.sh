# SPDX-License-Identifier: MIT OR Apache-2.0
# An archive of many small files is unpacked, read and removed.
case $1 in
prepare)
	for folder in $(seq 40); do
		mkdir -p tree/$folder
		for file in $(seq 100); do
			head -c $((file * 97)) /bin/busybox > tree/$folder/$file
		done
	done
	tar cf tree.tar tree
	rm -r tree
	;;
run)
	tar xf tree.tar
	[ "$(find tree -type f | xargs cat | wc -c)" = 19594000 ]
	rm -r tree
	;;
esac
