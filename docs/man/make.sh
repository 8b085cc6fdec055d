#!/usr/bin/env bash
# make.sh PROGRAM [FOLDER]: makes the man pages, into docs/man or another folder, from what the program prints by --help and what
# the public headers and docs/ say.
#
# The pages are committed. So a build, also one for another machine, needs neither this script nor a program that runs; and
# a change of a page is seen with the change that brings it. The test manual_pages makes them again and compares.
#
# A page has the date on which it changed last: one that is made as it stands keeps its date.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "$1")
target=$(realpath "${2:-$here}")
cd "$here/../.."
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(sed -n 's/^#define STREAMPOOL_VERSION_[A-Z]* *//p' include/streampool/streampool.h | paste -sd.)

# argp breaks no line that is shorter than this, and leaves columns of their own for headings and texts.
help() { # [COMMAND]
    env -i ARGP_HELP_FMT=rmargin=20000,opt-doc-col=60,header-col=0 "$program" "$@" --help
}

# ------------------------------------------------------------------------------------------- parts

part() { # SCRIPT NAME=VALUE... [FILE...]
    local script=$1 settings=()
    shift
    while [[ ${1:-} == *=* ]]; do
        settings+=(-v "$1")
        shift
    done
    awk "${settings[@]}" -f "$here/roff.awk" -f "$here/$script.awk" "$@"
}

of_help() { # PART [COMMAND]
    help ${2:+"$2"} | part help part="$1" program=streampool
}

of_header() { # PART HEADER
    part header part="$1" "include/streampool/$2"
}

# The text of a section comes from standard input, and begins with no mark of a paragraph. Without any, what it is read from has
# changed its place, and no page is written.
section() { # TITLE
    local text
    text=$(cat)
    if [ -z "$text" ]; then
        echo "docs/man/make.sh: there is nothing to be said under $1: is it read from where it stands?" >&2
        return 1
    fi
    printf '.SH %s\n%s\n' "$1" "${text#$'.PP\n'}"
}

escaped() { sed 's/-/\\-/g'; }

heading() { # NAME SECTION SUMMARY
    echo '.\" Made by docs/man/make.sh.'
    echo ".TH $(echo "${1^^}" | escaped) $2 @date@ \"streampool $version\""
    printf '.nh\n.ad l\n' # names of calls stay whole
    echo "$(echo "$1" | escaped) \\- $3" | fold -s -w 78 | sed 's/ $//' | section NAME
}

# "NAME SUMMARY" of each command.
commands() { help | awk '/^Commands/ { list = 1; next } /^$/ { list = 0 } list { sub(/^ +/, ""); print }'; }

names() { commands | sed 's/ .*//'; }

see_also() { # NAME SECTION
    { echo "streampool 1"; names | sed 's/.*/streampool-& 1/'; echo "libstreampool 3"; } | grep -vxF "$1 $2" |
        escaped | sed -e 's/\(.*\) \(.\)/.BR \1 (\2),/' -e '$s/,$//'
    echo .PP
    echo 'The documentation is in'
    echo '.I /usr/share/doc/streampool'
    echo '(as a rule), and in the folder'
    echo '.I docs'
    echo 'of the sources.'
}

