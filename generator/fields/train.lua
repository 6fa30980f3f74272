-- Fields of a spec: how it is trained. Entries are as schema.lua says.

local common = require("fields.common")

return {
  { path = "train", type = "table", doc = "how it is trained" },
  { path = "train.batch", type = "integer", min = 1, max = 65536, default = 128, unit = "sequences",
    doc = "sequences of one step, all of one length" },
  { path = "train.shards", type = "integer", min = 1, max = 256, unit = "parts",
    default = function(resolved)
      return math.min(16, resolved.train.batch or 16)
    end,
    default_text = "16, or batch where that is less",
    doc = "parts of a batch, summed in order: the most threads a step can use; part of the bits",
    more = { "on a GPU one model has as many parts as `plan` says, or as many as this where it is not the default" } },
  { path = "train.steps", type = "integer", min = 1, max = common.MOST, default = 2000000, unit = "steps",
    doc = "optimiser steps" },
  { path = "train.epochs", type = "integer", min = 1, max = common.MOST, optional = true, unit = "epochs",
    doc = "in place of steps, with task.data: every example once in each" },
  { path = "train.learning_rate", type = "number", above = 0, max = 1, default = 3e-4, doc = "step size, constant" },
  { path = "train.lengths", type = "lengths", default = { first = 1, last = 40, step = 1 },
    default_text = "{ 1, 40 }", unit = "task length n", doc = "a step draws one of them uniformly" },
  { path = "train.optimizer", type = "table", doc = "how gradients become steps" },
  { path = "train.optimizer.kind", type = "kind", default = "adam", doc = "its form",
    kinds = { { name = "adam", doc = "Adam with bias correction" } } },
  { path = "train.optimizer.beta1", type = "number", min = 0, below = 1, default = 0.9, only = { "adam" },
    doc = "decay of the first moment" },
  { path = "train.optimizer.beta2", type = "number", min = 0, below = 1, default = 0.999, only = { "adam" },
    doc = "decay of the second moment" },
  { path = "train.optimizer.epsilon", type = "number", above = 0, max = 1, default = 1e-8, only = { "adam" },
    doc = "added to the root of the second moment" },
  { path = "train.clip", type = "table", doc = "limit on the gradient" },
  { path = "train.clip.kind", type = "kind", default = "global_norm", doc = "its form",
    kinds = {
      { name = "none", doc = "no limit" },
      { name = "global_norm", doc = "the whole gradient is scaled down to max_norm where its L2 norm is larger" },
    } },
  { path = "train.clip.max_norm", type = "number", above = 0, default = 1.0, only = { "global_norm" },
    doc = "largest L2 norm" },
  { path = "train.log_every", type = "integer", min = 1, max = common.MOST, default = 100, unit = "steps",
    doc = "one line of metrics" },
  { path = "train.checkpoint", type = "table", doc = "when the state is written; always at the end, too" },
  { path = "train.checkpoint.every", type = "integer", min = 1, max = common.MOST, default = 10000, unit = "steps",
    doc = "at multiples of this" },
  { path = "train.checkpoint.minutes", type = "number", min = 0, max = 525600, default = 10, unit = "minutes",
    doc = "and when this much time has passed; 0: by steps alone" },
  { path = "train.checkpoint.keep", type = "keep", choices = { "last", "all" }, default = "last",
    doc = "which stay: the last, all, or a list of steps besides the last" },
}
