# Trainers built without Lua from generated sources, and with sanitizers.

. tests/system/common.sh

TINY=parity_dropout_rand_rope

PATH=${LH_PATH:-$PATH}

# The PATH has make, a compiler and the shell's tools alone.
builds_without_lua() {
    mkdir -p "$work/bin"
    for tool in sh make cc gcc as ld ar rm mv mkdir find grep awk tr cmp sort env uname head cat; do
        path=$(command -v $tool) && ln -sf "$path" "$work/bin/$tool"
    done
    ./longhand gen tests/specs/$TINY.lua --out "$work/$TINY" >/dev/null || return
    PATH="$work/bin" make -s trainer LEVELS=best ID=$TINY SOURCES="$work/$TINY" OUT="$work/out" &&
        "$work/out/trainer" info >/dev/null
}

# Another number of steps compiles only the file that contains it.
takes_other_defaults_without_lua() {
    ./longhand gen tests/specs/$TINY.lua --set train.steps=71 --out "$work/$TINY" >/dev/null || return
    PATH="$work/bin" make trainer LEVELS=best ID=$TINY SOURCES="$work/$TINY" OUT="$work/out" >"$work/output" &&
        [ "$(grep -c -e ' -c -o ' "$work/output")" -eq 1 ] && ends_with 0 ' 71 steps of' "$work/out/trainer" info
}

needs_libc_alone() {
    ldd "$work/out/trainer" >"$work/libraries" || return
    grep -q 'libc\.so' "$work/libraries" && ! grep -vE 'linux-vdso|/ld-linux|^[[:space:]]lib[cm]\.so' "$work/libraries"
}

runs_with_sanitizers() {
    ./longhand gen tests/specs/$TINY.lua --out build/tests/specs/$TINY >/dev/null || return
    make -s -j2 trainer VARIANT=asan LEVELS=best ID=$TINY SOURCES=build/tests/specs/$TINY OUT=build/asan/trainers/$TINY &&
        build/asan/trainers/$TINY/trainer train --steps 3 --out "$work/runs" --threads 2 &&
        build/asan/trainers/$TINY/trainer trace --checkpoint "$work"/runs/*/*/*/checkpoint.safetensors \
            --what attention,scores,activations,entropy --lengths 1:18:17 --examples 2 --draws 2 --out "$work/trace"
}

expect_each trainer_ builds_without_lua takes_other_defaults_without_lua
problem=$(make -s print-static-problem)
if [ -n "$problem" ]; then
    echo "skip trainer_needs_libc_alone: $problem"
elif command -v ldd >/dev/null 2>&1; then
    expect trainer_needs_libc_alone needs_libc_alone
else
    echo "skip trainer_needs_libc_alone: no ldd"
fi
expect trainer_runs_with_sanitizers runs_with_sanitizers
finish
