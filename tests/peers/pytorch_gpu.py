"""The base model's training step in PyTorch on a GPU: a peer to compare `trainer bench --device cuda` with.

    python pytorch_gpu.py --reference build/device/peers --out build/peers/pytorch.jsonl

variants
  eager            one call per operation, attention by scaled_dot_product_attention; fused Adam
  reduce-overhead  torch.compile(mode="reduce-overhead") of the loss: its graphs hold both passes, not the update
  graph            the whole step in one CUDA graph: both passes, clipping, fused capturable Adam
  compile          the same with the loss compiled first
  max-autotune     the same with mode="max-autotune-no-cudagraphs": products are chosen by trying
Each graph holds STEPS_PER_GRAPH steps, so that the gap between two graphs counts little. Several models side by side
have an axis of their own in every parameter, and their products are batched products.

forms of attention: sdpa, plain; with vectors of distances, which no library attention takes at head width 8: pairs (a
vector for every pair of tokens, picked out before the product) and shift (logits of all 2T - 1 distances, then skewed).
Forms are compared in `graph`; the faster one is compiled.
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

sys.dont_write_bytecode = True

import peer
from peer import DROPOUT, HEADS, LAYERS, RING, WIDTH

VARIANTS = ["graph", "compile", "eager", "reduce-overhead", "max-autotune"]
STEPS_PER_GRAPH = 4
HEAD_WIDTH = WIDTH // HEADS


def forms(encoding):
    return ["pairs", "shift"] if encoding.endswith("relative") else ["sdpa", "plain"]


def product(x, weight, bias=None):
    """[N][in] x [in][out], or for each replica [R][N][in] x [R][in][out]."""
    if weight.dim() == 2:
        return x @ weight if bias is None else torch.addmm(bias, x, weight)
    return torch.bmm(x, weight) if bias is None else torch.baddbmm(bias[:, None], x, weight)


def layer_norm(x, scale, offset):
    if scale.dim() == 1:
        return F.layer_norm(x, (WIDTH,), scale, offset, peer.EPSILON)
    return torch.addcmul(offset[:, None], F.layer_norm(x, (WIDTH,), eps=peer.EPSILON), scale[:, None])


def skew(x):
    """[..., T, 2T - 1], columns by key - query = 1 - T .. T - 1 -> [..., T, T], columns by key."""
    tokens = x.shape[-2]
    row = 2 * tokens - 2
    return x.flatten(-2)[..., tokens - 1 : tokens - 1 + tokens * row].unflatten(-1, (tokens, row))[..., :tokens]


class Encoder(nn.Module):
    """A model, or replicas of it: every parameter then begins with the axis R, and so do tokens and logits."""

    def __init__(self, case, weights, device):
        super().__init__()
        self.case = case
        self.lead = () if case.replicas == 1 else (case.replicas,)
        stacked = peer.stack(weights, case.replicas)
        self.p = nn.ParameterDict({name: nn.Parameter(torch.tensor(value)) for name, value in stacked.items()})
        self.register_buffer("symbols", torch.arange(peer.VOCABULARY), persistent=False)
        if case.encoding == "sinusoid":
            self.register_buffer("place", torch.tensor(peer.sinusoid(range(case.tokens))), persistent=False)
        elif case.encoding == "relative":
            rows = peer.sinusoid(range(1 - case.tokens, case.tokens))
            self.register_buffer("vectors", torch.tensor(rows), persistent=False)
        elif case.encoding == "rand_relative":
            self.register_buffer("table", torch.tensor(peer.distance_table()), persistent=False)
        self.to(device)

    def embed(self, tokens):
        """[R][batch][T] -> [R][batch T][WIDTH], a one-hot product: a lookup's gradient would collide on four rows."""
        one_hot = (tokens.flatten(-2)[..., None] == self.symbols).to(torch.float32)
        x = product(one_hot, self.p["token"]) * WIDTH**0.5
        if self.case.encoding != "sinusoid":
            return x
        x = x.unflatten(-2, tokens.shape[-2:]) + self.place
        return F.dropout(x.flatten(-3, -2), DROPOUT, self.training)

    def distance_vectors(self, n, rows):
        """[R][2T - 1][HEADS][HEAD_WIDTH]; rows [R][LAYERS][2T - 1] where distances are drawn."""
        if self.case.encoding == "relative":
            vectors = self.vectors.expand(*self.lead, *self.vectors.shape)
        else:
            vectors = F.embedding(rows[..., n, :], self.table)
        return product(vectors, self.p[f"relative{n}"]).unflatten(-1, (HEADS, HEAD_WIDTH))

    def position_logits(self, n, query, rows):
        """query [R][batch][T][HEADS][HEAD_WIDTH] -> [R][batch][HEADS][T][T]"""
        vectors = self.distance_vectors(n, rows)
        if self.case.form == "shift":
            return skew(torch.einsum("...bihd,...chd->...bhic", query, vectors))
        wide = vectors.movedim(-3, -1)[..., None, :]
        pairs = skew(wide.expand(*wide.shape[:-2], query.shape[-3], wide.shape[-1]))
        return torch.einsum("...bihd,...hdij->...bhij", query, pairs)

    def attention(self, n, x, shape, rows):
        """x [R][batch T][WIDTH], shape (batch, T) -> the same"""
        split = product(x, self.p[f"qkv{n}"]).unflatten(-1, (3, HEADS, HEAD_WIDTH)).unflatten(-4, shape)
        query, key, value = split.unbind(-3)
        heads = lambda y: y.transpose(-3, -2)
        if self.case.form == "sdpa":
            flat = lambda y: heads(y).reshape(-1, HEADS, shape[1], HEAD_WIDTH)
            mixed = F.scaled_dot_product_attention(flat(query), flat(key), flat(value))
            mixed = mixed.transpose(1, 2).reshape(x.shape)
            return product(mixed, self.p[f"mix{n}"])
        bias = lambda name: self.p[f"{name}{n}"].view(*self.lead, 1, 1, HEADS, HEAD_WIDTH)
        content = query + bias("content") if self.case.relative else query
        logits = heads(content) @ heads(key).transpose(-2, -1)
        if self.case.relative:
            logits = logits + self.position_logits(n, query + bias("position"), rows)
        weights = torch.softmax(logits * HEAD_WIDTH**-0.5, dim=-1)
        return product(heads(weights @ heads(value)).reshape(x.shape), self.p[f"mix{n}"])

    def forward(self, labels, tokens, rows=None):
        """[R][batch][T] -> [R][batch][labels][CLASSES]"""
        p, shape = self.p, tokens.shape[-2:]
        drop = lambda y: F.dropout(y, DROPOUT, self.training)
        x = self.embed(tokens)
        for n in range(LAYERS):
            x = layer_norm(x + drop(self.attention(n, x, shape, rows)), p[f"norm1_scale{n}"], p[f"norm1_offset{n}"])
            hidden = F.relu(product(x, p[f"up{n}"], p[f"up_bias{n}"]))
            x = layer_norm(x + drop(product(hidden, p[f"down{n}"], p[f"down_bias{n}"])), p[f"norm2_scale{n}"],
                           p[f"norm2_offset{n}"])
        read = x.unflatten(-2, shape)[..., -labels:, :]
        logits = product(read.flatten(-3, -2), p["output"], p["output_bias"])
        return logits.unflatten(-2, read.shape[-3:-1])

    def loss(self, target, tokens, rows=None):
        """The sum over replicas of each one's mean: so every replica has its own gradient."""
        logits = self(target.shape[-1], tokens, rows)
        return F.cross_entropy(logits.flatten(0, -2), target.flatten()) * self.case.replicas


