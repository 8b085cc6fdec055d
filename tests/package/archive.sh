#!/usr/bin/env bash
# archive.sh STEP: one step of the test of the archive that CPack makes of the build under test. CMakeLists.txt runs it with
# the build's settings in the environment; everything is written under $WORK.
set -euo pipefail
step=$1
archive=$WORK/packages/streampool-$VERSION-linux-$(uname -m).tar.gz

run_cpack() {  # FOLDER
    (cd "$BUILD" && SOURCE_DATE_EPOCH=1700000000 "$CPACK" -G TGZ -C "$CONFIG" -B "$1")
}

make_archive() {
    rm -rf "$WORK"
    mkdir -p "$WORK/unpacked"
    run_cpack "$WORK/packages"
    tar -C "$WORK/unpacked" -xzf "$archive"
    test "$(ls "$WORK/unpacked")" = "$(basename "$archive" .tar.gz)"
    mv "$WORK/unpacked/$(basename "$archive" .tar.gz)" "$WORK/tree"
}

compare_with_second_run() {
    umask 077
    run_cpack "$WORK/second" > /dev/null
    cmp "$archive" "$WORK/second/${archive##*/}"
}

case $step in
    make) make_archive ;;
    files | program | find_package | pkg_config)
        tree=$WORK/tree consumers=$WORK/consumers
        HEAP=$BUILD_HEAP PREFIX=$tree WORK=$consumers bash "$CHECKOUT/tests/install/install.sh" shared "$step" ;;
    repeat) compare_with_second_run ;;
    *) echo "no such step: $step"; exit 2 ;;
esac
