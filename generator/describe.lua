-- Words about a plan: comments of generated files, the page and the JSON of `plan`, the text of plan.lua.
--
-- Input: a plan. Output: text, or tables for the JSON encoder. Nothing is decided here.

local canonical = require("canonical")
local expression_text = require("expression.text")

local M = {}

local BANNER_COLUMNS = 97 -- 100 with the comment's margin

local ADDITIVE = {
  sinusoid = "sinusoids are added to the token embedding",
  learned = "learned vectors are added to the token embedding",
}

local RELATIVE = {
  transformer_xl = "logits have vectors of the signed distance, with content and position bias",
  shaw = "keys have a learned vector of the distance, the same beyond %d",
}

local DISTANCES = {
  drawn = "ascending distances drawn from 1 .. %d",
  clamped = "ascending distances p drawn from 1 .. %d, read as %d - p to the left and as %d elsewhere",
  difference = "distances are differences of positions",
}

-- How positions and distances are drawn, or nil.
local function drawn_words(plan)
  local positions, parts = plan.positions, {}
  if positions.range then
    parts[1] = string.format("%s positions drawn from %d .. %d%s", positions.sorted and "sorted" or "unsorted",
      positions.first, positions.max_position - 1, positions.kind == "sequence" and " for every sequence" or "")
  end
  local words = DISTANCES[positions.distance.kind]
  if words then
    local most = plan.max_position
    parts[#parts + 1] = words:format(most - 1, most, most - 1)
      .. (positions.distance.independent and ", each side by itself" or "")
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

function M.encoding(plan)
  local parts = { ADDITIVE[plan.additive.kind] }
  if plan.relative.kind ~= "none" then
    parts[#parts + 1] = RELATIVE[plan.relative.kind]:format(plan.relative.clip)
  end
  if plan.rotation.kind == "rope" then
    local scaling = plan.rotation.scaling
    parts[#parts + 1] = "queries and keys are rotated (base " .. plan.rotation.base_text
      .. (scaling.about and ", " .. scaling.about or "") .. ")"
  end
  if plan.normaliser.kind == "geometric" then
    parts[#parts + 1] = ("geometric attention, %s%s"):format(
      plan.normaliser.directional and "with directional encoding, " or "",
      plan.normaliser.normalised and "weights divided by their sum" or "weights not divided by their sum")
  end
  if #parts == 0 and not plan.score_text then
    parts[1] = "no positional encoding"
  end
  local phrases = { #parts > 0 and table.concat(parts, ", ") or nil }
  phrases[#phrases + 1] = drawn_words(plan)
  phrases[#phrases + 1] = plan.mask.about
  phrases[#phrases + 1] = plan.score_text and "score = " .. plan.score_text
  return table.concat(phrases, "; ")
end

local function sentence(text)
  return text:sub(1, 1):upper() .. text:sub(2) .. "."
end

-- Comment lines: each sentence starts one and goes on where it is too long for the banner.
local function wrapped(...)
  local lines = {}
  for _, text in ipairs({ ... }) do
    local line = ""
    for word in text:gmatch("%S+") do
      if line ~= "" and #line + 1 + #word > BANNER_COLUMNS then
        lines[#lines + 1] = line
        line = word
      else
        line = line == "" and word or line .. " " .. word
      end
    end
    lines[#lines + 1] = line
  end
  return lines
end

local ATTENDS = {
  softmax = "Self-attention over whole sequences, forward and backward: softmax(q k / sqrt(head width)) v.",
  geometric = "Self-attention over whole sequences, forward and backward: every query tries keys outwards until one "
    .. "matches, right before left at every distance.",
}

function M.comments(plan)
  local size = string.format("%d layers, %d heads x %d, width %d, feed-forward %d, %s.", plan.layers, plan.heads,
    plan.head_width, plan.width, plan.feedforward, plan.precision)
  local encoding = sentence(M.encoding(plan))
  return {
    config = wrapped("Dimensions and the layout of the parameters.", size),
    spec = wrapped("What the runtime knows of this experiment: tensors, task, defaults, instruction-set levels.",
      string.format("%d parameters.", plan.parameters)),
    step = wrapped("One training step and one forward pass, block by block.", size, encoding),
    attention = wrapped(ATTENDS[plan.normaliser.kind], encoding),
    score = plan.score.formula and wrapped("The score of a pair of tokens, from its logit: tables of what does not "
      .. "need the logit, and the rest.", "score = " .. plan.score.formula),
    device = wrapped(plan.cuda.products == "library"
      and "Device code: training and evaluation, phase by phase; products of matrices are made between them, over the "
        .. "whole batch. A block does a phase for a shard; blocks meet where gradients are folded."
      or "Device code: training, many steps at a launch, and evaluation. A block takes a shard of the "
        .. "batch through all layers and back; blocks meet where gradients are folded.", size, encoding),
    cuda = wrapped("What the runtime knows of the device code: kernels, memory, draws, position tables."),
    layers = wrapped("The encoder's layers over one block of sequences, forward and backward, and the room they need.",
      size),
    trace = wrapped("One forward pass that keeps what evaluation forgets: activations, scores, attention.", size,
      encoding),
    loss = wrapped(string.format("Softmax cross-entropy over %d classes at the last tokens of each sequence.",
      plan.classes)),
  }
end

local PLACES = { uniform = "", query = "[query]", key = "[key]", distance = "[query - key]", sum = "[query + key]",
  pair = "[key][query]" }

-- "[8][query - key]" for 8 heads.
local function shape_words(plan, t)
  local words = (t.per_head and ("[%d]"):format(plan.heads) or "") .. PLACES[t.class]
  return words ~= "" and words or "one number"
end

-- Where a table's gradient goes on to: learned parameters and tables that its value reads, in the order of reading.
local function destinations(value)
  local names, seen = {}, {}
  local function visit(node)
    if seen[node] then
      return
    end
    seen[node] = true
    local p, t = node.parameter, node.op == "table" and node.table
    local name = p and p.learned and "x." .. p.name or t and t.learned and t.name
    if name and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
    for _, argument in ipairs(node) do
      visit(argument)
    end
  end
  visit(value)
  return table.concat(names, ", ")
end

-- Where each part of the score's formula went: the tables, then what is left for the pair loop.
local function score_choices(plan)
  local score, list = plan.score, {}
  for _, t in ipairs(score.tables) do
    local each = score.per_layer and plan.layers > 1 and ", for each layer" or ""
    local gradient = t.learned and "; its gradient goes to " .. destinations(t.value) or ""
    list[#list + 1] = { what = "score table " .. t.name, value = shape_words(plan, t),
      why = ("once per step%s: %s%s"):format(each, expression_text.formula(t.value), gradient) }
  end
  list[#list + 1] = { what = "score in the pair loop",
    value = score.recomputes and "logit made twice" or "logit made once",
    why = expression_text.formula(score.rest) .. (score.recomputes
      and "; its gradient needs the logit, which the backward pass computes again"
      or "; its gradient does without the logit") }
  return list
end

local PRODUCTS = {
  float32 = { "float32", "fused multiply-adds; what a product adds up, it adds in the order of its index" },
  float64 = { "float64", "for gradient checks" },
  tf32 = { "tf32", "tensor cores: operands rounded to 11 bits, sums, master weights and everything else float32" },
  bf16 = { "bf16", "tensor cores: operands rounded to 8 bits, sums, master weights and everything else float32" },
}

local ATTENTION = { what = "gpu attention", value = "probabilities recomputed",
  why = "a thread owns a query, a key or a distance and walks over its pairs: no atomics, every sum has its order" }

local WALK = { what = "gpu attention", value = "weights made again",
  why = "a thread owns a query, then a key; in the backward pass a layer's pairs are kept from one to the other" }

-- What the CUDA half does; the blocks that are resident at once are asked of the driver by the trainer.
local function cuda_choices(plan, list)
  local cuda, products = plan.cuda, PRODUCTS[plan.precision]
  local attention = plan.normaliser.kind == "geometric" and WALK or ATTENTION
  if cuda.products == "library" then
    list[#list + 1] = { what = "gpu, one model", value = cuda.chip .. " shards",
      why = "of attention, norms and loss, in a launch for each phase; replicas take turns, each has the whole device" }
    list[#list + 1] = { what = "gpu products", value = "cuBLASLt, " .. products[1],
      why = ("from width %d on: over all tokens of a batch, where blocks on their own would read all weights again for "
        .. "a few; the library chooses the order of sums"):format(cuda.library_width) }
    list[#list + 1] = attention
    return
  end
  list[#list + 1] = { what = "gpu, one model", value = cuda.chip .. " shards",
    why = "a block takes a shard through all layers and back, no block waits for another before gradients are folded" }
  list[#list + 1] = { what = "gpu, replicas", value = cuda.replicas .. " shards",
    why = ("of each model: 1 to %d blocks, the same bits; a model has its own length, seed and rate"):format(
      cuda.replicas) }
  list[#list + 1] = { what = "gpu products", value = products[1], why = products[2] }
  list[#list + 1] = attention
end

local function choices(plan)
  local list = {
    { what = "shards", value = plan.train.shards,
      why = "a step's batch is cut into so many parts, summed in order: the same bits on 1 to "
        .. plan.train.shards .. " threads" },
    { what = "block_tokens", value = plan.block_tokens,
      why = "tokens that go through all layers together while their activations are hot in cache" },
    { what = "attention", value = "probabilities kept",
      why = string.format("up to %d tokens in training; the backward pass reads them back, no exp is computed twice",
        plan.longest_training) },
  }
  if plan.positions.kind == "randomized" then
    list[#list + 1] = { what = "position draws per pass", value = plan.positions.draws, why = plan.positions.about }
  elseif plan.positions.kind == "sequence" then
    list[#list + 1] = { what = "position draws per pass", value = "as many as sequences", why = plan.positions.about }
  end
  if plan.draws_distances then
    local distance = plan.positions.distance
    list[#list + 1] = { what = "distance draws per pass", value = distance.draws, why = distance.about
      .. (distance.independent and ", each of two sides" or "") }
  end
  if plan.relative.kind ~= "none" then
    list[#list + 1] = { what = "vectors of distances", value = plan.relative.toeplitz and "by diagonal" or "by pair",
      why = plan.relative.toeplitz and "made once per step for every key - query; queries side by side read neighbours"
        or "differences of random positions: every pair gathers its own, which is several times slower" }
  end
  if plan.score.kind ~= "none" then
    local score = score_choices(plan)
    table.move(score, 1, #score, #list + 1, list)
  end
  cuda_choices(plan, list)
  return list
end

function M.json(plan)
  local tensors = {}
  for i, t in ipairs(plan.tensors) do
    tensors[i] = { name = t.name, shape = t.shape, offset = t.offset }
  end
  return {
    id = plan.id, digest = plan.digest, parameters = plan.parameters, flops_per_step = plan.flops_per_step,
    memory_bytes = plan.memory_bytes, tensors = tensors, operations = plan.operations, choices = choices(plan),
  }
end

M.JSON_ORDER = {
  "id", "digest", "parameters", "flops_per_step", "memory_bytes", "tensors", "operations", "choices", "name", "shape",
  "offset", "what", "flops", "value", "why",
}

local function grouped(n)
  local text = tostring(n)
  repeat
    local count
    text, count = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
  until count == 0
  return text
end

local function tensor_lines(plan, lines)
  for _, t in ipairs(plan.tensors) do
    lines[#lines + 1] = string.format("  %-42s %-14s offset %9s", t.name, "[" .. t.shape_text .. "]",
      grouped(t.offset))
  end
end

function M.text(plan)
  local lines = {
    plan.id .. "  " .. plan.digest,
    "",
    "encoding    " .. M.encoding(plan),
    string.format("model       %d layers, %d heads x %d, width %d, feed-forward %d, dropout %s, %s", plan.layers,
      plan.heads, plan.head_width, plan.width, plan.feedforward, plan.dropout.rate_text or "0", plan.precision),
    string.format("task        %s%s%s, %d input symbols, %d classes%s", plan.task.kind,
      (plan.task.source or plan.task.data) and " (" .. plan.task.path .. ")" or "",
      plan.task.options and ", " .. plan.task.options.about or "", plan.task.input_count, plan.classes,
      plan.computation and (", %s per input token"):format(plan.computation.words) or ""),
    "parameters  " .. grouped(plan.parameters),
    string.format("step        %.3f GFLOP nominal at the %s length (%.1f tokens), batch %d",
      plan.flops_per_step / 1e9, plan.task.data and "longest" or "mean training", plan.mean_tokens, plan.train.batch),
    string.format("memory      %.1f MB with two threads (%.1f MB per vector of parameters, %.1f MB of activations per "
      .. "thread)", plan.memory_bytes / 1e6, plan.vector_bytes / 1e6, plan.workspace_bytes / 1e6),
    "",
    "choices",
  }
  for _, c in ipairs(choices(plan)) do
    lines[#lines + 1] = string.format("  %-24s %-20s %s", c.what, c.value, c.why)
  end
  if plan.visits then
    local visits = plan.visits < 10 and string.format("%.2g", plan.visits) or grouped(math.floor(plan.visits + 0.5))
    lines[#lines + 1] = string.format("  %-24s %-20s %s", "visits of a position", visits,
      "in training, by each draw: steps times mean tokens over the range")
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "operations of one step, forward and backward"
  for _, operation in ipairs(plan.operations) do
    lines[#lines + 1] = string.format("  %-40s %8.3f GFLOP", operation.what, operation.flops / 1e9)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "tensors"
  tensor_lines(plan, lines)
  return table.concat(lines, "\n") .. "\n"
end

local PLAN_COLUMNS = 110
local WHOLE = 100 -- characters of a reason that stay in one line

-- A string as Lua literals of at most so many columns, joined.
local function string_text(value, indent)
  local pieces = {}
  for at = 1, math.max(1, #value), PLAN_COLUMNS - 30 do
    pieces[#pieces + 1] = string.format("%q", value:sub(at, at + PLAN_COLUMNS - 31))
  end
  return table.concat(pieces, "\n" .. indent .. "  .. ")
end

local function list_text(parts, indent)
  local lines, line = {}, "{"
  for i, part in ipairs(parts) do
    local text = part .. (i < #parts and "," or " }")
    if #line + 1 + #text > PLAN_COLUMNS then
      lines[#lines + 1] = line
      line = indent .. "  " .. text
    else
      line = line .. " " .. text
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function lua_text(value, indent)
  if type(value) ~= "table" then
    return type(value) == "string" and string_text(value, indent) or canonical.text(value)
  end
  local inner, parts = indent .. "  ", {}
  if #value > 0 then
    for i, item in ipairs(value) do
      parts[i] = lua_text(item, inner)
    end
    return list_text(parts, indent)
  end
  for i, key in ipairs(canonical.sorted_keys(value)) do
    parts[i] = inner .. key .. " = " .. lua_text(value[key], inner) .. ",\n"
  end
  return "{\n" .. table.concat(parts) .. indent .. "}"
end

-- The text of plan.lua: what this folder is, for people and for `stale`.
function M.serialize(plan)
  local tensors = {}
  for i, t in ipairs(plan.tensors) do
    tensors[i] = string.format("    { %q, { %s }, offset = %d, stride = %d },\n", t.name, t.shape_text, t.offset,
      t.stride)
  end
  return table.concat({
    "-- Generated by Longhand; do not edit. Change the spec or the template, then run\n",
    "-- ./longhand gen ", plan.source, "\n",
    "return {\n",
    string.format("  id = %q,\n  digest = %q,\n  model_digest = %q,\n", plan.id, plan.digest, plan.model_digest),
    string.format("  parameters = %d,\n  parameter_storage = %d,\n  flops_per_step = %d,\n", plan.parameters,
      plan.parameter_storage, plan.flops_per_step),
    "  resolved = " .. lua_text(plan.resolved, "  ") .. ",\n",
    "  choices = {\n",
    (function()
      local out = {}
      for i, c in ipairs(choices(plan)) do
        local why = #c.why > WHOLE and string_text(c.why, "    ") or ("%q"):format(c.why)
        out[i] = string.format("    { %q, %s,\n      %s },\n", c.what, lua_text(c.value, ""), why)
      end
      return table.concat(out)
    end)(),
    "  },\n  tensors = {\n",
    table.concat(tensors),
    "  },\n}\n",
  })
end

return M
