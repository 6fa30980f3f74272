# A user's task, examples/own_task: built, trained, resumed, evaluated, copied as generated sources; and the errors for
# a file that does not compile and for samplers with one defect each.

. tests/system/common.sh

ID=first_repeat_rope
FLAGS="--log-every 10 --checkpoint-every 20 --no-eval"
LUA=${LUA:-lua5.4}
trainer=$work/out/trainer
mkdir "$work/mine" && cp examples/own_task/first_repeat.c examples/own_task/$ID.lua "$work/mine" || exit 4

builds() {
    ends_with 0 'first_repeat (examples/own_task/first_repeat.c), 8 input symbols, 9 classes' \
        ./longhand plan examples/own_task/$ID.lua &&
        ends_with 0 'task.kind                = "first_repeat"' ./longhand check examples/own_task/$ID.lua --print &&
        ./longhand build examples/own_task/$ID.lua --levels best --out "$work/out" &&
        ends_with 0 '->' "$trainer" sample --length 6 --count 3 --text
}

same_results() { have_equal_results "$(find_run "$1")" "$(find_run "$2")" metrics.jsonl; }

trains_and_resumes() {
    "$trainer" train --out "$work/whole" --steps 60 --threads 1 $FLAGS &&
        "$trainer" train --out "$work/parts" --steps 25 --threads 2 $FLAGS &&
        "$trainer" train --out "$work/parts" --steps 60 --threads 3 --resume $FLAGS && same_results whole parts
}

evaluates() {
    ends_with 0 'all beyond 21..24' "$trainer" eval --lengths 21:24 --examples 32 \
        --checkpoint "$(find_run whole)/checkpoint.safetensors"
}

# Traces have the examples of an evaluation; a length without examples is refused before any computation.
traces() {
    file=$(find_run whole)/checkpoint.safetensors
    "$trainer" trace --checkpoint "$file" --what attention,scores --lengths 6,21 --examples 3 --out "$work/trace" &&
        "$trainer" sample --length 6 --count 3 >"$work/inputs" &&
        $LUA tests/support/check_trace.lua attention "$work/trace" &&
        "$trainer" trace --checkpoint "$file" --length 6 --examples 3 --out "$work/six" &&
        "$trainer" trace --checkpoint "$file" --input "$work/inputs" --out "$work/given" &&
        $LUA tests/support/check_trace.lua same "$work/six" "$work/given"
}

# The generated folder is enough for a machine without Lua; its trainer has the same bits.
ships_as_sources() {
    ./longhand gen examples/own_task/$ID.lua --out "$work/src" &&
        head -n -1 "$work/src/task.c" | cmp - examples/own_task/first_repeat.c &&
        make -s -j2 trainer LEVELS=best ID=$ID SOURCES="$work/src" OUT="$work/elsewhere" &&
        "$work/elsewhere/trainer" train --out "$work/shipped" --steps 60 $FLAGS && same_results whole shipped
}

# Another task in the same folder deletes the sampler.
is_deleted_by_another_task() {
    ./longhand gen "$work/mine/$ID.lua" --out "$work/turns" && [ -e "$work/turns/task.c" ] &&
        ends_with 0 'task.c' ./longhand gen "$work/mine/$ID.lua" --set task.kind=even_pairs --out "$work/turns" &&
        [ ! -e "$work/turns/task.c" ] && ! grep -q task_first_repeat "$work/turns/spec.c"
}

# Writes a sampler with a line more at its end, and with a line more at its beginning, if given: FILE LINE [FIRST].
write_defective_sampler() {
    sed -e "s|^    example->target\[0\] = .*|&\n    $2|" -e "s|^    int answer.*|&${3:+\n    $3}|" \
        examples/own_task/first_repeat.c >"$1"
}

has_its_file_in_compile_errors() {
    line=$(($(grep -n 'example->target\[0\]' examples/own_task/first_repeat.c | cut -d: -f1) + 1))
    write_defective_sampler "$work/mine/first_repeat.c" 'example->target[1] = nonsense;'
    ends_with 1 "first_repeat.c:$line:26: error: 'nonsense' undeclared" env LC_ALL=C ./longhand build \
        "$work/mine/$ID.lua" --levels best --out "$work/wrong" && [ ! -e "$work/wrong" ] || return
    write_defective_sampler "$work/mine/first_repeat.c" 'int unused;'
    ends_with 1 "first_repeat.c:$line:9: error: unused variable" ./longhand build "$work/mine/$ID.lua" \
        --levels best --out "$work/wrong" && [ ! -e "$work/wrong" ] && [ -z "$(find "$work" -name '*partial*')" ]
}

