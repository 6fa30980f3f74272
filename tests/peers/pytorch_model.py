"""The models of peer.py in PyTorch, on any device, and a training step of them.

Forms of attention: sdpa (scaled_dot_product_attention) and plain; with vectors of distances, which no attention of a
library accepts at head width 8: pairs (vectors of all pairs of tokens are selected before the product) and shift
(logits of all 2T - 1 distances, then skewed).
"""

import torch
from torch import nn
from torch.nn import functional as F

import peer
from peer import DROPOUT, HEADS, LAYERS, RING, WIDTH

HEAD_WIDTH = WIDTH // HEADS


def list_forms(encoding):
    return ["pairs", "shift"] if encoding.endswith("relative") else ["sdpa", "plain"]


def product(x, weight, bias=None):
    """[N][in] x [in][out], or with replicas [R][N][in] x [R][in][out]."""
    if weight.dim() == 2:
        return x @ weight if bias is None else torch.addmm(bias, x, weight)
    return torch.bmm(x, weight) if bias is None else torch.baddbmm(bias[:, None], x, weight)


def apply_layer_norm(x, scale, offset):
    if scale.dim() == 1:
        return F.layer_norm(x, (WIDTH,), scale, offset, peer.EPSILON)
    return torch.addcmul(offset[:, None], F.layer_norm(x, (WIDTH,), eps=peer.EPSILON), scale[:, None])


def skew(x):
    """[..., T, 2T - 1], columns by key - query = 1 - T .. T - 1 -> [..., T, T], columns by key."""
    tokens = x.shape[-2]
    row = 2 * tokens - 2
    return x.flatten(-2)[..., tokens - 1 : tokens - 1 + tokens * row].unflatten(-1, (tokens, row))[..., :tokens]


