-- The plan's CUDA half: which device text is written, and the choices that fix the order of its sums.
--
-- Input: the plan with its dimensions and facets. Output: plan.cuda, read by templates/cuda, and plan.cuda_files.
--
--   threads            of a block
--   chip, replicas     shards of a step in the two variants: their gradients are folded in order
--   kernels            files of kernels/ that the device text begins with
--   sites              dropout masks of a sequence
--   draws              random positions or distances come with a step: draw_rows rows of T numbers, positions first,
--                      distances from row first_distances on
--   begins, shared     tables are made at the start of a step; there is room that the blocks share
--   sums               gradients of tables are added up over shards before they reach the parameters
--   owned              classes of tables whose gradients have a pass of their own behind attention

local M = {}

local THREADS = 256
local CHIP_SHARDS = 128 -- about as many blocks as a large GPU has multiprocessors
local REPLICA_SHARDS = 8 -- of 30 models: two blocks for every multiprocessor of a large GPU
local GROUP_TOKENS = 256 -- of evaluation: that many go through the layers together
local STAGING = 4 * 32 * 72 -- reals of shared memory: kernels/cuda/product.cu
local BLOCK_STATE = 1024 -- bytes of shared memory for addresses

local PRODUCTS = {
  float32 = { "cuda/product_fma.cu" },
  float64 = { "cuda/product_fma.cu" },
  tf32 = { "cuda/mma.cu", "cuda/product_tf32.cu", "cuda/product_mma.cu" },
  bf16 = { "cuda/mma.cu", "cuda/product_bf16.cu", "cuda/product_mma.cu" },
}
-- float64 stages more than a block of sm_75 may have.
local LEAST_ARCHITECTURE = { float32 = 75, float64 = 80, tf32 = 80, bf16 = 80 }
local OWNED = { "query", "key", "distance", "row", "sum", "pair" }

local function kernels(plan)
  local list = { "cuda/functions.cu", "cuda/block.cu" }
  if plan.score.trains then
    list[#list + 1] = "cuda/score.cu"
  end
  list[#list + 1] = "cuda/slab.cu"
  for _, name in ipairs(PRODUCTS[plan.precision]) do
    list[#list + 1] = name
  end
  list[#list + 1] = "cuda/product.cu"
  list[#list + 1] = "cuda/layernorm.cu"
  if plan.dropouts[1] then
    list[#list + 1] = "cuda/dropout.cu"
  end
  list[#list + 1] = "cuda/adam.cu"
  return list
end

local function owned(plan)
  local gathers = plan.score.kind ~= "none" and plan.score.cuda.gathers or {}
  local rows = plan.relative.kind ~= "none" and (plan.relative.toeplitz and "distance" or "row")
  local list = {}
  for _, class in ipairs(OWNED) do
    if gathers[class] or class == rows then
      list[#list + 1] = class
    end
  end
  return list
end

-- Whether the gradients of the pairs are kept for the pass over distances: unless it needs the logits as well.
local function keeps_pairs(plan)
  local gathered = plan.score.kind ~= "none" and plan.score.cuda.gathers.distance
  local rows = plan.relative.kind ~= "none" and plan.relative.toeplitz
  return (rows or gathered ~= nil and gathered ~= false) and not (gathered and gathered.needs_logit)
end

-- Whether the layers' learned numbers of a score are apart, so that their gradients can be taken back side by side.
local function layers_apart(plan)
  for _, q in ipairs(plan.score.learned) do
    if not q.per_layer then
      return false
    end
  end
  return plan.score.trains
end

function M.derive(plan)
  local relative, scored = plan.relative.kind ~= "none", plan.score.kind ~= "none"
  local learned_places = plan.additive.kind == "learned"
  local randomized = plan.positions.kind == "randomized"
  plan.cuda = {
    threads = THREADS,
    chip = math.min(plan.train.batch, CHIP_SHARDS),
    replicas = math.min(plan.train.batch, REPLICA_SHARDS),
    kernels = kernels(plan),
    sites = (plan.additive.dropout.kind ~= "none" and 1 or 0) + (plan.dropout.kind ~= "none" and 2 * plan.layers or 0),
    draws = randomized or plan.draws_distances,
    position_draws = randomized and plan.positions.draws or 0,
    distance_draws = plan.draws_distances and plan.positions.distance.draws or 0,
    reads_positions = randomized and (plan.rotation.kind == "rope" or scored),
    begins = relative or scored and plan.score.cuda.stages[1] ~= nil,
    shared = relative or scored or learned_places,
    sums = relative or plan.score.trains or learned_places,
    sums_in_layers = relative or plan.score.trains,
    owned = owned(plan),
    end_by_layer = layers_apart(plan),
    pairs = keeps_pairs(plan),
    pair_scores = keeps_pairs(plan) and scored and plan.score.cuda.logit_grad and plan.score.cuda.gathers.distance
      and true or false,
    group_tokens = GROUP_TOKENS,
    staging = STAGING,
    block_state = BLOCK_STATE,
  }
  plan.cuda.first_distances = plan.cuda.position_draws
  plan.cuda.draw_rows = plan.cuda.position_draws + plan.cuda.distance_draws
  plan.least_architecture = LEAST_ARCHITECTURE[plan.precision]
  plan.cuda_files = {
    { template = "cuda/device.cu.tpl", path = "device.cu" },
    { template = "cuda/cuda.c.tpl", path = "cuda.c" },
  }
end

return M
