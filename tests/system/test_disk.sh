# A disk that fills up, also during a build, or becomes read-only during a training: the exit code is 4, the message
# names the file, the last checkpoint is good, and with space again the resumed run has the same bits.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
STEPS=120
trainer=$work/out/trainer
disk=$work/disk

build() {
    ./longhand gen tests/specs/$TINY.lua --out "$work/$TINY" >/dev/null &&
        make -s trainer LEVELS=best ID=$TINY SOURCES="$work/$TINY" OUT="$work/out"
}

# train DIR FLAGS
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

# The disk has space for two checkpoints, not for the third that rotation needs. The first is small enough to be
# written.
full_disk() {
    need=$(wc -c <"$(find_checkpoint "$work/whole")") || return
    mount -o remount,size=$((need * 5 / 2)) "$disk" || return
    ends_with 4 "No space left" train "$disk" --steps $STEPS || return
    grep -q "error: $disk/.*checkpoint" "$work/.out" || { cat "$work/.out" && return 1; }
    mount -o remount,size=10m "$disk" && continues
}

read_only() {
    rm -rf "${disk:?}"/* && train "$disk" --steps 40 && mount -o remount,ro "$disk" || return
    ends_with 4 "Read-only file system" train "$disk" --steps $STEPS --resume || return
    grep -q "error: $disk/" "$work/.out" || return
    ends_with 4 "Read-only file system" train "$disk/new" --steps $STEPS || return
    mount -o remount,rw "$disk" && continues
}

# The disk has space for the sources, not for the objects; some compilers then fail without a message.
full_while_building() {
    rm -rf "${disk:?}"/*
    mount -o remount,size=$(($(du -sk "$work/$TINY" | cut -f1) + 40))k "$disk" || return
    ends_with 4 "$disk/new: " ./longhand build tests/specs/$TINY.lua --levels best --out "$disk/new" || return
    [ -z "$(ls -A "$disk")" ] && mount -o remount,size=10m "$disk"
}

can_mount() {
    mkdir -p "$disk" && mount -t tmpfs -o size=10m none "$disk" 2>/dev/null
}

full_output() {
    for words in info "sample --length 5 --count 9" "eval --lengths 5 --examples 4 --out $work/eval --checkpoint $1"; do
        "$trainer" $words >/dev/full 2>"$work/output"
        [ $? -eq 4 ] && grep -q 'output could not be written' "$work/output" || { cat "$work/output" && return 1; }
    done
}

expect disk_trainer_builds build
expect disk_whole_run train "$work/whole" --steps $STEPS
if [ "$failures" -eq 0 ]; then
    [ ! -w /dev/full ] || expect disk_full_output_told full_output "$(find_checkpoint "$work/whole")"
    if ! can_mount; then
        echo "skip disk_full_continues: no right to mount"
        echo "skip disk_read_only_continues: no right to mount"
        echo "skip disk_full_while_building: no right to mount"
    else
        expect disk_full_continues full_disk
        expect disk_read_only_continues read_only
        expect disk_full_while_building full_while_building
        umount "$disk"
    fi
fi
finish