def clip(parameters, replicas):
    """Each replica's gradient to a norm of at most 1."""
    if replicas == 1:
        nn.utils.clip_grad_norm_(parameters, 1.0)
        return
    gradients = [p.grad for p in parameters]
    squares = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0)
    scale = (squares.sqrt() + 1e-6).reciprocal().clamp(max=1.0)
    torch._foreach_mul_(gradients, [scale.view(-1, *[1] * (g.dim() - 1)) for g in gradients])


class Trainer:
    """A model with its optimiser and its batches; step() does everything on the device."""

    def __init__(self, case, weights, batch, device, compiled):
        self.case, self.device = case, device
        self.model = Encoder(case, weights, device).train()
        self.parameters = list(self.model.parameters())
        on_gpu = device == "cuda"
        self.optimizer = torch.optim.Adam(self.parameters, lr=peer.RATE, fused=True, capturable=on_gpu)
        made = peer.ring(case, batch)
        self.ring = {name: torch.tensor(value).to(device, torch.int64) for name, value in made.items()}
        self.turn = torch.zeros(1, dtype=torch.int64, device=device)
        self.loss_of = compiled(self.model.loss) if compiled else self.model.loss
        self.clip = torch.compile(clip, dynamic=False) if compiled and case.replicas > 1 else clip
        self.loss = torch.zeros((), device=device)

    def step(self):
        batch = {name: value.index_select(0, self.turn)[0] for name, value in self.ring.items()}
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(**batch)
        loss.backward()
        self.clip(self.parameters, self.case.replicas)
        self.optimizer.step()
        self.turn.add_(1).remainder_(RING)
        self.loss.copy_(loss.detach() / self.case.replicas)


