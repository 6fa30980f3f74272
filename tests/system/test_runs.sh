# The files of a run under kill -9, signals, full disks and damaged checkpoints; and the verbs of a trainer.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
STEPS=600
trainer=$work/out/trainer

build() {
    ./longhand gen tests/specs/$TINY.lua --out "$work/$TINY" >/dev/null &&
        make -s trainer LEVELS=best ID=$TINY SOURCES="$work/$TINY" OUT="$work/out"
}

# train DIR FLAGS: a run under $work/DIR.
train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --no-eval --log-every 7 --checkpoint-every 20 "$@"
}

# Prints the only folder of a run under $work/DIR.
folder() {
    echo "$work/$1"/*/*/*
}

same_checkpoint() {
    cmp "$(folder "$1")/checkpoint.safetensors" "$(folder "$2")/checkpoint.safetensors"
}

# Compares metrics line by line, without the rate.
same_metrics() {
    for run in "$1" "$2"; do
        sed 's/,"steps_per_second":[^}]*//' "$(folder "$run")/metrics.jsonl" >"$work/lines.$run"
    done
    cmp "$work/lines.$1" "$work/lines.$2"
}

straight_run() {
    train whole --steps $STEPS --threads 1
}

thread_counts() {
    for threads in 2 3; do
        train "threads$threads" --steps 60 --threads $threads || return
    done
    train threads1 --steps 60 --threads 1 && same_checkpoint threads1 threads2 && same_checkpoint threads1 threads3 &&
        same_metrics threads1 threads3
}

longer_run_equals_straight_run() {
    train longer --steps 99 --threads 2 && train longer --steps $STEPS --threads 2 --resume &&
        same_checkpoint longer whole && same_metrics longer whole
}

killed_run_equals_straight_run() {
    for delay in 0.02 0.05 0.09 0.13 0.2 0.3; do
        "$trainer" train --out "$work/killed" --no-eval --log-every 7 --checkpoint-every 20 --steps $STEPS --threads 2 \
            --resume &
        child=$!
        sleep $delay
        kill -9 $child
        wait $child
    done
    train killed --steps $STEPS --threads 2 --resume && same_checkpoint killed whole && same_metrics killed whole
}

logs() { [ -s "$(folder "$1")/metrics.jsonl" ]; }

terminated_run_continues() {
    "$trainer" train --out "$work/term" --no-eval --log-every 7 --threads 2 --steps 100000000 &
    child=$!
    until_true logs term
    kill -TERM $child
    wait $child
    [ $? -eq 75 ] || return 1
    grep -q '"exit":75' "$(folder term)/run.json" || return 1
    step=$(tail -1 "$(folder term)/metrics.jsonl" | sed 's/{"step":\([0-9]*\),.*/\1/')
    train term --steps $((step + 50)) --threads 1 --resume && train straight --steps $((step + 50)) --threads 2 &&
        same_checkpoint term straight && same_metrics term straight
}

# No file may exceed 32 KiB, so no checkpoint fits; the previous one is kept.
limited_file_size() {
    train limited --steps 20 && cp "$(folder limited)/checkpoint.safetensors" "$work/before" || return
    (ulimit -f 64 && ends_with 4 checkpoint train limited --steps 40 --resume) || return
    cmp "$work/before" "$(folder limited)/checkpoint.safetensors" &&
        train limited --steps $STEPS --resume && same_checkpoint limited whole
}

can_mount() {
    mkdir -p "$work/disk" && mount -t tmpfs -o size=96k none "$work/disk" 2>/dev/null
}

full_disk() {
    ends_with 4 "No space left" train disk --steps 40
    status=$?
    umount "$work/disk"
    return $status
}

damaged_checkpoint() {
    train damaged --steps 40 || return
    run=$(folder damaged)
    head -c 5000 "$run/checkpoint.safetensors" >"$work/part" && cp "$work/part" "$run/checkpoint.safetensors"
    ends_with 1 checkpoint.safetensors "$trainer" eval --checkpoint "$run/checkpoint.safetensors" || return
    ends_with 0 previous train damaged --steps $STEPS --resume && same_checkpoint damaged whole || return
    cp "$work/part" "$run/checkpoint.safetensors" && cp "$work/part" "$run/checkpoint.previous.safetensors"
    ends_with 1 checkpoint train damaged --steps $STEPS --resume
}

usage_is_reported() {
    ends_with 2 'did you mean --steps?' "$trainer" train --stepz 5 && ends_with 2 'usage:' "$trainer" &&
        ends_with 2 'did you mean predict?' "$trainer" predct && ends_with 1 'nowhere' "$trainer" eval \
        --checkpoint nowhere && ends_with 4 'no CUDA half' "$trainer" train --device cuda &&
        ends_with 2 'precision=float64' "$trainer" gradcheck && ends_with 1 '--overwrite' train whole
}

# predict and eval have equally many right answers on the same examples.
predict_agrees_with_eval() {
    checkpoint=$(folder whole)/checkpoint.safetensors
    "$trainer" eval --checkpoint "$checkpoint" --lengths 9 --examples 20 --draws 1 --out "$work/eval" >/dev/null || return
    "$trainer" sample --length 9 --count 20 >"$work/samples" &&
        "$trainer" predict --checkpoint "$checkpoint" <"$work/samples" >"$work/answers" || return
    sed 's/.*"target":\[\([^]]*\)\].*/\1/' "$work/samples" | tr , '\n' >"$work/targets"
    sed 's/.*"argmax":\[\([^]]*\)\].*/\1/' "$work/answers" | tr , '\n' >"$work/guesses"
    right=$(paste -d ' ' "$work/targets" "$work/guesses" | awk '$1 == $2 { n++ } END { printf "%.6f", n / NR }')
    grep -o '"accuracy":[0-9.]*' "$work/eval/eval.jsonl" | awk -F : -v expected="$right" \
        '{ d = $2 - expected; exit d * d < 1e-10 ? 0 : 1 }'
}

long_evaluation() {
    ends_with 1 'the encoding allows 64' "$trainer" eval --checkpoint "$(folder whole)/checkpoint.safetensors" \
        --lengths 60:70 --out "$work/eval"
}

expect run_trainer_builds build
if [ "$failures" -eq 0 ]; then
    expect run_straight straight_run
    expect run_thread_counts_same_bits thread_counts
    expect run_longer_same_bits longer_run_equals_straight_run
    expect run_killed_resumes_to_same_bits killed_run_equals_straight_run
    expect run_terminated_continues terminated_run_continues
    expect run_limited_file_size_keeps_checkpoint limited_file_size
    if can_mount; then
        expect run_full_disk_told full_disk
    else
        echo "skip run_full_disk_told: no right to mount"
    fi
    expect run_damaged_checkpoint_falls_back damaged_checkpoint
    expect run_usage_told usage_is_reported
    expect run_predict_agrees_with_eval predict_agrees_with_eval
    expect run_limit_told long_evaluation
fi
finish
