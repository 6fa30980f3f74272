-- A small network of the distance, taken as a share of the farthest one: FIRE (Li et al. 2024).
--
-- f(psi(distance) / psi(max(threshold, farthest))), psi(n) = log(1 + c n), f with one hidden layer of 32. The paper is
-- causal: there query i is at most i away from a key. Here a query at i of T tokens is at most max(i, T - 1 - i) away,
-- and the share of a key to the right is negative, so that f tells the sides apart. To the left it is the paper's where
-- T - 1 - i exceeds neither i nor the threshold, as up to 512 tokens at first; `fire_causal` always is the paper's. The
-- farthest is counted in indices: with random distances the share can exceed 1. c and the threshold (512 at first) are
-- made positive by abs, as in the authors' code; hidden weights and biases belong to a layer, the last ones to each of
-- its heads. Weights start as PyTorch's linear layers would, but normal and the last bias at 0, which softmax ignores.
return {
  score = function(x)
    local farthest = max(x.query_index, x.key_length - 1 - x.query_index)
    local threshold = abs(512 * x.threshold)
    local share = log1p(abs(x.scale * x.distance)) / log1p(abs(x.scale) * max(threshold, farthest))
    local signed = select(less(0, x.distance), -share, share)
    return x.score + x.output_bias + sum(32, function(c)
      local hidden = max(0, lookup(x.weight, c) * signed + lookup(x.bias, c))
      return lookup(x.output_weight, c) * hidden
    end)
  end,
  parameters = {
    scale = { per = "layer", init = 0.1 },
    threshold = { per = "layer", init = 1 },
    weight = { per = "layer", shape = 32, init = { normal = 0.577 } }, -- fan in 1: the spread of U(-1, 1)
    bias = { per = "layer", shape = 32, init = { normal = 0.577 } },
    output_weight = { per = "layer_head", shape = 32, init = { normal = 0.102 } }, -- fan in 32
    output_bias = { per = "layer_head", init = 0 },
  },
}
