# Facets of tests/facets, which are not part of the generator: a trainer with each facet has the right gradients, its
# traces show the keys that a query sees, and it is exported to PyTorch. The tests of the emulation run their device
# code.

. tests/system/common.sh

longhand() { ${LUA:-lua5.4} -l tests.facets.enter generator/main.lua "$@"; }

build() {
    longhand gen "$spec" --out "$work/$1/src" >/dev/null &&
        make -s trainer LEVELS=best ID="$1" SOURCES="$work/$1/src" OUT="$work/$1"
}

trains() {
    "$work/$1/trainer" train --out "$work/$1/runs" --threads 1 --no-eval &&
        checkpoint=$(echo "$work/$1"/runs/*/*/*/checkpoint.safetensors) && [ -f "$checkpoint" ]
}

traces() {
    printf '{"input":%s}\n' '[1]' '[1,1,1,1]' '[1,1,1,1,1,1,1]' >"$work/inputs" &&
        "$work/$1/trainer" trace --checkpoint "$work/$1"/runs/*/*/*/checkpoint.safetensors --what attention,scores \
            --input "$work/inputs" --out "$work/$1/trace.safetensors" &&
        ${LUA:-lua5.4} tests/facets/check_trace.lua "$facet" "$work/$1/trace.safetensors"
}

exports() {
    longhand export pytorch "$work/$1"/runs/*/*/* --spec "$spec" --trainer "$work/$1/trainer" --out "$work/$1/torch"
}

compiles_for_a_gpu() { "$nvcc" -arch=sm_90 -cubin -o "$work/cubin" "$work/$1/src/device.cu"; }

toolkit=$(sh runtime/cuda/toolkit.sh --arch sm_90 --kind nvcc 2>/dev/null)
nvcc=$(echo "$toolkit" | cut -d ' ' -f 3)
for spec in tests/facets/specs/*.lua; do
    id=$(basename "$spec" .lua)
    facet=${id#emulated_}
    expect "facet_${facet}_builds" build "$id"
    expect "facet_${facet}_has_right_gradients" "$work/$id/trainer" gradcheck
    expect "facet_${facet}_trains" trains "$id"
    expect "facet_${facet}_is_traced" traces "$id"
    expect "facet_${facet}_is_exported" exports "$id"
    # model.py compares its predictions with those of the trainer, for a decoder symbol by symbol.
    expect_torch "facet_${facet}_agrees_in_torch" "$PYTHON" "$work/$id/torch/model.py"
    if [ -n "$nvcc" ]; then
        expect "facet_${facet}_compiles_for_a_gpu" compiles_for_a_gpu "$id"
    else
        echo "skip facet_${facet}_compiles_for_a_gpu: there is no nvcc for sm_90"
    fi
done
finish
