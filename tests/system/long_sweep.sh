# A study of four cells under interruptions: Ctrl-C at many moments, two sweeps at once, a disk that fills up.

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

sweep() { ./longhand sweep "$work/long.lua" --out "$1"; }

# Prints the process numbers of the trainers in the test's folder.
trainers() {
    files=$(grep -lzxs "$work/[a-z]*" /proc/[0-9]*/cmdline) # grep fails if a process ends meanwhile
    [ -n "$files" ] && grep -lzxs -e --missing $files | cut -d / -f 3 | grep .
}

results() {
    (cd "$1" && find . -name checkpoint.safetensors -o -name eval.jsonl | sort | xargs cksum)
    (cd "$1" && find . -name metrics.jsonl | sort | xargs sed 's/,"steps_per_second":[^}]*//')
}

same_as_whole() {
    results "$work/whole" >"$work/expected" && results "$1" | cmp - "$work/expected"
}

whole() {
    ends_with 0 "long: 16 of 16 runs done" sweep "$work/whole"
}

# Ctrl-C during planning or a build, then at moments of the trainings: the exit code is 130 before a trainer starts,
# then 75, and no process is left.
interrupted() {
    rm -rf build/trainers/parity_none-* && stops=0
    for moment in 0.7 1.5 3 6 2 4 5 7 3 2 6 4; do
        ./longhand sweep "$work/long.lua" --out "$work/cut" >"$work/cut.log" 2>&1 &
        child=$!
        (sleep $moment && kill -INT $child) 2>/dev/null &
        wait $child
        code=$?
        ! trainers || return 1
        [ $code -ne 0 ] || break
        [ $code -eq 130 ] && continue
        [ $code -eq 75 ] || { cat "$work/cut.log" && return 1; }
        stops=$((stops + 1))
    done
    ! ls -d build/trainers/*.partial* 2>/dev/null && [ $stops -gt 3 ] && sweep "$work/cut" && same_as_whole "$work/cut"
}

# Two sweeps share the cells, and together complete each run once.
two_at_once() {
    sweep "$work/two" >"$work/one.log" 2>&1 &
    other=$!
    sleep 1
    sweep "$work/two" >"$work/other.log" 2>&1
    code=$?
    wait $other
    codes="$code $?"
    cat "$work/one.log" "$work/other.log"
    case $codes in "0 0" | "0 75" | "75 0") ;; *) echo "exit codes $codes" && return 1 ;; esac
    grep -q 'with another process' "$work/one.log" "$work/other.log" && same_as_whole "$work/two"
}

# The disk has space for the first runs alone.
full_disk() {
    need=$(du -sk "$work/whole" | cut -f1)
    mount -o remount,size=$((need / 2))k "$work/disk" || return
    ends_with 4 "no further run is started" sweep "$work/disk" && grep -q 'No space left' "$work/.out" || return
    mount -o remount,size=50m "$work/disk" && ends_with 0 "long: 16 of 16 runs done" sweep "$work/disk" &&
        same_as_whole "$work/disk"
}

expect long_sweep_whole whole
expect long_sweep_interrupted interrupted
expect long_sweep_two_at_once two_at_once
mkdir "$work/disk"
if mount -t tmpfs -o size=50m tmpfs "$work/disk" 2>/dev/null; then
    expect long_sweep_full_disk full_disk
    umount "$work/disk"
else
    echo "skip long_sweep_full_disk: a tmpfs cannot be mounted"
fi
finish
