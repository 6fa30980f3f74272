# A static trainer trains, resumes and evaluates alone in an empty root, with the bits of a dynamic one; a trainer of
# several instruction-set levels reports its level.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
STEPS=12
machine=$(uname -m)
plainest=$([ "$machine" = x86_64 ] && echo x86-64 || echo "$machine")
best=$(make -s print-levels LEVELS=best)

# The launcher builds the static trainer, without a message of the linker.
builds_statically() {
    ./longhand build tests/specs/$TINY.lua --static --levels "$plainest,$best" --out "$work/static" >"$work/output" 2>&1
    status=$?
    cat "$work/output"
    [ $status -eq 0 ] && ! grep -q warning "$work/output" && [ -x "$work/static/trainer" ]
}

# The trainer is built again only if a build requests other options.
is_kept() {
    ends_with 0 'up to date' ./longhand build tests/specs/$TINY.lua --static --levels "$best" --out "$work/static"
}

# A build with another number of steps keeps both levels and static linking.
takes_other_defaults() {
    ends_with 0 'new defaults, nothing compiled' ./longhand build tests/specs/$TINY.lua --static --levels "$best" \
        --set train.steps=17 --out "$work/static" && ends_with 0 ' 17 steps of' "$work/static/trainer" info &&
        [ "$(cut -d ' ' -f 2- "$work/static/stamp" | head -1)" = "static $(echo "$plainest $best" | tr ' ' '\n' | uniq |
            paste -s -d ' ')" ]
}

needs_no_library() {
    ldd "$work/static/trainer" 2>&1 | grep -qE 'not a dynamic executable|statically linked'
}

reports_its_linking() {
    ends_with 0 'linked: static' "$work/static/trainer" info && ends_with 0 '"linked":"static"' \
        "$work/static/trainer" info --json && ends_with 0 'linked: dynamic' "$work/dynamic/trainer" info &&
        ends_with 0 '"least_glibc":null' "$work/static/trainer" info --json
}

reports_its_least_glibc() {
    least=$(objdump -T "$work/dynamic/trainer" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
    ends_with 0 "linked: dynamic, needs glibc ${least#GLIBC_} or later" "$work/dynamic/trainer" info
}

# OpenMP must have read the settings that the trainer made before OpenMP started.
waits_passively() {
    for how in static dynamic; do
        env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=verbose "$work/$how/trainer" info >"$work/shown" 2>&1
        grep -q "OMP_WAIT_POLICY = 'PASSIVE'" "$work/shown" && grep -q "GOMP_SPINCOUNT = '1000'" "$work/shown" ||
            { echo "$how:" && cat "$work/shown" && return 1; }
    done
}

# Runs the trainer in an empty folder and without environment variables, if possible as the root folder: FLAGS.
run_alone() {
    if [ -n "$caged" ]; then
        env -i "$(command -v chroot)" "$work/empty" /trainer "$@"
    else
        (cd "$work/empty" && env -i ./trainer "$@")
    fi
}

# Trains half of the steps, resumes, evaluates.
trains_alone() {
    mkdir "$work/empty" && cp "$work/static/trainer" "$work/empty" || return
    run_alone train --steps $((STEPS / 2)) --threads 2 --no-eval --out runs || return
    ends_with 0 'resuming at step' run_alone train --steps $STEPS --threads 2 --resume --out runs || return
    checkpoint=$(cd "$work/empty" && echo runs/*/*/*/checkpoint.safetensors)
    ends_with 0 accuracy run_alone eval --checkpoint "$checkpoint" --lengths 1:20 --out asked || return
    ends_with 0 'linked: static' run_alone info
}

has_the_bits_of_a_dynamic_one() {
    "$work/dynamic/trainer" train --steps $STEPS --out "$work/runs" || return
    for file in checkpoint.safetensors eval.jsonl; do
        cmp "$work"/runs/*/*/*/$file "$work"/empty/runs/*/*/*/$file || return
    done
}

# Makes $work/cc, a compiler that does not find an archive: NAME.
make_compiler_without() {
    printf '#!/bin/sh\ncase $1 in -print-file-name=%s) echo "%s" ;; *) exec cc "$@" ;; esac\n' "$1" "$1" >"$work/cc"
    chmod +x "$work/cc"
}

reports_missing_archives() {
    make_compiler_without libjansson.a
    ends_with 4 'does not find: libjansson.a (in libjansson-dev on Debian' env CC="$work/cc" \
        ./longhand build tests/specs/$TINY.lua --static --out "$work/none" || return
    make_compiler_without libc.a
    ends_with 4 'does not find: libc.a (in libc6-dev on Debian' env CC="$work/cc" \
        ./longhand build tests/specs/$TINY.lua --static --out "$work/none" && [ ! -e "$work/none" ] || return
    set -- make -s trainer RUN=even_pairs_none STATIC=1 OUT="$work/none"
    ends_with 2 'does not find: libc.a' "$@" CC="$work/cc" && ends_with 2 'leave out VARIANT=asan' "$@" VARIANT=asan &&
        [ ! -e "$work/none" ]
}

# One file has two levels: it uses the widest by default, the other on request, and the run records the level.
uses_the_widest_or_the_named_level() {
    trainer=$work/static/trainer
    set -- train --steps 1 --no-eval --out "$work/level"
    ends_with 0 "; here: $best" "$trainer" info && ends_with 0 "level $best," "$trainer" "$@" || return
    ends_with 0 "level $plainest," env LONGHAND_ISA="$plainest" "$trainer" "$@" --seed 2 &&
        ends_with 0 "level $plainest" env LONGHAND_ISA="$plainest" "$trainer" bench --seconds 0.02 --lengths 3 || return
    grep -q "\"level\":\"$plainest\"" "$work"/level/*/*/*-seed2/run.json
}

refuses_a_wrong_level() {
    ends_with 2 'LONGHAND_ISA=native: this program has no such level, expected one of: ' env LONGHAND_ISA=native \
        "$work/static/trainer" train --out "$work/no" && [ ! -e "$work/no" ] &&
        ends_with 4 'cannot compile for: native (it can: ' ./longhand build tests/specs/$TINY.lua \
            --levels "$best,native" --out "$work/none" && [ ! -e "$work/none" ] &&
        ! grep -F "make:" "$work/.out"
}

problem=$(make -s print-static-problem)
if [ -n "$problem" ]; then
    echo "skip static_builds_statically and all that follow: $problem"
    finish
fi
# caged: whether chroot is permitted; its status is 125 if not.
caged=''
mkdir "$work/root" && chroot "$work/root" / 2>/dev/null
[ $? -ne 125 ] && caged=yes || echo "skip static_in_empty_root: chroot is not permitted; run in an empty folder instead"
expect_each static_ builds_statically is_kept takes_other_defaults
make -s trainer LEVELS="$best" ID=$TINY SOURCES="$work/static/src" OUT="$work/dynamic" || failures=1
if command -v ldd >/dev/null 2>&1; then
    expect static_needs_no_library needs_no_library
else
    echo "skip static_needs_no_library: no ldd"
fi
expect_each static_ reports_its_linking reports_its_least_glibc
if cc --version | grep -qi clang; then
    echo "skip static_waits_passively: not GNU's OpenMP"
else
    expect static_waits_passively waits_passively
fi
expect_each static_ trains_alone has_the_bits_of_a_dynamic_one reports_missing_archives \
    uses_the_widest_or_the_named_level refuses_a_wrong_level
finish
