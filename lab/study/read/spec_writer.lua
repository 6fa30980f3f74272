-- Writes the text of a spec file for the resolved spec in a run.json.
--
-- Input: the field `spec` of a run.json (run_files.lua).
-- Output: Lua text that resolves to an equal table. With this text a run can be planned and built after its spec file
-- has changed. The callers compare plan digests to verify the text.
-- The output is nil and the reason if the spec names the user's own files, has a field that this version does not know,
-- or has a score that is not a formula.
-- Invariant: the text is one table of fields of the schema, whatever strings the input contains.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local inherit = require("spec.reading.inherit")
local lists = require("base.lists")
local schema = require("spec.schema")
local escape = require("base.escape")

local M = {}

local NOT_IN_FILES = { id = true, source = true } -- fields of a resolved spec that a spec file does not set

local write_value

-- Writes a table of fields by name. write: the function that writes the value of a field; nil: write_value.
local function write_fields(fields, write)
  local parts = lists.map(canonical.sort_keys(fields), function(name)
    return ("%s = %s"):format(name, (write or write_value)(fields[name]))
  end)
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function write_list(values)
  return "{ " .. table.concat(lists.map(values, function(value) return write_value(value) end), ", ") .. " }"
end

function write_value(value)
  if type(value) == "string" then
    return ("%q"):format(value)
  elseif type(value) ~= "table" then
    return canonical.format(value)
  elseif value.first and value.last then -- lengths
    local other_fields = lists.merge(value, { step = value.step or 1 })
    other_fields.first, other_fields.last = nil, nil
    local fields_text = write_fields(other_fields):sub(3) -- without the opening brace
    return ("{ %d, %d, %s"):format(value.first, value.last, fields_text)
  end
  return #value > 0 and write_list(value) or write_fields(value)
end

