#!/usr/bin/env bash
# install.sh KIND STEP: one step of the install test for one kind of library, shared or static. CMakeLists.txt runs it
# with the build's settings in the environment; everything is written under $WORK. The tests of packages run it, too, with
# what is unpacked from them as PREFIX, and LIBRARIES where the system finds the library by itself once it is installed.
set -eu
kind=$1 step=$2
here=$CHECKOUT/tests/install
prefix=${PREFIX:-$WORK/moved}
CMAKE=${CMAKE:-cmake}

# A generator of several configurations has a folder for each.
configuration=
case $GENERATOR in *Multi-Config) configuration=/$CONFIG ;; esac

if [ "$kind" = shared ]; then shared_libs=ON; else shared_libs=OFF; fi

configure_and_build() {  # SOURCE FOLDER OPTION...
    local source=$1 folder=$2
    shift 2
    rm -rf "$folder"
    "$CMAKE" -S "$source" -B "$folder" -G "$GENERATOR" -DCMAKE_BUILD_TYPE="$CONFIG" -DCMAKE_C_COMPILER="$CC" \
        ${CXX:+-DCMAKE_CXX_COMPILER="$CXX" -DCONSUMER_CXX=ON} -DBUILD_SHARED_LIBS="$shared_libs" "$@"
    "$CMAKE" --build "$folder" --config "$CONFIG" --parallel 2
}

# The build under test has one kind of library; the other is built here.
if [ "$kind" = "$BUILD_KIND" ]; then build=$BUILD; else build=$WORK/build; fi

install_build() {  # OPTION...
    "$CMAKE" --install "$build" --config "$CONFIG" "$@"
}

make_prefix() {
    rm -rf "$WORK"
    mkdir -p "$WORK"
    if [ "$kind" != "$BUILD_KIND" ]; then
        configure_and_build "$CHECKOUT" "$build" -DSTREAMPOOL_TESTS=OFF -DSTREAMPOOL_HEAP="$HEAP" \
            -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_BINDIR="$BINDIR" -DCMAKE_INSTALL_LIBDIR="$LIBDIR"
    fi
    install_build --prefix "$WORK/installed"
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
    awk -v kind="$kind" -v heap="${HEAP-}" -v component="${1:-}" '/^#/ { next }
        sub(/\+heap$/, "", $1) && heap != "ON" { next }
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
        install_build --prefix "$root/$component" --component "$component"
        diff -u --label installed-files.txt --label "the component $component" \
            <(expected_files "$component") <(list_files "$root/$component")
    done
    diff -u --label "all files" --label "all components" <(list_files "$prefix") \
        <(for component in library development tools; do list_files "$root/$component"; done | LC_ALL=C sort)
    builds_without_tools "$root/building"
}

# Who builds programs need not have the simulated driver, which comes with the tools.
builds_without_tools() {  # PREFIX
    local component
    for component in library development; do
        install_build --prefix "$1" --component "$component"
    done
    configure_and_build "$here/consumer" "$WORK/without_tools" -DCMAKE_PREFIX_PATH="$1" \
        -DSTREAMPOOL_VERSION="${VERSION%.*}"
    test -x "$WORK/without_tools$configuration/consumer_c"
    test ! -e "$WORK/without_tools$configuration/consumer_simulated"
}

# Of a package, which has no paths of its own, libraries find each other where the system looks.
find_as_installed() {
    if [ -n "${LIBRARIES:-}" ]; then export LD_LIBRARY_PATH=$LIBRARIES; fi
}

# The program finds the library and the simulated driver from where it is, also through a link and the PATH.
run_program() {
    unset STREAMPOOL_DRIVER LD_LIBRARY_PATH
    find_as_installed
    "$prefix/$BINDIR/streampool" info || [ $? = 3 ]  # the status without a GPU
    mkdir -p "$WORK/links"
    ln -sf "$prefix/$BINDIR/streampool" "$WORK/links/streampool"
    cd /
    PATH=$WORK/links:$PATH streampool replay --device sim "$here/trace.csv"
    replay_sample
    if [ "$kind" = shared ] && [ -e "$prefix/$LIBDIR/libstreampool_dropin.so" ]; then run_dropins; fi
}

