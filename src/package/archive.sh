#!/usr/bin/env bash
# Runs in the chroot: builds the archive of the checkout in /src. It comes to lie in /packages.
set -euo pipefail
export PATH=/opt/cmake/data/bin:$PATH PKG_CONFIG_LIBDIR=/opt/static/lib/pkgconfig CMAKE_PREFIX_PATH=/opt/static
build=/tmp/build

rm -rf "$build" /packages
cmake -C /src/src/package/archive.cmake -S /src -B "$build" -G Ninja
cmake --build "$build" --parallel "$(nproc)"
cd "$build"
cpack -G TGZ -D CPACK_STREAMPOOL_NOTICES=/opt/static/notices -B "$build/packages"
mkdir /packages
mv packages/*.tar.gz /packages
rm -rf "$build"
