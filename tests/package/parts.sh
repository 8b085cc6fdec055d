#!/usr/bin/env bash
# parts.sh STEP: the scripts that the packages are made with, each alone. CMakeLists.txt runs it with the build's settings in
# the environment; everything is written under $WORK/STEP.
set -euo pipefail
export LC_ALL=C
step=$1
work=$WORK/$step
package=$CHECKOUT/src/package

fail() {
    echo "$*"
    exit 1
}

expect_output() {  # WANTED, in whatever lines
    tr -s ' \n' ' ' < "$work/output" | grep -qF -e "$1" || fail "not said: $1; but: $(cat "$work/output")"
}

# What must not succeed, and what it must say.
expect_failure() {  # WANTED COMMAND...
    local wanted=$1
    shift
    if "$@" > "$work/output" 2>&1; then fail "succeeded: $*"; fi
    expect_output "$wanted"
}

# A build that can't give Debian packages says why.
refuse_debian_packages() {
    cpack_with() {  # NAME=VALUE NAME=VALUE
        "$CPACK" --config "$BUILD/CPackConfig.cmake" -G DEB -B "$work/packages" -D "$1" -D "$2"
    }
    expect_failure "configured for /opt/x, and Debian packages need /usr" \
        cpack_with CPACK_STREAMPOOL_PREFIX=/opt/x CPACK_STREAMPOOL_CLI=ON
    expect_failure "the build has a static library" \
        cpack_with CPACK_STREAMPOOL_PREFIX=/usr CPACK_STREAMPOOL_LIBRARY_TYPE=STATIC_LIBRARY
    expect_failure "the build has no program" \
        cpack_with CPACK_STREAMPOOL_PREFIX=/usr CPACK_STREAMPOOL_CLI=OFF
    test -z "$(find "$work" -name '*.deb')"
}

# Each version with its date, long lines broken, and nothing lost.
check_changelog() {
    cat > "$work/CHANGELOG.md" <<'TEXT'
# Changes

The format is explained here.

## Unreleased: 0.2.0

### Added

- A call
  in two lines.
- Words that go on and on until the line that they stand in has more columns than a line of a Debian changelog may.

### Removed

- Nothing.

## [0.1.0] - 2026-11-29

- All.
TEXT
    cat > "$work/wanted" <<'TEXT'
streampool (0.2.0) unstable; urgency=medium

  Added:
  * A call in two lines.
  * Words that go on and on until the line that they stand in has more
    columns than a line of a Debian changelog may.

  Removed:
  * Nothing.

 -- The team <team@team.invalid>  Tue, 14 Nov 2023 22:13:20 +0000

streampool (0.1.0) unstable; urgency=medium

  * All.

 -- The team <team@team.invalid>  Sun, 29 Nov 2026 00:00:00 +0000

TEXT
    SOURCE_DATE_EPOCH=1700000000 bash "$package/changelog.sh" "$work/CHANGELOG.md" 0.2.0 "The team <team@team.invalid>" |
        diff -u "$work/wanted" -
    expect_failure "begins with version '0.2.0', and this is version 0.1.0" \
        bash "$package/changelog.sh" "$work/CHANGELOG.md" 0.1.0 "The team <team@team.invalid>"
}

# Debian's manual pages are compressed, and links among them still lead somewhere.
check_manuals() {
    local man=$work/staged/tools/usr/share/man
    mkdir -p "$man/man1" "$man/man3"
    echo "page" > "$man/man1/streampool.1"
    echo "call" > "$man/man3/poolMallocAsync.3"
    ln -s poolMallocAsync.3 "$man/man3/poolFreeAsync.3"
    "$CMAKE" -DCPACK_GENERATOR=DEB -DCPACK_COMPONENTS_ALL=tools -DCPACK_DEBIAN_TOOLS_PACKAGE_NAME=streampool \
        -DCPACK_TEMPORARY_INSTALL_DIRECTORY="$work/staged" -DCPACK_STREAMPOOL_SOURCE_DIR="$CHECKOUT" \
        -DCPACK_STREAMPOOL_DOCDIR=share/doc/streampool -DCPACK_PACKAGE_VERSION="$VERSION" \
        -DCPACK_PACKAGE_CONTACT="The team <team@team.invalid>" -P "$package/stage.cmake"
    diff -u <(printf '%s\n' man1/streampool.1.gz man3/poolFreeAsync.3.gz man3/poolMallocAsync.3.gz) \
        <(cd "$man" && find . ! -type d | sed 's|^\./||' | sort)
    test "$(zcat "$man/man1/streampool.1.gz")" = page
    test "$(zcat "$man/man3/poolFreeAsync.3.gz")" = call
}

