-- Exact intervals of shares, Fisher's test and permutation tests, compared with SciPy (tests/reference/inference.json,
-- by inference.py), with R, and with counts by hand.

local support = dofile("tests/lua/support.lua")

local exact = require("lab.study.analyze.mathematics.exact")
local inference = require("lab.study.analyze.mathematics.inference")
local json = require("dkjson")
local lu = require("luaunit")

local stored = json.decode(support.read("tests/reference/inference.json"))

local CLOSE = 1e-8 -- relative; sums of logarithms for thousands of seeds have a third of this error

local function assert_close(actual, expected, label)
  lu.assertTrue(math.abs(actual - expected) <= CLOSE * math.abs(expected),
    ("%s: %.17g, expected %.17g"):format(label, actual, expected))
end

TestInterval = {}

function TestInterval.test_intervals_equal_those_of_scipy()
  lu.assertEquals(#stored.intervals, 10)
  for _, case in ipairs(stored.intervals) do
    local low, high = exact.compute_interval(case.count, case.n, 0.05)
    local label = ("%d of %d"):format(case.count, case.n)
    assert_close(low, case.low, label)
    assert_close(high, case.high, label)
  end
end

-- R: binom.test(7, 10)$conf.int is 0.3475471 0.9332605. For 0 of n, the upper bound is 1 - 0.025^(1/n).
function TestInterval.test_known_values()
  local low, high = exact.compute_interval(7, 10, 0.05)
  lu.assertAlmostEquals(low, 0.3475471, 5e-8)
  lu.assertAlmostEquals(high, 0.9332605, 5e-8)
  low, high = exact.compute_interval(0, 3, 0.05)
  lu.assertEquals(low, 0)
  assert_close(high, 1 - 0.025 ^ (1 / 3), "0 of 3")
  low, high = exact.compute_interval(3, 3, 0.05)
  lu.assertEquals(high, 1)
  assert_close(low, 0.025 ^ (1 / 3), "3 of 3")
end

TestFisher = {}

function TestFisher.test_p_values_equal_those_of_scipy()
  lu.assertEquals(#stored.fisher, 10)
  for _, case in ipairs(stored.fisher) do
    assert_close(exact.test_fisher(table.unpack(case.table)), case.p, json.encode(case.table))
  end
end

-- R: fisher.test(matrix(c(3, 1, 1, 3), 2)) is 0.4857, Fisher's tea: (1 + 16 + 16 + 1) / 70.
function TestFisher.test_known_values()
  assert_close(exact.test_fisher(3, 4, 1, 4), 34 / 70, "tea")
  assert_close(exact.test_fisher(3, 3, 0, 3), 2 / 20, "3 of 3 against 0 of 3")
  assert_close(exact.test_fisher(5, 5, 0, 2), 1 / 21, "5 of 5 against 0 of 2")
end

TestPermutation = {}

-- Returns p, the number of compared splits, and the least possible p.
local function test_permutation(a, b, samples, seed)
  return exact.test_permutation(a, b, samples or 100, inference.make_random(seed or 1))
end

function TestPermutation.test_all_splits()
  lu.assertEquals(#stored.permutations, 7)
  for i, case in ipairs(stored.permutations) do
    local p, splits = test_permutation(case.a, case.b)
    assert_close(p, case.p, "permutation " .. i)
    lu.assertEquals(splits, case.splits)
  end
end

-- The expected values are counted by hand. There are 20 ways to split six scores into halves. Only two of them, the
-- observed way and its mirror image, have the largest difference. There are 10 ways to split two scores from three.
-- Only two of them have the largest difference: the observed way, and 40, 50 against 10, 20, 30.
function TestPermutation.test_known_values()
  assert_close(test_permutation({ 50, 50, 50 }, { 97, 97, 97 }), 0.1, "3 against 3")
  assert_close(test_permutation({ 10, 20 }, { 30, 40, 50 }), 2 / 10, "2 against 3")
  assert_close(test_permutation({ 0, 0, 0 }, { 1, 1 }), 1 / 10, "3 against 2")
  assert_close(test_permutation({ 97.3, 97.3, 97.3 }, { 97.3, 97.3, 97.3 }), 1, "all equal")
  lu.assertEquals(select(2, test_permutation({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { 1, 2, 3, 4, 5, 6, 7, 8, 9 })), 48620)
end

-- Two or three seeds of each cell cannot reach 5%; four barely can.
function TestPermutation.test_the_least_p_for_a_number_of_seeds()
  for _, case in ipairs({ { 2, 2, 2 / 6 }, { 3, 3, 0.1 }, { 4, 4, 2 / 70 }, { 5, 5, 2 / 252 }, { 3, 2, 0.1 },
    { 5, 2, 1 / 21 }, { 10, 10, 2 / 184756 } }) do
    assert_close(exact.compute_min_p(case[1], case[2]), case[3], case[1] .. " against " .. case[2])
  end
end

-- 15 against 15 scores have 155,117,520 splits. The test takes a random sample of the splits, together with the
-- observed split. Equal seeds give equal samples.
function TestPermutation.test_samples_of_many_splits()
  local a, b = {}, {}
  for i = 1, 15 do
    a[i], b[i] = i, i + 100
  end
  local p, splits, min_p = test_permutation(a, b, 999)
  lu.assertEquals({ p, splits, min_p }, { 1 / 1000, 999, 1 / 1000 })
  for i = 1, 15 do
    b[i] = i + 3
  end
  p = test_permutation(a, b, 20000)
  lu.assertAlmostEquals(p, 0.08387, 0.006) -- from two million random splits in NumPy
  lu.assertEquals(p, (test_permutation(a, b, 20000)))
  lu.assertNotEquals(p, (test_permutation(a, b, 20000, 2)))
  lu.assertEquals({ a[1], a[15], b[1], b[15] }, { 1, 15, 4, 18 })
end

support.run()
