-- The facets of attentions in the form of templates/attention/python, page by page.
--
-- Input: attentions of a network, with families of a plan; the formula of the score. Output: M.collect(op, formula):
-- { needs, calls, layer, text }: needs: by name, true or the folder of numbers that all layers share: positions,
-- distance, shared, and memory_... if queries and keys are of two streams; calls: true for functions of the file that
-- its text calls; layer: whether it counts layers; text: names of the template, among them `pages`, the pages of
-- templates/attention/python/terms by part of a facet (facets/pages.lua).
-- M.unknown: words for the settings of a resolved encoding that no page exports, or nil.

local canonical = require("base.canonical")
local families = require("spec.families")
local json = require("dkjson")
local lists = require("base.lists")
local pages = require("facets.pages")
local schema = require("spec.schema")

local M = {}

function M.collect(op, formula)
  local family, crosses = op.family, op.q.stream ~= op.kv.stream
  local given = { crosses = crosses, memory = crosses and "memory_" or "", formula = formula, net = op.scope.net,
    needs = {}, pages = {}, calls = {} }
  local names = { heads = family.heads, crosses = crosses, pages = given.pages,
    dropout = op.dropout and ("%.9g"):format(op.dropout.rate) or false }
  return { needs = given.needs, calls = given.calls, layer = given.layer or false,
    text = lists.merged(names, table.unpack(pages.said("export", family, given))) }
end

local EXPORTED = { parameters = true }
for _, page in ipairs(pages) do
  EXPORTED[page.name] = page.exported or page.export ~= nil
end
for _, name in ipairs(families.NAMES) do
  EXPORTED[name] = true
end

-- Whether a field has a value that its kinds or choices in the schema do not list.
local function is_strange(field, value)
  local names = field.kinds and lists.names(field.kinds) or field.choices
  return names and not lists.has(names, value)
end

function M.unknown(value, path)
  for _, name in ipairs(canonical.sorted_keys(value)) do
    local inner, at = value[name], path .. "." .. name
    local field = schema.at[at]
    if not field or not EXPORTED[families.of_all(at):match("^encoding%.([^.]+)")] or is_strange(field, inner) then
      return ("%s = %s"):format(at, json.encode(inner))
    end
    local problem = field.type == "table" and type(inner) == "table" and M.unknown(inner, at)
    if problem then
      return problem
    end
  end
end

return M
