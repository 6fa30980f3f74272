# Random networks beyond those of the suite: LH_RANDOM=25 of them compiled for two levels against the interpreter in
# double, and LH_NETWORKS=2000 on numbers, over the buffers of their lists.

. tests/system/common.sh

COUNT=${LH_RANDOM:-25}

# A build of its own: other tests run beside this one.
cd "$work" || exit 4
for name in Makefile cuda.mk longhand generator kernels runtime templates spec tests examples generated VERSION; do
    cp -R "$root/$name" "$name" || exit 4
done
mkdir -p build/tests/specs

match_interpreter() {
    "${LUA:-lua5.4}" tests/support/write_random.lua build/tests/specs $(make -s "RANDOM_COUNT=$COUNT" print-random-specs) &&
        make -s -j2 "RANDOM_COUNT=$COUNT" LEVELS=best build/release/tests/unit/test_random &&
        build/release/tests/unit/test_random
}

expect "$COUNT random networks match the interpreter at two levels" match_interpreter
expect "gradients of more random networks are their differences" env "LH_NETWORKS=${LH_NETWORKS:-2000}" \
    "${LUA:-lua5.4}" tests/lua/test_network.lua

finish
