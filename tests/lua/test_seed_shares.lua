-- A report's table of the shares of the variance of scores that come from initial values, data and draws.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local reports = require("reports")
local seed_shares = require("lab.study.report.tables.seed_shares")
local cells = require("lab.study.read.cells")
local seeds = require("lab.study.read.seeds")

TestSeedShares = {}

-- Returns runs of all combinations of the seeds, with scores from get_score(init, data, draws).
local function make_runs(spec_seeds, get_score)
  local list = seeds.list_runs(spec_seeds)
  for _, run in ipairs(list) do
    run.score = get_score(seeds.get(run, "init"), seeds.get(run, "data"), seeds.get(run, "draws"))
  end
  return list
end

local function compute(list)
  local factors, distinct = seed_shares.find_factors(list)
  return seed_shares.compute(distinct, factors)
end

-- Two factors without interaction. The mean square of the rows is 3 var(a), of the columns 2 var(b), of the rest 0.
function TestSeedShares.test_additive_effects_leave_no_rest()
  local a, b = { [0] = 0, 6 }, { [0] = 0, 3, 9 }
  local result = compute(make_runs({ 0, part_seeds = { init = { 0, 1 }, data = { 0, 1, 2 } } }, function(init, data)
    return 50 + a[init] + b[data]
  end))
  lu.assertAlmostEquals(result.sd ^ 2, 18 + 21, 1e-9) -- var(0, 6) = 18, var(0, 3, 9) = 21
  lu.assertAlmostEquals(result.factors[1].share, 18 / 39, 1e-12)
  lu.assertAlmostEquals(result.factors[2].share, 21 / 39, 1e-12)
  lu.assertAlmostEquals(result.rest, 0, 1e-12)
end

-- The scores are 1 2 / 4 3; rows are seeds of init, columns are seeds of draws. The mean squares of rows, columns and
-- rest are 4, 0 and 1. So the components are (4 - 1) / 2, (0 - 1) / 2 and 1.
function TestSeedShares.test_negative_estimates_count_as_zero()
  local scores = { [0] = { [0] = 1, 2 }, { [0] = 4, 3 } }
  local result = compute(make_runs({ 0, part_seeds = { init = { 0, 1 }, draws = { 0, 1 } } }, function(init, _, draws)
    return scores[init][draws]
  end))
  lu.assertAlmostEquals(result.factors[1].share, 1.5 / 2.5, 1e-12)
  lu.assertEquals({ result.factors[2].share, result.factors[2].is_negative }, { 0.0, true })
  lu.assertAlmostEquals(result.rest, 1 / 2.5, 1e-12)
  lu.assertFalse(result.rest_is_negative)
end

-- Three factors: effects of each, and an interaction of init and data, which is part of the rest. The score is
-- x1 + 2 x2 + 3 x3 + 4 x1 x2, where x is -1 for the first seed of a factor and 1 for the second. Computed by hand, the
-- mean squares of these four terms are 8, 32, 72 and 128, and all others are 0.
function TestSeedShares.test_three_factors()
  local function get_sign(seed)
    return seed == 0 and -1 or 1
  end
  local result = compute(make_runs({ 0, part_seeds = { init = { 0, 1 }, data = { 0, 1 }, draws = { 0, 1 } } },
    function(init, data, draws)
      return get_sign(init) + 2 * get_sign(data) + 3 * get_sign(draws) + 4 * get_sign(init) * get_sign(data)
    end))
  local shares = lists.map(result.factors, function(factor) return factor.share end)
  -- init: (8 - 128) / 4 < 0; data: (32 - 128) / 4 < 0; draws: 72 / 4 = 18; init with data: 128 / 2 = 64.
  lu.assertAlmostEquals(result.sd ^ 2, 82, 1e-9)
  lu.assertEquals({ shares[1], shares[2] }, { 0.0, 0.0 })
  lu.assertAlmostEquals(shares[3], 18 / 82, 1e-12)
  lu.assertAlmostEquals(result.rest, 64 / 82, 1e-12)
end

-- Parts without seeds of their own have the run's seed, so their seeds change together. The seeds of a single factor,
-- and of an incomplete grid, are not crossed.
function TestSeedShares.test_only_complete_grids_are_crossed()
  local function find(spec_seeds, missing_run)
    local list = make_runs(spec_seeds, function() return 1 end)
    if missing_run then
      table.remove(list, missing_run)
    end
    local factors = seed_shares.find_factors(list)
    return factors and lists.map(factors, function(factor) return table.concat(factor.parts, "+") end)
  end
  lu.assertEquals(find({ 0, 1, part_seeds = { init = { 0, 1 } } }), { "init", "data+draws" })
  lu.assertEquals(find({ 0, part_seeds = { init = { 0, 1 }, data = { 0, 1 } } }), { "init", "data" })
  lu.assertNil(find({ 0, part_seeds = { init = { 0, 1 }, data = { 0, 1 } } }, 4))
  lu.assertNil(find({ 0, 1, 2 }))
  lu.assertNil(seed_shares.find_factors({ { state = "damaged" } }))
  lu.assertNil(find({ 0, part_seeds = { init = { 0, 1 } } }))
end

function TestSeedShares.test_runs_that_share_seeds_are_named()
  lu.assertNil(seeds.describe_shared(seeds.list_runs({ 0, 1, 2 })))
  lu.assertStrContains(seeds.describe_shared(seeds.list_runs({ 0, 1, part_seeds = { data = { 5 } } })),
    "seeds of data, so")
  lu.assertStrContains(seeds.describe_shared(seeds.list_runs({ 0, part_seeds = { init = { 0, 1 }, data = { 0, 1 } } })),
    "seeds of init, data, draws, so")
end

-- The report has the table if a cell's seeds are crossed; a cell with a missing score has no shares.
function TestSeedShares.test_the_table_of_a_report()
  local function read(missing_run)
    local root
    for _, run in ipairs(seeds.list_runs({ 0, part_seeds = { init = { 0, 1 }, data = { 0, 1 } } })) do
      local name = seeds.format(run)
      root = reports.get_root(reports.write_run("shares" .. (missing_run or ""), "sort", run.seed, 0.1, {
        exit = name == missing_run and 1 or 0, facts = { seeds_apart = run.part_seeds },
        eval = name ~= missing_run and reports.make_scored_lines(60 + 10 * seeds.get(run, "init")) or nil }))
    end
    local contents = seed_shares.make_cells_table(cells.read_folder(root))
    return lists.map(contents.rows[1].cells, function(cell) return cell.texts[1] end)
  end
  lu.assertEquals(read(), { "2 x 2", "7.1", "100%", "0%", "one seed", "0%" })
  lu.assertEquals(read("0.init1"), { "3 of 4 runs", "missing", "missing", "missing", "missing", "missing" })
  lu.assertNil(seed_shares.make_cells_table({ cells = {}, scored = { metric = "accuracy", split = "test" } }))
end

support.run()