# The archive has the licences of what is linked into its program.
check_notices() {
    mkdir -p "$work/notices" "$work/staged"
    echo "a licence" > "$work/notices/zlib.txt"
    "$CMAKE" -DCPACK_GENERATOR=TGZ -DCPACK_STREAMPOOL_NOTICES="$work/notices" \
        -DCPACK_TEMPORARY_INSTALL_DIRECTORY="$work/staged" -DCPACK_STREAMPOOL_DOCDIR=share/doc/streampool \
        -P "$package/stage.cmake"
    cmp "$work/notices/zlib.txt" "$work/staged/share/doc/streampool/licences/zlib.txt"
}

check_arguments() {
    expect_failure "usage: bash src/package/make.sh [deb] [archive]" bash "$package/make.sh" rpm
}

# A library that passes for libc.so.6, with functions of several versions; and one that needs FUNCTION of it.
make_old_and_new_libc() {
    mkdir -p "$work/libc"
    cat > "$work/libc.map" <<'MAP'
GLIBC_2.4 { global: of_2_4; local: *; };
GLIBC_2.28 { global: of_2_28; };
GLIBC_2.29 { global: of_2_29; };
GLIBC_PRIVATE { global: private; };
MAP
    echo 'void of_2_4(void) {} void of_2_28(void) {} void of_2_29(void) {} void private(void) {}' |
        $COMPILER -x c - -shared -fPIC -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script="$work/libc.map" \
            -o "$work/libc/libc.so.6"
}

make_user() {  # FOLDER FUNCTION
    mkdir -p "$work/$1/lib"
    echo "void $2(void); void use_it(void); void use_it(void) { $2(); }" |
        $COMPILER -x c - -x none -shared -fPIC -nostdlib "$work/libc/libc.so.6" -o "$work/$1/lib/user.so"
}

needs() {  # VERSION FOLDER
    bash "$package/needs.sh" "$@"
}

# A file that needs a newer glibc is found, with the symbol; versions are compared as numbers.
check_needs() {
    make_old_and_new_libc
    make_user new of_2_29
    make_user same of_2_28
    make_user old of_2_4
    make_user private private
    expect_failure "$work/new/lib/user.so needs GLIBC_2.29, which glibc 2.28 hasn't: of_2_29" needs 2.28 "$work/new"
    needs 2.29 "$work/new"
    needs 2.28 "$work/same"
    needs 2.28 "$work/old"
    expect_failure "$work/same/lib/user.so needs GLIBC_2.28, which glibc 2.4 hasn't: of_2_28" needs 2.4 "$work/same"
    expect_failure "needs GLIBC_PRIVATE, which glibc 9.99 hasn't: private" needs 9.99 "$work/private"

    # So is a program of this machine, with its real libc.
    mkdir "$work/real"
    echo 'int main(void) { return 0; }' | $COMPILER -x c - -o "$work/real/program"
    expect_failure "__libc_start_main" needs 2.0 "$work/real"
    needs 9.99 "$work/real"

    # And one that needs a library which isn't beside it.
    mkdir "$work/other"
    echo 'void other(void); void other(void) {}' |
        $COMPILER -x c - -shared -fPIC -nostdlib -Wl,-soname,libother.so.1 -o "$work/libother.so.1"
    echo 'void other(void); int main(void) { other(); return 0; }' |
        $COMPILER -x c - -x none "$work/libother.so.1" -o "$work/other/program"
    expect_failure "$work/other/program needs the library libother.so.1" needs 9.99 "$work/other"
    mv "$work/libother.so.1" "$work/other"
    needs 9.99 "$work/other"

    mkdir "$work/none"
    echo text > "$work/none/text"
    expect_failure "no ELF file under" needs 2.28 "$work/none"
}

rm -rf "$work"
mkdir -p "$work"
case $step in
    refusal) refuse_debian_packages ;;
    changelog) check_changelog ;;
    manuals) check_manuals ;;
    notices) check_notices ;;
    arguments) check_arguments ;;
    needs) check_needs ;;
    *) echo "no such step: $step"; exit 2 ;;
esac
