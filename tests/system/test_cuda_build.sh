# Trainers with a CUDA half, built without a GPU: their libraries, their CPU half, their error without a driver; the
# kinds of compilers; and faults that stop a build.

. tests/system/common.sh

RUN=even_pairs_none
STEPS=4
build() { ./longhand build $RUN --levels best "$@"; }
trains() { "$1" train --steps $STEPS --no-eval --threads 2 --out "$2"; }

# Both halves where nothing is said; one that is not asked for any more is taken away, and the other knows of neither.
generates_halves() {
    ./longhand gen $RUN --out "$work/gen" && [ -f "$work/gen/device.cu" ] && [ -f "$work/gen/cuda.c" ] || return
    ./longhand gen $RUN --out "$work/gen" --target cpu && [ ! -e "$work/gen/device.cu" ] && [ ! -e "$work/gen/cuda.c" ] ||
        return
    cmp "$work/gen/spec.c" generated/$RUN/spec.c
}

# Not a word of a compiler.
builds() {
    build --target cpu,cuda --arch sm_80,sm_90 --out "$work/both" >"$work/said" 2>&1
    cat "$work/said"
    grep -q '^building its CUDA half: sm_80, sm_90, compute_80, compute_90 by nv' "$work/said" &&
        grep -q 'trainer: built for CPU and CUDA' "$work/said" && ! grep -qE 'warning|error' "$work/said"
}

says_what_it_has() {
    "$work/both/trainer" info >"$work/said" || return
    cat "$work/said"
    grep -q "^cuda *sm_80 sm_90 compute_80 compute_90 by toolkit $version;" "$work/said" &&
        grep -q "^ *needs a driver of .*(CUDA ${version%%.*}\.0)" "$work/said" &&
        ends_with 0 '"targets":["cpu","cuda"],"architectures":["sm_80","sm_90"]' "$work/both/trainer" info --json
}

# libc and its parts; nothing of CUDA, nothing of C++.
links_libc_alone() {
    ldd "$1" >"$work/linked" || return
    cat "$work/linked"
    ! grep -vE 'linux-vdso|/ld-linux|lib(c|m|dl|pthread|gomp)\.so' "$work/linked"
}

same_bits_without_a_gpu() {
    build --out "$work/alone" && ends_with 0 'up to date for the CPU alone' build --out "$work/alone" || return
    trains "$work/both/trainer" "$work/runs.both" && trains "$work/alone/trainer" "$work/runs.alone" || return
    cmp "$work"/runs.both/*/*/*/checkpoint.safetensors "$work"/runs.alone/*/*/*/checkpoint.safetensors
}

# A trainer without a CUDA driver never trains on the CPU in silence.
no_driver() {
    ends_with 4 'no CUDA driver on this machine' env LONGHAND_CUDA_DRIVER="$work/libcuda.so.1" "$1" train --steps 1 \
        --device cuda --out "$work/none" && [ ! -e "$work/none" ]
}

no_cuda_half() {
    set -- "$work/alone/trainer"
    ends_with 4 'this trainer has no CUDA half' "$@" train --steps 1 --device cuda --out "$work/none" &&
        ends_with 0 '--target cpu,cuda makes a trainer with a CUDA half' "$@" info
}

# An existing trainer is kept if a build requests less than it has.
is_kept() {
    set -- build --out "$work/both"
    ends_with 0 'up to date for CPU and CUDA' "$@" &&
        ends_with 0 'up to date for CPU and CUDA' "$@" --target cpu,cuda --arch sm_90
}

# No toolkit needed; the trainer carries device.cu, 0 behind it, and says so.
carries_its_text() {
    LONGHAND_CUDA_ROOT=$work/nowhere build --target cpu,cuda --jit --out "$work/jit" || return
    ends_with 0 '"toolkit":null,"images":[],"ptx":[],"source":true' "$work/jit/trainer" info --json || return
    links_libc_alone "$work/jit/trainer" && no_driver "$work/jit/trainer" || return
    "${LUA:-lua5.4}" - "$work/jit" <<'END'
local function read(path)
  return assert(io.open(arg[1] .. path, "rb")):read("a")
end
assert(read("/trainer"):find(read("/src/device.cu") .. "\0", 1, true), "device.cu is not in the trainer")
END
}

# New defaults, requested without the CUDA half: it is kept, with its sources, and its text is found once.
is_given_other_defaults() {
    ends_with 0 'new defaults, nothing compiled, for CPU and CUDA' build --set train.steps=17 --out "$work/jit" &&
        ends_with 0 ' 17 steps of' "$work/jit/trainer" info && ends_with 0 '"source":true' "$work/jit/trainer" info --json &&
        ./longhand gen $RUN --set train.steps=17 --out "$work/gen17" &&
            diff -r -x tuned.h "$work/gen17" "$work/jit/src" # which has this machine's
}

carries_both() {
    build --target cpu,cuda --jit --arch sm_90a --out "$work/jit" &&
        ends_with 0 "cuda           sm_90a by toolkit $version, source to compile on the node;" "$work/jit/trainer" info
}

