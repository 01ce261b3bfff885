# SPDX-License-Identifier: MIT OR Apache-2.0
# A bitmap is turned, normalised, and stored as a JPEG picture.
case $1 in
prepare)
	# Noise, made twice as large twice: 30 MB, as the bitmap of the paper.
	{ printf 'P6\n900 700\n255\n'; cat /bin/busybox /bin/busybox | head -c 1890000; } |
		cjpeg -quality 90 | djpeg -scale 2/1 | cjpeg -quality 90 | djpeg -scale 2/1 > picture.ppm
	gm convert picture.ppm picture.bmp
	rm picture.ppm
	;;
run)
	MAGICK_TMPDIR=. gm convert -limit memory 40MB -limit map 256MB -limit disk 1GB picture.bmp -rotate 90 -normalize other.jpg
	;;
esac
