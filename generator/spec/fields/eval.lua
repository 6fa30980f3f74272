-- Fields of the section `eval`, the evaluation. schema.lua describes entries.

local axes = require("spec.task.axes")
local common = require("spec.fields.common")
local features = require("spec.rules.features")

return {
  { path = "eval", type = "table", doc = "the evaluation" },
  { path = "eval.lengths", type = "lengths", default = { first = 41, last = 500, step = 1 },
    default_text = "{ 41, 500 }", unit = "task length n", doc = "task lengths to evaluate; each is one condition" },
  { path = "eval.by", type = "by", optional = true, fingerprints = { "add_noise" }, used = features.get_noise_unit,
    doc = "axes by which examples of data files are grouped: each combination of values is a condition; absent: by "
      .. "length",
    details = { "noise = { list = { 0, 0.5 } }, for any task: deviations of noise on embeddings, each a new condition",
      "passes = { 1, 8 }, for any task and a model with loops: numbers of passes, each a new condition" } },
  { path = "eval.noise", is_rare = true, type = "choice", default = "absolute", omitted_value = "absolute",
    doc = "the unit of the deviations in eval.by.noise",
    choices = {
      { "absolute", "the deviations as given" },
      { "relative", "multiples of the root mean square of the token's embedding" } } },
  { path = "eval.splits", type = "names", choices = { "train", "test", "validation" }, optional = true,
    doc = "sets of examples to evaluate, for tasks that have sets; absent: the held-out sets, or the training examples "
      .. "if there are none" },
  { path = "eval.novel", is_rare = true, type = "boolean", default = true, omitted_value = true,
    doc = "whether evaluation skips examples of the held-out sets that are also training examples; the task's axis "
      .. "`trained` marks these examples" },
  { path = "eval.examples", type = "integer", min = 1, max = 1048576, word = "all", default = 500, unit = "sequences",
    doc = "number of examples per condition; if a data file has more, eval.order chooses from them" },
  { path = "eval.order", is_rare = true, type = "choice", default = "hash", omitted_value = "hash",
    doc = "the examples to evaluate if a data file has more than eval.examples",
    choices = {
      { "hash", "a pseudo-random subset by the evaluation's seed and the line numbers, the same for every run" },
      { "file", "the first examples of the file" } } },
  { path = "eval.batch", is_rare = true, type = "integer", min = 1, max = 1048576, optional = true, unit = "sequences",
    doc = "number of examples in a batch, which share random positions; the accuracy is the mean over batches; absent: "
      .. "one batch of all examples" },
  { path = "eval.draws", is_rare = true, type = "integer", min = 1, max = 65536, default = 1, unit = "draws",
    doc = "number of times that each condition is evaluated, each with new samples of all random values: positions, "
      .. "noise (eval.by, model.loops.start), and with eval.dropout the dropped elements" },
  { path = "eval.decoding", type = "choice", default = "greedy", omitted_value = "greedy",
    doc = "the tokens that a generative model reads before each answer",
    choices = {
      { "greedy", "the model's own answers" },
      { "teacher_forced", "the tokens of the target (cheaper)" } } },
  { path = "eval.places", is_rare = true, type = "boolean", default = false, omitted_value = false,
    doc = "whether the final evaluation also counts, for each place in the target, the right answers and the first "
      .. "errors" },
  { path = "eval.dropout", is_rare = true, type = "boolean", default = false,
    omitted_value = false, fingerprints = { "EVAL_DROPOUT" }, used = features.has_dropout,
    doc = "whether dropout is also active in evaluation; no flag of the trainer sets it" },
  { path = "eval.validation", type = "table", omitted_value = "empty",
    doc = "the evaluation of a sampled task after training, at training lengths, with examples and random values of a "
      .. "separate stream" },
  { path = "eval.validation.lengths", type = "lengths", optional = true, unit = "task length n",
    doc = "task lengths, each a condition; absent: at most 16 of train.lengths, spread evenly, including the first and "
      .. "the last" },
  { path = "eval.validation.examples", type = "integer", min = 0, max = 1048576, default = 128, omitted_value = 128,
    unit = "sequences", doc = "number of examples per condition; 0: no validation" },
  { path = "eval.during", type = "table", optional = true,
    doc = "evaluations during training; for a sampled task, on the validation stream; absent: none" },
  { path = "eval.during.every", type = "integer", min = 1, max = common.MAX_INTEGER, required = true,
    unit = common.CADENCE, doc = "interval between two evaluations during training" },
  { path = "eval.during.lengths", type = "lengths", default = common.copy_default("eval.lengths"),
    default_text = "eval.lengths", unit = "task length n", doc = "task lengths to evaluate; each is one condition" },
  { path = "eval.during.by", is_rare = true, type = "by", default_text = "eval.by",
    default = function(resolved)
      return axes.remove_settings(resolved.eval.by) -- only the final evaluation may have noise or other passes
    end,
    doc = "axes of these evaluations, in the form of eval.by but without noise and passes" },
  { path = "eval.during.splits", is_rare = true, type = "names", choices = { "train", "test", "validation" },
    default = common.copy_default("eval.splits"), default_text = "eval.splits",
    doc = "sets of examples for these evaluations, in the form of eval.splits" },
  { path = "eval.during.examples", type = "integer", min = 1, max = 1048576, word = "all", default = 128,
    unit = "sequences", doc = "number of examples per condition, in one batch" },
}