# A toolkit of which only NVRTC is there, which compiles as nvcc does, for another architecture than the trainer has.
by_nvrtc() {
    mkdir -p "$work/root/lib64"
    for file in "$(dirname "$nvrtc")"/libnvrtc*; do ln -s "$file" "$work/root/lib64/"; done
    build --target cpu,cuda --arch sm_75 --cuda-root "$work/root" --out "$work/both" >"$work/said" 2>&1
    cat "$work/said"
    grep -q "sm_75, compute_75 by nvrtc $version ($work/root/lib64/" "$work/said" &&
        grep -q 'built for CPU and CUDA' "$work/said" &&
        ends_with 0 'cuda           sm_75 compute_75 by toolkit' "$work/both/trainer" info
}

# nvidia-smi stands in for GPUs: two of one kind, one of another.
for_the_gpus_of_this_machine() {
    mkdir -p "$work/bin"
    printf '#!/bin/sh\nprintf "%%s\\n" 9.0 8.0 9.0\n' >"$work/bin/nvidia-smi" && chmod +x "$work/bin/nvidia-smi"
    for word in native here; do
        PATH=$work/bin:$PATH sh runtime/cuda/toolkit.sh --arch $word | grep -q ' sm_80 sm_90 compute_80 compute_90$' || return
    done
    printf '#!/bin/sh\nexit 9\n' >"$work/bin/nvidia-smi"
    PATH=$work/bin:$PATH ends_with 4 'nvidia-smi shows no GPU' build --target cpu,cuda --arch native --out "$work/none"
}

refuses_architectures() {
    set -- build --target cpu,cuda --out "$work/none" --arch
    ends_with 4 '--arch sm_77: nv' "$@" sm_80,sm_77 && ends_with 4 '  expected: sm_' "$@" sm_80,sm_77 &&
        ends_with 4 'needs sm_75 or later' "$@" sm_52 &&
        ends_with 4 'needs sm_80 or later' "$@" sm_75 --set precision=tf32 &&
        ends_with 2 'expected a list such as sm_80,sm_90a' "$@" 80 && [ ! -e "$work/none" ]
}

refuses_without_toolkit() {
    set -- build --target cpu,cuda --out "$work/none"
    for hint in "looked for bin/nvcc" "    $work/nowhere" '--jit' '--cuda-root DIR'; do
        ends_with 4 "$hint" "$@" --cuda-root "$work/nowhere" || return
    done
    LONGHAND_CUDA_ROOT=$work/nowhere ends_with 4 "$work/nowhere (LONGHAND_CUDA_ROOT)" "$@" || return
    set -- make -s trainer RUN=$RUN TARGETS=cpu,cuda OUT="$work/none"
    ends_with 2 'no CUDA toolkit found' "$@" CUDA_ROOT="$work/nowhere" && [ ! -e "$work/none" ]
}

refuses_what_does_not_go_together() {
    ends_with 2 'a static trainer can load no library' build --target cpu,cuda --static --out "$work/none" || return
    set -- make -s trainer RUN=$RUN OUT="$work/none"
    ends_with 2 'cannot be static' "$@" TARGETS=cpu,cuda STATIC=1 &&
        ends_with 2 'expected cpu or cpu,cuda' "$@" TARGETS=gpu && [ ! -e "$work/none" ]
}

# A mistake in a kernel is reported at the kernel; an architecture that does not compile leaves nothing.
maps_errors() {
    mkdir "$work/copy" || return
    cp -r longhand Makefile cuda.mk generator include kernels runtime spec templates tests "$work/copy" || return
    echo 'static __device__ int wrong(void) { return no_such_name; }' >>"$work/copy/kernels/cuda/adam.cu"
    line=$(($(wc -l <kernels/cuda/adam.cu) + 1))
    set -- "$work/copy/longhand" build "$work/copy/spec/runs/$RUN.lua" --levels best --out "$work/none"
    ends_with 1 "[kernels/cuda/adam.cu:$line]" "$@" --target cpu,cuda --arch sm_80 && [ ! -e "$work/none" ]
}

expect cuda_generates_halves generates_halves
expect cuda_carries_its_text carries_its_text
expect cuda_is_given_other_defaults is_given_other_defaults
expect cuda_refuses_without_toolkit refuses_without_toolkit
expect cuda_refuses_what_does_not_go_together refuses_what_does_not_go_together
if ! toolkit=$(sh runtime/cuda/toolkit.sh 2>/dev/null); then
    echo "skip cuda_builds and ten more: no CUDA toolkit"
    finish
fi
version=$(echo "$toolkit" | cut -d ' ' -f 2)
nvrtc=$(sh runtime/cuda/toolkit.sh --kind nvrtc 2>/dev/null | cut -d ' ' -f 3)
expect cuda_builds builds
if [ "$failures" -eq 0 ]; then
    expect cuda_says_what_it_has says_what_it_has
    expect cuda_links_libc_alone links_libc_alone "$work/both/trainer"
    expect cuda_no_driver_exit_4 no_driver "$work/both/trainer"
    expect cuda_same_bits_without_a_gpu same_bits_without_a_gpu
    expect cuda_no_half_exit_4 no_cuda_half
    expect cuda_trainer_is_kept is_kept
    expect cuda_carries_both carries_both
fi
if [ -n "$nvrtc" ]; then expect cuda_by_nvrtc by_nvrtc; else echo "skip cuda_by_nvrtc: no NVRTC"; fi
expect cuda_for_the_gpus_of_this_machine for_the_gpus_of_this_machine
expect cuda_refuses_architectures refuses_architectures
expect cuda_maps_errors maps_errors
finish
