-- Generated files in a C compiler: no warning, nothing unused, the layout of the plan.

local support = dofile("tests/lua/support.lua")
package.path = "tests/support/?.lua;" .. package.path

local random_specs = require("random_specs") -- it changes modules that the following ones load

local cases = require("cases")
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")

TestCompiler = {}

local CC = os.getenv("CC") or "gcc"
local NETWORKS = tonumber(os.getenv("LH_NETWORKS")) or 2 -- number of narrow networks, and of wide ones
local FLAGS = "-std=gnu11 -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla "
  .. "-Wundef -Wwrite-strings -Wunused-macros -Wunused-const-variable -Wno-unused-parameter -Wno-psabi "
  .. "-Wno-unknown-pragmas -Iinclude -I."

local function require_level()
  local machine, is_ok = support.shell(CC .. " -dumpmachine")
  if not is_ok then
    lu.skip("no C compiler " .. CC)
  end
  return machine:find("^x86_64") and "-march=x86-64-v4" or ""
end

-- Precompiles a header with the system's headers that a step includes, since the headers of intrinsics take longer to
-- read than most of the rest. Returns the compiler's flags for the level and for this header.
local function precompile_headers(level)
  local header = support.write("system.h", "#include <math.h>\n#include <string.h>\n"
    .. (level ~= "" and "#include <immintrin.h>\n" or ""))
  local text, is_ok = support.shell(table.concat({ CC, level, FLAGS, "-x c-header", header, "-o", header .. ".gch" },
    " "))
  lu.assertTrue(is_ok, text)
  return ("%s %s -include %s"):format(level, FLAGS, header)
end

-- Writes the case's files, and probe.c: the text of step.c with additions. gcc reports unused macros of the main file
-- only, so probe.c contains the text of step.c and does not include it. Returns the folder.
local function write_folder(case, name, more_text)
  local path
  for _, file in ipairs(case.files) do
    path = support.write(name .. "/" .. file.path, file.text)
  end
  support.write(name .. "/probe.c", case.text["step.c"] .. (more_text or ""))
  return path:match("^(.*)/")
end

-- Compiler flags: a complete compilation also finds unused static functions and tables, and takes twice as long.
local COMPILE = { complete = "-S -O0 -o /dev/null", checked = "-fsyntax-only" }

-- Names of cases to compile, and how. Rows of cases.rows also have the field `compile`.
local COMBINATIONS = {
  { "none none index 0 float32", compile = "complete" }, { "none rope index 0.1 float64", compile = "checked" },
  { "sinusoid none index 0.1 float32", compile = "checked" },
  { "sinusoid rope layer 0 float32", compile = "checked" }, { "learned none pass 0.1 float64", compile = "checked" },
  { "learned rope layer 0.1 float32", compile = "complete" }, { "none none layer 0.1 float32", compile = "checked" },
}

