-- A score of the logit alone: nothing of it can be made before the pair loop, and the backward pass needs the logit.
return {
  task = { kind = "bucket_sort" },
  encoding = {
    score = function(x)
      local cap = exp(x.log_cap)
      return cap * tanh(x.score / cap)
    end,
    parameters = { log_cap = { init = 1 } },
  },
}
