-- The validation stream of sampled tasks: its evaluations, the shares of its inputs that other streams also have, and
-- the trainer's arguments.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plan_module = require("plan.plan")
local plan_page = require("lab.pages.plan_page")
local validation = require("spec.rules.validation")

TestValidation = {}

local SPEC = [[return { task = { kind = "parity_check" }, encoding = { kind = "none" },
  model = { layers = 1, heads = 1, width = 16, feedforward = 16 },
  train = { batch = 8, steps = %d, lengths = %s }, eval = { lengths = { list = { 1, 2, 60 } }, examples = 16, %s } }]]

local function check_spec(steps, lengths, more_fields)
  local resolved, info, d = support.check_text(SPEC:format(steps, lengths, more_fields or ""))
  return assert(resolved, d:text()), info
end

function TestValidation.test_lengths_are_training_lengths_spread_evenly()
  lu.assertEquals(validation.plan(check_spec(10, "{ 1, 4 }")), { lengths = { 1, 2, 3, 4 }, examples = 128 })
  local lengths = validation.plan(check_spec(10, "{ 1, 40 }")).lengths
  lu.assertEquals({ #lengths, lengths[1], lengths[2], lengths[16] }, { 16, 1, 4, 40 })
  lu.assertEquals(validation.plan(check_spec(10, "{ list = { 3, 8, 20 } }")).lengths, { 3, 8, 20 })
  local resolved = check_spec(10, "{ 1, 40 }", "validation = { lengths = { 10, 30, step = 10 }, examples = 5 }")
  lu.assertEquals(validation.plan(resolved), { lengths = { 10, 20, 30 }, examples = 5 })
  lu.assertNil(validation.plan(check_spec(10, "{ 1, 40 }", "validation = { examples = 0 }")))
end

-- At its default the field is not in the resolved spec: run.json and digests of older specs do not change.
function TestValidation.test_the_default_of_a_validation_stream_is_left_out()
  lu.assertNil(check_spec(10, "{ 1, 40 }").eval.validation)
  lu.assertNil(check_spec(10, "{ 1, 40 }", "validation = { examples = 128 }").eval.validation)
end

-- Length 1 has two different inputs, and length 2 has four. Samples are uniform, so if a length has n different inputs,
-- one of its inputs is among k samples of another stream with probability 1 - (1 - 1 / n)^k.
function TestValidation.test_coincidences_are_counted()
  local resolved, info = check_spec(2, "{ 1, 2 }")
  local shares = validation.estimate_shares(resolved, info.task)
  local samples_per_length = 8 * 2 / 2 -- two steps with batches of 8, two lengths
  lu.assertAlmostEquals(shares.training, (2 - 0.5 ^ samples_per_length - 0.75 ^ samples_per_length) / 2, 1e-12)
  lu.assertAlmostEquals(shares.evaluation, (2 - 0.5 ^ 16 - 0.75 ^ 16) / 2, 1e-12)
  resolved, info = check_spec(2, "{ 1, 2, curriculum = { { until_step = 1, max = 1 } } }")
  shares = validation.estimate_shares(resolved, info.task) -- length 1 has 1.5 of the two batches, length 2 has 0.5
  lu.assertAlmostEquals(shares.training, (2 - 0.5 ^ 12 - 0.75 ^ 4) / 2, 1e-12)
  shares = validation.estimate_shares(check_spec(10, "{ 40, 41 }"), info.task)
  lu.assertTrue(shares.training < 1e-9 and shares.evaluation == 0) -- none of the stream's lengths is evaluated
end

function TestValidation.test_the_trainer_gets_its_arguments()
  local function render_text(more_fields)
    local resolved, info = check_spec(10, "{ 1, 3 }", more_fields)
    local plan = assert(plan_module.build(resolved, info))
    return plan.defaults.text, plan_page.format_page(plan)
  end
  local text, page = render_text()
  lu.assertStrContains(text, "\neval.validation_lengths 1,2,3\neval.validation_examples 128\n")
  lu.assertStrContains(page, "validation  3 lengths, 1..3, 128 examples of each, from a separate stream; at least ")
  text, page = render_text("validation = { examples = 0 }")
  lu.assertNotStrContains(text, "eval.validation")
  lu.assertNotStrContains(page, "validation")
end

support.run()