# The trace that the help names is there, and can be replayed.
replay_sample() {
    local sample
    sample=$("$prefix/$BINDIR/streampool" replay --help | grep -oE 'share/streampool/[^ ]*\.csv\.gz') ||
        { echo "the help of replay names no trace"; return 1; }
    "$prefix/$BINDIR/streampool" replay --device sim "$prefix/$sample"
}

# Both forms of the drop-in, and the libraries of managers, of copies and of pauses, find the library of the same tree from where they are, and so does the
# program its simulated driver.
run_dropins() {
    local dropin found mode
    for dropin in libstreampool_dropin.so streampool/dropin/libcuda.so.1 libstreampool_{mam,copy,swap}.so; do
        found=$(ldd "$prefix/$LIBDIR/$dropin" | awk '$1 ~ /^libstreampool\.so/ { print $3 }')
        echo "$dropin finds $found"
        test "$(realpath "$found")" = "$(realpath "$prefix/$LIBDIR/libstreampool.so")"
    done
    for mode in preload library; do
        "$prefix/$BINDIR/streampool" run --sim --mode=$mode -- "$prefix/$BINDIR/streampool" info > "$WORK/simulated.txt"
        grep -F "$(realpath "$prefix")/$LIBDIR/libstreampool_simcuda.so" "$WORK/simulated.txt"
    done
}

# The observer is found beside the library, or is in the program with it.
notes_what_it_is_asked_for() {  # PROGRAM
    STREAMPOOL_STATS=1 "$1" 2> "$WORK/noted.txt" > /dev/null
    grep 'never freed: 0 blocks of' "$WORK/noted.txt" || { cat "$WORK/noted.txt"; return 1; }
}

