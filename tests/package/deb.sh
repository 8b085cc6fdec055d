#!/usr/bin/env bash
# deb.sh STEP: one step of the test of the Debian packages. CMakeLists.txt runs it with the build's settings in the environment;
# everything is written under $WORK. The step make builds them, and unpacks each into a folder of its own and all into one.
#
# They are built without optimisation, which is quicker and changes nothing that is tested here.
set -euo pipefail
export LC_ALL=C
export CONFIG=Debug
step=$1
here=$CHECKOUT/tests/package
build=$WORK/build packages=$WORK/packages
components="library development tools"
libdir=lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH 2> /dev/null || true)

for tool in dpkg dpkg-deb dpkg-shlibdeps file; do
    if ! command -v "$tool" > /dev/null; then
        echo "skipped: $tool is missing on this machine"
        exit 77
    fi
done

package_of() {  # COMPONENT
    case $1 in
        library) echo "libstreampool$SOVERSION" ;;
        development) echo libstreampool-dev ;;
        tools) echo streampool ;;
    esac
}

deb_of() {  # COMPONENT
    echo "$packages/$(package_of "$1")_${VERSION}_$(dpkg --print-architecture).deb"
}

run_cpack() {  # FOLDER
    (cd "$build" && SOURCE_DATE_EPOCH=1700000000 "$CPACK" -G DEB -B "$1")
}

make_packages() {
    local component
    rm -rf "$WORK"
    mkdir -p "$WORK/all" "$WORK/control"
    CC=$COMPILER "$CMAKE" -C "$CHECKOUT/src/package/debian.cmake" -S "$CHECKOUT" -B "$build" -G "${GENERATOR% Multi-Config}" \
        -DCMAKE_BUILD_TYPE="$CONFIG"
    "$CMAKE" --build "$build" --parallel 2
    run_cpack "$packages"
    test "$(find "$packages" -maxdepth 1 -name '*.deb' | wc -l)" = 3
    for component in $components; do
        dpkg-deb -x "$(deb_of "$component")" "$WORK/$component"
        dpkg-deb -e "$(deb_of "$component")" "$WORK/control/$component"
        dpkg-deb -x "$(deb_of "$component")" "$WORK/all"
    done
}

# One step of the install test with the unpacked packages.
install_step() {  # STEP [ARGUMENT]
    local prefix=${PREFIX:-$WORK/all/usr} consumers=$WORK/consumers-$step
    PREFIX=$prefix LIBDIR=$libdir LIBRARIES=$prefix/$libdir WORK=$consumers \
        bash "$CHECKOUT/tests/install/install.sh" shared "$@"
}

list_package() {  # FOLDER
    (cd "$1" && find . -mindepth 1 -maxdepth 1 ! -name usr)
    PREFIX=$1/usr install_step list | sed 's|^|usr/|'
}

# Debian compresses manual pages.
as_packaged() {
    sed -e 's|^share/man/.*|&.gz|' -e 's|^|usr/|'
}

own_files() {  # COMPONENT
    awk -v component="$1" -v library="$(package_of library)" \
        '!/^#/ && $1 == component { sub(/@library@/, library, $2); print $2 }' "$here/debian-files.txt"
}

compare_files() {
    local component
    for component in $components; do
        diff -u --label "the lists of $component" --label "$(package_of "$component")" \
            <({ install_step expected "$component" | as_packaged; own_files "$component"; } | sort) \
            <(list_package "$WORK/$component" | sort)
    done
    rm -rf "$WORK/installed"
    DESTDIR=$WORK/installed "$CMAKE" --install "$build" > /dev/null
    diff -u --label "all that is installed" --label "all packages" \
        <({ PREFIX=$WORK/installed/usr install_step list | as_packaged
            for component in $components; do own_files "$component"; done; } | sort) \
        <(for component in $components; do list_package "$WORK/$component"; done | sort)
}

