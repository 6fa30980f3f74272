-- Visits a node and all nodes of which it consists (its parts), each once, and before its own parts.
--
-- Input: the root of a formula; look(node), which returns whether to skip the parts of the node.

local function walk(node, look, seen)
  if not seen[node] then
    seen[node] = true
    for _, part in ipairs(look(node) and {} or node) do
      walk(part, look, seen)
    end
  end
end

return function(root, look)
  walk(root, look, {})
end
