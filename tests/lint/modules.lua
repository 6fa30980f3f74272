-- Checks that every field of a required module that a file reads exists, which luacheck does not see: a renamed
-- function fails here, not in a verb that few tests call.
--
--     lua5.4 tests/lint/modules.lua
--
-- Prints "FILE:LINE: what is wrong"; the exit status is 1 if anything is.

package.path = "./generator/?.lua;./?.lua;tests/lua/?.lua;tests/support/?.lua;tests/ptx/?.lua;" .. package.path

local FOLDERS = { "generator", "lab", "tests/lint", "tests/lua", "tests/ptx" }

-- Returns the text with blanks in place of comments and strings, so that lines and columns stay.
local function mask(text)
  local function blank(span)
    return (span:gsub("[^\n]", " "))
  end
  text = text:gsub("\\.", "  "):gsub('"[^"\n]*"', blank):gsub("'[^'\n]*'", blank):gsub("%[%[.-%]%]", blank)
  return (text:gsub("%-%-[^\n]*", blank))
end

-- Whether a text defines a field of a module, as tests do that replace one.
local function defines(text, name, field)
  return text:find(("function %s%%.%s%%f[^%%w_]"):format(name, field)) or text:find(("%s%%.%s = "):format(name, field))
end

local has_failed = false

local function check_file(path)
  local file <close> = assert(io.open(path))
  local text = file:read("a")
  local modules = {}
  for name, module in text:gmatch('local ([%w_]+) = require%("([%w_.]+)"%)\n') do
    local is_loaded, value = pcall(require, module)
    if not is_loaded then
      print(("%s: %s cannot be loaded: %s"):format(path, module, value))
      has_failed = true
    end
    modules[name] = is_loaded and type(value) == "table" and { name = module, fields = value } or nil
  end
  local number = 0
  for line in mask(text):gmatch("([^\n]*)\n") do
    number = number + 1
    for name, field in line:gmatch("%f[%w_.:]([%a_][%w_]*)%.([%a_][%w_]*)") do
      local module = modules[name]
      if module and module.fields[field] == nil and not defines(text, name, field) then
        print(("%s:%d: %s.%s: %s has no such field"):format(path, number, name, field, module.name))
        has_failed = true
      end
    end
  end
end

local pipe <close> = io.popen(("find %s -name '*.lua' | sort"):format(table.concat(FOLDERS, " ")))
for path in pipe:lines() do
  check_file(path)
end
os.exit(not has_failed, true)
