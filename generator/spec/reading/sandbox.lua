-- Runs the text of a spec, and later its functions, in isolation: without string methods, with bounded work and memory.
-- The only names are the functions of a dialect: the dialect of specs (expression/traced.lua), or a dialect that the
-- caller passes.
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
local SAFE_JOINS = 4        -- a file with at most this many operators `..` has the limit MEMORY, others a lower one
local STEP = 1000           -- instructions between two checks of usage
local COLLECTION_COST = 100000 -- a full garbage collection counts as this number of instructions
local KIB_PER_INSTRUCTION = 4 -- reading this much memory counts as an instruction, since one `..` can read all memory

local CHUNK = "spec"
M.SOURCE = "=" .. CHUNK -- the source of a text's functions, as debug.getinfo reports it

-- The dialect of specs. A dialect has the functions that a file may call, and words for the file in messages:
--   functions   the functions by name
--   names       the sorted names of the functions
--   noun        words for a file, such as "a spec"
--   returns     the statement with which a file must end
local SPEC = { functions = traced.functions, names = traced.names, noun = "a spec", returns = "return { ... }" }

-- An environment that contains only the functions of a dialect; the text cannot reach its metatable.
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

-- Describes the use of a name that the environment lacks. problem: { name, verb, value }, see make_environment.
local function describe_global(problem, dialect)
  local is_name, is_set = type(problem.name) == "string", problem.verb == "set"
  local name = is_name and problem.name or "_ENV[...]"
  local message, hint = '"%s" is not defined; %s has no I/O and no library', nil
  if is_set then
    message = '"%s" is set as a global; %s has none'
    hint = type(problem.value) == "table" and "the file returns its table: return { ... }"
      or ("write local %s = ..."):format(name)
  elseif is_name and #name > 2 then
    hint = similar_names.make_hint(name, dialect.names, "%s")
  end
  return { what = message:format(name, dialect.noun), hint = hint, word = name, assigned = is_set,
    expected = "constants, local names, arithmetic and " .. table.concat(dialect.names, " ") }
end

local function count_lines(text)
  local _, breaks = text:gsub("\n", "\n")
  return math.max(1, text:sub(-1) == "\n" and breaks or breaks + 1)
end

-- Describes a syntax error from Lua's message.
local function describe_syntax(text, message)
  if message:find("attempt to load a binary chunk", 1, true) then
    return { what = "this is precompiled Lua", line = 1, col = 1, expected = "a text file" }
  end
  local line, message_text = message:match("^" .. CHUNK .. ":(%d+): (.*)$")
  line = math.min(tonumber(line) or 1, count_lines(text))
  message_text = (message_text or message):match("^[^\n]*")
  local next_token = message_text:match("near '(.*)'$")
  local hint = next_token and message_text:find("^'}' expected") and "a comma may be missing before it" or nil
  return { what = "not valid Lua: " .. message_text, line = line, col = locate.find_column(text, line, next_token),
    hint = hint, syntax = true }
end

-- The line of the spec at which a coroutine failed; nil if the spec called a function of the generator by a tail call,
-- as in return log(x.a): then the spec's function is no longer on the stack.
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

local SMALL_SPEC = "a spec that describes settings and computes little"

-- Describes an error as { what, word, expected, hint }, with `line` if the error has one, and with `assigned` if a
-- global is set. An error of our own code is raised again.
local function describe_failure(err, co, dialect)
  if type(err) == "table" and err.name then
    return describe_global(err, dialect)
  elseif type(err) == "table" and err.problem then
    return err
  elseif err == "not enough memory" then
    return { what = "the spec ran out of memory", expected = SMALL_SPEC }
  end
  local message = tostring(err):match("^" .. CHUNK .. ":%d+: (.*)$")
  if tostring(err):find("stack overflow", 1, true) then
    return { what = "a function calls itself without end", expected = "at most some thousand nested calls" }
  elseif not message then
    error(debug.traceback(co, tostring(err)), 0)
  end
  local is_in_loop = dialect == SPEC and message:find("'for'", 1, true)
  return { what = "the spec failed while it ran: " .. message,
    word = is_in_loop and "for" or message:match("%(%a+ '([%a_][%w_]*)'%)$"),
    expected = is_in_loop and "plain numbers that are known before the run, such as x.heads and x.layers" or nil }
end

-- The message for the limit on memory; string methods are missing while the limits are active.
local function describe_limit(limits)
  local reason = limits.joins > SAFE_JOINS and string.format(", and %d joins of texts could multiply the memory",
    limits.joins) or ""
  return { problem = true, what = string.format("the code uses more than %d MB of memory%s", limits.memory // 1024,
      reason),
    expected = SMALL_SPEC }