# A sampler with one more line must be refused by `train` before it leaves a file: LINE MESSAGE [FIRST].
is_refused() {
    write_defective_sampler "$work/src/task.c" "$1" "${3:-}" &&
        make -s trainer LEVELS=best ID=$ID SOURCES="$work/src" OUT="$work/elsewhere" &&
        ends_with 1 "first_repeat.c: task length $2" "$work/elsewhere/trainer" train --out "$work/refused" --steps 5 &&
        [ ! -e "$work/refused" ]
}

# A rare defect passes the first checks: the step reports it, and no checkpoint is written.
is_refused_later() {
    write_defective_sampler "$work/src/task.c" "if (rng->counter[3] == 7 \&\& rng->counter[2] == 100) $1" &&
        make -s trainer LEVELS=best ID=$ID SOURCES="$work/src" OUT="$work/elsewhere" || return
    for threads in 1 3; do
        ends_with 1 "example 100 of step 8: target[0] is 9" "$work/elsewhere/trainer" train --out "$work/late" \
            --steps 20 --threads $threads || return
        ! grep -q learning-rate "$work/.out" && [ -z "$(find "$work/late" -name 'checkpoint*')" ] || return
    done
}

# A defect at evaluation lengths is reported after the training.
is_refused_in_evaluation() {
    late='rng->counter[1] >> 24 == LH_DOMAIN_EVAL \&\& rng->counter[2] == 40'
    write_defective_sampler "$work/src/task.c" "if ($late) example->target[0] = 9;" &&
        make -s trainer LEVELS=best ID=$ID SOURCES="$work/src" OUT="$work/elsewhere" || return
    file=$(find_run whole)/checkpoint.safetensors
    ends_with 1 'task length 21, example 40 of the evaluation: target[0] is 9' "$work/elsewhere/trainer" trace \
        --checkpoint "$file" --length 21 --examples 50 --out "$work/none" && [ ! -e "$work/none" ] || return
    for threads in 1 3; do
        ends_with 1 'task length 21, example 40 of the evaluation: target[0] is 9' "$work/elsewhere/trainer" train \
            --out "$work/end$threads" --steps 20 --threads $threads || return
        ends_with 0 'step 30' "$work/elsewhere/trainer" train --out "$work/end$threads" --steps 30 --resume --no-eval &&
            ! grep -v '"split":"validation"' "$(find_run end$threads)/eval.jsonl" || return
    done
}

expect own_task_builds builds
if [ "$failures" -eq 0 ]; then
    expect_each own_task_ trains_and_resumes evaluates traces ships_as_sources is_deleted_by_another_task \
        has_its_file_in_compile_errors
    expect own_task_token_too_large is_refused 'example->input[n - 1] = 8;' \
        '2, example 0 of the evaluation: input[1] is 8'
    expect own_task_target_too_large is_refused 'if (n == 20) example->target[0] = 9;' \
        '20, example 0 of the evaluation: target[0] is 9'
    expect own_task_past_the_end is_refused 'if (n > 20) example->target[1] = 0;' \
        '21, example 0 of the evaluation: target[1] was written, past the end'
    expect own_task_mask is_refused 'example->mask[0] = 2;' '2, example 0 of the evaluation: mask[0] is 2'
    expect own_task_not_written is_refused 'example->input[0] = before;' \
        '2, example 0 of the evaluation: input[0] was not written' 'uint16_t before = example->input[0];'
    expect own_task_static_state is_refused 'static int calls; example->input[0] = (uint16_t)(calls++ % 8);' \
        '2, example 0 of the evaluation: made twice, input[0] is'
    expect own_task_wrong_in_evaluation is_refused_in_evaluation
    expect own_task_wrong_later is_refused_later 'example->target[0] = 9;'
fi
finish
