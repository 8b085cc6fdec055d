#!/usr/bin/env bash
# forwarded.sh ROWS DROPIN SOURCE DRIVER: the library exports the names of names.inc, which is sorted and has those of the table, and
# the function that tells the driver behind it. compare.sh tells what a driver has more: ours for tests has one invented name.
set -eu
rows=$1 dropin=$2 source=$3 driver=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=$work/names

sed -n 's/^X(\(.*\))$/\1/p' "$source/names.inc" > "$names"

LC_ALL=C sort -uc "$names"
"$rows" | awk '{ print $1 }' | LC_ALL=C sort -u | LC_ALL=C comm -23 - "$names" > "$work/unlisted"
diff -u --label "none" --label "names of the table that names.inc lacks" /dev/null "$work/unlisted"

{ cat "$names"; echo sp_forward_library; } | LC_ALL=C sort > "$work/expected"
nm -D --defined-only "$dropin" | awk '{ print $3 }' | LC_ALL=C sort > "$work/exported"
diff -u "$work/expected" "$work/exported"
readelf -d "$dropin" | grep -q 'SONAME.*\[libcuda\.so\.1\]' || { echo "the soname isn't the driver's"; exit 1; }

bash "$source/compare.sh" "$driver" > "$work/missing" && { echo "compare.sh has missed a name"; exit 1; }
diff -u - "$work/missing" <<< cuMemFreeAsync_v2
bash "$source/compare.sh" "$dropin" || { echo "compare.sh misses names in the library itself"; exit 1; }
bash "$source/compare.sh" /proc/self/exe > "$work/none" 2>&1 && { echo "compare.sh takes any file for a driver"; exit 1; }
echo "$(wc -l < "$names") names"
