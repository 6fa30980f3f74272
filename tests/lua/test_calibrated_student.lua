-- Specs of students that calibration writes (lab/study/calibrate), and the lines of control students.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local controls = require("lab.study.calibrate.controls")
local inference = require("lab.study.analyze.mathematics.inference")
local lists = require("base.lists")
local lu = require("luaunit")
local paths = require("base.paths")
local student = require("lab.study.calibrate.student_spec")

TestStudent = {}

-- Returns the text of a student's spec: the teacher's spec with the given lines, and without facets that depend on
-- positions. encoding: the teacher's encoding; cross: the lines of cross-attention.
local function write_student(encoding, cross)
  return student.write_spec({ base = "./a.lua", comment = { "A comment." }, teacher_encoding = encoding,
    disables_positions = true, lines = { decoder = { list = {}, choices = {} }, cross = cross } })
end

function TestStudent.test_a_student_s_spec_lists_its_lines()
  local cross = { list = { { head = 3, direction = -1, index = 1, value = -0.0 },
    { head = 4, direction = 1, index = -2, value = -1 / 3 } }, choices = { corner = "lines", align = "right" } }
  lu.assertEquals(write_student({}, cross), [[
-- A comment.
return {
  use = "./a.lua",
  encoding = {
    cross = {
      lines = {
        { head = 3, direction = -1, line = 1, value = 0 },
        { head = 4, direction = 1, line = -2, value = -0.333333333 },
      },
    },
  },
}
]])
end

function TestStudent.test_choices_other_than_defaults_are_written()
  local cross = { list = { { head = 0, direction = 0, index = 1, value = 0 } },
    choices = { corner = "none", align = "left" } }
  local text = write_student({}, cross)
  lu.assertStrContains(text, 'zero_corner = "none",')
  lu.assertStrContains(text, 'columns = "left",')
  text = write_student({}, { list = {}, choices = { corner = "all", align = "right" } })
  lu.assertStrContains(text, '      lines = {\n        list = {},\n        zero_corner = "all",\n      },')
  lu.assertNotStrContains(write_student({}, { list = {}, choices = { corner = "lines", align = "right" } }), "lines")
end

function TestStudent.test_positions_are_left_out_of_all_families()
  local text = write_student({ additive = { kind = "sinusoid" }, rotation = { kind = "none" },
    positions = { kind = "randomized" }, mask = { kind = "causal" }, decoder = { rotation = { kind = "rope" } },
    cross = { score = "x.score", additive = { kind = "none" } }, encoder = { relative = { kind = "shaw" } } },
    { list = {}, choices = {} })
  lu.assertEquals(text, [[
-- A comment.
return {
  use = "./a.lua",
  encoding = {
    positions = { kind = "index" },
    additive = { kind = "none" },
    encoder = {
      relative = { kind = "none" },
    },
    decoder = {
      rotation = { kind = "none" },
    },
    cross = {
      score = { kind = "none" },
    },
  },
}
]])
end

-- Lines replace the mask of a family; families without lines keep their masks.
function TestStudent.test_lines_replace_masks()
  local window = { kind = "window", left = 1, right = 0 }
  local lines_of_cross = { list = { { head = 0, direction = -1, index = 1, value = 0 } }, choices = { corner = "lines",
    align = "right" } }
  local masks = { decoder = { mask = window }, cross = { mask = { kind = "antidiagonal" } } }
  local text = student.write_spec({ base = "./t.lua", comment = {}, teacher_encoding = masks,
    lines = { cross = lines_of_cross, decoder = { list = {}, choices = { align = "left" } } } })
  lu.assertStrContains(text, '    cross = {\n      mask = { kind = "full" },\n      lines = {')
  lu.assertNotStrContains(text, "decoder = {")
  lu.assertTrue(student.replaces_masks({ cross = lines_of_cross }, masks))
  lu.assertFalse(student.replaces_masks({ cross = lines_of_cross }, { decoder = { mask = window } }))
end