# Everything is root's, and only root can write it; programs and scripts can be run, and nothing else.
check_modes() {
    local component
    for component in $components; do
        dpkg-deb -c "$(deb_of "$component")" | awk '
            $2 != "root/root" { print "owner: " $0; bad = 1 }
            $1 ~ /^l/ { next }
            { wanted = "-rw-r--r--" }
            $1 ~ /^d/ || $6 ~ "^./usr/bin/[^/]+$" || $6 ~ /\/examples\/.*\.(sh|py)$/ { wanted = substr($1, 1, 1) "rwxr-xr-x" }
            $1 != wanted { print "mode: " $0; bad = 1 }
            END { exit bad }'
    done
    test -x "$WORK/tools/usr/bin/streampool"
}

field() {  # COMPONENT FIELD
    dpkg-deb -f "$(deb_of "$1")" "$2"
}

expect() {  # WHAT VALUE WANTED
    if [[ $2 =~ $3 ]]; then return 0; fi
    echo "$1 is '$2', and should match '$3'"
    return 1
}

check_control() {
    local component holders this libc='libc6 \(>= [0-9.]+\)'
    this="$(package_of library) \(= ${VERSION//./\\.}\)"
    holders=$(sed -n 's/^Copyright (c) [0-9-]* //p' "$CHECKOUT/LICENSE")
    for component in $components; do
        expect Package "$(field "$component" Package)" "^$(package_of "$component")\$"
        expect Version "$(field "$component" Version)" "^$VERSION\$"
        expect Source "$(field "$component" Source)" '^streampool$'
        expect Maintainer "$(field "$component" Maintainer)" "^$holders <noreply@streampool.invalid>\$"
        expect Installed-Size "$(field "$component" Installed-Size)" '^[1-9][0-9]*$'
        (cd "$WORK/$component" && md5sum --quiet -c "$WORK/control/$component/md5sums")
        test "$(find "$WORK/$component" -type f | wc -l)" = "$(wc -l < "$WORK/control/$component/md5sums")"
    done
    expect "the library's Depends" "$(field library Depends)" "^$libc\$"
    expect "the headers' Depends" "$(field development Depends)" "^$this\$"
    expect "the program's Depends" "$(field tools Depends)" "^$this, $libc, libcjson1 \([^)]*\), zlib1g \([^)]*\)\$"
    expect "the program's Recommends" "$(field tools Recommends)" '^python3$'

    # Programs that were built with this version run with it and later ones.
    expect shlibs "$(cat "$WORK/control/library/shlibs")" "^libstreampool $SOVERSION $(package_of library) \(>= $VERSION\)
libstreampool_copy $SOVERSION $(package_of library) \(>= $VERSION\)
libstreampool_mam $SOVERSION $(package_of library) \(>= $VERSION\)
libstreampool_observe $SOVERSION $(package_of library) \(>= $VERSION\)
libstreampool_swap $SOVERSION $(package_of library) \(>= $VERSION\)\$"
    diff -u --label wanted --label control <(printf '%s\n' {development,library,tools}/{control,md5sums} library/shlibs \
        {library,tools}/triggers | sort) <(cd "$WORK/control" && find . -type f | sed 's|^\./||' | sort)
    for component in library tools; do
        expect triggers "$(cat "$WORK/control/$component/triggers")" '^activate-noawait ldconfig$'
    done
}

words_of() { tr -s '[:space:]' '\n' | grep -vx '\.\?'; }

# The licence is there word for word, and the changelog is one that Debian's tools read.
check_texts() {
    local component docs
    for component in $components; do
        docs=$WORK/$component/usr/share/doc/$(package_of "$component")
        diff -u <(sed -n '5,$p' "$CHECKOUT/LICENSE" | words_of) \
            <(sed '1,/^License: Expat$/d' "$docs/copyright" | words_of)
        expect copyright "$(sed -n 's/^Copyright: //p' "$docs/copyright")" \
            "^$(sed -n 's/^Copyright (c) //p' "$CHECKOUT/LICENSE")\$"
        zcat "$docs/changelog.gz" > "$WORK/changelog"
        expect "the changelog's version" "$(dpkg-parsechangelog -l "$WORK/changelog" -S Version 2>&1)" "^$VERSION\$"
        expect "the changelog's time" "$(dpkg-parsechangelog -l "$WORK/changelog" -S Timestamp 2>&1)" '^1700000000$'
    done
}

