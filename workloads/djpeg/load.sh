# SPDX-License-Identifier: MIT OR Apache-2.0
# A JPEG picture of 10 million points is decoded to a bitmap.
case $1 in
prepare)
	# Noise, made twice as large twice: 30 MB, as the bitmap of the paper.
	{ printf 'P6\n900 700\n255\n'; cat /bin/busybox /bin/busybox | head -c 1890000; } |
		cjpeg -quality 90 | djpeg -scale 2/1 | cjpeg -quality 90 | djpeg -scale 2/1 |
		cjpeg -quality 90 > picture.jpg
	;;
run)
	djpeg -outfile back.ppm picture.jpg
	[ "$(stat -c %s back.ppm)" = 30240017 ]
	;;
esac
