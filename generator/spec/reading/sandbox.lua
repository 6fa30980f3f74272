-- Runs the text of a spec, and later its functions, in isolation: without string methods, with bounded work and memory,
-- and with no names but the functions of a dialect: the dialect of score expressions (expression/traced.lua), or
-- another that the caller passes.
--
-- Input: the text of a Lua file, line ends "\n". Output: the value that the text returns, or nil and the problem as {
-- what, line, col, expected, hint, syntax }. line and col are within the text; syntax: the text is not valid Lua.
-- Invariants: the input is text, never bytecode; the environment cannot be changed; the string metatable is removed
-- while the text runs and always restored afterwards; the text cannot catch an error, because it runs in a coroutine
-- and can neither make another coroutine nor protect a call; the limits of a spec depend on counts alone, never on a
-- clock.

local common_mistakes = require("spec.hints.common_mistakes")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")
local objects = require("expression.objects")
local traced = require("expression.traced")

local M = {}

M.INSTRUCTIONS = 5000000    -- instructions of a budget; tracing a score of our presets takes less than a hundredth
M.MEMORY = 128 * 1024       -- KiB; the launcher limits the address space as well
local SAFE_JOINS = 4        -- operators .. in a file for which MEMORY is the limit; with more, the limit is lower
local STEP = 1000           -- instructions between two checks of usage
local COLLECTION = 100000   -- instructions that a full garbage collection counts as
local KB_OF_WORK = 4        -- KiB of memory that count as an instruction, if one instruction can visit all memory

local CHUNK = "spec"
M.SOURCE = "=" .. CHUNK -- the source of a text's functions, as debug.getinfo reports it

-- A dialect: the functions that a file may call, and the words for the file in messages.
--   functions, names   the functions by name, and their names, sorted
--   noun, returns      the word for a file, "a spec"; the statement with which a file must end
local SPEC = { functions = traced.functions, names = traced.names, noun = "a spec", returns = "return { ... }" }

-- An environment that contains the functions alone; the text cannot reach its metatable.
local function make_environment(dialect)
  return setmetatable({}, {
    __index = function(_, name)
      return dialect.functions[name] or error({ problem = true, name = name, verb = "read" })
    end,
    __newindex = function(_, name, value)
      error({ problem = true, name = name, verb = "set", value = value })
    end,
  })
end

local function describe_global(problem, dialect)
  local is_name, set = type(problem.name) == "string", problem.verb == "set"
  local name = is_name and problem.name or "_ENV[...]"
  local what, hint = '"%s" is not defined; %s has no I/O and no library', nil
  if set then
    what = '"%s" is set as a global; %s has none'
    hint = type(problem.value) == "table" and "the file returns its table: return { ... }"
      or ("write local %s = ..."):format(name)
  elseif is_name and #name > 2 then
    hint = similar_names.make_hint(name, dialect.names, "%s")
  end
  return { what = what:format(name, dialect.noun), hint = hint, word = name, assigned = set,
    expected = "constants, local names, arithmetic and " .. table.concat(dialect.names, " ") }
end

local function count_lines(text)
  local _, breaks = text:gsub("\n", "\n")
  return math.max(1, text:sub(-1) == "\n" and breaks or breaks + 1)
end

local function describe_syntax(text, message)
  if message:find("attempt to load a binary chunk", 1, true) then
    return { what = "this is precompiled Lua", line = 1, col = 1, expected = "a text file" }
  end
  local line, what = message:match("^" .. CHUNK .. ":(%d+): (.*)$")
  line = math.min(tonumber(line) or 1, count_lines(text))
  what = (what or message):match("^[^\n]*")
  local near = what:match("near '(.*)'$")
  local hint = near and what:find("^'}' expected") and "a comma may be missing before it" or nil
  return { what = "not valid Lua: " .. what, line = line, col = locate.find_column(text, line, near), hint = hint,
    syntax = true }
end

-- The line of the spec at which a coroutine failed; nil if a function of ours was called by a tail call, as in return
-- log(x.a): then the caller is no longer on the stack.
local function find_failure(co)
  for level = 0, math.huge do
    local frame = debug.getinfo(co, level, "Slt")
    if not frame or frame.istailcall and frame.what == "Lua" and frame.source ~= M.SOURCE then
      return nil
    elseif frame.source == M.SOURCE then
      return frame.currentline
    end
  end
end

local LITTLE = "a spec that describes, and computes little"

-- Describes an error as { what, word, expected, hint }, with `line` if the error has one, and with `assigned` if a
-- global is set. An error of our own code is raised again.
local function describe_failure(err, co, dialect)
  if type(err) == "table" and err.name then
    return describe_global(err, dialect)
  elseif type(err) == "table" and err.problem then
    return err
  elseif err == "not enough memory" then
    return { what = "the spec ran out of memory", expected = LITTLE }
  end
  local what = tostring(err):match("^" .. CHUNK .. ":%d+: (.*)$")
  if tostring(err):find("stack overflow", 1, true) then
    return { what = "a function calls itself without end", expected = "calls at most some thousand deep" }
  elseif not what then
    error(debug.traceback(co, tostring(err)), 0)
  end
  local loops = dialect == SPEC and what:find("'for'", 1, true)
  return { what = "the spec failed while it ran: " .. what,
    word = loops and "for" or what:match("%(%a+ '([%a_][%w_]*)'%)$"),
    expected = loops and "plain numbers, known before the run; x.heads and x.layers are such" or nil }
