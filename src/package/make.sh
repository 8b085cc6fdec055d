#!/usr/bin/env bash
# Makes the packages, from a checkout:
#
#   bash src/package/make.sh deb       # three Debian packages, for the Debian or Ubuntu that this machine runs
#   bash src/package/make.sh archive   # streampool-VERSION-linux-x86_64.tar.gz, for glibc 2.28 and newer; needs root
#   bash src/package/make.sh           # both
#
# They come to lie in build/packages/. The time in them is SOURCE_DATE_EPOCH, or that of the last commit, and nothing else in
# them depends on when or where they are made: two runs on machines with the same tools give the same bytes.
#
# The archive is built in a chroot (build/packages/chroot, some 400 MB), which is set up once and then kept. Remove it to
# have it made anew, with what the distribution has mended meanwhile.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
checkout=$PWD out=$PWD/build/packages chroot=$PWD/build/packages/chroot

# The oldest glibc that the archive runs with: that of Debian 10, RHEL 8 and manylinux_2_28.
oldest_glibc=2.28

usage() {
    echo "usage: bash src/package/make.sh [deb] [archive]" >&2
    exit 2
}

need() {  # COMMAND PACKAGE
    if command -v "$1" > /dev/null; then return 0; fi
    echo "$1 is missing on this machine; the Debian package $2 has it" >&2
    missing=1
}

check_machine() {
    missing=0
    need gcc gcc
    need readelf binutils
    need tar tar
    if wanted deb; then
        need cmake cmake
        need ninja ninja-build
        need pkg-config pkg-config
        need dpkg-shlibdeps dpkg-dev
        need file file
    fi
    if wanted archive; then
        need debootstrap debootstrap
        need pip3 python3-pip
        need unshare util-linux
    fi
    if [ "$missing" = 1 ]; then exit 1; fi
    if ! wanted archive; then return 0; fi
    if [ "$(uname -m)" != x86_64 ]; then
        echo "The archive is made on x86_64 machines, and this is $(uname -m)." >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "The archive is built in a chroot, and only root can make one. Run this as root, or make the Debian packages" \
            "alone: bash src/package/make.sh deb" >&2
        exit 1
    fi
}

wanted() { [[ " $kinds " = *" $1 "* ]]; }

choose_time() {
    if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
        SOURCE_DATE_EPOCH=$(git -c safe.directory="$checkout" log -1 --format=%ct 2> /dev/null || stat -c %Y CHANGELOG.md)
    fi
    export SOURCE_DATE_EPOCH
}

make_debs() {
    local build=$out/build-deb
    rm -rf "$build" "$out"/*.deb
    cmake -C src/package/debian.cmake -S . -B "$build" -G Ninja
    cmake --build "$build" --parallel "$(nproc)"
    (cd "$build" && cpack -G DEB -B "$build/packages")
    mv "$build"/packages/*.deb "$out"
}

# Runs a command in the chroot, as root and with nothing of this machine's environment but a proxy. The checkout is at /src, and can only
# be read. Mounts are seen by the command alone, and go with it.
in_chroot() {  # COMMAND...
    mkdir -p "$chroot/src"
    unshare --mount --pid --fork --kill-child bash -euc '
        chroot=$1 checkout=$2 time=$3
        shift 3
        mount -t proc proc "$chroot/proc"
        mount --bind "$checkout" "$chroot/src"
        mount -o remount,bind,ro "$chroot/src"
        exec chroot "$chroot" env -i HOME=/root LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin SOURCE_DATE_EPOCH="$time" \
            ${http_proxy:+http_proxy="$http_proxy"} "$@"
        ' in_chroot "$chroot" "$checkout" "$SOURCE_DATE_EPOCH" "$@"
}

make_archive() {
    local archive tree
    if [ ! -e "$chroot/ready" ]; then
        bash src/package/chroot.sh "$chroot"
        in_chroot bash /src/src/package/static.sh
        touch "$chroot/ready"
    fi
    rm -rf "$out"/*.tar.gz "$out/unpacked" "$chroot/packages"
    in_chroot bash /src/src/package/archive.sh
    archive=$(basename "$chroot"/packages/*.tar.gz)
    mkdir "$out/unpacked"
    tar -C "$out/unpacked" -xzf "$chroot/packages/$archive"
    tree=$out/unpacked/${archive%.tar.gz}
    bash src/package/needs.sh "$oldest_glibc" "$tree"

    # It runs where nothing but glibc is installed that it could need.
    rm -rf "$chroot/tree"
    mv "$tree" "$chroot/tree"
    in_chroot /tree/bin/streampool replay --device sim /src/tests/install/trace.csv
    mv "$chroot/packages/$archive" "$out"
    rm -rf "$out/unpacked" "$chroot/tree" "$chroot/packages"
}

for argument; do
    case $argument in
        deb | archive) ;;
        *) usage ;;
    esac
done
kinds=${*:-deb archive}
check_machine
choose_time
umask 022
mkdir -p "$out"
if wanted deb; then make_debs; fi
if wanted archive; then make_archive; fi
echo
cd "$out"
if wanted deb; then sha256sum -- *.deb; fi
if wanted archive; then sha256sum -- *.tar.gz; fi
