-- The kernels of device code: files of kernels/ in the order in which device.cu contains them, except the optimiser's.

local lists = require("base.lists")

local M = {}

local PRODUCTS = {
  float32 = { "cuda/product_fma.cu" },
  float64 = { "cuda/product_fma.cu" },
  tf32 = { "cuda/mma.cu", "cuda/product_tf32.cu", "cuda/product_mma.cu" },
  bf16 = { "cuda/mma.cu", "cuda/product_bf16.cu", "cuda/product_mma.cu" },
}
local WARP_PRODUCTS = {
  float32 = { "cuda/mma.cu", "cuda/product_float32.cu" },
  float64 = { "cuda/product_shuffles.cu" },
  tf32 = { "cuda/mma.cu", "cuda/product_tf32.cu" },
  bf16 = { "cuda/mma.cu", "cuda/product_bf16.cu" },
}

-- Whether the terms of any family of the plan have the property `name`. field: a field that the family must also have,
-- or nil.
local function has_any(plan, name, field)
  return lists.any(plan.attentions, function(family)
    assert(family.terms[name] ~= nil, name)
    return family.terms[name] and (not field or family[field])
  end)
end

-- The list for a plan, whose families already have their terms.
--   device       the network in device code (cuda_network.lua)
--   multiplies   whether device code computes products itself, without a library
--   by_team      whether thread blocks together sum gradients of weights
function M.list(plan, device, multiplies, by_team)
  local in_fragments = lists.any(plan.attentions, function(family) return family.attends.in_fragments end)
  local list = { ("cuda/functions_%s.cu"):format(plan.precision == "float64" and "float64" or "float32"),
    "cuda/functions.cu", "cuda/instructions.cu", "cuda/block.cu" }
  local function add(is_needed, ...)
    lists.append(list, is_needed and { ... } or {})
  end
  add(has_any(plan, "trains_tables"), "cuda/score.cu")
  add(has_any(plan, "adds_values"), "cuda/lines.cu")
  add(has_any(plan, "trains_tables", "cross"), "cuda/score_cross.cu")
  if plan.cuts_by_warp then
    add(true, table.unpack(WARP_PRODUCTS[plan.precision]))
    add(true, "cuda/product_forms.cu", plan.precision == "tf32" and "cuda/stored_tf32.cu" or "cuda/stored_reals.cu",
      "cuda/product_warps.cu", "cuda/product_narrow.cu", "cuda/product_sized.cu")
    add(device.has_chains, "cuda/product_chains.cu")
    add(in_fragments, ("cuda/weights_%s.cu"):format(plan.precision == "float64" and "exact" or "rounded"),
      "cuda/fragments.cu")
    add(by_team, "cuda/product_weights.cu")
  elseif multiplies then
    add(true, "cuda/slab.cu", table.unpack(PRODUCTS[plan.precision]))
    add(true, "cuda/product_forms.cu", "cuda/product.cu")
  end
  add(true, "cuda/sums.cu", "cuda/heads.cu")
  add(has_any(plan, "visits_outwards") or has_any(plan, "breaks_stick"), "cuda/chances.cu")
  add(has_any(plan, "visits_outwards"), "cuda/geometric.cu")
  add(has_any(plan, "reads_tokens"), "cuda/running.cu")
  add(has_any(plan, "multiplies_rows"), "cuda/head_products.cu")
  add(device.has_dropout or plan.noise or plan.starts_from_noise, "cuda/philox.cu")
  add(device.has_dropout, "cuda/dropout.cu")
  add(plan.noise or plan.starts_from_noise, "cuda/noise.cu")
  add(true, plan.cuts_by_warp and "cuda/norm_quads.cu" or "cuda/norm_lanes.cu", "cuda/layernorm.cu", "cuda/norm.cu")
  add(device.has_rms_norm, "cuda/rms_norm.cu")
  return lists.append(list, lists.map(plan.operation_kernels, function(name) return ("cuda/%s.cu"):format(name) end))
end

return M
