#!/usr/bin/env bash
# layers.sh CHECKOUT: no file of src/ includes a file of a layer below its own, and the driver is called by the layers that
# know what its calls mean.
#
# A file may include, in quotes and from src/ or src/library/, files of its own layer and of those before it in this list; the public
# header in angle brackets; and the system. The public header includes the system only.
set -eu
cd "$1"

layers="base driver vmm order heap pool api simcuda shim cli"

check_sources() {
    find src -name '*.[ch]' -print0 | sort -z | xargs -0 awk -v layers="$layers" '
        BEGIN { count = split(layers, names, " "); for (i = 1; i <= count; i++) rank[names[i]] = i }
        function fail(why) { printf "%s:%d: %s\n", FILENAME, FNR, why; failed = 1 }
        FNR == 1 {
            split(FILENAME, path, "/"); own = path[2] == "library" ? path[3] : path[2]; files++
            if (!(own in rank)) fail("src/" own " is not in the list of layers")
        }
        match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/) {
            target = $0; sub(/^[^"]*"/, "", target); sub(/".*/, "", target)
            layer = target; sub(/\/.*/, "", layer)
            if (target ~ /\.\./ || !(layer in rank))
                fail("\"" target "\" is not a path that starts at src/ or src/library/")
            else if (rank[layer] > rank[own])
                fail(own " includes " layer ", which is below it")
        }
        /^[ \t]*#[ \t]*include[ \t]*<(cuda|driver_types|vector_types)/ { fail("src/ needs no CUDA toolkit") }
        END { if (!failed) print files " files of src/ include no layer below their own"; exit failed }'
}

# base/ and heap/ know no driver; pool/ and api/ leave its calls to vmm/ and order/.
check_driver_calls() {
    if grep -rn 'sp_driver->' src/library/base src/library/heap src/library/pool src/library/api; then
        echo "a driver call in a layer that makes none"
        return 1
    fi
}

check_public_headers() {
    if grep -rn '^[ \t]*#[ \t]*include[ \t]*"' include; then
        echo "a public header includes a file by quotes: only system headers can be relied on there"
        return 1
    fi
}

check_sources
check_driver_calls
check_public_headers
