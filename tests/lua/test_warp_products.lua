-- Products that are cut by warp: their device code has no tiles, and a digest of its own. tests/emulation tests the
-- results.

local support = dofile("tests/lua/support.lua")

local gen = require("render.templates.gen")
local lists = require("base.lists")
local lu = require("luaunit")
local plan_page = require("plan.pages.plan_page")
local plans = require("plans")

local ENCODINGS = { "none", "learned", "rope", "relative", "shaw", "alibi_learned", "geometric" }
local OF_TILES = { "product_tiles", "SLAB", "stage_rows", "write_results" }
local OF_WARPS = { "product_parts", "multiply_group", "share_part", "operand_word" }

local function planned(encoding, kernel, precision)
  local rest = ", encoding = { kind = %q }, precision = %q, device_products = %q"
  return plans.of_task("kind = 'bucket_sort'", rest:format(encoding, precision or "tf32", kernel))
end

local function template(name, folder)
  return support.read((folder or "templates") .. "/" .. name)
end

local function device_text(plan)
  local files = assert(gen.files(plan, template, {}, true))
  return lists.filter(files, function(file) return file.path == "device.cu" end)[1].text
end

local function choice(plan)
  return lists.filter(plan_page.json(plan).choices, function(one) return one.what == "gpu product kernel" end)[1]
end

TestWarpProducts = {}

function TestWarpProducts.test_device_code_has_nothing_of_the_other_kernel()
  for _, encoding in ipairs(ENCODINGS) do
    local tiles, warps = device_text(planned(encoding, "tiles")), device_text(planned(encoding, "warps"))
    for i, name in ipairs(OF_TILES) do
      lu.assertStrContains(tiles, name, nil, nil, encoding)
      lu.assertNotStrContains(warps, name, nil, nil, encoding)
      lu.assertNotStrContains(tiles, OF_WARPS[i], nil, nil, encoding)
      lu.assertStrContains(warps, OF_WARPS[i], nil, nil, encoding)
    end
  end
end

function TestWarpProducts.test_each_precision_has_its_own_step()
  local function multiplies(precision, name)
    return device_text(planned("none", "warps", precision)):find(name, 1, true) ~= nil
  end
  for precision, step in pairs({ tf32 = "{ mma_tf32(", bf16 = "{ mma_bf16(", float64 = "__shfl_sync(" }) do
    for _, other in ipairs({ "tf32", "bf16", "float64" }) do
      lu.assertEquals(multiplies(other, step), other == precision, precision .. " in " .. other)
    end
  end
end

function TestWarpProducts.test_have_bits_of_their_own_and_the_same_model()
  local tiles, warps = planned("none", "tiles"), planned("none", "warps")
  lu.assertNotEquals(warps.digest, tiles.digest)
  lu.assertEquals(warps.model_digest, tiles.model_digest)
end

function TestWarpProducts.test_the_plan_says_that_they_are_asked_for()
  local why = choice(planned("none", "warps")).why
  lu.assertStrContains(why, ("a block has %d bytes of shared memory"):format(8 * 32 * 32 * 4 + 1024))
  lu.assertStrContains(why, "no GPU has timed it")
  lu.assertNil(choice(planned("none", "tiles")))
end

support.run()
