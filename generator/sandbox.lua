-- Runs the text of a spec where it can reach nothing: no names, no strings' methods, bounded work and memory.
--
-- Input: the text of a Lua file, line ends "\n". Output: the value it returns, or nil and what went wrong as
-- { what, line, col, expected, hint }, line and col within the text.
-- Invariants: text only, never bytecode; the environment is empty and stays so; the string metatable is taken away
-- while the text runs and put back whatever happens; an error in the text cannot be caught by the text, because it
-- runs in a coroutine of its own and nothing in it can make another or protect a call.

local locate = require("locate")

local M = {}

M.INSTRUCTIONS = 2000000    -- a spec is data: the longest of ours runs a few hundred
M.MEMORY = 256 * 1024       -- KiB; the launcher's address-space limit stands behind it

local LEGAL = "constants, local names and arithmetic; a spec has no I/O, clock, randomness or modules"

local CHUNK = "spec"

local function global_problem(name, verb)
  return { problem = true, name = name, verb = verb, line = debug.getinfo(3, "l").currentline }
end

-- An empty environment whose missing names say so; there is no way to get at its metatable from inside.
local function environment()
  return setmetatable({}, {
    __index = function(_, name)
      error(global_problem(name, "read"))
    end,
    __newindex = function(_, name)
      error(global_problem(name, "set"))
    end,
  })
end

local function describe_global(text, problem)
  local name = type(problem.name) == "string" and problem.name or "_ENV[...]"
  local found = { line = problem.line, col = locate.column(text, problem.line, name) }
  if problem.verb == "set" then
    found.what = ('"%s" is set as a global; a spec has none'):format(name)
    found.hint = ("write local %s = ..."):format(name)
  else
    found.what = ('"%s" is not defined; a spec has no I/O and no library'):format(name)
  end
  found.expected = LEGAL
  return found
end

local function last_line(text)
  local _, breaks = text:gsub("\n", "\n")
  return math.max(1, text:sub(-1) == "\n" and breaks or breaks + 1)
end

local function describe_syntax(text, message)
  if message:find("attempt to load a binary chunk", 1, true) then
    return { what = "this is precompiled Lua", line = 1, col = 1, expected = "a text file" }
  end
  local line, what = message:match("^" .. CHUNK .. ":(%d+): (.*)$")
  line = math.min(tonumber(line) or 1, last_line(text))
  what = (what or message):match("^[^\n]*")
  local near = what:match("near '(.*)'$")
  local hint
  if what:find("^'}' expected") and near then
    hint = "a comma may be missing before it"
  end
  return { what = "not valid Lua: " .. what, line = line, col = locate.column(text, line, near), hint = hint }
end

local function describe_failure(text, message)
  if type(message) == "table" and message.problem then
    return describe_global(text, message)
  elseif message == "not enough memory" then
    return { what = "the spec ran out of memory", line = 1, expected = "a spec that describes, and computes little" }
  end
  local line, what = tostring(message):match("^" .. CHUNK .. ":(%d+): (.*)$")
  line, what = tonumber(line) or 1, what or tostring(message)
  if what:find("stack overflow", 1, true) then
    return { what = "a function calls itself without end", line = line, col = locate.column(text, line),
      expected = "calls at most some thousand deep" }
  elseif what == "instructions" then
    return { what = ("still running after %d instructions"):format(M.INSTRUCTIONS), line = line,
      col = locate.column(text, line), expected = "a spec that describes, and computes little",
      hint = "is there a loop that never ends?" }
  elseif what == "memory" then
    return { what = ("uses more than %d MB of memory"):format(M.MEMORY // 1024), line = line,
      col = locate.column(text, line), expected = "a spec that describes, and computes little" }
  end
  local name = what:match("%(%a+ '([%a_][%w_]*)'%)$")
  return { what = "the spec failed while it ran: " .. what, line = line, col = locate.column(text, line, name) }
end

-- A coroutine that runs the chunk under both limits. The hook looks after every instruction: one concatenation can
-- double the memory in use.
local function limited(chunk)
  local co = coroutine.create(chunk)
  local count, memory = 0, collectgarbage
  local instructions, kilobytes = M.INSTRUCTIONS, M.MEMORY + memory("count")
  debug.sethook(co, function()
    count = count + 1
    if count > instructions then
      error("instructions", 2)
    elseif memory("count") > kilobytes then
      memory("collect")
      if memory("count") > kilobytes then
        error("memory", 2)
      end
    end
  end, "", 1)
  return co
end

-- Compiles the text in a coroutine too: a parser's stack overflow calls the message handler around it, if there is one.
local function compile(text)
  local ok, chunk, message = coroutine.resume(coroutine.create(load), text, "=" .. CHUNK, "t", environment())
  if ok and chunk then
    return chunk
  end
  return nil, tostring(ok and message or chunk)
end

-- Runs the text; returns its first result (nil is an error), or nil and the error.
function M.run(text)
  local chunk, message = compile(text)
  if not chunk then
    return nil, describe_syntax(text, message)
  end
  local co = limited(chunk)
  local string_metatable = debug.getmetatable("")
  debug.setmetatable("", nil)
  local ok, value = coroutine.resume(co)
  debug.setmetatable("", string_metatable)
  if not ok then
    return nil, describe_failure(text, value)
  end
  if value == nil then
    return nil, { what = "the file returns nothing", line = last_line(text), expected = "return { ... }" }
  end
  return value
end

return M
