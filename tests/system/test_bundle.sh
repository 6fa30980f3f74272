# A study as an archive (a bundle), whose script run.sh trains all cells where nothing is installed, several cells at a
# time; it resumes after interruptions, and gives the report and the bits of a sweep. Further checks: damaged archives,
# full disks, parts of a study, licences.

. tests/system/common.sh

# The study has two cells of two runs; the cell `own` reads a file.
cat >"$work/packed.lua" <<'END'
return {
  title = "two cells",
  base = {
    model = { use = "small_encoder", layers = 1, feedforward = 16 },
    train = { batch = 4, steps = 20000, log_every = 500 },
    encoding = { kind = "none" },
  },
  axes = { { name = "task", values = {
    { name = "parity", spec = { task = { kind = "parity_check" }, train = { lengths = { 1, 4 } },
      eval = { lengths = { 3, 6 }, examples = 16 } } },
    { name = "own", spec = { task = { data = "own.jsonl", input_symbols = 2, output_symbols = 2 } } },
  } } },
  seeds = { 0, 1 },
}
END
for i in 0 1; do echo "{\"input\":[$i,1,0],\"target\":[$i]}"; done >"$work/own.jsonl"

level=$(make -s print-levels LEVELS=best)
there=$work/there/packed # the unpacked archive, as on another machine

# Makes a PATH with a shell and programs of coreutils alone.
mkdir "$work/bin"
for program in sh cat cut dirname head ls mkdir mkfifo mktemp nproc rm sha256sum sleep sort tail tr uname wc; do
    ln -s "$(command -v $program)" "$work/bin/$program"
done

# Runs run.sh in a folder, with that PATH as its whole environment: FOLDER FLAGS.
run_in() (
    cd "$1" && shift && exec env -i PATH="$work/bin" sh run.sh "$@"
)

# Prints the process numbers of the trainers below $work/there. The status of the first grep is ignored: it fails if a
# process ends meanwhile.
find_bundle_trainers() {
    for file in $(grep -lzxs -e --missing /proc/[0-9]*/cmdline); do
        case $(readlink "${file%/cmdline}/cwd") in "$work/there"/*) echo "$file" | cut -d / -f 3 ;; esac
    done | grep .
}

no_trainer_is_left() { ! find_bundle_trainers; }
trainers_got_signal() { got_signal $(find_bundle_trainers); }
both_cells_train() { ls "$there"/runs/parity/*/*seed1/metrics.jsonl "$there"/runs/own/*/*seed1*/metrics.jsonl; }

is_made() {
    ends_with 0 '2 cells, 4 runs' ./longhand bundle "$work/packed.lua" --levels "$level" --out "$work/packed.tar.gz" &&
        [ -z "$(find "$work" -name '*.partial')" ]
}

# Unpacks the archive: FOLDER.
unpack() {
    mkdir -p "$1" && tar xzf "$work/packed.tar.gz" -C "$1"
}

is_complete() {
    unpack "$work/there" && cd "$there" && sha256sum -c --quiet SHA256SUMS && [ -s NOTICE ] && [ -s LICENSE ] || return
    for trainer in trainers/*; do
        ! ldd "$trainer" >/dev/null 2>&1 || return
        "$trainer" info | grep -q 'linked: static' || return
    done
    ends_with 2 'expected some of: parity own' run_in . none && ends_with 2 'expected 1 or more' run_in . --threads 0 &&
        ends_with 2 'usage: ' run_in . --jobs
}

# Starts a bundle, and halts its trainers once both cells train with two threads each, so that no trainer ends before
# the signal. $! is the number of the process of run.sh.
start_and_halt() {
    env -i PATH="$work/bin" sh "$there/run.sh" --threads 4 >"$work/output" 2>&1 &
    until_true both_cells_train && halt $(find_bundle_trainers) || { cat "$work/output" && return 1; }
}

# If run.sh receives SIGTERM, it passes the signal on to the trainers, which write checkpoints and end. run.sh has the
# same trap for SIGINT (Ctrl-C).
stops_at_a_signal() {
    start_and_halt && kill -TERM $! && until_true trainers_got_signal && kill -CONT $(find_bundle_trainers) && wait $!
    [ $? -eq 75 ] && no_trainer_is_left && grep -q 'exit":75}' "$there"/runs/own/*/*seed1*/run.json || return
    grep -q '^processes: 2, at a time: 2, threads of each: 2$' "$work/output" && grep -q '^stopped; ' "$work/output" &&
        grep -q '^\[2/2\] [a-z]*: 0 of 2 runs done, stopped$' "$work/output"
}

