-- A small network whose input is the distance, relative to the greatest possible distance: FIRE (Li et al. 2024).
--
-- The score gets the term f(psi(distance) / psi(max(threshold, farthest))), with psi(n) = log(1 + c n); f is a network
-- with a hidden layer of 32, and its input is called the share. In the paper attention is causal, so the farthest key
-- of query i is i tokens away. Here the farthest key of query i, of T tokens, is max(i, T - 1 - i) tokens away. The
-- share of a key to the right is negative, so that f can distinguish the sides. Keys to the left get the paper's share
-- if T - 1 - i is at most max(i, threshold) (initially 512); `fire_causal` always computes the paper's share. The
-- farthest distance counts tokens, so with random distances a share can exceed 1. abs makes c and the threshold
-- positive, as in the authors' code. A layer has one set of hidden weights and biases; each head has its own output
-- weights and bias. Initial weights have the standard deviations of PyTorch's linear layers, but are normal. The output
-- bias starts at 0, since softmax ignores it.
return {
  score = function(x)
    local farthest = max(x.query_index, x.key_length - 1 - x.query_index)
    local threshold = abs(512 * x.threshold)
    local share = log1p(abs(x.scale * x.distance)) / log1p(abs(x.scale) * max(threshold, farthest))
    local signed = select(less(0, x.distance), -share, share)
    return x.score + x.output_bias + sum(32, function(m)
      local hidden = max(0, lookup(x.weight, m) * signed + lookup(x.bias, m))
      return lookup(x.output_weight, m) * hidden
    end)
  end,
  parameters = {
    scale = { per = "layer", init = 0.1 },
    threshold = { per = "layer", init = 1 },
    weight = { per = "layer", shape = 32, init = { normal = 0.577 } }, -- fan-in 1: the standard deviation of U(-1, 1)
    bias = { per = "layer", shape = 32, init = { normal = 0.577 } },
    output_weight = { per = "layer_head", shape = 32, init = { normal = 0.102 } }, -- fan-in 32
    output_bias = { per = "layer_head", init = 0 },
  },
}
