-- Tables of a report: their content, and their forms as text, LaTeX, HTML and CSV.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local claims = require("lab.study.report.tables.claims")
local entries = require("lab.study.report.tables.table_entries")
local hostile = require("hostile")
local html = require("lab.study.report.page.html")
local items = require("lab.study.report.items")
local lists = require("base.lists")
local lu = require("luaunit")
local numbers = require("lab.study.report.tables.numbers")
local published = require("lab.study.read.published")
local report_csv = require("lab.study.report.tables.report_csv")
local reports = require("reports")
local spread = require("lab.study.report.tables.spread")
local table_latex = require("lab.study.report.tables.table_latex")
local table_text = require("lab.study.report.tables.table_text")
local escape = require("base.escape")
local score_tables = require("lab.study.report.tables.score_tables")
local write = require("base.write")

local make_study, SCORES, project = reports.make_study, reports.SCORES, reports.project
local make_axes_study, RANDOMIZED, PLAIN = reports.make_axes_study, reports.RANDOMIZED, reports.PLAIN

local GOLDEN = "tests/golden/report/"

TestViews = {}

local TABLE = { kind = "table", value = "mean", rows = "task", columns = "encoding", published = "ruoss_2023/table4" }

local function make_mean_table(name)
  local contents = score_tables.tabulate(make_study(name, SCORES), TABLE, published.read(project, "ruoss_2023/table4"))
  contents.name = "table1"
  return contents
end

function TestViews.test_an_entry_has_our_number_the_paper_s_and_the_difference()
  local contents = make_mean_table("views")
  lu.assertEquals(contents.rows[1].cells[1].texts, { "52.0 ± 2.0", "50.4 ± 0.3", "+1.6" })
  lu.assertEquals(contents.rows[2].cells[1].texts[1], "30.0*")
  lu.assertEquals(contents.rows[2].cells[2].texts[1], "missing")
  lu.assertEquals(contents.rows[2].cells[2].texts[3], "")
  lu.assertEquals(contents.rows[3].cells[2].texts[1], "missing")
  lu.assertEquals({ contents.rows[1].cells[1].is_best, contents.rows[1].cells[2].is_best }, { false, true })
  lu.assertEquals({ contents.rows[2].cells[1].is_best, contents.rows[2].cells[2].is_best }, { false, false })
end

function TestViews.test_a_table_of_hours()
  local contents = score_tables.tabulate(make_study("hours", SCORES), { kind = "table", value = "hours",
    rows = "task", columns = "encoding" })
  lu.assertEquals(contents.rows[1].cells[1].texts, { "2.00 ± 0.89" })
end

