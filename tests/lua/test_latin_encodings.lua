-- The encodings of Ito et al. 2024: numbers and initial values of the models' parameters, the temperature, and the
-- fixed tables in generated code.

local support = dofile("tests/lua/support.lua")

local gen = require("render.templates.gen")
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")

TestLatinEncodings = {}

local function make_plan(name)
  return assert(project:plan(("spec/runs/lst_%s.lua"):format(name))).plan
end

-- By name of a model: { number of learned parameters, number of constant parameters }.
local COUNTS = {
  ["1d"] = { 1238724, 0 }, ["2d"] = { 1238724, 0 }, nope = { 1238724, 0 }, random = { 1238724, 10240 },
  learned = { 1248964, 0 }, relative = { 1145924, 0 }, rope = { 1236164, 0 }, cnope = { 1236164, 0 },
}

function TestLatinEncodings.test_parameters_are_the_papers()
  for name, counts in pairs(COUNTS) do
    local plan = make_plan(name)
    lu.assertEquals({ plan.parameters, plan.frozen }, counts, name)
  end
end

-- Returns { kind of initial values, their bound, deviation or value, whether they are learned } of a tensor, or nil.
local function find_initial_values(plan, name)
  local found_tensor = lists.find(plan.tensors, function(tensor) return tensor.name == name end)
  return found_tensor and { found_tensor.init, found_tensor.value, found_tensor.learned }
end

function TestLatinEncodings.test_initial_values_are_those_of_the_authors_code()
  -- Xavier's bound is sqrt(6 / (inputs + outputs)); the matrix of queries, keys and values has 160 inputs and 480
  -- outputs. The bound of linear layers is 1 / sqrt(inputs).
  local xavier_bound, linear_bound = math.sqrt(6 / 640), 1 / math.sqrt(160)
  local function find_values(name, tensor)
    return find_initial_values(make_plan(name), "layers.3." .. tensor)
  end
  lu.assertEquals(find_values("learned", "position.weight"), { "LH_INIT_NORMAL", 0.2, true })
  lu.assertEquals(find_values("random", "position.weight"), { "LH_INIT_NORMAL", 1.0, false })
  lu.assertEquals(find_values("relative", "attention.relative.table"), { "LH_INIT_NORMAL", 1.0, true })
  lu.assertEquals(find_values("2d", "attention.query.weight"), { "LH_INIT_UNIFORM", xavier_bound, true })
  lu.assertEquals(find_values("2d", "attention.query.bias"), { "LH_INIT_CONSTANT", 0, true })
  for _, name in ipairs({ "rope", "cnope", "relative" }) do
    lu.assertEquals(find_values(name, "attention.key.weight"), { "LH_INIT_UNIFORM", linear_bound, true }, name)
  end
  lu.assertEquals(find_values("relative", "attention.key.bias"), { "LH_INIT_UNIFORM", linear_bound, true })
  lu.assertNil(find_values("rope", "attention.key.bias"))
  lu.assertNil(find_values("relative", "attention.output.weight"))
end

function TestLatinEncodings.test_logits_are_divided_by_the_temperature()
  local plan = make_plan("cnope")
  lu.assertAlmostEquals(plan.first_family.logit_scale, 100 / math.sqrt(160), 1e-12)
  lu.assertEquals({ plan.first_family.mask.kind, plan.first_family.mask.right }, { "causal", 0 })
end

-- Returns the C functions of a generated step.c that make the table of an encoding.
local function render_table_code(name)
  local plan = make_plan(name)
  local files = assert(gen.render_files(plan, function(path)
    return support.read("templates/" .. path)
  end, {}))
  return support.index_texts(files)["step.c"]:match("(/%* Sines and cosines of number.-)\nstatic void make_tables")
end

local PROBE = [[
#include <stdio.h>
#include "longhand/math.h"
typedef double real;
enum { WIDTH = 160, GRID_WIDTH = 4 };
%s
int main(void) {
    real row[WIDTH];
    for (int position = 0; position < 16; position++) {
        make_place(position, row);
        for (int c = 0; c < WIDTH; c++) printf("%%.17g\n", row[c]);
    }
    return 0;
}
]]

-- Returns the 16 rows of 160 numbers that the generated code of an encoding makes.
local function compute_rows(name)
  local path = support.write("probe.c", PROBE:format(render_table_code(name)))
  local program = path:gsub("%.c$", "")
  local flags = "-std=c11 -O1 -Iinclude -Iruntime"
  local text, is_ok = support.shell(("cc %s -o %s %s runtime/base/math.c -lm && %s"):format(flags, program, path,
    program))
  lu.assertTrue(is_ok, text)
  local rows, n = {}, 0
  for number in text:gmatch("[^\n]+") do
    local row = rows[n // 160 + 1] or {}
    rows[n // 160 + 1], row[#row + 1], n = row, tonumber(number), n + 1
  end
  lu.assertEquals(n, 16 * 160)
  return rows
end

-- Returns the sum of a's numbers, each multiplied by the number of b in the same row and column.
local function multiply(a, b)
  local sum = 0
  for i, row in ipairs(a) do
    for c, value in ipairs(row) do
      sum = sum + value * b[i][c]
    end
  end
  return sum
end

local function assert_begins(row, from, values)
  for i, value in ipairs(values) do
    lu.assertAlmostEquals(row[from + i], value, 5e-7)
  end
end

-- The expected numbers are published. Position 6 is the cell in row 1 and column 2 of the grid; all count from 0.
function TestLatinEncodings.test_fixed_tables_are_those_of_the_authors_code()
  local line, grid = compute_rows("1d"), compute_rows("2d")
  assert_begins(line[7], 0, { -0.279415, 0.960170, -0.805002, 0.593271 })
  assert_begins(grid[7], 0, { 0.909297, -0.416147, 0.999841, -0.017859 })
  assert_begins(grid[7], 80, { 0.841471, 0.540302, 0.713393, 0.700764 })
  for i = 1, 16 do
    lu.assertAlmostEquals(multiply({ line[i] }, { line[i] }), 80, 1e-9)
    lu.assertAlmostEquals(multiply({ grid[i] }, { grid[i] }), 80, 1e-9)
  end
  local cosine = multiply(line, grid) / math.sqrt(multiply(line, line) * multiply(grid, grid))
  lu.assertAlmostEquals(cosine, 0.7246, 5e-5)
  lu.assertAlmostEquals(math.sqrt(multiply(grid, grid)), 35.77709, 5e-6)
end

support.run()
