-- The numbers of seeds that differences need: the power of the t test, and the analysis `power`.

local support = dofile("tests/lua/support.lua")

local analyze = require("lab.study.analyze.analyze")
local lu = require("luaunit")
local power = require("lab.study.analyze.mathematics.power")
local reports = require("reports")

TestPower = { tearDown = support.clean }

-- Sizes of samples by the noncentral t distribution (tables of Cohen 1988, section 2.4), and the power of samples of
-- size 17. A case is { difference in deviations, power, size of each sample }.
function TestPower.test_known_sizes_of_samples()
  for _, case in ipairs({ { 0.2, 0.8, 394 }, { 0.5, 0.8, 64 }, { 0.8, 0.8, 26 }, { 1, 0.8, 17 }, { 2, 0.8, 6 },
    { 1, 0.9, 23 } }) do
    lu.assertEquals(power.find_count(case[1], 1, case[2]), case[3])
    lu.assertEquals(power.find_count(5 * case[1], 5, case[2]), case[3])
  end
  lu.assertAlmostEquals(power.compute(1, 1, 17), 0.807037, 1e-6)
  lu.assertAlmostEquals(power.compute(1e-9, 1, 5), 0.05, 1e-8) -- without a difference, the level of the test
  lu.assertEquals(power.find_count(1000, 1, 0.999), 2)
  lu.assertNil(power.find_count(0.001, 1, 0.8))
end

-- Runs the analysis; returns its exit code, message and printed text.
local function run(runs, flags)
  local options = { project = reports.project, what = "power", runs = runs, split = "test", power = 80,
    differences = { 2.0, 20.0 } }
  for name, value in pairs(flags or {}) do
    options[name] = value
  end
  return reports.run_verb(analyze.run, options)
end

local function assert_ran(code, message)
  if not reports.lacks_gnuplot(code, message) then
    lu.assertEquals({ code, message }, { 0, nil })
  end
end

-- The cells have the standard deviations 2 and 0, and a single seed. For the deviation 2, the differences 2 and 20 are
-- 1 and 10 deviations.
function TestPower.test_spread_of_pilot_runs()
  local root
  for id, scores in pairs({ sort_a = { 50, 52, 54 }, sort_b = { 60, 60 }, sort_c = { 70 } }) do
    for seed, score in ipairs(scores) do
      root = reports.get_root(reports.write_run("pilot", id, seed, 0.1, { exit = 0,
        eval = reports.make_scored_lines(score), facts = id == "sort_b" and { seeds_apart = { init = 9 } } or nil }))
    end
  end
  local code, message, text = run(root)
  assert_ran(code, message)
  lu.assertStrMatches(text, ".*\nsort_a +3 +2%.00 +17 +2\n.*")
  lu.assertStrMatches(text, ".*\nsort_b +2 +0%.00 +no spread +no spread\n.*")
  lu.assertStrMatches(text, ".*\nsort_c +1 +%- +%- +%-\n.*")
  lu.assertStrMatches(text, ".*\nall, pooled +%- +1%.63 +12 +2\n.*") -- 2 and 1 degrees of freedom: sqrt(8 / 3)
  lu.assertStrContains(text, "sort_c: a single seed")
  local words = text:gsub("%s+", " ")
  lu.assertStrContains(words, "sort_b: runs share seeds of init, so they are not independent, although the tests "
    .. "assume that they are; 2 "
    .. "seeds; a standard deviation of so few seeds is itself uncertain")
  lu.assertStrContains(support.read(root .. "/power/power.csv"), "sort_a,3,2,2,80,17\n")
end

function TestPower.test_published_spread()
  local folder = support.write("published/x", ""):match("^(.*)/")
  local code, message, text = run(folder, { published = "ruoss_2023/table5", differences = { 10.0 } })
  assert_ran(code, message)
  lu.assertStrMatches(text, ".*\nR, even_pairs, geometric_sd +%- +8%.80 +14\n.*")
  code, message = run(folder, { published = "ruoss_2023/table1" })
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "no column of standard deviations\n  expected: a name that ends in _sd")
  lu.assertStrContains(select(2, run(folder, { published = "ruoss_2023/table5", metric = "loss" })), "cannot be used")
end

function TestPower.test_single_seeds_have_no_spread()
  local root = reports.get_root(reports.write_run("single", "sort", 1, 0.1, { exit = 0,
    eval = reports.make_scored_lines(70) }))
  local code, message = run(root)
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "no cell has two seeds with a score on test")
end

support.run()
