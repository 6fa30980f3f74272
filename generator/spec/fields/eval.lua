-- Fields of a spec: how it is evaluated. Entries are as schema.lua says.

local common = require("spec.fields.common")
local features = require("spec.rules.features")

-- The entries of eval.by without `noise`, which only the final evaluation uses.
local function by_without_noise(resolved)
  local by = {}
  for name, wanted in next, resolved.eval.by or {} do
    by[name] = name ~= "noise" and wanted or nil
  end
  return next(by) and by or nil
end

return {
  { path = "eval", type = "table", doc = "the evaluation" },
  { path = "eval.lengths", type = "lengths", default = { first = 41, last = 500, step = 1 },
    default_text = "{ 41, 500 }", unit = "task length n", doc = "each is one condition" },
  { path = "eval.by", type = "by", optional = true, fingerprints = { "add_noise" },
    used = features.noise,
    doc = "axes by which data files are evaluated: each combination of values is a condition; absent: by length",
    more = { "noise = { list = { 0, 0.5 } }, with any task: so loud is noise on embeddings, each a condition again" } },
  { path = "eval.noise", seldom = true, type = "choice", choices = { "absolute", "relative" }, default = "absolute",
    left_out = "absolute",
    doc = "the deviations of eval.by.noise: as they are, or times the root mean square of the token's embedding" },
  { path = "eval.splits", type = "names", choices = { "train", "test", "validation" }, optional = true,
    doc = "sets of finite data; absent: those held out from training, or training examples where there are none" },
  { path = "eval.novel", seldom = true, type = "boolean", default = true, left_out = true,
    doc = "whether held-out examples are left out that the task says are among those trained on" },
  { path = "eval.examples", type = "integer", min = 1, max = 1048576, word = "all", default = 500, unit = "sequences",
    doc = "per condition; of a dataset with more, this many are chosen by eval.order" },
  { path = "eval.order", seldom = true, type = "choice", choices = { "hash", "file" }, default = "hash",
    left_out = "hash",
    doc = "the examples that are taken where a data file has more: some chosen by the evaluation's seed and the "
      .. "number of their line, the same for every run, or the first of the file" },
  { path = "eval.batch", seldom = true, type = "integer", min = 1, max = 1048576, optional = true, unit = "sequences",
    doc = "examples that share random positions; accuracy is the mean over such batches; absent: all are one batch" },
  { path = "eval.draws", seldom = true, type = "integer", min = 1, max = 65536, default = 1, unit = "draws",
    doc = "draws per condition of what is random in a pass: positions, and with eval.dropout what is dropped" },
  { path = "eval.decoding", type = "choice", choices = { "greedy", "teacher_forced" }, default = "greedy",
    left_out = "greedy",
    doc = "the tokens before each answer of a generative model: its own answers, or the target (cheaper)" },
  { path = "eval.dropout", seldom = true, type = "boolean", default = false,
    left_out = false, fingerprints = { "EVAL_DROPOUT" },
    used = features.drops,
    doc = "whether dropout stays on outside training; part of the program, not a flag" },
  { path = "eval.validation", type = "table", left_out = "empty",
    doc = "the evaluation after training of a sampled task on a stream of examples and draws of its own, in "
      .. "distribution" },
  { path = "eval.validation.lengths", type = "lengths", optional = true, unit = "task length n",
    doc = "task lengths, each a condition; absent: at most 16 of train.lengths, spread evenly, first and last "
      .. "included" },
  { path = "eval.validation.examples", type = "integer", min = 0, max = 1048576, default = 128, left_out = 128,
    unit = "sequences", doc = "per condition; 0: no such evaluation" },
  { path = "eval.during", type = "table", optional = true,
    doc = "evaluation while training, of a sampled task on the validation stream; absent: none" },
  { path = "eval.during.every", type = "integer", min = 1, max = common.MOST, required = true, unit = common.CADENCE,
    doc = "at multiples of this" },
  { path = "eval.during.lengths", type = "lengths", default = common.same_as("eval.lengths"),
    default_text = "eval.lengths", unit = "task length n", doc = "each is one condition" },
  { path = "eval.during.by", seldom = true, type = "by", default = by_without_noise, default_text = "eval.by",
    doc = "as eval.by, without noise" },
  { path = "eval.during.splits", seldom = true, type = "names", choices = { "train", "test", "validation" },
    default = common.same_as("eval.splits"), default_text = "eval.splits", doc = "as eval.splits" },
  { path = "eval.during.examples", type = "integer", min = 1, max = 1048576, word = "all", default = 128,
    unit = "sequences", doc = "per condition, one batch" },
}