run_consumers() {  # FOLDER
    echo "running $1/consumer_c"
    "$1/consumer_c"
    notes_what_it_is_asked_for "$1/consumer_c"
    echo "running $1/consumer_mam"
    "$1/consumer_mam"
    echo "running $1/consumer_copy"
    "$1/consumer_copy"
    echo "running $1/consumer_swap"
    "$1/consumer_swap"
    echo "running $1/consumer_simulated"
    "$1/consumer_simulated"
    if [ ! "$CXX" ]; then return 0; fi
    echo "running $1/consumer_cxx"
    "$1/consumer_cxx"
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

# The package has no components, so a project that requires one doesn't get it.
refuses_components() {
    local folder=$WORK/component
    rm -rf "$folder"
    if "$CMAKE" -S "$here/consumer" -B "$folder" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$prefix" \
        "-DSTREAMPOOL_COMPONENTS=COMPONENTS;nonsense" > "$folder.txt" 2>&1; then
        echo "a component that isn't there was found"
        return 1
    fi
    grep "streampool has no components, and 'nonsense' is required" "$folder.txt"
}

by_find_package() {
    use_installed_driver
    find_as_installed
    configure_and_build "$here/consumer" "$WORK/find_package" -DCMAKE_PREFIX_PATH="$prefix" \
        -DSTREAMPOOL_VERSION="${VERSION%.*}"
    run_consumers "$WORK/find_package$configuration"
    refuses_components
    stays_loaded "$WORK/find_package$configuration/libconsumer_plugin.so"
}

need_pkg_config() {
    if command -v pkg-config > /dev/null; then return 0; fi
    echo "skipped: there is no pkg-config here"
    exit 77
}

by_pkg_config() {
    local flags mam_flags copy_flags swap_flags simulated_flags out=$WORK/pkg_config static=
    need_pkg_config
    use_installed_driver
    export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig LD_LIBRARY_PATH=$prefix/$LIBDIR
    mkdir -p "$out"
    test "$(pkg-config --modversion streampool)" = "$VERSION"
    if [ "$kind" = static ]; then static=--static; fi
    eval "flags=($(pkg-config --cflags --libs $static streampool))"  # with what quotes the spaces of a path
    "$CC" ${CFLAGS:-} "$here/consumer/consumer.c" -o "$out/consumer_c" "${flags[@]}" -ldl
    eval "mam_flags=($(pkg-config --cflags --libs $static streampool-mam))"
    "$CC" ${CFLAGS:-} "$here/consumer/mam.c" -o "$out/consumer_mam" "${mam_flags[@]}"
    eval "copy_flags=($(pkg-config --cflags --libs $static streampool-copy))"
    "$CC" ${CFLAGS:-} "$here/consumer/copy.c" -o "$out/consumer_copy" "${copy_flags[@]}"
    eval "swap_flags=($(pkg-config --cflags --libs $static streampool-swap))"
    "$CC" ${CFLAGS:-} "$here/consumer/swap.c" -o "$out/consumer_swap" "${swap_flags[@]}"
    eval "simulated_flags=($(pkg-config --cflags --libs streampool-simcuda))"
    "$CC" ${CFLAGS:-} "$here/consumer/simulated.c" -o "$out/consumer_simulated" "${simulated_flags[@]}"
    if [ "$CXX" ]; then
        "$CXX" ${CXXFLAGS:-} -std=c++17 "$here/consumer/consumer.cc" -o "$out/consumer_cxx" "${flags[@]}"
    fi
    "$CC" ${CFLAGS:-} -shared -fPIC "$here/consumer/consumer.c" -o "$out/plugin.so" "${flags[@]}" -ldl
    run_consumers "$out"
    stays_loaded "$out/plugin.so"
}

remove_build() {
    "$CMAKE" --build "$build" --config "$CONFIG" --target uninstall
}

# What was installed goes, and nothing else: of a prefix of its own nothing is left, in a shared one what others have put there.
by_uninstall() {
    local own=$WORK/uninstall/streampool shared=$WORK/uninstall/streampool/shared
    rm -rf "$WORK/uninstall"
    install_build --prefix "$own"
    test -e "$own/include/streampool/streampool.h"
    remove_build
    if [ -e "$own" ]; then find "$own"; return 1; fi
    if remove_build > "$WORK/refused.txt" 2>&1; then echo "there was something left to remove"; return 1; fi
    grep 'Nothing that was installed' "$WORK/refused.txt"

    mkdir -p "$shared/include/streampool" "$shared/share/streampool/traces"
    touch "$shared/include/streampool/other.h" "$shared/share/streampool/traces/.hidden"
    install_build --prefix "$shared"
    rm "$shared/include/streampool/streampool.h"
    remove_build | tee "$WORK/removed.txt"
    grep '1 were not there any more' "$WORK/removed.txt"
    diff -u --label "of others" --label "left behind" \
        <(printf '%s\n' include/streampool/other.h share/streampool/traces/.hidden) \
        <(cd "$shared" && find . ! -type d | sed 's|^\./||' | LC_ALL=C sort)
    test -d "$shared/$LIBDIR/pkgconfig"
    if [ -e "$shared/share/doc/streampool" ]; then echo "an empty folder is left"; return 1; fi
}

# A distribution's package: installed for /usr, under another root. pkg-config then has no more to say than the library's name.
below_usr() {
    local flags root=$WORK/root option=(--prefix /usr)
    need_pkg_config
    if [ "$kind" != "$BUILD_KIND" ]; then option=(); fi  # configured with that prefix
    rm -rf "$root"
    DESTDIR=$root install_build --component development "${option[@]}"
    DESTDIR=$root install_build --component tools "${option[@]}"
    export PKG_CONFIG_PATH=$root/usr/$LIBDIR/pkgconfig
    read -ra flags <<< "$(pkg-config --cflags --libs streampool)"
    test "${flags[*]}" = "-lstreampool" || { echo "pkg-config says: ${flags[*]}"; return 1; }
    read -ra flags <<< "$(pkg-config --cflags --libs streampool-mam)"
    test "${flags[*]}" = "-lstreampool_mam -lstreampool" || { echo "pkg-config says: ${flags[*]}"; return 1; }
    read -ra flags <<< "$(pkg-config --cflags --libs streampool-copy)"
    test "${flags[*]}" = "-lstreampool_copy -lstreampool" || { echo "pkg-config says: ${flags[*]}"; return 1; }
    read -ra flags <<< "$(pkg-config --cflags --libs streampool-swap)"
    test "${flags[*]}" = "-lstreampool_swap -lstreampool_copy -lstreampool" || { echo "pkg-config says: ${flags[*]}"; return 1; }
    read -ra flags <<< "$(pkg-config --cflags --libs streampool-simcuda)"
    test "${flags[*]}" = "-lstreampool_simcuda" || { echo "pkg-config says: ${flags[*]}"; return 1; }
    read -ra flags <<< "$(pkg-config --static --cflags --libs streampool)"
    test "${flags[*]}" = "-lstreampool -lpthread -ldl -Wl,-z,nodelete" || { echo "pkg-config --static says: ${flags[*]}"; return 1; }
}

# Settings of the outer project that would break this one are its own affair.
by_add_subdirectory() {
    configure_and_build "$here/consumer" "$WORK/add_subdirectory" -DSTREAMPOOL_CHECKOUT="$CHECKOUT" \
        -DCMAKE_UNITY_BUILD=ON ${CONFIG:+-DCMAKE_"${CONFIG^^}"_POSTFIX=_outer}
    test -f "$WORK/add_subdirectory/streampool$configuration/$LIBDIR/libstreampool_simcuda.so"
    run_consumers "$WORK/add_subdirectory$configuration"
    stays_loaded "$WORK/add_subdirectory$configuration"/libconsumer_plugin*.so
}

documentation=$prefix/share/doc/streampool

check_pages() {
    bash "$CHECKOUT/tests/source/links.sh" "$documentation" examples
}

# FOLDER EXAMPLE COMMAND...: the command prints what the installed README.md says.
run_example() {
    echo "running $2"
    bash "$CHECKOUT/tests/examples/run.sh" "$@"
}

# A user copies the folder, and builds it by its CMakeLists.txt. There may be no GPU here.
by_examples() {
    local copy=$WORK/examples
    test -n "$CXX" || { echo "skipped: there is no C++ compiler here"; exit 77; }
    use_installed_driver
    rm -rf "$copy"
    cp -r "$documentation/examples" "$copy"
    configure_and_build "$copy" "$copy/build" -DCMAKE_PREFIX_PATH="$prefix" -DSIMULATED=ON
    for name in basic two_streams promises priming statistics mam copy load_file swap simulated_kernel; do
        run_example "$copy" "$name.c" "$copy/build/$name"
    done
    run_example "$copy" basic.cpp "$copy/build/basic_cpp"
    run_example "$copy" record_and_replay.sh \
        bash "$CHECKOUT/tests/examples/replay.sh" "$copy" "$prefix/$BINDIR/streampool" "$copy/build/statistics"
    if [ "$kind" = shared ]; then by_commands "$copy"; fi
}

# Without a C++ compiler the programs in C are built, and the others are named.
by_examples_in_c() {
    local copy=$WORK/examples_c output=$WORK/examples_c.txt
    use_installed_driver
    rm -rf "$copy"
    cp -r "$documentation/examples" "$copy"
    CXX=$WORK/missing/g++ "$CMAKE" -S "$copy" -B "$copy/build" -G "$GENERATOR" -DCMAKE_BUILD_TYPE="$CONFIG" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$prefix" -DSIMULATED=ON | tee "$output"
    grep -q 'Left out: basic_cpp' "$output"
    "$CMAKE" --build "$copy/build" --config "$CONFIG"
    run_example "$copy" basic.c "$copy/build$configuration/basic"
}

# The commands of README.md for a machine with no GPU, as they stand there.
by_commands() {  # FOLDER
    cd "$1"
    awk '/^```/ { if (inside && block ~ /lstreampool_simcuda/) printf "%s", block; inside = !inside; block = ""; next }
        { block = block $0 "\n" }' \
        README.md > commands.sh
    export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig LD_LIBRARY_PATH=$prefix/$LIBDIR
    run_example "$1" basic.c bash -eu commands.sh
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
    usr) below_usr ;;
    uninstall) by_uninstall ;;
    add_subdirectory) by_add_subdirectory ;;
    pages) check_pages ;;
    examples) by_examples ;;
    examples_in_c) by_examples_in_c ;;
    *) echo "no such step: $step"; exit 2 ;;
esac
