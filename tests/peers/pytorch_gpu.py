"""The base model's training step in PyTorch on a GPU: a peer to compare `trainer bench --device cuda` with.

    python pytorch_gpu.py --reference build/device/peers --out build/peers/pytorch.jsonl

Variants:
  eager            one call per operation, attention by scaled_dot_product_attention; fused Adam
  reduce-overhead  torch.compile(mode="reduce-overhead") of the loss: its graphs hold both passes, not the update
  graph            the whole step in one CUDA graph: both passes, clipping, fused capturable Adam
  compile          as graph, with the loss compiled first
  max-autotune     as compile, with mode="max-autotune-no-cudagraphs": tries several products and uses the fastest
Each graph holds STEPS_PER_GRAPH steps, so that the pause between two graphs is short in comparison. Several models side
by side have an axis of their own in every parameter, and their products are batched products.

Forms of attention (pytorch_model.py) are compared in `graph`; the other variants use the faster one.
"""

import sys
import time

import torch

sys.dont_write_bytecode = True

import peer
from gpu_bench import Bench
from peer import LAYERS
from pytorch_model import Model, Trainer, list_forms

VARIANTS = ["graph", "compile", "eager", "reduce-overhead", "max-autotune"]
STEPS_PER_GRAPH = 4


def capture(trainer):
    """Returns the function that replays a CUDA graph of STEPS_PER_GRAPH steps."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            trainer.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(STEPS_PER_GRAPH):
            trainer.step()
    return graph.replay


COMPILED = {
    "compile": lambda f: torch.compile(f, fullgraph=True, dynamic=False),
    "max-autotune": lambda f: torch.compile(f, fullgraph=True, dynamic=False, mode="max-autotune-no-cudagraphs"),
    "reduce-overhead": lambda f: torch.compile(f, fullgraph=True, dynamic=False, mode="reduce-overhead"),
}


def make_timer(run, steps, device):
    """Returns a function for Bench.measure_windows(), which makes at least n steps by calls of run(), each of `steps`
    steps."""
    def time_steps(n):
        calls = -(-n // steps)
        if device == "cpu":
            start = time.perf_counter()
            for _ in range(calls):
                run()
            return time.perf_counter() - start, calls * steps
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1000, calls * steps
    return time_steps


def make_call(trainer):
    """Returns the function that a timing calls in a loop, and the number of steps of a call."""
    def step_after_mark():
        torch.compiler.cudagraph_mark_step_begin()
        trainer.step()

    if trainer.case.variant == "reduce-overhead":
        return step_after_mark, 1
    if trainer.case.variant == "eager" or trainer.device == "cpu":
        return trainer.step, 1
    return capture(trainer), STEPS_PER_GRAPH


def run_case(bench, case, weights, device):
    """Times a case. compile_seconds includes compilation, capture and the first runs."""
    torch.compiler.reset()
    start = time.monotonic()
    with bench.limit_time():
        trainer = Trainer(case, weights, bench.options.batch, device, COMPILED.get(case.variant))
        run, steps = make_call(trainer)
        for _ in range(3):
            run()
        if device == "cuda":
            torch.cuda.synchronize()
    compile_seconds = time.monotonic() - start
    rates = bench.measure_windows(make_timer(run, steps, device))
    memory = torch.cuda.max_memory_allocated() if device == "cuda" else None
    bench.add(case, rates, compile_seconds, float(trainer.loss), memory_bytes=memory)


def make_logits(case, weights, device):
    """Returns a function for Bench.check(), which returns the logits of the first and of the last replica."""
    def logits(tokens, drawn, labels):
        sized = peer.dataclasses.replace(case, tokens=tokens.shape[1], labels=labels)
        model = Model(sized, weights, device).eval()
        stack = lambda value: torch.tensor(value, device=device).expand(*model.lead, *value.shape)
        batch = {"tokens": stack(tokens)}
        if drawn is not None:
            batch["rows"] = stack(peer.np.tile(peer.find_distance_rows(drawn), (LAYERS, 1)))
        with torch.no_grad():
            actual = model(labels, **batch).cpu().numpy()
        return [actual] if case.replicas == 1 else [actual[0], actual[-1]]
    return logits


def set_precision(precision):
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def check_case(bench, case, weights, device):
    """Whether the model has the trainer's logits, in float32 and in the case's precision, which remains set."""
    is_right = []
    for precision in dict.fromkeys(["float32", case.precision]):
        set_precision(precision)
        checked = peer.dataclasses.replace(case, precision=precision)
        is_right.append(bench.check(checked, make_logits(checked, weights, device)))
    return all(is_right)


def choose_cases(bench, variant, precision, device):
    """Cases with all forms of attention in `graph` (on a CPU in `eager`), with the faster one in other variants."""
    first = "graph" if device == "cuda" else "eager"
    for case in bench.list_cases(variant, precision, list_forms if variant == first else lambda encoding: [""]):
        if device == "cuda" and variant in ("eager", "reduce-overhead") and case.replicas > 1:
            continue  # one model is enough to show the cost of a call per operation
        form = case.form or bench.find_fastest_form(case, list_forms(case.encoding), first)
        yield peer.dataclasses.replace(case, form=form)


def run_round(bench, variant, precision, weights, device):
    for case in choose_cases(bench, variant, precision, device):
        if not bench.is_due(case):
            continue
        with bench.report_failures(case):
            if check_case(bench, case, weights[case.encoding], device) and not bench.options.check_only:
                run_case(bench, case, weights[case.encoding], device)
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


def main():
    bench = Bench("pytorch", str(torch.__version__), __doc__, VARIANTS, last_variant="max-autotune",
                  use_device=lambda: torch.ones(8, device=device).sum().item())
    device = "cuda" if bench.options.device == "gpu" else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("pytorch_gpu.py: PyTorch finds no GPU")
    bench.begin(torch.cuda.get_device_name() if device == "cuda" else "cpu")
    torch.manual_seed(0)
    weights = {e: peer.load_weights(f"{bench.options.reference}/{e}.safetensors") for e in bench.options.encodings}
    for variant, precision in bench.list_rounds():
        run_round(bench, variant, precision, weights, device)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
