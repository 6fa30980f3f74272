-- The CPU files and the device files of a plan, and their digests, with templates of one or two lines.

local support = dofile("tests/lua/support.lua")

local compiled = require("render.templates.compiled")
local diagnostics = require("base.diagnostics")
local fingerprint = require("base.fingerprint")
local gen = require("render.templates.gen")
local lu = require("luaunit")
local plan_module = require("plan.plan")
local tasks = require("spec.task.tasks")

local TEXTS = {
  ["spec.tpl"] = "spec ${source_digest}\n",
  ["step.tpl"] = "step\n",
  ["device.tpl"] = "device ${id}\n% splice(\"cuda/x.cu\")\n",
  ["host.tpl"] = "host ${cuda_source_digest}\n",
  ["kernels:cuda/x.cu"] = "x ${id}\n",
}

local function make_reader(changes)
  return function(name, folder)
    local key = folder and folder .. ":" .. name or name
    return changes and changes[key] or TEXTS[key]
  end
end

local function make_plan()
  local resolved, info, d = support.check("tests/golden/specs/bare.lua")
  assert(resolved, d:text())
  local facts = tasks.read(support.tasks_folder, diagnostics.new())
  local result = plan_module.build(resolved, { task = facts[resolved.task.kind], score = info.score })
  result.files = { { template = "spec.tpl", path = "spec.c" }, { template = "step.tpl", path = "step.c" } }
  result.cuda_files = { { template = "host.tpl", path = "cuda.c" }, { template = "device.tpl", path = "device.cu" } }
  return result
end

-- Renders the plan with other texts of templates and kernels (changes); returns the paths of the files, the files by
-- path, and the source digest.
local function render(cuda, changes)
  local list, digest = gen.render_files(make_plan(), make_reader(changes), {}, cuda)
  local paths, by_path = {}, {}
  for i, file in ipairs(assert(list, digest)) do
    paths[i], by_path[file.path] = file.path, file
  end
  return paths, by_path, digest
end

TestTargets = {}

function TestTargets.test_the_cuda_half_is_generated_on_request()
  lu.assertEquals((render(false)), { "spec.c", "step.c", "plan.lua" })
  local paths, file = render(true)
  lu.assertEquals(paths, { "spec.c", "step.c", "cuda.c", "device.cu", "plan.lua" })
  lu.assertEquals({ file["spec.c"].cuda, file["step.c"].cuda, file["cuda.c"].cuda, file["device.cu"].cuda },
    { nil, nil, true, true })
end

function TestTargets.test_lines_of_device_code_name_their_templates()
  local _, file = render(true)
  lu.assertEquals(file["device.cu"].text, ("device %s\nx ${id}\n"):format(make_plan().id))
  lu.assertEquals(file["device.cu"].map[2], { { "cuda/x.cu", 1, "kernels" }, { "device.tpl", 2 } })
end

function TestTargets.test_digests_of_cpu_and_device_code_are_independent()
  local _, cpu, digest = render(false)
  local _, cuda_files, digest_with_cuda = render(true)
  lu.assertEquals({ digest_with_cuda, cuda_files["spec.c"].text }, { digest, cpu["spec.c"].text })
  lu.assertEquals(cpu["spec.c"].text, "spec " .. digest .. "\n")
  local device_digest = fingerprint.digest(compiled.reduce(cuda_files["device.cu"].text))
  lu.assertEquals(cuda_files["cuda.c"].text, "host " .. device_digest .. "\n")
  local _, changed_files, changed_digest = render(true, { ["kernels:cuda/x.cu"] = "y\n" })
  lu.assertEquals(changed_digest, digest)
  lu.assertNotEquals(changed_files["cuda.c"].text, cuda_files["cuda.c"].text)
  _, changed_files, changed_digest = render(true, { ["step.tpl"] = "another step\n" })
  lu.assertNotEquals(changed_digest, digest)
  lu.assertEquals(changed_files["cuda.c"].text, cuda_files["cuda.c"].text)
end

-- Digests are equal if kernels and rendered files differ only in a comment and the name of a static function. cuda.c,
-- the third file, has the digest of the device code.
function TestTargets.test_comments_are_in_no_digest()
  local function compute_digests(comment, helper)
    local function with_words(text)
      return ("/* %s */\nINLINE int %s(void) { return 1; }\n%s"):format(comment, helper, text)
    end
    local changes = {}
    for _, name in ipairs({ "step.tpl", "device.tpl" }) do
      changes[name] = '#include "kernels/cpu/a.h"\n' .. with_words(TEXTS[name])
    end
    local kernels = { { path = "kernels/cpu/a.h", text = with_words("int a;\n") } }
    local list, digest = gen.render_files(make_plan(), make_reader(changes), kernels, true)
    return { digest, list[3].text }
  end
  lu.assertEquals(compute_digests("What one is", "one_of"),
    compute_digests("The number one.", "make_one"))
end

function TestTargets.test_an_error_in_either_half_is_an_error()
  for _, name in ipairs({ "device.tpl", "host.tpl" }) do
    local list, err = gen.render_files(make_plan(), make_reader({ [name] = "${nothing}\n" }), {}, true)
    lu.assertNil(list)
    lu.assertEquals({ err.path, err.line }, { "templates/" .. name, 1 })
  end
end

support.run()