-- Returns a printed formula (expression/text.lua) with its sums in the form of a spec:
-- "sum(8, i: term)" becomes "sum(8, function(i) return term end)".
local function write_sums(text)
  local parts, closers, position = {}, {}, 1
  for bracket, next_position in text:gmatch("([()])()") do
    local text_before = text:sub(position, next_position - 2)
    if bracket == ")" then
      parts[#parts + 1], position = text_before .. (table.remove(closers) or ")"), next_position
    else
      local count, index, body_position = text:match("^(%d+), (i%d*): ()", next_position)
      local is_sum = count and text_before:find("%f[%w]sum$")
      parts[#parts + 1] = text_before .. "(" .. (is_sum and ("%s, function(%s) return "):format(count, index) or "")
      closers[#closers + 1], position = is_sum and " end)" or ")", is_sum and body_position or next_position
    end
  end
  return table.concat(parts) .. text:sub(position)
end

-- Writes a printed formula (expression/text.lua) as a function for a spec.
local function write_score(formula, parameters)
  local lines = {}
  -- The formula may have the value of a parameter in place of its name. But a score must read all its parameters.
  for _, name in ipairs(canonical.sort_keys(parameters or {})) do
    if not formula:find("%f[%w_]x%." .. name .. "%f[^%w_]") then
      lines[#lines + 1] = "local _ = x." .. name
    end
  end
  for statement in (formula .. "; "):gmatch("(.-); ") do
    local is_named = statement:find("^%l%d* = ")
    lines[#lines + 1] = (is_named and "local " or "return ") .. write_sums(statement)
  end
  return "function(x) " .. table.concat(lines, " ") .. " end"
end

-- Returns the Lua text of a parameter of a score.
local function write_parameter(parameter)
  local out, init = { ("per = %q"):format(parameter.per) }, parameter.init
  if parameter.from then
    out[#out + 1] = ("from = %q, unit = %s"):format(parameter.from, parameter.unit or false)
  end
  if parameter.size then
    out[#out + 1] = ("index = { %d, %d }"):format(parameter.first, parameter.first + parameter.size - 1)
  end
  local distribution = type(init) == "table" and ("{ %s = %s }"):format(init.kind, canonical.format(init.sigma))
  local first_values = parameter.values and write_list(parameter.values) or distribution or canonical.format(init)
  out[#out + 1] = (parameter.learned and "init = " or "values = ") .. first_values
  if parameter.outside then
    out[#out + 1] = "outside = " .. write_value(parameter.outside)
  end
  return "{ " .. table.concat(out, ", ") .. " }"
end

-- Returns the default of a field (an entry of spec/schema.lua); nil for a field that no resolved spec omits.
local function get_omitted_default(field)
  return field.type == "table" and field.omitted_value and { kind = field.omitted_value } or field.omitted_value
end

-- Returns the value of a facet in an attention family's own encoding, with the defaults of all omitted fields. If the
-- text omitted a field, the family would inherit the field from the encoding of all families.
local function complete_facet(facet, value)
  local out = lists.copy(value)
  for _, field in ipairs(value.kind ~= "none" and schema.children["encoding." .. facet] or {}) do
    if out[field.name] == nil and schema.allows(field, value.kind) then
      out[field.name] = get_omitted_default(field)
    end
  end
  return out
end

-- Writes an encoding. is_own: whether it is the table of one attention family inside the encoding of all families.
local function write_encoding(encoding, is_own)
  local parts = {}
  for _, name in ipairs(canonical.sort_keys(encoding)) do
    local value = encoding[name]
    value = is_own and name ~= "parameters" and type(value) == "table" and complete_facet(name, value) or value
    local text
    if families.is_name[name] then
      text = write_encoding(value, true)
    elseif name == "score" and value == "none" then
      text = '{ kind = "none" }'
    elseif name == "score" then
      text = write_score(value, encoding.parameters)
    elseif name == "parameters" then
      text = write_fields(value, write_parameter)
    else
      text = write_value(value)
    end
    parts[#parts + 1] = ("    %s = %s,\n"):format(name, text)
  end
  return "{\n" .. table.concat(parts) .. "  }"
end

-- Patterns that occur in no formula: they could end the enclosing function, or hide the rest of a line.
local NOT_IN_FORMULAS = { "%f[%w_]end%f[^%w_]", "%f[%w_]function%f[^%w_]", "%f[%w_]return%f[^%w_]", "%-%-",
  "[%c\"'%[\\]" }

-- Returns a text on the first unknown field, or on a score that is not a formula; nil if the table is valid.
-- section: a table of the spec; path: the table's path with a dot at the end, "" for the whole spec.
local function find_invalid(section, path)
  for _, name in ipairs(canonical.sort_keys(section)) do
    local field_path = path .. name
    local field = schema.by_path[field_path]
    local is_table = field and field.type == "table" and type(section[name]) == "table"
    local inner_problem = is_table and find_invalid(section[name], field_path .. ".")
    if inner_problem then
      return inner_problem
    elseif not field and not NOT_IN_FILES[field_path] then
      return "it has the field " .. diagnostics.show(field_path) .. ", which this version does not have"
    end
  end
  local score = schema.by_path[path .. "score"] and section.score
  local is_invalid = score and lists.find(NOT_IN_FORMULAS, function(pattern) return score:find(pattern) end)
  return is_invalid and ("its %sscore is not a formula"):format(path) or nil
end

-- Fields that M.list_settings leaves out: they name the user's own files, or --set cannot set them.
local NOT_IN_SETTINGS = { id = true, source = true, init = true, ["task.source"] = true, ["task.data"] = true,
  ["task.validation"] = true, ["model.source"] = true, ["encoding.score"] = true, ["encoding.parameters"] = true }

-- Appends the words for one table of the specs. path: the table's path with a dot at the end, "" for the whole spec.
local function add_settings(settings, target, current, path)
  for _, name in ipairs(canonical.merge_keys(target, current)) do
    local field_path, field = path .. name, schema.by_path[path .. name]
    local target_value, current_value = target[name], current[name]
    if target_value == nil and field and field.omitted_value == "empty" then
      target_value = {} -- a resolved spec omits this table if all its fields have their defaults
    elseif target_value == nil and field and field.omitted_value then
      target_value = get_omitted_default(field)
    end
    if field and field.type == "table" and type(target_value) == "table" then
      add_settings(settings, target_value, type(current_value) == "table" and current_value or {}, field_path .. ".")
    elseif target_value ~= nil and not NOT_IN_SETTINGS[field_path]
      and canonical.format({ target_value }) ~= canonical.format({ current_value }) then
      settings[#settings + 1] = ("%s=%s"):format(field_path, write_value(target_value))
    end
  end
end

-- Returns the words of --set that turn the resolved spec `current` into `target`, as far as --set can express them.
function M.list_settings(target, current)
  local list = {}
  add_settings(list, target, current, "")
  return list
end

-- Fields that name the user's own files, each with the beginning of a message about its file.
local USER_FILES = { { "task.source", "its task is" }, { "task.data", "its task is" },
  { "task.validation", "its task is" },
  { "model.source", "its network is" }, { "init", "its initial parameters are from" } }

-- Returns the text of a spec file; or nil and the reason.
function M.write_spec(resolved)
  for _, entry in ipairs(USER_FILES) do
    local file = lists.get(resolved, entry[1])
    if file then
      return nil, ("%s a file of the user's own, %s"):format(entry[2], escape.plain(tostring(file)))
    end
  end
  local problem = find_invalid(resolved, "")
  local parts = lists.map(problem and {} or canonical.sort_keys(resolved), function(name)
    return not NOT_IN_FILES[name] and ("  %s = %s,\n"):format(name, name == "encoding"
      and write_encoding(inherit.write_out(resolved.encoding, resolved.model)) or write_value(resolved[name])) or nil
  end)
  return not problem and ("return {\n%s}\n"):format(table.concat(parts)) or nil, problem
end

return M
