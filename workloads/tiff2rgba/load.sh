# SPDX-License-Identifier: MIT OR Apache-2.0
# A colour picture in TIFF becomes one of four values for each point.
case $1 in
prepare)
	# Noise, made twice as large twice: 30 MB, as the bitmap of the paper.
	{ printf 'P6\n900 700\n255\n'; cat /bin/busybox /bin/busybox | head -c 1890000; } |
		cjpeg -quality 90 | djpeg -scale 2/1 | cjpeg -quality 90 | djpeg -scale 2/1 > picture.ppm
	ppm2tiff -c none picture.ppm picture.tif
	rm picture.ppm
	;;
run)
	tiff2rgba -b -c none picture.tif other.tif
	[ "$(stat -c %s other.tif)" -ge 40000000 ]
	;;
esac
