-- Guesses the field that a user meant by a name that a spec does not have.
--
-- Input: the path of the unknown field, the names of the fields that the table may have, the repository's root. Output:
-- a hint, or nil.

local lists = require("base.lists")
local similar_names = require("base.similar_names")
local schema = require("spec.schema")
local trainer_flags = require("spec.trainer_flags")
local foreign_names = require("spec.hints.foreign_names")

local M = {}

local function get_table(path)
  return path:match("^(.*)%.[^%.]*$")
end

-- The path of the first field of this name in another table, or nil. If the trainer has a flag of this name (has_flag),
-- only a field that names a file or has a flag is returned. For `kind`, which is a field of many tables, the result is
-- nil.
local function find_namesake(name, has_flag)
  local field = lists.find(schema.fields, function(entry)
    return entry.name == name and name ~= "kind" and (not has_flag or entry.type == "file" or entry.flag)
  end)
  return field and field.path
end

-- A field that other libraries call by this name has precedence over a flag, a flag over a similar name.
function M.make_hint(path, legal_names, root)
  local parent, name = get_table(path), path:match("[^%.]*$")
  local meanings = foreign_names.find_meanings(name, root)
  local field_path = lists.find(meanings.fields, function(candidate) return get_table(candidate) == parent end)
    or meanings.fields[1]
  if field_path and meanings.hint and get_table(field_path) ~= parent then
    return meanings.hint
  end
  local flags = trainer_flags.read(root)
  local own_flag = "--" .. name:gsub("_", "-")
  local flag = flags[own_flag] and own_flag or meanings.flags[1]
  local similar_name = not field_path and not flag and not meanings.hint and similar_names.find(name, legal_names)
  local similar_path = similar_name and parent and parent .. "." .. similar_name or similar_name
  local has_flag = flags[own_flag]
  field_path = field_path or similar_path or find_namesake(name, has_flag)
  local flag_field = not field_path and flag
    and lists.find(schema.fields, function(entry) return entry.flag == flag end)
  field_path = field_path or flag_field and flag_field.path
  if field_path then -- a field of the user's table is shown without the path of the table
    return ('did you mean "%s"? Meaning: %s'):format(get_table(field_path) == parent
      and field_path:match("[^%.]*$") or field_path, schema.by_path[field_path].doc)
  end
  local is_known = flag and flags[flag:match("^%S+")] -- a value may follow the flag's name
  return is_known and ("a flag of the trainer sets this: ./longhand train SPEC -- %s"):format(flag) or meanings.hint
end

return M
