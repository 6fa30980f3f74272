-- generator/plan/deriving/dimensions.lua: the network of a plan, its scales, its tokens, its dropout.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plans = require("plans")

local make_plan, make_task = plans.make_plan, plans.make_task

TestDimensions = {}

function TestDimensions.test_tokens_of_the_model_come_after_those_of_the_input()
  -- Returns { count of tokens, index of the empty token, index of the token for computation }.
  local function number_tokens(spare, computation)
    local facts = make_task(7, 2)
    facts.computation = computation
    local plan = make_plan({ ["model.spare_token"] = spare,
      ["task.computation"] = computation and tostring(computation) }, facts)
    return { plan.tokens, plan.empty_token, plan.computation and plan.computation.token }
  end
  lu.assertEquals(number_tokens("true"), { 9, 8, false })
  lu.assertEquals(number_tokens("false"), { 8, 7, false })
  lu.assertEquals(number_tokens("true", 3), { 9, 8, 7 })
  lu.assertEquals(number_tokens("false", 3), { 9, 8, 7 })
end

-- If answers are read at the input's last token, no token is empty: there is no vector for it, and a sequence is one
-- token shorter. A linear embedding has no row for blanks.
function TestDimensions.test_an_empty_token_is_added_unless_answers_are_at_the_last_token()
  -- Returns { count of tokens, index of the empty token, rows of the embedding, tokens of the longest training
  -- sequence }.
  local function number_tokens(sets, blank)
    sets["task.kind"] = "even_pairs"
    local facts = make_task(7, 2)
    facts.blank = blank
    local plan = make_plan(sets, facts)
    return { plan.tokens, plan.empty_token, plan.inputs, plan.longest_training }
  end
  lu.assertEquals(number_tokens({}), { 9, 8, 9, 41 })
  lu.assertEquals(number_tokens({ ["model.embedding"] = "linear" }), { 8, 7, 8, 41 })
  lu.assertEquals(number_tokens({ ["model.readout"] = "last" }), { 7, false, 7, 40 })
  lu.assertEquals(number_tokens({ ["model.readout"] = "last", ["model.embedding"] = "linear" }, { "s1", "s2" }),
    { 7, false, 5, 40 })
end

-- A decoder has tokens for the symbols of the input, of the output, for computation, and a separator, in this order.
function TestDimensions.test_a_decoder_has_a_separator_and_no_empty_token()
  -- Returns { count of tokens, first output token, separator, token for computation, empty token }, the last four as
  -- indices of tokens.
  local function number_tokens(computation)
    local facts = make_task(7, 2)
    facts.computation = computation
    local plan = make_plan({ ["model.kind"] = "decoder", ["task.computation"] = computation and tostring(computation) },
      facts)
    return { plan.tokens, plan.decoder.first_output, plan.decoder.separator,
      plan.computation and plan.computation.token, plan.empty_token }
  end
  lu.assertEquals(number_tokens(), { 10, 7, 9, false, false })
  lu.assertEquals(number_tokens(2), { 11, 7, 10, 9, false })
end

-- In a decoder, a full mask becomes causal, and a window loses its right side. An encoder has the mask of the encoding.
function TestDimensions.test_a_decoder_is_causal()
  local function plan_mask(kind, encoding)
    local mask = make_plan({ ["model.kind"] = kind, ["encoding.mask"] = encoding }).attentions[1].mask
    return { mask.kind, mask.left or "-", mask.right or "-" }
  end
  lu.assertEquals(plan_mask("decoder", nil), { "causal", "-", 0 })
  lu.assertEquals(plan_mask("decoder", "{ kind = 'full' }"), { "causal", "-", 0 })
  lu.assertEquals(plan_mask("decoder", "{ kind = 'causal' }"), { "causal", "-", 0 })
  lu.assertEquals(plan_mask("decoder", "{ kind = 'window', left = 3 }"), { "window", 3, 0 })
  lu.assertEquals(plan_mask("encoder", "{ kind = 'window', left = 3 }"), { "window", 3, 3 })
  lu.assertEquals(plan_mask("encoder", nil), { "none", "-", "-" })
end

function TestDimensions.test_thresholds_and_scales_of_dropout_follow_its_rate()
  local plan = make_plan({ ["encoding.additive.kind"] = "sinusoid", ["encoding.additive.dropout"] = "0.25" })
  lu.assertEquals({ plan.dropout.threshold, plan.dropout.keep_scale, plan.dropout.rate_text }, { 6554, 1 / 0.9, "0.1" })
  lu.assertEquals({ plan.dropouts[2].name, plan.dropouts[2].threshold }, { "EMBEDDING", 16384 })
  lu.assertEquals(make_plan({ ["model.dropout"] = "0.99" }).dropout.threshold, 64881) -- it fits in 16 bits
  lu.assertEquals({ #plan.dropouts, plan.dropouts[1] }, { 2, plan.dropout })
  lu.assertEquals(make_plan({ ["model.dropout"] = "0" }).dropouts, {})
  plan = make_plan({ ["model.embedding_dropout"] = "0.25", ["model.attention_dropout"] = "0.5",
    ["model.hidden_dropout"] = "0.1" }) -- the embedding has dropout also if nothing is added to it
  local names = {}
  for i, d in ipairs(plan.dropouts) do
    names[i] = d.name .. " " .. d.rate_text
  end
  lu.assertEquals(names, { "ATTENTION 0.5", "BRANCH 0.1", "EMBEDDING 0.25", "HIDDEN 0.1" })
  lu.assertEquals(plan.attentions[1].weight_dropout, { name = "ATTENTION", dropout_number = 0 })
  lu.assertFalse(make_plan({}).attentions[1].weight_dropout)
  plan = make_plan({ ["model.embedding_dropout"] = "0.25",
    ["encoding.additive"] = "{ kind = 'learned', at = 'block' }" })
  lu.assertEquals({ plan.dropouts[2].name, plan.dropouts[3].name, plan.dropouts[3].rate_text },
    { "EMBEDDING", "PLACE", "0.1" })
end

function TestDimensions.test_embedding_and_logits_are_scaled_by_the_width()
  local plan = make_plan({ ["model.width"] = "48", ["model.heads"] = "4" })
  local family = plan.attentions[1]
  lu.assertEquals({ family.head_width, family.head_part }, { 12, 4 })
  lu.assertEquals(plan.embedding_scales, { { name = "EMBEDDING_SCALE", value = math.sqrt(48), text = "sqrt(WIDTH)" } })
  lu.assertEquals(family.logit_scale, 1 / math.sqrt(12))
  lu.assertEquals({ plan.tokens, plan.empty_token }, { 7, 6 })
end

support.run()
