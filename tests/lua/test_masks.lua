-- Masks cell by cell. The cells of lab/pages/masks.lua are compared with the masks and worked examples of Duan and Shi
-- 2024. Generated code for CPU and GPU is compared with these cells for many numbers of queries and keys.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local masks = require("lab.pages.masks")
local plan_module = require("plan.plan")
local render = require("render.templates.render")

TestMasks = {}

local HIDDEN = "." -- a key that a query does not see

-- Returns the plan of an encoder-decoder. facets: text of the fields of the section `encoding`.
local function make_plan(facets, heads)
  local resolved, info, d = support.check_text(("return { task = { kind = 'bucket_sort' }, encoding = { %s }, model = "
    .. "{ kind = 'encoder_decoder', encoder_layers = 1, decoder_layers = 1, heads = %d, width = 32 }, "
    .. "precision = 'float64', train = { use = 'quick' } }"):format(facets, heads or 1))
  assert(resolved, d:text())
  return plan_module.build(resolved, { task = info.task })
end

local function find_family(plan, name)
  return lists.find(plan.attentions, function(family) return family.name == name end)
end

-- Formats a row of cells: for a visible key the value that is added to the score, for a hidden key `hidden_text`.
local function format_row(row, hidden_text)
  return table.concat(lists.map(row, function(value) return value and ("%g"):format(value) or hidden_text end), " ")
end

-- Returns the rows of the first head of a family with T queries and S keys as one text: 1 for a visible key, 0 for a
-- hidden key.
local function format_visible(facets, name, T, S)
  local rows = masks.list_cells(find_family(make_plan(facets), name), T, S)[1]
  return table.concat(lists.map(rows, function(row)
    return table.concat(lists.map(row, function(value) return value and "1" or "0" end))
  end), " ")
end

-- Returns the rows of the first head of a family as a list of texts, in the form of format_row.
local function format_rows(facets, name, T, S)
  local rows = masks.list_cells(find_family(make_plan(facets), name), T, S)[1]
  return lists.map(rows, function(row) return format_row(row, HIDDEN) end)
end

local function make_antidiagonal(more_fields)
  return "cross = { mask = { kind = 'antidiagonal', width = 1" .. (more_fields or "") .. " } }"
end

function TestMasks.test_masks_equal_those_of_the_reference()
  lu.assertEquals(format_visible(make_antidiagonal(), "cross", 4, 6), "000011 000111 001110 011100")
  lu.assertEquals(format_visible(make_antidiagonal(", left_only = true"), "cross", 4, 6), "000011 000110 001100 011000")
  lu.assertEquals(format_visible(make_antidiagonal(", stride = 2"), "cross", 4, 9),
    "000000111 000011110 001111000 111100000")
  lu.assertEquals(format_visible("decoder = { mask = { kind = 'window', left = 1 } }", "decoder", 6, 6),
    "100000 110000 011000 001100 000110 000011")
end

-- A band of visible keys that leaves the matrix does not reappear on the other side, and a query beyond the source sees
-- the whole source.
function TestMasks.test_queries_beyond_the_source_see_all()
  lu.assertEquals(format_visible(make_antidiagonal(", left_only = true"), "cross", 6, 4),
    "0011 0110 1100 1000 1111 1111")
  lu.assertEquals(format_visible(make_antidiagonal(), "cross", 6, 4), "0011 0111 1110 1100 1000 1111")
  lu.assertEquals(format_visible(make_antidiagonal(", stride = 2"), "cross", 5, 4), "0111 1110 1000 1111 1111")
end

