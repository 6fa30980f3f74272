"""A training step and a forward pass of the base model in eager PyTorch: a peer to compare `trainer bench` with.

    python pytorch_step.py --tokens 21 --labels 1 --classes 2 --mode train --seconds 2

The model of spec/models/ruoss_encoder.lua with sinusoids: 5 post-norm blocks, 8 heads x 8, width 64, feed-forward 256
with ReLU, dropout 0.1 on the embedding and on both branches, no biases in attention; cross-entropy on the last tokens;
global-norm clipping at 1, Adam. Batches are random tokens made before the clock starts. Prints steps per second: the
median of nine windows. --threads and OMP_WAIT_POLICY are the caller's choice.
"""

import argparse
import math
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, FEEDFORWARD, LAYERS, BATCH, DROPOUT = 64, 8, 256, 5, 128, 0.1


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.attention_output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, FEEDFORWARD)
        self.down = nn.Linear(FEEDFORWARD, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        split = self.query_key_value(x).view(batch, tokens, 3, HEADS, WIDTH // HEADS)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(batch, tokens, WIDTH)
        x = self.norm1(x + F.dropout(self.attention_output(mixed), DROPOUT, self.training))
        return self.norm2(x + F.dropout(self.down(F.relu(self.up(x))), DROPOUT, self.training))


class Encoder(nn.Module):
    def __init__(self, vocabulary, classes, tokens):
        super().__init__()
        self.token = nn.Embedding(vocabulary, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.output = nn.Linear(WIDTH, classes)
        angle = torch.arange(tokens)[:, None] / 10000.0 ** (torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("place", torch.cat([angle.sin(), angle.cos()], dim=1))

    def forward(self, tokens, labels):
        x = F.dropout(self.token(tokens) * math.sqrt(WIDTH) + self.place, DROPOUT, self.training)
        for block in self.blocks:
            x = block(x)
        return self.output(x[:, -labels:])


def make_step(options):
    model = Encoder(options.classes + 1, options.classes, options.tokens)
    model.train(options.mode == "train")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    tokens = torch.randint(options.classes, (BATCH, options.tokens))
    target = torch.randint(options.classes, (BATCH, options.labels))

    def forward():
        return F.cross_entropy(model(tokens, options.labels).flatten(0, 1), target.flatten())

    def train():
        loss = forward()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return train if options.mode == "train" else torch.no_grad()(forward)


def rate(step, seconds):
    start, steps = time.monotonic(), 0
    while time.monotonic() - start < seconds:
        step()
        steps += 1
    return steps / (time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=21, help="tokens per sequence")
    parser.add_argument("--labels", type=int, default=1, help="tokens at the end that have a label")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--mode", choices=["train", "eval"], default="train")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    step = make_step(options)
    for _ in range(3):
        loss = step()
    rates = [rate(step, options.seconds / 9) for _ in range(9)]
    if not math.isfinite(float(loss.detach())):
        raise SystemExit("pytorch_step.py: the loss is not finite")
    print(f"{statistics.median(rates):.3f}")


if __name__ == "__main__":
    main()
