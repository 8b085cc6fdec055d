#!/usr/bin/env bash
# roff.sh CHECKOUT TOOL: mandoc, or man, reads the man pages without a warning. Skipped where there is no such tool.
set -eu
cd "$1"
tool=$2

if ! command -v "$tool" > /dev/null; then
    echo "skipped: there is no $tool here"
    exit 77
fi
case $tool in
    mandoc) lint() { mandoc -T lint "$1"; } ;;
    man)
        if ! man --version 2>&1 | grep -q '^man '; then
            echo "skipped: the man of this machine is not that of man-db"
            exit 77
        fi
        lint() { { LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" > /dev/null; } 2>&1; }
        ;;
esac

failed=0
for page in docs/man/*.[1-9]; do
    warnings=$(lint "$page" || true)
    if [ -n "$warnings" ]; then
        echo "$page: $warnings"
        failed=1
    fi
done
exit "$failed"