def capture(trainer):
    """A CUDA graph of STEPS_PER_GRAPH steps."""
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


def timed(run, steps, device):
    """For Bench.windows(): at least n steps by calls of run(), each of `steps` steps."""
    def seconds(n):
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
    return seconds


def call_of(trainer):
    """What is called in a loop, and how many steps a call is."""
    def marked():
        torch.compiler.cudagraph_mark_step_begin()
        trainer.step()

    if trainer.case.variant == "reduce-overhead":
        return marked, 1
    if trainer.case.variant == "eager" or trainer.device == "cpu":
        return trainer.step, 1
    return capture(trainer), STEPS_PER_GRAPH


def run_case(bench, case, weights, device):
    """Times a case. What compiled it, captured it and ran it first is compile_seconds."""
    torch.compiler.reset()
    start = time.monotonic()
    trainer = Trainer(case, weights, bench.options.batch, device, COMPILED.get(case.variant))
    run, steps = call_of(trainer)
    for _ in range(3):
        run()
    if device == "cuda":
        torch.cuda.synchronize()
    compile_seconds = time.monotonic() - start
    rates = bench.windows(timed(run, steps, device))
    memory = torch.cuda.max_memory_allocated() if device == "cuda" else None
    bench.add(case, rates, compile_seconds, float(trainer.loss), memory_bytes=memory)


def logits_of(case, weights, device):
    """For Bench.check(): the first and the last replica's logits."""
    def logits(tokens, drawn, labels):
        sized = peer.dataclasses.replace(case, tokens=tokens.shape[1], labels=labels)
        model = Encoder(sized, weights, device).eval()
        stack = lambda value: torch.tensor(value, device=device).expand(*model.lead, *value.shape)
        batch = {"tokens": stack(tokens)}
        if drawn is not None:
            batch["rows"] = stack(peer.np.tile(peer.distance_rows(drawn), (LAYERS, 1)))
        with torch.no_grad():
            got = model(labels, **batch).cpu().numpy()
        return [got] if case.replicas == 1 else [got[0], got[-1]]
    return logits


def set_precision(precision):
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def check_case(bench, case, weights, device):
    """Whether the model gives the trainer's logits, in float32 and in the case's precision, which stays set."""
    good = []
    for precision in dict.fromkeys(["float32", case.precision]):
        set_precision(precision)
        checked = peer.dataclasses.replace(case, precision=precision)
        good.append(bench.check(checked, logits_of(checked, weights, device)))
    return all(good)


def chosen_cases(bench, variant, precision, device):
    """In `graph` all forms of attention, elsewhere the faster one. On a CPU `eager` takes the place of `graph`."""
    first = "graph" if device == "cuda" else "eager"
    for case in bench.cases(variant, precision, forms if variant == first else lambda encoding: [""]):
        if device == "cuda" and variant in ("eager", "reduce-overhead") and case.replicas > 1:
            continue  # what a call per operation costs is seen at one model
        form = case.form or bench.fastest_form(case, forms(case.encoding), first)
        yield peer.dataclasses.replace(case, form=form)


def run_round(bench, variant, precision, weights, device):
    for case in chosen_cases(bench, variant, precision, device):
        if not bench.wanted(case):
            continue
        with bench.guarded(case):
            if check_case(bench, case, weights[case.encoding], device) and not bench.options.check_only:
                run_case(bench, case, weights[case.encoding], device)
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


def main():
    bench = peer.Bench("pytorch", str(torch.__version__), __doc__, VARIANTS, last="max-autotune",
                       usable=lambda: torch.ones(8, device=device).sum().item())
    device = "cuda" if bench.options.device == "gpu" else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("pytorch_gpu.py: PyTorch finds no GPU")
    bench.begin(torch.cuda.get_device_name() if device == "cuda" else "cpu")
    torch.manual_seed(0)
    weights = {e: peer.load_weights(f"{bench.options.reference}/{e}.safetensors") for e in bench.options.encodings}
    for variant, precision in bench.rounds():
        run_round(bench, variant, precision, weights, device)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
