-- Calibration (lab/study/calibrate): lines in the attention of a teacher, and the bias that these lines give.
-- A line has a direction: 1 (diagonal), -1 (anti-diagonal) or 0 (column). found_lines.lua defines the index of a line.

local support = dofile("tests/lua/support.lua")

local fields = require("lab.study.calibrate.fields")
local facet = require("facets.lines")
local lines = require("lab.study.calibrate.found_lines")
local lists = require("base.lists")
local lu = require("luaunit")

-- Returns the choices of the examples below. Arguments: changes, as texts "FIELD=VALUE".
local function read_choices(...)
  local words = { "rows=all", "over=all", "threshold.self=1", "threshold.cross=1", "spread=0", "corner=none",
    "directions.self=1,-1,0", "directions.cross=1,-1,0", ... }
  return assert(fields.read("usual", words))
end

-- Returns a head's attention with these rows.
local function make_matrix(...)
  local matrix = { rows = select("#", ...), columns = #(...), values = {} }
  for _, row in ipairs({ ... }) do
    table.move(row, 1, #row, #matrix.values + 1, matrix.values)
  end
  return matrix
end

local SQUARE = make_matrix({ .05, .10, .85 }, { .10, .80, .10 }, { .75, .15, .10 })
local RECTANGLE = make_matrix({ .02, .03, .05, .60, .30 }, { .03, .02, .55, .10, .30 })

-- Formats a number with six decimals, without zeros at its end.
local function format_number(value)
  local text = ("%.6f"):format(value):gsub("0+$", ""):gsub("%.$", "")
  return text
end

local function format_lines(list)
  return table.concat(lists.map(list, function(line)
    return ("%d:%s"):format(line.index, format_number(line.value))
  end), " ")
end

-- Returns three texts: "index:value ..." of all lines; their mean, deviation and threshold; the selected lines.
local function describe_lines(result)
  return format_lines(result.lines), ("%s %s %s"):format(format_number(result.mean), format_number(result.deviation),
    format_number(result.threshold)), format_lines(result.kept_lines)
end

-- Returns a head's attention. compute(row, column) returns the value of a cell; rows and columns count from 0.
local function compute_head(rows, columns, compute)
  local head = { rows = rows, columns = columns, values = {} }
  for row = 0, rows - 1 do
    for column = 0, columns - 1 do
      head.values[#head.values + 1] = compute(row, column)
    end
  end
  return head
end

-- Formats a bias as rows of text, "-" for closed cells.
local function format_bias(bias)
  local rows = {}
  for row = 1, bias.rows do
    local cells = {}
    for column = 1, bias.columns do
      local value = bias.values[(row - 1) * bias.columns + column]
      cells[column] = value == -math.huge and "-" or format_number(value)
    end
    rows[row] = table.concat(cells, " ")
  end
  return table.concat(rows, "\n")
end

-- Checks that describe_lines gives these three texts (values, statistics, selected_text) for one direction of a head.
local function check_direction(head, direction, choices, values, statistics, selected_text)
  local a, b, c = describe_lines(lines.search_direction(head, direction, choices))
  lu.assertEquals({ a, b, c }, { values, statistics, selected_text })
end

-- Formats a bias with the open cells of `list`; all other cells are closed. A cell is { row, column, value }, with row
-- and column counted from 0.
local function format_open_cells(rows, columns, list)
  local bias = compute_head(rows, columns, function() return -math.huge end)
  for _, cell in ipairs(list) do
    bias.values[cell[1] * columns + cell[2] + 1] = cell[3]
  end
  return format_bias(bias)
end

TestExamples = {}

function TestExamples.test_lines_of_the_square_matrix_are_selected_by_sums()
  local choices = read_choices("line=sum").self
  check_direction(SQUARE, -1, choices, "-2:0.1 -1:0.25 0:2.4 1:0.2 2:0.05", "0.6 0.902774 1.502774", "0:0")
  check_direction(SQUARE, 1, choices, "-2:0.75 -1:0.25 0:0.95 1:0.2 2:0.85", "0.6 0.31305 0.91305", "0:0")
  check_direction(SQUARE, 0, choices, "0:0.9 1:1.05 2:1.05", "1 0.070711 1.070711", "")
end

function TestExamples.test_lines_of_the_square_matrix_are_selected_by_means()
  local choices = read_choices("line=mean", "shortest=1").self
  check_direction(SQUARE, -1, choices, "-2:0.1 -1:0.125 0:0.8 1:0.1 2:0.05", "0.235 0.283549 0.518549", "0:0")
  check_direction(SQUARE, 1, choices, "-2:0.75 -1:0.125 0:0.316667 1:0.1 2:0.85", "0.428333 0.314183 0.742517",
    "-2:-0.1 2:0")
  check_direction(SQUARE, 0, choices, "0:0.3 1:0.35 2:0.35", "0.333333 0.02357 0.356904", "")
end

function TestExamples.test_means_leave_out_lines_shorter_than_half_the_rows()
  local choices = read_choices("line=mean").self
  check_direction(SQUARE, -1, choices, "-1:0.125 0:0.8 1:0.1", "0.341667 0.324251 0.665918", "0:0")
  check_direction(SQUARE, 1, choices, "-1:0.125 0:0.316667 1:0.1", "0.180556 0.096785 0.27734", "0:0")
end

-- With value=raw, the bias of a selected line is the sum of the line.
function TestExamples.test_raw_values_are_sums_of_the_matrix()
  local result = lines.search_direction(SQUARE, -1, read_choices("value=raw").self)
  lu.assertEquals(select(3, describe_lines(result)), "0:2.4")
  result = lines.search_direction(SQUARE, 1, read_choices("value=raw").self)
  lu.assertEquals(select(3, describe_lines(result)), "0:0.95")
end

function TestExamples.test_lines_of_the_square_matrix_extend_to_five_by_five()
  local main_diagonals = {} -- open cells: { row, column, value }
  for i = 0, 4 do
    main_diagonals[#main_diagonals + 1], main_diagonals[#main_diagonals + 2] = { i, i, 0 }, { i, 4 - i, 0 }
  end
  local with_corners = { { 0, 2, 0 }, { 0, 4, 0 }, { 1, 3, 0 }, { 2, 2, 0 }, { 2, 4, 0 }, { 3, 1, 0 }, { 4, 0, 0 },
    { 2, 0, -.1 }, { 4, 2, -.1 } }
  for _, case in ipairs({ { { "line=sum" }, main_diagonals }, { { "line=mean" }, main_diagonals },
    { { "line=mean", "shortest=1" }, with_corners } }) do
    local choices = read_choices(table.unpack(case[1])).self
    local head = assert(lines.find(SQUARE, choices))
    lu.assertEquals(format_bias(lines.make_bias(head.kept_lines, 5, 5, choices)), format_open_cells(5, 5, case[2]))
  end
end

function TestExamples.test_lines_of_the_rectangle_are_found_and_extended()
  local sum, mean = read_choices("line=sum").cross, read_choices("line=mean").cross
  check_direction(RECTANGLE, -1, sum, "-1:0.3 0:0.4 1:1.15 2:0.07 3:0.06 4:0.02", "0.333333 0.390456 0.723789", "1:0")
  check_direction(RECTANGLE, -1, mean, "-1:0.3 0:0.2 1:0.575 2:0.035 3:0.03 4:0.02",
    "0.193333 0.199534 0.392868", "1:0")
  check_direction(RECTANGLE, 0, sum, "0:0.6 1:0.7 2:0.6 3:0.05 4:0.05", "0.4 0.288097 0.688097", "1:0")
  check_direction(RECTANGLE, 0, mean, "0:0.3 1:0.35 2:0.3 3:0.025 4:0.025", "0.2 0.144049 0.344049", "1:0")
  check_direction(RECTANGLE, 1, sum, "-1:0.03 0:0.04 1:0.58 2:0.15 3:0.9 4:0.3", "0.333333 0.314837 0.64817", "3:0")
  check_direction(RECTANGLE, 1, mean, "-1:0.03 0:0.02 1:0.29 2:0.075 3:0.45 4:0.3", "0.194167 0.161926 0.356093", "3:0")
  for _, case in ipairs({ { "-1", { { 0, 6, 0 }, { 1, 5, 0 }, { 2, 4, 0 }, { 3, 3, 0 } } },
    { "0", { { 0, 6, 0 }, { 1, 6, 0 }, { 2, 6, 0 }, { 3, 6, 0 } } },
    { "1", { { 0, 3, 0 }, { 1, 4, 0 }, { 2, 5, 0 }, { 3, 6, 0 } } } }) do
    local choices = read_choices("directions.cross=" .. case[1]).cross
    local head = assert(lines.find(RECTANGLE, choices))
    lu.assertEquals(format_bias(lines.make_bias(head.kept_lines, 4, 8, choices)), format_open_cells(4, 8, case[2]))
  end
end

-- With equal=merged, equal values count once. The expected numbers are results of Duan & Shi's code.
function TestExamples.test_merged_values_count_once()
  local choices = read_choices("equal=merged", "precision=float32").self
  local result = lines.search_direction(SQUARE, 0, choices)
  local _, statistics = describe_lines(result)
  lu.assertEquals({ result.count, statistics }, { 2, "0.975 0.075 1.05" })
  result = lines.search_direction(RECTANGLE, 0, read_choices("equal=merged", "precision=float32").cross)
  _, statistics = describe_lines(result)
  lu.assertEquals({ result.count, statistics, #result.kept_lines }, { 3, "0.45 0.285774 0.735774", 0 })
end

TestLines = {}

-- Returns the indices of the selected lines, as text.
local function list_selected(head)
  return table.concat(lists.map(head.kept_lines, function(line) return line.index end), " ")
end

-- Numbers that look random and are equal on every machine.
local function compute_noise(row, column)
  return math.fmod(math.abs(math.sin(row * 12.9898 + column * 78.233) * 43758.5453), 1)
end

-- Rows 0 to 4 attend along anti-diagonal 1, and row 5 attends to the last column. Only six rows count, so the last cell
-- of row 5 is the only cell of anti-diagonal -5.
function TestLines.test_an_anti_diagonal_of_one_cell_is_selected_only_by_means_of_short_lines()
  local head = compute_head(62, 125, function(row, column)
    local is_attended = row < 5 and column == 123 - row or row == 5 and column == 124
    return is_attended and .95 or .0004 * compute_noise(row, column)
  end)
  local function select_lines(...)
    return list_selected(assert(lines.find(head, assert(fields.read("usual", { ... })).cross)))
  end
  lu.assertEquals(select_lines(), "1")
  lu.assertEquals(select_lines("line=mean", "shortest=1"), "-5 1")
  lu.assertEquals(select_lines("line=mean"), "1")
end

-- A causal head attends to its first column. Only six rows count, so diagonal -5 has one cell, and -3 has three cells.
function TestLines.test_a_diagonal_of_one_cell_is_selected_only_by_means_of_short_lines()
  local head = compute_head(62, 62, function(row, column)
    return column > row and 0.0 or column == 0 and .9 or .1 / math.max(1, row) * (.5 + compute_noise(row, column))
  end)
  head.values[1] = 1.0
  local function select_lines(...)
    return list_selected(assert(lines.find(head, assert(fields.read("usual", { ... })).self)))
  end
  lu.assertStrContains(select_lines("line=mean", "shortest=1"), "-5")
  lu.assertNotStrContains(select_lines(), "-5")
  lu.assertStrContains(select_lines("line=mean"), "-3")
end

-- Rows from 6 on are padding.
function TestLines.test_padding_rows_count_only_if_requested()
  local head = compute_head(62, 125, function(row, column)
    return row < 6 and (column == 123 - row and 1.0 or 0.0) or column == 3 and 1.0 or 0.0
  end)
  local choices = assert(fields.read("usual", { "over=all" })).cross
  lu.assertEquals(list_selected(assert(lines.find(head, choices))), "1")
  choices = assert(fields.read("usual", { "over=all", "rows=all", "directions.cross=0" })).cross
  lu.assertEquals(list_selected(assert(lines.find(head, choices))), "121")
  local findings, problem = lines.find(compute_head(4, 9, function() return 1 end), read_choices("rows=6").cross)
  lu.assertNil(findings)
  lu.assertStrContains(problem, "rows = 6: found a matrix of 4 rows")
end

-- If r of K lines have the value 1 and the others 0, the z-score of the r lines is sqrt((K - r) / r).
-- A threshold k selects the r lines if K > r (k^2 + 1).
function TestLines.test_too_few_lines_reach_no_threshold()
  for keep, least_count in pairs({ above = 18, at_least = 17 }) do -- with the threshold 4
    lu.assertTrue(lines.is_out_of_reach(least_count - 1, { threshold = 4, keep = keep }))
    lu.assertFalse(lines.is_out_of_reach(least_count, { threshold = 4, keep = keep }))
  end
  for _, case in ipairs({ { 16, 1, 0 }, { 18, 1, 1 }, { 50, 3, 0 }, { 52, 3, 3 } }) do
    local columns, marked_count, selected_count = table.unpack(case)
    local head = compute_head(1, columns, function(_, column) return column < marked_count and 1.0 or 0.0 end)
    local choices = read_choices("threshold.cross=4", "directions.cross=0").cross
    lu.assertEquals(#assert(lines.find(head, choices)).kept_lines, selected_count)
  end
end

-- With over=nonzero, only one line counts here, so the threshold is the value of this line.
-- The choices of Duan & Shi's code select a line at the threshold (keep=at_least).
function TestLines.test_the_only_line_that_is_not_zero_is_selected_at_the_threshold()
  local head = compute_head(6, 30, function(row, column) return column == 29 - row and 1.0 or 0.0 end)
  local result = assert(lines.find(head, assert(fields.read("usual", {})).cross))
  lu.assertEquals(#result.kept_lines, 0)
  lu.assertTrue(result.directions[2].is_flat)
  result = assert(lines.find(head, assert(fields.read("code", {})).cross))
  lu.assertEquals({ list_selected(result), result.kept_lines[1].value }, { "0", 6 })
  result = assert(lines.find(head, assert(fields.read("usual", { "over=all" })).cross))
  lu.assertEquals(list_selected(result), "0")
end

-- The means of the lines differ only by rounding.
function TestLines.test_a_uniform_head_selects_no_line()
  local head = compute_head(7, 40, function() return 1 / 3 end)
  local choices = read_choices("line=mean", "shortest=1", "spread=1e-6").cross
  lu.assertEquals(#assert(lines.find(head, choices)).kept_lines, 0)
end

function TestLines.test_masked_cells_do_not_count()
  local head = compute_head(6, 6, function(row, column)
    return column > row and -math.huge or row == column and 5.0 or 1.0
  end)
  local result = lines.search_direction(head, 1, read_choices().self)
  lu.assertEquals(select(1, describe_lines(result)), "-5:1 -4:2 -3:3 -2:4 -1:5 0:30")
end

TestBias = {}

-- A bias of diagonals depends on the distance, column - row. Distances without a selected line are closed.
function TestBias.test_a_bias_of_diagonals_is_a_table_by_distance()
  local rows, columns, bias_by_distance = 5, 7, {}
  local head = compute_head(rows, columns, function(row, column) return .1 + compute_noise(0, column - row + 20) end)
  local choices = read_choices("directions.cross=1", "threshold.cross=0", "line=mean", "shortest=1", "value=raw").cross
  local kept_lines = assert(lines.find(head, choices)).kept_lines
  local mean = lines.search_direction(head, 1, choices).mean
  for distance = -(rows - 1), columns - 1 do
    local value = .1 + compute_noise(0, distance + 20)
    bias_by_distance[distance] = value > mean and value or nil
  end
  local bias = lines.make_bias(kept_lines, 9, 12, choices)
  for row = 0, 8 do
    for column = 0, 11 do
      local actual, expected = bias.values[row * 12 + column + 1], bias_by_distance[column - row]
      lu.assertTrue(not expected and actual == -math.huge or expected and math.abs(actual - expected) < 1e-12 or false,
        ("row %d, column %d"):format(row, column))
    end
  end
end

-- In a transparent row, all cells have the bias 0.
function TestBias.test_heads_and_rows_without_an_open_cell_are_transparent()
  local choices = assert(fields.read("usual", {})).cross
  lu.assertEquals(format_bias(lines.make_bias({}, 2, 3, choices)), "0 0 0\n0 0 0")
  local kept_lines = { { direction = -1, index = 2, value = -1.5 } }
  lu.assertEquals(format_bias(lines.make_bias(kept_lines, 3, 3, choices)), "-1.5 - 0\n0 0 0\n0 0 0")
  choices = assert(fields.read("usual", { "corner=none" })).cross
  lu.assertEquals(format_bias(lines.make_bias(kept_lines, 3, 3, choices)), "-1.5 - -\n0 0 0\n0 0 0")
  choices = assert(fields.read("usual", { "corner=all" })).cross
  lu.assertEquals(format_bias(lines.make_bias({}, 2, 3, choices)), "- - 0\n0 0 0")
  choices = assert(fields.read("code", {})).self -- self-attention has no open corner
  lu.assertEquals(format_bias(lines.make_bias({}, 2, 2, choices)), "0 0\n0 0")
end

-- In a decoder, keys after the query are closed, even in a transparent row.
function TestBias.test_a_causal_bias_has_no_later_keys()
  local choices = assert(fields.read("usual", {})).self
  lu.assertEquals(format_bias(lines.make_bias({}, 2, 2, choices, true)), "0 -\n0 0")
  local kept_lines = { { direction = 1, index = 1, value = 2 }, { direction = 0, index = 0, value = 1 } }
  lu.assertEquals(format_bias(lines.make_bias(kept_lines, 3, 3, choices, true)), "1 - -\n1 - -\n1 - -")
  lu.assertEquals(format_bias(lines.make_bias({ kept_lines[1] }, 2, 2, choices, true)), "0 -\n0 0")
end

-- The bias of one head, computed cell by cell from the mask that facets/lines.lua derives from a spec.
local function compute_facet_bias(mask, rows, columns)
  local bias = { rows = rows, columns = columns, values = {} }
  for row = 0, rows - 1 do
    local last_column, is_open = mask.causal and math.min(columns - 1, row) or columns - 1, false
    local corner = mask.heads[1].corner and row == 0
    for column = 0, columns - 1 do
      local value = -math.huge
      for _, line in ipairs(mask.heads[1].lines) do
        local is_on_line = column <= last_column and column == line.key_factor * columns + line.first + line.step * row
        value = is_on_line and math.max(value, line.value) or value
      end
      value = corner and column == columns - 1 and 0.0 or value
      bias.values[row * columns + column + 1], is_open = value, is_open or value > -math.huge
    end
    for column = 0, is_open and -1 or last_column do
      bias.values[row * columns + column + 1] = 0.0
    end
  end
  return bias
end

-- The mask of facets/lines.lua gives the same bias as calibration, also for other numbers of rows and columns.
function TestBias.test_the_lines_facet_gives_the_same_bias()
  local compared_count = 0
  for case = 1, 60 do
    local cross = case % 2 == 0
    local corner, align = ({ "lines", "all", "none" })[case % 3 + 1], ({ "left", "right" })[case // 2 % 2 + 1]
    local choices = read_choices("threshold.self=0.9", "threshold.cross=0.9", "corner=" .. corner,
      "align.self=" .. align, "align.cross=" .. align, "value=" .. (case % 5 < 2 and "raw" or "relative"))
    choices = cross and choices.cross or choices.self
    local head = compute_head(4 + case % 3, cross and 7 or 4 + case % 3, function(row, column)
      return compute_noise(row + case, column)
    end)
    local kept_lines, list = assert(lines.find(head, choices)).kept_lines, {}
    for i, line in ipairs(kept_lines) do
      list[i] = { head = 0, direction = line.direction, line = line.index, value = line.value }
    end
    local mask = facet.make_mask({ lines = { list = list, zero_corner = corner, columns = align } },
      { name = "cross", heads = 1, cross = cross }, not cross)
    for _, size in ipairs(mask and { { head.rows, head.columns }, { 9, cross and 12 or 9 }, { 3, 3 } } or {}) do
      compared_count = compared_count + 1
      lu.assertEquals(format_bias(lines.make_bias(kept_lines, size[1], size[2], choices, not cross)),
        format_bias(compute_facet_bias(mask, size[1], size[2])), ("case %d, %d x %d"):format(case, size[1], size[2]))
    end
  end
  lu.assertTrue(compared_count > 100, "too few heads have lines")
end

-- In a wider bias, a column keeps its distance to the right edge in cross-attention, and to the left edge in
-- self-attention.
function TestBias.test_columns_are_aligned()
  local choices = read_choices("directions.cross=0", "directions.self=0")
  local head = make_matrix({ 0, 0, 1, 0, 0 })
  local cross_bias = lines.make_bias(assert(lines.find(head, choices.cross)).kept_lines, 1, 7, choices.cross)
  local self_bias = lines.make_bias(assert(lines.find(head, choices.self)).kept_lines, 1, 7, choices.self)
  lu.assertEquals({ format_bias(cross_bias), format_bias(self_bias) }, { "- - - - 0 - -", "- - 0 - - - -" })
end

TestFindings = {}

function TestFindings.test_the_text_gives_the_reason_if_no_line_is_selected()
  local function format_findings(head, words)
    local choices = assert(fields.read("usual", words)).cross
    local finding = { family = "cross", title = "cross-attention", rows = head.rows, columns = head.columns,
      choices = choices, heads = { assert(lines.find(head, choices)) } }
    return table.concat(lines.format_lines({ finding }), "\n")
  end
  local short_head = compute_head(6, 14, function(row, column)
    return column == 12 - row and 1.0 or .001 * compute_noise(row, column)
  end)
  lu.assertStrContains(format_findings(short_head, {}), "anti-diagonal  none: 18 lines are too few for k = 4.5: z is "
    .. "at most 4.12; a single strong line passes only if there are more than k^2 + 1 = 21.25 lines, and r equally "
    .. "strong lines pass only if there are more than r times as many")
  local noise_head = compute_head(6, 60, compute_noise)
  lu.assertStrContains(format_findings(noise_head, {}), "anti-diagonal  none: of 64 lines, line ")
  local single_line = compute_head(6, 30, function(row, column) return column == 29 - row and 1.0 or 0.0 end)
  lu.assertStrContains(format_findings(single_line, {}), "none: all lines that are not 0 have the same value")
  local zero_head = compute_head(6, 30, function() return 0.0 end)
  lu.assertStrContains(format_findings(zero_head, {}), "none: all lines have the value 0")
end

TestChoices = {}

function TestChoices.test_the_preset_code_has_the_choices_of_the_authors_code()
  local choices = assert(fields.read("code", {}))
  lu.assertEquals(choices.scores, "weights")
  lu.assertEquals(choices.cross, { rows = 6, columns = 6, line = "sum", shortest = 1, precision = "float32",
    over = "nonzero", equal = "merged", threshold = 4.5, keep = "at_least", spread = 0, value = "raw",
    directions = { -1 }, align = "right", corner = "all" })
  lu.assertEquals({ choices.self.threshold, choices.self.directions, choices.self.corner }, { 0.87, { 1 }, "none" })
end

function TestChoices.test_the_preset_equations_has_the_choices_of_the_paper()
  local choices = assert(fields.read("equations", {}))
  lu.assertEquals(choices.scores, "raw")
  lu.assertEquals(choices.cross, { line = "mean", shortest = 1, precision = "float64", over = "all", equal = "each",
    threshold = 4, keep = "above", spread = 0, value = "relative", directions = { 1, -1, 0 }, align = "left",
    corner = "none" })
end

function TestChoices.test_every_field_reads_its_values_and_refuses_others()
  for _, field in ipairs(fields.FIELDS) do
    for column = 3, 5 do -- the texts of the field's values in the three presets
      local text = field[column]
      lu.assertTrue(text == nil or fields.read("usual", { field[1] .. "=" .. text }) ~= nil, field[1])
    end
    for _, text in ipairs({ "", "nought", "-7", "nan" }) do
      local choices, problem = fields.read("usual", { field[1] .. "=" .. text })
      lu.assertNil(choices, field[1])
      lu.assertStrContains(problem, "--set " .. field[1] .. ": found")
    end
  end
  local _, problem = fields.read("usual", { "treshold.self=4" })
  lu.assertStrContains(problem, "expected: threshold.self?")
  _, problem = fields.read("usual", { "rows" })
  lu.assertStrContains(problem, "not of the form FIELD=VALUE")
end

-- docs/calibration.md has a row for every field, with its default in each of the three presets.
function TestChoices.test_the_page_has_every_field()
  local page = support.read("docs/calibration.md")
  for _, field in ipairs(fields.FIELDS) do
    local row = ("| `%s` | %s | %s | %s |"):format(field[1], field[3] or "1; `half` if `line` is `mean`", field[4],
      field[5])
    lu.assertStrContains(page, row)
  end
end

support.run()
