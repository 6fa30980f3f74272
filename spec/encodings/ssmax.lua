-- Scalable softmax (Nakanishi 2025): logits are multiplied by s log(n), where n is the number of keys that a query
-- sees.
--
-- s is learned, one number for each head of each layer. Its initial value is 1 / log(10), so the factor starts at 1 for
-- ten keys. The paper's optional offset of s log(n) is left out, since the paper finds that it harms long sequences.
return {
  score = function(x)
    local keys = select(equal(x.causal, 1), x.query_index + 1, x.key_length)
    return x.score * (x.s * log(keys))
  end,
  parameters = { s = { per = "layer_head", init = 0.4342944819032518 } },
}
