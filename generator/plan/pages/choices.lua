-- What the generator chose for a plan, and why.
--
-- Input: a plan. Output: a list of { what, value, why } in words. Nothing is decided here.

local chips = require("plan.deriving.chips")
local expression_text = require("expression.text")

local M = {}

local PLACES = { uniform = "", query = "[query]", key = "[key]", distance = "[query - key]", sum = "[query + key]",
  pair = "[key][query]" }

-- "[8][query - key]" for 8 heads.
local function shape_words(plan, t)
  local family = plan.first
  local words = (t.per_head and ("[%d]"):format(family.heads) or "") .. PLACES[t.class]
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
  local family = plan.first
  local score, list = family.score, {}
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
  local family = plan.first
  local cuda, products = plan.cuda, PRODUCTS[plan.precision]
  if plan.no_device_code then
    list[#list + 1] = { what = "gpu", value = "none", why = "there is no device code for " .. plan.no_device_code.what }
    return
  end
  local attention = family.normaliser.kind == "geometric" and WALK or ATTENTION
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
  for _, advice in ipairs(chips.advice(plan.train.batch, cuda.chip, plan.least_architecture)) do
    list[#list + 1] = { what = "gpu, smaller chip", value = ("train.shards = %d"):format(advice.shards),
      why = ("one round of blocks where multiprocessors are fewer than %d: %s"):format(cuda.chip,
        table.concat(advice.names, ", ")) }
  end
  list[#list + 1] = { what = "gpu, replicas", value = cuda.replicas .. " shards",
    why = ("of each independent model (not data-parallel): 1 to %d blocks, the same bits"):format(cuda.replicas) }
  list[#list + 1] = { what = "gpu products", value = products[1], why = products[2] }
  list[#list + 1] = attention
end

-- What is drawn per pass: by the one family, or by each of several and for what is added to tokens.
local function draw_choices(plan, list)
  local input, several = plan.input_draw, plan.streams[2] ~= nil
  if several and input then
    local each = input.kind == "sequence"
    list[#list + 1] = { what = "position draws, input", value = each and "as many as sequences" or #plan.streams,
      why = each and "one for each sequence of the batch, of each stream" or "one for each stream" }
  end
  for _, family in ipairs(several and plan.attentions or { plan.first }) do
    local positions, distance = family.positions, family.positions.distance
    local of = several and ", " .. family.name or " per pass"
    local sides = family.cross and ", of each stream" or ""
    if positions.kind == "randomized" then
      list[#list + 1] = { what = "position draws" .. of, value = positions.draws * #family.sides,
        why = positions.about .. sides }
    elseif positions.kind == "sequence" then
      list[#list + 1] = { what = "position draws" .. of, value = "as many as sequences",
        why = positions.about .. sides }
    end
    if distance.draws then
      list[#list + 1] = { what = "distance draws" .. of, value = distance.draws, why = distance.about
        .. (distance.independent and ", each of two sides" or "") }
    elseif family.cross and distance.kind == "difference" then
      list[#list + 1] = { what = "distances" .. of, value = "differences",
        why = "queries and keys are of two streams, whose positions are drawn apart" }
    end
  end
end

local function pair_words(relative)
  return relative.toeplitz and "made once per step for every key - query; queries side by side read neighbours"
    or relative.turned and "differences of random positions: on the CPU a query is turned by its position, once, and "
      .. "multiplied with the sinusoids of the keys'; on a GPU every pair gathers its own"
    or "differences of random positions: every pair gathers its own, which is several times slower"
end

local function probabilities(plan, family)
  local remade, longest = family.remade, plan.longest_training
  if not remade then
    return { what = "attention", value = "probabilities kept",
      why = ("up to %d tokens in training; the backward pass reads them back, no exp is computed twice")
        :format(longest) }
  end
  local blocks = ("%d queries at a time, while these are hot in cache"):format(remade.queries)
  if remade.always then
    return { what = "attention", value = "probabilities remade",
      why = "as the spec asks, on the way back: " .. blocks }
  end
  return { what = "attention", value = ("kept up to %d tokens"):format(math.floor(math.sqrt(remade.pairs))),
    why = "probabilities of more are made again on the way back, " .. blocks .. ": kept by all layers, they would fill "
      .. "the last cache" }
end

local function vector_choices(plan, list)
  local several = plan.streams[2] ~= nil
  for _, family in ipairs(several and plan.attentions or { plan.first }) do
    local relative = family.relative
    list[#list + 1] = relative.kind ~= "none" and { what = several and "distance vectors, " .. family.name
      or "vectors of distances", why = pair_words(relative), value = relative.toeplitz and "by diagonal"
      or relative.turned and "by query" or "by pair" } or nil
  end
end

function M.list(plan)
  local family = plan.first
  local list = {
    { what = "shards", value = plan.train.shards,
      why = "a step's batch is cut into so many parts, summed in order: the same bits on 1 to "
        .. plan.train.shards .. " threads" },
    { what = "block_tokens", value = plan.block_tokens,
      why = "tokens that go through all layers together while their activations are hot in cache" },
    probabilities(plan, family),
  }
  list[#list + 1] = plan.cpu.vocabulary and { what = "first layer", value = plan.tokens .. " symbols",
    why = "nothing but the token enters it: up to attention rows are made for every symbol and copied to the tokens, "
      .. "gradients are summed by symbol; on the CPU" } or nil
  draw_choices(plan, list)
  vector_choices(plan, list)
  if family.score.kind ~= "none" then
    local score = score_choices(plan)
    table.move(score, 1, #score, #list + 1, list)
  end
  cuda_choices(plan, list)
  return list
end

-- What changes no bit, level by level, those together that agree. It depends on the machine, and so it is not in the
-- files that are written.
function M.tuned(plan)
  local list = {}
  for i, choice in ipairs(plan.tuned[1].choices) do
    local by_reason = {}
    for _, level in ipairs(plan.tuned) do
      local own = level.choices[i]
      local key = own.value .. " " .. own.why
      local entry = by_reason[key]
      if entry then
        entry.levels = entry.levels .. ", " .. level.name
      else
        entry = { what = choice.name, value = own.value, levels = level.name, of = own.why }
        by_reason[key], list[#list + 1] = entry, entry
      end
    end
  end
  for i, entry in ipairs(list) do
    list[i] = { what = entry.what, value = entry.value, why = entry.levels .. ": " .. entry.of }
  end
  return list
end

return M