end

-- The instructions that the functions and files of one spec may execute together.
function M.make_budget()
  return { instructions = M.INSTRUCTIONS }
end

-- Limits for a text: { step, joins, memory }, the number of instructions between checks, the number of operators .. in
-- the text, and the memory limit in KiB. A join of strings is the only instruction that can multiply the memory in use,
-- or read all of it. So if a text joins strings, usage is checked after each instruction. Each instruction then also
-- costs the budget one instruction per KIB_PER_INSTRUCTION KiB of memory in use, since it may have read all of it. With
-- more than SAFE_JOINS operators the memory limit is lower.
local function choose_limits(text)
  local _, joins = text:gsub("%.%.", "")
  return { step = joins > 0 and 1 or STEP, joins = joins,
    memory = M.MEMORY * SAFE_JOINS // math.max(joins, SAFE_JOINS) }
end

-- Makes a hook that stops code that exceeds its budget or its memory. Every call of the code costs at least `step`
-- instructions of the budget, even if it ends before the first check.
local function make_limiter(budget, limits)
  local max_memory, step = limits.memory, limits.step
  if step == 1 or collectgarbage("count") > max_memory then
    collectgarbage("collect") -- garbage of earlier code does not count
  end
  local base_memory = collectgarbage("count")
  budget.instructions = budget.instructions - step
  return function()
    local used_memory = collectgarbage("count") - base_memory
    -- While a function of the generator runs, the text itself joins no strings, so no memory is charged.
    local may_join = step == 1 and used_memory > 0 and not objects.is_in_generator
    budget.instructions = budget.instructions - step - (may_join and used_memory // KIB_PER_INSTRUCTION or 0)
    if budget.instructions < 0 then
      error({ problem = true, what = string.format("the code still runs after %d instructions", M.INSTRUCTIONS),
        expected = SMALL_SPEC, hint = "is there a loop that never ends?" })
    elseif used_memory > max_memory then
      budget.instructions = budget.instructions - COLLECTION_COST
      collectgarbage("collect")
      if collectgarbage("count") - base_memory > max_memory then
        error(describe_limit(limits))
      end
    end
  end
end

-- Runs f(argument) in a coroutine with a debug hook; returns whether it succeeded, its result or error, the coroutine.
local function resume(f, argument, hook, mask, step)
  local co = coroutine.create(f)
  debug.sethook(co, hook, mask, step)
  local string_metatable = debug.getmetatable("")
  debug.setmetatable("", nil)
  objects.is_in_generator = false
  local ok, value = coroutine.resume(co, argument)
  debug.setmetatable("", string_metatable)
  return ok, value, co
end

-- The line of the spec that ran last before f failed; 1 if no line ran. Runs f again with a line hook.
local function find_last_line(f, argument, limits)
  local check_limits, last_line = make_limiter(M.make_budget(), limits), nil
  resume(f, argument, function(event, line)
    if event ~= "line" then
      check_limits()
    elseif debug.getinfo(2, "S").source == M.SOURCE then
      last_line = line
    end
  end, "l", limits.step)
  return last_line or 1
end

-- Calls a function from the text with one argument; returns its first result, which may be nil; or nil and the problem.
-- budget: by default a new budget; dialect: by default the dialect of specs.
function M.call(text, f, argument, budget, dialect)
  dialect = dialect or SPEC
  local limits = choose_limits(text)
  local ok, value, co = resume(f, argument, make_limiter(budget or M.make_budget(), limits), "", limits.step)
  if ok then
    return value
  end
  local failure = describe_failure(value, co, dialect)
  local line = math.min(failure.line or find_failure(co) or find_last_line(f, argument, limits), count_lines(text))
  line = failure.assigned and locate.find_assignment(text, line, failure.word) or line
  failure.hint = failure.hint or failure.word and common_mistakes.explain_name(failure.word, text, line)
  return nil, { what = failure.what, line = line, col = locate.find_column(text, line, failure.word),
    expected = failure.expected, hint = failure.hint }
end

-- Compiles the text in a coroutine of its own. In the caller's coroutine, a stack overflow of the parser would call the
-- message handler of an enclosing xpcall.
local function compile(text, dialect)
  local ok, chunk, message = coroutine.resume(coroutine.create(load), text, M.SOURCE, "t", make_environment(dialect))
  if ok and chunk then
    return chunk
  end
  return nil, tostring(ok and message or chunk)
end

-- Runs the text; returns its first result, or nil and the problem. A text that returns nil is a problem. budget: by
-- default a new budget; dialect: by default the dialect of specs.
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
