-- Sorting with a positional bias of one's own: a penalty that grows with the logarithm of the distance between two
-- tokens, and a learned preference for the left side. Read README.md beside this file, then change the formula.
return {
  -- The task that the model learns; ./longhand list tasks shows the others.
  task = { kind = "bucket_sort" },

  encoding = {
    -- The formula: from the logit x.score of a query and a key, the number that softmax gets in its place. The
    -- function runs once, when the spec is checked, on symbols in the place of numbers; the formula that comes out
    -- stands for all pairs of tokens, in every head and layer. x.distance is key - query: negative to the left. What
    -- Python writes as `a if x.distance < 0 else b` is select(less(x.distance, 0), a, b).
    score = function(x)
      local penalty = x.slope * log1p(abs(x.distance))
      local bonus = select(less(x.distance, 0), x.left, 0)
      return x.score - penalty + bonus
    end,

    -- The numbers that the formula reads by name. `init` makes a parameter learned, from this first value on; with
    -- `values` it would be a constant. `per` says how many there are: one for the "model", or one per "layer", per
    -- "head" (which the layers share), or per "layer_head".
    parameters = {
      slope = { per = "layer_head", init = "alibi_slopes" }, -- 1/2, 1/4, ... 1/256: steep and flat heads
      left = { per = "layer_head", init = 0 },
    },
  },

  -- 5 layers, 8 heads, width 64.
  model = { use = "ruoss_encoder" },
  -- Sequences of 1 to 40 tokens; 600 steps are enough to see whether the formula helps.
  train = { use = "quick", steps = 600 },
  -- A dozen lengths from 10 to 200.
  eval = { use = "quick" },
}
