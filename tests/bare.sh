#!/usr/bin/env bash
# Does what README.md tells a new user, on a bare Debian 12, in a fresh clone of this checkout's last commit:
#
#   bash tests/bare.sh [FOLDER]
#
# FOLDER (build/bare) becomes the root of a Debian that debootstrap makes anew, with nothing but what every Debian has: no
# compiler, no toolkit. There it runs `bash bench/demo.sh`, the first commands of README.md, by which `streampool` is built, and
# `bash tests/run.sh`, and ends as they end. What they made stays in FOLDER/root/streampool. Needs root,
# git, debootstrap, unshare, and the network for Debian's packages; takes about 9 GB.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/packages.sh
mirror=http://deb.debian.org/debian
security=http://deb.debian.org/debian-security
needs="
command  git          git
command  debootstrap  debootstrap
command  unshare      util-linux
"

usage() {
    echo "usage: bash tests/bare.sh [FOLDER]" >&2
    exit 2
}

make_bare() {  # FOLDER
    rm -rf --one-file-system "$1"
    mkdir -p "$1"
    echo "Making a bare Debian 12 in $1"
    unshare --mount debootstrap --variant=minbase bookworm "$1" "$mirror"  # its mounts go with it, however it ends
    printf 'deb %s bookworm main\ndeb %s bookworm-security main\n' "$mirror" "$security" > "$1/etc/apt/sources.list"
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    git -c safe.directory="$PWD" clone --quiet --no-hardlinks . "$1/root/streampool"
}

# A command in the clone, with nothing of this machine's environment but a proxy. Processes and mounts go with it.
in_bare() {  # FOLDER COMMAND...
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1
        shift
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            ${http_proxy:+http_proxy="$http_proxy"} bash -c "cd /root/streampool && exec \"\$@\"" in_bare "$@"
        ' in_bare "$@"
}

# As they stand there: the packages that they install are those of the demo.
first_commands() {
    awk '/^```sh$/ { inside = 1; next } /^```$/ && inside { exit } inside' README.md
}

announce() {  # WHAT
    echo
    echo "== $1, on the bare Debian"
}

if [ $# -gt 1 ]; then usage; fi
case ${1:-} in
    -*) usage ;;
esac
folder=$(realpath -m "${1:-build/bare}")
if [ "$(id -u)" != 0 ]; then
    echo "Only root can make a bare Debian: run this as root." >&2
    exit 1
fi
provide "$needs" yes
make_bare "$folder"
announce "bash bench/demo.sh"
in_bare "$folder" bash bench/demo.sh
announce "the first commands of README.md"
in_bare "$folder" bash -euc "$(first_commands)
    streampool info || [ \$? = 3 ]
    streampool run -- true"
announce "bash tests/run.sh"
in_bare "$folder" bash tests/run.sh
