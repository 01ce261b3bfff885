# SPDX-License-Identifier: MIT OR Apache-2.0
# A JPEG picture of 10 million points is decoded to a bitmap.
case $1 in
prepare)
	sh /data/bitmap.sh | cjpeg -quality 90 > picture.jpg
	;;
run)
	djpeg -outfile back.ppm picture.jpg
	[ "$(stat -c %s back.ppm)" = 30240017 ]
	;;
esac
