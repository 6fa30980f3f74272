-- Shared parts of the fuzzers in Lua: numbered cases, run one after another, and the command line.
--
-- Input: functions of a fuzzer. Output: the number of each outcome, and failures with seed and number.

local M = {}

-- Runs try(seed, number) for cases first, first + 1, ...; try returns an outcome, or nil and an error. Returns {
-- OUTCOME = count ..., failures = { text... } }.
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

-- Runs a fuzzer; returns true if no case failed. fuzzer: { name, run, show_case(seed, number), words(result), cases };
-- cases: the default number.
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
    fuzzer.words(result), #result.failures))
  return #result.failures == 0
end

return M
