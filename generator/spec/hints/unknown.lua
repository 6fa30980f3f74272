-- Guesses the field that a user meant by a name that a spec does not have.
--
-- Input: the path of the unknown field, the names that are legal in the field's table, the repository's root. Output: a
-- hint, or nil.

local lists = require("base.lists")
local similar_names = require("base.similar_names")
local schema = require("spec.schema")
local trainer_flags = require("spec.trainer_flags")
local foreign_names = require("spec.hints.foreign_names")

local M = {}

local function get_table(path)
  return path:match("^(.*)%.[^%.]*$")
end

-- The first field of this name in another table, or nil. If the trainer has a flag of the name, only a field that names
-- a file or has a flag counts. None is suggested for `kind`, a field of many tables.
local function find_namesake(name, has_flag)
  local field = lists.find(schema.fields, function(entry)
    return entry.name == name and name ~= "kind" and (not has_flag or entry.type == "file" or entry.flag)
  end)
  return field and field.path
end

function M.make_hint(path, legal, root)
  local parent, name = get_table(path), path:match("[^%.]*$")
  local meant = foreign_names.find_meanings(name, root)
  local field = lists.find(meant.fields, function(meant_path) return get_table(meant_path) == parent end)
    or meant.fields[1]
  if field and meant.hint and get_table(field) ~= parent then
    return meant.hint
  end
  local flags = trainer_flags.read(root)
  local own_flag = "--" .. name:gsub("_", "-")
  local flag = flags[own_flag] and own_flag or meant.flags[1]
  local similar = not field and not flag and not meant.hint and similar_names.find(name, legal)
  local similar_path = similar and parent and parent .. "." .. similar or similar
  field = field or similar_path or find_namesake(name, flags[own_flag])
  local flag_field = not field and flag and lists.find(schema.fields, function(entry) return entry.flag == flag end)
  field = field or flag_field and flag_field.path
  if field then -- named by its name alone in the user's table, otherwise by its path
    return ('did you mean "%s"? Meaning: %s'):format(get_table(field) == parent and field:match("[^%.]*$") or field,
      schema.by_path[field].doc)
  end
  local is_known = flag and flags[flag:match("^%S+")] -- a value may follow the flag's name
  return is_known and ("a flag of the trainer sets this: ./longhand train SPEC -- %s"):format(flag) or meant.hint
end

return M
