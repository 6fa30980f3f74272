-- The module python/longhand/fields.py: a function for each section of a spec, whose keywords are the section's fields.
--
-- Input: none. Output: the text of the module.

local escape = require("base.escape")
local lists = require("base.lists")
local schema = require("spec.schema")

local M = {}

local COLUMNS = 120 -- columns of a line of the module

local HEAD = [["""The sections of a spec as functions, whose keywords are the fields.

`make gen` writes this file from the fields of specs; do not edit it.
"""

from __future__ import annotations

from typing import Any, Literal


def _make_section(given):
    return {name: value for name, value in given.items() if value is not None}
]]

-- Python's types of the values of fields, by the type of the field. Fields of other types take values of several types.
local TYPES = { table = "dict", integer = "int", number = "float", boolean = "bool", source = "str", network = "str",
  symbol = "str", name = "str", names = "list", options = "dict", settings = "dict", by = "dict", parameters = "dict" }

local function format_type(field)
  local choices -- the words that the field takes, or nil
  if field.type == "choice" then
    choices = field.choices
  elseif field.kinds then
    choices = lists.get_names(field.kinds)
  elseif field.word then
    choices = { field.word }
  end
  local literal = choices and ("Literal[%s]"):format(table.concat(lists.map(choices, function(choice)
    return ('"%s"'):format(choice)
  end), ", "))
  local python_type = field.type == "kind" and "str" or TYPES[field.type]
  if field.takes_names then
    return python_type .. " | str | None"
  elseif field.word then
    return python_type .. " | " .. literal .. " | None"
  end
  return (literal or python_type) and (literal or python_type) .. " | None" or "Any"
end

-- Adds words to lines of at most COLUMNS columns: the first line begins with `start`, further lines with `indent`.
local function fill(lines, start, indent, words)
  local line, is_empty = start, true
  for _, word in ipairs(words) do
    if not is_empty and #line + 1 + #word > COLUMNS then
      lines[#lines + 1] = line
      line, is_empty = indent, true
    end
    line, is_empty = line .. (is_empty and "" or " ") .. word, false
  end
  lines[#lines + 1] = line
end

local function split_words(text)
  local words = {}
  for word in text:gmatch("%S+") do
    words[#words + 1] = word
  end
  return words
end

-- Adds the documentation of a field. name: its path within the section; fact: an entry of schema.list_facts().
local function add_documentation(lines, name, fact)
  -- The field whose value decides whether this field exists. fact.only lists the values with which it exists: values of
  -- `kind` in the same table if the schema's field has a list `only`, otherwise values of model.kind.
  local kind_field = schema.by_path[fact.path].only and "kind" or "model.kind"
  local kinds = fact.only and (" (%s %s)"):format(kind_field, table.concat(fact.only, ", ")) or ""
  local default_text = ""
  if fact.required then
    default_text = "; required"
  elseif fact.default and fact.default ~= "absent" then
    default_text = "; default: " .. fact.default
  end
  local values = fact.type ~= "table" and (" [%s%s]"):format(fact.takes, default_text) or ""
  fill(lines, "    ", "        ", split_words(escape.python(name .. kinds .. ": " .. fact.doc .. values)))
end

local function add_section(lines, section, facts)
  local name = section.name:gsub("^%l", string.upper)
  local parameters = { "*,", "use: str | None = None," }
  for _, field in ipairs(schema.children[section.path]) do
    parameters[#parameters + 1] = not field.numbered and ("%s: %s = None,"):format(field.name, format_type(field))
      or nil
  end
  parameters[#parameters] = parameters[#parameters]:gsub(",$", ") -> dict[str, Any]:")
  lists.append(lines, { "", "" })
  local head = ("def %s("):format(name)
  fill(lines, head, (" "):rep(#head), parameters)
  lists.append(lines, { ('    """%s. A field that is None is left out.'):format(escape.python(
    (section.doc:gsub("^%l", string.upper)))), "", "    use: the name of a preset, or of a spec with this section" })
  for _, fact in ipairs(facts) do
    local inner_path = fact.path:match("^" .. section.path .. "%.(.+)$")
    -- Fields of a family, such as encoding.encoder.score, repeat the shared fields, such as encoding.score.
    local is_copied_field = schema.by_path[fact.path].family and inner_path and inner_path:find(".", 1, true)
    if inner_path and not is_copied_field then
      add_documentation(lines, inner_path, fact)
    end
  end
  lists.append(lines, { '    """', "    return _make_section(locals())" })
end

function M.write()
  local lines, facts = {}, schema.list_facts().fields
  for _, field in ipairs(schema.children[""]) do
    if field.type == "table" then
      add_section(lines, field, facts)
    end
  end
  return HEAD .. table.concat(lines, "\n") .. "\n"
end

return M
