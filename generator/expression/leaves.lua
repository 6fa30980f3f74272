-- Leaves with the same text on every target: learned and constant parameters, numbers, edges, places in tables.

local M = {}

function M.has_head(p)
  return p.per == "head" or p.per == "layer_head"
end

function M.has_layer(p)
  return p.per == "layer" or p.per == "layer_head"
end

-- The text of a learned parameter in `set`, p (values) or g (gradients). build: as in nests.lua.
function M.write_member(build, set, p)
  local layer = M.has_layer(p) and build.stack .. "[l]." or ""
  return ("%s->%s%sscore_%s"):format(set, layer, build.prefix, p.name)
end

local OWN = { query = "i", key = "j", distance = "o", sum = "t" }
local OF_PAIR = { query = "i", key = "j", distance = "i - j", sum = "i + j" }

-- The index of the current entry in a table of a class: in a loop nest of the same class, or in a nest over pairs. nil
-- for tables of pairs and tables without entries.
function M.find_place(table_class, nest_class)
  return (table_class == nest_class and OWN or OF_PAIR)[table_class]
end

-- The environment (emit.lua) of a loop nest, without symbols and tables.
function M.make_environment(build, lanes)
  return {
    lanes = lanes,
    edges = build.name_edges,
    literal = function(value) return (assert(build.real(value))) end,
    parameter = function(p)
      return p.learned and M.write_member(build, "p", p) or build.prefix .. p.name .. "_values"
    end,
  }
end

return M
