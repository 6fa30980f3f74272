-- Writes the C text of those leaves of formulas whose text is the same for CPU and GPU: learned and constant
-- parameters, values of tokens, numbers, edges of buckets, indices in tables. The argument p is always a parameter.

local M = {}

function M.has_head(p)
  return p.per == "head" or p.per == "layer_head"
end

function M.has_layer(p)
  return p.per == "layer" or p.per == "layer_head"
end

-- The text of a learned parameter in the struct `set`: "p" (values) or "g" (gradients). build: the context of loop
-- nests (nests.lua).
function M.write_member(build, set, p)
  local layer = M.has_layer(p) and build.stack .. "[l]." or ""
  return ("%s->%s%sscore_%s"):format(set, layer, build.prefix, p.name)
end

-- C name of the tables -> C name of the running sums. s and r hold values, d and dr their gradients.
M.RUNNING_SUM_NAMES = { s = "r", d = "dr" }

-- Class of a table -> C text of the index of an entry.
local OWN_INDEX = { query = "i", key = "j", distance = "o", sum = "t" } -- in a loop nest over the entries of the class
local PAIR_INDEX = { query = "i", key = "j", distance = "i - j", sum = "i + j" } -- in a loop nest over pairs

-- C text of the index of the current entry in a table of the class table_class; nil for the classes pair and uniform.
-- A loop nest over entries has nest_class == table_class; any other nest_class is a loop nest over pairs.
function M.write_entry_index(table_class, nest_class)
  return (table_class == nest_class and OWN_INDEX or PAIR_INDEX)[table_class]
end

-- The environment (emit.lua) of a loop nest, without texts of symbols and tables. varying: see emit.lua.
function M.make_environment(build, varying)
  return {
    varying = varying,
    edges = build.name_edges,
    literal = function(value) return (assert(build.real(value))) end,
    value = function(p) return "value_" .. p.name end,
    parameter = function(p)
      return p.learned and M.write_member(build, "p", p) or build.prefix .. p.name .. "_values"
    end,
  }
end

return M
