-- Checks that a model's tests find faults in a text of PTX:
--
--     lua5.4 tests/ptx/check_mutants.lua TEST TEXT FOLDER [all | decoding]
--
-- TEST is a test_model program of tests/emulation, TEXT the file with the PTX of its model; a mutant has one changed
-- line. Without a last argument, or with `all`, the model has products on tensor cores, and a mutant has a wrong
-- operand or a weaker memory order, or lacks a barrier: with `all` any barrier, otherwise the first barrier of one of
-- four functions. With `decoding`, the model is a decoder, and a mutant lacks a barrier of a function that decodes.
-- Tests must find a share of the mutants that lack a barrier, and all other mutants. Prints "ok NAME", "not ok NAME".

package.path = ("%s/?.lua;%s"):format(arg[0]:match("^(.*)/check_mutants%.lua$") or ".", package.path)
local files = require("files")

local test, path, folder, selection = arg[1], arg[2], arg[3], arg[4]

-- The least share of left-out barriers that tests must find. It is not 1, since one of two consecutive barriers is
-- enough, and since not every line runs in a test.
local LEAST_SHARE = 0.75
local barriers_left_out, barriers_found = 0, 0

-- Lists of tests, by the effect of a fault: wrong values, results that depend on the order of threads. The tests of a
-- list run one after the other until one fails.
local LONG = "test_gradient_of_long_sequences_in_one_shard_is_that_of_the_cpu" -- many rows, in separate tiles
local VALUES = { "test_gradient_of_every_length_is_that_of_the_cpu", LONG }
local ORDERS = { "test_step_in_any_order_of_threads_and_team_size_has_the_same_bits", LONG }
local DECODING = { "test_decoding_in_any_order_and_group_has_the_same_bits" }
local ALL_TESTS = { ORDERS[1], "test_evaluation_is_that_of_the_cpu", LONG }

-- Returns { first, last } of each match.
local function find_matches(text, pattern)
  local found, position = {}, 1
  while true do
    local first, last = text:find(pattern, position)
    if not first then
      return found
    end
    found[#found + 1] = { first, last }
    position = last + 1
  end
end

local function count_lines(text, position)
  local _, lines = text:sub(1, position):gsub("\n", "")
  return lines + 1
end

local function replace_at(text, place, pattern, replacement)
  return text:sub(1, place[1] - 1) .. text:sub(place[1], place[2]):gsub(pattern, replacement) .. text:sub(place[2] + 1)
end

local text = files.read(path)
local mutants = {} -- { name, text, tests }

-- Adds the mutant whose text is changed between the two positions of `place`.
local function add_mutant(name, place, pattern, replacement, tests)
  local changed = replace_at(text, place, pattern, replacement)
  assert(changed ~= text, name)
  mutants[#mutants + 1] = { name = ("%s at line %d"):format(name, count_lines(text, place[1])), text = changed,
    tests = tests }
end

-- Returns at most `count` evenly spread elements of a list.
local function sample(list, count)
  local chosen = {}
  for i = 1, math.min(count, #list) do
    chosen[i] = list[(i - 1) * #list // count + 1]
  end
  return chosen
end

local function change_instructions()
  for _, place in ipairs(sample(find_matches(text, "mma%.sync[^;]*;"), 1)) do
    add_mutant("fragments of b exchanged", place, "{(%%r%d+), (%%r%d+)}, {([^}]*)};$", "{%2, %1}, {%3};", VALUES)
    add_mutant("fragments of a exchanged", place, "}, {(%%r%d+), (%%r%d+), (%%r%d+), (%%r%d+)}, {",
      "}, {%1, %3, %2, %4}, {", VALUES)
  end
  for _, place in ipairs(sample(find_matches(text, "ld%.global%.v4%.f32 \t[^;]*%+16%];"), 1)) do
    add_mutant("a load from the wrong half", place, "%+16%]", "]", VALUES)
  end
  add_mutant("a release taken away", find_matches(text, "red%.release[^;]*;")[1], "release", "relaxed", ORDERS)
  add_mutant("an acquire taken away", find_matches(text, "ld%.acquire[^;]*;")[1], "acquire", "relaxed", ORDERS)
end

local BARRIER = "\tbar%.sync \t0;"
if selection ~= "decoding" then
  change_instructions()
end
if selection == "decoding" then
  for _, place in ipairs(find_matches(text, "\n%.func[^{]*{.-\n}")) do
    local body = text:sub(place[1], place[2])
    for _, barrier in ipairs(body:find("^[^{]*%d+attend_one") and find_matches(body, BARRIER) or {}) do
      local start = place[1] - 1
      add_mutant("a barrier left out", { start + barrier[1], start + barrier[2] }, "bar%.sync \t0;", "", DECODING)
    end
  end
elseif selection == "all" then
  for _, place in ipairs(find_matches(text, BARRIER)) do
    add_mutant("a barrier left out", place, "bar%.sync \t0;", "", ALL_TESTS)
  end
else
  for _, place in ipairs(sample(find_matches(text, "\n%.func.-" .. BARRIER), 4)) do
    add_mutant("a barrier left out", { place[2] - 11, place[2] }, "bar%.sync \t0;", "", ORDERS)
  end
end

-- Returns the message with which a test fails for the mutant in mutant.program, or nil if the test passes.
local function run_mutant(name)
  local environment = ("LONGHAND_PTX_RACES=1 LONGHAND_TESTS=%s LONGHAND_PTX=%s/mutant.program"):format(name, folder)
  local has_passed = os.execute(("%s timeout 120 %s >%s/mutant.log 2>&1"):format(environment, test, folder))
  local log = files.read(folder .. "/mutant.log")
  assert(log:find("Running 1 test", 1, true), "there is no test " .. name)
  return not has_passed and (log:match("status 1: ([^\n]*)") or "by its numbers") or nil
end

for _, mutant in ipairs(mutants) do
  files.write_program(folder .. "/mutant.program", "mutant.ptx", mutant.text)
  local failure
  for _, name in ipairs(mutant.tests) do
    failure = failure or run_mutant(name)
  end
  if mutant.name:find("^a barrier") then
    barriers_left_out, barriers_found = barriers_left_out + 1, barriers_found + (failure and 1 or 0)
    print(("%s: %s"):format(mutant.name, failure or "nothing"))
  else
    print(failure and ("ok %s is found: %s"):format(mutant.name, failure) or ("not ok %s is found"):format(mutant.name))
  end
end
if barriers_left_out > 0 then
  local are_enough = barriers_found >= LEAST_SHARE * barriers_left_out
  print(("%s %d of %d barriers that are left out are found"):format(are_enough and "ok" or "not ok", barriers_found,
    barriers_left_out))
end
