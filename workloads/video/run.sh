# SPDX-License-Identifier: MIT OR Apache-2.0
# Moving pictures there and back, as ffmpeg has them: MPEG-2, and H.264 by x264. The pictures are a program:
# as hard to compress as noise, and in every guest.
set -e
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin
mkdir -p /tmp/video
cd /tmp/video
# Three pictures of 176 by 144 pixels, at a byte and a half each.
head -c 114048 /bin/busybox > pictures
raw='-f rawvideo -pix_fmt yuv420p -video_size 176x144'
ffmpeg='ffmpeg -v error -nostdin -y -threads 1'
for codec in mpeg2video libx264; do
	$ffmpeg $raw -i pictures -c:v $codec -threads 1 -f avi coded
	$ffmpeg -i coded -f rawvideo back
	[ "$(wc -c < back)" -eq 114048 ]
done
rm -rf /tmp/video
