-- What is chosen for a machine: the model, what is remembered and how it is read, the search, and that none of it is in
-- a digest.

local support = dofile("tests/lua/support.lua")

local json = require("dkjson")
local levels = require("plan.levels")
local lu = require("luaunit")
local project = require("project").new(".")
local search = require("tune.search")
local tuned = require("render.tuned")
local tuning = require("plan.tuning")

local SPEC = "parity_check_sinusoid"

local function planned(...)
  return assert(project:plan(SPEC, { ... })).plan
end

local function value_at(plan, level, name)
  for _, choice in ipairs(plan.tuned[level].choices) do
    if choice.name == name then
      return choice.value, choice.from
    end
  end
end

TestModel = {}

-- What was written by hand before there was a model, where measurements agreed with it; see docs/tuning.md.
function TestModel.test_of_the_base_model()
  local plan = planned()
  lu.assertEquals(value_at(plan, 1, "product_tile"), "6x4")
  lu.assertEquals(value_at(plan, 2, "product_tile"), "6x2")
  lu.assertEquals(value_at(plan, 1, "gradient_tile"), "4x6")
  lu.assertEquals(value_at(plan, 2, "gradient_tile"), "4x3")
end

-- Ten vectors in a row: five columns divide them, four do not.
function TestModel.test_tiles_follow_the_width()
  lu.assertEquals(value_at(planned("model.width=160", "model.feedforward=640"), 1, "product_tile"), "5x5")
end

function TestModel.test_more_cache_takes_more_tokens()
  local plan, least = planned(), nil
  for _, kilobytes in ipairs({ 256, 512, 1024, 2048 }) do
    local tokens = tonumber(tuning.defaults(plan, levels[1], { l2 = kilobytes * 1024 }).evaluation_tokens)
    lu.assertTrue(not least or tokens >= least)
    least = tokens
  end
  lu.assertTrue(least > 84)
end

function TestModel.test_every_default_is_legal()
  local plan = planned("precision=float64")
  for i, level in ipairs(levels) do
    for name, value in pairs(tuning.defaults(plan, level, tuning.ANY_MACHINE)) do
      lu.assertTrue(tuning.values(plan, level)[name][value])
      lu.assertEquals(value_at(plan, i, name), value)
    end
  end
end

-- Registers: sums, a row of weights and what they are multiplied by. Sizes are multiples of 16.
function TestModel.test_tiles_fit_their_registers_and_rows_divide_sizes()
  for _, level in ipairs(levels) do
    local values = tuning.values(planned(), level)
    for _, name in ipairs({ "product_tile", "gradient_tile" }) do
      for _, tile in ipairs(values[name]) do
        local rows, columns = tile:match("(%d+)x(%d+)")
        lu.assertTrue(rows * columns + columns + 1 <= level.registers, level.name .. " " .. tile)
        lu.assertTrue(name == "product_tile" or 16 % rows == 0, tile)
      end
    end
  end
end

TestFiles = {}

local function files_with(values)
  local spec = assert(project:plan(SPEC, {}))
  spec.plan.tuned = tuning.of(spec.plan, nil, { [levels[1].name] = { date = "2026-11-23", values = values } })
  local by_name = {}
  local files, digest = project:files(spec.plan, false)
  for _, file in ipairs(assert(files)) do
    by_name[file.path] = file.text
  end
  return by_name, digest, files
end

function TestFiles.test_choices_are_in_tuned_h_alone_and_in_the_stamp_of_a_build()
  local build = require("render.build")
  local one, digest, files = files_with({ product_tile = "8x3" })
  local other, other_digest, other_files = files_with({ product_tile = "12x2" })
  lu.assertStrContains(one["tuned.h"], "TILE_ROWS = 8,")
  lu.assertStrContains(one["tuned.h"], 'CHOICE("product_tile", "8x3", "tuned 2026-11-23")')
  lu.assertEquals(digest, other_digest)
  lu.assertNotEquals((build.stamps(project, files)), (build.stamps(project, other_files)))
  for name, text in pairs(one) do
    lu.assertEquals(text == other[name], name ~= "tuned.h", name)
  end
end

-- What can change a rounding is a field of the spec, and its default is that of the specs that are older than it.
function TestFiles.test_tokens_of_a_training_block_are_part_of_the_plan()
  lu.assertEquals(planned("train.block_tokens=84").digest, planned().digest)
  local other = planned("train.block_tokens=126")
  lu.assertNotEquals(other.digest, planned().digest)
  lu.assertEquals({ other.block_tokens, other.model_digest }, { 126, planned().model_digest })
end

TestRemembered = {}

-- The module with a folder of its own, which getenv names.
local function in_folder(run)
  local folder, getenv = support.write("tuned/empty", ""):match("^(.*)/"), os.getenv
  os.getenv = function(name) -- luacheck: ignore
    return name == "LONGHAND_CACHE" and folder or getenv(name)
  end
  local ok, problem = pcall(run, folder)
  os.getenv = getenv -- luacheck: ignore
  if not ok then
    error(problem, 0)
  end
end

local CHOICES = { product_tile = "8x3", gradient_tile = "4x4", gradient_prefetch = "no", evaluation_tokens = "252" }

