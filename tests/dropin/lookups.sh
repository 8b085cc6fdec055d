#!/usr/bin/env bash
# lookups.sh ROWS FOLDER DROPIN LIST: of all that the runtime of the list asks the driver in FOLDER for, exactly the calls of the
# table are ours. Each has the exported name of the function that the driver gives, or the name of its row where the driver has
# none and the call is one about pools. Every other answer is the driver's, unchanged.
set -eu
rows=$1 folder=$2 dropin=$3 list=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$rows" > "$work/table"
env LD_LIBRARY_PATH="$folder" "$rows" "$list" > "$work/alone"
bash "$(dirname "$0")/under.sh" "$dropin" "$folder" "$rows" "$list" > "$work/served"

home=${dropin%/*}
ours=${home##*/}/${dropin##*/}
awk -v dropin="$ours" '
    NR == FNR { symbol[$2, $3, $4] = $1; kind[$1] = $5; next }
    { ours = $6 == "none" ? symbol[$1, $2, $3] : $7 }
    ours in kind && ($6 != "none" || kind[ours] == "SP_POOL_CALL") { print $1, $2, $3, 0, 0, dropin, ours; next }
    { print }' "$work/table" "$work/alone" > "$work/expected"
diff -u "$work/expected" "$work/served"

count=$(grep -c " $ours " "$work/served")
test "$(wc -l < "$work/served")" = "$(wc -l < "$list")" || { echo "not every line of the list was asked for"; exit 1; }
test "$count" -gt 20 || { echo "only $count look-ups are ours"; exit 1; }
echo "$count of $(wc -l < "$list") look-ups are ours"
