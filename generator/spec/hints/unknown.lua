-- Guesses the field that a user meant by a name that a spec does not have.
--
-- Input: the path of the field, the names that its table has, the repository's root. Output: a hint, or nil.

local lists = require("base.lists")
local nearest = require("base.nearest")
local schema = require("spec.schema")
local trainer_flags = require("spec.trainer_flags")
local foreign_names = require("spec.hints.foreign_names")

local M = {}

local function says(path, there)
  local name = there and path:match("[^%.]*$") or path
  return ('did you mean "%s"? Meaning: %s'):format(name, schema.at[path].doc)
end

local function table_of(path)
  return path:match("^(.*)%.[^%.]*$")
end

-- The first field of this name in another table, or nil. If the trainer has a flag of the name, only a field that names
-- a file or has a flag counts.
local function namesake(name, has_flag)
  local field = lists.find(schema.fields, function(one)
    return one.name == name and name ~= "kind" and not (has_flag and one.type ~= "file" and not one.flag)
  end)
  return field and field.path
end

function M.hint(path, legal, root)
  local parent, name = table_of(path), path:match("[^%.]*$")
  local meant = foreign_names.meanings(name, root)
  local field = lists.find(meant.fields, function(one) return table_of(one) == parent end) or meant.fields[1]
  if field and meant.why and table_of(field) ~= parent then
    return meant.why
  end
  local flags = trainer_flags.read(root)
  local own = "--" .. name:gsub("_", "-")
  local flag = flags[own] and own or meant.flags[1]
  local near = not field and not flag and not meant.why and nearest.find(name, legal)
  field = field or near and (parent and parent .. "." or "") .. near or namesake(name, flags[own])
  if field then
    return says(field, table_of(field) == parent)
  end
  local other = flag and lists.find(schema.fields, function(one) return one.flag == flag end)
  if other then
    return says(other.path)
  end
  return flag and flags[flag:match("^%S+")] and ("a flag of the trainer sets this: ./longhand train SPEC -- %s"):format(
    flag) or meant.why
end

return M
