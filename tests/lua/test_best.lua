-- The best checkpoint and patience: their fields, their rules, and the settings of the trainer.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plan_module = require("plan.plan")

TestBest = {}

local SPEC = [[return { task = { kind = "parity_check" }, encoding = { kind = "none" },
  model = { layers = 1, heads = 1, width = 16, kind = %q },
  train = { batch = 8, steps = 100, lengths = { 1, 4 }, %s },
  eval = { lengths = { list = { 1, 60 } }, examples = 16, %s } }]]
local DURING = "during = { every = 10, lengths = { list = { 4, 60 } } }"

local function check_spec(train, eval, kind)
  return support.check_text(SPEC:format(kind or "encoder", train, eval or DURING))
end

local function accept(train, eval, kind)
  local resolved, info, d = check_spec(train, eval, kind)
  return assert(resolved, d:text()), info
end

-- Checks that a spec is refused with a message that contains this text.
local function check_refusal(text, train, eval)
  local resolved, _, d = check_spec(train, eval)
  lu.assertNil(resolved)
  lu.assertStrContains(d:text(), text)
end

function TestBest.test_metric_and_tie_have_defaults()
  lu.assertEquals(accept("checkpoint = { best = {} }").train.checkpoint.best, { metric = "accuracy", tie = "latest" })
  local best = accept("checkpoint = { best = { tie = 'earliest' } }", nil, "decoder").train.checkpoint.best
  lu.assertEquals(best, { metric = "exact_match", tie = "earliest" })
  lu.assertNil(accept("batch = 4").train.checkpoint.best)
end

function TestBest.test_best_checkpoint_needs_evaluations_at_training_lengths()
  check_refusal("train.checkpoint.best: needs evaluations during training", "checkpoint = { best = {} }", "batch = 4")
  check_refusal("train.checkpoint.best: needs evaluations at training lengths", "checkpoint = { best = {} }",
    "during = { every = 10, lengths = { 5, 60 } }")
  check_refusal("train.patience: needs the score of the best checkpoint", "patience = 3")
end

function TestBest.test_settings_reach_the_trainer_and_the_plan_is_unchanged()
  local function make_plan(train)
    return assert(plan_module.build(accept(train)))
  end
  local without_best = make_plan("batch = 8")
  local best = make_plan("checkpoint = { best = { metric = 'loss' } }, patience = 7")
  lu.assertStrContains(best.defaults.text, "\ntrain.best loss\ntrain.patience 7\n")
  lu.assertNotStrContains(without_best.defaults.text, "train.best")
  lu.assertEquals(best.digest, without_best.digest)
end

support.run()
