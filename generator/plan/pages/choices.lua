-- Lists the choices that the generator has made for a plan, with the reasons.
--
-- Input: a plan, in which the choices are already made. Output: a list of { what, value, why } in words.

local chips = require("plan.deriving.chips")
local lists = require("base.lists")
local facets = require("facets.modules")

local M = {}

local PRODUCTS = {
  float32 = { "float32", "fused multiply-adds; each product adds its terms in the order of their index" },
  float32_by_warp = { "float32", "tensor cores: operands split into two numbers of 11 bits each, a relative error of "
    .. "about 2^-22 per product" },
  float64 = { "float64", "for gradient checks" },
  tf32 = { "tf32", "tensor cores: operands rounded to 11 bits; sums, master weights and everything else float32" },
  bf16 = { "bf16", "tensor cores: operands rounded to 8 bits; sums, master weights and everything else float32" },
}

-- The kernels for matrix products within a thread block, with the reasons for their choice.
local KERNELS = {
  tiles = 'by default: products in tiles that a block stages in shared memory; device_products = "warps" issues fewer '
    .. "instructions, but has not been timed on a GPU yet",
  warps = "by the spec: a warp computes a part of a result from operands that it loads itself; this has not been "
    .. "timed on a GPU yet",
}

-- Adds the shared memory of a thread block. It is the same in training and evaluation, and at every length.
local function add_shared_memory(plan, add)
  local cuda = plan.cuda
  local users = cuda.staging_name == "CHAIN_STAGING" and "chains of products" or cuda.multiplies and "products"
    or "sums over a block"
  local families = lists.map(plan.attentions, function(family)
    local attends = family.attends
    local sharing = attends.head_lanes > 1 and ("%d threads for each head"):format(attends.head_lanes)
      or "a thread for each head"
    return ("%s%d heads of %d channels, %s"):format(plan.attentions[2] and family.name .. ": " or "", family.heads,
      family.head_width, attends.in_fragments and ("fragments of %d rows"):format(attends.fragment_rows) or sharing)
  end)
  add("gpu shared memory", ("%d bytes"):format(cuda.staging * plan.real_bytes + cuda.block_state),
    ("of a block, at every length: %d bytes that operations use in turn (%s at width %d need the most), and %d bytes "
      .. "for the block's state; attention: %s"):format(cuda.staging * plan.real_bytes, users, plan.width,
      cuda.block_state, table.concat(families, "; ")))
end

-- The reason why gradients of weights are summed over the batch, or by shard.
local function explain_gradients(plan)
  local megabytes = plan.cuda.operand_bytes / 1e6
  if plan.cuda.by_team then
    return ("all blocks sum over the tokens of all shards; shards store %.1f MB for each of the models that train "
      .. "together"):format(megabytes)
  elseif plan.train.mixes_lengths then
    return "shards have sequences of different lengths"
  elseif plan.device.samples_passes then
    return "steps have different numbers of passes"
  end
  return ("sums over the batch would store %.1f MB for each of the models that train together, which is too much")
    :format(megabytes)
end

-- Adds the choices for device code without a library, in which a thread block computes a whole pass of a shard.
-- add(name, value, reason): adds a choice to the list.
local function add_block_choices(plan, add)
  local cuda = plan.cuda
  local products = plan.cuts_by_warp and PRODUCTS[plan.precision .. "_by_warp"] or PRODUCTS[plan.precision]
  add("gpu, one model", cuda.chip_shards .. " shards",
    "a block computes the forward and backward pass of a shard; blocks wait for each other only to sum gradients")
  for _, advice in ipairs(chips.advise(plan.train.batch, cuda.chip_shards, plan.least_architecture)) do
    local names = lists.map(advice, function(chip) return ("%s (%d)"):format(chip[2], chip[3]) end)
    add("gpu, smaller chip", ("train.shards = %d"):format(advice.key),
      ("a chip with fewer than %d multiprocessors needs this setting to finish in one round of blocks: %s"):format(
        cuda.chip_shards, table.concat(names, ", ")))
  end
  add("gpu, replicas", cuda.replica_shards .. " shards",
    ("the shards of each of the models that train together; the same bits on 1 to %d blocks"):format(
      cuda.replica_shards))
  add("gpu products", products[1], products[2])
  local kernel = plan.cuts_by_warp and "warps" or "tiles"
  add("gpu product kernel", kernel, KERNELS[kernel])
  if plan.cuts_by_warp then
    add("gpu gradients of weights", cuda.by_team and "over the batch" or "by shard", explain_gradients(plan))
  end
end

