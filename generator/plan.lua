-- From a resolved spec to a plan: every default settled, every number derived, nothing rendered.
--
-- Input: the resolved spec (validate.lua) and facts: the task's header (tasks.lua), a digest function, and the formula
-- of the score where there is one (expression/score.lua).
-- Output: pure data that the templates read by name. plan.digest covers what can change the bits of a run; learning
-- rate, steps, seeds, evaluation and cadences are outside it (a flag or another spec may change them freely).

local canonical = require("canonical")
local layout = require("layout")
local mask_facet = require("facets.mask")
local normaliser_facet = require("facets.normaliser")
local costs = require("costs")
local cuda = require("cuda")
local describe = require("describe")
local additive_facet = require("facets.additive")
local positions_facet = require("facets.positions")
local relative_facet = require("facets.relative")
local rotation_facet = require("facets.rotation")
local score_facet = require("facets.score")

local M = {}

M.ABI = 2

-- Tokens that go through all layers together: at width 64 about 84 keep a layer's activations in a 1 MiB cache next
-- to its weights, and 84 rows are whole tiles of 6. Measured: docs/performance.md.
local BLOCK_TOKENS = 84

local function percent(rate)
  return string.format("%.9g", rate)
end

local function dropout(name, rate)
  if not rate or rate == 0 then
    return { kind = "none" }
  end
  return {
    kind = "bernoulli",
    name = name,
    rate_text = percent(rate),
    threshold = math.floor(65536 * rate + 0.5),
    keep_scale = 1 / (1 - rate),
  }
end

