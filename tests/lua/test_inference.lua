-- Student's t, Welch's test, equivalence and Holm's correction compared with SciPy (tests/reference/inference.json, by
-- inference.py); the bootstrap compared with its known properties.

local support = dofile("tests/lua/support.lua")

local inference = require("lab.study.analyze.mathematics.inference")
local json = require("dkjson")
local lu = require("luaunit")
local statistics = require("lab.study.read.statistics")
local student = require("lab.study.analyze.mathematics.t_distribution")

local stored = json.decode(support.read("tests/reference/inference.json"))

local CLOSE = 1e-10 -- relative; SciPy itself has an error of 3e-11 at t = 1e-6 with one degree of freedom

local function assert_close(actual, expected, label)
  lu.assertTrue(math.abs(actual - expected) <= CLOSE * math.abs(expected),
    ("%s: %.17g, expected %.17g"):format(label, actual, expected))
end

TestStudent = {}

function TestStudent.test_tails_of_students_distribution()
  lu.assertTrue(#stored.tails > 100)
  for _, case in ipairs(stored.tails) do
    local label = ("t %g, %g degrees of freedom"):format(case.t, case.df)
    assert_close(student.compute_two_sided(case.t, case.df), case.two_sided, label)
    assert_close(student.compute_two_sided(-case.t, case.df), case.two_sided, label)
    assert_close(student.compute_above(case.t, case.df), case.above, label)
    assert_close(student.compute_above(-case.t, case.df), case.above_minus, label)
  end
end

-- power.lua computes with up to 100,000 seeds in each of two groups. Expected values: regularised incomplete beta
-- functions with 30 digits, by mpmath 1.3.
function TestStudent.test_tails_with_very_many_degrees_of_freedom()
  assert_close(student.compute_two_sided(1.96, 199998), 0.049997176756577148, "t 1.96")
  assert_close(student.compute_two_sided(5, 199998), 5.7378649651359648e-7, "t 5")
end

function TestStudent.test_critical_values()
  for _, case in ipairs(stored.critical) do
    assert_close(student.find_critical(case.share, case.df), case.t, ("%g of %g"):format(case.share, case.df))
  end
end

function TestStudent.test_tails_at_zero_and_infinity()
  lu.assertEquals({ student.compute_two_sided(math.huge, 3), student.compute_above(math.huge, 3),
    student.compute_above(-math.huge, 3), student.compute_two_sided(0, 3) }, { 0, 0, 1, 1 })
  -- With one degree of freedom this is Cauchy's distribution.
  assert_close(student.compute_two_sided(1e-6, 1), 1 - 2 / math.pi * math.atan(1e-6), "t 1e-6")
end

TestWelch = {}

function TestWelch.test_tests_and_intervals()
  lu.assertEquals(#stored.comparisons, 5)
  for i, case in ipairs(stored.comparisons) do
    local test, label = inference.test_welch(case.a, case.b), "comparison " .. i
    for name, key in pairs({ t = "t", freedom = "df", p = "p", low = "low", high = "high" }) do
      assert_close(test[name], case[key], label .. ": " .. name)
    end
    assert_close(inference.test_equivalence(test, case.margin), case.p_equivalence, label .. ": equivalence")
  end
end

function TestWelch.test_samples_that_do_not_vary_have_no_test()
  local test = inference.test_welch({ 1, 1, 1 }, { 1, 1 })
  lu.assertEquals(test, { difference = 0, error = 0 })
  lu.assertNil(inference.test_equivalence(test, 1))
  -- The mean of three equal numbers has a rounding error, so the standard deviation is not 0.
  for _, value in ipairs({ 0.1, 1.1, 4.35, 97.3, 99.1 }) do
    local constant_sample = { value, value, value }
    lu.assertNil(inference.test_welch(constant_sample, constant_sample).p)
  end
end

TestHolm = {}

function TestHolm.test_holms_correction_of_p_values()
  for i, p in ipairs(inference.correct_holm(stored.holm.p)) do
    assert_close(p, stored.holm.adjusted[i], "p " .. i)
  end
  lu.assertEquals(inference.correct_holm({}), {})
  lu.assertEquals(inference.correct_holm({ 0.04 }), { 0.04 })
end

TestBootstrap = {}

local function resample(items, statistic, seed)
  return inference.resample(items, statistic, 4000, inference.make_random(seed))
end

-- The standard error of a resampled mean is the population's standard deviation over the root of n.
function TestBootstrap.test_spread_and_interval_of_a_mean()
  local items = { 3, 5, 8, 1, 9, 4, 4, 6, 2, 8 }
  local values = resample(items, statistics.mean, 1)
  local error = statistics.sd(items) * math.sqrt(9 / 10) / math.sqrt(10)
  lu.assertAlmostEquals(statistics.mean(values), 5, 0.05)
  lu.assertAlmostEquals(statistics.sd(values), error, 0.03)
  local low, high = inference.compute_interval(values)
  lu.assertAlmostEquals(low, 5 - 1.96 * error, 0.1)
  lu.assertAlmostEquals(high, 5 + 1.96 * error, 0.1)
end

function TestBootstrap.test_the_seed_decides()
  local pick_number, numbers = inference.make_random(1), {}
  for i = 1, 5 do
    numbers[i] = pick_number(100)
  end
  lu.assertEquals(numbers, { 82, 99, 8, 50, 60 }) -- the sequence of Lua 5.4's generator on every machine
  local items = { 3, 5, 8 }
  lu.assertEquals(resample(items, statistics.mean, 3), resample(items, statistics.mean, 3))
  lu.assertNotEquals(resample(items, statistics.mean, 3), resample(items, statistics.mean, 4))
end

-- Three copies of an item are one fact. If they are resampled together, the spread is that of the 12 different items;
-- if they are resampled separately, the spread is smaller by the root of 3.
function TestBootstrap.test_copies_of_one_item_are_resampled_together()
  local bases, all_copies = {}, {}
  for i = 1, 12 do
    bases[i] = { i, i, i }
    table.move(bases[i], 1, 3, #all_copies + 1, all_copies)
  end
  local together = resample(bases, function(list)
    local sum = 0
    for _, base in ipairs(list) do
      sum = sum + statistics.mean(base)
    end
    return sum / #list
  end, 1)
  local ratio = statistics.sd(together) / statistics.sd(resample(all_copies, statistics.mean, 1))
  lu.assertAlmostEquals(ratio, math.sqrt(3), 0.06)
end

support.run()