# After run.sh is killed, no process is left to stop the trainers: they stop by themselves.
leaves_checkpoints_if_killed() {
    rm -r "$there"/runs/*/*/ && start_and_halt && kill -9 $! && wait $!
    [ $? -eq 137 ] && until_true trainers_got_signal && kill -CONT $(find_bundle_trainers) &&
        until_true no_trainer_is_left &&
        grep -q 'exit":75}' "$there"/runs/parity/*/*seed1/run.json
}

continues() {
    rm "$work/own.jsonl" && ends_with 0 '4 of 4 runs done' run_in "$there" --threads 4 &&
        grep -q '^\[2/2\] [a-z]*: 2 of 2 runs done$' "$work/.out"
}

# An archive is unpacked again in the same place: finished runs are not changed.
is_unpacked_over_itself() {
    stat -c '%n %y %i' "$there"/runs/*/*/*/checkpoint.safetensors >"$work/before" && unpack "$work/there" &&
        ends_with 0 '4 of 4 runs done' run_in "$there" &&
        stat -c '%n %y %i' "$there"/runs/*/*/*/checkpoint.safetensors | cmp - "$work/before"
}

# Two machines train a cell each, and the runs of both are copied to one folder, `home`.
gives_the_runs_of_a_sweep() {
    mkdir -p "$work/home" || return
    for cell in parity own; do
        unpack "$work/$cell" && ends_with 0 '[1/1] '$cell': 2 of 2 runs done' run_in "$work/$cell/packed" $cell &&
            cp -R "$work/$cell/packed/runs/." "$work/home" || return
    done
    cp "$there/data/"*own.jsonl "$work/own.jsonl" &&
        ends_with 0 '4 of 4 runs done' ./longhand sweep status "$work/packed.lua" --out "$work/home" &&
        ./longhand sweep "$work/packed.lua" --out "$work/local" || return
    for where in there/packed/runs home local; do
        for run in "$work"/local/*/*/lr*; do
            for file in checkpoint.safetensors eval.jsonl; do
                cmp "$run/$file" "$work/$where/${run#"$work/local/"}/$file" || return
            done
        done
        ./longhand report "$work/$where" --out "$work/report" || return
        # Reports are compared without lines that have a duration in seconds, minutes or hours, and without the names of
        # the folders.
        sed -e '/[0-9] s\|[0-9] h\|[0-9] min/d' -e "s|$work/$where||g" "$work/report/report.txt" >"$work/report.txt"
        [ -e "$work/report.first" ] || cp "$work/report.txt" "$work/report.first"
        cmp "$work/report.txt" "$work/report.first" || return
    done
    grep -q 'two cells' "$work/report.first"
}

# A bundle with a truncated trainer, or without a file or a line of its checksums, is refused.
refuses_damaged_files() {
    cp -R "$work/own/packed" "$work/torn" && head -c 99999 "$there/trainers/own" >"$work/torn/trainers/own" &&
        ends_with 4 'trainers/own: FAILED' run_in "$work/torn" && cp "$work/torn/SHA256SUMS" "$work/sums" &&
        sed '/trainers\/own$/d' "$work/sums" >"$work/torn/SHA256SUMS" &&
        ends_with 4 'SHA256SUMS has no line of trainers/own' run_in "$work/torn" &&
        cp "$work/sums" "$work/torn/SHA256SUMS" && rm "$work/torn/trainers/own" &&
        ends_with 4 'unpack the archive again' run_in "$work/torn" && rm "$work/torn/SHA256SUMS" &&
        ends_with 4 'unpack the archive again' run_in "$work/torn"
}

# A trainer that cannot start, as on a machine whose libc is too old, is reported with what it needs.
reports_why_it_cannot_start() {
    printf '#!/bin/sh\necho "version GLIBC_9.9 not found" >&2\nexit 1\n' >"$work/torn/trainers/parity" &&
        (cd "$work/torn" && find . -path ./runs -prune -o -type f -exec sha256sum {} + >"$work/sums") &&
        cp "$work/sums" "$work/torn/SHA256SUMS" || return
    for words in 'version GLIBC_9.9 not found' "  needed: Linux on $(uname -m)" '  found: Linux '; do
        ends_with 4 "$words" run_in "$work/torn" || return
    done
}

# The disk has space for the folder but for no checkpoint, and later for all files.
resumes_after_a_full_disk() {
    unpack "$work/disk" && mount -o remount,size=$(($(du -sk "$work/disk" | cut -f 1) + 16))k "$work/disk" || return
    ends_with 4 "this machine lacks something" run_in "$work/disk/packed" parity &&
        grep -qi "no space left" "$work/.out" && mount -o remount,size=64m "$work/disk" &&
        ends_with 0 '2 of 2 runs done' run_in "$work/disk/packed" parity &&
        cmp "$work"/disk/packed/runs/parity/*/*seed1/checkpoint.safetensors \
            "$work"/local/parity/*/*seed1/checkpoint.safetensors && rm -r "$work/disk/packed"
}

is_not_made_on_a_full_disk() {
    mount -o remount,size=600k "$work/disk" && ends_with 4 'No space left on device' ./longhand bundle \
        "$work/packed.lua" --levels "$level" --out "$work/disk/packed.tar.gz" &&
        grep -q '^longhand: nothing was bundled: ' "$work/.out" && [ -z "$(ls -A "$work/disk")" ]
}

is_not_made_in_a_missing_folder() {
    ends_with 4 'nothing was bundled' ./longhand bundle "$work/packed.lua" --levels "$level" --out /proc/none/x.tar.gz
}

