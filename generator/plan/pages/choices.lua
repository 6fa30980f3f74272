-- What the generator chose for a plan, and why.
--
-- Input: a plan. Output: a list of { what, value, why } in words. Nothing is decided here.

local chips = require("plan.deriving.chips")
local lists = require("base.lists")
local pages = require("facets.pages")

local M = {}

local PRODUCTS = {
  float32 = { "float32", "fused multiply-adds; what a product adds up, it adds in the order of its index" },
  float64 = { "float64", "for gradient checks" },
  tf32 = { "tf32", "tensor cores: operands rounded to 11 bits, sums, master weights and everything else float32" },
  bf16 = { "bf16", "tensor cores: operands rounded to 8 bits, sums, master weights and everything else float32" },
}

-- What the CUDA half does; the blocks that are resident at once are asked of the driver by the trainer.
local function cuda_choices(plan, list)
  local family = plan.first
  local cuda, products = plan.cuda, PRODUCTS[plan.precision]
  if plan.no_device_code then
    list[#list + 1] = { what = "gpu", value = "none", why = "there is no device code for " .. plan.no_device_code.what }
    return
  end
  local attention = pages.said("device_choice", family)[1]
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
    local names = lists.map(advice, function(chip) return ("%s (%d)"):format(chip[2], chip[3]) end)
    list[#list + 1] = { what = "gpu, smaller chip", value = ("train.shards = %d"):format(advice.key),
      why = ("one round of blocks where multiprocessors are fewer than %d: %s"):format(cuda.chip,
        table.concat(names, ", ")) }
  end
  list[#list + 1] = { what = "gpu, replicas", value = cuda.replicas .. " shards",
    why = ("of each independent model (not data-parallel): 1 to %d blocks, the same bits"):format(cuda.replicas) }
  list[#list + 1] = { what = "gpu products", value = products[1], why = products[2] }
  list[#list + 1] = attention
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
  pages.call(pages, "choices", plan, plan.streams[2] and plan.attentions or { plan.first }, function(what, value, why)
    list[#list + 1] = { what = what, value = value, why = why }
  end)
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
