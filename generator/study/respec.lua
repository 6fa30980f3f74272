-- A resolved spec, as run.json has it, as the text of a spec file again.
--
-- Input: the decoded table. Output: Lua text that resolves to the same table, so that a run can be planned and built
-- long after its spec was changed; or nil and why not, where the spec names files of the user's own. That it is the
-- same is for the caller to see, by the plan digest.

local M = {}

local LEFT_OUT = { id = true, source = true }

local write_value

local function write_number(value)
  if math.type(value) == "integer" then
    return ("%d"):format(value)
  end
  local short = ("%.15g"):format(value)
  return tonumber(short) == value and short or ("%.17g"):format(value)
end

local function sorted_keys(from)
  local keys = {}
  for key in next, from do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  return keys
end

-- Fields of a table whose names are given, in their order.
local function write_fields(from, names, write)
  local parts = {}
  for _, name in ipairs(names) do
    parts[#parts + 1] = ("%s = %s"):format(name, (write or write_value)(from[name]))
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function write_list(list)
  local parts = {}
  for i, value in ipairs(list) do
    parts[i] = write_value(value)
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

function write_value(value)
  if type(value) == "number" then
    return write_number(value)
  elseif type(value) ~= "table" then
    return type(value) == "string" and ("%q"):format(value) or tostring(value)
  elseif value.first and value.last then -- lengths
    return ("{ %d, %d, step = %d }"):format(value.first, value.last, value.step or 1)
  elseif #value > 0 then
    return write_list(value)
  end
  return write_fields(value, sorted_keys(value))
end

-- Where the bracket closes that opens before `at`.
local function closing(text, at)
  local depth = 1
  for i = at, #text do
    local character = text:sub(i, i)
    depth = depth + (character == "(" and 1 or character == ")" and -1 or 0)
    if depth == 0 then
      return i
    end
  end
end

-- "sum(8, i: term)" of a printed formula as a spec writes it.
local function write_sums(text)
  local from, to, count, index = text:find("%f[%w]sum%((%d+), (i%d*): ")
  if not from then
    return text
  end
  local close = closing(text, to + 1)
  return ("%ssum(%s, function(%s) return %s end)%s"):format(text:sub(1, from - 1), count, index,
    write_sums(text:sub(to + 1, close - 1)), write_sums(text:sub(close + 1)))
end

-- A formula as expression/text.lua prints it, as the function that it was traced from might have been. Constants that
-- have become numbers of the formula are read, too: a parameter that is not is an error.
local function write_score(formula, parameters)
  local lines = {}
  for _, name in ipairs(sorted_keys(parameters or {})) do
    if not formula:find("%f[%w_]x%." .. name .. "%f[^%w_]") then
      lines[#lines + 1] = "local _ = x." .. name
    end
  end
  for part in (formula .. "; "):gmatch("(.-); ") do
    local named = part:find("^%l%d* = ")
    lines[#lines + 1] = (named and "local " or "return ") .. write_sums(part)
  end
  return "function(x) " .. table.concat(lines, " ") .. " end"
end

local function write_parameter(p)
  local out = { ("per = %q"):format(p.per) }
  if p.size then
    out[#out + 1] = ("index = { %d, %d }"):format(p.first, p.first + p.size - 1)
  end
  local spread = type(p.init) == "table" and ("{ %s = %s }"):format(p.init.kind, write_number(p.init.sigma))
  local start = p.values and write_list(p.values) or spread or write_number(p.init)
  out[#out + 1] = (p.learned and "init = " or "values = ") .. start
  if p.outside then
    out[#out + 1] = "outside = " .. write_value(p.outside)
  end
  return "{ " .. table.concat(out, ", ") .. " }"
end

local function write_encoding(encoding)
  local parts = {}
  for _, name in ipairs(sorted_keys(encoding)) do
    local value = encoding[name]
    local text = name == "score" and write_score(value, encoding.parameters)
      or name == "parameters" and write_fields(value, sorted_keys(value), write_parameter) or write_value(value)
    parts[#parts + 1] = ("    %s = %s,\n"):format(name, text)
  end
  return "{\n" .. table.concat(parts) .. "  }"
end

-- The text of a spec file.
function M.text(resolved)
  local task = resolved.task or {}
  if task.source or task.data then
    return nil, ("its task is a file of the user's own, %s"):format(task.source or task.data)
  end
  local parts = {}
  for _, name in ipairs(sorted_keys(resolved)) do
    if not LEFT_OUT[name] then
      local text = name == "encoding" and write_encoding(resolved.encoding) or write_value(resolved[name])
      parts[#parts + 1] = ("  %s = %s,\n"):format(name, text)
    end
  end
  return "return {\n" .. table.concat(parts) .. "}\n"
end

return M
