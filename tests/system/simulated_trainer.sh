# A simulated trainer; lines that simulated.lua puts before this file set id, digest, steps, examples, lengths and spec.
# It writes the files of a trainer without training. In SIMULATED_FAILING of a hundred processes, which the name of the
# attempt chooses, an event of make_event happens in one run, after SIMULATED_AT quarters of the steps (default 2). With
# SIMULATED_FATE that event happens in the first run of every process. The trainer reports its level, SIMULATED_LEVEL,
# unless SIMULATED_SILENT is set.

level=${SIMULATED_LEVEL:-x86-64-v3}
if [ "$1" = info ]; then
    [ -z "${SIMULATED_SILENT:-}" ] || exit 4
    printf '{"id":"%s","spec":{"train":{"steps":%s}},"source_digest":"00aa","level":"%s","compiler":"cc 1"}\n' "$id" \
        "$steps" "$level"
    exit
fi

while [ $# -gt 0 ]; do
    case $1 in
        --out) out=$2 && shift ;;
        --seeds) seeds=$2 && shift ;;
        --learning-rate) rates=$2 && shift ;;
    esac
    shift
done

# Prints a number below a million that depends on a text alone: TEXT.
hash_text() {
    set -- $(printf %s "$1" | cksum)
    echo $(($1 % 1000000))
}

fate=$(hash_text "${out##*/} $id")
how=$((fate / 100 % 6)) victim=$((fate / 1000 % 4)) # how: number of the event; victim: index of the run that it meets
[ $((fate % 100)) -lt "${SIMULATED_FAILING:-0}" ] || how=none
[ -z "${SIMULATED_FATE:-}" ] || how=$SIMULATED_FATE victim=0

# Writes run.json: EXIT STEP.
write_record() {
    printf '{"id":"%s","digest":"%s","spec":%s,"flags":[],"seed":%s,"learning_rate":%s,"step":%s,"exit":%s}\n' \
        "$id" "$digest" "$spec" "$seed" "$rate" "$2" "$1" >run.json.partial && mv run.json.partial run.json
}

# Makes the event happen. The process dies alone (0) or with its task (1), is stopped (2), fails (3), or leaves a torn
# line (4); `waits`: it waits for the file `go`. Event 5 is in `train`: the process dies during an evaluation.
make_event() {
    case $how in
        0) kill -9 $$ ;;
        1) kill -9 $PPID $$ ;;
        2) write_record 75 "$step" && exit 75 ;;
        3) write_record 1 "$step" && exit 1 ;;
        4) printf '{"step":%s,"lo' "$((step + 1))" >>metrics.jsonl && kill -9 $$ ;;
        waits)
            : >"$SIMULATED/waits"
            until [ -e "$SIMULATED/go" ]; do sleep 0.05; done
            [ -d "$dir" ] || exit 4
            ;;
    esac
}

# Trains a run, from its checkpoint if there is one: lives|dies (with the event).
train() {
    quarter=0
    if [ -e checkpoint.safetensors ]; then
        [ "$(sed -n 's/.*"level":"\([^"]*\)".*/\1/p' checkpoint.safetensors)" = "$level" ] ||
            { echo "cannot resume from this file" && write_record 1 0 && return; }
        at=$(sed -n 's/.*"step":"\([0-9]*\)".*/\1/p' checkpoint.safetensors)
        [ "$at" -le "$steps" ] || { echo "the checkpoint is of step $at" && write_record 1 "$at" && return; }
        quarter=$(sed -n 's/.*"quarter":"\([0-9]*\)".*/\1/p' checkpoint.safetensors)
        head -n "$quarter" metrics.jsonl >metrics.partial && mv metrics.partial metrics.jsonl
    fi
    while [ "$quarter" -lt 4 ]; do
        quarter=$((quarter + 1)) step=$((steps * (quarter + 1) / 4 - steps / 4))
        printf '{"step":%s,"loss":%s,"accuracy":0.%06d}\n' $step "0.5" "$score" >>metrics.jsonl
        printf '{"step":%s,"metrics_lines":%s}\n' $step $quarter >window.jsonl
        head=$(printf '{"__metadata__":{"source_digest":"00aa","level":"%s","compiler":"cc 1","step":"%s","quarter":"%s"}}' \
            "$level" "$step" "$quarter")
        { printf "\\$(printf %o ${#head})\\0\\0\\0\\0\\0\\0\\0" && printf %s "$head"; } >checkpoint.partial
        mv checkpoint.partial checkpoint.safetensors
        [ $quarter -ne "${SIMULATED_AT:-2}" ] || [ "$1" = lives ] || make_event
    done
    : >eval.jsonl
    for n in $lengths; do
        printf '{"step":%s,"split":"beyond","by":{"length":%s},"examples":%s,"draws":1,"accuracy":0.%06d,' "$steps" \
            "$n" "$examples" "$score" >>eval.jsonl
        [ "$1" = lives ] || [ "$how" != 5 ] || kill -9 $$
        printf '"exact_match":0.25,"loss":0.5,"sd_over_draws":0}\n' >>eval.jsonl
    done
    rm -f window.jsonl && write_record 0 "$steps"
}

count=0 all=0
for rate in $(echo "$rates" | tr , ' '); do
    all=$((all + ${seeds#*:} - ${seeds%:*} + 1))
done
[ $victim -lt $all ] || victim=$((all - 1))
for rate in $(echo "$rates" | tr , ' '); do
    seed=${seeds%:*}
    while [ "$seed" -le "${seeds#*:}" ]; do
        dir=$out/$id/$digest/lr$rate-seed$seed
        mkdir -p "$dir" && cd "$dir" || exit 4
        score=$(hash_text "$id $rate $seed")
        [ $how != none ] && [ $count -eq $victim ] && train dies || train lives
        count=$((count + 1)) seed=$((seed + 1))
    done
done
