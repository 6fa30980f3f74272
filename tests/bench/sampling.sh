# Measures the share of a training step that makes its examples: sh tests/bench/sampling.sh [SECONDS [TASK ...]]
#
# Trains the base model without an encoding, whose step is the shortest, at task lengths 20 and 40 on one thread; every
# task of runtime/data/tasks unless some are named. Microseconds are for the batch's 128 examples, by the clock, which
# includes times in which the thread is suspended. Not a test.

cd -- "$(dirname -- "$0")/../.." || exit 4
seconds=${1:-1}
[ $# -eq 0 ] || shift
tasks=${*:-$(cd runtime/data/tasks && ls *.c | sed 's/\.c$//')}
work=build/bench/sampling
mkdir -p "$work"

build_one() {
    echo "return { task = { kind = \"$1\" }, model = { use = \"ruoss_encoder\" }, encoding = { use = \"none\" },
  train = { use = \"ruoss\" }, eval = { use = \"ruoss\" } }" >"$work/$1.lua"
    ./longhand gen "$work/$1.lua" --out "$work/src_$1" >/dev/null &&
        make -s trainer LEVELS=best ID="$1" SOURCES="$work/src_$1" OUT="$work/$1"
}

make -s library || exit 4
printf '%-30s %14s %14s\n' task 'length 20' 'length 40'
for task in $tasks; do
    build_one "$task" || exit 4
    "$work/$task/trainer" bench --lengths 20,40 --seconds "$seconds" --threads 1 --json |
        awk -v task="$task" '
            function field(name) { return match($0, "\"" name "\": *[0-9.e+-]+") ? 0 + substr($0, RSTART + length(name) + 3) : 0 }
            /"mode": *"train"/ {
                shares = shares sprintf("   %5.2f %% %4.0f us", 100 * field("sampling"),
                    1e6 * field("sampling") / field("steps_per_second"))
            }
            END { printf "%-30s%s\n", task, shares }'
done
