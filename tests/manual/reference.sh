#!/usr/bin/env bash
# reference.sh CHECKOUT FOLDER: the API reference is made without a warning, and each call has a page of its own. Skipped where
# doxygen isn't 1.9.4, Debian 12's: others warn of other things.
set -eu
cd "$1"
folder=$2

if [[ $(doxygen --version 2> /dev/null) != 1.9.4* ]]; then
    echo "skipped: there is no doxygen 1.9.4 here"
    exit 77
fi
bash docs/api/make.sh "$folder"

# The names of the calls whose pages show nothing else.
cd "$folder/html"
grep -c 'class="memtitle"' -- *.html | sed -n 's/:1$//p' | xargs sed -n 's|.*class="memtitle".*</span>\([A-Za-z_]*\)()<.*|\1|p' |
    LC_ALL=C sort -u > "$folder/pages"
cd "$OLDPWD"
sed -nE 's/^(STREAMPOOL|SIMCUDA)_API .*[ *](pool|simcuda)([A-Za-z_]+)\(.*/\2\3/p' include/streampool/{streampool,mam,copy,heap,simcuda}.h |
    LC_ALL=C sort > "$folder/calls"
count=$(wc -l < "$folder/calls")
if [ "$count" -lt 50 ]; then
    echo "only $count calls were found in the headers"
    exit 1
fi
without=$(LC_ALL=C comm -23 "$folder/calls" "$folder/pages")
if [ -n "$without" ]; then
    echo "these calls have no page of their own: $without"
    exit 1
fi
echo "each of $count calls has a page"
