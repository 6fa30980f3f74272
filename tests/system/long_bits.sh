# Compares the bits of this tree with those of another commit: sh tests/system/long_bits.sh BASE [ID...]
#
# For every spec of spec/runs and tests/specs, at every level of this machine: all parameters after 20 steps, an
# evaluation, and a device step in the emulation (tests/bits/list.sh, which is copied to BASE if it has none). Results
# of BASE are kept in build/bits, by commit and compiler. BASE is the commit before a change that should not change
# bits; LONGHAND_BITS_BASE in the environment may name it instead. Without it the test is skipped.

. tests/system/common.sh

base=${1:-${LONGHAND_BITS_BASE:-}}
[ $# -gt 0 ] && shift
if [ -z "$base" ]; then
    echo "skip bits_of_a_commit: no commit was named to compare with"
    exit 0
fi
commit=$(git rev-parse --verify --short=12 "$base^{commit}") || exit 2
base_lists=build/bits/$commit-$(${CC:-cc} --version | cksum | cut -d ' ' -f 1)

list_base() {
    mkdir -p "$work/base" && git archive "$commit" | tar -x -C "$work/base" || return
    [ -d "$work/base/tests/bits" ] || cp -r tests/bits "$work/base/tests/bits" || return
    mkdir -p "$base_lists" && (cd "$work/base" && sh tests/bits/list.sh "$root/$base_lists" "$@")
}

# Prints a list in a form that can be compared: FILE.
print_comparable() {
    ${LUA:-lua5.4} tests/bits/evaluations.lua <"$1"
}

# A spec that BASE lacks is not compared: NAME of a list.
keeps_bits() {
    [ -f "$base_lists/$1" ] || { echo "$commit has no $1" && return; }
    print_comparable "$base_lists/$1" >"$work/old" && print_comparable "$work/lists/$1" >"$work/new" &&
        diff "$work/old" "$work/new"
}

expect "bits_of_$commit" list_base "$@"
expect bits_of_this_tree sh tests/bits/list.sh "$work/lists" "$@"
for list in "$work"/lists/*.cpu "$work"/lists/*.device; do
    [ -f "$list" ] && expect "bits_${list##*/}" keeps_bits "${list##*/}"
done
finish
