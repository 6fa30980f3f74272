-- What both halves say of the tables of a score: their classes (expression/lower.lua) in the order of making, shapes.

local M = {}

M.CLASSES = { "uniform", "query", "key", "distance", "sum", "pair" }

local SHAPES = { uniform = "", query = "[queries]", key = "[keys]", distance = "[query - key]", sum = "[query + key]",
  pair = "[keys][queries]" }

-- The comment of a member: its shape.
function M.about(t, per_head)
  local shape = (per_head and "[HEADS]" or "") .. SHAPES[t.class]
  return shape ~= "" and (" /* %s */"):format(shape) or ""
end

function M.by_class(tables, class)
  local list = {}
  for _, t in ipairs(tables) do
    if t.class == class then
      list[#list + 1] = t
    end
  end
  return list
end

return M