# The text after the table of statuses is about the option --device, which some commands don't have.
exit_status() { # [COMMAND]
    local what=section
    if [ $# != 0 ] && ! help "$1" | grep -e '--device=' > /dev/null; then what=table; fi
    part markdown part="$what" section='Exit statuses' command="${1:-}" docs/program.md
}

environment() { # [VARIABLE]
    env -i "$program" options --markdown | part markdown part=options variable="${1:-}"
}

simulated_environment() {
    echo .TP
    echo .B STREAMPOOL_SIMCUDA
    echo 'Sets up the simulated driver.'
    echo '.I streampool/simcuda.h'
    echo 'says how.'
}

observer() {
    echo .TP
    echo ".I libstreampool_observe.so.${version%.*}"
    echo 'The observer, in the folder of the shared library, which loads it for'
    echo 'STREAMPOOL_STATS, STREAMPOOL_LEAKS and STREAMPOOL_TRACE.'
}

simulated_driver() {
    echo .TP
    echo .I libstreampool_simcuda.so
    echo 'The simulated driver, in the folder of the library.'
}

examples() { # COMMAND: those of its page, or those of the program's
    local text
    text=$(part markdown part=examples command="$1" docs/replay.md docs/policies.md)
    if [ -n "$text" ]; then echo "$text"; else part markdown part=examples command="$1" docs/program.md; fi
}

# ------------------------------------------------------------------------------------------- pages

program_page() {
    heading streampool 1 "stream-ordered memory pools for CUDA programs"
    of_help synopsis | section SYNOPSIS
    part markdown part=text section='The program' docs/program.md | section DESCRIPTION
    of_help commands | section COMMANDS
    of_help options | section OPTIONS
    exit_status | section 'EXIT STATUS'
    { environment; simulated_environment; } | section ENVIRONMENT
    simulated_driver | section FILES
    for name in $(names); do part markdown part=examples command="$name" docs/program.md; done | section EXAMPLES
    see_also streampool 1 | section 'SEE ALSO'
}

command_page() { # NAME SUMMARY
    heading "streampool-$1" 1 "$2"
    of_help synopsis "$1" | section SYNOPSIS
    { of_help description "$1"; of_help notes "$1"; } | section DESCRIPTION
    of_help options "$1" | section OPTIONS
    exit_status "$1" | section 'EXIT STATUS'
    {
        environment STREAMPOOL_DRIVER
        echo .PP
        echo 'The other variables are those of'
        echo '.BR streampool (1).'
    } | section ENVIRONMENT
    examples "$1" | section EXAMPLES
    see_also "streampool-$1" 1 | section 'SEE ALSO'
}

files() {
    local header
    for header in include/streampool/*.*; do
        echo .TP
        echo ".I ${header#include/}"
        of_header brief "${header#*/*/}"
    done
    observer
    simulated_driver
}

synopsis_of_library() {
    echo .nf
    echo '.B #include <streampool/streampool.h>'
    echo .PP
    echo '.BR cc " program.c $(pkg\-config \-\-cflags \-\-libs streampool)"'
    echo .fi
}

library_page() {
    heading libstreampool 3 "stream-ordered memory pools for CUDA programs, as a C library"
    echo '.RI streampool " (libstreampool, " \-lstreampool )' | section LIBRARY
    synopsis_of_library | section SYNOPSIS
    of_header about streampool.h | section DESCRIPTION
    of_header calls streampool.h | section CALLS
    of_header attributes streampool.h | section ATTRIBUTES
    of_header statistics statistics.h | section STATISTICS
    echo 'A call of the type poolError_t returns poolSuccess, or one of the errors below.' | section 'RETURN VALUE'
    of_header errors lists.h | section ERRORS
    { environment; simulated_environment; } | section ENVIRONMENT
    files | section FILES
    { echo .nf; part markdown part=code README.md; echo .fi; } | section EXAMPLES
    see_also libstreampool 3 | section 'SEE ALSO'
}

# A page that is made as it stands keeps its date.
put() { # FILE
    local file=$1 text date
    text=$(cat)
    date=$(sed -n 's/^\.TH .* \([0-9-]*\) ".*/\1/p' "$here/$file" 2> /dev/null || true)
    if [ "$text" != "$(sed "/^\.TH /s/ $date / @date@ /" "$here/$file" 2> /dev/null)" ]; then date=$(date -u +%F); fi
    echo "${text/@date@/"$date"}" > "$work/$file"
}

program_page | put streampool.1
commands | while read -r name summary; do command_page "$name" "$summary" | put "streampool-$name.1"; done
library_page | put libstreampool.3
cp "$work"/* "$target"
