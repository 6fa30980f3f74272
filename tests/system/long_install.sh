# An installed copy that is read-only for its users: it builds in their own folders, and has its manual and completions.

. tests/system/common.sh
unset XDG_CACHE_HOME LONGHAND_CACHE LONGHAND_BUILD

# Runs a command as a user who owns none of the installed files, with the home folder $work/home: COMMAND.
run_as_user() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/home" PATH="${LH_PATH:-$PATH}" "$@"
}

installs() {
    make -s install PREFIX=/usr DESTDIR="$work/root" && [ "$("$work/root/usr/bin/longhand" --version)" = "$(./longhand \
        --version)" ] && ! find "$work/root" -perm -o=w ! -type l | grep . && chmod 755 "$work"
}

completes() {
    script=$work/root/usr/share/bash-completion/completions/longhand
    cat >"$work/try.sh" <<'END'
. "$1"
shift
try() {
    expected=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _longhand
    [ "${COMPREPLY[*]}" = "$expected" ] || { echo "$*: found ${COMPREPLY[*]}, expected $expected"; exit 1; }
}
try plan ./longhand pla
try parity_check_sinusoid ./longhand train parity_check_s
try --set ./longhand train --s
try cpu_nodes ./longhand sweep --slurm cpu
try pca ./longhand analyze pc
try --lengths ./longhand analyze pca --le
try --steps ./longhand train x -- --st
try studies ./longhand list stud
END
    bash "$work/try.sh" "$script"
}

completes_in_zsh() {
    mkdir "$work/zsh" && cp "$work/root/usr/share/zsh/site-functions/_longhand" "$work/zsh" &&
        timeout 600 zsh -f tests/support/complete.zsh "$work/zsh"
}

has_a_manual() {
    page=$work/root/usr/share/man/man1/longhand.1
    for verb in $(sed -n 's/^   \([a-z]*\)  .*/\1/p' generator/cli/help.txt); do
        [ "$verb" = help ] || grep -qx "\.SS $verb" "$page" || { echo "no $verb"; return 1; }
    done
    ! command -v groff >/dev/null || [ -z "$(groff -man -ww -z "$page" 2>&1)" ]
}

is_built_by_a_user() {
    mkdir "$work/home" && chown 65534:65534 "$work/home" && cd "$work/home" || return
    run_as_user "$work/root/usr/bin/longhand" build parity_check_sinusoid --levels best >"$work/output" &&
        trainer=$(sed -n 's#^\(/.*/trainer\): .*#\1#p' "$work/output") &&
        case $trainer in "$work"/home/.cache/longhand/build-*/trainers/*) ;; *) cat "$work/output"; return 1 ;; esac &&
        run_as_user "$trainer" train --steps 2 --no-eval --out "$work/home/runs"
}

# The user names another folder for the output, then builds the same trainer again: nothing is compiled twice.
uses_another_build_folder() {
    cd "$work/home" && run_as_user cp -R "$(echo "$work"/home/.cache/longhand/build-*)" mine &&
        run_as_user env LONGHAND_BUILD=mine "$work/root/usr/bin/longhand" build parity_check_sinusoid --levels best \
            >"$work/output" && grep -q "^$work/home/mine/trainers/.*: up to date" "$work/output"
}

# An installed tree is not changed: the sources of the showcase are generated in the user's cache.
generates_for_a_user() {
    cd "$work/home" && run_as_user "$work/root/usr/bin/longhand" gen parity_check_sinusoid &&
        ls "$work"/home/.cache/longhand/build-*/generated/parity_check_sinusoid/spec.c
}