function TestRemembered.test_what_is_written_is_taken_here_and_said_by_plan()
  in_folder(function()
    local plan = planned()
    local key = tuned.key(project, plan, "x86-64-v4")
    local path = assert(tuned.write(key, { date = "2026-11-23", choices = CHOICES, gain = { train = 1.02 } }))
    lu.assertEquals(json.decode(support.read(path)).gain.train, 1.02)
    lu.assertEquals(tuned.apply(project, plan), {})
    lu.assertEquals({ value_at(plan, 1, "product_tile") }, { "8x3", "tuned 2026-11-23" })
    lu.assertEquals({ value_at(plan, 2, "product_tile") }, { "6x2", "model" })
    local page = require("plan.plan").text(plan)
    lu.assertStrContains(page, "product_tile             8x3                  x86-64-v4: tuned here on 2026-11-23")
    lu.assertStrContains(page, "x86-64: model: the fewest loads for a multiply-add that 16 registers allow")
    local other = planned("model.width=128")
    tuned.apply(project, other)
    lu.assertEquals(select(2, value_at(other, 1, "product_tile")), "model")
  end)
end

-- Whatever else is there counts as nothing, and is told with its field.
function TestRemembered.test_strange_files_are_told_and_count_as_none()
  in_folder(function()
    local plan = planned()
    local key = tuned.key(project, plan, "x86-64-v4")
    local path = assert(tuned.write(key, { date = "2026-11-23", choices = CHOICES }))
    local whole = support.read(path)
    local function changed(from, to)
      local text, count = whole:gsub(from, to)
      lu.assertEquals(count, 1)
      return text
    end
    for what, text in pairs({
      ["no JSON; expected JSON"] = whole:sub(1, #whole // 2),
      ["nothing; expected JSON"] = "",
      ["the file: no object; expected an object"] = "[]",
      ["choices.product_tile: 7x9; expected 6x4, 5x5, 4x6, 8x3, 12x2"] = changed("8x3", "7x9"),
      ["choices.product_tile: 1; expected 6x4"] = changed('"8x3"', "1"),
      ["choices.tile: no choice; expected product_tile, gradient_tile"] = changed("product_tile", "tile"),
      ["date: yesterday; expected a date"] = changed("2026%-11%-23", "yesterday"),
      ["level: x86-64-v3; expected x86-64-v4"] = changed('"x86%-64%-v4"', '"x86-64-v3"'),
    }) do
      local file = assert(io.open(path, "wb"))
      file:write(text)
      file:close()
      local warnings = tuned.apply(project, plan)
      lu.assertEquals(#warnings, 1)
      lu.assertStrContains(warnings[1], path .. ": " .. what)
      lu.assertEquals(select(2, value_at(plan, 1, "product_tile")), "model")
    end
  end)
end

TestSearch = {}

-- A search over two choices with speeds by value; which values it accepted, and what was compared.
local function searched(speeds, options)
  local log, accepted, budget = {}, {}, options and options.most or 100
  local best = search.run({
    start = { a = "1", b = "x" }, floor = 0.005,
    choices = { { name = "a", values = { "1", "2", "3" } }, { name = "b", values = { "x", "y" } } },
    is_over = function() return #log >= budget end,
    compare = function(from, to)
      if #log >= budget then
        return nil
      end
      local gain = (speeds[to.a] * speeds[to.b]) / (speeds[from.a] * speeds[from.b])
      log[#log + 1] = to.a .. to.b
      return { gain = gain, noise = options and options.noise or 0.001 }
    end,
    tell = function() end,
    accepted = function(values) accepted[#accepted + 1] = values.a .. values.b end,
  })
  return best.a .. best.b, accepted, log
end

function TestSearch.test_best_value_of_every_choice_is_found()
  local best, accepted, log = searched({ ["1"] = 1, ["2"] = 1.02, ["3"] = 1.05, x = 1, y = 1.1 })
  lu.assertEquals(best, "3y")
  lu.assertEquals(accepted, { "3x", "3y" })
  lu.assertEquals(log, { "2x", "3x", "3y", "1y", "2y", "3x" })
end

function TestSearch.test_gain_within_noise_is_none()
  lu.assertEquals((searched({ ["1"] = 1, ["2"] = 1.02, ["3"] = 1, x = 1, y = 1 }, { noise = 0.02 })), "1x")
  lu.assertEquals((searched({ ["1"] = 1, ["2"] = 1.004, ["3"] = 1, x = 1, y = 1 })), "1x")
end

function TestSearch.test_out_of_time_keeps_what_was_found()
  local best, accepted = searched({ ["1"] = 1, ["2"] = 1.02, ["3"] = 1.05, x = 1, y = 1.1 }, { most = 1 })
  lu.assertEquals({ best, accepted }, { "2x", { "2x" } })
end

function TestSearch.test_result_is_the_median_and_its_error()
  local result = search.result({ 1.1, 0.9, 1.0, 5, 1.05 })
  lu.assertEquals(result.gain, 1.05)
  lu.assertAlmostEquals(result.noise, 1.4826 * 1.2533 * 0.05 / math.sqrt(5), 1e-12)
  lu.assertEquals(search.median({ 4, 1 }), 2.5)
end

support.run()
