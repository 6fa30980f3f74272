-- The list of the classes of a score's tables, in the order in which tables are filled; and C text for each class, for
-- CPU and GPU. The class of a table names its index: "distance" means that the index is (query - key).

local lists = require("base.lists")

local M = { "uniform", "query", "key", "distance", "sum", "pair" }

local SHAPES = { uniform = "", query = "[queries]", key = "[keys]", distance = "[query - key]", sum = "[query + key]",
  pair = "[keys][queries]" }

-- The comment of a table's declaration in C. per_head: whether the table has elements for each head.
function M.describe_shape(t, per_head)
  local shape = (per_head and "[HEADS]" or "") .. SHAPES[t.class]
  return shape ~= "" and (" /* %s */"):format(shape) or ""
end

-- The C text of a table's number of elements. head_count: the text of the number of elements for one head; heads: the
-- text of the number of heads, or nil if the heads share the table.
function M.write_count(t, head_count, heads)
  return "(size_t)" .. (not heads and head_count or t.class == "uniform" and heads or heads .. " * " .. head_count)
end

-- A member of a generated struct that is a number of elements. value: C text.
function M.make_number(type, name, value, comment)
  return { type = type, name = name, value = value, comment = comment and (" /* %s */"):format(comment) or "" }
end

function M.list_members(tables, class)
  return lists.filter(tables, function(t) return t.class == class end)
end

return M