# Three builds at once share objects and an archive: each reads complete files, and no temporary file is left.
is_built_three_times_at_once() {
    mkdir "$work/met" && cp -a build/release "$work/met" && rm "$work"/met/release/runtime/cli/*.o || return
    makes=''
    for n in 1 2 3; do
        make -s library "LONGHAND_BUILD=$work/met" >"$work/make$n" 2>&1 &
        makes="$makes $!"
    done
    for one in $makes; do
        wait "$one" || { cat "$work"/make? && return 1; }
    done
    [ -z "$(find "$work/met" -name '*.o.*' -o -name '*.a.*' -o -name 'compiler.*')" ] &&
        [ "$(ar t "$work/met/lib/liblonghand.a")" = "$(ar t build/lib/liblonghand.a)" ]
}

# Objects of another release are compiled again, although they are newer than the sources.
is_built_again_from_other_sources() {
    echo 'another compiler, another release' >"$work/met/release/compiler" || return
    make -n library "LONGHAND_BUILD=$work/met" | grep -q 'runtime/cli/[a-z_]*\.c'
}

# Two releases have the same bytes, for any umask.
releases_the_same_bytes() {
    release=longhand-$(cat VERSION)
    cp "build/$release.tar.gz" "$work" && (umask 077 && make -s dist) &&
        cmp "build/$release.tar.gz" "$work/$release.tar.gz" && mkdir "$work/empty" &&
        tar -xzf "$work/$release.tar.gz" -C "$work/empty"
}

# Makes programs, to come first in PATH: a Lua without modules, and an apt-get that fails.
make_programs_without_modules() {
    mkdir "$work/lonely" &&
        printf '#!/bin/sh\nLUA_PATH=${LUA_PATH-none} LUA_CPATH=${LUA_CPATH-none} exec %s "$@"\n' \
            "$(command -v "${LUA:-lua5.4}")" >"$work/lonely/lua5.4" &&
            printf '#!/bin/sh\nexit 1\n' >"$work/lonely/apt-get" &&
        chmod +x "$work/lonely"/*
}

# An unpacked release needs no jansson and no Lua modules, and names the third-party code in a trainer.
trains_from_a_release() {
    make_programs_without_modules && cd "$work/empty/longhand-$(cat VERSION)" &&
        ls LICENSE CITATION.cff third_party/README.md &&
        PATH=$work/lonely:$PATH && export PATH &&
        [ "$(./longhand --version)" = "longhand $(cat VERSION) (commit $(cat COMMIT))" ] &&
        ./longhand train parity_check_sinusoid -- --steps 2 --no-eval --out "$work/released" &&
        ls "$work"/released/parity_check_sinusoid/*/*/checkpoint.safetensors build/lua-*/lfs.so &&
        archive=$PWD/build/lib/libjansson.a && make -s print-archives | grep -qF "$archive" &&
        [ "$(sh lab/study/bundle/licences.sh "$work/licences" "$archive")" = "$archive jansson 1" ] &&
        cmp third_party/jansson/LICENSE "$work/licences/jansson/libjansson.LICENSE"
}

has_no_tests() {
    ends_with 4 'there are no tests in' "$work/root/usr/bin/longhand" test
}

reports_a_wrong_build_folder() {
    ends_with 4 'make cannot handle this folder' env LONGHAND_BUILD="$work/a b" ./longhand plan parity_check_sinusoid &&
        ends_with 4 'cannot make the directory /proc/none' env LONGHAND_BUILD=/proc/none ./longhand build \
            parity_check_sinusoid --levels best
}

# make cannot handle a folder with a space in its name, and a user who may not write to the installed copy has no other.
reports_a_home_with_a_space() {
    mkdir "$work/a home" && chown 65534:65534 "$work/a home" && cd "$work/a home" &&
        ends_with 4 "XDG_CACHE_HOME, HOME): make cannot handle this folder's name: $work/a home" run_as_user env \
            HOME="$work/a home" "$work/root/usr/bin/longhand" build parity_check_sinusoid
}

# A build without a home folder is refused, and the message names a remedy.
reports_a_missing_home() {
    cd "$work" && ends_with 4 'LONGHAND_BUILD names another folder for the results of builds' run_as_user env -u HOME \
        "$work/root/usr/bin/longhand" build parity_check_sinusoid --levels best
}

uninstalls() {
    make -s uninstall PREFIX=/usr DESTDIR="$work/root" && ! find "$work/root" ! -type d | grep .
}

expect_each install_ installs has_a_manual
if command -v bash >/dev/null; then
    expect install_completes completes
else
    echo "skip install_completes: no bash"
fi
if command -v zsh >/dev/null; then
    expect install_completes_in_zsh completes_in_zsh
else
    echo "skip install_completes_in_zsh: no zsh"
fi
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    expect_each install_ is_built_by_a_user uses_another_build_folder generates_for_a_user \
        reports_a_home_with_a_space reports_a_missing_home
else
    echo "skip install_is_built_by_a_user: only root can be somebody else"
fi
make -s library || exit 1
expect_each install_ is_built_three_times_at_once is_built_again_from_other_sources
if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    echo "skip install_releases: a release is made from a clone"
elif make -s dist >"$work/dist" 2>&1; then
    expect_each install_ releases_the_same_bytes trains_from_a_release
elif grep -e 'cannot be had here' -e 'apt knows no repository' -e 'this needs apt-get' "$work/dist"; then
    echo "skip install_releases: what a release carries cannot be fetched here"
else
    expect install_releases cat "$work/dist" /nowhere
fi
expect_each install_ has_no_tests reports_a_wrong_build_folder uninstalls

finish
