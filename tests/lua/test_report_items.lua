-- Items of a report, which a study requests: their fields, their defaults, and messages about mistakes.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local items = require("lab.study.report.items")
local lu = require("luaunit")
local reports = require("reports")
local score_tables = require("lab.study.report.tables.score_tables")

local make_axes_study, make_empty_study = reports.make_axes_study, reports.make_empty_study
local RANDOMIZED, PLAIN = reports.RANDOMIZED, reports.PLAIN

TestItems = {}

local function find_problem(item)
  local study = make_empty_study()
  study.path, study.report = "s.lua", { item }
  local list, message = items.check(study)
  lu.assertNil(list)
  return message
end

function TestItems.test_mistakes_name_the_field()
  local cases = {
    { { kind = "tabel" }, 'report[1].kind: no such kind: "tabel"\n  expected: one of: axis, best, claim, curves, '
      .. "heat, numbers, places, progress, reached, splits, spread, table, time\n  hint: did you mean table?" },
    { { kind = "curves" }, 'report[1].lines: missing\n  expected: kind "curves" needs it' },
    { { kind = "curves", lines = "encoding", panels = "task", setting = 3 },
      "report[1].setting: not a name of a file" },
    { { kind = "curves", lines = "encoding", panels = "task", title = {} }, "report[1].title: a table is not a text" },
    { { kind = "curves", lines = "encoding", panels = "task", where = 5 }, 'report[1].where: is "5"' },
    { { kind = "curves", lines = "encoding", panels = "task", 5 }, "report[1].1: a value without a name" },
    { { kind = {} }, "report[1].kind: no such kind: a table" },
    { { kind = "time", lines = "encoding", slow = "rope", fast = "rope", threshold = 1 / 0 },
      "report[1].threshold: inf is not a number" },
    { { kind = "reached", rows = "encoding", threshold = 0.999, pages = "task" }, "report[1].threshold: 0.999 is not a "
      .. "percentage that a score can reach\n  expected: a number above 1, at most 100\n"
      .. "  hint: write percent, not a share" },
    { { kind = "reached", rows = "encoding", threshold = 9990, pages = "task" }, "report[1].threshold: 9990 is not a" },
    { { kind = "table", value = "max", rows = "task", columns = "encoding", names = { task = 5 } },
      "report[1].names: 5 is not a table" },
    { { kind = "table", value = "max", rows = "task", columns = "encoding", published = { file = "x", of = {} } },
      "report[1].published: not a name of a file" },
    { { kind = "table", value = "max", rows = "task", columns = "encoding", published = "../../x" },
      "report[1].published: not a name of a file" },
    { { kind = "curves", lines = "encodng" }, 'report[1].lines: not an axis of the study: "encodng"' },
    { { kind = "curves", lines = "encoding" }, "report[1].where: the axis task has 15 values" },
    { { kind = "curves", lines = "encoding", pannels = "task" }, 'report[1].pannels: no field of kind "curves"' },
    { { kind = "table", value = "best", rows = "task", columns = "encoding" },
      'report[1].value: not a number that a table can show: "best"' },
    { { kind = "best", value = "max", rows = "task", axis = "encoding", of = { "rop" }, against = { "none" } },
      'report[1].of: not on the axis encoding: "rop"' },
    { { kind = "curves", lines = "encoding", where = { task = "sort" } },
      'report[1].where.task: not on this axis: "sort"' },
    { { kind = "curves", lines = "encoding", pages = "task", where = { encoding = "rope" } },
      "report[1].where.encoding: the axis is used by `lines` already\n  expected: each axis in one place" },
    { { kind = "reached", rows = "encoding", threshold = 90, split = "tset", pages = "task" },
      'report[1].split: not a set: "tset"\n  expected: one of: train, test, validation' },
    { { kind = "curves", lines = "encoding", pages = "task", only = 3 }, "report[1].only: is 3" },
    { { kind = "curves", lines = "encoding", pages = "task", only = { encoding = {} } },
      "report[1].only.encoding: not a list of names" },
    { { kind = "curves", lines = "encoding", pages = "task", only = { encoding = { "rop" } } },
      'report[1].only.encoding: not on this axis: "rop"' },
    { { kind = "curves", lines = "encoding", pages = "task", only = { encodng = { "rope" } } },
      'report[1].only.encodng: not an axis of the study: "encodng"' },
    { { kind = "heat", rows = "encoding", columns = "encoding", panels = "task" },
      "report[1].rows: the axis encoding is used by `columns` already" },
    { { kind = "heat", rows = "length", columns = "length", panels = "task", pages = "encoding" },
      "report[1].rows: the axis length is used by `columns` already\n  expected: each axis in one place" },
    { { kind = "heat", rows = "encoding", columns = "length" }, "report[1].where: the axis task has 15 values" },
    { { kind = "heat", rows = "encoding", columns = "length", panels = "task", width = 85 },
      "report[1].width: is not a field of this kind" },
    { { kind = "claim", rows = "encoding", at = { 20 }, bound = { over = 3 }, pages = "task" },
      "report[1].bound: is a table\n  expected: { above = 90 } or { below = 50 }" },
    { { kind = "claim", rows = "encoding", at = { 20 }, bound = { above = 3 }, passes = 1.5, pages = "task" },
      "report[1].passes: 1.5 is not a whole number" },
    { { kind = "curves", lines = "encoding", where = 3 }, "report[1].where: is \"3\"" },
    { { kind = "table", value = "max", rows = "task", columns = "task", pages = "encoding" },
      "report[1].rows: the axis task is used by `columns` already\n  expected: each axis in one place" },
    { { kind = "curves", lines = "encoding", pages = "encoding" }, "report[1].pages: the axis encoding is used by" },
    { { kind = "curves", lines = "encoding", pages = { "tsk" } }, 'report[1].pages: not an axis of the study: "tsk"' },
    { { kind = "curves", lines = "encoding", pages = 3 }, "report[1].pages: is 3\n  expected: an axis" },
    { { kind = "axis", x = "task", lines = "encoding" },
      'report[1].x: the axis task has the value "even_pairs"\n  expected: values that are numbers' },
  }
  for _, case in ipairs(cases) do
    lu.assertStrContains(find_problem(case[1]), "s.lua: error: " .. case[2])
  end
