#!/usr/bin/env bash
# Runs in the chroot, once: builds the libraries that the program has linked into it, from Debian's source packages with what
# Debian has mended in them. They come to lie in /opt/static, which has no shared library that the linker could choose instead.
set -euo pipefail
static=/opt/static
export DEBIAN_FRONTEND=noninteractive

# Unpacks a source package and goes into its folder.
enter_source() {  # PACKAGE
    mkdir "$work/$1"
    cd "$work/$1"
    apt-get source -q "$1"
    cd "$1"-*/
    flags="-O2 -fPIC -ffile-prefix-map=$PWD=."
}

# What pkg-config says of a library, and its licence. Runs in the source package's folder.
describe() {  # MODULE LIBRARY
    local version
    version=$(dpkg-parsechangelog -S Version | sed -E 's/^[0-9]+://; s/-[^-]*$//; s/\.dfsg$//')
    cat > "$static/lib/pkgconfig/$1.pc" <<MODULE
Name: $1
Description: $1, as a static library
Version: $version
Cflags: -I$static/include
Libs: -L$static/lib -l$2
MODULE
    cp debian/copyright "$static/notices/$1.txt"
}

work=$(mktemp -d)
chmod 755 "$work"
rm -rf "$static"
mkdir -p "$static/lib/pkgconfig" "$static/include/cjson" "$static/notices"
apt-get update -q
apt-get upgrade -q -y

enter_source zlib
CFLAGS=$flags ./configure --static
make libz.a
cp libz.a "$static/lib"
cp zlib.h zconf.h "$static/include"
describe zlib z

enter_source cjson
# shellcheck disable=SC2086  # one word for each flag
gcc $flags -c cJSON.c
ar rcsD "$static/lib/libcjson.a" cJSON.o
cp cJSON.h "$static/include/cjson"
describe libcjson cjson

rm -rf "$work"
apt-get clean
rm -rf /var/lib/apt/lists/*
