# SPDX-License-Identifier: MIT OR Apache-2.0
# Writes a bitmap of 30 MB in PPM, as large as the one of the paper: noise, made twice as large twice by cjpeg and djpeg.
{ printf 'P6\n900 700\n255\n'; cat /bin/busybox /bin/busybox | head -c 1890000; } |
	cjpeg -quality 90 | djpeg -scale 2/1 | cjpeg -quality 90 | djpeg -scale 2/1
