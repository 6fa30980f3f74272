-- Shared parts of the fuzzers in Lua: changes of texts, numbered cases that run one after another, the command line.

local support = require("support")

local M = {}

-- Replaces the bytes first..last of a text.
function M.splice(text, first, last, new)
  return text:sub(1, first - 1) .. new .. text:sub(last + 1)
end

-- Changes, inserts, deletes or copies bytes at a random place, or cuts the text there. max_bytes: the largest number of
-- copied bytes; rng: a generator of random.lua.
function M.mutate_byte(rng, text, max_bytes)
  local position = rng:pick_number(#text + 1)
  local kind = rng:pick_number(5)
  if kind == 1 then
    return M.splice(text, position, position, string.char(rng:pick_number(256) - 1))
  elseif kind == 2 then
    return M.splice(text, position, position - 1, string.char(rng:pick_number(256) - 1))
  elseif kind == 3 then
    return M.splice(text, position, position + rng:pick_number(20) - 1, "")
  elseif kind == 4 then
    return text:sub(1, position - 1)
  end
  local first = rng:pick_number(#text + 1)
  return M.splice(text, position, position - 1, text:sub(first, first + rng:pick_number(max_bytes)))
end

-- Calls call(...), which may take this many instructions of Lua. Returns true and the result, or false and an error
-- with a stack trace.
function M.call_limited(instructions, call, ...)
  debug.sethook(function() error("still running after " .. instructions .. " instructions", 2) end, "", instructions)
  local has_succeeded, result = xpcall(call, debug.traceback, ...)
  debug.sethook()
  return has_succeeded, result
end

-- Runs `count` cases, beginning with case `first`, and returns { OUTCOME = count ..., failures = { text... } }.
--   outcomes             the names of all outcomes
--   try(seed, number)    runs one case; returns the name of its outcome, or nil and an error
--   watch(text)          receives each failure at once; may be nil
function M.run(outcomes, try, count, seed, first, watch)
  local result = { failures = {} }
  for _, outcome in ipairs(outcomes) do
    result[outcome] = 0
  end
  for number = first, first + count - 1 do
    local outcome, problem = try(seed, number)
    if outcome then
      result[outcome] = result[outcome] + 1
    else
      result.failures[#result.failures + 1] = ("seed %d case %d: %s"):format(seed, number, problem)
      if watch then
        watch(result.failures[#result.failures])
      end
    end
  end
  return result
end

local function read_arguments(name, cases, arguments)
  local options = { cases = cases, seed = 1, first = 1 }
  for i = 1, #arguments, 2 do
    local option = arguments[i]:match("^%-%-(%a+)$")
    local value = math.tointeger(tonumber(arguments[i + 1]))
    if not option or not value or (options[option] == nil and option ~= "case") then
      io.stderr:write(("usage: %s [--cases N] [--seed S] [--first N] [--case N]\n"):format(name))
      os.exit(2)
    end
    options[option] = value
  end
  return options
end

-- Runs a fuzzer as a program and ends it, with exit code 0 if no case failed. fuzzer: { name, cases = the default
-- number of cases, run(count, seed, first, watch), show_case(seed, number), describe(result) }.
function M.main(fuzzer, arguments)
  local options = read_arguments(fuzzer.name, fuzzer.cases, arguments)
  if options.case then
    fuzzer.show_case(options.seed, options.case)
    options.first, options.cases = options.case, 1
  end
  local result = fuzzer.run(options.cases, options.seed, options.first, function(text)
    io.write("FAILED: ", text, "\n")
  end)
  io.write(("%d cases of seed %d from %d on: %s, %d failures\n"):format(options.cases, options.seed, options.first,
    fuzzer.describe(result), #result.failures))
  support.clean()
  os.exit(#result.failures == 0)
end

return M
