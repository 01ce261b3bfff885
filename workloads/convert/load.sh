# SPDX-License-Identifier: MIT OR Apache-2.0
# A bitmap is turned, normalised, and stored as a JPEG picture.
case $1 in
prepare)
	sh /data/bitmap.sh > picture.ppm
	gm convert picture.ppm picture.bmp
	rm picture.ppm
	;;
run)
	MAGICK_TMPDIR=. gm convert -limit memory 40MB -limit map 256MB -limit disk 1GB picture.bmp -rotate 90 -normalize other.jpg
	;;
esac
