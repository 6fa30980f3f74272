-- `analyze human` compares models with people: tables and trials of people, messages about invalid ones, similarities
-- computed by hand, and the files of the verb.

local support = dofile("tests/lua/support.lua")

local analyze = require("lab.study.analyze.analyze")
local cli = require("cli.cli").make(require("lab.cli.command_lines"))
local correlation = require("lab.study.analyze.mathematics.correlation")
local lists = require("base.lists")
local lu = require("luaunit")
local human_data = require("lab.study.read.human_data")
local reports = require("reports")
local stop = require("lab.stop")

local PUZZLES = { count = 6, vectors = { 1, 1, 1, 3, 3, 3 }, run = "RUN" }
local HUMAN = { 1.0, 0.9, 0.95, 0.5, 0.7, 0.6 }

-- Writes a table of people's accuracies; returns its path. The first id is `first`. If `row` is given, the text `line`
-- takes the place of the row with this index.
local function write_table(first, row, line)
  local lines = { "id,vectors,share" }
  for i, share in ipairs(HUMAN) do
    lines[#lines + 1] = i == row and line or ("%d,%d,%g"):format(first + i - 1, PUZZLES.vectors[i], share)
  end
  return support.write("human.csv", table.concat(lines, "\n") .. "\n")
end

TestPeople = { tearDown = support.clean }

-- Returns the message with which a reader refuses a file.
local function read_refusal(read, ...)
  return select(2, stop.catch(read, ...))
end

function TestPeople.test_ids_from_0_and_from_1_and_in_any_order()
  for _, first in ipairs({ 0, 1 }) do
    lu.assertEquals(assert(human_data.read_accuracy(write_table(first), nil, PUZZLES)), HUMAN)
  end
  local path = support.write("turned.csv", "share,id\n0.6,5\n0.7,4\n0.5,3\n0.95,2\n0.9,1\n1,0\n")
  lu.assertEquals(assert(human_data.read_accuracy(path, "share", PUZZLES)), HUMAN)
  path = support.write("plain.csv", "share\n1\n0.9\n0.95\n0.5\n0.7\n0.6\n")
  lu.assertEquals(assert(human_data.read_accuracy(path, nil, PUZZLES)), HUMAN)
end

function TestPeople.test_tables_that_do_not_match()
  for _, case in ipairs({
    { 2, "0,1,0.9", "human.csv: line 3: id: found 0; expected 0 to 5, each once" },
    { 2, "7,1,0.9", "line 3: id: found 7; expected 0 to 5, each once" },
    { 2, "one,1,0.9", 'line 3: id: found "one"; expected an integer' },
    { 4, "3,2,0.5", 'line 5: vectors: found "2"; expected 3, the number of vectors of puzzle 4 in RUN' },
    { 4, "3,3,50", 'line 5: share: found "50"; expected a share from 0 to 1' },
    { 4, "3,3,nan", 'line 5: share: found "nan"; expected a share from 0 to 1' },
    { 6, "5,3", "line 7: 2 fields" },
    { 6, "5,3,0.6\n6,3,0.6", "human.csv: 7 puzzles; expected 6, since RUN was evaluated on 6" },
  }) do
    lu.assertStrContains(read_refusal(human_data.read_accuracy, write_table(0, case[1], case[2]), nil, PUZZLES),
      case[3])
  end
  lu.assertStrContains(read_refusal(human_data.read_accuracy, write_table(0), "shares", PUZZLES),
    "there is no column shares\n  expected: one of: id, vectors, share")
  lu.assertStrContains(read_refusal(human_data.read_accuracy, "no/such.csv", nil, PUZZLES), "no/such.csv: no such file")
  lu.assertStrContains(read_refusal(human_data.read_accuracy, "tests", nil, PUZZLES),
    "tests: found a directory; expected a file")
end

-- Trials of two participants, a and b. Participant a did not see puzzle 6, and saw puzzle 4 twice. Item 7 is not one of
-- the puzzles.
local TRIALS = "subject,LST_id,accuracy\na,1,1\na,2,1\na,3,0\na,4,0\na,4,1\na,5,1\na,7,999\nb,1,1\nb,2,0\nb,3,1\n"
  .. "b,4,0\nb,5,0\nb,6,1\n"

function TestPeople.test_trials_of_people_are_read()
  local list = assert(human_data.read_trials(support.write("trials.csv", TRIALS), PUZZLES))
  lu.assertEquals({ list[1].name, list[1].share }, { "a", { 1, 1, 0, 0.5, 1 } })
  lu.assertEquals(human_data.compute_means(list, 6), { 1, 0.5, 0.5, 0.25, 0.5, 1 })
  for text, expected in pairs({
    ["subject,LST_id,right\na,1,1\n"] = "there is no column accuracy; expected subject, LST_id and accuracy",
    ["subject,LST_id,accuracy\na,0,1\n"] = 'line 2: LST_id: found "0"; expected an integer from 1 on',
    ["subject,LST_id,accuracy\na,1,0.5\n"] = 'line 2: accuracy: found "0.5"; expected 0 or 1',
    ["subject,LST_id,accuracy\na,1,1\n"] = "trials of 1 participant; expected at least 2",
  }) do
    lu.assertStrContains(read_refusal(human_data.read_trials, support.write("trials.csv", text), PUZZLES), expected)
  end
end

-- An environment variable has the path of the published items. A model that is always right has the cosine 0.985 with
-- people, and people's means by vectors are the published ones.
function TestPeople.test_published_items()
  local path = os.getenv("LONGHAND_LST_VALIDATION")
  if not path then
    print("skip: people's accuracy on the published items: LONGHAND_LST_VALIDATION names no file")
    return lu.skip("no file")
  end
  local share = assert(human_data.read_accuracy(path, nil, { count = 108, vectors = {}, run = "" }))
  local always_right, sums = {}, { 0, 0, 0 }
  for puzzle, value in ipairs(share) do
    always_right[puzzle] = 1
    local vectors = (puzzle - 1) // 36 + 1
    sums[vectors] = sums[vectors] + value / 36
  end
  lu.assertAlmostEquals(correlation.cosine(share, always_right), 0.9847, 5e-5)
  for vectors, mean in ipairs({ 0.967, 0.870, 0.663 }) do
    lu.assertAlmostEquals(sums[vectors], mean, 5e-4)
  end
end

TestVerb = { tearDown = support.clean }

-- Writes runs of two cells, one with accuracies similar to people's, one with the reverse order; returns their folder.
local function write_runs()
  local dir
  for name, shares in pairs({ like = { 0.9, 0.8, 0.85, 0.3, 0.5, 0.4 }, unlike = { 0.3, 0.5, 0.4, 0.9, 0.8, 0.85 } }) do
    for seed = 1, 2 do
      local lines = {}
      for puzzle, share in ipairs(shares) do
        lines[puzzle] = ('{"step":100,"split":"validation","by":{"vectors":%d,"puzzle":%d},"examples":1,"draws":1,'
          .. '"accuracy":%.17g}'):format(PUZZLES.vectors[puzzle], puzzle, share + (seed == 1 and 0.05 or -0.05))
      end
      dir = reports.write_run("human", name .. "_cell", seed, 0.1, { exit = 0, eval = table.concat(lines, "\n")
        .. "\n" .. reports.make_scored_lines(50), facts = { data = { by = { "vectors", "puzzle" } } } })
    end
  end
  return reports.get_root(dir)
end

-- Runs the verb on a folder; returns its exit code, its message or "", and its output.
local function run(root, ...)
  local options = assert(cli.parse({ "analyze", "human", root, "--resamples", "200", ... }, "."))
  options.project = reports.project
  local code, message, output = reports.run_verb(analyze.run, options)
  return code, message or "", output
end

function TestVerb.test_written_comparison_with_people()
  local root = write_runs()
  local code, message, output = run(root, "--human", write_table(0))
  lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  local rows = {}
  for line in support.read(root .. "/human/human.csv"):gmatch("[^\n]+") do
    local fields = lists.find_all(line .. ",", "([^,]*),")
    rows[fields[1]] = fields
  end
  -- The means over seeds of one cell have people's ranks, the means of the other cell have the reverse ranks.
  local like, unlike = { 0.9, 0.8, 0.85, 0.3, 0.5, 0.4 }, { 0.3, 0.5, 0.4, 0.9, 0.8, 0.85 }
  lu.assertAlmostEquals(tonumber(rows.like_cell[3]), correlation.cosine(HUMAN, like), 1e-8)
  lu.assertAlmostEquals(tonumber(rows.like_cell[6]), 1, 1e-9)
  lu.assertAlmostEquals(tonumber(rows.like_cell[9]), (1 + correlation.cosine(HUMAN, like)) / 2, 1e-8)
  lu.assertAlmostEquals(tonumber(rows.unlike_cell[6]), correlation.spearman(HUMAN, unlike), 1e-8)
  lu.assertTrue(tonumber(rows.unlike_cell[6]) < -0.6)
  lu.assertEquals({ rows["always right"][6], rows["always right"][9] }, { "", "" })
  -- Three successive puzzles are variants of one base, and bases are resampled whole. With two bases, the interval of
  -- the cosine ends at the cosine of one base.
  local first = correlation.cosine({ 1, 0.9, 0.95 }, { 0.9, 0.8, 0.85 })
  local second = correlation.cosine({ 0.5, 0.7, 0.6 }, { 0.3, 0.5, 0.4 })
  lu.assertAlmostEquals(tonumber(rows.like_cell[5]), math.max(first, second), 1e-8)
  lu.assertStrContains(support.read(root .. "/human/vectors.csv"), "people,3,1,0.6,\n")
  lu.assertStrContains(support.read(root .. "/human/vectors.csv"), "like_cell,1,2,0.85,0.070710")
  lu.assertStrContains(support.read(root .. "/human/puzzles.csv"), "unlike_cell,4,2,3,0.5,0.9\n")
  lu.assertStrContains(support.read(root .. "/human/human.gnuplot"), "like_cell, rank correlation 1.00")
  lu.assertStrContains(output, "6 puzzles of 2 bases")
end

function TestVerb.test_trials_give_a_ceiling()
  local root = write_runs()
  local code, message, output = run(root, "--trials", support.write("trials.csv", TRIALS))
  lu.assertTrue(code == 0 or reports.lacks_gnuplot(code, message), message)
  -- With two participants every split compares one with the other, on the puzzles that both have seen.
  local a, b = { 1, 1, 0, 0.5, 1 }, { 1, 0, 1, 0, 0 }
  lu.assertStrContains(support.read(root .. "/human/human.csv"), ('"people, half against half",2,%.9g,%.9g,%.9g,')
    :format(correlation.cosine(a, b), correlation.cosine(a, b), correlation.cosine(a, b)))
  lu.assertStrContains(output, "people, half against half")
end

function TestVerb.test_puzzles_left_out()
  local root = write_runs()
  run(root, "--human", write_table(0), "--without", "3,4,5")
  lu.assertEquals(select(2, support.read(root .. "/human/puzzles.csv"):gsub("\n", "")), 1 + 2 * 3)
end

function TestVerb.test_messages_on_wrong_tables_and_splits()
  local root = write_runs()
  local code, message = run(root, "--human", write_table(0), "--split", "train")
  lu.assertEquals({ code, message }, { 1, "no run has a score on train" })
  code, message = run(root, "--human", write_table(0, 1, "0,1,1\n0,1,1"))
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "human.csv: 7 puzzles; expected 6, since ")
  code, message = run(root, "--human", write_table(0), "--without", "6")
  lu.assertEquals({ code, message }, { 1, "--without 6: there is no such puzzle\n  expected: ids from 0 to 5" })
  local _, problem = cli.parse({ "analyze", "human", root }, ".")
  lu.assertStrContains(problem, "add --human FILE or --trials FILE")
end

support.run()
