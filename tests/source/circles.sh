#!/usr/bin/env bash
# circles.sh CHECKOUT PRODUCTS COMPILER...: no modules of a product call each other in a circle. PRODUCTS are folders of src/, in
# one argument.
#
# A module is a .c file and the .h file of the same name; a header of inline functions alone is one too. A calls B when a
# function of A calls a function of B, as the compiler's own assembler output says: unoptimised, with each inline function on
# its own and told by its line numbers which file it stands in. Calls through function pointers and the contents of macros
# aren't seen.
#
# A circle is a largest set of modules of which each calls each, directly or through others of the set. It fails when its
# modules stand in different folders. Inside a folder it fails unless circles.txt, beside this script, lists just these modules
# with a reason. A circle that is listed and isn't there any more fails too.
#
# The library's layer tell/ reads and never writes: of other layers it calls just what reads.txt lists, beside this script.
set -euo pipefail
checkout=$1
read -ra products <<< "$2"
shift 2
listed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/circles.txt
reads=${listed%/*}/reads.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Without the attribute, functions that are always inlined are functions like others.
assemble() { # CHECKOUT WORK FILE COMPILER...
    local checkout=$1 out=$2/${3//\//+}.s file=$3
    shift 3
    cd "$checkout"
    "$@" -std=c11 -D_GNU_SOURCE -DNDEBUG -Dalways_inline= -DSP_BINDIR_TO_LIBDIR='""' -Isrc -Isrc/library -Iinclude \
        -fPIC -O0 -g1 -gdwarf-4 -S "src/$file" -o "$out"
}
export -f assemble

# One line for each call from file to file of a product: "FILE FUNCTION FILE FUNCTION", files below src/. Assembler names a
# function's file by a number at the first line of the function; the name of a file may be given in two parts, a folder and a
# name. A function that is written in assembler has no lines, and stands in the file that was compiled.
calls() { # PRODUCT
    awk '
        function end_unit(   i, callee) {
            for (i = 1; i <= calls; i++) {
                callee = called[i]
                if (callee in file_of) print caller_file[i], caller[i], file_of[callee], callee
                else { count++; late[count] = caller_file[i] " " caller[i]; late_callee[count] = callee }
            }
            calls = 0
            split("", file_of); split("", file_name); split("", is_function); split("", is_global)
            function_name = ""
        }
        FNR == 1 { end_unit(); unit = FILENAME; sub(/.*\//, "", unit); sub(/\.s$/, "", unit); gsub(/\+/, "/", unit) }
        $1 == ".type" && /function/ { name = $2; sub(/,.*/, "", name); is_function[name]; next }
        $1 == ".globl" { is_global[$2]; next }
        $1 == ".file" && $2 ~ /^[0-9]+$/ {
            line = $0; sub(/^[^"]*"/, "", line); gsub(/" +"/, "/", line); sub(/".*/, "", line)
            sub(/^.*src\//, "", line); file_name[$2] = line
            next
        }
        /^[A-Za-z_][A-Za-z0-9_.]*:/ {
            name = $1; sub(/:.*/, "", name)
            if (name in is_function) { function_name = name; file = "" }
            next
        }
        $1 == ".loc" && function_name != "" && file == "" {
            file = file_name[$2]; file_of[function_name] = file
            if (function_name in is_global) exported[function_name] = file
            next
        }
        $1 ~ /^(call|callq|bl)$/ && $2 !~ /^\*/ && function_name != "" {
            callee = $2; sub(/@.*/, "", callee)
            calls++; caller_file[calls] = file == "" ? unit : file; caller[calls] = function_name; called[calls] = callee
        }
        END {
            end_unit()
            for (i = 1; i <= count; i++)
                if (late_callee[i] in exported) print late[i], exported[late_callee[i]], late_callee[i]
        }' "$work/$1"+*.s | sort -u
}

# Modules that reach each other, a line for each circle, the modules in the order of the alphabet.
circles() { # CALLS
    awk '
        { from = $1; to = $3; sub(/\.[ch]$/, "", from); sub(/\.[ch]$/, "", to); modules[from]; modules[to]
          if (from != to) reaches[from, to] }
        END {
            for (via in modules) for (from in modules) if ((from, via) in reaches)
                for (to in modules) if ((via, to) in reaches) reaches[from, to]
            for (a in modules) {
                line = ""
                for (b in modules) if ((a, b) in reaches && (b, a) in reaches) line = line " " b
                if (line != "") print substr(line, 2)
            }
        }' "$1" | while read -r modules; do tr ' ' '\n' <<< "$modules" | sort | paste -sd' '; done | sort -u
}

# The calls between the modules of a circle.
show_calls() { # CIRCLE CALLS
    awk -v circle="$1" '
        BEGIN { count = split(circle, names, " "); for (i = 1; i <= count; i++) in_circle[names[i]] }
        { from = $1; to = $3; sub(/\.[ch]$/, "", from); sub(/\.[ch]$/, "", to)
          if (from != to && from in in_circle && to in in_circle) print "    " $2 " (" $1 ") calls " $4 " (" $3 ")" }' "$2"
}

# A line is "MODULE...: REASON".
check_list() {
    grep -vE '^(#|$)' "$listed" > "$work/lines" || true
    sed -n 's/: *[^ ].*//p' "$work/lines" | sort > "$work/argued"
    grep -vE ': *[^ ]' "$work/lines" | sed 's/$/: no reason is given/' || true
    sort "$work/circles" | comm -13 - "$work/argued" | sed "s/.*/{&} is listed in circles.txt, and is no circle/"
}

check_circles() {
    local circle
    while read -r circle; do
        if [ "$(tr ' ' '\n' <<< "$circle" | sed 's|/[^/]*$||' | sort -u | wc -l)" -gt 1 ]; then
            echo "{$circle} call each other across folders:"
        elif grep -qxF "$circle" "$work/argued"; then
            continue
        else
            echo "{$circle} call each other, and circles.txt doesn't say why:"
        fi
        show_calls "$circle" "$work/calls"
    done < "$work/circles"
}

# A line of reads.txt is "FUNCTION...", or "FUNCTION...: REASON".
check_reads() {
    grep -vE '^(#|$)' "$reads" | sed 's/:.*//' | tr -s ' ' '\n' | sort > "$work/reads"
    awk '$1 ~ /^library\/tell\// && $3 !~ /^library\/tell\// { print $4 }' "$work/calls" | sort -u > "$work/called"
    comm -13 "$work/reads" "$work/called" | sed 's/$/: tell\/ calls it, and reads.txt does not say that it only reads/'
    comm -23 "$work/reads" "$work/called" | sed 's/$/: is listed in reads.txt, and tell\/ does not call it/'
}

(cd "$checkout/src" && find "${products[@]}" -name '*.c') |
    xargs -P "$(nproc)" -I{} bash -c 'assemble "$@"' assemble "$checkout" "$work" {} "$@"
for product in "${products[@]}"; do calls "$product"; done > "$work/calls"
test -s "$work/calls" || { echo "no call found in the compiler's output"; exit 1; }
circles "$work/calls" > "$work/circles"
{
    check_list
    check_circles
    check_reads
} > "$work/complaints"
if [ -s "$work/complaints" ]; then
    cat "$work/complaints"
    exit 1
fi
echo "$(wc -l < "$work/calls") calls, $(wc -l < "$work/circles") circles, each of them argued"
