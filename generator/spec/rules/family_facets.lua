-- Finds, for rules, the facets that each family of attentions uses. Shared facets, directly in `encoding`, are
-- used by encoding.additive (vectors added to tokens) and by every family that has no facets of its own.
--
-- Input: the context of validate.lua. Output: paths and origins of fields in the spec. M.check_each calls a check once
-- for the shared facets and once for each family with facets of its own. The check receives a copy of the context with
-- these fields:
--   family      the name of the family; nil: shared facets
--   family_names   the names of the families that use these facets, in order
--   resolved    the resolved spec with the facets that these families use

local families = require("spec.families")

local M = {}

-- The path of a field of the encoding. For a context of a family with facets of its own, the path is in
-- encoding.<family>.
function M.get_path(context, path)
  return context.family and path:gsub("^encoding%.", ("encoding.%s."):format(context.family)) or path
end

-- The origin of a field of the encoding that the user has written; nil for a default.
function M.find_origin(context, path)
  local origin = context.origins[M.get_path(context, path)]
  return origin and not origin.default and origin or nil
end

-- Whether the spec has facets for the family that differ from the shared facets.
function M.has_own(context, name)
  return context.resolved.encoding[name] and context.root.fields.encoding.fields[name] ~= nil
end

-- The resolved spec with the encoding of one family. In the result, encoding.additive has the kind "none", since
-- vectors that are added to tokens belong to no family.
function M.make_view(resolved, name)
  local view = families.make_view(resolved, name)
  view.encoding.additive = { kind = "none" }
  return view
end

-- The users of a field of the shared facets, as a list of resolved specs: first the spec itself; then, for each family
-- that has facets of its own but inherits the field, the family's view.
function M.list_users(context, path)
  local views = { context.resolved }
  for _, name in ipairs(not context.family and families.list(context.resolved.model, context.resolved.encoding)
    or {}) do
    local own_path = M.get_path({ family = name }, path)
    if M.has_own(context, name) and context.origins[own_path] == context.origins[path] then
      views[#views + 1] = M.make_view(context.resolved, name)
    end
  end
  return views
end

function M.check_each(context, check)
  local resolved, names_with_shared, names_with_own = context.resolved, {}, {}
  for _, name in ipairs(families.list(resolved.model, resolved.encoding) or {}) do
    table.insert(M.has_own(context, name) and names_with_own or names_with_shared, name)
  end
  local additive = resolved.encoding.additive
  if names_with_shared[1] or additive and additive.kind ~= "none" then
    check(setmetatable({ family_names = names_with_shared }, { __index = context }))
  end
  for _, name in ipairs(names_with_own) do
    check(setmetatable({ resolved = M.make_view(resolved, name), family = name, family_names = { name } },
      { __index = context }))
  end
end

return M