-- Adds the way in which a device decodes the answers of a generative model.
local function add_decoding(plan, add)
  if plan.device.decoding then
    add("gpu decoding", "cached keys", "a launch decodes the sequences of all models in groups of up to 32, one token "
      .. "of each sequence at a time; global memory holds the keys and values of earlier tokens")
  else
    add("gpu decoding", "whole passes", plan.cuda.products == "library"
      and "each product of a wide model is a launch of its own"
      or plan.noise and "noise is sampled for whole sequences"
      or "evaluation has dropout, or the network cannot compute one token after another")
  end
end

-- Adds the choices for the CUDA half, except the number of resident blocks, which a trainer gets from the driver.
local function add_cuda_choices(plan, add)
  local cuda, products = plan.cuda, PRODUCTS[plan.precision]
  if plan.no_device_code then
    add("gpu", "none", "no device code exists for " .. plan.no_device_code.what)
    return
  end
  local attention = facets.collect("describe_device_choice", plan.first_family)[1]
  if cuda.products == "library" then
    add("gpu, one model", cuda.chip_shards .. " shards",
      "shards of attention, norms and loss, with a launch for each phase; replicas take turns on the whole device")
    add("gpu products", "cuBLASLt, " .. products[1],
      ("from width %d on: products over all tokens of a batch, since each block would read all weights for its few "
        .. "tokens; the library chooses the order of sums"):format(cuda.library_width))
  else
    add_block_choices(plan, add)
  end
  add_shared_memory(plan, add)
  if plan.decoder then
    add_decoding(plan, add)
  end
  add(attention.what, attention.value, attention.why)
end

-- Adds the choice between stored and recomputed attention weights. recomputed: see recomputed_weights.lua.
local function add_probabilities(plan, recomputed, add)
  if not recomputed then
    add("attention", "probabilities kept",
      ("stored for up to %d tokens in training; the backward pass reads them, and no exponential is computed twice")
        :format(plan.longest_training))
    return
  end
  local blocks = ("for %d queries at a time, while their weights are in the cache"):format(recomputed.queries)
  if recomputed.always then
    add("attention", "probabilities recomputed", "by the spec, in the backward pass, " .. blocks)
  else
    add("attention", ("kept up to %d tokens"):format(math.floor(math.sqrt(recomputed.pairs))),
      "for longer sequences, probabilities are recomputed in the backward pass, " .. blocks
        .. "; the probabilities of all layers would fill the last cache")
  end
end

-- Adds the size of a recurrent model's memory, and the length from which it is too small.
local function add_capacity(capacity, add)
  local excess_texts = {
    stack = "from length %d on, a push on the full stack may lose a cell that a later step would read",
    tape = "from length %d on, the input has more tokens than the circular tape has cells" }
  local fit_texts = { stack = "no sequence of the spec can read more cells",
    tape = "no input of the spec has more tokens; the tape is circular" }
  local general_texts = { stack = "a push on the full stack loses the bottom cell",
    tape = "the tape is circular: longer inputs wrap around" }
  if not capacity.cells then
    add("stack", "no limit", "a stack has half as many cells as a sequence has tokens, and no sequence needs more: a "
      .. "deeper cell could not return to the top")
  else
    local kind = capacity.kind
    add(kind, capacity.cells .. " cells", capacity.excess_length and excess_texts[kind]:format(capacity.excess_length)
      or capacity.has_named_lengths and fit_texts[kind] or general_texts[kind])
  end
end

function M.list(plan)
  local list = {}
  local function add(name, value, reason)
    list[#list + 1] = { what = name, value = value, why = reason }
  end
  add("shards", plan.train.shards, "parts of a batch, whose gradients are summed in order: the same bits on 1 to "
    .. plan.train.shards .. " threads")
  if plan.is_step_major then
    add("steps", ("%d sequences"):format(plan.shard_sequences),
      "the sequences of a shard; a product of a step has a row for each")
    if plan.capacity then
      add_capacity(plan.capacity, add)
    end
  else
    add("block_tokens", plan.block_tokens,
      "tokens that pass through all layers together, while their activations are in the cache")
    add_probabilities(plan, plan.first_family.recomputed, add)
  end
  if plan.cpu.vocabulary then
    add("first layer", plan.tokens .. " symbols",
      "only vectors of tokens enter the first layer: before attention, rows are computed per symbol and copied to the "
        .. "tokens, and gradients are summed per symbol (on the CPU)")
  end
  facets.call(facets, "add_choices", plan, plan.streams[2] and plan.attentions or { plan.first_family }, add)
  add_cuda_choices(plan, add)
  return list
end

return M
