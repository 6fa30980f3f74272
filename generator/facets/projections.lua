-- The module of the facet `projections`: options of the matrix products that compute queries, keys and values, and of
-- the product that follows attention. modules.lua describes modules of facets.
--
-- Output of M.plan: the spec's table encoding.projections; an empty table if the spec has none. Its fields:
--   bias     whether the products have biases; nil: the function that builds the network decides
--   output   false: no product follows attention
--   init     "linear": the products have the initial values of products outside attention; nil: those of attention

local reach = require("facets.score.reach")

local M = { name = "projections", off_value = {}, without_kinds = true, needs_no_export = true }

M.fields = {
  { path = "encoding.projections", is_rare = true, type = "table", omitted_value = "empty",
    doc = "the linear maps of attention: of queries, keys and values, and of its output" },
  { path = "encoding.projections.bias", is_rare = true, type = "boolean", optional = true,
    doc = "whether these maps have biases; absent: as model.bias states" },
  { path = "encoding.projections.output", is_rare = true, type = "boolean", default = true, omitted_value = true,
    doc = "whether the output of attention goes through a linear map before it is added to the residual stream" },
  { path = "encoding.projections.init", is_rare = true, type = "choice", default = "attention",
    omitted_value = "attention",
    doc = "the initial values of these maps, if model.init has separate ones for attention",
    choices = {
      { "attention", "the values for attention" },
      { "linear", "the values for other linear maps" } } },
}

-- Warns about biases of keys if softmax cancels them, since they add the same number to the scores of all keys of a
-- query. This holds if keys are not rotated and the score is the sum of the logit and other terms; the logit may have a
-- factor with one value for all keys.
function M.warn_unreached(view, report)
  local encoding, model = view.resolved.encoding, view.resolved.model
  local stated_bias = encoding.projections and encoding.projections.bias
  local cancels = encoding.rotation.kind == "none" and ((encoding.normaliser or {}).kind or "softmax") == "softmax"
    and (not view.formula or select(2, reach.find_reached(view.formula.root)))
  if cancels and (stated_bias or stated_bias == nil and model.bias == "all") then
    report.warn(("%s: the biases of keys never get a gradient: %s"):format(stated_bias
      and view.spec_report.get_path("encoding.projections.bias") or "model.bias", reach.CANCELS))
  end
end

function M.plan(encoding)
  return encoding.projections or {}
end

function M.describe_details(family)
  local projections, parts = family.projections, {}
  if projections.bias ~= nil then
    parts[1] = projections.bias and "biases in its products" or "no biases in its products"
  end
  parts[#parts + 1] = projections.output == false and "no linear map after it" or nil
  return parts[1] and "attention has " .. table.concat(parts, " and ") or nil
end

-- The identity is empty, since the names and shapes of tensors show these choices.
function M.identify()
  return {}
end

return M
