# SPDX-License-Identifier: MIT OR Apache-2.0
# A document is typeset for a printer.
case $1 in
prepare)
	awk 'BEGIN {
		for (section = 1; section <= 600; section++) {
			printf ".SH\nSection %d\n.PP\n", section
			for (word = 1; word <= 150; word++)
				printf "word%d%s", (section * word) % 97, word % 10 ? " " : ".\n"
		}
	}' > document.ms
	;;
run)
	groff -ms -Tps document.ms > document.ps
	[ "$(grep -c '^%%Page:' document.ps)" -ge 30 ]
	;;
esac
