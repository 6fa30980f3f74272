-- Builds, without compilation: template lines in messages of compilers, trainers that need no new build, failures of
-- the machine, stamps (digests of what a trainer is built from), and quoting for the shell.

local support = dofile("tests/lua/support.lua")

local build = require("render.builds.build")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local shell = require("base.shell")

-- Generated files. map: for each line of the file, the list of template lines that produced it, the innermost first. A
-- template line is { template, line, folder or nil for templates }.
local FILES = {
  { path = "step.c", text = "", map = {
    { { "cpu/step.c.tpl", 7 } },
    { { "parts/a.tpl", 2 }, { "cpu/step.c.tpl", 9 } },
  } },
  { path = "device.cu", text = "", map = { { { "cuda/adam.cu", 3, "kernels" }, { "cuda/device.cu.tpl", 5 } } } },
  { path = "plan.lua", text = "", map = {} },
}

TestAnnotate = {}

function TestAnnotate.test_places_in_generated_files_name_their_template()
  local log = table.concat({
    "In file included from /b/x.partial1/src/step.c:1:",
    "/b/x.partial1/src/step.c:2:5: error: 'q' undeclared",
    "    2 | q = 1;",
    "kernels/cpu/adam.h:2:1: note: here",
    "/b/x.partial1/src/step.c:99:5: error: past the end",
    "/b/x.partial1/src/device.cu(1): error: identifier \"q\" is undefined",
    "ptxas /b/x.partial1/src/device.cu, line 1; error   : a word",
  }, "\n")
  lu.assertEquals(build.annotate(log, "/b/x.partial1/src", FILES, "x"), table.concat({
    "In file included from x/step.c:1: [templates/cpu/step.c.tpl:7]",
    "x/step.c:2:5: error: 'q' undeclared [templates/parts/a.tpl:2]",
    "    2 | q = 1;",
    "kernels/cpu/adam.h:2:1: note: here",
    "x/step.c:99:5: error: past the end",
    "x/device.cu(1): error: identifier \"q\" is undefined [kernels/cuda/adam.cu:3]",
    "ptxas x/device.cu, line 1; error   : a word [kernels/cuda/adam.cu:3]",
    "",
  }, "\n"))
end

-- A message about a copy of a user's file names the original, without a template line.
function TestAnnotate.test_a_copy_is_named_like_its_original()
  local files = { { path = "task.c", original = "examples/own.c", map = {} } }
  local text = "build/x.partial1/src/task.c:14:9: error: 'y' undeclared\n   14 |     y = 1;\n"
  lu.assertEquals(build.annotate(text, "build/x.partial1/src", files, "x"),
    "examples/own.c:14:9: error: 'y' undeclared\n   14 |     y = 1;\n")
end

TestFresh = {}

local STAMP = "0123456789abcdef"

-- Returns a job, the description of a trainer to build. levels: its instruction-set levels; changes: other fields.
local function make_job(levels, changes)
  local job = { stamp = STAMP, data_stamp = "1005e", levels = levels,
    defaults = { text = "longhand", reserved = 10 } }
  return lists.update(job, changes or {})
end

-- Writes a trainer's folder, whose stamp begins with `lines`; returns the folder. The defaults of the trainer are the
-- ten bytes "longhand\0\0".
local function write_build(name, lines)
  local dir = support.write(name .. "/trainer", "code, longhand\0\0, code"):match("^(.*)/")
  support.write(name .. "/stamp", ("%sdefaults 1005e\n"):format(lines))
  return dir
end

function TestFresh.test_a_build_is_fresh_by_stamp_and_levels()
  local dir = write_build("fresh", STAMP .. " dynamic x86-64 x86-64-v3\n")
  lu.assertTrue(build.is_fresh(dir, make_job("x86-64-v3")))
  lu.assertTrue(build.is_fresh(dir, make_job("x86-64 x86-64-v3")))
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64-v4")))
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64", { stamp = "fedcba9876543210" })))
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64", { data_stamp = "0" })))
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64", { defaults = { text = "longhand", reserved = 11 } })))
  lu.assertFalse(build.is_fresh("/nonexistent", make_job("x86-64")))
end

function TestFresh.test_a_build_is_fresh_by_linking_if_requested()
  local dir = write_build("linked", STAMP .. " static x86-64\n")
  lu.assertTrue(build.is_fresh(dir, make_job("x86-64")))
  lu.assertTrue(build.is_fresh(dir, make_job("x86-64"), "static"))
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64"), "dynamic"))
  write_build("linked", STAMP .. " x86-64 x86-64-v3\n") -- a stamp without the kind of linking
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64")))
end

-- A build with more than the request is fresh: with a CUDA half, or with more architectures.
function TestFresh.test_a_build_is_fresh_by_its_cuda_half_if_requested()
  local dir = write_build("halves", STAMP
    .. " dynamic x86-64\ncuda aa nvcc 13.0 /c/nvcc sm_80 sm_90a compute_80 text\n")
  lu.assertTrue(build.is_fresh(dir, make_job("x86-64")))
  for words, expected in pairs({ ["nvcc 13.0 /c/nvcc sm_80 sm_90a compute_80"] = true,
    ["nvcc 13.0 /c/nvcc sm_90a"] = true,
    ["text"] = true, ["nvcc 13.0 /c/nvcc sm_90"] = false, ["nvcc 12.4 /c/nvcc sm_80"] = false,
    ["nvrtc 13.0 /c/nvcc sm_80"] = false }) do
    lu.assertEquals(build.is_fresh(dir, make_job("x86-64", { cuda = words, cuda_stamp = "aa" })), expected, words)
  end
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64", { cuda = "text", cuda_stamp = "bb" })))
  write_build("halves", STAMP .. " dynamic x86-64\n")
  lu.assertFalse(build.is_fresh(dir, make_job("x86-64", { cuda = "text", cuda_stamp = "aa" })))
