# A disk that fills up, also during a build, or becomes read-only during a training: the exit code is 4, the message
# names the file, the last checkpoint is good, and with space again the resumed run has the same bits.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
STEPS=120
trainer=$work/out/trainer
disk=$work/disk

# Trains in a folder: FOLDER FLAGS.
train() {
    directory=$1
    shift
    "$trainer" train --out "$directory" --no-eval --log-every 7 --checkpoint-every 20 --threads 2 "$@"
}

find_checkpoint() {
    echo "$1"/*/*/*/checkpoint.safetensors
}

# Checks that the checkpoint is good, and that the resumed run on the disk has the bits of the uninterrupted run.
continues() {
    "$trainer" eval --checkpoint "$(find_checkpoint "$disk")" --lengths 5 --examples 4 --draws 1 --out "$work/eval" &&
        train "$disk" --steps $STEPS --resume && cmp "$(find_checkpoint "$disk")" "$(find_checkpoint "$work/whole")"
}

# The disk has space for two checkpoints, but a run writes a third before it deletes the oldest.
fills_up() {
    need=$(wc -c <"$(find_checkpoint "$work/whole")") || return
    mount -o remount,size=$((need * 5 / 2)) "$disk" || return
    ends_with 4 "No space left" train "$disk" --steps $STEPS || return
    grep -q "error: $disk/.*checkpoint" "$work/.out" || { cat "$work/.out" && return 1; }
    mount -o remount,size=10m "$disk" && continues
}

becomes_read_only() {
    rm -rf "${disk:?}"/* && train "$disk" --steps 40 && mount -o remount,ro "$disk" || return
    ends_with 4 "Read-only file system" train "$disk" --steps $STEPS --resume || return
    grep -q "error: $disk/" "$work/.out" || return
    ends_with 4 "Read-only file system" train "$disk/new" --steps $STEPS || return
    mount -o remount,rw "$disk" && continues
}

# The disk has space for the sources, not for the objects. The message names the folder, whatever the compiler prints.
fills_up_while_building() {
    rm -rf "${disk:?}"/*
    mount -o remount,size=$(($(du -sk "$work/out/src" | cut -f1) + 40))k "$disk" || return
    ends_with 4 "$disk/new: " ./longhand build tests/specs/$TINY.lua --levels best --out "$disk/new" || return
    [ -z "$(ls -A "$disk")" ] && mount -o remount,size=10m "$disk"
}

refuses_a_full_output() {
    for words in info "sample --length 5 --count 9" "eval --lengths 5 --examples 4 --out $work/eval --checkpoint $1"; do
        "$trainer" $words >/dev/full 2>"$work/output"
        [ $? -eq 4 ] && grep -q 'output could not be written' "$work/output" || { cat "$work/output" && return 1; }
    done
}

expect disk_trainer_builds ./longhand build tests/specs/$TINY.lua --levels best --out "$work/out"
expect disk_whole_run train "$work/whole" --steps $STEPS
if [ "$failures" -eq 0 ]; then
    [ ! -w /dev/full ] || expect disk_refuses_a_full_output refuses_a_full_output "$(find_checkpoint "$work/whole")"
    checks="fills_up becomes_read_only fills_up_while_building"
    if mount_disk 10m; then
        expect_each disk_ $checks
        umount "$disk"
    else
        for check in $checks; do echo "skip disk_$check: no right to mount"; done
    fi
fi
finish
