# A study of four cells is swept under interruptions: Ctrl-C at many moments, two sweeps at once, a disk that fills up.

. tests/system/common.sh

cat >"$work/long.lua" <<'EOF'
return {
  title = "four cells",
  base = {
    model = { use = "small_encoder", layers = 1 },
    train = { batch = 8, steps = 60000, lengths = { 1, 6 }, log_every = 500 },
    eval = { lengths = { 3, 9 }, examples = 32 },
  },
  axes = {
    { name = "task", values = {
      { name = "parity", spec = { task = { kind = "parity_check" } } },
      { name = "sort", spec = { task = { kind = "bucket_sort" } } },
    } },
    { name = "encoding", use = "ruoss_encodings", only = { "none", "rand-relative" } },
  },
  seeds = { 0, 1 },
  learning_rates = { 1e-3, 2e-3 },
}
EOF

# Sweeps the study: FOLDER.
sweep() { ./longhand sweep "$work/long.lua" --out "$1"; }

equals_whole() { sum_runs whole >"$work/expected" && sum_runs "$1" | cmp - "$work/expected"; }

# Ctrl-C during planning or a build, then at moments of the trainings: the exit code is 130 before a trainer starts,
# then 75, and no process is left.
survives_interrupts() {
    rm -rf build/trainers/parity_none-* && stops=0
    for moment in 0.7 1.5 3 6 2 4 5 7 3 2 6 4; do
        ./longhand sweep "$work/long.lua" --out "$work/cut" >"$work/cut.log" 2>&1 &
        child=$!
        (sleep $moment && kill -INT $child) 2>/dev/null &
        wait $child
        code=$?
        ! find_trainers || return 1
        [ $code -ne 0 ] || break
        [ $code -eq 130 ] && continue
        [ $code -eq 75 ] || { cat "$work/cut.log" && return 1; }
        stops=$((stops + 1))
    done
    ! ls -d build/trainers/*.partial* 2>/dev/null && [ $stops -gt 3 ] && sweep "$work/cut" &&
        equals_whole cut
}

# Two sweeps share the cells, and together complete each run once.
runs_twice_at_once() {
    sweep "$work/two" >"$work/one.log" 2>&1 &
    other=$!
    sleep 1
    sweep "$work/two" >"$work/other.log" 2>&1
    code=$?
    wait $other
    codes="$code $?"
    cat "$work/one.log" "$work/other.log"
    case $codes in "0 0" | "0 75" | "75 0") ;; *) echo "exit codes $codes" && return 1 ;; esac
    grep -q 'with another process' "$work/one.log" "$work/other.log" && equals_whole two
}

# The disk has space for half of the runs.
survives_a_full_disk() {
    need=$(du -sk "$work/whole" | cut -f1)
    mount -o remount,size=$((need / 2))k "$work/disk" || return
    ends_with 4 "no further run is started" sweep "$work/disk" && grep -q 'No space left' "$work/.out" || return
    mount -o remount,size=50m "$work/disk" && ends_with 0 "long: 16 of 16 runs done" sweep "$work/disk" &&
        equals_whole disk
}

expect long_sweep_trains_all_runs ends_with 0 "long: 16 of 16 runs done" sweep "$work/whole"
expect_each long_sweep_ survives_interrupts runs_twice_at_once
if mount_disk 50m; then
    expect long_sweep_survives_a_full_disk survives_a_full_disk
    umount "$work/disk"
else
    echo "skip long_sweep_survives_a_full_disk: no right to mount"
fi
finish