end

function TestItems.test_a_scale_may_leave_values_out()
  local study = make_empty_study()
  study.axes[2].values, study.scale, study.path = { "none", "rand-rope" }, "small", "s.lua"
  study.report = { { kind = "best", value = "max", rows = "task", axis = "encoding", of = RANDOMIZED,
    against = PLAIN } }
  local list = assert(items.check(study))
  lu.assertEquals({ list[1].of, list[1].against }, { { "rand-rope" }, { "none" } })
end

-- An item may request only some values of an axis, also of the axis of pages; a scale may lack some of them.
function TestItems.test_only_some_values()
  local study = make_axes_study({ { name = "width", values = { "8", "16", "32" } },
    { name = "task", values = { "a", "b" } } }, { 1, 2, 3, 4, 5, 6 })
  study.report = { { kind = "table", value = "max", rows = "task", pages = "width", only = { width = { 8, 32 } } },
    { kind = "table", value = "max", rows = "width", pages = "task", only = { width = { 16 } } } }
  local list = assert(items.check(study))
  lu.assertEquals({ #list, list[1].where, list[2].where }, { 4, { width = "8" }, { width = "32" } })
  local shown_study = cells.select(study, list[3].where, list[3].only)
  lu.assertEquals({ #shown_study.cells, shown_study.axes[1].values, shown_study.axes[2].values },
    { 1, { "16" }, { "a" } })
  lu.assertEquals(score_tables.tabulate(shown_study, list[3]).rows[1].title, "16")
  study.axes[1].values, study.scale = { "8" }, "small"
  list = assert(items.check(study))
  lu.assertEquals({ #list, list[2].only }, { 3, { width = {} } })
  lu.assertEquals(#cells.select(study, list[2].where, list[2].only).cells, 0)
end

function TestItems.test_names_may_be_numbers()
  local study = make_axes_study({ { name = "width", values = { "8", "16" } },
    { name = "task", values = { "a", "b" } } }, {})
  study.report = { { kind = "best", value = "max", rows = "task", axis = "width", of = { 16 }, against = { 8 } },
    { kind = "curves", lines = "task", where = { width = 16 } } }
  local list = assert(items.check(study))
  lu.assertEquals({ list[1].of, list[2].where }, { { "16" }, { width = "16" } })
end

-- If the values of an axis are numbers, the default items also have a figure of the score along this axis.
function TestItems.test_defaults_along_numbers()
  local study = make_axes_study({ { name = "encoding", values = { "rope", "none" } },
    { name = "width", values = { "8", "16" } } }, {})
  local list = assert(items.check(study))
  lu.assertEquals({ #list, list[5].kind, list[5].x, list[5].lines, list[5].show }, { 5, "axis", "width", "encoding" })
  study.axes = { study.axes[2] }
  list = assert(items.check(study))
  lu.assertEquals({ #list, list[1].columns, list[2].lines, list[5].x, list[5].lines }, { 5, nil, "width", "width" })
  lu.assertEquals({ list[3].panels, list[3].lines, list[3].splits, list[4].splits }, { nil, "width", { "loss" },
    { "epoch" } })
  lu.assertEquals(assert(items.check(study, true))[6].show, "max")
end

function TestItems.test_default_items_of_a_report()
  local study = make_empty_study()
  local kinds = {}
  for i, item in ipairs(assert(items.check(study))) do
    kinds[i] = item.kind .. " " .. (item.value or "")
  end
  lu.assertEquals(kinds, { "table median", "curves ", "progress ", "progress " })
  lu.assertEquals(assert(items.check(study, true))[2].value, "max")
end

support.run()