class Model(nn.Module):
    """A model, or replicas of it: every parameter then begins with the axis R, and so do tokens and logits."""

    def __init__(self, case, weights, device):
        super().__init__()
        self.case = case
        self.lead = () if case.replicas == 1 else (case.replicas,)
        stacked = peer.stack_weights(weights, case.replicas)
        self.p = nn.ParameterDict({name: nn.Parameter(torch.tensor(value)) for name, value in stacked.items()})
        self.register_buffer("symbols", torch.arange(peer.VOCABULARY[case.model]), persistent=False)
        if case.encoding == "sinusoid":
            self.register_buffer("sinusoid", torch.tensor(peer.compute_sinusoid(range(case.tokens))), persistent=False)
        elif case.encoding == "relative":
            rows = peer.compute_sinusoid(range(1 - case.tokens, case.tokens))
            self.register_buffer("vectors", torch.tensor(rows), persistent=False)
        elif case.encoding == "rand_relative":
            self.register_buffer("table", torch.tensor(peer.make_distance_table()), persistent=False)
        self.is_causal = case.model == "decoder"
        if self.is_causal:
            masked = torch.ones(case.tokens, case.tokens, dtype=torch.bool).triu(1)
            self.register_buffer("masked", masked, persistent=False)
        self.to(device)

    def embed(self, tokens):
        """[R][batch][T] -> [R][batch T][WIDTH], as a product with one-hot rows: the gradient of a lookup would add to
        only four rows at the same time."""
        one_hot = (tokens.flatten(-2)[..., None] == self.symbols).to(torch.float32)
        x = product(one_hot, self.p["token"]) * WIDTH**0.5
        if self.case.encoding != "sinusoid":
            return x
        x = x.unflatten(-2, tokens.shape[-2:]) + self.sinusoid
        return F.dropout(x.flatten(-3, -2), DROPOUT, self.training)

    def make_distance_vectors(self, n, rows):
        """Returns [R][2T - 1][HEADS][HEAD_WIDTH]; rows: [R][LAYERS][2T - 1] if distances are sampled."""
        if self.case.encoding == "relative":
            vectors = self.vectors.expand(*self.lead, *self.vectors.shape)
        else:
            vectors = F.embedding(rows[..., n, :], self.table)
        return product(vectors, self.p[f"relative{n}"]).unflatten(-1, (HEADS, HEAD_WIDTH))

    def compute_position_logits(self, n, query, rows):
        """query [R][batch][T][HEADS][HEAD_WIDTH] -> [R][batch][HEADS][T][T]"""
        vectors = self.make_distance_vectors(n, rows)
        if self.case.form == "shift":
            return skew(torch.einsum("...bihd,...chd->...bhic", query, vectors))
        wide = vectors.movedim(-3, -1)[..., None, :]
        pairs = skew(wide.expand(*wide.shape[:-2], query.shape[-3], wide.shape[-1]))
        return torch.einsum("...bihd,...hdij->...bhij", query, pairs)

    def attention(self, n, x, shape, rows):
        """x [R][batch T][WIDTH] -> [R][batch T][WIDTH]; shape: (batch, T)."""
        split = product(x, self.p[f"qkv{n}"]).unflatten(-1, (3, HEADS, HEAD_WIDTH)).unflatten(-4, shape)
        query, key, value = split.unbind(-3)
        heads = lambda y: y.transpose(-3, -2)
        if self.case.form == "sdpa":
            flat = lambda y: heads(y).reshape(-1, HEADS, shape[1], HEAD_WIDTH)
            mixed = F.scaled_dot_product_attention(flat(query), flat(key), flat(value), is_causal=self.is_causal)
            mixed = mixed.transpose(1, 2).reshape(x.shape)
            return product(mixed, self.p[f"mix{n}"])
        bias = lambda name: self.p[f"{name}{n}"].view(*self.lead, 1, 1, HEADS, HEAD_WIDTH)
        content = query + bias("content") if self.case.is_relative else query
        logits = heads(content) @ heads(key).transpose(-2, -1)
        if self.case.is_relative:
            logits = logits + self.compute_position_logits(n, query + bias("position"), rows)
        if self.is_causal:
            logits = logits.masked_fill(self.masked, -torch.inf)
        weights = torch.softmax(logits * HEAD_WIDTH**-0.5, dim=-1)
        return product(heads(weights @ heads(value)).reshape(x.shape), self.p[f"mix{n}"])

    def feedforward(self, n, x):
        p = self.p
        hidden = product(x, p[f"up{n}"], p[f"up_bias{n}"])
        if self.case.model == "decoder":
            gate, up = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * up
        else:
            hidden = F.relu(hidden)
        return product(hidden, p[f"down{n}"], p[f"down_bias{n}"])

    def norm(self, name, n, x):
        return apply_layer_norm(x, self.p[f"{name}_scale{n}"], self.p[f"{name}_offset{n}"])

    def add(self, name, n, x, branch):
        """Adds a branch of x to x, with the norm before the branch or after the sum."""
        if self.case.has_pre_norm:
            return x + F.dropout(branch(self.norm(name, n, x)), DROPOUT, self.training)
        return self.norm(name, n, x + F.dropout(branch(x), DROPOUT, self.training))

    def forward(self, labels, tokens, rows=None):
        """[R][batch][T] -> [R][batch][labels][CLASSES]"""
        shape = tokens.shape[-2:]
        x = self.embed(tokens)
        for n in range(LAYERS):
            x = self.add("norm1", n, x, lambda y: self.attention(n, y, shape, rows))
            x = self.add("norm2", n, x, lambda y: self.feedforward(n, y))
        labelled = x.unflatten(-2, shape)[..., -labels:, :]
        last = labelled.flatten(-3, -2)
        if self.case.has_pre_norm:
            last = self.norm("norm", "", last)
        logits = product(last, self.p["output"], self.p["output_bias"])
        return logits.unflatten(-2, labelled.shape[-3:-1])

    def loss(self, target, tokens, rows=None):
        """Returns the sum over replicas of their mean losses, so that every replica has its own gradient."""
        logits = self(target.shape[-1], tokens, rows)
        return F.cross_entropy(logits.flatten(0, -2), target.flatten()) * self.case.replicas


def clip(parameters, replicas):
    """Reduces the gradient of each replica to a norm of at most 1."""
    if replicas == 1:
        nn.utils.clip_grad_norm_(parameters, 1.0)
        return
    gradients = [p.grad for p in parameters]
    squares = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0)
    scale = (squares.sqrt() + 1e-6).reciprocal().clamp(max=1.0)
    torch._foreach_mul_(gradients, [scale.view(-1, *[1] * (g.dim() - 1)) for g in gradients])


class Trainer:
    """A model with its optimiser and its batches; step() makes a step on the device."""

    def __init__(self, case, weights, batch, device, compile_function):
        """compile_function: compiles a function, or None."""
        self.case, self.device = case, device
        self.model = Model(case, weights, device).train()
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.Adam(self.parameters, lr=peer.RATE, fused=True, capturable=device == "cuda")
        batches = peer.make_ring(case, batch)
        self.ring = {name: torch.tensor(value).to(device, torch.int64) for name, value in batches.items()}
        self.turn = torch.zeros(1, dtype=torch.int64, device=device)
        self.compute_loss = compile_function(self.model.loss) if compile_function else self.model.loss
        self.clip = torch.compile(clip, dynamic=False) if compile_function and case.replicas > 1 else clip
        self.loss = torch.zeros((), device=device)

    def step(self):
        batch = {name: value.index_select(0, self.turn)[0] for name, value in self.ring.items()}
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.compute_loss(**batch)
        loss.backward()
        self.clip(self.parameters, self.case.replicas)
        self.optimizer.step()
        self.turn.add_(1).remainder_(RING)
        self.loss.copy_(loss.detach() / self.case.replicas)
