# A release: the archive of `make dist`, unpacked outside of any repository on a machine without git, passes the lint,
# has up-to-date sources, trains, and passes the Lua tests that read the repository's own files.

. tests/system/common.sh
unset XDG_CACHE_HOME LONGHAND_BUILD

LUA_TESTS="arrows cli commands docs rooms"

# Makes a PATH without git: links to all programs of the present PATH except ccache, which looks for compilers there.
hide_git() {
    mkdir -p "$work/bin"
    echo "${LH_PATH:-$PATH}" | tr : '\n' | while read -r folder; do
        for program in "$folder"/*; do
            name=$(basename "$program")
            [ "$name" = git ] || [ -e "$work/bin/$name" ] || [ ! -x "$program" ] || ln -s "$program" "$work/bin/$name"
        done
    done
    PATH=$work/bin
    ! command -v git
}

unpacks() {
    tar -xzf "$archive" -C "$work" && cd "$work"/longhand-*/ && [ ! -e .git ] &&
        [ "$(./longhand --version)" = "longhand $(cat VERSION) (commit $(cat COMMIT))" ]
}

passes_the_lint() {
    sh tests/run.sh --only lint >"$work/lint" && grep -q '^skipped: subjects of commits' "$work/lint" ||
        { cat "$work/lint"; return 1; }
}

passes_lua_tests() {
    for name in $LUA_TESTS; do
        "${LUA:-lua5.4}" "tests/lua/test_$name.lua" >"$work/lua" 2>&1 || { cat "$work/lua"; return 1; }
    done
}

if ! command -v git >/dev/null || ! git rev-parse HEAD >/dev/null 2>&1; then
    echo "skip dist: no git repository"
    exit 0
elif ! archive=$(make -s dist 2>"$work/output"); then
    grep -q 'cannot be had here' "$work/output" && echo "skip dist: $(tail -n 1 "$work/output")" && exit 0
    cat "$work/output"
    exit 1
fi
archive=$root/$archive
hide_git || exit 1
expect dist_unpacks_with_its_commit unpacks
cd "$work"/longhand-*/ || exit 1
expect dist_passes_the_lint_without_git passes_the_lint
expect dist_has_the_generated_sources sh tests/run.sh --only stale
expect dist_passes_lua_tests passes_lua_tests
expect dist_trains sh tests/run.sh --quick --only trainer
finish
