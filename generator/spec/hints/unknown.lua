-- What somebody meant who wrote a field that a spec does not have.
--
-- Input: the path of the field, the names that its table has, the repository's root. Output: a hint, or nil.

local nearest = require("base.nearest")
local schema = require("spec.schema")
local trainer_flags = require("spec.trainer_flags")
local words = require("spec.hints.words")

local M = {}

local function says(path, there)
  local name = there and path:match("[^%.]*$") or path
  return ('did you mean "%s"? It says: %s'):format(name, schema.at[path].doc)
end

-- The field of these that lies in the table `parent`, or else the first.
local function nearest_of(paths, parent)
  for _, path in ipairs(paths) do
    if path:match("^(.*)%.[^%.]*$") == parent then
      return path
    end
  end
  return paths[1]
end

-- The first field of this name in another table, or nil. A flag of that name means the run, unless it is a file's.
local function namesake(name, has_flag)
  for _, field in ipairs(schema.fields) do
    if field.name == name and name ~= "kind" and not (has_flag and field.type ~= "file" and not field.flag) then
      return field.path
    end
  end
end

-- A hint for a field that is not there. legal: the names that its table has.
function M.hint(path, legal, root)
  local parent, name = path:match("^(.*)%.([^%.]*)$")
  name = name or path
  local meant = words.meanings(name, root)
  local field = nearest_of(meant.fields, parent)
  if field and meant.why and field:match("^(.*)%.[^%.]*$") ~= parent then
    return meant.why
  end
  local flags = trainer_flags.read(root)
  local own = "--" .. name:gsub("_", "-")
  local flag = flags[own] and own or meant.flags[1]
  local near = not field and not flag and not meant.why and nearest.name(name, legal)
  field = field or near and (parent and parent .. "." or "") .. near or namesake(name, flags[own])
  if field then
    return says(field, field:match("^(.*)%.[^%.]*$") == parent)
  end
  for _, other in ipairs(schema.fields) do
    if flag and other.flag == flag then
      return says(other.path)
    end
  end
  return flag and flags[flag:match("^%S+")] and ("a flag of the trainer says this: ./longhand train SPEC -- %s"):format(
    flag) or meant.why
end

return M
