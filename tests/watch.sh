# Ends tests that hang. Sourced by what runs ctest.
#
# No test has a limit of time: on a slow machine it only takes longer. A test hangs when in ten minutes it makes no progress:
# neither it nor a process that it started writes anything, and all of them together use less than five seconds of a
# processor. One that keeps a processor busy hangs when it has used thirty minutes of it and written nothing.
watch_idle_for=600 watch_idle_ticks=500 watch_busy_ticks=180000  # seconds; a tick is 10 ms

# "PID TICKS WRITTEN" of each test, which is a child of ctest, with all that it started: processor time, and bytes written.
measure_tests() {  # CTEST
    grep -sH -e . /proc/[0-9]*/stat | sed 's|^/proc/\([0-9]*\)/stat:.*) . |stat \1 |' > "$watch_folder/now"
    grep -sH '^wchar' /proc/[0-9]*/io | sed 's|^/proc/\([0-9]*\)/io:wchar:|io \1|' >> "$watch_folder/now"
    awk -v ctest="$1" '
        $1 == "stat" { parent[$2] = $3; ticks[$2] = $13 + $14 + $15 + $16 }
        $1 == "io" { written[$2] = $3 }
        END {
            for (pid in parent) {
                test = pid
                while (test in parent && parent[test] != ctest) test = parent[test]
                if (!(test in parent)) continue
                all[test] += ticks[pid]
                bytes[test] += written[pid]
            }
            for (test in all) printf "%d %d %.0f\n", test, all[test], bytes[test]
        }' "$watch_folder/now"
}

# Takes a measurement, and prints the tests that hang. For each test it keeps what it had written and used when it last made
# progress of either kind.
find_hung() {  # CTEST SECONDS
    local now=$2
    measure_tests "$1" > "$watch_folder/tests"
    touch "$watch_folder/kept"
    awk -v now="$now" -v idle_for="$watch_idle_for" -v idle="$watch_idle_ticks" -v busy="$watch_busy_ticks" '
        FILENAME ~ /kept$/ { wrote[$1] = $2; at_write[$1] = $3; at_look[$1] = $4; since[$1] = $5; next }
        {
            if (!($1 in wrote) || wrote[$1] != $3) { at_write[$1] = at_look[$1] = $2; since[$1] = now }
            if ($2 - at_look[$1] >= idle) { at_look[$1] = $2; since[$1] = now }
            print $1, $3, at_write[$1], at_look[$1], since[$1] > kept
            if (now - since[$1] >= idle_for || $2 - at_write[$1] >= busy) print $1
        }' kept="$watch_folder/next" "$watch_folder/kept" "$watch_folder/tests"
    if [ -e "$watch_folder/next" ]; then mv "$watch_folder/next" "$watch_folder/kept"; fi
}

# A test with all that it started, the youngest first, so that nobody waits for what is ended already.
end_test() {  # PID
    local child
    for child in $(awk -v parent="$1" '$1 == "stat" && $3 == parent { print $2 }' "$watch_folder/now"); do
        end_test "$child"
    done
    kill -ABRT "$1" 2> /dev/null || true
    sleep 1
    kill -KILL "$1" 2> /dev/null || true
}

watch_tests() {  # FOLDER
    local pid
    while sleep 10; do
        if [ ! -s "$1/ctest" ]; then continue; fi
        for pid in $(find_hung "$(cat "$1/ctest")" "$SECONDS"); do
            { tr '\0' ' ' < "/proc/$pid/cmdline" && echo; } >> "$1/hung" || continue
            echo "HANGS, so it is ended: $(tail -n 1 "$1/hung")"
            end_test "$pid"
        done
    done
}

# Runs ctest, or what becomes it, under such a watch. What hung stands in FOLDER/hung.
run_watched() {  # FOLDER COMMAND...
    local status=0 watcher
    watch_folder=$1
    shift
    rm -rf "$watch_folder"
    mkdir -p "$watch_folder"
    watch_tests "$watch_folder" &
    watcher=$!
    sh -c 'echo $$ > "$0/ctest"; exec "$@"' "$watch_folder" "$@" || status=$?
    kill "$watcher" 2> /dev/null || true
    wait "$watcher" 2> /dev/null || true
    return "$status"
}