-- { member of the struct of a layer's parameters, name of its tensor within the layer }
local MEMBERS = {
  { "query_key_value", "attention.query.weight" }, { "attention_output", "attention.output.weight" },
  { "norm1_scale", "norm1.scale" }, { "norm1_offset", "norm1.offset" }, { "up", "feedforward.up.weight" },
  { "up_bias", "feedforward.up.bias" }, { "down", "feedforward.down.weight" },
  { "down_bias", "feedforward.down.bias" }, { "norm2_scale", "norm2.scale" }, { "norm2_offset", "norm2.offset" },
}

-- Returns static assertions that the members of `parameters` have the offsets of the plan's tensors.
local function write_offset_checks(plan)
  local tensors, text = lists.index_by(plan.tensors, function(tensor) return tensor.name end), { "#include <stddef.h>" }
  local function check(member, name)
    text[#text + 1] = ('_Static_assert(offsetof(parameters, %s) == %d * sizeof(real), "%s");'):format(member,
      assert(tensors[name], name).offset, name)
  end
  check("token", "embed.token.weight")
  if tensors["embed.position.weight"] then
    check("position_table", "embed.position.weight")
  end
  for l = 0, plan.layers - 1 do
    for _, member in ipairs(MEMBERS) do
      local name = ("layers.%d.%s"):format(l, member[2])
      if tensors[name] or member[1] ~= "attention_output" then -- an encoding may have no output projection
        check(("layer[%d].%s"):format(l, member[1]), name)
      end
    end
  end
  check("output", "output.weight")
  check("output_bias", "output.bias")
  return table.concat(text, "\n") .. "\n"
end

function TestCompiler.test_no_warning_and_the_layout_of_the_plan()
  local flags, count = precompile_headers(require_level()), 0
  for _, list in ipairs({ COMBINATIONS, cases.rows }) do
    for _, row in ipairs(list) do
      if row.compile then
        count = count + 1
        local case, compile_flags = cases.get_case(row[1]), assert(COMPILE[row.compile])
        local folder = write_folder(case, "compiled" .. count, write_offset_checks(case.plan))
        local text, is_ok = support.shell(table.concat({ CC, compile_flags, flags, folder .. "/probe.c" }, " "))
        lu.assertTrue(is_ok and text == "", row[1] .. "\n" .. text)
      end
    end
  end
end

-- The compilation above can fail: it reports an unused macro, static function or table.
function TestCompiler.test_unused_definitions_are_found()
  local flags = precompile_headers(require_level())
  local folder = write_folder(cases.get_case("none none index 0 float32"), "unused",
    "#define NOBODY_USES 1\nstatic int nobody_calls(void) { return 1; }\nstatic const int nobody_reads[] = { 1 };\n")
  local text, is_ok = support.shell(table.concat({ CC, COMPILE.complete, flags, folder .. "/probe.c" }, " "))
  lu.assertTrue(is_ok)
  for _, name in ipairs({ "NOBODY_USES", "nobody_calls", "nobody_reads" }) do
    lu.assertStrContains(text, name)
  end
end

function TestCompiler.test_code_that_the_runtime_reads_compiles()
  require_level()
  for i, name in ipairs({ "lists", "all checkpoints", "evaluation while training", "one answer", "no clipping",
    "learned rope layer 0.1 float32" }) do
    local folder = write_folder(cases.get_case(name), "spec" .. i)
    local text, is_ok = support.shell(table.concat({ CC, COMPILE.complete, "-DLH_HAVE_X86_64 -DLH_HAVE_X86_64_V4",
      FLAGS, folder .. "/spec.c" }, " "))
    lu.assertTrue(is_ok and text == "", name .. "\n" .. text)
  end
end

-- Compiles a random network. All its names are sampled (networks.lua), also from words of generated code and of
-- libraries. cxx: the C++ compiler for its device code, or false.
local function compile_random(id, cxx)
  random_specs.call_with_plan(project, id, support.write(id .. "/note", ""):match("^(.*)/"), function(plan)
    local folder
    for _, file in ipairs(assert(project:render_files(plan, plan.device and true))) do
      folder = support.write(id .. "/" .. file.path, file.text):match("^(.*)/")
    end
    local text, is_ok = support.shell(table.concat({ CC, COMPILE.checked, require_level(), FLAGS, folder .. "/step.c" },
      " "))
    lu.assertTrue(is_ok and text == "", id .. "\n" .. text)
    if plan.device and cxx then
      local device = support.shell(("awk -f tests/emulation/without_assembly.awk %s/device.cu"):format(folder))
      support.write(id .. "/emulated.cpp", '#include "cuda_emulation.h"\n' .. device)
      text, is_ok = support.shell(table.concat({ cxx, "-std=c++17 -fsyntax-only -Wno-unknown-pragmas",
        "-Iinclude -I. -Itests/emulation", folder .. "/emulated.cpp" }, " "))
      lu.assertTrue(is_ok, id .. "\n" .. text)
    end
  end)
end

function TestCompiler.test_random_networks_compile()
  require_level()
  local cxx = os.getenv("CXX") or "g++"
  local _, is_installed = support.shell(cxx .. " --version")
  for number = 1, NETWORKS do
    compile_random("random_" .. number, is_installed and cxx)
    compile_random("random_wide_" .. number, is_installed and cxx)
  end
end

-- A wrong offset does not compile, so the assertions above can fail.
function TestCompiler.test_a_wrong_layout_is_found()
  require_level()
  local case = cases.get_case("none none index 0 float32")
  local folder = write_folder(case, "wrong", (write_offset_checks(case.plan):gsub("token%) == 0", "token) == 1")))
  local text, is_ok = support.shell(table.concat({ CC, "-fsyntax-only", FLAGS, folder .. "/probe.c" }, " "))
  lu.assertTrue(not is_ok and text:find("embed.token.weight", 1, true) ~= nil)
end

support.run()
