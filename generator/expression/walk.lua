-- Visits a node and all nodes below it, each once, and before the nodes below it.
--
-- Input: the root of a formula; visit(node), which returns whether to skip the nodes below this node.

local function walk(node, visit, seen)
  if not seen[node] then
    seen[node] = true
    for _, part in ipairs(visit(node) and {} or node) do
      walk(part, visit, seen)
    end
  end
end

return function(root, visit)
  walk(root, visit, {})
end
