-- Fields of a spec: how it is trained. Entries are as schema.lua says.

local common = require("spec.fields.common")
local lists = require("base.lists")
local optimizers = require("spec.optimizers")

return lists.join({
  { path = "train", type = "table", doc = "the training" },
  { path = "train.batch", type = "integer", min = 1, max = 65536, default = 128, unit = "sequences",
    doc = "sequences of one step, all of one length" },
  { path = "train.shards", seldom = true, type = "integer", min = 1, max = 256, unit = "parts",
    default = function(resolved)
      return math.min(16, resolved.train.batch or 16)
    end,
    default_text = "16, or batch where that is less",
    doc = "parts of a batch, summed in order: the most threads a step can use; another number gives other bits",
    more = { "on a GPU one model has as many parts as `plan` says, or as many as this where it is not the default" } },
  { path = "train.block_tokens", seldom = true, type = "integer", min = 1, max = 65536, default = common.BLOCK_TOKENS,
    left_out = common.BLOCK_TOKENS, unit = "tokens",
    doc = "tokens, about, that pass through all layers together on the CPU; another number gives other bits",
    more = { "`./longhand tune` says whether another number is faster here" } },
  { path = "train.keep_probabilities", seldom = true, type = "boolean", optional = true,
    doc = "whether attention's are kept for the way back, on the CPU, or made again there, which takes far less memory",
    more = { "left out, they are kept of as many tokens as is faster, and made again of more" } },
  { path = "train.steps", type = "integer", min = 1, max = common.MOST, default = 2000000, unit = "steps",
    flag = "--steps",
    doc = "optimiser steps" },
  { path = "train.epochs", type = "integer", min = 1, max = common.MOST, optional = true, unit = "epochs",
    doc = "in place of steps, with finite data: every example once in each" },
  { path = "train.learning_rate", type = "number", above = 0, max = 1, default = 3e-4,
    flag = "--learning-rate", doc = "step size; with train.schedule the highest" },
  { path = "train.lengths", type = "lengths", default = { first = 1, last = 40, step = 1 },
    default_text = "{ 1, 40 }", unit = "task length n", doc = "a step draws one of them uniformly" },
  { path = "train.optimizer", type = "table", doc = "the optimiser" },
  { path = "train.optimizer.kind", type = "kind", default = "adam", doc = "its form", kinds = optimizers.pages },
}, lists.join(optimizers.fields, {
  { path = "train.schedule", type = "table", left_out = "constant",
    doc = "the learning rate over the steps" },
  { path = "train.schedule.kind", type = "kind", default = "constant", doc = "its form behind the warm-up",
    kinds = {
      { name = "constant", doc = "train.learning_rate" },
      { name = "linear", doc = "falls in a straight line until train.steps, or the last of train.epochs" },
      { name = "cosine", doc = "falls along half a cosine until train.steps, or the last of train.epochs" },
    } },
  { path = "train.schedule.warmup", type = "integer", min = 0, max = common.MOST, default = 0, left_out = 0,
    unit = "steps", doc = "so many first steps rise to the rate: step t of them has t / warmup of it" },
  { path = "train.schedule.final", seldom = true, type = "number", min = 0, below = 1, default = 0,
    only = { "linear", "cosine" },
    doc = "the last rate as a share of the learning rate; the step after the last one would have it" },
  { path = "train.clip", type = "table", doc = "limit on the gradient" },
  { path = "train.clip.kind", type = "kind", default = "global_norm", doc = "its form",
    kinds = {
      { name = "none", doc = "no limit" },
      { name = "global_norm", doc = "the whole gradient is scaled down to max_norm where its L2 norm is larger" },
    } },
  { path = "train.clip.max_norm", type = "number", above = 0, default = 1.0, only = { "global_norm" },
    doc = "largest L2 norm" },
  { path = "train.cadence", seldom = true, type = "choice", choices = { "steps", "epochs" }, default = "steps",
    left_out = "steps",
    doc = "the unit of log_every, checkpoint.every, checkpoint.keep and eval.during.every; epochs: for data files",
    more = { "the flags --log-every and --checkpoint-every count steps all the same" } },
  { path = "train.log_every", type = "integer", min = 1, max = common.MOST, default = 100, unit = common.CADENCE,
    flag = "--log-every", doc = "one line of metrics" },
  { path = "train.checkpoint", type = "table", doc = "when the state is written; always at the end, too" },
  { path = "train.checkpoint.every", type = "integer", min = 1, max = common.MOST, default = 10000,
    unit = common.CADENCE, flag = "--checkpoint-every", doc = "at multiples of this" },
  { path = "train.checkpoint.minutes", seldom = true, type = "number", min = 0, max = 525600, default = 10,
    unit = "minutes",
    doc = "and when this much time has passed; 0: by steps alone" },
  { path = "train.checkpoint.keep", seldom = true, type = "keep", choices = { "last", "all" }, default = "last",
    doc = "checkpoints that are kept: the last, all, or a list besides the last, of steps or epochs (train.cadence); "
      .. "0 is before the first" },
}))
