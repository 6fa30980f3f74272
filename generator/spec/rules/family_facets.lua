-- Finds the facets of each family of attentions for rules. Shared facets stand directly in `encoding`. They apply to
-- encoding.additive (vectors added to tokens) and to every family without facets of its own.
--
-- Input: the context of validate.lua. Output: paths and origins of fields in the spec. M.check_each calls a check once
-- for the shared facets, if anything uses them all, and once for each family with facets of its own. It returns whether
-- the check was called for the shared facets. The check receives a copy of the context with these fields:
--   family         the name of the family; nil: shared facets
--   family_names   the names of the families that use these facets, in order
--   resolved       the resolved spec with these facets

local families = require("spec.families")

local M = {}

-- The path of a field of the encoding. If the context has a family, the path is in encoding.<family>.
function M.get_path(context, path)
  return context.family and path:gsub("^encoding%.", ("encoding.%s."):format(context.family)) or path
end

-- The origin of a field of the encoding; nil for a default.
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

-- The resolved specs in which a field of the shared facets takes effect, as a list:
--   the spec itself
--   the view of each family that inherits this field and has other facets of its own
function M.list_affected_specs(context, path)
  local specs = { context.resolved }
  for _, name in ipairs(not context.family and families.list(context.resolved.model, context.resolved.encoding)
    or {}) do
    local own_path = M.get_path({ family = name }, path)
    if M.has_own(context, name) and context.origins[own_path] == context.origins[path] then
      specs[#specs + 1] = M.make_view(context.resolved, name)
    end
  end
  return specs
end

function M.check_each(context, check)
  local resolved, names_with_shared, names_with_own = context.resolved, {}, {}
  for _, name in ipairs(families.list(resolved.model, resolved.encoding) or {}) do
    table.insert(M.has_own(context, name) and names_with_own or names_with_shared, name)
  end
  local additive = resolved.encoding.additive
  local are_shared_used = names_with_shared[1] ~= nil or additive and additive.kind ~= "none" or false
  if are_shared_used then
    check(setmetatable({ family_names = names_with_shared }, { __index = context }))
  end
  for _, name in ipairs(names_with_own) do
    check(setmetatable({ resolved = M.make_view(resolved, name), family = name, family_names = { name } },
      { __index = context }))
  end
  return are_shared_used
end

return M
