# Defaults of a trainer, such as the number of steps, the learning rate or evaluations: a build with other defaults
# compiles nothing, but writes them into the existing trainer, completely or not at all.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
out=$work/out
build() { ./longhand build tests/specs/$TINY.lua --levels best --out "$out" "$@"; }

# This compiler records and refuses every file of the trainer.
cat >"$work/cc" <<EOF
#!/bin/sh
case "\$*" in *$out*) echo "\$*" >>"$work/compiled" && exit 1 ;; esac
exec cc "\$@"
EOF
chmod +x "$work/cc"

# Gives the existing trainer other defaults, which must compile nothing: FIELD=VALUE...
set_defaults() {
    for field in "$@"; do
        set -- "$@" --set "$field"
        shift
    done
    CC=$work/cc ends_with 0 'new defaults, nothing compiled' build "$@" && [ ! -e "$work/compiled" ]
}

builds() { ends_with 0 'built for the CPU alone' build && cp -p "$out/trainer" "$work/first"; }

# Without flags the trainer has the bits of the first trainer with flags, and follows fields that have no flag.
are_followed() {
    set_defaults train.steps=6 train.learning_rate=0.01 train.log_every=2 train.checkpoint.every=4 \
        'train.checkpoint.keep={3,5}' 'eval.lengths={list={3,5}}' eval.examples=6 eval.batch=3 eval.draws=2 \
        'eval.during={every=3,lengths={2,4},examples=5}' || return
    "$out/trainer" train --threads 2 --out "$work/runs" &&
        "$work/first" train --threads 2 --out "$work/flags" --steps 6 --learning-rate 0.01 --no-eval || return
    run=$(echo "$work"/runs/$TINY/*/lr0.01-seed0)
    cmp "$run/checkpoint.safetensors" "$work"/flags/$TINY/*/lr0.01-seed0/checkpoint.safetensors &&
        [ "$(wc -l <"$run/metrics.jsonl")" -eq 3 ] && [ -f "$run/checkpoint-5.safetensors" ] &&
        [ "$(grep -c '"step":3,.*"examples":5,' "$run/eval.jsonl")" -eq 3 ] &&
        [ "$(grep -c '"step":6,.*"examples":6,"batch":3,"draws":2,' "$run/eval.jsonl")" -eq 2 ] &&
        grep -q '"spec":{"encoding":.*"steps":6}}' "$run/run.json"
}

# The first trainer, the current one and a hard link to the previous one have different defaults.
are_kept_by_copies() {
    ends_with 0 '2000000 steps of' "$work/first" info && ends_with 0 ' 6 steps of' "$out/trainer" info &&
        ln "$out/trainer" "$work/linked" && set_defaults train.steps=8 &&
        ends_with 0 ' 6 steps of' "$work/linked" info && ends_with 0 ' 8 steps of' "$out/trainer" info &&
        [ "$(stat -c %a "$out/trainer")" = "$(stat -c %a "$work/first")" ] &&
        ends_with 0 'up to date' build --set train.steps=8
}

# The generator is killed by programs that it calls, in the place of cp and sync: while a copy of the trainer is
# written, and before the copy gets the trainer's name.
survive_kills() {
    cp "$out/trainer" "$work/before" && mkdir "$work/bin" || return
    for program in cp sync; do
        rm -f "$work/bin"/*
        printf '#!/bin/sh\nhead -c 99999 "$2" >"$3"\necho >"%s"\nkill -9 $PPID\n' "$work/killed.$program" \
            >"$work/bin/$program"
        chmod +x "$work/bin/$program"
        ! PATH=$work/bin:$PATH build --set train.steps=9 && [ -e "$work/killed.$program" ] &&
            cmp "$out/trainer" "$work/before" && ends_with 0 'up to date' build --set train.steps=8 || return
    done
    set_defaults train.steps=9 && ends_with 0 ' 9 steps of' "$out/trainer" info
}

# The disk has space for one trainer and a half.
survive_a_full_disk() {
    cp -a "$out" "$work/disk/out" || return
    set -- ./longhand build tests/specs/$TINY.lua --levels best --out "$work/disk/out" --set
    ends_with 4 'No space left' "$@" train.steps=10 && cmp "$work/disk/out/trainer" "$out/trainer" &&
        [ "$(ls "$work/disk")" = out ] && ends_with 0 'up to date' "$@" train.steps=9
}

# A trainer with a changed byte in its text is refused; build repairs it.
are_refused_if_damaged() {
    at=$(grep -abo 'train.steps 9' "$out/trainer" | cut -d: -f1)
    cp -p "$out/trainer" "$work/damaged" &&
        printf 8 | dd of="$work/damaged" bs=1 seek=$((at + 12)) conv=notrunc || return
    ends_with 1 'the steps, learning rate and evaluation that this program stores are damaged' "$work/damaged" info &&
        ends_with 1 'that this program stores are damaged' "$work/damaged" train --out "$work/none" &&
        [ ! -e "$work/none" ] || return
    cp "$work/damaged" "$out/trainer" && set_defaults train.steps=9 && ends_with 0 ' 9 steps of' "$out/trainer" info
}

# Another build gives the trainer other defaults after `train` has built it and before it runs. A program in the place
# of env, by which the launcher starts the trainer, makes this change.
of_another_build_are_refused() {
    place=build/trainers/$TINY-$("$out/trainer" info | sed -n 's/^plan *//p')
    rm -rf "$place" "$work/bin"/* && mkdir -p build/trainers && cp -a "$out" "$place" || return
    printf '#!/bin/sh\ncase $1 in LONGHAND_DEFAULTS=*) cp "%s" "%s" ;; esac\nexec %s "$@"\n' "$work/first" \
        "$place/trainer" "$(command -v env)" >"$work/bin/env"
    chmod +x "$work/bin/env"
    set -- ./longhand train tests/specs/$TINY.lua --set train.steps=9 -- --no-eval --out "$work/between"
    PATH=$work/bin:$PATH ends_with 3 'this trainer was given other defaults' "$@" && [ ! -e "$work/between" ] &&
        ends_with 0 ' 9 steps in ' "$@"
}

are_in_the_sources() {
    ./longhand gen tests/specs/$TINY.lua --target cpu --set train.steps=9 --out "$work/src" &&
        diff -r "$work/src" "$out/src"
}

expect defaults_trainer_builds builds
if [ "$failures" -eq 0 ]; then
    expect_each defaults_ are_followed are_kept_by_copies survive_kills
    kilobytes=$(du -s -k "$out" | cut -f 1)
    if mount_disk $((kilobytes * 3 / 2))k; then
        expect defaults_survive_a_full_disk survive_a_full_disk
        umount "$work/disk"
    else
        echo "skip defaults_survive_a_full_disk: no right to mount"
    fi
    expect_each defaults_ are_refused_if_damaged are_in_the_sources of_another_build_are_refused
fi
finish
