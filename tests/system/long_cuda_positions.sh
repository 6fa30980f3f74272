# Positions that depend on tokens on a device, over the emulated driver: positions of the lines of a file, and of digits.
# Training, whose offsets are random, has the numbers of the CPU, and so have the model's own answers. The bits of a run
# depend neither on other replicas nor on a stop.

. tests/system/common.sh

SPEC=cuda_positions
STEPS=4
. tests/system/emulated.sh
SOURCES=build/tests/specs/$SPEC

# Inputs and targets of one to four digits, with positions from 0 to 6.
write_lines() {
    awk -v seed="$1" 'BEGIN {
        srand(seed)
        for (n = 0; n < 60; n++) {
            inputs = 1 + int(4 * rand()); outputs = 1 + int(4 * rand())
            input = target = positions = ""
            for (i = 0; i < inputs; i++) input = input (i ? " " : "") int(10 * rand())
            for (i = 0; i < outputs; i++) target = target (i ? " " : "") int(10 * rand())
            for (i = 0; i < inputs + outputs; i++) positions = positions (i ? "," : "") int(7 * rand())
            printf "{\"input\":\"%s\",\"target\":\"%s\",\"positions\":[%s]}\n", input, target, positions
        }
    }'
}

# float64: the CPU and the device choose the same answers.
write_spec() {
    write_lines 1 >"$work/lines.jsonl"
    write_lines 2 >"$work/tests.jsonl"
    cat >"$work/$SPEC.lua" <<EOF
return {
  task = { data = "$work/lines.jsonl", eval = "$work/tests.jsonl", longest = 20 },
  encoding = { use = "$1", positions = { max_position = 90 } },
  model = { kind = "decoder", layers = 1, heads = 2, width = 16, feedforward = 32, dropout = 0.1 },
  train = { batch = 6, steps = $STEPS, learning_rate = 1e-2 },
  eval = { examples = 8 },
  precision = "float64",
}
EOF
}

# Builds for a preset of the encoding: PRESET FLAGS.
builds() {
    write_spec "$1"
    shift
    ./longhand gen "$work/$SPEC.lua" "$@" --out "$work/src" >/dev/null && mkdir -p $SOURCES &&
        cp "$work/src/device.cu" $SOURCES && make -s LEVELS=best MORE_EMULATED=$SPEC "${library#"$root/"}" &&
        ./longhand build "$work/$SPEC.lua" "$@" --target cpu,cuda --arch sm_90 --levels best --out "$work/out"
}

has_the_numbers_of_the_cpu() {
    rm -rf "$work/cpu" "$work/chip"
    train cpu --seed 3 --threads 2 && train_on_device chip '' --seed 3 &&
        have_equal_numbers "$(find_run cpu 3)/metrics.jsonl" "$(find_run chip 3)/metrics.jsonl" $((8 * STEPS))
}

gives_the_answers_of_the_cpu() {
    for device in cpu cuda; do
        emulate '' "$trainer" eval --device $device --checkpoint "$(find_checkpoint chip 3)" --out "$work/eval.$device" \
            --wrong "$work/wrong.$device" || return
    done
    [ "$(wc -l <"$work/wrong.cpu")" -ge 20 ] && cmp "$work/wrong.cpu" "$work/wrong.cuda"
}

keeps_bits_of_replicas_in_parts() {
    rm -rf "$work/alone" "$work/fleet"
    train_on_device alone '' --seeds 4:4 && train_on_device fleet multiprocessors=2 --seeds 3:5 --steps 2 &&
        train_on_device fleet '' --seeds 3:5 --resume &&
        cmp "$(find_checkpoint alone 4)" "$(find_checkpoint fleet 4)"
}

for preset in coupling abacus; do
    offset=''
    [ $preset = coupling ] || offset='--set encoding.positions.offset=60'
    # shellcheck disable=SC2086
    expect cuda_positions_builds_$preset builds $preset $offset
    if [ "$failures" -eq 0 ]; then
        expect_each cuda_positions_${preset}_ has_the_numbers_of_the_cpu gives_the_answers_of_the_cpu \
            keeps_bits_of_replicas_in_parts
    fi
done
rm -rf "$SOURCES" "${library%.so}".*
finish
