-- The parts of an exported file: functions and classes that its attentions share (facets/modules.lua).
--
-- M.new starts the parts of a file. parts:add(class) gets an attention's class (classes.lua) and sets fields of
-- class.attention:
--   terms       all terms of the attention
--   new_terms   the terms whose text no earlier class has
--   names       the Python names of the functions and classes that the terms define

local canonical = require("base.canonical")
local facets = require("facets.modules")
local lists = require("base.lists")
local python_names = require("lab.export.python_names")

local M = {}

-- Fields:
--   names_by_key   the names of each written part, as name_part returns them; key: format_key
--   taken_names    the set of the Python names of written parts
local Parts = {}
Parts.__index = Parts

function M.new()
  return setmetatable({ names_by_key = {}, taken_names = {} }, Parts)
end

-- Attentions with the same key share a part.
local function format_key(facet_part, attention)
  local words = lists.map(facet_part.fields, function(field) return canonical.format(attention[field]) end)
  return table.concat({ facet_part.name, table.unpack(words) }, " ")
end

-- Returns { [usual name] = Python name } for the functions and classes of a part. If an earlier part has taken a usual
-- name, the Python name begins with the class's name.
function Parts:name_part(facet_part, class)
  local names = {}
  for _, name in ipairs(facet_part.names) do
    local prefixed_name = name:find("^%u") and class.name .. name or python_names.to_snake(class.name) .. "_" .. name
    names[name] = self.taken_names[name] and prefixed_name or name
    self.taken_names[name] = true
  end
  return names
end

local function add_terms(terms, texts)
  lists.append(terms, lists.map(texts, function(text) return { template = text } end))
end

function Parts:add(class)
  local attention = class.attention
  attention.terms, attention.new_terms, attention.names = {}, {}, {}
  for _, facet_part in ipairs(facets.list_parts()) do
    local texts, key = attention.part_texts[facet_part.name] or {}, format_key(facet_part, attention)
    if texts[1] then
      add_terms(attention.terms, texts)
      if not self.names_by_key[key] then
        add_terms(attention.new_terms, texts)
        self.names_by_key[key] = self:name_part(facet_part, class)
      end
      lists.update(attention.names, self.names_by_key[key])
    end
  end
  add_terms(attention.terms, attention.dropout and { "dropped" } or {})
end

return M
