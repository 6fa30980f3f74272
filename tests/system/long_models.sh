# Checks every spec of tests/specs/networks: gradients in float64 with twenty seeds, and a training in two parts, which
# has the bits of a whole one.

. tests/system/common.sh

has_right_gradients() {
    ./longhand build "tests/specs/networks/$1.lua" --set precision=float64 --levels best --out "$work/$1/double" \
        >/dev/null || return
    for seed in $(seq 0 19); do
        "$work/$1/double/trainer" gradcheck --seed "$seed" || { echo "at seed $seed" && return 1; }
    done
}

# Trains forty steps at once, and in two parts.
trains_and_resumes() {
    ./longhand build "tests/specs/networks/$1.lua" --levels best --out "$work/$1/trainer" >/dev/null || return
    flags="--no-eval --log-every 20"
    "$work/$1/trainer/trainer" train --steps 40 --threads 1 --out "$work/$1/whole" $flags &&
        "$work/$1/trainer/trainer" train --steps 15 --threads 2 --out "$work/$1/parts" $flags &&
        "$work/$1/trainer/trainer" train --steps 40 --threads 2 --resume --out "$work/$1/parts" $flags &&
        cmp "$work/$1"/whole/*/*/lr*/checkpoint.safetensors "$work/$1"/parts/*/*/lr*/checkpoint.safetensors
}

for spec in tests/specs/networks/*.lua; do
    id=$(basename "$spec" .lua)
    mkdir -p "$work/$id"
    expect "${id}_has_right_gradients" has_right_gradients "$id"
    expect "${id}_trains" trains_and_resumes "$id"
    rm -rf "${work:?}/$id"
done
finish
