# What the scripts need on the machine, and how it gets there. Sourced by tests/run.sh and bench/build.sh, in the checkout's
# root.
#
# A need is a row of what to look for, its name, and the Debian package that has it: src/package/prerequisites.txt holds those of the
# builds and the tests. Looking comes first, so that a machine with the tools from elsewhere needs no package manager.

needs_of() {  # WHO
    local who need
    while read -r who need; do
        if [ "$who" = "$1" ]; then echo "$need"; fi
    done < src/package/prerequisites.txt
}

# Each row ends its line, so that lists can stand one behind the other.
build_needs=$(needs_of build)$'\n'
test_needs=$(needs_of test)$'\n'$(needs_of check)$'\n'

is_there() {  # KIND NAME
    case $1 in
        command) command -v "$2" ;;
        header) echo "#include <$2>" | gcc -E - ;;
        module) /usr/bin/python3 -c "import $2" ;;
        runtime) ls "$(clang -print-resource-dir)"/lib/*/libclang_rt."$2"* ;;
    esac > /dev/null 2>&1
}

missing_packages() {  # NEEDS
    local kind name package
    while read -r kind name package; do
        if [ -n "$kind" ] && ! is_there "$kind" "$name"; then echo "$package"; fi
    done <<< "$1"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Of what apt-get prints, a line now and then: each package is fetched, unpacked and set up.
tell_installation() {
    local line packages=0 steps=0
    while IFS= read -r line; do
        case $line in
            *" newly installed"*)
                packages=${line#*upgraded, }
                packages=${packages%% *}
                ;;
            "Need to get"*) echo "  $line" ;;
            Get:* | Unpacking* | "Setting up"*)
                steps=$((steps + 1))
                if [ $((steps % 30)) = 0 ]; then echo "  $steps of about $((3 * packages)) steps: ${line%%(*}"; fi
                ;;
        esac
    done
}

# Installs what is missing of NEEDS, and says so. With install=no it only says so, and fails.
provide() {  # NEEDS INSTALL
    local needs=$1 install=$2 packages
    packages=$(missing_packages "$needs" | tr '\n' ' ')
    if [ -z "$packages" ]; then return 0; fi
    echo "Missing on this machine, as Debian packages: $packages" >&2
    if [ "$install" = no ]; then
        echo "Nothing is installed because of --no-install. Install them, or run without that option." >&2
        return 1
    fi
    if ! command -v apt-get > /dev/null; then
        echo "There is no apt-get here: install the counterparts of these packages and run again." >&2
        return 1
    fi
    echo "Installing them with apt-get." >&2
    as_root apt-get update -qq
    # shellcheck disable=SC2086  # one word for each package
    (set -o pipefail; as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get install -y --no-install-recommends $packages |
        tell_installation >&2) || return 1
    packages=$(missing_packages "$needs" | tr '\n' ' ')
    if [ -n "$packages" ]; then
        echo "Still missing after the installation: $packages" >&2
        return 1
    fi
}