end

TestMissingResources = {}

-- A full disk or memory is not an error of the user's code. A message with a line number is an error of this code.
function TestMissingResources.test_logs_of_a_full_disk_or_memory_are_recognised()
  local folder = support.write("lack/x", ""):match("^(.*)/")
  for log, expected in pairs({
    ["/tmp/ccX.s: fatal error: closing: No space left on device"] = "No space left on device",
    ["ar: libx.a: Disk quota exceeded"] = "Disk quota exceeded",
    ["gcc: fatal error: Killed signal terminated program cc1"] = "Killed",
    ["cc1: out of memory allocating 65536 bytes"] = "out of memory",
    ["collect2: fatal error: ld terminated with signal 7 [Bus error]"] = "Bus error",
  }) do
    lu.assertEquals(build.find_missing_resource(log, folder), expected)
  end
  lu.assertNil(build.find_missing_resource("make: *** [Makefile:174: x.o] Error 1", folder))
  lu.assertEquals(build.find_missing_resource("make: *** [Makefile:174: x.o] Error 1", folder .. "/gone"),
    "less than 4 MB are left")
  lu.assertNil(build.find_missing_resource("src/task.c:14:9: error: 'y' undeclared", folder .. "/gone"))
  lu.assertEquals(support.shell("ls " .. folder), "x\n") -- the search leaves no file
end

TestStamps = {}

-- A change of the device code does not change the stamp of the CPU half, and vice versa.
function TestStamps.test_each_half_has_its_own_stamp()
  local project = { digest_sources = function() return "r" end }
  local function compute_stamps(step, device)
    local cpu, cuda = build.make_stamps(project, { { path = "step.c", text = step }, device and { path = "device.cu",
      text = device, cuda = true } })
    return cpu, cuda
  end
  local cpu, cuda = compute_stamps("a", "b")
  local same_cpu, other_cuda = compute_stamps("a", "c")
  local other_cpu, same_cuda = compute_stamps("x", "b")
  lu.assertEquals({ same_cpu, same_cuda }, { cpu, cuda })
  lu.assertNotEquals(other_cpu, cpu)
  lu.assertNotEquals(other_cuda, cuda)
  lu.assertEquals({ compute_stamps("a") }, { cpu })
end

-- A banner does not change the stamps of code. The stamp of data, such as the defaults of flags, covers every byte.
function TestStamps.test_data_has_its_own_stamp()
  local project = { digest_sources = function() return "r" end }
  local function compute_stamps(steps, banner)
    return build.make_stamps(project, { { path = "step.c", text = banner .. "code", digest_text = "code" },
      { path = "defaults.inc", text = banner .. steps, digest_text = steps, is_data = true } })
  end
  local cpu, _, data = compute_stamps("1", "a")
  for _, case in ipairs({ { "2", "a" }, { "1", "b" } }) do
    local same_cpu, cuda, other_data = compute_stamps(table.unpack(case))
    lu.assertEquals(same_cpu, cpu)
    lu.assertTrue(not cuda)
    lu.assertNotEquals(other_data, data)
  end
end

-- The program sha256sum computes the digests. If it cannot read every file, Lua computes all digests.
function TestStamps.test_digests_of_files_do_not_depend_on_the_program_that_computes_them()
  local project = require("project").new(lfs.currentdir())
  local expected = require("base.sha256").hash(support.read("Makefile"))
  lu.assertEquals(project:hash_files({ "Makefile" }), { expected })
  lu.assertEquals(project:hash_files({ "Makefile", "no such file" })[1], expected)
end

-- If a folder were not in the digest, a change in it would not cause a rebuild.
function TestStamps.test_every_folder_of_hand_written_code_is_in_the_digest()
  local project, hashed_names = require("project").new(lfs.currentdir()), {}
  function project.hash_files(_, names)
    for _, name in ipairs(names) do
      hashed_names[name] = true
    end
    return names
  end
  project:digest_sources()
  for _, name in ipairs({ "Makefile", "include/longhand/spec.h", "runtime/main.c", "kernels/cpu/vector.h" }) do
    lu.assertTrue(hashed_names[name] or false, name)
  end
end

TestWords = {}

function TestWords.test_compilers_of_the_cuda_half_are_described_in_words()
  lu.assertEquals(build.describe_cuda("nvcc 13.0 /c/bin/nvcc sm_80 compute_80"),
    "sm_80, compute_80 by nvcc 13.0 (/c/bin/nvcc)")
  lu.assertEquals(build.describe_cuda("nvrtc 12.4 /l/libnvrtc.so.12 sm_90a text"),
    "sm_90a by nvrtc 12.4 (/l/libnvrtc.so.12), and CUDA source that NVRTC compiles where the trainer runs")
  lu.assertEquals(build.describe_cuda("text"), "CUDA source that NVRTC compiles where the trainer runs")
end

TestShell = {}

function TestShell.test_words_survive_quoting()
  local words = { "a b", "it's", "$HOME", "`x`", "", "*", "a;b", "\\" }
  local text, code = shell.capture({ "printf", "%s|", table.unpack(words) })
  lu.assertEquals(text, table.concat(words, "|") .. "|")
  lu.assertEquals(code, 0)
end

function TestShell.test_exit_codes_of_commands_and_signals_are_returned()
  lu.assertEquals(shell.run({ "sh", "-c", "exit 75" }), 75)
  lu.assertEquals(shell.run({ "sh", "-c", "kill -TERM $$" }), 143)
end

support.run()
