-- Guesses the field that a user meant by a name that a spec does not have.
--
-- Input: the path of the field, the names that its table has, the repository's root. Output: a hint, or nil.

local lists = require("base.lists")
local nearest = require("base.nearest")
local schema = require("spec.schema")
local trainer_flags = require("spec.trainer_flags")
local foreign_names = require("spec.hints.foreign_names")

local M = {}

local function suggest(path, is_near)
  local name = is_near and path:match("[^%.]*$") or path
  return ('did you mean "%s"? Meaning: %s'):format(name, schema.at[path].doc)
end

local function get_table(path)
  return path:match("^(.*)%.[^%.]*$")
end

-- The first field of this name in another table, or nil. If the trainer has a flag of the name, only a field that names
-- a file or has a flag counts.
local function find_namesake(name, has_flag)
  local field = lists.find(schema.fields, function(entry)
    return entry.name == name and name ~= "kind" and not (has_flag and entry.type ~= "file" and not entry.flag)
  end)
  return field and field.path
end

function M.make_hint(path, legal, root)
  local parent, name = get_table(path), path:match("[^%.]*$")
  local meant = foreign_names.find_meanings(name, root)
  local field = lists.find(meant.fields, function(meant_path) return get_table(meant_path) == parent end)
    or meant.fields[1]
  if field and meant.why and get_table(field) ~= parent then
    return meant.why
  end
  local flags = trainer_flags.read(root)
  local own = "--" .. name:gsub("_", "-")
  local flag = flags[own] and own or meant.flags[1]
  local near = not field and not flag and not meant.why and nearest.find(name, legal)
  field = field or near and (parent and parent .. "." or "") .. near or find_namesake(name, flags[own])
  if field then
    return suggest(field, get_table(field) == parent)
  end
  local other = flag and lists.find(schema.fields, function(entry) return entry.flag == flag end)
  if other then
    return suggest(other.path)
  end
  return flag and flags[flag:match("^%S+")] and ("a flag of the trainer sets this: ./longhand train SPEC -- %s"):format(
    flag) or meant.why
end

return M
