# The files of a run under kill -9, signals, full disks and damaged checkpoints; and the verbs of a trainer.

. tests/system/common.sh

TINY=parity_dropout_rand_rope
STEPS=600
trainer=$work/out/trainer

# Trains in a folder of $work: FOLDER FLAGS.
train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --no-eval --log-every 7 --checkpoint-every 20 "$@"
}

same_results() { have_equal_results "$(find_run "$1")" "$(find_run "$2")" metrics.jsonl; }

keeps_bits_with_any_threads() {
    for threads in 2 3; do
        train "threads$threads" --steps 60 --threads $threads || return
    done
    train threads1 --steps 60 --threads 1 && same_results threads1 threads2 && same_results threads1 threads3
}

continues_to_more_steps() {
    train longer --steps 99 --threads 2 && train longer --steps $STEPS --threads 2 --resume &&
        same_results longer whole
}

survives_kills() {
    for delay in 0.02 0.05 0.09 0.13 0.2 0.3; do
        "$trainer" train --out "$work/killed" --no-eval --log-every 7 --checkpoint-every 20 --steps $STEPS --threads 2 \
            --resume &
        child=$!
        sleep $delay
        kill -9 $child
        wait $child
    done
    train killed --steps $STEPS --threads 2 --resume && same_results killed whole
}

has_logged() { [ -s "$(find_run "$1")/metrics.jsonl" ]; }

continues_after_a_signal() {
    "$trainer" train --out "$work/term" --no-eval --log-every 7 --threads 2 --steps 100000000 &
    child=$!
    until_true has_logged term
    kill -TERM $child
    wait $child
    [ $? -eq 75 ] || return 1
    grep -q '"exit":75' "$(find_run term)/run.json" || return 1
    step=$(tail -1 "$(find_run term)/metrics.jsonl" | sed 's/{"step":\([0-9]*\),.*/\1/')
    train term --steps $((step + 50)) --threads 1 --resume && train straight --steps $((step + 50)) --threads 2 &&
        same_results term straight
}

# No file may have more than 64 blocks of 512 bytes, too few for a checkpoint; the previous one is kept.
keeps_its_checkpoint_where_files_are_limited() {
    train limited --steps 20 && cp "$(find_run limited)/checkpoint.safetensors" "$work/before" || return
    (ulimit -f 64 && ends_with 4 checkpoint train limited --steps 40 --resume) || return
    cmp "$work/before" "$(find_run limited)/checkpoint.safetensors" &&
        train limited --steps $STEPS --resume && same_results limited whole
}

reports_a_full_disk() {
    ends_with 4 "No space left" train disk --steps 40
    status=$?
    umount "$work/disk"
    return $status
}

falls_back_from_a_damaged_checkpoint() {
    train damaged --steps 40 || return
    run=$(find_run damaged)
    head -c 5000 "$run/checkpoint.safetensors" >"$work/part" && cp "$work/part" "$run/checkpoint.safetensors"
    ends_with 1 checkpoint.safetensors "$trainer" eval --checkpoint "$run/checkpoint.safetensors" || return
    ends_with 0 previous train damaged --steps $STEPS --resume && same_results damaged whole || return
    cp "$work/part" "$run/checkpoint.safetensors" && cp "$work/part" "$run/checkpoint.previous.safetensors"
    ends_with 1 checkpoint train damaged --steps $STEPS --resume
}

reports_usage() {
    ends_with 2 'did you mean --steps?' "$trainer" train --stepz 5 && ends_with 2 'usage:' "$trainer" &&
        ends_with 2 'did you mean predict?' "$trainer" predct && ends_with 1 'nowhere' "$trainer" eval \
        --checkpoint nowhere && ends_with 4 'no CUDA half' "$trainer" train --device cuda &&
        ends_with 2 'precision=float64' "$trainer" gradcheck && ends_with 1 '--overwrite' train whole
}

# predict and eval have equally many right answers on the same examples.
predict_agrees_with_eval() {
    checkpoint=$(find_run whole)/checkpoint.safetensors
    "$trainer" eval --checkpoint "$checkpoint" --lengths 9 --examples 20 --draws 1 \
        --out "$work/eval" >/dev/null || return
    "$trainer" sample --length 9 --count 20 >"$work/samples" &&
        "$trainer" predict --checkpoint "$checkpoint" <"$work/samples" >"$work/answers" || return
    sed 's/.*"target":\[\([^]]*\)\].*/\1/' "$work/samples" | tr , '\n' >"$work/targets"
    sed 's/.*"argmax":\[\([^]]*\)\].*/\1/' "$work/answers" | tr , '\n' >"$work/guesses"
    right=$(paste -d ' ' "$work/targets" "$work/guesses" | awk '$1 == $2 { n++ } END { printf "%.6f", n / NR }')
    grep -o '"accuracy":[0-9.]*' "$work/eval/eval.jsonl" | awk -F : -v expected="$right" \
        '{ d = $2 - expected; exit d * d < 1e-10 ? 0 : 1 }'
}

refuses_lengths_beyond_its_encoding() {
    ends_with 1 'the encoding allows 64' "$trainer" eval --checkpoint "$(find_run whole)/checkpoint.safetensors" \
        --lengths 60:70 --out "$work/eval"
}

expect run_trainer_builds ./longhand build tests/specs/$TINY.lua --levels best --out "$work/out"
if [ "$failures" -eq 0 ]; then
    expect run_trains train whole --steps $STEPS --threads 1
    expect_each run_ keeps_bits_with_any_threads continues_to_more_steps survives_kills continues_after_a_signal \
        keeps_its_checkpoint_where_files_are_limited
    if mount_disk 96k; then
        expect run_reports_a_full_disk reports_a_full_disk
    else
        echo "skip run_reports_a_full_disk: no right to mount"
    fi
    expect_each run_ falls_back_from_a_damaged_checkpoint reports_usage predict_agrees_with_eval \
        refuses_lengths_beyond_its_encoding
fi
finish
