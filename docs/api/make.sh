#!/usr/bin/env bash
# make.sh FOLDER: makes the API reference, FOLDER/html/index.html and a page for each call. It fails where a comment of the public
# headers leaves something out, or names something that isn't there.
set -eu
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$checkout"

if ! command -v doxygen > /dev/null; then
    echo "The API reference needs doxygen, which isn't installed (Debian's package is doxygen)." >&2
    exit 1
fi

version=$(sed -n 's/^#define STREAMPOOL_VERSION_[A-Z]* *//p' include/streampool/streampool.h | paste -sd.)
rm -rf "$folder/html"
{
    cat docs/api/Doxyfile
    echo "PROJECT_NUMBER = $version"
    echo "OUTPUT_DIRECTORY = \"$folder\""
} | doxygen -
echo "The API reference begins with $folder/html/index.html"
