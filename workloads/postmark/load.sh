# SPDX-License-Identifier: MIT OR Apache-2.0
# Mail: small files are made, read, appended to and removed.
case $1 in
prepare)
	cat > config <<'END'
set number 2000
set size 500 20000
set transactions 4000
set buffering false
set report terse
run
quit
END
	;;
run)
	postmark config
	;;
esac
