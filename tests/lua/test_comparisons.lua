-- `analyze compare`: compared cells, tests over seeds with their verdicts, and the files of the verb.

local support = dofile("tests/lua/support.lua")

local analyze = require("lab.study.analyze.analyze")
local comparisons = require("lab.study.analyze.analyze_compare")
local hostile = require("hostile")
local lists = require("base.lists")
local lu = require("luaunit")
local panels = require("lab.study.report.figures.panels")
local reports = require("reports")
local stop = require("lab.stop")
local strips = require("lab.study.analyze.pictures.strips")

local function make_options(changes)
  return lists.merge({ split = "test", resamples = 500, seed = 1 }, changes or {})
end

-- Compares the cells of a study; returns nil and a message if the comparison stops.
local function compare_cells(study, options)
  local result
  local _, message = stop.catch(function()
    result = comparisons.compare(study, options)
  end)
  return result, message
end

-- Makes a study with these scores and compares its cells. changes: further options; seeds: the count of seeds, or nil.
local function compare(name, scores, changes, seeds)
  return compare_cells(reports.make_study(name, scores, nil, seeds), make_options(changes))
end

-- Returns the scores of two cells at the learning rate 0.1. rope, rand_rope: lists with the score of each seed.
local function make_scores(rope, rand_rope)
  return { ["even_pairs rope"] = { [0.1] = rope }, ["even_pairs rand-rope"] = { [0.1] = rand_rope } }
end

TestComparisons = { tearDown = support.clean }

