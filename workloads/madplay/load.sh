# SPDX-License-Identifier: MIT OR Apache-2.0
# Three minutes of sound in MP3 are decoded to a file.
case $1 in
prepare)
	# Ten seconds of noise, as a program is; twenty times.
	cat /bin/busybox /bin/busybox | head -c 1764000 | lame --silent -r -s 44.1 --bitwidth 16 -m s - part.mp3
	for time in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		cat part.mp3
	done > sound.mp3
	rm part.mp3
	;;
run)
	madplay --quiet --output=wave:sound.wav sound.mp3
	[ "$(stat -c %s sound.wav)" -ge 35000000 ]
	;;
esac
