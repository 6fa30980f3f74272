-- Shares of test sequences that are new to a model, compared with counts over all tokens and all pairs of tokens.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local cells = require("lab.study.read.cells")
local curves = require("lab.study.report.figures.curves")
local figures = require("lab.study.report.figures.figures")
local hostile = require("hostile")
local lists = require("base.lists")
local lu = require("luaunit")
local novel_shares = require("lab.study.report.tables.novel_shares")
local novelty = require("lab.pages.novelty")
local plans = require("plans")
local report_csv = require("lab.study.report.tables.report_csv")
local reports = require("reports")

TestNovelty = {}

-- Returns { positions, distances, keys } of a sequence: the position of each query, the distance of each visible pair,
-- and the number of visible keys of each query.
local function list_facts(tokens, left, right)
  local facts = { positions = {}, distances = {}, keys = {} }
  for i = 1, tokens do
    local keys = 0
    table.insert(facts.positions, i)
    for j = 1, tokens do
      if i - j <= left and j - i <= right then
        keys = keys + 1
        table.insert(facts.distances, math.abs(i - j))
      end
    end
    table.insert(facts.keys, keys)
  end
  return facts
end

-- Returns the share of a list's values that are above a limit.
local function compute_share_above(list, limit)
  local count = 0
  for _, value in ipairs(list) do
    count = count + (value > limit and 1 or 0)
  end
  return count / #list
end

function TestNovelty.test_shares_are_those_of_all_pairs()
  for _, case in ipairs({ { 12, 7, math.huge, math.huge }, { 12, 7, math.huge, 0 }, { 12, 7, 3, 0 }, { 12, 4, 5, 2 },
    { 7, 12, math.huge, 0 }, { 1, 1, 0, 0 } }) do
    local tokens, max_trained, left, right = table.unpack(case)
    local trained_facts, tested_facts = list_facts(max_trained, left, right), list_facts(tokens, left, right)
    local shares = novelty.compute_shares(tokens, max_trained, left, right)
    for name, list in pairs(tested_facts) do
      local limit = math.max(table.unpack(trained_facts[name]))
      if name == "distances" then
        limit = max_trained - 1 -- a window may hide distances that fit a training sequence
      end
      lu.assertAlmostEquals(shares[name], compute_share_above(list, limit), 1e-12, name)
    end
  end
end

function TestNovelty.test_the_page_has_a_line()
  local plan = plans.make_plan({ ["model.kind"] = "decoder", ["train.lengths"] = "{ 1, 5 }",
    ["eval.lengths"] = "{ list = { 5, 10 } }" })
  lu.assertStrContains(novelty.describe(plan), "at length 5, 10: tokens at later positions 0%, ")
  plan = plans.make_plan({ ["encoding.positions"] = "{ kind = 'randomized', max_position = 128 }",
    ["encoding.additive.kind"] = "sinusoid", ["eval.lengths"] = "{ list = { 50 } }" })
  lu.assertNotStrContains(novelty.describe(plan), "positions")
  plan = plans.make_plan({ ["encoding.lines"] = "{ list = { { head = 0, direction = 1, line = 0, value = 1 } } }" })
  lu.assertNil(novelty.describe(plan))
  plan = plans.make_plan({ ["model.kind"] = "encoder_decoder" })
  lu.assertNil(novelty.describe(plan))
end

-- The report's table has the score next to the shares at lengths where something is new. report.csv has the shares of
-- every length, with the shares of positions only if positions are indices; and the sequences, labels and tokens that a
-- run was trained on, if it has recorded them.
function TestNovelty.test_reports_show_the_shares_next_to_scores()
  local function read(fields)
    local root
    for seed, score in ipairs({ 50, 60 }) do
      root = reports.get_root(reports.write_run("novelty", "sort", seed, 0.1, { exit = 0,
        facts = seed == 2 and { seen = { { 5, 30, 60, 90 } } } or nil, eval = reports.make_scored_lines(score) }))
    end
    local study = cells.read_folder(root)
    local plan = plans.make_plan(lists.merge({ ["train.lengths"] = "{ 1, 10 }" }, fields or {}))
    study.get_plan = function() return plan end
    local contents = novel_shares.make_cells_table(study)
    return study, lists.map(contents.rows, function(row)
      return table.concat(lists.map(row.cells, function(cell) return cell.texts[1] end), " ")
    end)
  end
  local study, rows = read()
  lu.assertEquals(rows, { "20 56.0 50% 26% 100%", "30 54.0 67% 46% 100%" }) -- 420 of 40^2 pairs, 1640 of 60^2
  local path = support.write("novelty.csv", "")
  local file = assert(io.open(path, "wb"))
  assert(report_csv.make_files(study)[2].write(file))
  file:close()
  local text = support.read(path)
  lu.assertStrContains(text, ",in_distribution,5,50,1,,0.99,,0.25,,,,,0.5,,length,0,0,0,,,\n")
  lu.assertStrContains(text, ",in_distribution,5,50,1,,0.99,,0.25,,,,,0.5,,length,0,0,0,30,60,90\n")
  lu.assertStrContains(text, ",beyond,20,50,1,,0.51,,0.25,,,,,0.5,,length,0.5,0.2625,1,,,\n")
  lu.assertStrContains(text, ",length,0.5,0.2625,1,0,0,0\n")
  local function list_strip(any_study)
    local figure = figures.make_by_length(any_study, { kind = "curves", lines = "encoding" })
    local strip = figure.panels[1].strip or { curves = {} }
    return lists.map(strip.curves, function(curve)
      return curve.line .. " " .. canonical.format(curve.points)
    end), figure
  end
  local curves_of_strip, figure = list_strip(study)
  lu.assertEquals(curves_of_strip, { "new positions [[5,0],[20,50],[30,66.666666666666657]]",
    "new distances [[5,0],[20,26.25],[30,45.555555555555557]]", "more keys [[5,0],[20,100],[30,100]]" })
  figure.name = "by_length"
  lu.assertNil(hostile.find_gnuplot_problem(curves.make_script(figure)))
  lu.assertStrContains(curves.make_script(figure), "set format x ''")
  lu.assertEquals({ table.unpack(curves.make_page(figure).makes, 1, 2) }, { "by_length-panel1.svg",
    "by_length-strip1.svg" })
  lu.assertStrContains(figure.caption, "Below: shares of a test sequence that are new (not in training)")
  local randomized
  randomized, rows = read({ ["encoding.positions"] = "{ kind = 'randomized', max_position = 512 }",
    ["encoding.additive.kind"] = "sinusoid" })
  lu.assertEquals(rows[1], "20 56.0 - - 100%")
  lu.assertEquals(list_strip(randomized), { "more keys [[5,0],[20,100],[30,100]]" })
  study.get_plan = nil
  for _, cell in ipairs(study.cells) do
    cell.novelty = nil
  end
  lu.assertNil(novel_shares.make_cells_table(study))
  curves_of_strip, figure = list_strip(study)
  lu.assertEquals(curves_of_strip, {})
  lu.assertNotStrContains(curves.make_script(lists.update(figure, { name = "by_length" })), "set format x ''")
  lu.assertNotStrContains(figure.caption, "Below")
end

support.run()