-- The table of a study with one axis is a column in the order of the study; the best value is marked, and there is no
-- mean over the axis.
function TestViews.test_one_axis()
  local study = make_axes_study({ { name = "width", values = { "32", "8", "16" } } }, { 30, 10, 20 })
  local list = assert(items.check(study, true))
  local contents = score_tables.tabulate(study, list[2])
  contents.name = "table1"
  lu.assertEquals(table_text.render(contents, 60), table.concat({
    "Accuracy in percent, the best of all seeds and learning", "rates\n", "width  best", "-----------",
    "32     30.0", "8      10.0", "16     20.0\n" }, "\n"))
  lu.assertEquals({ contents.rows[1].cells[1].is_best, contents.rows[2].cells[1].is_best, #contents.rows },
    { true, false, 3 })
  lu.assertStrContains(table_latex.render(contents), "\\begin{tabular}{lr}\n\\toprule\nwidth & best \\\\\n\\midrule\n"
    .. "32 & \\textbf{30.0} \\\\\n8 & 10.0 \\\\\n16 & 20.0 \\\\\n\\bottomrule")
  lu.assertStrContains(html.make_table(contents), '<tr><th scope="col">width</th><th scope="col">best</th></tr>')
  lu.assertStrContains(html.make_table(contents), '<th scope="row">8</th><td><a href="#cell-2">10.0</a></td></tr>')
end

-- Scores in percent of the runs of a study on dataset files: by encoding and learning rate, for each seed the scores on
-- the sets train, test and validation; nil for a set without an evaluation.
local PUZZLES = {
  learned = { [0.1] = { { 99, 80, 60 }, { 97, 82, 66 } }, [0.2] = { { 90, 95, 70 } } },
  none = { [0.1] = { { 50, 40 }, { 52, 44 } } },
}

-- The lines of eval.jsonl of such a run. Each set has two conditions, 1 and 2 vectors, with the score as their mean.
local function make_puzzle_lines(sets)
  local lines = {}
  for i, split in ipairs({ "train", "test", "validation" }) do
    for vectors = 1, sets[i] and 2 or 0 do
      lines[#lines + 1] = ('{"step":9,"split":"%s","by":{"vectors":%d},"examples":50,"draws":1,"accuracy":%.17g,'
        .. '"exact_match":0.25,"loss":0.5,"sd_over_draws":0}\n'):format(split, vectors,
        sets[i] / 100 + 0.01 * (2 * vectors - 3))
    end
  end
  return table.concat(lines)
end

local function make_puzzle_study(name, scored)
  local study = { name = "s", title = "Study", path = "s.lua", scored = scored, cells = {},
    axes = { { name = "encoding", values = { "learned", "none" } } } }
  local root = support.write(name .. "/here", ""):match("^(.*)/")
  for _, encoding in ipairs(study.axes[1].values) do
    local cell = { key = { encoding = encoding }, id = encoding, runs = {},
      spec = { plan = { digest = reports.DIGEST } } }
    for rate, seeds in pairs(PUZZLES[encoding]) do
      for seed, sets in ipairs(seeds) do
        local dir = reports.write_run(name, encoding, seed, rate, { exit = 0, eval = make_puzzle_lines(sets),
          facts = { data = { by = { "vectors" } }, epoch_accuracy = 0.9 + seed / 100 } })
        table.insert(cell.runs, { seed = seed, learning_rate = rate, dir = dir:match("[^/]*/[^/]*/[^/]*$") })
      end
    end
    study.cells[#study.cells + 1] = cell
  end
  return cells.read_study(study, root)
end

-- A table of scores at single lengths: values that the paper lacks are blank, and values that it quotes have rows of
-- their own.
function TestViews.test_single_lengths()
  local study = make_study("numbers", SCORES)
  local item = { kind = "numbers", rows = "encoding", at = { 20, 30, 40 }, where = { task = "even_pairs" },
    names = { encoding = { ["rand-rope"] = "theirs" } } }
  local contents = numbers.make_table(study, item)
  lu.assertEquals(contents.columns, { { title = "length 20" }, { title = "length 30" }, { title = "length 40" } })
  local first = study.cells[1].summary.best_rate
  lu.assertEquals(contents.rows[1].cells[1].value, first.mean + 1)
  lu.assertEquals(contents.rows[1].cells[2].value, first.mean - 1)
  lu.assertEquals({ contents.rows[1].cells[3].texts, contents.rows[1].cells[3].is_missing }, { { "missing" }, true })
  local paper = assert(published.parse("encoding,task,length,accuracy,quoted\ntheirs,even_pairs,20,60.0,\n"
    .. "best,even_pairs,30,52.0,somebody\nbest,even_pairs,all,51,somebody\n"))
  contents = numbers.make_table(study, item, paper)
  lu.assertEquals({ contents.rows[1].cells[1].texts[2], contents.rows[2].cells[1].texts[2] }, { "", "60.0" })
  local quoted_row = contents.rows[3]
  lu.assertEquals({ #contents.rows, quoted_row.title, quoted_row.cells[1].texts, quoted_row.cells[2].texts },
    { 3, "best (quoted)", { "", "", "" }, { "", "52.0", "" } })
  lu.assertStrContains(table.concat(contents.notes, "\n"), "best (quoted): the paper took it from somebody; all: 51")
end

-- A claim lists every seed and holds if all requested seeds meet its bound at all numbers.
function TestViews.test_claims()
  local study = make_study("claims", SCORES)
  local function tabulate(task, names, bound)
    local item = { kind = "claim", rows = "encoding", at = { 20, 30 }, bound = bound, where = { task = task } }
    return claims.make_table(cells.select(study, item.where, { encoding = names }), item)
  end
  local contents = tabulate("even_pairs", { "rope", "rand-rope" }, { above = 50 })
  lu.assertEquals(lists.map(contents.rows[1].cells, function(entry) return entry.texts[1] end),
    { "51.0, 53.0, 55.0", "49.0, 51.0, 53.0", "2 of 3" })
  lu.assertEquals(lists.map(contents.columns, function(column) return column.title end),
    { "length 20", "length 30", "seeds that meet the bound" })
  lu.assertStrContains(contents.caption, "Not shown: 1 of 6 runs with a score miss the bound.")
  lu.assertStrContains(tabulate("even_pairs", { "rope" }, { below = 58 }).caption, "Shown by all 3 runs.")
  contents = tabulate("bucket_sort", { "rope" }, { above = 20 })
  lu.assertStrContains(contents.caption, "Open: 1 of 3 runs have a score, and all of them meet the bound.")
  lu.assertEquals(contents.rows[1].cells[3].texts[1], "1 of 3")
  lu.assertStrContains(tabulate("bucket_sort", { "rand-rope" }, { above = 20 }).caption, "Open: ")
end

-- Computed by hand: the groups have 3, 3 and 2 scores with the means 2, 6 and 4. The mean square is 1.2 within groups
-- and 12 between groups. The effective size of a group is n0 = (8 - 22 / 8) / 2.
function TestViews.test_spread_within_and_between()
  local actual = spread.compute({ { 1, 2, 3 }, { 5, 6, 7 }, { 3, 5 } })
  lu.assertEquals({ actual.mean, actual.groups, actual.runs }, { 4.0, 3, 8 })
  lu.assertAlmostEquals(actual.within ^ 2, 6 / 5, 1e-12)
  lu.assertAlmostEquals(actual.between ^ 2, (12 - 6 / 5) / (5.25 / 2), 1e-12)
  lu.assertEquals(spread.compute({ { 1, 3 }, { 2, 2 } }).between, 0.0)
  lu.assertNil(spread.compute({ { 1 }, { 2 } }).within)
  local item = { kind = "spread", rows = "encoding", of = "task" }
  local contents = spread.make_table(make_study("spread", SCORES), item)
  lu.assertEquals({ #contents.rows, contents.columns[4].title }, { 2, "runs, tasks" })
  lu.assertEquals(contents.rows[1].cells[4].texts[1]:match(", %d+"), ", 2")
  lu.assertNotNil(contents.rows[1].cells[1].value)
  lu.assertNil(contents.rows[1].cells[1].number) -- no link, since the value is of several cells
  contents.rows[1].cells[1] = { value = 50, texts = { "50.0*" }, note = "few runs" }
  lu.assertStrContains(html.make_table(contents), '<td><span title="few runs">50.0*</span></td>')
end

-- If an item joins an axis (over), the runs of all its values become one cell. The cell's learning rate is the best for
-- all these runs.
function TestViews.test_cells_are_joined_over_an_axis()
  local study = make_study("over", SCORES)
  local joined_study = cells.merge_axis(study, "task")
  lu.assertEquals({ #joined_study.cells, #joined_study.axes, joined_study.axes[1].name }, { 2, 1, "encoding" })
  local joined_summary, first, third = joined_study.cells[1].summary, study.cells[1].summary, study.cells[3].summary
  lu.assertEquals(joined_summary.requested, first.requested + third.requested)
  lu.assertEquals(joined_summary.best_score, math.max(first.best_score, third.best_score or 0))
  lu.assertEquals({ joined_study.name, #study.cells, #study.axes }, { study.name, 4, 2 })
end

-- All sets have the learning rate that the study chooses on one set. A set without an evaluation is "missing", and
-- values that the paper lacks are blank.
function TestViews.test_sets_side_by_side()
  local study = make_puzzle_study("sets", { split = "validation", select = "train" })
  local paper = assert(published.parse("encoding,train_mean,train_sd,validation_mean,validation_sd\n"
    .. "learned,99.0,0.0,61.0,4.0\n"))
  local contents = score_tables.tabulate_sets(study,
    { kind = "splits", rows = "encoding", splits = { "train", "test", "validation" } }, paper)
  lu.assertEquals(contents.rows[1].cells[1].texts, { "98.0 ± 1.4", "1.0", "99.0 ± 0.0", "-1.0" })
  lu.assertEquals(contents.rows[1].cells[2].texts, { "81.0 ± 1.4", "1.0", "", "" })
  lu.assertEquals(contents.rows[1].cells[3].texts, { "63.0 ± 4.2", "3.0", "61.0 ± 4.0", "+2.0" })
  lu.assertEquals(contents.rows[2].cells[3].texts[1], "missing")
  -- The set epoch has the mean over the batches of the last epoch, the set train the share of right training examples.
  -- The paper has one number for both.
  local splits = score_tables.tabulate_sets(study,
    { kind = "splits", rows = "encoding", splits = { "epoch", "train" } }, paper)
  lu.assertEquals(splits.rows[1].cells[1].texts, { "91.5 ± 0.7", "0.5", "99.0 ± 0.0", "-7.5" })
  lu.assertEquals(splits.rows[1].cells[2].texts, contents.rows[1].cells[1].texts)
  lu.assertEquals(splits.rows[2].cells[1].texts[1], "missing")
  lu.assertEquals(study.cells[2].summary.states, { ["not evaluated"] = 2 })
  lu.assertEquals(contents.caption, "Mean over 2 values of vectors 1..2, on the set validation. Learning rate chosen "
    .. "on the set train, by the best mean over seeds.")
  lu.assertEquals(score_tables.tabulate(study, { kind = "table", value = "max", rows = "encoding" }).caption,
    "Mean over 2 values of vectors 1..2, on the set validation.")
  contents.name = "splits1"
  local latex = table_latex.render(contents) -- two sets next to each other are wider than the text
  lu.assertEquals(lists.find_all(latex, "tabular}{(l[lr]+)}"), { "lrrrr", "lrrrr", "lrrrr" })
  lu.assertStrContains(latex, " & ours & s.e. & paper & diff \\\\\n")
  study = make_puzzle_study("chosen", { split = "validation", select = "validation" })
  lu.assertEquals(study.cells[1].summary.best_rate.rate, 0.2)
  lu.assertAlmostEquals(study.cells[1].summary.best_rate.mean, 70, 1e-9)
end

-- Every combination of values of a third and a fourth axis has its page; an axis with a single value has none.
function TestViews.test_further_axes_are_pages()
  local study = make_axes_study({ { name = "task", values = { "sort", "parity" } },
    { name = "seen", values = { "all" } },
    { name = "encoding", values = { "rope", "none" } }, { name = "width", values = { "8", "16" } },
    { name = "depth", values = { "2", "4" } } }, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 })
  local titles, shown_cells = {}, {}
  for _, item in ipairs(assert(items.check(study, true))) do
    if item.kind == "table" and item.value == "max" then
      local contents = score_tables.tabulate(study, item)
      titles[#titles + 1] = contents.title:match("%((.*)%)$")
      for i = 1, 2 do
        for _, cell in ipairs(contents.rows[i].cells) do
          shown_cells[cell.number] = true
        end
      end
    end
  end
  lu.assertEquals(titles, { "depth 2, width 8", "depth 4, width 8", "depth 2, width 16", "depth 4, width 16" })
  lu.assertEquals(#shown_cells, 16)
end

function TestViews.test_numbers_are_labelled_with_their_axis()
  local study = make_axes_study({ { name = "task", values = { "sort" } }, { name = "width", values = { "8", "16" } } },
    { 1, 2 })
  local contents = score_tables.tabulate(study, { kind = "table", value = "max", rows = "task", columns = "width" })
  lu.assertEquals({ contents.columns[1].title, contents.columns[2].title }, { "width 8", "width 16" })
  lu.assertEquals(score_tables.format_key(study, study.cells[2]), "width 16")
end

-- The unit fits the longest time; next to a paper's times it is hours.
function TestViews.test_times_have_a_unit_that_fits()
  local study = make_axes_study({ { name = "width", values = { "8", "16" } } }, { 1, 2 })
  local function make_contents(first, second, file)
    study.cells[1].summary.hours.mean, study.cells[2].summary.hours.mean = first, second
    return score_tables.tabulate(study, { kind = "table", value = "hours", rows = "width" }, file)
  end
  local contents = make_contents(2.5 / 3600, 5 / 3600)
  lu.assertStrContains(contents.title, "Seconds of training")
  lu.assertEquals({ contents.rows[1].cells[1].texts[1], contents.rows[2].cells[1].texts[1] }, { "2.50", "5.00" })
  contents = make_contents(2.5 / 60, 5 / 3600)
  lu.assertEquals({ contents.columns[1].title, contents.rows[1].cells[1].texts[1] }, { "minutes", "2.50" })
  contents = make_contents(2.5 / 60, 5 / 3600, published.read(project, "ruoss_2023/table1"))
  lu.assertEquals({ contents.columns[1].title, contents.rows[1].cells[1].texts[1] }, { "hours", "0.042" })
end

local function tabulate_best(item)
  local file = type(item.published) == "table" and item.published.file or item.published
  item.kind, item.value, item.rows = "best", "max", "task"
  return score_tables.tabulate_best(reports.make_empty_study(), item, assert(published.read(project, file)))
end

-- Figures that the paper's text derives from its tables.
function TestViews.test_headline_figures_follow_from_the_published_tables()
  local gain = tabulate_best({ axis = "encoding", of = RANDOMIZED, against = PLAIN, published = "ruoss_2023/table1" })
  lu.assertEquals(#gain.rows, 17)
  lu.assertEquals(gain.rows[16].cells[3].texts[2], "+11.95")
  lu.assertEquals(gain.rows[17].cells[3].texts[2], "+43.5")
  local sorting = tabulate_best({ axis = "encoding", of = { "rand-sincos" }, against = { "unsorted" },
    published = "ruoss_2023/table3", names = { encoding = {
      ["rand-sincos"] = { encoding = "rand-sincos", sorted = 1 }, unsorted = { encoding = "rand-sincos", sorted = 0 },
    } } })
  lu.assertEquals(sorting.rows[16].cells[3].texts[2], "+15.67")
  lu.assertEquals(sorting.rows[17].cells[3].texts[2], "+76.3")
  local geometric = tabulate_best({ axis = "encoding", of = RANDOMIZED, against = { "geometric" },
    published = { file = "ruoss_2023/table5", of = "table1_best_max", against = "geometric_max" } })
  lu.assertEquals(geometric.rows[16].cells[3].texts[2], "+9.70")
  for _, contents in ipairs({ gain, sorting, geometric }) do
    lu.assertEquals(contents.rows[16].cells[3].texts[1], "missing")
  end
end

TestRenderers = {}

function TestRenderers.test_a_table_as_text()
  local contents = make_mean_table("text")
  support.assert_golden(GOLDEN .. "table.txt", table_text.render(contents, 60))
  for line in table_text.render(contents, 60):gmatch("[^\n]+") do
    lu.assertTrue(utf8.len(line) <= 60, line)
  end
end

-- A table that is too wide or too long for a page is split into blocks, which fill several pages.
function TestRenderers.test_large_tables_are_split()
  local rows = {}
  for i = 1, 50 do
    rows[i] = { "row " .. i }
    for column = 1, 20 do
      rows[i][column + 1] = ("%d"):format(column * 100000)
    end
  end
  local contents = lists.merge(entries.tabulate({ title = "T", heads = lists.map(rows[1], tostring), rows = rows }),
    { name = "large" })
  local latex = table_latex.render(contents)
  lu.assertNil(hostile.find_latex_problem(latex))
  lu.assertEquals(select(2, latex:gsub("begin{table}", "")), 6)
  lu.assertEquals(select(2, latex:gsub("caption{%(continued%)}", "")), 5)
  lu.assertEquals(select(2, latex:gsub("label{", "")), 1)
  lu.assertEquals(lists.find_all(latex, "tabular}{(l[lr]+)}"), { "lrrrrrrrr", "lrrrrrrrr", "lrrrrrrr", "lrrrrrrr",
    "lrrrrr", "lrrrrr" })
end

function TestRenderers.test_a_table_as_latex()
  support.assert_golden(GOLDEN .. "table.tex", table_latex.render(make_mean_table("latex")))
  lu.assertEquals(escape.latex("a_b & 50% {x} \\ ~^ #1 $ <|>"),
    "a\\_b \\& 50\\% \\{x\\} \\textbackslash{} \\textasciitilde{}\\textasciicircum{} \\#1 \\$ \\textless{}\\textbar{}"
      .. "\\textgreater{}")
end

function TestRenderers.test_a_table_as_html()
  support.assert_golden(GOLDEN .. "table.html", html.make_table(make_mean_table("html")) .. "\n")
  local contents = make_mean_table("heading")
  lu.assertStrContains(html.make_table(contents, contents.title), "<caption>Mean over 2 lengths")
  lu.assertEquals(escape.html('<a href="x">&</a>'), "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;")
end

function TestRenderers.test_csv_fields_survive()
  for _, field in ipairs({ "plain", "a,b", 'say "x"', "", '"', "a,\"b\",c" }) do
    local line = escape.csv(field) .. "," .. escape.csv("end")
    lu.assertEquals(published.split_line(line), { field, "end" })
  end
  lu.assertNil(published.split_line('"open'))
end

function TestRenderers.test_csv_files()
  local study = make_study("csv", SCORES)
  local dir = support.write("csv_out/x", ""):match("^(.*)/")
  lu.assertNotNil(write.files(dir, report_csv.make_files(study)))
  local contents = assert(published.parse(support.read(dir .. "/runs.csv")))
  lu.assertEquals(#contents.rows, 24)
  lu.assertEquals({ contents.rows[1].task, contents.rows[1].encoding, contents.rows[1].state, contents.rows[1].score },
    { "even_pairs", "rope", "evaluated", "50" })
  lu.assertEquals({ contents.rows[14].state, contents.rows[14].score }, { "failed", "" })
  local lengths = assert(published.parse(support.read(dir .. "/report.csv")))
  lu.assertEquals(#lengths.rows, 13 * 3)
  lu.assertEquals({ lengths.rows[2].split, lengths.rows[2].length, lengths.rows[2].accuracy },
    { "beyond", "20", "0.51" })
end

function TestViews.test_lines_of_csv_are_numbered_as_in_the_file()
  lu.assertEquals(published.parse("a,b\r\n1,2\r\n\n"), { columns = { "a", "b" }, rows = { { a = "1", b = "2" } } })
  lu.assertEquals({ published.parse("a,b\n1,2\n\n3,4\n") }, { nil, "line 3: is blank\n  expected: a row" })
  lu.assertEquals({ published.parse("a,b\n1,2\n3\n") }, { nil, "line 3: 1 fields\n  expected: 2" })
end

-- A caution of all columns of a row is given once, without their titles.
function TestViews.test_equal_notes_of_a_row_are_joined()
  local columns = { { title = "3" }, { title = "4" }, { title = "5" } }
  local rows = { { title = "all", cells = { { note = "a" }, { note = "a" }, { note = "a" } } },
    { title = "some", cells = { { note = "b" }, {}, { note = "b" } } },
    { title = "one", cells = { {}, { note = "c" }, {} } } }
  lu.assertEquals(entries.collect_notes(rows, columns), { "all: a", "some, 3, 5: b", "one, 4: c" })
  lu.assertEquals(entries.collect_notes({ { title = "single", cells = { { note = "d" } } } }, { { title = "x" } }),
    { "single: d" })
end

support.run()
