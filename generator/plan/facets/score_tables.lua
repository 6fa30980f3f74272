-- What both halves say of the tables of a score: their classes (expression/lower.lua) in the order of making, and shapes.

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

-- Adds the words of C text to a set, to tell which arguments and locals a function needs.
function M.add_words(set, ...)
  for _, text in ipairs({ ... }) do
    for word in text:gmatch("[%a_][%w_]*") do
      set[word] = true
    end
  end
  return set
end

return M