function TestComparisons.test_cells_are_compared_along_the_last_axis()
  local result = assert(compare("along", reports.SCORES))
  lu.assertEquals(result.axis, "encoding")
  lu.assertEquals({ result.sets[1].name, result.sets[2].name }, { "even_pairs", "bucket_sort" })
  local rope, rand = table.unpack(result.sets[1].groups)
  -- The chosen rate has the highest mean, as in reports, and all its seeds are compared.
  lu.assertEquals({ rope.name, rope.rate, rand.name, rand.rate }, { "rope", 0.1, "rand-rope", 0.1 })
  lu.assertAlmostEquals(rope.mean, 52, 1e-9)
  lu.assertAlmostEquals(rope.error, 2 / math.sqrt(3), 1e-9)
  lu.assertEquals(#rope.scores, 3)
  -- The task bucket_sort has one score of rope and none of rand-rope, so it gives no pair.
  lu.assertEquals(#result.pairs, 1)
  local pair = result.pairs[1]
  lu.assertAlmostEquals(pair.test.difference, 52 - 97, 1e-9)
  lu.assertAlmostEquals(pair.test.t, -45 / math.sqrt(8 / 3), 1e-9)
  lu.assertAlmostEquals(pair.test.freedom, 4, 1e-9)
  lu.assertEquals({ pair.p, pair.equivalence_p, pair.verdict }, { pair.test.p, nil, "lower" })
  lu.assertTrue(pair.low >= 50 - 99 - 1e-9 and pair.low < pair.high and pair.high <= 54 - 95 + 1e-9)
  local notes = table.concat(result.notes, "\n")
  lu.assertStrContains(notes, "bucket_sort, rope: 1 of 3 seeds have a score")
  lu.assertStrContains(notes, "learning rate: 2 cells use the rate with the best mean over their seeds, measured "
    .. "at training lengths (in_distribution)")
  lu.assertNotStrContains(notes, "too good")
  notes = table.concat(assert(compare("chosen", reports.SCORES, { split = "in_distribution" })).notes, "\n")
  lu.assertStrContains(notes, "on the compared examples themselves, which makes their means somewhat too good")
end

function TestComparisons.test_another_axis_and_a_reference()
  local scores = make_scores({ 50, 52, 54 }, { 95, 99, 97 })
  scores["bucket_sort rope"] = { [0.1] = { 10, 12, 11 } }
  local result = assert(compare("axis", scores, { axis = "task", reference = "even_pairs" }))
  lu.assertEquals({ result.sets[1].name, result.sets[2].name }, { "rope", "rand-rope" })
  lu.assertEquals(#result.pairs, 1)
  lu.assertEquals({ result.pairs[1].a.name, result.pairs[1].b.name }, { "bucket_sort", "even_pairs" })
  lu.assertAlmostEquals(result.pairs[1].test.difference, 11 - 52, 1e-9)
end

-- Without a margin, no cells are called equivalent.
function TestComparisons.test_verdict_by_margin_and_spread()
  for _, case in ipairs({ -- { scores of rope, scores of rand-rope, margin or nil, verdict }
    { { 90, 91, 92 }, { 90.5, 91.5, 91 }, nil, "undecided" },
    { { 90, 91, 92 }, { 90.5, 91.5, 91 }, 1, "undecided" },
    { { 90, 91, 92 }, { 90.5, 91.5, 91 }, 5, "equivalent" },
    { { 90, 90.1, 90.2 }, { 91, 91.1, 91.2 }, nil, "lower" },
    { { 91, 91.1, 91.2 }, { 90, 90.1, 90.2 }, 3, "higher, within margin" },
    { { 91, 91.1, 91.2 }, { 90, 90.1, 90.2 }, 1, "higher" },
    { { 97.3, 97.3, 97.3 }, { 97.3, 97.3, 97.3 }, 5, "no spread" },
    { { 97.3, 97.3, 97.3 }, { 50, 50, 50 }, 5, "too few seeds" }, -- cells that differ, with too few seeds to show it
    { { 97.3, 97.3, 97.3 }, { 50, 51, 52 }, nil, "too few seeds" },
    { { 97.3, 97.3, 97.3, 97.3 }, { 50, 50, 50, 50 }, nil, "higher" },
    { { 98, 20, 20, 20 }, { 98, 98, 98, 98 }, nil, "undecided" },
  }) do
    local result = assert(compare("verdicts", make_scores(case[1], case[2]), { margin = case[3] }, #case[1]))
    lu.assertEquals(result.pairs[1].verdict, case[4])
  end
end

-- Compares two cells by the scores of their seeds; a seed generalises above 90% accuracy.
local function compare_two(name, rope, rand_rope, changes)
  return assert(comparisons.compare(reports.make_study(name, make_scores(rope, rand_rope), { generalises =
    { metric = "accuracy", above = 90 } }), make_options(changes))).pairs[1]
end

-- If the seeds of a cell have one score or form two clusters, exact tests decide.
function TestComparisons.test_cells_whose_seeds_are_in_two_clusters()
  local pair = compare_two("flat", { 97, 97, 97 }, { 50, 50, 50 })
  local a, b = pair.a, pair.b
  lu.assertEquals({ pair.test.p, pair.method, a.generalising_count, a.judged_count, b.generalising_count,
    a.is_clustered },
    { nil, "permutation", 3, 3, 0, false })
  for name, p in pairs({ raw_p = pair.raw_p, permutation_p = pair.permutation_p, raw_fisher_p = pair.raw_fisher_p,
    min_p = pair.min_p }) do
    lu.assertAlmostEquals(p, 0.1, 1e-12, name) -- 2 of the 20 ways to choose 3 of 6
  end
  lu.assertAlmostEquals(pair.a.share_low, 0.025 ^ (1 / 3), 1e-9)
  lu.assertEquals(pair.a.share_high, 1)
  pair = compare_two("two_clusters", { 97, 96, 20 }, { 98, 97, 97 })
  lu.assertEquals({ pair.method, pair.a.is_clustered, pair.b.is_clustered, pair.a.generalising_count },
    { "permutation", true, false, 2 })
  lu.assertAlmostEquals(pair.raw_fisher_p, 1, 1e-12)
  lu.assertNotNil(pair.test.p, "Welch's test is there, and does not decide")
end

-- Seeds on both sides of the criterion form one cluster if they are close or evenly spread.
function TestComparisons.test_one_cluster_is_tested_by_welch()
  for _, scores in ipairs({ { 91, 88, 90 }, { 20, 60, 95 }, { 89, 91, 89.5 } }) do
    local pair = compare_two("one_cluster", scores, { 98, 97, 96 })
    lu.assertEquals({ pair.method, pair.a.is_clustered, pair.raw_p }, { "Welch", false, pair.test.p })
  end
end

-- The least p of four against four seeds is 2 / 70. The correction for two pairs doubles this p to more than 0.05.
function TestComparisons.test_the_correction_may_make_a_finding_impossible()
  local scores = make_scores({ 50, 50, 50, 50 }, { 97, 97, 97, 97 })
  scores["bucket_sort rope"], scores["bucket_sort rand-rope"] = { [0.1] = { 10, 10, 10, 10 } },
    { [0.1] = { 31, 31, 31, 31 } }
  local study = reports.make_study("reach", scores, nil, 4)
  local result = assert(comparisons.compare(study, make_options()))
  for _, pair in ipairs(result.pairs) do
    lu.assertAlmostEquals(pair.min_p, 2 / 70, 1e-12)
    lu.assertAlmostEquals(pair.corrected_min_p, 4 / 70, 1e-12)
    lu.assertEquals(pair.verdict, "too few seeds")
  end
end

-- The study's metric is compared, and also decides which seeds generalise. --above is in the unit of the metric.
function TestComparisons.test_another_metric()
  local function compare_by_metric(metric, threshold)
    local study = reports.make_study("metric", make_scores({ 50, 52, 54 }, { 95, 99, 97 }), nil, nil, metric)
    return compare_cells(study, make_options({ above = threshold }))
  end
  local result = assert(compare_by_metric("exact_match"))
  lu.assertEquals({ result.metric, result.pairs[1].a.scores, result.pairs[1].verdict }, { "exact_match",
    { 25, 25, 25 }, "no spread" })
  lu.assertEquals(result.criterion, { metric = "exact_match", above = 99 })
  result = assert(compare_by_metric("accuracy", 53))
  lu.assertEquals({ result.criterion, result.pairs[1].a.generalising_count },
    { { metric = "accuracy", above = 53 }, 1 })
  lu.assertEquals(assert(compare_by_metric("loss")).pairs[1].a.scores, { 0.5, 0.5, 0.5 })
  local refused, message = compare_by_metric("loss", 53)
  lu.assertEquals({ refused, message }, { nil, "--above 53: a loss is not a share\n  expected: --metric exact_match or "
    .. "another share" })
end

-- Holm's method for two pairs doubles the smaller p. The larger p becomes at least the doubled smaller p.
function TestComparisons.test_all_pairs_are_corrected_together()
  local scores = make_scores({ 50, 52, 54 }, { 95, 99, 97 })
  scores["bucket_sort rope"], scores["bucket_sort rand-rope"] = { [0.1] = { 10, 20, 30 } }, { [0.1] = { 31, 29, 35 } }
  local result = assert(compare("family", scores, { margin = 2 }))
  local first, second = table.unpack(result.pairs)
  lu.assertAlmostEquals(first.p, 2 * first.test.p, 1e-12)
  lu.assertAlmostEquals(second.p, second.test.p, 1e-12)
  lu.assertAlmostEquals(first.equivalence_p, 1, 1e-6)
end

function TestComparisons.test_same_seed_same_intervals()
  local scores = make_scores({ 50, 52, 57 }, { 95, 99, 90 })
  local function compute_interval(seed)
    local pair = assert(compare("seed", scores, { seed = seed, resamples = 50 })).pairs[1]
    return { pair.low, pair.high }
  end
  lu.assertEquals(compute_interval(1), compute_interval(1))
  lu.assertNotEquals(compute_interval(1), compute_interval(2))
end

function TestComparisons.test_messages_on_wrong_options()
  local scores = make_scores({ 50, 52, 54 }, { 95, 99, 97 })
  for i, case in ipairs({
    { scores, { axis = "encodings" },
      "--axis encodings: no such axis with several values\n  expected: task, encoding" },
    { scores, { reference = "ropes" }, "--reference ropes: there is no such cell\n  expected: rope, rand-rope\n  "
      .. "hint: did you mean rope?" },
    { make_scores({ 50 }, { 95, 99 }), {}, "found: even_pairs, rope: 1; even_pairs, rand-rope: 2; " },
    { scores, { split = "validation" }, "seeds each with a score on validation" },
  }) do
    local result, message = compare("mistakes" .. i, case[1], case[2])
    lu.assertTrue(result == nil)
    lu.assertStrContains(message, case[3])
  end
end

TestVerb = { tearDown = support.clean }

-- Writes four runs of two encodings into a folder; returns the folder. is_damaged: whether the last run has a damaged
-- file.
local function write_runs(is_damaged)
  local dir
  for i, percent in ipairs({ 50, 54, 95, 97 }) do
    local validation = reports.make_eval_line(100, "validation", 20, percent / 200)
    dir = reports.write_run("verb", i < 3 and "bucket_sort_rope" or "bucket_sort_none", i, 0.1, { exit = 0,
      eval = reports.make_scored_lines(percent) .. (is_damaged and i == 4 and "{\n" or "") .. validation })
  end
  return reports.get_root(dir)
end

-- Runs the verb on a folder; returns its exit code, its message or "", and its output.
local function run(root, changes)
  local code, message, output = reports.run_verb(analyze.run,
    lists.merge(make_options({ project = reports.project, what = "compare", runs = root }), changes or {}))
  return code, message or "", output
end

function TestVerb.test_written_tables_of_groups_and_pairs()
  local root = write_runs()
  local code, message, output = run(root, { margin = 1 })
  lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  lu.assertStrContains(output, "none - rope")
  local rows = support.read(root .. "/compare/compare.csv")
  local header, row = rows:match("^([^\n]+)\n([^\n]+)\n$")
  lu.assertEquals(select(2, row:gsub(",", "")), select(2, header:gsub(",", "")))
  lu.assertStrContains(row, ",none,rope,2,2,44,2.23606798,")
  lu.assertEquals(select(2, support.read(root .. "/compare/seeds.csv"):gsub("\n", "")), 5)
  lu.assertStrContains(support.read(root .. "/compare/groups.csv"), ",rope,0.1,2,2,52,2.82842712,2,50,54,"
    .. "accuracy,exact_match,99,2,0,0,0.841886117\n")
  lu.assertStrContains(row, ",accuracy,Welch,")
  lu.assertStrContains(output, "Fisher's exact test compares the shares")
  lu.assertStrContains(support.read(root .. "/compare/compare.tex"), "\\label{tab:shares}")
  lu.assertStrContains(support.read(root .. "/compare/compare.tex"), "\\label{tab:comparisons}")
  local script = support.read(root .. "/compare/compare.gnuplot")
  for _, score in ipairs({ "50", "54", "95", "97" }) do
    lu.assertNotNil(script:find("\n" .. score .. " %d%.%d+ %d+\n"), score)
  end
end

function TestVerb.test_two_clusters_are_reported()
  local _, _, output = run((write_runs()), { above = 53 })
  lu.assertNotStrContains(output, "clusters")
  reports.write_run("verb", "bucket_sort_rope", 3, 0.1, { exit = 0, eval = reports.make_scored_lines(97) })
  _, _, output = run((write_runs()), { above = 90 })
  lu.assertStrContains(output, "* rope: two clusters of seeds; 1 of 3 seeds generalise; the mean describes neither")
end

-- The least possible p of three against three seeds is reported.
function TestVerb.test_too_few_seeds_are_reported()
  local dir
  for i, percent in ipairs({ 50, 50, 50, 97, 97, 97 }) do
    dir = reports.write_run("few", i < 4 and "bucket_sort_rope" or "bucket_sort_none", i, 0.1, { exit = 0,
      eval = reports.make_scored_lines(percent) })
  end
  local root = reports.get_root(dir)
  local _, _, output = run(root)
  lu.assertStrContains(output, "* 3 against 3 seeds: whatever their scores, p is at least 0.1\n")
  lu.assertStrContains(support.read(root .. "/compare/compare.csv"),
    ",too few seeds,accuracy,permutation,,0.1,20,0.1,0.1,0,3,0,3,1,1\n")
  _, _, output = run(root, { metric = "exact_match" })
  lu.assertStrContains(output, "Exact match in percent, mean over 2 lengths 20..30, beyond training, at the last step")
  lu.assertStrContains(support.read(root .. "/compare/seeds.csv"), ",exact_match,25,")
end

function TestVerb.test_another_evaluation()
  local root = write_runs()
  run(root, { split = "validation", out = root .. "/out" })
  lu.assertStrContains(support.read(root .. "/out/groups.csv"), ",rope,0.1,2,2,26,")
end

-- The output names the split of a score, and for a decoder also the decoding.
function TestVerb.test_splits_and_decodings_are_named()
  local spec, dir = reports.make_spec("bucket_sort"), nil
  spec.model.kind = "decoder"
  for i, id in ipairs({ "bucket_sort_rope", "bucket_sort_rope", "bucket_sort_none", "bucket_sort_none" }) do
    local lines = reports.make_scored_lines(50 + i):gsub('"accuracy"', '"decoding":"greedy","counted":9,"accuracy"')
    dir = reports.write_run("decoded", id, i, 0.1, { exit = 0, facts = { spec = spec }, eval = lines })
  end
  local root = reports.get_root(dir)
  local _, _, output = run(root, { metric = "accuracy", split = "beyond" })
  lu.assertStrContains(output, "Accuracy in percent, mean over 2 lengths 20..30, beyond training, at the last step\n"
    .. "greedy answers, answer length given; over seeds;")
  _, _, output = run(root, { split = "in_distribution" })
  lu.assertStrContains(output, "Exact match in percent, length 5, at training lengths (in_distribution), at the last")
end

-- A cell with scores at other lengths is not compared, and a note names the cell.
function TestVerb.test_another_grid_is_reported()
  local root = write_runs()
  for i = 3, 4 do
    local lines = reports.make_eval_line(100, "test", 20, 0.5 + i / 100)
    reports.write_run("verb", "bucket_sort_alibi", i, 0.1, { exit = 0, eval = lines })
  end
  local _, _, output = run(root)
  lu.assertStrContains(output, "* alibi: scored on another grid than most: length 20")
end

function TestVerb.test_damaged_runs_are_reported()
  local code, message = run((write_runs(true)))
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "no two cells have two seeds each")
  lu.assertStrContains(message, "damaged and left out:")
  -- The files are written if enough runs are left.
  local root = write_runs()
  reports.write_run("verb", "bucket_sort_none", 5, 0.1, { exit = 0, eval = "{\n" .. reports.make_scored_lines(50) })
  code, message = run(root)
  lu.assertTrue(code == 1 or reports.lacks_gnuplot(code, message), message)
  lu.assertStrContains(message, "damaged and left out:\n")
  lu.assertStrContains(message, "lr0.1-seed5/eval.jsonl: line 1: ")
  lu.assertStrContains(support.read(root .. "/compare/compare.csv"), ",none,rope,2,2,44,")
  code, message = run("no/such")
  lu.assertEquals({ code, message }, { 1, "there is no folder no/such\n  expected: a folder of runs" })
end

-- A run's folder may have any name; the other runs are still compared.
function TestVerb.test_hostile_names_of_folders()
  for _, text in ipairs(hostile.TEXTS) do
    if not text:find("[/%z]") and #text < 200 then
      local root = write_runs()
      reports.write_run("verb", text, 1, 0.1, { exit = 0, eval = reports.make_scored_lines(50) })
      local code, message, output = run(root, { reference = "rope", out = root .. "/../out" })
      lu.assertTrue(code ~= 4 or reports.lacks_gnuplot(code, message), text .. message)
      lu.assertNil(hostile.find_text_problem(message) or hostile.find_text_problem(output), text)
      for _, name in ipairs({ "compare.csv", "groups.csv", "seeds.csv", "compare.tex", "compare.gnuplot" }) do
        lu.assertNil(hostile.find_problem(name, support.read(root .. "/../out/" .. name)), text)
      end
      _, message = run(root, { reference = "x" })
      lu.assertNil(hostile.find_text_problem(message), text)
      support.clean()
    end
  end
end

TestStrips = {}

function TestStrips.test_names_execute_nothing()
  local groups = { { name = "a'b`c", scores = { 1, 2 }, mean = 1.5, low = 1, high = 2 },
    { name = "none", scores = {} } }
  local picture = strips("it's", "x", { { name = "`touch x`", groups = groups } })
  picture.name = "compare"
  local script = panels.make_script(picture)
  lu.assertStrContains(script, "\"a'b\\140c\" 1, 'none' 2")
  lu.assertStrContains(script, "set title '`touch x`'")
  lu.assertStrContains(script, "set label 1 \"it's\"")
end

support.run()
