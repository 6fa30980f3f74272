#!/bin/sh
# A float as a tf32 operand in inline assembly compiles for new GPUs only.
#
# Version: NVRTC 13.5.37 (pip package nvidia-cuda-nvrtc), Python 3.11; Linux on x86-64, 2026-11-29. 13.0.88 does the
# same. Operands of tensor instructions in tf32, and results of cvt.rna.tf32.f32, are of PTX's type .b32. For sm_100 and
# later the compiler declares registers of floats as .b32, too, so an operand with the constraint "f" has the right
# type, and kernels that pass floats there without __float_as_uint compile. For sm_80 to sm_90 it declares the same
# registers as .f32, and the assembler refuses the same source: "Arguments mismatch". So code that was written on a new
# GPU may not compile for an older one, although it uses nothing that the older one lacks. With the constraint "r" and
# __float_as_uint it compiles for all of them.
#
# Seen:
#   f sm_80 refused, float registers .f32
#   f sm_90 refused, float registers .f32
#   f sm_100 compiles, float registers .b32
#   f sm_120 compiles, float registers .b32
#   r sm_80 compiles, float registers .f32
#   r sm_90 compiles, float registers .f32
#   r sm_100 compiles, float registers .b32
#   r sm_120 compiles, float registers .b32
#
#     sh findings/nvrtc_float_operands.sh     # exit status 0: as said here, 1: it has changed, 4: no Python or network

folder=$(mktemp -d) || exit 4
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python" && "$folder/python/bin/pip" install -q nvidia-cuda-nvrtc==13.5.37 || exit 4
cat >"$folder/operands.py" <<'END'
import ctypes
import pathlib
import re
import sys

library = next(p for p in pathlib.Path(sys.prefix).rglob("libnvrtc.so.*") if "builtins" not in p.name)
nvrtc = ctypes.CDLL(str(library))

KERNEL = """
extern "C" __global__ void round_to_tf32(const float *x, float *y) {
    %s
}
"""
FORMS = {
    "f": 'float to; asm("cvt.rna.tf32.f32 %0, %1;" : "=f"(to) : "f"(x[0] + x[1])); y[0] = to;',
    "r": 'unsigned to; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(to) : "f"(x[0] + x[1])); y[0] = __uint_as_float(to);',
}


def compile_for(source, architecture):
    """Whether the source compiles for an architecture, and the compiler's PTX or ''."""
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None) == 0
    option = ctypes.c_char_p(f"--gpu-architecture={architecture}".encode())
    good = nvrtc.nvrtcCompileProgram(program, 1, ctypes.byref(option)) == 0
    size = ctypes.c_size_t()
    text = b""
    if not good:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        assert b"Arguments mismatch for instruction" in log.value, log.value
    if good and nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0 and size.value > 1:
        buffer = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetPTX(program, buffer)
        text = buffer.value
    return good, text.decode()


for form, statement in FORMS.items():
    for number in (80, 90, 100, 120):
        source = KERNEL % statement
        good, _ = compile_for(source, f"sm_{number}")
        _, ptx = compile_for(source, f"compute_{number}")
        register = re.search(r"add\.(?:rn\.)?f32\s+(%\w+?)\d+,", ptx).group(1)
        kind = re.search(rf"\.reg (\.\w+)\s+{register}<", ptx).group(1)
        print(f"{form} sm_{number} {'compiles' if good else 'refused'}, float registers {kind}")
END
"$folder/python/bin/python" "$folder/operands.py" >"$folder/seen" || exit 4
cat "$folder/seen"
sed -n 's/^#   \([fr] sm_.*\)/\1/p' "$0" | cmp - "$folder/seen"