# Cells are chosen by value and by name; a missing cell is an error.
has_some_cells() {
    set -- --levels "$level" --out "$work/part.tar.gz"
    ends_with 0 '1 of 2 cells, 2 runs' ./longhand bundle "$work/packed.lua" --only task=own "$@" &&
        tar xzf "$work/part.tar.gz" -C "$work" && [ "$(ls "$work/part/trainers")" = own ] && rm -r "$work/part" &&
        ends_with 0 '1 of 2 cells, 2 runs' ./longhand bundle "$work/packed.lua:parity" "$@" &&
        tar xzf "$work/part.tar.gz" -C "$work" && [ "$(cut -d ' ' -f 1 "$work/part/cells.txt")" = parity ] &&
        ends_with 1 'did you mean parity?' ./longhand bundle "$work/packed.lua:party" "$@"
}

# A study from flags (--axis) becomes a file in the bundle's folder of runs, which a report of the copied runs reads.
is_made_from_flags() {
    cat >"$work/flags.lua" <<'END'
return { task = { kind = "parity_check" }, model = { use = "small_encoder", layers = 1, feedforward = 32 },
  encoding = { kind = "none" }, train = { batch = 4, steps = 20, lengths = { 1, 4 } },
  eval = { lengths = { 3, 6 }, examples = 16 } }
END
    ends_with 0 '2 cells, 2 runs' ./longhand bundle "$work/flags.lua" --axis encoding=none,alibi --levels "$level" \
        --runs "$work/flags" --out "$work/flagged.tar.gz" && [ ! -e "$work/flags" ] &&
        tar xzf "$work/flagged.tar.gz" -C "$work" && ends_with 0 '2 of 2 runs done' run_in "$work/flagged" &&
        cp -R "$work/flagged/runs" "$work/flags" && ends_with 0 'flags: encoding' ./longhand report "$work/flags"
}

# A bundle has the licences of the static libraries (lib*.a) in its trainers, and names libraries without a known
# licence. A script in the place of dpkg-query knows none of these files; then one in the place of rpm knows packages.
has_licences() {
    mkdir "$work/managers" || return
    # Two other builds give the trainer other defaults: one before the bundle is made; another while it is made, started
    # by the first call of dpkg-query. The bundle calls that for each library, and still has its own defaults.
    other="./longhand build $work/packed.lua:parity --levels $level --set"
    printf '#!/bin/sh\n[ -d "%s" ] || { mkdir "%s" && %s train.steps=8; } >/dev/null\nexit 1\n' "$work/called" \
        "$work/called" "$other" >"$work/managers/dpkg-query" && $other train.steps=7 || return
    chmod +x "$work/managers/dpkg-query" && PATH=$work/managers:$PATH ends_with 0 'no text of the licence of /' \
        ./longhand bundle "$work/packed.lua:parity" --levels "$level" --out "$work/bare.tar.gz" &&
        tar xzf "$work/bare.tar.gz" -C "$work" && "$work/bare/trainers/parity" info | grep -q 'linked: static' &&
        [ -d "$work/called" ] && grep -aq '^train.steps 20000$' "$work/bare/trainers/parity" &&
        grep -q '^NOT COMPLETE: ' "$work/bare/NOTICE" && grep -q '/libjansson.a$' "$work/bare/NOTICE" || return
    echo 'do as you please' >"$work/COPYING"
    cat >"$work/managers/rpm" <<END
#!/bin/sh
case "\$1 \$2" in
    "-qf --qf") echo "\${4##*/}-static" ;;
    "-q --qf") echo "one.src.rpm" ;;
    "-qa --qf") printf 'other.src.rpm none\none.src.rpm common\n' ;;
    "-q --licensefiles") [ "\$3" = common ] && echo "$work/COPYING" ;;
esac
END
    chmod +x "$work/managers/rpm" && PATH=$work/managers:$PATH sh lab/study/bundle/licences.sh "$work/licences" \
        "$work/libx.a" >"$work/output" && grep -q "libx.a libx.a-static 1$" "$work/output" &&
        cmp "$work/COPYING" "$work/licences/libx.a-static/COPYING" || return
    ! command -v dpkg-query >/dev/null 2>&1 || [ ! -f /usr/share/doc/libjansson-dev/copyright ] ||
        cmp /usr/share/doc/libjansson-dev/copyright "$there/licences/libjansson-dev/copyright"
}

if [ -n "$(make -s print-static-problem)" ]; then
    echo "skip bundle: $(make -s print-static-problem)"
    finish
fi
expect_each bundle_ is_made is_complete stops_at_a_signal leaves_checkpoints_if_killed continues \
    is_unpacked_over_itself gives_the_runs_of_a_sweep refuses_damaged_files reports_why_it_cannot_start
if mount_disk 64m; then
    expect_each bundle_ resumes_after_a_full_disk is_not_made_on_a_full_disk
    until_true umount "$work/disk" # a `sleep` of the runner may end a second after the runner
else
    echo "skip bundle_resumes_after_a_full_disk: no right to mount"
    echo "skip bundle_is_not_made_on_a_full_disk: no right to mount"
fi
expect_each bundle_ is_not_made_in_a_missing_folder has_some_cells is_made_from_flags has_licences
finish
