#!/usr/bin/env bash
# chroot.sh FOLDER: sets up the chroot in which the archive is built. Needs root, debootstrap, pip3, and the network.
#
# Debian 11 has the oldest glibc that Debian's servers still offer in the usual place, 2.31. What is built with it must not
# use what glibc 2.29 to 2.31 added: old_glibc.h sees to that, and needs.sh checks it. Once Debian 11 has left the usual
# place, it is at archive.debian.org: change the two addresses.
set -euo pipefail
folder=$1
suite=bullseye
mirror=http://deb.debian.org/debian
security=http://deb.debian.org/debian-security
sources_suite=bookworm  # of the libraries that static.sh builds
cmake_version=3.25.2  # Debian 11 has none that is new enough

rm -rf --one-file-system "$folder"
mkdir -p "$folder"
unshare --mount debootstrap --variant=minbase --include=gcc,libc6-dev,make,ninja-build,pkg-config,dpkg-dev \
    "$suite" "$folder" "$mirror"  # its mounts go with it, however it ends

cat > "$folder/etc/apt/sources.list" <<LIST
deb $mirror $suite main
deb $security $suite-security main
deb-src $mirror $sources_suite main
deb-src $security $sources_suite-security main
LIST
cp /etc/resolv.conf "$folder/etc/resolv.conf"

# The wheel has the program in it, built for glibc 2.17 and newer.
pip3 download --quiet --no-deps --only-binary :all: --platform manylinux2014_x86_64 --dest "$folder/opt" \
    "cmake==$cmake_version"
python3 -m zipfile -e "$folder"/opt/cmake-*.whl "$folder/opt"
chmod +x "$folder"/opt/cmake/data/bin/*
rm "$folder"/opt/cmake-*.whl
