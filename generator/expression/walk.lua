-- Visits a node and all nodes below it (its arguments, their arguments, and so on). Each node is visited once, before
-- the nodes below it.
--
-- Input: the root of a formula; visit(node), which returns whether to skip the nodes below this node.

local function walk(node, visit, is_visited)
  if not is_visited[node] then
    is_visited[node] = true
    for _, child in ipairs(visit(node) and {} or node) do
      walk(child, visit, is_visited)
    end
  end
end

return function(root, visit)
  walk(root, visit, {})
end
