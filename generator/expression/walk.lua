-- Looks at a node and at all that it is made of, each part once and ahead of its own parts.
--
-- Input: the root of a formula, look(node), which returns whether the parts of that node are left out.

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
