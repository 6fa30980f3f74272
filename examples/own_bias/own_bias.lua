-- Sorting with your own positional bias: a penalty that grows with the logarithm of the distance between two tokens,
-- and a learned preference for tokens to the left. Read README.md in this folder, then change the formula.
return {
  -- The task that the model learns; ./longhand list tasks shows the others.
  task = { kind = "bucket_sort" },

  encoding = {
    -- The formula computes the input of softmax from x.score, the logit of a query and a key. The function runs only
    -- once, when the spec is checked, with symbols instead of numbers; the resulting formula applies to all pairs of
    -- tokens, in every head and layer. x.distance is the index of the key minus that of the query, so it is negative
    -- for keys to the left. Python's `a if x.distance < 0 else b` is select(less(x.distance, 0), a, b).
    score = function(x)
      local penalty = x.slope * log1p(abs(x.distance))
      local bonus = select(less(x.distance, 0), x.left, 0)
      return x.score - penalty + bonus
    end,

    -- The parameters that the formula reads by their names. A parameter with `init` is learned and has this initial
    -- value; a parameter with `values` would be constant. `per` sets the number of values: one for the whole "model",
    -- one per "layer", one per "head" (shared by the layers), or one per "layer_head".
    parameters = {
      slope = { per = "layer_head", init = "alibi_slopes" }, -- 1/2, 1/4, ... 1/256: steep and flat heads
      left = { per = "layer_head", init = 0 },
    },
  },

  -- 5 layers, 8 heads, width 64.
  model = { use = "ruoss_encoder" },
  -- 1 to 40 tokens to sort, then as many empty tokens for the answers. 600 steps show whether the formula helps.
  train = { use = "quick", steps = 600 },
  -- Twelve lengths, from 10 to 200 tokens to sort: within the training lengths and beyond them.
  eval = { use = "quick" },
}