local function lengths_text(lengths, name, lists)
  if not lengths then
    return "{NULL, 0, 1, 0, 1}" -- none; a file has those of its examples
  end
  if lengths.list then
    lists[#lists + 1] = { type = "int32_t", name = name, text = table.concat(lengths.list, ", ") }
    return string.format("{%s, %d, 0, 0, 0}", name, #lengths.list)
  end
  return string.format("{NULL, 0, %d, %d, %d}", lengths.first, lengths.last, lengths.step or 1)
end

local function train_fields(train, lists)
  local keep = train.checkpoint.keep
  local fields = {
    batch = train.batch,
    shards = train.shards,
    steps = train.steps,
    epochs = train.epochs,
    learning_rate = train.learning_rate,
    log_every = train.log_every,
    checkpoint_every = train.checkpoint.every,
    checkpoint_minutes = train.checkpoint.minutes,
    keep_all = keep == "all",
    lengths_text = lengths_text(train.lengths, "train_lengths", lists),
  }
  if type(keep) == "table" then
    lists[#lists + 1] = { type = "int64_t", name = "keep_steps", text = table.concat(keep, ", ") }
    fields.keep_steps = #keep
  end
  return fields
end

local function eval_fields(eval, lists)
  local fields = {
    examples = eval.examples,
    batch = eval.batch,
    draws = eval.draws,
    lengths_text = lengths_text(eval.lengths, "eval_lengths", lists),
  }
  if eval.during then
    fields.during = {
      every = eval.during.every,
      examples = eval.during.examples,
      lengths_text = lengths_text(eval.during.lengths, "during_lengths", lists),
    }
  end
  return fields
end

-- The names of an alphabet as C strings, in lines of at most 100 characters.
local function quoted_lines(names)
  local lines, line = {}, ""
  for i, name in ipairs(names) do
    local piece = '"' .. name:gsub('[\\"]', "\\%0") .. '"' .. (i < #names and "," or "")
    if line ~= "" and #line + 1 + #piece > 100 then
      lines[#lines + 1] = line
      line = piece
    else
      line = line == "" and piece or line .. " " .. piece
    end
  end
  lines[#lines + 1] = line
  return lines
end

-- The choices as a task's code sees them: numbers as they are, words by their place from 0.
local function option_fields(facts, chosen)
  if not chosen then
    return false
  end
  local values, words = {}, {}
  for i, option in ipairs(facts.options) do
    local choice = chosen[option.name]
    for place, name in ipairs(option.choices) do
      if name == choice then
        values[i] = math.type(name) and name or place - 1
      end
    end
    words[i] = ("%s = %s"):format(option.name, choice)
  end
  return { values = table.concat(values, ", "), about = table.concat(words, ", ") }
end

local function task_fields(facts, task)
  return {
    kind = facts.kind,
    source = facts.text and facts.kind .. ".c",
    path = facts.path,
    text = facts.text,
    data = facts.data,
    options = option_fields(facts, task.options),
    lengths = not facts.data and {
      { name = "input_length", formula = facts.input_length, constant = not facts.input_length:find("n") },
      { name = "output_length", formula = facts.output_length, constant = not facts.output_length:find("n") },
    },
    input_count = #facts.input_symbols,
    output_count = #facts.output_symbols,
    alphabets = {
      { name = "input_symbols", lines = quoted_lines(facts.input_symbols) },
      { name = "output_symbols", lines = quoted_lines(facts.output_symbols) },
    },
    chance = facts.chance,
    baseline = facts.baseline,
    baseline_name = facts.baseline_name,
  }
end

-- The spec's JSON as C string literals of at most 100 characters, escapes counted.
local function string_lines(text)
  local lines, line = {}, ""
  for character in text:gmatch(".") do
    local piece = character:gsub('[\\"]', "\\%0")
    if #line + #piece > 100 then
      lines[#lines + 1] = line
      line = ""
    end
    line = line .. piece
  end
  lines[#lines + 1] = line
  return lines
end

-- How often training meets each position or distance of the range, on average; nil where nothing is drawn, or where
-- the lengths are a file's.
local function visits_of(resolved, plan)
  local range = plan.positions.range or plan.positions.distance.range
  if not range or not resolved.train.steps or plan.task.data then
    return nil
  end
  local draws = plan.positions.kind == "sequence" and resolved.train.batch or 1
  return resolved.train.steps * plan.mean_tokens * draws / range
end

local function limit_of(plan)
  local range, distance = plan.positions.range, plan.positions.distance
  if range or distance.range then -- distances alone: one fewer than there are tokens
    return { tokens = range or distance.max_position,
      because = "encoding.positions.max_position = " .. (range or distance.range) }
  elseif plan.additive.kind == "learned" then
    return { tokens = plan.additive.rows, because = "encoding.additive.rows = " .. plan.additive.rows }
  end
  return false
end

-- A user's file counts by its bytes; finite data by its alphabets, since the trainer compares its bytes itself, and by
-- what task.longest settles.
local function task_identity(resolved, plan)
  local task, scaling = plan.task, plan.rotation.scaling or {}
  local given = resolved.task
  return task.text and { kind = task.kind, text = task.text, options = given.options, computation = given.computation }
    or task.data and { data = { task.input_count, task.output_count }, original_length = scaling.original_length,
      computation = given.computation }
    or given
end

-- What enters the plan digest: the resolved spec without what a run may change freely, and the choices that fix the
-- order of sums.
local function digest_of(resolved, plan, sha256)
  local train = resolved.train
  local text = canonical.text({
    abi = M.ABI,
    precision = resolved.precision,
    task = task_identity(resolved, plan),
    encoding = resolved.encoding,
    model = resolved.model,
    train = { batch = train.batch, shards = train.shards, lengths = train.lengths, optimizer = train.optimizer,
      clip = train.clip },
    eval = resolved.eval.dropout and { dropout = true } or nil,
    block_tokens = plan.block_tokens,
  })
  return sha256(text)
end

-- What of the vectors of distances decides whether a checkpoint fits; nil where there are none.
local function relative_words(encoding)
  local relative = encoding.relative
  if relative.kind == "none" then
    return nil
  end
  return { relative.kind, relative.clip or false, encoding.positions.reading or false }
end

-- Parameters of a score as a checkpoint knows them; nil without.
local function parameter_shapes(parameters)
  local list = parameters and {}
  for i, name in ipairs(canonical.sorted_keys(parameters or {})) do
    local p = parameters[name]
    list[i] = { name = name, per = p.per, size = p.size, first = p.first, learned = p.learned }
  end
  return list
end

-- What decides whether a checkpoint fits a model: names, shapes, vocabulary and what tokens mean, encoding kinds. A
-- scaling of the rotation is outside it: it is for checkpoints that were trained without.
local function model_digest_of(resolved, plan, sha256)
  local tensors = {}
  for i, t in ipairs(plan.tensors) do
    tensors[i] = { t.name, t.shape }
  end
  local encoding = resolved.encoding
  local text = canonical.text({
    tensors = tensors,
    task = { plan.task.input_count, plan.task.output_count },
    options = resolved.task.options,
    computation = plan.computation and true or nil,
    additive = encoding.additive.kind,
    rotation = encoding.rotation.kind == "rope" and { "rope", encoding.rotation.base } or "none",
    positions = encoding.positions.kind,
    relative = relative_words(encoding),
    mask = encoding.mask,
    normaliser = encoding.normaliser,
    score = encoding.score,
    parameters = parameter_shapes(encoding.parameters),
    model = { heads = resolved.model.heads, kind = resolved.model.kind },
  })
  return sha256(text)
end

-- What is handed from a step's functions to those of one head, forward and backward.
local function derive_arguments(plan, relative, score)
  local scores, grads = score.kind ~= "none", score.grads
  local function both(first, second, on)
    return (relative and first or "") .. (on and second or "")
  end
  local arguments = { "const relative_head *relative, ", "const score_head *score, " }
  plan.head_argument, plan.back_argument = both(arguments[1], arguments[2], scores),
    both(arguments[1], arguments[2], grads)
  plan.head_pass, plan.back_pass = both("&relative, ", "&score, ", scores), both("&relative, ", "&score, ", grads)
  plan.relative_hand_on = relative and "relative, " or ""
  plan.back_hand_on = both("relative, ", "score, ", grads)
  local masked = plan.mask.kind ~= "none"
  local function opening(key)
    return (masked and ("masked(T, first, %s, "):format(key) or "")
      .. (scores and ("score_pair(score, first, %s, "):format(key) or "")
  end
  plan.scored = { open0 = opening("0"), open = opening("j"), close = (scores and ")" or "") .. (masked and ")" or "") }
  local geometric = plan.normaliser.kind == "geometric"
  plan.sums = relative or score.trains or geometric
  plan.early_take = relative or scores or geometric
  plan.sums_argument = plan.sums and "const shard_sums *sums, " or ""
  plan.sums_pass = plan.sums and "&w->sums, " or ""
end

-- Which draws the input reads, words for comments, and arguments that only some encodings need.
local function derive_words(plan)
  local by_sequence, rope = plan.positions.kind == "sequence", plan.rotation.kind == "rope"
  local random = plan.positions.kind == "randomized" or by_sequence
  local relative = plan.relative.kind ~= "none"
  plan.draws_distances = plan.positions.distance.draws ~= nil
  plan.max_position = plan.positions.max_position or plan.positions.distance.max_position or false
  plan.input_draw = random and plan.additive.kind ~= "none"
  plan.sinusoids = plan.additive.kind == "sinusoid" or plan.relative.kind == "transformer_xl"
  plan.tables = plan.sinusoids or rope
  local in_layers = rope or relative or plan.score.kind ~= "none" or plan.normaliser.kind == "geometric"
  local turned = rope and by_sequence -- by the positions of the workspace
  local argument, pass = "const lh_cpu_step *step, int l, ", "step, l, "
  if turned and plan.score.kind == "none" and plan.normaliser.kind == "softmax" then
    argument, pass = "const lh_cpu_step *step, ", "step, "
  end
  plan.step_argument = in_layers and argument or ""
  plan.step_pass = in_layers and pass or ""
  local back = rope or relative or plan.score.grads or plan.normaliser.kind == "geometric"
  plan.back_step_argument = back and argument or ""
  plan.back_step_pass = back and pass or ""
  plan.position_argument = turned and ", const int32_t *position" or ""
  plan.position_pass = turned and ", w->position" or ""
  plan.rotate_by = turned and "position + s * T" or "l"
  derive_arguments(plan, relative, plan.score)
  plan.rotated = rope and ", queries and keys turned" or ""
  plan.rotated_in_place = rope and " (queries and keys are turned in place)" or ""
  plan.embed_adds = plan.additive.kind == "sinusoid" and " + sinusoid of its position"
    or plan.additive.kind == "learned" and " + learned vector of its position" or ""
  local drops = plan.dropout.kind ~= "none"
  plan.layer_argument = (drops and "const lh_cpu_block *block, " or "") .. "workspace *w, int l,"
  plan.layer_pass = (drops and "block, " or "") .. "&w, l, "
  local scatters = plan.additive.kind == "learned" and plan.input_draw and not by_sequence
  plan.embed_backward_step = scatters and "const lh_cpu_step *step, " or ""
  plan.embed_backward_pass = scatters and "step, " or ""
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

-- The model's own tokens, behind those of the input: the computation token, where there is one, and the empty one.
local function build_tokens(plan, resolved)
  local inputs, times = plan.task.input_count, resolved.task.computation
  local spare = times or resolved.model.spare_token ~= false
  plan.computation = times and {
    token = inputs,
    all = times + 1,
    factor = times > 1 and times .. " * " or "",
    words = times > 1 and times .. " computation tokens" or "a computation token",
  } or false
  plan.tokens = inputs + (spare and 2 or 1)
  plan.tokens_words = times and "input symbols, the computation token, the empty output"
    or spare and "input symbols, one that is never used, the empty output" or "input symbols, the empty output"
  plan.empty_token = plan.tokens - 1
end

-- How the places of the input's tokens are written: row m of a block.
local function input_words(plan)
  local positions = plan.positions
  local first = positions.first == 1 and plan.additive.kind == "learned" and " - FIRST_POSITION" or ""
  local index = positions.kind == "sequence" and "position[m]" or plan.input_draw and "position[m % w->length]"
    or "m % w->length"
  plan.input_place = first ~= "" and "(" .. index .. first .. ")" or index
  local shared = plan.input_draw and "v->draws[row % v->T]" or "row % v->T"
  plan.places_row = (plan.input_draw and "v->draws[e / WIDTH]" or "e / WIDTH") .. first
  plan.input_place_cuda = positions.kind == "sequence" and "position[row]" or shared
  plan.input_row_cuda = plan.input_place_cuda .. first
  if positions.kind ~= "sequence" or first ~= "" then
    plan.input_row_cuda = "(" .. plan.input_row_cuda .. ")"
  end
end

local function build_model(plan, resolved)
  local model = resolved.model
  plan.layers, plan.width, plan.heads = model.layers, model.width, model.heads
  plan.feedforward = model.feedforward
  plan.head_width = model.width // model.heads
  plan.head_part = plan.head_width & -plan.head_width
  plan.embedding_scale = math.sqrt(model.width)
  plan.logit_scale = 1 / math.sqrt(plan.head_width)
  plan.classes = plan.task.output_count
  plan.class_columns = (plan.classes + 15) // 16 * 16
  build_tokens(plan, resolved)
  plan.block_tokens = BLOCK_TOKENS
  plan.attentions = { { name = "self" } }
  plan.trace_sites = trace_sites(plan)
  plan.trace_site_count = #plan.trace_sites
  plan.dropout = dropout("BRANCH", model.dropout)
end

local function build_encoding(plan, resolved, facts)
  local encoding = resolved.encoding
  plan.positions = positions_facet.plan(encoding, plan.layers)
  plan.additive = additive_facet.plan(encoding)
  plan.rotation = rotation_facet.plan(encoding, plan.head_width, plan.positions,
    (costs.token_counts(resolved.train.lengths, facts.task)))
  plan.mask = mask_facet.plan(encoding)
  plan.normaliser = normaliser_facet.plan(encoding, resolved.model)
  plan.relative = relative_facet.plan(encoding, resolved.model, plan.positions)
  plan.score = score_facet.plan(facts.score, plan)
  plan.files[4].template = plan.normaliser.template
  if plan.score.kind ~= "none" then
    table.insert(plan.files, 4, { template = "cpu/score.inc.tpl", path = "score.inc" })
  end
  plan.additive.dropout = dropout("EMBEDDING", plan.additive.dropout_rate)
  plan.dropouts = {}
  for _, d in ipairs({ plan.dropout, plan.additive.dropout }) do
    if d.kind ~= "none" then
      plan.dropouts[#plan.dropouts + 1] = d
    end
  end
end

local function file_list()
  return {
    { template = "common/spec.c.tpl", path = "spec.c" },
    { template = "common/config.h.tpl", path = "config.h" },
    { template = "cpu/step.c.tpl", path = "step.c" },
    { template = "cpu/attention.inc.tpl", path = "attention_self.inc" },
    { template = "cpu/layers.inc.tpl", path = "layers.inc" },
    { template = "cpu/loss.inc.tpl", path = "loss.inc" },
    { template = "cpu/trace.inc.tpl", path = "trace.inc" },
  }
end

function M.build(resolved, facts)
  local plan = {
    abi = M.ABI,
    id = resolved.id,
    source = resolved.source,
    precision = resolved.precision,
    resolved = resolved,
    score_text = resolved.encoding.score,
    task = task_fields(facts.task, resolved.task),
    lists = {},
    files = file_list(),
    optimizer = resolved.train.optimizer,
    clip = resolved.train.clip,
  }
  build_model(plan, resolved)
  build_encoding(plan, resolved, facts)
  layout.tensors(plan)
  plan.limit = limit_of(plan)
  plan.position_range = plan.positions.max_position or 0
  plan.distance_range = plan.positions.distance.max_position or 0
  plan.first_position = plan.positions.first or 0
  plan.eval_dropout = resolved.eval.dropout and plan.dropouts[1] ~= nil or false
  plan.train = train_fields(resolved.train, plan.lists)
  plan.eval = eval_fields(resolved.eval, plan.lists)
  plan.resolved_text = canonical.text(resolved)
  plan.resolved_lines = string_lines(plan.resolved_text)
  derive_words(plan)
  input_words(plan)
  costs.derive(plan, facts.task)
  plan.visits = visits_of(resolved, plan)
  cuda.derive(plan)
  plan.about = describe.comments(plan)
  plan.digest = digest_of(resolved, plan, facts.sha256)
  plan.model_digest = model_digest_of(resolved, plan, facts.sha256)
  return plan
end

M.text, M.json, M.JSON_ORDER, M.serialize = describe.text, describe.json, describe.JSON_ORDER, describe.serialize

return M
