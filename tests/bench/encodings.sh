# Measures step times of every encoding relative to none: sh tests/bench/encodings.sh [ROUNDS [SECONDS [NAMES]]]
#
# NAMES: rows of the table in addition to none, such as "sinusoid relative apart_relative"; default: all, except the
# presets of other models (lst_, abc_). Forms with random positions begin with rand_, those that read differences of
# random positions with apart_.
# The base model runs on parity_check, T = 21 and 80, with all threads. In each round every trainer runs in turn; a
# ratio compares times of one round, and the table has the medians: training at 21 and 80, forward only at 21 and 80.
# Not a test: other load moves single ratios by tenths.

cd -- "$(dirname -- "$0")/../.." || exit 4
rounds=${1:-5} seconds=${2:-0.5} selection=${3:-}
work=build/bench/encodings
mkdir -p "$work"

PRESETS=$(cd spec/encodings && ls *.lua | sed 's/\.lua$//' | grep -v '^none$\|^lst_\|^abc_')
RANDOM_FORMS="rope relative shaw alibi alibi_learned t5 kerple_log"
DIFFERENCES="relative alibi_learned"

# Builds the trainer of an encoding: its name and its table. Adds it to names if it is selected.
build_one() {
    case " none $selection " in *" $1 "*) ;; *) [ -z "$selection" ] || return 0 ;; esac
    echo "return { task = { kind = \"parity_check\" }, encoding = $2, model = { use = \"ruoss_encoder\" },
  train = { use = \"ruoss\", lengths = { 1, 79 } }, eval = { use = \"ruoss\" } }" >"$work/$1.lua"
    ./longhand gen "$work/$1.lua" --out "$work/src_$1" >/dev/null &&
        make -s trainer LEVELS=best ID="$1" SOURCES="$work/src_$1" OUT="$work/$1" && names="$names $1"
}

random_positions='positions = { kind = "randomized", max_position = 2048 }'
position_differences='positions = { kind = "randomized", max_position = 2048, reading = "difference" }'
make -s library || exit 4
names=''
build_one none '{ kind = "none" }' || exit 4
for name in $PRESETS; do
    build_one "$name" "{ kind = \"$name\" }" || exit 4
done
for name in $RANDOM_FORMS; do
    build_one "rand_$name" "{ kind = \"$name\", $random_positions }" || exit 4
done
for name in $DIFFERENCES; do
    build_one "apart_$name" "{ kind = \"$name\", $position_differences }" || exit 4
done

: >"$work/rates"
round=0
while [ "$round" -lt "$rounds" ]; do
    for name in $names; do
        "$work/$name/trainer" bench --lengths 20,79 --seconds "$seconds" --json |
            sed -n 's/.*"mode": *"\([a-z]*\)".*"tokens": *\([0-9]*\).*"steps_per_second": *\([0-9.e+-]*\).*/\1 \2 \3/p' |
            sed "s/^/$round $name /" >>"$work/rates"
    done
    round=$((round + 1))
    echo "round $round of $rounds" >&2
done

# Input: round name mode tokens rate. Output: medians of the rate of none divided by that of the name.
awk '
{ rate[$1, $2, $3, $4] = $5; if (!($2 in seen)) { seen[$2] = 1; order[++count] = $2 }; rounds = $1 + 1 }
function median(name, mode, tokens,    n, i, j, t, list) {
    n = 0
    for (i = 0; i < rounds; i++)
        if (rate[i, name, mode, tokens] > 0) list[++n] = rate[i, "none", mode, tokens] / rate[i, name, mode, tokens]
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
END {
    printf "| encoding | training T = 21 | T = 80 | forward only T = 21 | T = 80 |\n| --- | --- | --- | --- | --- |\n"
    for (k = 1; k <= count; k++)
        printf "| %s | %.2f | %.2f | %.2f | %.2f |\n", order[k], median(order[k], "train", 21),
            median(order[k], "train", 80), median(order[k], "eval", 21), median(order[k], "eval", 80)
}' "$work/rates"
