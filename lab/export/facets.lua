-- The facets of attentions as facts for templates/attention/python.
--
-- Input: attentions of a network, with families of a plan; the formula of the score. Output: M.collect(op, formula)
-- gives { needs, calls, layer, text }. needs[name], with the names positions, distance, shared, and memory_... if
-- queries and keys are of two streams: true, or the folder of numbers that all layers share. calls[name]: true for each
-- function of the file that the text calls. layer: whether the class needs its layer index. text: variables of the
-- template, among them `pages`, files of templates/attention/python/terms by part of a facet (facets/pages.lua).
-- M.unknown gives words for the settings of a resolved encoding that cannot be exported, or nil.

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

-- Whether a field has a value that is not among its kinds or choices in the schema.
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
