"""Compares training steps of the LSTM with PyTorch's on one thread: python3 tests/peers/lstm.py.

The model is deletang_lstm on parity: 256 numbers of state, 128 sequences of 40 symbols and an empty token, float32. In
each round the trainer's bench (with its sampling, clipping and Adam) and PyTorch's step of the same model (batches made
beforehand) run one after the other, so a busy machine affects both; rates are steps per second of processor time, and
the printed ratio is the median over rounds. PYTORCH names an interpreter (python3).
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HIDDEN, BATCH, SYMBOLS, LENGTH, ROUNDS, SECONDS = 256, 128, 3, 40, 7, 2.0


def time_pytorch():
    """Serves rates on standard output, one for each line of standard input."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(1)
    core, readout = nn.LSTM(SYMBOLS, HIDDEN, batch_first=True), nn.Linear(HIDDEN, 2)
    parameters = [*core.parameters(), *readout.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    bits = torch.randint(0, 2, (BATCH, LENGTH))
    inputs = F.one_hot(F.pad(bits, (0, 1), value=2), SYMBOLS).float()
    targets = bits.sum(1) % 2

    def step():
        optimizer.zero_grad()
        F.cross_entropy(readout(torch.relu(core(inputs)[0][:, -1])), targets).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    step()
    print(torch.__version__, flush=True)
    for _ in sys.stdin:
        steps, start, stop = 0, time.process_time(), time.monotonic() + SECONDS
        while time.monotonic() < stop:
            step()
            steps += 1
        print(steps / (time.process_time() - start), flush=True)


def time_trainer(trainer):
    line = subprocess.run([trainer, "bench", "--lengths", str(LENGTH), "--mode", "train", "--threads", "1", "--windows",
                           "1", "--seconds", str(SECONDS), "--json"], check=True, capture_output=True, text=True).stdout
    figures = json.loads(line)
    return 1 / figures["processor_seconds_per_step"], figures["share_of_peak_nominal"]


def main():
    out = ROOT / "build/peers/lstm"
    subprocess.run(["./longhand", "build", "parity_check_lstm", "--levels", "best", "--out", out], cwd=ROOT, check=True)
    peer = subprocess.Popen([os.environ.get("PYTORCH", "python3"), __file__, "--pytorch"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    version = peer.stdout.readline().strip()
    rounds = []
    for _ in range(ROUNDS):
        peer.stdin.write("\n")
        peer.stdin.flush()
        theirs = float(peer.stdout.readline())
        ours, share = time_trainer(out / "trainer")
        rounds.append((ours / theirs, share))
        print(f"{ours:.2f} and {theirs:.2f} steps per second of processor time", flush=True)
    peer.stdin.close()
    ratio, share = (statistics.median(row[i] for row in rounds) for i in (0, 1))
    print(f"{ratio:.2f} times the rate of PyTorch {version} ({min(rounds)[0]:.2f} to {max(rounds)[0]:.2f}); "
          f"{share:.2f} of the peak of multiply-adds")


if __name__ == "__main__":
    time_pytorch() if sys.argv[1:] == ["--pytorch"] else main()
