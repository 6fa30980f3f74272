#!/bin/sh
# Fetches the third-party code of a release into a folder: the sources of jansson and luafilesystem, Lua's headers,
# argparse and dkjson, each with its licence and its version.
#
#     sh third_party.sh FOLDER
#
# All parts come from the distribution (Debian or a derivative), whose signatures apt checks. dkjson
# comes from the distribution's package, all other parts from upstream's sources. Nothing is installed. The folder gets
# its name when it is complete. Exit code 4: a part cannot be fetched or written.
set -u
export LC_ALL=C
case $1 in /*) into=$1 ;; *) into=$PWD/$1 ;; esac
work=$into.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

fail() {
    printf 'third_party.sh: %s\n' "$*" >&2
    exit 4
}

fetch() {
    apt-get -qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User= "$@" || {
        reason=$?
        fail "apt-get $1 ended with $reason: a release's third-party code cannot be had here"
    }
}

# Prints this machine's package repositories of the distribution, each also as a repository of source code.
repositories() {
    for origin in Debian Ubuntu; do
        for kind in deb deb-src; do
            apt-get indextargets --format "$kind \$(SITE) \$(RELEASE) \$(COMPONENT)" 'Created-By: Packages' \
                "Origin: $origin"
        done
    done 2>/dev/null | sort -u
}

# Fetches upstream's sources of a package, goes to their folder, and sets version.
unpack_source() {
    mkdir "$work/$1" "$work/$1.tar" && cd "$work/$1.tar" && fetch source --download-only --tar-only "$1" >/dev/null &&
        tar -xf "$1"_*.orig.tar.* -C "$work/$1" --strip-components=1 || fail "$1: its sources cannot be unpacked"
    set -- "$1" "$1"_*.orig.tar.*
    version=${2#*_}
    version=${version%.orig.tar.*}
    cd "$work/$1" || exit 4
}

# Fetches a package, goes to the folder with its files, and sets version.
unpack_package() {
    mkdir "$work/$1" "$work/$1.deb" && cd "$work/$1.deb" && fetch download "$1" >/dev/null &&
        dpkg-deb -x "$1"_*.deb "$work/$1" || fail "$1: the package cannot be unpacked"
    set -- "$1" "$1"_*.deb
    version=${2#*_}
    version=${version%%[-_]*}
    cd "$work/$1" || exit 4
}

# add_part NAME FOLDER LICENCE FILES: copies files of the current folder to a folder of the release, and adds a line to
# the list in the release's README.md.
add_part() {
    name=$1 folder=$2 licence=$3
    shift 3
    mkdir -p "$work/release/$folder" && cp "$@" "$work/release/$folder" || fail "$name: expected files are missing"
    printf '| %s | %s | %s | %s |\n' "$name" "$version" "$folder" "$licence" >>"$work/release/README.md"
}

# Sets values that jansson's configure finds with compilers of GNU or LLVM on a POSIX system.
configure_jansson() {
    sed -e 's/@json_inline@/inline/' -e 's/@json_have_[a-z_]*@/1/' "$work/jansson/src/jansson_config.h.in" \
        >"$work/release/jansson/jansson_config.h" || exit 4
    for setting in HAVE_ATOMIC_BUILTINS HAVE_CLOSE HAVE_ENDIAN_H HAVE_FCNTL_H HAVE_GETPID HAVE_GETTIMEOFDAY \
        HAVE_LOCALE_H HAVE_OPEN HAVE_READ HAVE_SCHED_H HAVE_SCHED_YIELD HAVE_STDINT_H HAVE_SYS_PARAM_H \
        HAVE_SYS_STAT_H HAVE_SYS_TIME_H HAVE_SYS_TYPES_H HAVE_UNISTD_H USE_URANDOM; do
        printf '#define %s 1\n' "$setting"
    done >"$work/release/jansson/jansson_private_config.h" || exit 4
    ! grep -q '@json' "$work/release/jansson/jansson_config.h" || fail "jansson: its configuration has an unknown value"
}

for program in apt-get dpkg-deb tar; do
    command -v $program >/dev/null 2>&1 || fail "this needs apt-get, dpkg-deb and tar: $program was not found"
done
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/release" || exit 4
work=$(cd "$work" && pwd) || exit 4
repositories >"$work/sources.list"
[ -s "$work/sources.list" ] || fail "apt knows no repository of Debian or Ubuntu: run 'apt-get update' first"
fetch update
cat >"$work/release/README.md" <<'TEXT'
# Third-party code in this release

With this code, a release needs only a C compiler, make and Lua. jansson is linked into trainers; the Lua modules are
used if Lua does not find its own. If you delete a folder, the version installed on the machine is used instead.

| what | version | folder | licence |
| --- | --- | --- | --- |
TEXT
unpack_source jansson
add_part jansson jansson 'MIT, jansson/LICENSE' LICENSE src/*.c src/*.h
configure_jansson
unpack_source lua-filesystem
add_part luafilesystem lfs 'MIT, lfs/LICENSE' LICENSE src/lfs.c src/lfs.h
unpack_source lua5.4
add_part "Lua's headers" lfs/include 'MIT, at the end of lua.h' src/lua.h src/luaconf.h src/lualib.h src/lauxlib.h
unpack_source lua-argparse
cp LICENSE argparse.LICENSE || exit 4
add_part argparse lua 'MIT, lua/argparse.LICENSE' argparse.LICENSE src/argparse.lua
unpack_package lua-dkjson
add_part dkjson lua 'MIT, in front of dkjson.lua' usr/share/lua/5.4/dkjson.lua
cd / && { [ ! -e "$into" ] || rm -rf "$into"; } && mv -T "$work/release" "$into" || fail "$into: cannot be made"