function TestMasks.test_presets_have_the_masks_of_table_3()
  for name, expected in pairs({ abc_a = { "1111 1111", "10 11" }, abc_b = { "0011 0111", "10 11" },
    abc_c = { "0011 0111", "10 11" }, abc_d = { "0011 0111", "10 11" } }) do
    lu.assertEquals(format_visible(("kind = %q"):format(name), "cross", 2, 4), expected[1], name)
    lu.assertEquals(format_visible(("kind = %q"):format(name), "decoder", 2, 2), expected[2], name)
  end
  lu.assertEquals(format_visible("kind = 'abc_b'", "encoder", 1, 3), "111")
  lu.assertEquals(make_plan("kind = 'abc_c'").additive.period, 3)
  lu.assertEquals(make_plan("kind = 'abc_d'").additive.kind, "none")
end

-- Returns the text of a line in a spec. index: the index of the line in its direction.
local function make_line(direction, index, value, head)
  return ("{ head = %d, direction = %d, line = %d, value = %g }"):format(head or 0, direction, index, value)
end

local function make_cross_lines(...)
  return "cross = { lines = { zero_corner = 'none', " .. table.concat({ ... }, ", ") .. " } }"
end

-- The worked example of a square matrix, with the lines that are selected by sums and by means.
function TestMasks.test_lines_of_the_square_example_extend_to_its_matrix()
  lu.assertEquals(format_rows(make_cross_lines(make_line(-1, 0, 0)), "cross", 5, 5),
    { ". . . . 0", ". . . 0 .", ". . 0 . .", ". 0 . . .", "0 . . . ." })
  lu.assertEquals(format_rows(make_cross_lines(make_line(1, 0, 0)), "cross", 5, 5),
    { "0 . . . .", ". 0 . . .", ". . 0 . .", ". . . 0 .", ". . . . 0" })
  lu.assertEquals(format_rows(make_cross_lines(make_line(-1, 0, 0), make_line(1, 0, 0)), "cross", 5, 5),
    { "0 . . . 0", ". 0 . 0 .", ". . 0 . .", ". 0 . 0 .", "0 . . . 0" })
  lu.assertEquals(format_rows(make_cross_lines(make_line(-1, 0, 0), make_line(1, 2, 0), make_line(1, -2, -0.1)),
    "cross", 5, 5),
    { ". . 0 . 0", ". . . 0 .", "-0.1 . 0 . 0", ". 0 . . .", "0 . -0.1 . ." })
end

-- The worked example of a matrix of 2 rows and 5 columns, extended to 4 rows and 8 columns from its right edge.
function TestMasks.test_lines_of_the_rectangular_example_extend_to_its_matrix()
  lu.assertEquals(format_rows(make_cross_lines(make_line(-1, 1, 0)), "cross", 4, 8),
    { ". . . . . . 0 .", ". . . . . 0 . .", ". . . . 0 . . .", ". . . 0 . . . ." })
  local column = ". . . . . . 0 ."
  lu.assertEquals(format_rows(make_cross_lines(make_line(0, 1, 0)), "cross", 4, 8), { column, column, column, column })
  lu.assertEquals(format_rows(make_cross_lines(make_line(1, 3, 0)), "cross", 4, 8),
    { ". . . 0 . . . .", ". . . . 0 . . .", ". . . . . 0 . .", ". . . . . . 0 ." })
end

-- With zero_corner = 'all', the first query of every head sees the last key even if no head has a line, as in the
-- authors' code.
function TestMasks.test_a_corner_needs_no_line()
  local cross_lines = "cross = { lines = { list = {}, zero_corner = '%s' } }"
  lu.assertEquals(format_rows(cross_lines:format("all"), "cross", 3, 4), { ". . . 0", "0 0 0 0", "0 0 0 0" })
  for _, corner in ipairs({ "lines", "none" }) do
    lu.assertEquals(find_family(make_plan(cross_lines:format(corner)), "cross").mask.kind, "none")
  end
  lu.assertEquals(find_family(make_plan(cross_lines:format("all")), "cross").mask.flat[2], nil)
end

