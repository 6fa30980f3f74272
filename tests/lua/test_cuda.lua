-- The plan's CUDA half: who makes products, and that each of the two shapes of device code has nothing of the other.
-- What the code computes is tested by tests/emulation.

local support = dofile("tests/lua/support.lua")

local gen = require("gen")
local lu = require("luaunit")
local plan_module = require("plan")
local project_module = require("project")
local tasks = require("tasks")

local NARROW, WIDE = 240, 256
local ENCODINGS = { "none", "sinusoid", "learned", "rope", "relative", "shaw", "alibi", "alibi_learned", "geometric" }

local facts = tasks.read(support.tasks_folder, require("diagnostics").new())
local project = project_module.new(".")

local function template(name, folder)
  return support.read((folder or "templates") .. "/" .. name)
end

-- The plan and the texts of both files.
local function made(encoding, width, precision)
  local path = support.write("cuda.lua", ([[
return { task = { kind = "bucket_sort" }, encoding = { use = %q },
  model = { layers = 2, heads = 4, width = %d, feedforward = 512, dropout = 0.1 }, precision = %q }
]]):format(encoding, width, precision or "float32"))
  local resolved, message = project:resolve(path, {})
  assert(resolved, message)
  local plan = plan_module.build(resolved.resolved, { task = facts.bucket_sort, score = resolved.score })
  local text = {}
  for _, file in ipairs(assert(gen.files(plan, template, {}, true))) do
    text[file.path] = file.text
  end
  return plan, text["device.cu"], text["cuda.c"]
end

local function choice(plan, what)
  for _, one in ipairs(plan_module.json(plan).choices) do
    if one.what == what then
      return one
    end
  end
end

TestProducts = {}

function TestProducts.test_are_a_library_s_from_width_256_on()
  local expected = { [64] = "generated", [NARROW] = "generated", [WIDE] = "library", [1024] = "library" }
  for width, products in pairs(expected) do
    lu.assertEquals(made("none", width).cuda.products, products, width)
  end
end

function TestProducts.test_the_plan_says_which_and_why()
  lu.assertEquals(choice(made("none", NARROW), "gpu products").value, "float32")
  local products = choice(made("none", WIDE, "tf32"), "gpu products")
  lu.assertEquals(products.value, "cuBLASLt, tf32")
  lu.assertStrContains(products.why, "from width 256 on: over all tokens of a batch")
  lu.assertStrContains(choice(made("none", WIDE), "gpu, one model").why, "replicas take turns")
  lu.assertNotNil(choice(made("none", NARROW), "gpu, replicas"))
  lu.assertNil(choice(made("none", WIDE), "gpu, replicas"))
end

-- Whatever shares the device: replicas of a wide model have the bits of one alone.
function TestProducts.test_a_wide_model_has_one_way_to_be_cut()
  local plan = made("none", WIDE)
  lu.assertEquals(plan.cuda.chip, plan.cuda.replicas)
end

local OF_STEPS = { "train_shard", "layer_forward(", "product_forward(", "enter_layer" }
local OF_PHASES = { "lh_cuda_place", "LH_CUDA_ATTEND", "train_phase", "take_part", "layer_gradients" }

function TestProducts.test_device_code_has_nothing_of_the_other_shape()
  for _, encoding in ipairs(ENCODINGS) do
    local _, narrow = made(encoding, NARROW)
    local _, wide = made(encoding, WIDE)
    for _, name in ipairs(OF_STEPS) do
      lu.assertStrContains(narrow, name, nil, nil, encoding)
      lu.assertNotStrContains(wide, name, nil, nil, encoding)
    end
    for _, name in ipairs(OF_PHASES) do
      lu.assertStrContains(wide, name, nil, nil, encoding)
      lu.assertNotStrContains(narrow, name, nil, nil, encoding)
    end
  end
end

-- Only the vectors of distances of Transformer-XL are made by the device code itself.
function TestProducts.test_wide_device_code_multiplies_no_matrices()
  for _, encoding in ipairs(ENCODINGS) do
    local _, wide = made(encoding, WIDE, "tf32")
    for _, name in ipairs({ "write_results", "mma_tf32", "SLAB" }) do
      lu.assertEquals(wide:find(name, 1, true) ~= nil, encoding == "relative", encoding .. ": " .. name)
    end
  end
end

function TestProducts.test_host_code_lists_the_launches()
  local _, _, narrow = made("rope", NARROW)
  local _, _, wide = made("rope", WIDE)
  lu.assertStrContains(wide, ".launches = launches,")
  lu.assertNotStrContains(narrow, "launches")
end

TestForm = {}

-- Of what templates write; the files of kernels/ have a formatter of their own.
function TestForm.test_lines_fit_and_end_well()
  for _, encoding in ipairs(ENCODINGS) do
    local plan, device, host = made(encoding, WIDE)
    local of_kernels = {}
    for _, name in ipairs(plan.cuda.kernels) do
      for line in template(name, "kernels"):gmatch("[^\n]+") do
        of_kernels[line] = true
      end
    end
    for _, text in ipairs({ device, host }) do
      for line in text:gmatch("[^\n]*") do
        lu.assertTrue(#line <= 120 or of_kernels[line], encoding .. ": " .. line)
        lu.assertNil(line:find(" $"), encoding .. ": " .. line)
      end
    end
  end
end

support.run()
