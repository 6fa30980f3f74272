-- Geometric attention beside what changes the logits or the pairs of softmax.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "geometric", mask = { kind = "causal" }, relative = { kind = "shaw" },
    score = function(x) return x.score - abs(x.distance) end },
}
