-- The facets that each family of attentions uses, for rules. Facets directly in `encoding` apply to the encoding added
-- to the embedding and to every family that has no facets of its own.
--
-- Input: the context of validate.lua. M.check_each calls a check once for the shared facets and once for each family
-- with facets of its own. It passes the context with `family` (nil: shared facets), holds_for (the families that use
-- these facets, in order) and the resolved spec as these families see it. Output: paths and places of fields as written
-- in the spec.

local families = require("spec.families")

local M = {}

-- The path of a field of the encoding; the field's path below encoding.<family> if the context is that of a family with
-- facets of its own.
function M.get_path(context, path)
  return context.family and path:gsub("^encoding%.", ("encoding.%s."):format(context.family)) or path
end

-- The origin of a field of the encoding that the user wrote; nil for a default.
function M.find_place(context, path)
  local origin = context.origins[M.get_path(context, path)]
  return origin and not origin.default and origin or nil
end

-- Whether the spec has facets for the family that differ from the shared ones.
function M.has_own(context, name)
  return context.resolved.encoding[name] and context.root.fields.encoding.fields[name] ~= nil
end

-- The resolved spec as a family with facets of its own sees it, without the encoding that is added to the embedding.
function M.make_view(resolved, name)
  local view = families.make_view(resolved, name)
  view.encoding.additive = { kind = "none" }
  return view
end

-- The resolved spec as each attention sees it that uses a field: for the shared facets, also families with facets of
-- their own that inherit the field.
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
  local resolved, shared, separate = context.resolved, {}, {}
  for _, name in ipairs(families.list(resolved.model, resolved.encoding) or {}) do
    table.insert(M.has_own(context, name) and separate or shared, name)
  end
  local additive = resolved.encoding.additive
  if shared[1] or additive and additive.kind ~= "none" then
    check(setmetatable({ holds_for = shared }, { __index = context }))
  end
  for _, name in ipairs(separate) do
    check(setmetatable({ resolved = M.make_view(resolved, name), family = name, holds_for = { name } },
      { __index = context }))
  end
end

return M