-- Lines of direction 1 are a table by distance; keys at other distances are hidden.
function TestMasks.test_lines_down_the_diagonal_are_a_clipped_table()
  local value_by_distance, list = {}, {}
  for distance = -2, 3 do
    value_by_distance[distance] = distance * 0.5 - 0.25
    list[#list + 1] = make_line(1, distance, value_by_distance[distance])
  end
  local rows = masks.list_cells(find_family(make_plan(make_cross_lines(table.unpack(list))), "cross"), 6, 7)[1]
  for i = 0, 5 do
    for j = 0, 6 do
      lu.assertEquals(rows[i + 1][j + 1], value_by_distance[j - i] or false, ("%d %d"):format(i, j))
    end
  end
end

function TestMasks.test_corners_and_transparent_rows_follow_the_choice()
  local two_lines = "cross = { lines = { %s, " .. make_line(1, 0, 2.5) .. ", " .. make_line(0, 0, 1, 1) .. " } }"
  local function format_heads(choice)
    local family = find_family(make_plan(two_lines:format(choice), 4), "cross")
    return lists.map(masks.list_cells(family, 2, 3), function(rows)
      return format_row(lists.join(rows[1], rows[2]), HIDDEN)
    end)
  end
  lu.assertEquals(format_heads("zero_corner = 'lines'"),
    { "2.5 . 0 . 2.5 .", ". . 0 . . 1", "0 0 0 0 0 0", "0 0 0 0 0 0" })
  lu.assertEquals(format_heads("zero_corner = 'all'"),
    { "2.5 . 0 . 2.5 .", ". . 0 . . 1", ". . 0 0 0 0", ". . 0 0 0 0" })
  lu.assertEquals(format_heads("zero_corner = 'none', columns = 'left'"),
    { "2.5 . . . 2.5 .", "1 . . 1 . .", "0 0 0 0 0 0", "0 0 0 0 0 0" })
  lu.assertEquals(format_heads("zero_corner = 'none', columns = 'right'"),
    { "2.5 . . . 2.5 .", ". . 1 . . 1", "0 0 0 0 0 0", "0 0 0 0 0 0" })
end

-- A line's value is refused if it is too large after division by the temperature: the quotient overflows, or device
-- code would take the key for a hidden one.
function TestMasks.test_values_that_are_too_large_are_refused()
  local facets = "cross = { normaliser = { temperature = %s }, lines = { " .. make_line(1, 0, "-1e20") .. " } }"
  lu.assertEquals(find_family(make_plan(facets:format("1")), "cross").mask.flat[1].value, -1e20)
  local plan, problem = make_plan(facets:format("1e-4"))
  lu.assertNil(plan)
  lu.assertEquals(problem.what, "the value -1e+20, divided by the temperature 0.0001, is too large for a score")
  lu.assertEquals(problem.expected, "at most 1e+20")
end

-- A query of a decoder that sees no key on a line sees all keys up to itself; columns are counted from the left.
function TestMasks.test_a_decoder_never_sees_later_keys()
  local facets = "decoder = { lines = { " .. make_line(-1, 0, 2) .. ", " .. make_line(0, 3, 1) .. " } }"
  lu.assertEquals(format_rows(facets, "decoder", 5, 5),
    { "0 . . . .", "0 0 . . .", ". . 2 . .", ". 2 . 1 .", "2 . . 1 ." })
end

local function read_template(name)
  return support.read((name:find("^masks") and "tests/families/" or "templates/") .. name)
end

-- Renders tests/families/<name>.tpl for a family and compiles it; returns the path of the program.
local function compile_mask(folder, name, compiler, plan, family)
  local text, problem = render.render(name .. ".tpl", plan, read_template, nil, family)
  assert(text, not text and ("%s:%d: %s"):format(problem.path, problem.line, problem.what))
  local path = support.write(folder .. "/" .. name, text)
  local program = path:gsub("%.(%l+)$", "_%1")
  local output, is_ok = support.shell(("%s -O1 -I. -Iinclude -Iruntime -I%s -o %s %s -lm"):format(compiler,
    path:match("^(.*)/"), program, path))
  assert(is_ok, output)
  return program
end

local SOURCES = { { "masks.c", (os.getenv("CC") or "gcc") .. " -std=gnu11 -march=native -Wno-psabi" },
  { "masks.cpp", (os.getenv("CXX") or "g++") .. " -std=c++17" } }

-- Numbers of queries and keys.
local SHAPES = { { 1, 1 }, { 4, 6 }, { 6, 4 }, { 5, 30 }, { 40, 19 }, { 33, 33 }, { 62, 125 } }

-- Returns the expected output of the programs for all shapes, and their arguments. is_self: the keys are the queries'
-- tokens.
local function compute_expected(family, is_self)
  local rows_text, words = {}, {}
  for _, shape in ipairs(SHAPES) do
    local T, S = shape[1], is_self and shape[1] or shape[2]
    words[#words + 1] = ("%d %d"):format(T, S)
    for _, rows in ipairs(masks.list_cells(family, T, S)) do
      for _, row in ipairs(rows) do
        rows_text[#rows_text + 1] = format_row(row, "-inf") .. " \n"
      end
    end
  end
  return table.concat(rows_text), table.concat(words, " ")
end

-- By name { text of the encoding's facets, family, number of heads (nil: 1) }.
local FAMILIES = {
  two_sided = { make_antidiagonal(), "cross" },
  left_only = { make_antidiagonal(", left_only = true"), "cross" },
  binary = { make_antidiagonal(", stride = 2"), "cross" },
  wide = { "cross = { mask = { kind = 'antidiagonal', width = 9, stride = 3, left_only = true } }", "cross" },
  encoder = { "encoder = { mask = { kind = 'antidiagonal', width = 2 } }", "encoder" },
  causal = { "kind = 'none'", "decoder" },
  window = { "encoder = { mask = { kind = 'window', left = 1, right = 9 } }", "encoder" },
  wide_window = { "decoder = { mask = { kind = 'window', left = 21 } }", "decoder" },
  far_window = { "cross = { mask = { kind = 'window', left = 3, right = 2 } }", "cross" },
  wide_far_window = { "cross = { mask = { kind = 'window', left = 12, right = 17 } }", "cross" },
  lines = { "cross = { lines = { " .. table.concat({ make_line(-1, 1, 2.5), make_line(-1, 63, 1.5),
    make_line(1, -3, 0.5, 1),
    make_line(0, 0, -1, 1), make_line(0, 20, 3, 1), make_line(1, 2, 7, 3) }, ", ") .. " } }", "cross", 4 },
  own = { "decoder = { lines = { " .. table.concat({ make_line(1, 0, 2.5), make_line(1, -1, 1.5),
    make_line(-1, 3, 0.5, 1),
    make_line(0, 2, -1, 1), make_line(1, 5, 1, 2) }, ", ") .. " } }", "decoder", 4 },
}

-- Returns the first lines in which two texts differ, or nil twice. They are short enough for luaunit to print.
local function find_difference(a, b)
  local next_of = b:gmatch("[^\n]*\n")
  for first in a:gmatch("[^\n]*\n") do
    local second = next_of()
    if first ~= second then
      return first, second
    end
  end
  return nil, next_of()
end

function TestMasks.test_generated_code_has_the_same_cells()
  for name, case in pairs(FAMILIES) do
    local plan = make_plan(case[1], case[3])
    local family = find_family(plan, case[2])
    local expected_text, words = compute_expected(family, case[2] ~= "cross")
    support.write(name .. "/config.h", (assert(render.render("common/config.h.tpl", plan, read_template, nil, family))))
    for _, source in ipairs(SOURCES) do
      local text = support.shell(compile_mask(name, source[1], source[2], plan, family) .. " " .. words)
      local row, actual_row = find_difference(expected_text, text)
      lu.assertEquals(actual_row, row, name .. " " .. source[1])
    end
  end
end

support.run()
