-- Fields of the section `train`, the training. schema.lua describes entries.

local common = require("spec.fields.common")
local lists = require("base.lists")
local measures = require("spec.measures")
local optimizers = require("spec.optimizers")

local function choose_metric(resolved)
  return measures.is_generative(resolved) and "exact_match" or "accuracy"
end

return lists.join({
  { path = "train", type = "table", doc = "the training" },
  { path = "train.batch", type = "integer", min = 1, max = 65536, default = 128, unit = "sequences",
    doc = "number of sequences of a step; train.lengths.per determines whether all have the same length" },
  { path = "train.shards", is_rare = true, type = "integer", min = 1, max = 256, unit = "parts",
    default = function(resolved) return math.min(16, resolved.train.batch or 16) end,
    default_text = "16, or batch if that is smaller",
    doc = "number of parts of a batch, whose gradients are summed in order; a step can use one thread per part; "
      .. "another number gives other bits",
    details = { "on a GPU a single model has the number of parts that `plan` prints, unless this field is set" } },
  { path = "train.block_tokens", is_rare = true, type = "integer", min = 1, max = 65536, default = common.BLOCK_TOKENS,
    omitted_value = common.BLOCK_TOKENS, unit = "tokens",
    doc = "approximate number of tokens that pass all layers together on the CPU; another number gives other bits",
    details = { "`./longhand tune` measures whether another number is faster on this machine" } },
  { path = "train.keep_probabilities", is_rare = true, type = "boolean", optional = true,
    doc = "whether attention weights are stored for the backward pass on the CPU; false: they are recomputed, which "
      .. "takes less memory",
    details = { "absent: they are stored for short sequences and recomputed for long ones, where this is faster" } },
  { path = "train.steps", type = "integer", min = 1, max = common.MAX_INTEGER, default = 2000000, unit = "steps",
    flag = "--steps", doc = "number of optimiser steps" },
  { path = "train.epochs", type = "integer", min = 1, max = common.MAX_INTEGER, optional = true, unit = "epochs",
    doc = "number of passes over all training examples, in place of steps, for tasks with a finite training set" },
  { path = "train.learning_rate", type = "number", above = 0, max = 1, default = 3e-4,
    flag = "--learning-rate", doc = "the learning rate; with train.schedule the highest one" },
  { path = "train.lengths", type = "lengths", default = { first = 1, last = 40, step = 1 },
    default_text = "{ 1, 40 }", unit = "task length n", doc = "task lengths; each is sampled with the same probability",
    details = { "further fields stand next to the lengths: { 1, 40, per = \"sequence\" }" } },
  { path = "train.lengths.per", type = "choice", choices = {
      { "batch", "each step samples one length for all its sequences" },
      { "sequence", "each sequence of a step samples its own length" } },
    default = "batch", omitted_value = "batch", doc = "the unit for which one length is sampled",
    details = { "sequence: nothing is padded; random positions are shared by the sequences of equal length, not by the "
      .. "whole batch, and have the same distribution as in a batch of this length" } },
  { path = "train.lengths.curriculum", type = "curriculum", optional = true,
    doc = "stages at the start of training, in which only the shorter lengths are sampled; absent: none",
    details = { "{ { until_step = 1000, max = 10 }, { until_step = 5000, max = 20 } }: the first 1000 steps "
      .. "have lengths up to 10, the next 4000 up to 20, later steps all" } },
  { path = "train.loss_mean", type = "choice", choices = {
      { "token", "the mean over all labels of a batch" },
      { "sequence", "first the mean over the labels of each sequence, then the mean over sequences" } },
    default = "token", omitted_value = "token", doc = "the mean that training minimises",
    details = { "metrics show the mean over labels in both cases" } },
  { path = "train.optimizer", type = "table", doc = "the optimiser" },
  { path = "train.optimizer.kind", type = "kind", default = "adam", doc = "the kind of optimiser",
    kinds = optimizers.list },
}, lists.join(optimizers.fields, {
  { path = "train.schedule", type = "table", omitted_value = "constant",
    doc = "the course of the learning rate over the steps" },
  { path = "train.schedule.kind", type = "kind", default = "constant",
    doc = "the shape of the schedule after the warm-up",
    kinds = {
      { name = "constant", doc = "stays at train.learning_rate" },
      { name = "linear", doc = "falls in a straight line until the last step" },
      { name = "cosine", doc = "falls along half a cosine until the last step" },
    } },
  { path = "train.schedule.warmup", type = "integer", min = 0, max = common.MAX_INTEGER, default = 0, omitted_value = 0,
    unit = "steps",
    doc = "number of steps at the start in which the rate rises: at step t it is t / warmup of its full value" },
  { path = "train.schedule.final", is_rare = true, type = "number", min = 0, below = 1, default = 0,
    only = { "linear", "cosine" },
    doc = "the final rate as a share of train.learning_rate; the rate would reach it one step after the last" },
  { path = "train.clip", type = "table", doc = "the limit of the gradient" },
  { path = "train.clip.kind", type = "kind", default = "global_norm", doc = "the kind of clipping",
    kinds = {
      { name = "none", doc = "no limit" },
      { name = "global_norm", doc = "the whole gradient is scaled down to norm max_norm if its L2 norm is larger" },
    } },
  { path = "train.clip.max_norm", type = "number", above = 0, default = 1.0, only = { "global_norm" },
    doc = "largest L2 norm of the whole gradient" },
  { path = "train.cadence", is_rare = true, type = "choice", choices = { "steps", "epochs" }, default = "steps",
    omitted_value = "steps", doc = "the unit of log_every, checkpoint.every, checkpoint.keep and eval.during.every",
    details = { "epochs: only for training by epochs; the flags --log-every and --checkpoint-every always count "
      .. "steps" } },
  { path = "train.log_every", type = "integer", min = 1, max = common.MAX_INTEGER, default = 100, unit = common.CADENCE,
    flag = "--log-every", doc = "interval between two lines of metrics" },
  { path = "train.checkpoint", type = "table",
    doc = "the times at which a checkpoint is written; the end of training always writes one" },
  { path = "train.checkpoint.every", type = "integer", min = 1, max = common.MAX_INTEGER, default = 10000,
    unit = common.CADENCE, flag = "--checkpoint-every", doc = "interval between two checkpoints" },
  { path = "train.checkpoint.minutes", is_rare = true, type = "number", min = 0, max = 525600, default = 10,
    unit = "minutes", doc = "a checkpoint is also written when the last one has this age; 0: no checkpoints by time" },
  { path = "train.checkpoint.keep", is_rare = true, type = "keep", default = "last",
    doc = "the checkpoints that are kept",
    choices = {
      { "last", "the last checkpoint" },
      { "all", "every checkpoint" } },
    details = { "a list of steps or epochs (train.cadence): these and the last one; 0 is the state before training" } },
  { path = "train.checkpoint.best", type = "table", optional = true,
    doc = "the best checkpoint by eval.during, which is kept and evaluated after training; absent: none",
    details = { "the score is the mean over conditions at training lengths, or over the "
      .. "validation set of dataset files" } },
  { path = "train.checkpoint.best.metric", type = "choice", default = choose_metric,
    choices = { "accuracy", "exact_match", "loss" },
    default_text = "exact_match for models that answer token by token, otherwise accuracy",
    doc = "the metric of the score; the loss is better if it is lower" },
  { path = "train.checkpoint.best.tie", is_rare = true, type = "choice", choices = { "latest", "earliest" },
    default = "latest", doc = "the best one of several checkpoints with equal scores" },
  { path = "train.patience", type = "integer", min = 1, max = common.MAX_INTEGER, optional = true, unit = "evaluations",
    doc = "training ends early after this number of evaluations (eval.during) without a better score; absent: all "
      .. "steps are made",
    details = { "needs train.checkpoint.best, which defines the score; an equal score is not better" } },
}))
