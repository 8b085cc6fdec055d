#!/usr/bin/env bash
# install.sh KIND STEP: one step of the install test for one kind of library, shared or static. CMakeLists.txt runs it
# with the build's settings in the environment; everything is written under $WORK. The tests of packages run it, too, with
# what is unpacked from them as PREFIX, and LIBRARIES where the system finds the library by itself once it is installed.
set -eu
kind=$1 step=$2
here=$CHECKOUT/tests/install
prefix=${PREFIX:-$WORK/moved}

if [ "$kind" = shared ]; then shared_libs=ON; else shared_libs=OFF; fi

configure_and_build() {  # SOURCE FOLDER OPTION...
    local source=$1 folder=$2
    shift 2
    rm -rf "$folder"
    cmake -S "$source" -B "$folder" -G "$GENERATOR" -DCMAKE_BUILD_TYPE="$CONFIG" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DBUILD_SHARED_LIBS="$shared_libs" "$@"
    cmake --build "$folder" --parallel 2
}

# The build under test has one kind of library; the other is built here.
if [ "$kind" = "$BUILD_KIND" ]; then build=$BUILD; else build=$WORK/build; fi

make_prefix() {
    rm -rf "$WORK"
    mkdir -p "$WORK"
    if [ "$kind" != "$BUILD_KIND" ]; then
        configure_and_build "$CHECKOUT" "$build" -DSTREAMPOOL_TESTS=OFF \
            -DCMAKE_INSTALL_BINDIR="$BINDIR" -DCMAKE_INSTALL_LIBDIR="$LIBDIR"
    fi
    cmake --install "$build" --prefix "$WORK/installed"
    mv "$WORK/installed" "$prefix"
}

# The files under a prefix, with what may differ from build to build written as in installed-files.txt.
list_files() {  # PREFIX
    local config=${CONFIG,,}
    cd "$1"
    find . ! -type d | sed -e 's|^\./||' -e "s|^$LIBDIR/|@libdir@/|" -e "s|^$BINDIR/|@bindir@/|" \
        -e "s|\.so\.${VERSION//./\\.}$|.so.@version@|" -e "s|\.so\.${VERSION%.*}$|.so.@soversion@|" \
        -e "s|-${config:-noconfig}\.cmake$|-@config@.cmake|" | LC_ALL=C sort
}

# Those that installed-files.txt has for this kind of library, of all components or of one.
expected_files() {  # [COMPONENT]
    awk -v kind="$kind" -v component="${1:-}" '/^#/ { next }
        ($1 == "both" || $1 == kind) && (component == "" || $3 == component) { print $2 }' \
        "$here/installed-files.txt" | LC_ALL=C sort
}

compare_files() {
    diff -u --label installed-files.txt --label "the $kind installation" <(expected_files) <(list_files "$prefix")
}

# Each component has its files and no others, and every file has a component.
compare_components() {
    local component root=$WORK/components
    rm -rf "$root"
    for component in library development tools; do
        mkdir -p "$root/$component"
        cmake --install "$build" --prefix "$root/$component" --component "$component"
        diff -u --label installed-files.txt --label "the component $component" \
            <(expected_files "$component") <(list_files "$root/$component")
    done
    diff -u --label "all files" --label "all components" <(list_files "$prefix") \
        <(for component in library development tools; do list_files "$root/$component"; done | LC_ALL=C sort)
}

# The program finds the library and the simulated driver from where it is, also through a link and the PATH.
run_program() {
    unset STREAMPOOL_DRIVER LD_LIBRARY_PATH
    if [ -n "${LIBRARIES:-}" ]; then export LD_LIBRARY_PATH=$LIBRARIES; fi
    "$prefix/$BINDIR/streampool" info
    mkdir -p "$WORK/links"
    ln -sf "$prefix/$BINDIR/streampool" "$WORK/links/streampool"
    cd /
    PATH=$WORK/links:$PATH streampool replay --device sim "$here/trace.csv"
}

run_consumers() {  # PROGRAM...
    local program
    for program; do
        echo "running $program"
        "$program"
    done
}

# What has the library in it is never unloaded.
stays_loaded() {  # PLUGIN
    if [ "$kind" = shared ]; then return 0; fi
    readelf -d "$1" | grep NODELETE || { echo "$1 can be unloaded"; return 1; }
}

use_installed_driver() {
    export STREAMPOOL_DRIVER=$prefix/$LIBDIR/libstreampool_simcuda.so
    test -f "$STREAMPOOL_DRIVER"
}

by_find_package() {
    use_installed_driver
    configure_and_build "$here/consumer" "$WORK/find_package" -DCMAKE_PREFIX_PATH="$prefix" \
        -DSTREAMPOOL_VERSION="${VERSION%.*}"
    run_consumers "$WORK/find_package/consumer_c" "$WORK/find_package/consumer_cxx"
    stays_loaded "$WORK/find_package/libconsumer_plugin.so"
}

by_pkg_config() {
    local flags out=$WORK/pkg_config static=
    use_installed_driver
    export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig LD_LIBRARY_PATH=$prefix/$LIBDIR
    mkdir -p "$out"
    test "$(pkg-config --modversion streampool)" = "$VERSION"
    if [ "$kind" = static ]; then static=--static; fi
    read -ra flags <<< "$(pkg-config --cflags --libs $static streampool)"
    "$CC" ${CFLAGS:-} "$here/consumer/consumer.c" -o "$out/consumer_c" "${flags[@]}" -ldl
    "$CXX" ${CXXFLAGS:-} -std=c++17 "$here/consumer/consumer.cc" -o "$out/consumer_cxx" "${flags[@]}"
    "$CC" ${CFLAGS:-} -shared -fPIC "$here/consumer/consumer.c" -o "$out/plugin.so" "${flags[@]}" -ldl
    run_consumers "$out/consumer_c" "$out/consumer_cxx"
    stays_loaded "$out/plugin.so"
}

by_add_subdirectory() {
    configure_and_build "$here/consumer" "$WORK/add_subdirectory" -DSTREAMPOOL_CHECKOUT="$CHECKOUT"
    run_consumers "$WORK/add_subdirectory/consumer_c" "$WORK/add_subdirectory/consumer_cxx"
    stays_loaded "$WORK/add_subdirectory/libconsumer_plugin.so"
}

case $step in
    prefix) make_prefix ;;
    files) compare_files ;;
    list) list_files "$prefix" ;;
    expected) expected_files "$3" ;;
    components) compare_components ;;
    program) run_program ;;
    find_package) by_find_package ;;
    pkg_config) by_pkg_config ;;
    add_subdirectory) by_add_subdirectory ;;
    *) echo "no such step: $step"; exit 2 ;;
esac