-- `init`, the initial parameters of a student, is absent, a file, or false. It is false if the teacher has a file and
-- the student has none.
function TestStudent.test_init_of_the_student_is_written_if_it_is_given()
  for init, line in pairs({ ["../t/checkpoint.safetensors"] = '\n  init = "../t/checkpoint.safetensors",\n  encoding',
    [false] = "\n  init = false,\n  encoding" }) do
    lu.assertStrContains(student.write_spec({ base = "./t.lua", comment = {}, init = init,
      teacher_encoding = {}, lines = {} }), line)
  end
  lu.assertNotStrContains(student.write_spec({ base = "./t.lua", comment = {}, teacher_encoding = {}, lines = {} }),
    "init")
end

function TestStudent.test_paths_are_relative_to_the_student_s_folder()
  for _, case in ipairs({ { "/a/b", "/a/b/c.lua", "./c.lua" }, { "/a/b", "/a/c.lua", "../c.lua" },
    { "/a/b/d", "/a/e/c.lua", "../../e/c.lua" }, { "/", "/c.lua", "./c.lua" }, { "/a", "/a/b/c.lua", "./b/c.lua" } }) do
    lu.assertEquals(paths.make_relative(case[2], case[1]), case[3])
  end
end

TestControls = {}

-- Lines of cross-attention with three heads; head 1 has no line. These lines have four controls: "values",
-- "shifted", "heads" and "random".
local FAMILY = { choices = { align = "right" }, list = {
  { head = 0, direction = -1, index = 3, value = 0 }, { head = 0, direction = 0, index = 0, value = -1 },
  { head = 2, direction = 1, index = -2, value = -0.5 }, { head = 2, direction = 1, index = 0, value = -2 },
} }

local function make_control(name, seed)
  return controls.make(name, FAMILY, { rows = 4, columns = 6 }, "cross", 3, inference.make_random(seed or 1)).list
end

function TestControls.test_the_control_named_values_sets_all_values_to_0()
  for i, line in ipairs(make_control("values")) do
    lu.assertEquals({ line.head, line.index, line.value }, { FAMILY.list[i].head, FAMILY.list[i].index, 0 })
  end
  lu.assertEquals(make_control(nil), FAMILY.list) -- not a control
end

-- Anti-diagonals and columns are counted from the last key.
function TestControls.test_the_control_named_shifted_moves_every_line_one_key_to_the_left()
  lu.assertEquals(lists.map(make_control("shifted"), function(line) return line.index end), { 4, 1, -3, -1 })
end

function TestControls.test_the_control_named_heads_moves_all_lines_of_a_head_together()
  local heads = {}
  for seed = 1, 20 do
    local list = make_control("heads", seed)
    lu.assertEquals({ list[1].head == list[2].head, list[3].head == list[4].head, list[1].head ~= list[3].head },
      { true, true, true })
    lu.assertTrue(list[1].head > 0 and list[1].head <= 2)
    heads[list[1].head] = true
  end
  lu.assertEquals(#canonical.sort_keys(heads), 2)
end

function TestControls.test_the_control_named_random_keeps_the_count_of_lines_by_head_and_direction()
  local has_other_line = false
  for seed = 1, 20 do
    local list, distinct_lines = make_control("random", seed), {}
    lu.assertEquals(#list, 4)
    for i, line in ipairs(list) do
      lu.assertEquals({ line.head, line.direction, line.value }, { FAMILY.list[i].head, FAMILY.list[i].direction,
        FAMILY.list[i].value })
      lu.assertTrue(line.index >= (line.direction == 0 and 0 or -3) and line.index <= 5)
      distinct_lines[("%d %d %d"):format(line.head, line.direction, line.index)] = true
      has_other_line = has_other_line or line.index ~= FAMILY.list[i].index
    end
    lu.assertEquals(#canonical.sort_keys(distinct_lines), 4)
  end
  lu.assertTrue(has_other_line)
  lu.assertEquals(make_control("random", 3), make_control("random", 3))
end

support.run()
