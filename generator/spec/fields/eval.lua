-- Fields of the section `eval`, the evaluation. Entries have the form of schema.lua.

local axes = require("spec.task.axes")
local common = require("spec.fields.common")
local features = require("spec.rules.features")

return {
  { path = "eval", type = "table", doc = "the evaluation" },
  { path = "eval.lengths", type = "lengths", default = { first = 41, last = 500, step = 1 },
    default_text = "{ 41, 500 }", unit = "task length n", doc = "task lengths to evaluate; each is one condition" },
  { path = "eval.by", type = "by", optional = true, fingerprints = { "add_noise" }, used = features.get_noise,
    doc = "axes by which examples of data files are grouped: each combination of values is a condition; absent: by "
      .. "length",
    more = { "noise = { list = { 0, 0.5 } }, for any task: deviations of noise on embeddings, each a new condition",
      "passes = { 1, 8 }, for any task and a model with loops: numbers of passes, each a new condition" } },
  { path = "eval.noise", seldom = true, type = "choice", default = "absolute", left_out = "absolute",
    doc = "the unit of the deviations in eval.by.noise",
    choices = {
      { "absolute", "the deviations as given" },
      { "relative", "multiples of the root mean square of the token's embedding" } } },
  { path = "eval.splits", type = "names", choices = { "train", "test", "validation" }, optional = true,
    doc = "sets of examples to evaluate, for tasks that have sets; absent: the held-out sets, or the training examples "
      .. "if there are none" },
  { path = "eval.novel", seldom = true, type = "boolean", default = true, left_out = true,
    doc = "whether to leave out held-out examples that, by the task's own check, also occur in training" },
  { path = "eval.examples", type = "integer", min = 1, max = 1048576, word = "all", default = 500, unit = "sequences",
    doc = "number of examples per condition; if a data file has more, eval.order chooses from them" },
  { path = "eval.order", seldom = true, type = "choice", default = "hash", left_out = "hash",
    doc = "the examples to evaluate if a data file has more than eval.examples",
    choices = {
      { "hash", "a pseudo-random subset by the evaluation's seed and the line numbers, the same for every run" },
      { "file", "the first examples of the file" } } },
  { path = "eval.batch", seldom = true, type = "integer", min = 1, max = 1048576, optional = true, unit = "sequences",
    doc = "number of examples that share random positions; the accuracy is the mean over these batches; absent: one "
      .. "batch of all examples" },
  { path = "eval.draws", seldom = true, type = "integer", min = 1, max = 65536, default = 1, unit = "draws",
    doc = "number of samples per condition of all random values in a pass: positions, noise (eval.by), and with "
      .. "eval.dropout the dropped elements" },
  { path = "eval.decoding", type = "choice", default = "greedy", left_out = "greedy",
    doc = "the tokens that a generative model reads before each answer",
    choices = {
      { "greedy", "its own answers" },
      { "teacher_forced", "the tokens of the target (cheaper)" } } },
  { path = "eval.places", seldom = true, type = "boolean", default = false, left_out = false,
    doc = "whether the final evaluation also counts right answers by their place in the target, and first errors" },
  { path = "eval.dropout", seldom = true, type = "boolean", default = false,
    left_out = false, fingerprints = { "EVAL_DROPOUT" }, used = features.drops,
    doc = "whether dropout is also active in evaluation; the trainer has no flag for it" },
  { path = "eval.validation", type = "table", left_out = "empty",
    doc = "the evaluation of a sampled task after training, at training lengths, with examples and random values of a "
      .. "separate stream" },
  { path = "eval.validation.lengths", type = "lengths", optional = true, unit = "task length n",
    doc = "task lengths, each a condition; absent: at most 16 of train.lengths, spread evenly, including the first and "
      .. "the last" },
  { path = "eval.validation.examples", type = "integer", min = 0, max = 1048576, default = 128, left_out = 128,
    unit = "sequences", doc = "number of examples per condition; 0: no validation" },
  { path = "eval.during", type = "table", optional = true,
    doc = "evaluations during training; for a sampled task, on the validation stream; absent: none" },
  { path = "eval.during.every", type = "integer", min = 1, max = common.MOST, required = true, unit = common.CADENCE,
    doc = "interval between two evaluations during training" },
  { path = "eval.during.lengths", type = "lengths", default = common.copy_default("eval.lengths"),
    default_text = "eval.lengths", unit = "task length n", doc = "task lengths to evaluate; each is one condition" },
  { path = "eval.during.by", seldom = true, type = "by", default_text = "eval.by",
    default = function(resolved)
      return axes.remove_levels(resolved.eval.by) -- only the final evaluation has levels
    end,
    doc = "axes of these evaluations, in the form of eval.by but without noise and passes" },
  { path = "eval.during.splits", seldom = true, type = "names", choices = { "train", "test", "validation" },
    default = common.copy_default("eval.splits"), default_text = "eval.splits",
    doc = "sets of examples for these evaluations, in the form of eval.splits" },
  { path = "eval.during.examples", type = "integer", min = 1, max = 1048576, word = "all", default = 128,
    unit = "sequences", doc = "number of examples per condition, in one batch" },
}
