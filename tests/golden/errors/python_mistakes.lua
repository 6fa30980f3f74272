import math
from torch import nn
# a comment, with `words` and "strings"
spec = {
  "task": {"kind": "bucket_sort"},
  'encoding': {'kind': None},
  train: {lengths: [1, 40], steps: 2**10},  # trailing
  model: dict(layers=3),
}
x += 1
if a != b:
  pass
score = lambda x: x.score
def f(x):
  return x
