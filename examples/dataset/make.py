#!/usr/bin/env python3
"""Writes train.jsonl and test.jsonl in the current folder: additions such as 47+8=55. Digits are the tokens 0 to 9, the
plus sign is token 10."""
import json
import random

PLUS = 10


def make_example(rng, max_digits):
    a = rng.randrange(10 ** rng.randint(1, max_digits))
    b = rng.randrange(10 ** rng.randint(1, max_digits))
    tokens = [int(digit) for digit in str(a)] + [PLUS] + [int(digit) for digit in str(b)]
    return {"input": tokens, "target": [int(digit) for digit in str(a + b)]}


rng = random.Random(1)
for name, count, max_digits in (("train.jsonl", 600, 2), ("test.jsonl", 120, 3)):
    with open(name, "w") as file:
        for _ in range(count):
            file.write(json.dumps(make_example(rng, max_digits), separators=(",", ":")) + "\n")
