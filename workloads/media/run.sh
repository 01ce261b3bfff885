# SPDX-License-Identifier: MIT OR Apache-2.0
# Codecs there and back, in the place of MediaBench II: JPEG, JPEG 2000, lossless sound. What they code
# is a program: as hard to compress as noise, and in every guest.
set -e
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin
mkdir -p /tmp/media
cd /tmp/media
{ printf 'P6\n320 240\n255\n'; head -c 230400 /bin/busybox; } > picture.ppm
for quality in 50 90; do
	cjpeg -quality $quality -optimize -outfile picture.jpg picture.ppm
	djpeg -outfile back.ppm picture.jpg
	[ "$(wc -c < back.ppm)" = "$(wc -c < picture.ppm)" ]
done
opj_compress -i picture.ppm -o picture.jp2 -r 20 > /dev/null
opj_decompress -i picture.jp2 -o back.ppm > /dev/null
[ "$(wc -c < back.ppm)" -ge 230400 ]
head -c 400000 /bin/busybox > sound
raw='--silent --force-raw-format --endian=little --sign=signed'
flac $raw --channels=2 --bps=16 --sample-rate=44100 --output-name=sound.flac sound
flac --decode $raw --output-name=back sound.flac
cmp sound back
rm -rf /tmp/media
