"""Measures peaks of this GPU by PyTorch's library calls: large matrix products and a copy.

    python peaks.py > peaks.jsonl

Prints lines {"peak": "tf32", "flops_per_second": ...} and {"peak": "copy", "bytes_per_second": ...}. Random numbers
(with zeros a product is faster), 8192 x 8192 x 8192, medians of nine windows after a warm-up. float32 does not use
tensor cores. A copy counts bytes read and bytes written; its buffers are far larger than the L2. `small` is a product
of a model's size, [128 T][64] x [64][256] at T = 80 in tf32: the rate that a library reaches at this width.
"""

import json
import statistics

import torch

SIZE = 8192
COPIED = 2 << 30  # bytes


def measure_seconds(run, repeats):
    """Seconds of one run: the median of nine windows of `repeats` runs."""
    found = []
    for _ in range(10):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(repeats):
            run()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / 1000 / repeats)
    return statistics.median(found[1:])


def measure_product(name, rows, inner, columns, dtype, precision, repeats):
    torch.set_float32_matmul_precision(precision)
    a = torch.randn(rows, inner, device="cuda").to(dtype)
    b = torch.randn(inner, columns, device="cuda").to(dtype)
    c = torch.empty(rows, columns, device="cuda", dtype=dtype)
    time = measure_seconds(lambda: torch.mm(a, b, out=c), repeats)
    print(json.dumps({"peak": name, "flops_per_second": 2 * rows * inner * columns / time}), flush=True)


def measure_copy():
    source = torch.randint(0, 256, (COPIED,), device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    time = measure_seconds(lambda: target.copy_(source), 10)
    print(json.dumps({"peak": "copy", "bytes_per_second": 2 * COPIED / time}), flush=True)


def main():
    if not torch.cuda.is_available():
        raise SystemExit("peaks.py: PyTorch finds no GPU")
    torch.manual_seed(0)
    measure_product("tf32", SIZE, SIZE, SIZE, torch.float32, "high", 5)
    measure_product("bf16", SIZE, SIZE, SIZE, torch.bfloat16, "highest", 5)
    measure_product("float32", SIZE, SIZE, SIZE, torch.float32, "highest", 2)
    measure_product("small", 128 * 80, 64, 256, torch.float32, "high", 100)
    measure_copy()


if __name__ == "__main__":
    main()