end

-- The message for the limit on memory; string methods are missing while the limits are active.
local function describe_limit(limits)
  local joins = limits.joins > SAFE_JOINS and string.format(", which its %d joins of texts could multiply",
    limits.joins) or ""
  return { problem = true, what = string.format("uses more than %d MB of memory%s", limits.memory // 1024, joins),
    expected = LITTLE }
end

-- The instructions that the functions and files of one spec may execute together.
function M.make_budget()
  return { instructions = M.INSTRUCTIONS }
end

-- Limits for a text: { step, joins, memory }, the number of instructions between checks, the number of operators .. in
-- the text, and the memory limit in KiB. Joining strings is the one instruction that can multiply memory, by the number
-- of strings, or read all of memory. So if a text joins strings, there is a check after each instruction, and each
-- instruction counts for the memory that it may have read. With more than SAFE_JOINS operators the memory limit is
-- lower.
local function choose_limits(text)
  local _, joins = text:gsub("%.%.", "")
  return { step = joins > 0 and 1 or STEP, joins = joins,
    memory = M.MEMORY * SAFE_JOINS // math.max(joins, SAFE_JOINS) }
end

-- A hook that stops code that exceeds its work or memory. Every call costs at least `step` instructions of the budget,
-- even if it ends before the first check.
local function make_limiter(budget, limits)
  local max_memory, step = limits.memory, limits.step
  if step == 1 or collectgarbage("count") > max_memory then
    collectgarbage("collect") -- garbage of earlier code does not count
  end
  local before = collectgarbage("count")
  budget.instructions = budget.instructions - step
  return function()
    local held = collectgarbage("count") - before
    local joins = step == 1 and held > 0 and not objects.is_ours -- our code joins none of the text's strings
    budget.instructions = budget.instructions - step - (joins and held // KB_OF_WORK or 0)
    if budget.instructions < 0 then
      error({ problem = true, what = string.format("still running after %d instructions", M.INSTRUCTIONS),
        expected = LITTLE, hint = "is there a loop that never ends?" })
    elseif held > max_memory then
      budget.instructions = budget.instructions - COLLECTION
      collectgarbage("collect")
      if collectgarbage("count") - before > max_memory then
        error(describe_limit(limits))
      end
    end
  end
end

local function resume(f, argument, hook, mask, step)
  local co = coroutine.create(f)
  debug.sethook(co, hook, mask, step)
  local string_metatable = debug.getmetatable("")
  debug.setmetatable("", nil)
  objects.is_ours = false
  local ok, value = coroutine.resume(co, argument)
  debug.setmetatable("", string_metatable)
  return ok, value, co
end

-- The line of the spec that ran last before f failed: f runs again with a line hook. Line 1 if no line of the spec ran.
local function find_watched_line(f, argument, limits)
  local limit, last = make_limiter(M.make_budget(), limits), nil
  resume(f, argument, function(event, line)
    if event ~= "line" then
      limit()
    elseif debug.getinfo(2, "S").source == M.SOURCE then
      last = line
    end
  end, "l", limits.step)
  return last or 1
end

-- Calls a function from the text with one argument, within a budget, by default its own: returns its first result,
-- which may be nil; or nil and the problem. dialect: by default that of specs.
function M.call(text, f, argument, budget, dialect)
  dialect = dialect or SPEC
  local limits = choose_limits(text)
  local ok, value, co = resume(f, argument, make_limiter(budget or M.make_budget(), limits), "", limits.step)
  if ok then
    return value
  end
  local found = describe_failure(value, co, dialect)
  local line = math.min(found.line or find_failure(co) or find_watched_line(f, argument, limits), count_lines(text))
  line = found.assigned and locate.find_assignment(text, line, found.word) or line
  found.hint = found.hint or found.word and common_mistakes.explain_name(found.word, text, line)
  return nil, { what = found.what, line = line, col = locate.find_column(text, line, found.word),
    expected = found.expected, hint = found.hint }
end

-- Compiles the text, also in a coroutine: on a stack overflow the parser would call an enclosing message handler.
local function compile(text, dialect)
  local ok, chunk, message = coroutine.resume(coroutine.create(load), text, M.SOURCE, "t", make_environment(dialect))
  if ok and chunk then
    return chunk
  end
  return nil, tostring(ok and message or chunk)
end

-- Runs the text within a budget, by default its own; returns its first result, or nil and the problem. A text that
-- returns nil is a problem. dialect: by default that of specs.
function M.run(text, budget, dialect)
  dialect = dialect or SPEC
  local chunk, message = compile(text, dialect)
  if not chunk then
    return nil, describe_syntax(text, message)
  end
  local value, problem = M.call(text, chunk, nil, budget, dialect)
  if problem then
    return nil, problem
  elseif value == nil then
    return nil, { what = "the file returns nothing", line = count_lines(text),
      expected = dialect.returns .. " at its end" }
  end
  return value
end

-- Returns the position { line, col } at which a function of the text begins; nil for a function of the dialect.
function M.find_function(text, f)
  local info = debug.getinfo(f, "S")
  return info.source == M.SOURCE
    and { line = info.linedefined, col = locate.find_column(text, info.linedefined, "function") } or nil
end

return M
