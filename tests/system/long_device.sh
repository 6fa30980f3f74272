# tests/device over the emulation: prepare.sh makes real trainers of small models, and run.sh checks and measures them
# with --device cuda, each over an emulated driver that has the trainer's kernels. Then run.sh builds from the archive
# of prepare.sh in a copy of the repository without Lua and git.

. tests/system/common.sh

if ! command -v git >/dev/null || ! sh runtime/cuda/toolkit.sh --arch sm_90 --least 75 >/dev/null 2>&1; then
    echo "skip device: needs git and a CUDA toolkit to compile device code with"
    exit 0
fi
unset LONGHAND_ISA # prepare.sh and run.sh choose their levels
base=build/test-device
tools=$work/tools

# Makes a program nvidia-smi for the emulated GPU.
make_nvidia_smi() {
    mkdir -p "$tools"
    cat >"$tools/nvidia-smi" <<'END'
case $1 in
    *name,driver*) echo "Emulated GPU, 1.0, 9.0" ;;
    *=compute_cap) echo 9.0 ;;
    *clocks.max.sm) echo "1980 MHz" ;;
    *clocks.sm,*) while printf '1755, 402.5\n1980, 399.5\n'; do sleep 0.2; done ;;
    *) echo "[N/A]" ;;
esac
END
    chmod +x "$tools/nvidia-smi"
}

is_prepared() {
    cat >"$work/device_shown.lua" <<END
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "t5" },
  model = { layers = 1, heads = 2, width = 16, feedforward = 16, dropout = 0.1 },
  train = { lengths = { 1, 4 }, batch = 2 },
  eval = { lengths = { 1, 4 } },
  precision = "float32",
}
END
    sed '/train/s/{ use/{ batch = 8, use/' tests/specs/parity_float64_relative.lua >"$work/device_double.lua"
    cp tests/specs/emulated_tf32.lua "$work/device_sanitized.lua"
    sed '/train/s/{ len/{ batch = 4, len/' tests/specs/emulated_wide_rand_rope.lua >"$work/device_wide.lua"
    PREPARED=$base ENCODINGS=rand_relative PRECISIONS="float32 tf32" TRAIN='use = "ruoss", batch = 2' \
        MODEL='use = "ruoss_encoder", layers = 1, heads = 2, width = 16, feedforward = 16' \
        WIDE_MODEL='use = "ruoss_encoder", layers = 1, heads = 2, width = 256, feedforward = 16' \
        WIDE_ENCODINGS=sinusoid WIDE_DOUBLE=$work/device_wide.lua DOUBLE=$work/device_double.lua \
        SHOWCASE=$work/device_shown.lua SANITIZE=$work/device_sanitized.lua \
        sh tests/device/prepare.sh --arch sm_90
}

print_names() { cut -d ' ' -f 2 $base/manifest; }

# Builds a library of each trainer's kernels. No test spec has these names.
has_emulated_drivers() {
    for name in $(print_names); do
        specs=build/tests/specs/$name
        mkdir -p "$specs" && cp "$base/trainers/$name/src/device.cu" "$specs" || return
    done
    make -s -j2 LEVELS=best MORE_EMULATED="$(print_names | tr '\n' ' ')" $(print_names | sed 's|.*|build/release/emulation/&.so|')
}

# Puts scripts in the place of trainers, which run them over the emulated driver: FOLDER.
wrap() {
    for name in $(print_names); do
        folder=$1/trainers/$name
        mv "$folder/trainer" "$folder/real" && cat >"$folder/trainer" <<END && chmod +x "$folder/trainer" || return
#!/bin/sh
LONGHAND_CUBLASLT=$root/build/release/emulation/$name.so
export LONGHAND_CUBLASLT
LONGHAND_CUDA_DRIVER=\$LONGHAND_CUBLASLT exec $folder/real "\$@"
END
    done
}

contains() { grep -qF -e "$2" "$1" || { echo "not in $1: $2" && cat "$1" && return 1; }; }

passes_with_real_trainers() {
    wrap "$root/$base" || return
    PATH=$tools:$PATH PREPARED=$base OUT=$work/out REPLICAS=4 ends_with 0 " 0 failed" \
        sh tests/device/run.sh --parts checks,bits,rates --limit 900 || return
    for name in "device_double, 5 steps" "device_shown, evaluation" "device_shown, side by side" \
        "device_shown, killed" "device_wide, gradients" "wide_sinusoid_bf16, evaluation" \
        "wide_sinusoid_float32, resumed" "reverse_rand_relative_tf32, 50 steps" \
        "parity_rand_relative_float32, logits" "reverse_rand_relative_tf32, rate of 4"; do
        contains "$work/out/report.md" "| $name | ok |" || return
    done
    ! grep -e '| skipped |' "$work/out/report.md" &&
        contains "$work/out/report.md" "Emulated GPU (up to 1980 MHz), driver 1.0, toolkit" &&
        contains "$work/out/report.md" "SM clock 1,755 MHz" || return
    [ "$(grep -c '"mode": "train"' "$work/out/results.json")" -eq 12 ]
}

# The other machine gets only the archive and the files that git does not ignore.
is_built_elsewhere() {
    copy=$work/copy
    mkdir -p "$copy/bin" && git ls-files -co --exclude-standard | tar c -T - | tar x -C "$copy" || return
    tar xzf $base.tar.gz -C "$copy" || return
    for lua in lua lua5.4; do printf 'exit 1\n' >"$copy/bin/$lua" && chmod +x "$copy/bin/$lua"; done
    (
        cd "$copy" && sed -i '/^rates/d; /^wide/d' $base/manifest || exit
        PATH=$copy/bin:$tools:$PATH PREPARED=$base ends_with 1 "3 trainers built here" \
            sh tests/device/run.sh --parts checks --build --limit 300
        cat "$work/.out" && [ -s $base/trainers/device_shown/resources.jsonl ] &&
            $base/trainers/device_shown/trainer train --steps 2 --no-eval --out "$copy/run"
    )
}

make_nvidia_smi
expect_each device_ is_prepared has_emulated_drivers passes_with_real_trainers is_built_elsewhere
for name in $(print_names); do
    rm -rf "build/tests/specs/$name" build/release/emulation/"$name".* build/release/specs/"$name"*
done
rm -rf $base $base.tar.gz $base-work
finish
