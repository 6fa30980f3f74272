-- The generator's choices for a plan, with the reasons.
--
-- Input: a plan. Output: a list of { what, value, why } in words. This module decides nothing.

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

-- Passes the choices of the CUDA half to add(what, value, why); a trainer asks the driver how many blocks are resident
-- at once.
local function cuda_choices(plan, add)
  local cuda, products = plan.cuda, PRODUCTS[plan.precision]
  if plan.no_device_code then
    add("gpu", "none", "there is no device code for " .. plan.no_device_code.what)
    return
  end
  local attention, shards = pages.said("device_choice", plan.first)[1], cuda.chip .. " shards"
  if cuda.products == "library" then
    add("gpu, one model", shards,
      "of attention, norms and loss, in a launch for each phase; replicas take turns, each has the whole device")
    add("gpu products", "cuBLASLt, " .. products[1],
      ("from width %d on: over all tokens of a batch, where blocks on their own would read all weights again for "
        .. "a few; the library chooses the order of sums"):format(cuda.library_width))
    add(attention.what, attention.value, attention.why)
    return
  end
  add("gpu, one model", shards,
    "a block takes a shard through all layers and back, no block waits for another before gradients are folded")
  for _, advice in ipairs(chips.advice(plan.train.batch, cuda.chip, plan.least_architecture)) do
    local names = lists.map(advice, function(chip) return ("%s (%d)"):format(chip[2], chip[3]) end)
    add("gpu, smaller chip", ("train.shards = %d"):format(advice.key),
      ("one round of blocks where multiprocessors are fewer than %d: %s"):format(cuda.chip, table.concat(names, ", ")))
  end
  add("gpu, replicas", cuda.replicas .. " shards",
    ("of each independent model (not data-parallel): 1 to %d blocks, the same bits"):format(cuda.replicas))
  add("gpu products", products[1], products[2])
  if plan.cuts_by_warp then
    add("gpu product kernel", "warps", ("as the spec asks: a warp makes 32 x 32 results from fragments that it loads "
      .. "itself; a block has %d bytes of shared memory at every length; no GPU has timed it yet"):format(
      cuda.staging * plan.real_bytes + cuda.block_state))
  end
  add(attention.what, attention.value, attention.why)
end

local function probabilities(plan, recomputed, add)
  if not recomputed then
    add("attention", "probabilities kept",
      ("up to %d tokens in training; the backward pass reads them back, no exp is computed twice")
        :format(plan.longest_training))
    return
  end
  local blocks = ("%d queries at a time, while these are hot in cache"):format(recomputed.queries)
  if recomputed.always then
    add("attention", "probabilities recomputed", "as the spec says, in the backward pass: " .. blocks)
  else
    add("attention", ("kept up to %d tokens"):format(math.floor(math.sqrt(recomputed.pairs))),
      "probabilities of longer ones are recomputed in the backward pass, " .. blocks
        .. ": kept by all layers, they would fill the last cache")
  end
end

function M.list(plan)
  local list = {}
  local function add(what, value, why)
    list[#list + 1] = { what = what, value = value, why = why }
  end
  add("shards", plan.train.shards, "parts of a step's batch, summed in order: the same bits on 1 to "
    .. plan.train.shards .. " threads")
  add("block_tokens", plan.block_tokens,
    "tokens that go through all layers together while their activations are hot in cache")
  probabilities(plan, plan.first.recomputed, add)
  if plan.cpu.vocabulary then
    add("first layer", plan.tokens .. " symbols",
      "nothing but the token enters it: up to attention rows are made for every symbol and copied to the tokens, "
        .. "gradients are summed by symbol; on the CPU")
  end
  pages.call(pages, "choices", plan, plan.streams[2] and plan.attentions or { plan.first }, add)
  cuda_choices(plan, add)
  return list
end

-- Choices that change no bit, level by level, levels that agree together. They depend on the machine, and therefore are
-- not in the files that are written.
function M.tuned(plan)
  local list = {}
  for i, choice in ipairs(plan.tuned[1].choices) do
    local agreed = lists.group(plan.tuned, function(level) return level.choices[i].value .. level.choices[i].why end)
    lists.append(list, lists.map(agreed, function(levels)
      local own, names = levels[1].choices[i], lists.names(levels)
      return { what = choice.name, value = own.value, why = ("%s: %s"):format(table.concat(names, ", "), own.why) }
    end))
  end
  return list
end

return M
