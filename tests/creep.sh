#!/usr/bin/env bash
# Does a pool creep? Compares what it holds after one pass with what it holds after a later one:
#
#   bash tests/creep.sh [--from PASS] [--to PASS] [--percent NUMBER] FILE...
#
# The files are those that `streampool replay --json` wrote of many passes. A line is printed for each load (a trace, or all
# traces in turn) and allocator. Fails where the median of reserved / live after pass --to (50) is more than --percent (1)
# above that after pass --from (10), where a call of the replay had failed, and where there is nothing to compare.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

from=10 to=50 percent=1
usage() {
    echo "usage: bash tests/creep.sh [--from PASS] [--to PASS] [--percent NUMBER] FILE..." >&2
    exit 64
}
while [ $# -gt 0 ]; do
    case $1 in
        --from) from=${2-} ;;
        --to) to=${2-} ;;
        --percent) percent=${2-} ;;
        -*) usage ;;
        *) break ;;
    esac
    shift 2 || usage
done
[ $# -gt 0 ] || usage
[[ $from =~ ^[1-9][0-9]*$ && $to =~ ^[1-9][0-9]*$ && $percent =~ ^[0-9]+(\.[0-9]+)?$ ]] || usage
[ "$from" -lt "$to" ] || usage

# A line for each load and allocator: its verdict, and the figures in words.
verdicts() {  # FILE
    local load
    load=$(basename "$1" .json)
    load=${load#*.}
    load=${load%%, *}
    jq -r -L "$here/bench" --arg file "$load" --argjson from "$from" --argjson to "$to" \
        --argjson percent "$percent" '
        include "soak";
        def text: . * 1000 | round / 1000 | tostring;
        def words($before; $after): "\($before.ratio | text) after pass \($from), \($after.ratio | text) after pass \($to): "
            + "\(($after.ratio / $before.ratio - 1) * 10000 | round / 100) %";
        if length == 0 then error("has no results") else . end
        | runs($file)[]
        | at($from) as $before | at($to) as $after | (map(.errors) | add) as $errors
        | "\(.[0].load), \(.[0].allocator): " as $name
        | if $errors > 0 then "FAILED \($name)\($errors) calls failed"
          elif (($before.ratio and $after.ratio) | not) then "FAILED \($name)nothing was in use, or pass \($from) or \($to) is missing"
          elif $after.ratio > $before.ratio * (1 + $percent / 100) then "CREEPS \($name)\(words($before; $after))"
          else "stays  \($name)\(words($before; $after))" end' "$1"
}

status=0
for file; do
    if ! lines=$(verdicts "$file"); then
        lines="FAILED $file can't be read"
    fi
    echo "$lines"
    if grep -qv '^stays ' <<< "$lines"; then status=1; fi
done
exit "$status"
