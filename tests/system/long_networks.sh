# Compares random networks beyond those of the suite with the interpreter in double precision: LH_RANDOM=25 of them, and
# LH_RANDOM_WIDE=6 whose products a library computes on a GPU, each compiled for one of two levels and, with device
# code, for the emulation; and runs LH_NETWORKS=2000 networks on numbers, in the buffers of their lists of operations.

. tests/system/common.sh

COUNT="RANDOM_COUNT=${LH_RANDOM:-25} RANDOM_WIDE=${LH_RANDOM_WIDE:-6}"

enter_copy || exit 4

# Writes the sources of random networks, and builds the tests: FOLDER of tests...
build_tests() {
    "${LUA:-lua5.4}" tests/support/write_sources.lua build/tests/specs $(make -s $COUNT print-random-specs) &&
        make -s -j2 $COUNT LEVELS=best VARIANT=release $(printf 'build/release/tests/%s/test_random ' "$@")
}

if ${CXX:-g++} --version >/dev/null 2>&1; then
    expect "random networks build" build_tests unit emulation
    expect "device code of random networks matches the interpreter" build/release/tests/emulation/test_random
else
    expect "random networks build" build_tests unit
    echo "skip device code of random networks: ${CXX:-g++} does not compile C++"
fi
expect "random networks match the interpreter at two levels" build/release/tests/unit/test_random
expect "no name is given twice in random networks" env "LH_NETWORKS=${LH_RANDOM:-25}" \
    "${LUA:-lua5.4}" tests/lua/test_random.lua
expect "gradients of more random networks are their differences" env "LH_NETWORKS=${LH_NETWORKS:-2000}" \
    "${LUA:-lua5.4}" tests/lua/test_network.lua

finish
