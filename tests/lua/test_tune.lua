-- The search of `longhand tune`: its comparisons, its time, and the choices that it stores.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local measure = require("lab.tune.measure")
local shell = require("base.shell")
local stop = require("lab.stop")
local tune = require("lab.tune.tune")
local tuned = require("render.builds.tuned")
local tuning = require("plan.deriving.tuning")
local tuning_plans = require("tuning_plans")

local project, store_choices = tuning_plans.project, tuning_plans.store_choices
local with_empty_cache = tuning_plans.with_empty_cache

TestSearch = {}

-- Searches two choices, a and b, from "1x". speeds: the relative speed of each value; options: nil, or { noise,
-- max_comparisons }. Returns the best values, and lists of the accepted and of the compared values, as texts such as
-- "3y".
local function search(speeds, options)
  local log, accepted, budget = {}, {}, options and options.max_comparisons or 100
  local best = measure.search({
    start = { a = "1", b = "x" }, floor = 0.005,
    choices = { { name = "a", values = { "1", "2", "3" } }, { name = "b", values = { "x", "y" } } },
    is_over = function() return #log >= budget end,
    compare = function(from, to)
      if #log >= budget then
        return nil
      end
      local gain = (speeds[to.a] * speeds[to.b]) / (speeds[from.a] * speeds[from.b])
      log[#log + 1] = to.a .. to.b
      return { gain = gain, noise = options and options.noise or 0.001 }
    end,
    report = function() end,
    accept = function(values) accepted[#accepted + 1] = values.a .. values.b end,
  })
  return best.a .. best.b, accepted, log
end

function TestSearch.test_best_value_of_every_choice_is_found()
  local best, accepted, log = search({ ["1"] = 1, ["2"] = 1.02, ["3"] = 1.05, x = 1, y = 1.1 })
  lu.assertEquals(best, "3y")
  lu.assertEquals(accepted, { "3x", "3y" })
  lu.assertEquals(log, { "2x", "3x", "3y", "1y", "2y", "3x" })
end

function TestSearch.test_a_gain_within_the_noise_or_the_floor_is_none()
  lu.assertEquals((search({ ["1"] = 1, ["2"] = 1.02, ["3"] = 1, x = 1, y = 1 }, { noise = 0.02 })), "1x")
  lu.assertEquals((search({ ["1"] = 1, ["2"] = 1.004, ["3"] = 1, x = 1, y = 1 })), "1x")
end

function TestSearch.test_out_of_time_keeps_the_best_so_far()
  local best, accepted = search({ ["1"] = 1, ["2"] = 1.02, ["3"] = 1.05, x = 1, y = 1.1 }, { max_comparisons = 1 })
  lu.assertEquals({ best, accepted }, { "2x", { "2x" } })
end

-- The standard error of a median: 1.2533 times the standard deviation, which is 1.4826 times the median deviation, over
-- the square root of the number of rounds.
function TestSearch.test_result_is_the_median_and_its_error()
  local result = measure.summarise({ 1.1, 0.9, 1.0, 5, 1.05 })
  lu.assertEquals(result.gain, 1.05)
  lu.assertAlmostEquals(result.noise, 1.4826 * 1.2533 * 0.05 / math.sqrt(5), 1e-12)
end

TestTune = {}

-- Runs tune.run for 1000 seconds of a simulated clock. A compilation takes `compile_seconds`, a comparison takes one
-- second. compute_gain(from, to, modes): the gain of the values in the text `to` over those in `from`. Returns the exit
-- code, the output, and the compared values.
local function run_tune(compute_gain, compile_seconds)
  local now, trainers, lines, compared, code, message = 1000, {}, {}, {}, nil, nil
  support.replace_fields({
    { os, "time", function() return now end },
    { measure, "build", function(_, values)
      local name = tuning.format(values)
      now, trainers[name] = now + (trainers[name] and 0 or compile_seconds), true
      return name
    end },
    { measure, "compare", function(from, to, modes, _, last)
      if now >= last then
        return nil
      end
      now, compared[#compared + 1] = now + 1, to
      return { gain = compute_gain(from, to, modes), noise = 0.001, rounds = 3 }
    end },
  }, function()
    code, message = stop.catch(tune.run, { project = setmetatable({ find = project.plan }, { __index = project }),
      seconds = 1000, level = "x86-64", threads = 1, spec = tuning_plans.SPEC, set = {},
      say = function(text) table.insert(lines, text) end })
  end)
  return code, table.concat(lines, "\n") .. (message or ""), compared
end

local function read_choices()
  local plan = tuning_plans.make_plan()
  return tuned.read(tuned.make_key(project, plan, "x86-64"), plan)
end

-- Values without prefetching are 10% faster than values with it.
local function prefer_no_prefetch(from, to)
  local function get_speed(text)
    return text:find("gradient_prefetch no", 1, true) and 1.1 or 1
  end
  return get_speed(to) / get_speed(from)
end

local function find_no_gain() return 1 end

-- The search has about twelve candidates in 700 seconds, and each takes longer to compile than its share.
function TestTune.test_compilation_does_not_shorten_a_candidate_s_share()
  with_empty_cache(function()
    local _, _, compared = run_tune(find_no_gain, 80)
    lu.assertTrue(#compared >= 8, #compared)
  end)
end

function TestTune.test_better_choices_are_written()
  with_empty_cache(function()
    local code, printed = run_tune(prefer_no_prefetch, 1)
    lu.assertEquals({ code, read_choices().values.gradient_prefetch }, { 0, "no" })
    lu.assertStrContains(printed, "builds here use these values from now on")
  end)
end

function TestTune.test_a_stopped_search_stores_its_best_choices()
  with_empty_cache(function()
    local is_found = false
    local code = run_tune(function(from, to)
      if is_found then
        error("interrupted!", 0)
      end
      is_found = to:find("prefetch no", 1, true) and from:find("prefetch yes", 1, true)
      return prefer_no_prefetch(from, to)
    end, 1)
    lu.assertEquals({ code, read_choices().values.gradient_prefetch }, { 75, "no" })
  end)
end

function TestTune.test_choices_that_are_slower_at_the_end_are_not_written()
  with_empty_cache(function()
    -- The search measures prefetching only in training; evaluation is compared at the end.
    local _, printed = run_tune(function(from, to, modes)
      local differ = from:find("prefetch yes", 1, true) and to:find("prefetch no", 1, true)
      return modes[1] == "eval" and differ and 0.5 or prefer_no_prefetch(from, to)
    end, 1)
    lu.assertNil(read_choices())
    lu.assertStrContains(printed, "slower than the model's choices in a second measurement; nothing is written")
  end)
end

function TestTune.test_stored_choices_stay_if_the_search_finds_none_or_the_same()
  for _, case in ipairs({
    { { product_tile = "4x3" }, find_no_gain, "the best that were tried; the result of 2026-01-02 is kept" },
    { { gradient_prefetch = "no" }, prefer_no_prefetch,
      "the same choices were found on 2026-01-02; that entry is kept" },
  }) do
    with_empty_cache(function()
      local path = store_choices("2026-01-02", case[1])
      local old_text = support.read(path)
      local _, printed = run_tune(case[2], 1)
      lu.assertEquals(support.read(path), old_text)
      lu.assertStrContains(printed, case[3])
    end)
  end
end

function TestTune.test_a_temporary_folder_that_make_cannot_handle_is_refused()
  local getenv, code, printed = os.getenv, nil, nil
  support.replace_fields({ { os, "getenv", function(name) return name == "TMPDIR" and "/tmp/a b" or getenv(name) end },
    { shell, "make_temporary_folder", function() error("a folder was made") end } }, function()
    code, printed = run_tune(find_no_gain, 1)
  end)
  lu.assertEquals(code, 2)
  lu.assertStrContains(printed, "/tmp/a b: make cannot handle this folder's name; expected only letters")
end

-- Returns the error of measure.compare if `bench` ends with this exit code, and the command line of bench.
local function compare_with(code)
  local problem, ran_words
  support.replace_fields({ { shell, "capture", function(words) ran_words = words; return "", code end } }, function()
    local _
    _, problem = pcall(measure.compare, "a", "b", { "eval" }, { seconds = 1, threads = 1, files = {} }, math.huge)
  end)
  return problem, table.concat(ran_words, " ")
end

function TestTune.test_exit_codes_of_bench()
  for _, code in ipairs({ 75, 130, 143 }) do
    lu.assertEquals(compare_with(code), "interrupted!")
  end
  for code, expected in pairs({ [1] = 1, [2] = 2, [3] = 4, [139] = 4 }) do
    lu.assertEquals((compare_with(code)).code, expected)
  end
  lu.assertStrContains((compare_with(139)).text, "bench of a trainer: signal 11")
  lu.assertStrContains((compare_with(3)).text, "bench of a trainer: exit code 3")
  lu.assertStrContains(select(2, compare_with(3)), "env -u LONGHAND_ISA a bench")
end

support.run()