# No symbols that only a debugger needs, no path of this machine, no place that the linker looks in.
check_clean() {
    local binary
    if grep -rlF -e "$CHECKOUT" -e "$WORK" "$WORK/all" "$WORK/control"; then echo "name this machine's folders"; return 1; fi
    find "$WORK/all" -type f \( -path '*/bin/*' -o -name '*.so*' \) > "$WORK/binaries"
    test "$(wc -l < "$WORK/binaries")" = 9
    while read -r binary; do
        if readelf -SW "$binary" | grep -E '\.(symtab|debug_)'; then echo "$binary isn't stripped"; return 1; fi
        if readelf -dW "$binary" | grep -E '\((RPATH|RUNPATH)\)'; then echo "of $binary"; return 1; fi
    done < "$WORK/binaries"
}

run_lintian() {
    if ! command -v lintian > /dev/null; then
        echo "skipped: lintian is missing on this machine"
        exit 77
    fi
    # Only what is installed can be in a package: the list says whether there are manual pages yet.
    if ! grep -q share/man/man1/ "$CHECKOUT/tests/install/installed-files.txt"; then
        tags="--suppress-tags no-manual-page"
    fi
    HOME=$WORK lintian --fail-on error,warning ${tags:-} "$packages"/*.deb
}

# An empty system with a package manager, and the other packages that ours depend on as if they were installed.
make_root() {  # FOLDER
    local name
    rm -rf "$1"
    mkdir -p "$1"/var/lib/dpkg/{info,updates,triggers}
    for name in $(for component in $components; do field "$component" Depends; done | tr ',' '\n' |
            awk '$1 !~ /streampool/ { print $1 }' | sort -u); do
        printf '%s\n' "Package: $name" "Status: install ok installed" "Maintainer: nobody <nobody@nobody.invalid>" \
            "Architecture: $(dpkg --print-architecture)" "Version: 1:99" "Description: stands in for $name" ""
    done > "$1/var/lib/dpkg/status"
}

files_of() {  # ROOT
    (cd "$1" && find . -path ./var/lib/dpkg -prune -o -print | sort)
}

# Installed, used, removed and purged: nothing is left. A package whose library isn't there, or goes, is refused.
install_and_purge() {
    local root=$WORK/root
    if [ "$(id -u)" != 0 ]; then
        echo "skipped: only root can install packages, even into a folder"
        exit 77
    fi
    export PATH=$PATH:/usr/sbin:/sbin
    make_root "$root"
    files_of "$root" > "$WORK/before"
    dpkg="dpkg --root=$root --log=/dev/null --no-pager"
    if $dpkg --install "$(deb_of tools)" > "$WORK/refused" 2>&1; then echo "installed without its library"; return 1; fi
    grep "depends on $(package_of library)" "$WORK/refused"
    $dpkg --install "$packages"/*.deb
    PREFIX=$root/usr install_step program
    if $dpkg --remove "$(package_of library)" > "$WORK/refused" 2>&1; then echo "its users stay behind"; return 1; fi
    grep "depends on $(package_of library)" "$WORK/refused"
    $dpkg --remove streampool libstreampool-dev "$(package_of library)"
    $dpkg --purge streampool libstreampool-dev "$(package_of library)"
    diff -u "$WORK/before" <(files_of "$root")
}

# Compilers find by themselves what is installed under /usr, so pkg-config may leave that out.
use_by_pkg_config() {
    CPATH=$WORK/all/usr/include LIBRARY_PATH=$WORK/all/usr/$libdir install_step pkg_config
}

# The second run is under another umask, later, and in another folder.
compare_with_second_run() {
    local deb
    umask 077
    run_cpack "$WORK/second" > /dev/null
    for deb in "$packages"/*.deb; do
        cmp "$deb" "$WORK/second/${deb##*/}"
    done
}

case $step in
    make) make_packages ;;
    files) compare_files ;;
    modes) check_modes ;;
    control) check_control ;;
    texts) check_texts ;;
    clean) check_clean ;;
    lintian) run_lintian ;;
    program | find_package) install_step "$step" ;;
    pkg_config) use_by_pkg_config ;;
    purge) install_and_purge ;;
    repeat) compare_with_second_run ;;
    *) echo "no such step: $step"; exit 2 ;;
esac
