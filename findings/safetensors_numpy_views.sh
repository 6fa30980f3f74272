#!/bin/sh
# safetensors.numpy writes a view's memory, not its numbers.
#
# Versions: safetensors 0.8.0, numpy 2.4.6, Python 3.11; Linux on x86-64, 2026-11-28.
# A transposed or strided numpy array is a view: its numbers do not lie in memory in the order of its indices. save_file
# and save of safetensors.numpy write such an array's shape, but the bytes in the order of its memory. No exception is
# raised, and the file is valid, but its numbers are not those of the array: for a transposed array they are permuted,
# and for every second column they are the first numbers of the whole array. The usual case is a weight that is
# transposed between two frameworks. After numpy.ascontiguousarray the numbers are right.
#
# Seen:
#   transposed      wrote [[0, 3], [1, 4], [2, 5]]   read [[0, 1], [2, 3], [4, 5]]
#   every second    wrote [[0, 2], [3, 5]]           read [[0, 1], [2, 3]]
#   made contiguous wrote [[0, 3], [1, 4], [2, 5]]   read [[0, 3], [1, 4], [2, 5]]
#
#     sh findings/safetensors_numpy_views.sh     # exit status 0: as said here, 1: it has changed, 4: no Python or network

folder=$(mktemp -d) || exit 4
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python" && "$folder/python/bin/pip" install -q safetensors==0.8.0 numpy==2.4.6 || exit 4
cat >"$folder/views.py" <<'END'
import numpy
from safetensors import numpy as tensors

whole = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
arrays = {
    "transposed": whole.T,
    "every second": whole[:, ::2],
    "made contiguous": numpy.ascontiguousarray(whole.T),
}
for name, array in arrays.items():
    read = tensors.load(tensors.save({"w": array}))["w"]
    print(f"{name:15} wrote {array.astype(int).tolist()!s:26} read {read.astype(int).tolist()}")
END
"$folder/python/bin/python" "$folder/views.py" | tee "$folder/seen" || exit 4
sed -n 's/^#   \([a-z ]* wrote \)/\1/p' "$0" | cmp - "$folder/seen"
