-- The network without its encoding: dimensions, the tokens that it adds to the input's, what it drops out, what can be
-- traced.
--
-- Input: a plan with its resolved spec and task. Output, into the plan: layers, width, heads, head_width and what
-- follows from them, tokens and what they are, classes, attentions, trace_sites, dropout, block_tokens.

local M = {}

-- Tokens that go through all layers together: at width 64 about 84 keep a layer's activations in a 1 MiB cache next
-- to its weights, and 84 rows are whole tiles of 6. Measured: docs/performance.md.
local BLOCK_TOKENS = 84

-- What is dropped out at a rate, under the prefix of its constants.
function M.dropout(name, rate)
  if not rate or rate == 0 then
    return { kind = "none" }
  end
  return {
    kind = "bernoulli",
    name = name,
    rate_text = string.format("%.9g", rate),
    threshold = math.floor(65536 * rate + 0.5),
    keep_scale = 1 / (1 - rate),
  }
end

-- What trace_block can write, in its order: activations have channels, attentions heads; streams are the queries' and
-- the keys'.
local function trace_sites(plan)
  local sites = { { name = "embedding", channels = plan.width, heads = 0, query = 0, key = 0 } }
  for l = 0, plan.layers - 1 do
    sites[#sites + 1] = { name = "layers." .. l, channels = 0, heads = plan.heads, query = 0, key = 0 }
    sites[#sites + 1] = { name = "layers." .. l .. ".output", channels = plan.width, heads = 0, query = 0, key = 0 }
  end
  return sites
end

-- The computation token, where there is one: this token.
local function computation(times, token)
  return times and {
    token = token,
    all = times + 1,
    factor = times > 1 and times .. " * " or "",
    words = times > 1 and times .. " computation tokens" or "a computation token",
  } or false
end

local tokens = {}

-- The model's own tokens, behind those of the input: the computation token, where there is one, and the empty one.
function tokens.encoder(plan, inputs, times)
  local spare = times or plan.resolved.model.spare_token ~= false
  plan.computation = computation(times, inputs)
  plan.tokens = inputs + (spare and 2 or 1)
  plan.tokens_words = times and "input symbols, the computation token, the empty output"
    or spare and "input symbols, one that is never used, the empty output" or "input symbols, the empty output"
  plan.empty_token = plan.tokens - 1
end

-- Behind those of the input the symbols of the target, the computation token, where there is one, and the separator.
function tokens.decoder(plan, inputs, times)
  local first = inputs + plan.task.output_count
  plan.computation = computation(times, first)
  plan.tokens = first + (times and 2 or 1)
  plan.tokens_words = times and "input symbols, output symbols, the computation token, the separator"
    or "input symbols, output symbols, the separator"
  local computed = times and plan.computation.words .. " for each of its tokens, " or ""
  plan.decoder = { first_output = inputs, separator = plan.tokens - 1,
    words = ("the input, %sa separator and the target"):format(computed) }
end

local function derive_tokens(plan)
  plan.decoder, plan.empty_token = false, false
  tokens[plan.resolved.model.kind](plan, plan.task.input_count, plan.resolved.task.computation)
end

function M.derive(plan)
  local model = plan.resolved.model
  plan.layers, plan.width, plan.heads = model.layers, model.width, model.heads
  plan.feedforward = model.feedforward
  plan.head_width = model.width // model.heads
  plan.head_part = plan.head_width & -plan.head_width
  plan.embedding_scale = math.sqrt(model.width)
  plan.logit_scale = 1 / math.sqrt(plan.head_width)
  plan.classes = plan.task.output_count
  plan.class_columns = (plan.classes + 15) // 16 * 16
  derive_tokens(plan)
  plan.block_tokens = BLOCK_TOKENS
  plan.attentions = { { name = "self" } }
  plan.trace_sites = trace_sites(plan)
  plan.trace_site_count = #plan.trace_sites
  plan.dropout = M.dropout("BRANCH", model.dropout)
end

return M
