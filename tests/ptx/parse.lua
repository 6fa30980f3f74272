-- Parses a text of PTX to functions with parameters, registers and instructions; assemble.lua defines the meaning of
-- instructions. Unexpected text is an error with line and text.

local parse = {}

-- Raises "FILE:LINE: problem: text".
function parse.fail(where, problem)
  error(("%s:%d: %s: %s"):format(where.file, where.line, problem, where.text:gsub("%s+", " ")), 0)
end

local function trim(text)
  return (text:match("^%s*(.-)%s*$"))
end

-- Splits a text into statements in order: { line, text, ends } where ends is ";", "{", "}" or ":".
local function split_statements(file, text)
  text = text:gsub("//[^\n]*", "")
  local statements, position, line = {}, 1, 0
  local start, depth = nil, 0 -- the current statement's start and number of open braces
  while true do
    local from, _, mark = text:find("([\n;{}:])", position)
    if not from then
      break
    end
    if not start and text:find("^%s*[^%s;{}]", position) then
      local first = text:find("%S", position)
      if first < from then
        start = first
      end
    end
    local is_header = not start or text:find("^%.visible", start) or text:find("^%.func", start)
    if mark == "\n" then
      line = line + 1
    elseif mark == "{" and not is_header then
      depth = depth + 1
    elseif mark == "}" and depth > 0 then
      depth = depth - 1
    elseif mark ~= ":" or text:find("^%$[%w_]+:", start or from) then
      local statement = start and text:sub(start, from - 1) or ""
      local _, newlines = statement:gsub("\n", "")
      statements[#statements + 1] = { file = file, line = line - newlines, text = trim(statement), ends = mark }
      start = nil
    end
    position = from + 1
  end
  if start or trim(text:sub(position)) ~= "" then
    local text_after = text:sub(start or position)
    local _, newlines = text_after:gsub("\n", "")
    parse.fail({ file = file, line = line - newlines, text = trim(text_after:sub(1, 80)) }, "a statement without end")
  end
  return statements
end

-- "%r1|%p2, {%f1, %f2}, [%rd4+8], 0" -> operands, and their shape "x|x{xx}xx".
local function parse_operands(where, text)
  local operands, shape, remaining = {}, "", text
  while remaining ~= "" do
    local mark, text_after = remaining:match("^([{}|,])%s*(.*)$")
    if mark then
      shape = shape .. (mark == "," and "" or mark)
      remaining = text_after
    else
      local operand, rest = remaining:match("^(%[[^%]]*%])%s*(.*)$")
      if not operand then
        operand, rest = remaining:match("^([%w_%%.$-]+)%s*(.*)$")
      end
      if not operand then
        parse.fail(where, "unknown operands")
      end
      operands[#operands + 1] = operand
      shape, remaining = shape .. "x", rest
    end
  end
  return operands, shape
end

local function parse_parameters(where, text)
  local parameters = {}
  for item in text:gmatch("[^,]+") do
    local type_name, name = trim(item):match("^%.param%s+%.(%w+)%s+([%w_$]+)$")
    local bytes
    if not name then
      name, bytes = trim(item):match("^%.param%s+%.align%s+%d+%s+%.b8%s+([%w_$]+)%[(%d+)%]$")
      type_name = "bytes"
    end
    if not name then
      parse.fail(where, "unknown parameter")
    end
    parameters[#parameters + 1] = { name = name, type = type_name, bytes = tonumber(bytes) }
  end
  return parameters
end

local function parse_header(where)
  local kind, name, parameters, directives = where.text:match("^(%.[%l .]+)%s+([%w_$]+)%s*(%b())(.*)$")
  local is_kernel = kind and trim(kind) == ".visible .entry"
  if not kind or not (is_kernel or trim(kind) == ".func") then
    parse.fail(where, "unknown function")
  end
  for directive in directives:gmatch("%.%l+") do
    if directive ~= ".maxntid" and directive ~= ".minnctapersm" then
      parse.fail(where, "unknown directive")
    end
  end
  return { name = name, is_kernel = is_kernel, parameters = parse_parameters(where, parameters:sub(2, -2)),
    registers = {}, body = {}, line = where.line }
end

-- "@!%p1 call.uni f, (a, b)" and the like.
local function parse_instruction(where)
  local item = { file = where.file, line = where.line, text = where.text }
  local text = where.text
  local negation, guard, text_after = text:match("^@(!?)(%%[%w_]+)%s+(.*)$")
  if guard then
    item.guard, item.is_negated, text = guard, negation == "!", text_after
  end
  local form, operand_text = text:match("^([%l%d._:]+)%s*(.*)$")
  if not form or not form:match("^%l") then
    parse.fail(where, "unknown instruction")
  end
  item.form = form
  if form:match("^call") then
    local name, arguments = operand_text:match("^([%w_$]+)%s*,?%s*(%b())$")
    if not name then
      parse.fail(where, "unknown call")
    end
    item.callee, item.operands = name, parse_operands(where, trim(arguments:sub(2, -2)))
  else
    item.operands, item.shape = parse_operands(where, operand_text)
  end
  return item
end

-- Reads a directive within a function; returns false if the statement is no directive.
local function read_directive(where, current)
  local text = where.text
  if text:match('^%.pragma "nounroll"$') or text:match('^%.pragma "used_bytes_mask %d+"$') then
    return true
  end
  local type_name, prefix, count = text:match("^%.reg%s+%.(%w+)%s+%%([%w_]+)<(%d+)>$")
  if type_name then
    current.registers[#current.registers + 1] = { prefix = prefix, type = type_name, count = tonumber(count) }
    return true
  end
  type_name, prefix = text:match("^%.reg%s+%.(%w+)%s+%%?([%w_]+)$")
  if type_name then
    current.registers[#current.registers + 1] = { name = prefix, type = type_name }
    return true
  end
  local align, name, bytes = text:match("^%.local%s+%.align%s+(%d+)%s+%.b8%s+([%w_]+)%[(%d+)%]$")
  if name and not current.local_array then
    current.local_array = { name = name, bytes = tonumber(bytes), align = tonumber(align) }
    return true
  end
  type_name, name = text:match("^%.param%s+%.(%w+)%s+([%w_]+)$")
  if name then
    current.body[#current.body + 1] = { argument = name, type = type_name, line = where.line }
    return true
  end
  if text:match("^%.") then
    parse.fail(where, "unknown directive")
  end
  return false
end

-- Reads a statement between functions: an array in shared or global memory.
local function read_array(where, module)
  local text = where.text
  local shared = text:match("^%.extern%s+%.shared%s+%.align%s+%d+%s+%.b8%s+([%w_]+)%[%]$")
  local space, align, name, bytes, values =
    text:match("^%.(%l+)%s+%.align%s+(%d+)%s+%.b8%s+([%w_]+)%[(%d+)%]%s*=%s*{([%d%s,]*)}$")
  if shared then
    module.shared = shared
  elseif space == "global" or space == "const" then
    local data = { name = name, bytes = tonumber(bytes), align = tonumber(align), values = {} }
    for value in values:gmatch("%d+") do
      data.values[#data.values + 1] = tonumber(value)
    end
    module.data[#module.data + 1] = data
  else
    parse.fail(where, "unknown directive")
  end
end

local function read_statement(where, current)
  if where.ends == ":" then
    current.body[#current.body + 1] = { label = where.text, line = where.line }
  elseif where.ends == ";" and where.text ~= "" and not read_directive(where, current) then
    current.body[#current.body + 1] = parse_instruction(where)
  elseif where.ends ~= ";" and where.text ~= "" then
    parse.fail(where, "unknown statement")
  end
end

-- Returns the text without its header, whose lines have no ";".
local function remove_header(text)
  for _, head in ipairs({ "\n%.version %d+%.%d+%f[\n]", "\n%.target sm_%w+%f[\n]", "\n%.address_size 64%f[\n]" }) do
    text = text:gsub(head, "\n", 1)
  end
  return text
end

-- Returns { shared = name, data = { { name, bytes, align, values } },
--   functions = { { name, is_kernel, parameters, registers, local_array, body } } }
-- `shared` is the name of the array in shared memory. A parameter is { name, type, bytes }; an element of registers is
-- { prefix, type, count } or { name, type }; local_array is { name, bytes, align } or nil. An element of body is an
-- instruction (parse_instruction), { label = name }, or { argument = name, type = name }, an argument of the next call.
function parse.module(file, text)
  local module = { data = {}, functions = {} }
  local current, depth = nil, 0
  for _, where in ipairs(split_statements(file, remove_header("\n" .. text))) do
    if where.ends == "{" then
      if not current then
        current = parse_header(where)
        module.functions[#module.functions + 1] = current
      else
        read_statement(where, current)
      end
      depth = depth + 1
    elseif where.ends == "}" then
      depth = depth - 1
      if depth == 0 then
        current = nil
      end
    elseif current then
      read_statement(where, current)
    else
      read_array(where, module)
    end
  end
  return module
end

return parse
