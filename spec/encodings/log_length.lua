-- Scores that grow with the logarithm of the sequence's length, so that attention stays as sharp on longer sequences.
--
-- Chiang & Cholak 2022. The factor is 1 at train_length tokens, the number of tokens at the longest training length.
return {
  score = function(x)
    return x.score * (log(x.key_length) / log(x.train_length))
  end,
  parameters = { train_length = 80 },
}
