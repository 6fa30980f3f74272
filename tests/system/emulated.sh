# Trainers with a CUDA half over an emulated driver; sourced after common.sh. SPEC, set before: the name of a spec of
# tests/specs, or of the trainer that a test builds itself. STEPS: steps of `train`. Without a CUDA toolkit or a C++
# compiler the test is skipped.

trainer=$work/out/trainer
library=$root/build/release/emulation/$SPEC.so # an emulated driver with the trainer's kernels, and an emulated cuBLASLt

toolkit=$(sh runtime/cuda/toolkit.sh --root "" --arch sm_90 --least 75 2>/dev/null)
if [ -z "$toolkit" ]; then
    echo "skip $SPEC: there is no CUDA toolkit to compile device code with"
    exit 0
fi
if ! printf '#include <functional>\nint main() { return 0; }\n' |
    ${CXX:-g++} -std=c++17 -x c++ -o "$work/probe" - 2>/dev/null; then
    echo "skip $SPEC: ${CXX:-g++} does not compile C++"
    exit 0
fi

# Builds the library, and a trainer with both halves: FLAGS of the trainer's build.
build_both() {
    ./longhand gen "tests/specs/$SPEC.lua" --out "build/tests/specs/$SPEC" >/dev/null &&
        make -s "${library#"$root/"}" LEVELS=best && ./longhand build "tests/specs/$SPEC.lua" "$@" --target cpu,cuda \
        --arch sm_90 --levels best --out "$work/out"
}

# Trains on the CPU: FOLDER FLAGS.
train() {
    directory=$work/$1
    shift
    "$trainer" train --out "$directory" --no-eval --log-every 1 --steps $STEPS "$@"
}

# Runs a command over the emulated driver with properties such as order=2,multiprocessors=2: PROPERTIES COMMAND.
emulate() {
    properties=$1
    shift
    LONGHAND_CUDA_DRIVER=$library LONGHAND_CUBLASLT=$library LONGHAND_EMULATION=$properties "$@"
}

# Trains on the emulated device: FOLDER PROPERTIES FLAGS.
train_on_device() {
    directory=$1 properties=$2
    shift 2
    emulate "$properties" train "$directory" --device cuda "$@"
}

find_checkpoint() { echo "$(find_run "$@")/checkpoint.safetensors"; }

# Compares the numbers of two runs, line by line, to ten digits, but not their times; at least as many numbers as given
# must be there: FILE FILE LEAST.
have_equal_numbers() {
    paste -d ' ' "$1" "$2" | tr ':,}[]' '     ' | awk -v least="$3" '
        { half = NF / 2
          for (i = 2; i <= half; i++) {
              if ($(i - 1) ~ /second/ || $i !~ /^[-+0-9.e]+$/) continue
              a = $i; b = $(i + half); d = a - b; if (d < 0) d = -d; if (a < 0) a = -a
              seen++
              if (d > 1e-10 * (a + 1e-3)) { print "line " NR ": " $(i - 1) " " $i " and " b; bad = 1 }
          } }
        END { exit bad || seen < least }'
}
