-- Choices of tuning in generated files and in the cache: their effect on builds, their reading, and invalid files.

local support = dofile("tests/lua/support.lua")

local json = require("dkjson")
local levels = require("plan.deriving.levels")
local lu = require("luaunit")
local tuned = require("render.builds.tuned")
local tuning = require("plan.deriving.tuning")
local tuning_plans = require("tuning_plans")
local write = require("base.write")

local get_choice, make_plan, project = tuning_plans.get_choice, tuning_plans.make_plan, tuning_plans.project
local store_choices, with_empty_cache = tuning_plans.store_choices, tuning_plans.with_empty_cache

TestFiles = {}

-- Renders a plan with stored choices for the first level; returns the files' texts by name, the source digest and the
-- files.
local function render_with(values)
  local plan = make_plan()
  plan.tuned = tuning.derive(plan, nil, { [levels[1].name] = { date = "2026-11-23", values = values } })
  local files, digest = project:render_files(plan, false)
  return support.index_texts(assert(files)), digest, files
end

function TestFiles.test_choices_are_in_tuned_h_alone_and_in_the_stamp_of_a_build()
  local build = require("render.builds.build")
  local first_texts, digest, files = render_with({ product_tile = "8x3" })
  local other_texts, other_digest, other_files = render_with({ product_tile = "12x2" })
  lu.assertStrContains(first_texts["tuned.h"], "TILE_ROWS = 8,")
  lu.assertStrContains(first_texts["tuned.h"], 'CHOICE("product_tile", "8x3", "tuned 2026-11-23")')
  lu.assertEquals(digest, other_digest)
  lu.assertNotEquals((build.make_stamps(project, files)), (build.make_stamps(project, other_files)))
  for name, text in pairs(first_texts) do
    lu.assertEquals(text == other_texts[name], name ~= "tuned.h", name)
  end
end

-- A choice that can change a rounding is a field of the spec, so the plan digest covers it.
function TestFiles.test_tokens_of_a_training_block_are_part_of_the_plan()
  lu.assertEquals(make_plan("train.block_tokens=84").digest, make_plan().digest)
  local changed_plan = make_plan("train.block_tokens=126")
  lu.assertNotEquals(changed_plan.digest, make_plan().digest)
  lu.assertEquals({ changed_plan.block_tokens, changed_plan.model_digest }, { 126, make_plan().model_digest })
end

TestStoredChoices = {}

local CHOICES = { product_tile = "8x3", gradient_tile = "4x4", gradient_prefetch = "no", evaluation_tokens = "252" }

function TestStoredChoices.test_stored_choices_are_used_and_printed_by_plan()
  with_empty_cache(function()
    local plan, path = make_plan(), store_choices("2026-11-23", CHOICES, "x86-64-v4")
    lu.assertEquals(json.decode(support.read(path)).gain.train, 1.02)
    lu.assertEquals(tuned.apply(project, plan), {})
    lu.assertEquals({ get_choice(plan, 1, "product_tile") }, { "8x3", "tuned 2026-11-23" })
    lu.assertEquals({ get_choice(plan, 2, "product_tile") }, { "6x2", "model" })
    local page = require("lab.pages.plan_page").format_page(plan)
    lu.assertStrContains(page, "product_tile             8x3                       x86-64-v4: tuned here on 2026-11-23")
    lu.assertStrContains(page, "x86-64: model: the fewest loads per multiply-add with 16 registers")
    local wide_plan = make_plan("model.width=128")
    tuned.apply(project, wide_plan)
    lu.assertEquals(select(2, get_choice(wide_plan, 1, "product_tile")), "model")
  end)
end

-- The file of choices is ignored if a field is invalid, and the message names the field.
function TestStoredChoices.test_invalid_files_are_reported_and_ignored()
  with_empty_cache(function()
    local plan, path = make_plan(), store_choices("2026-11-23", CHOICES, "x86-64-v4")
    local contents = support.read(path)
    local function change(from, to)
      local text, count = contents:gsub(from, to)
      lu.assertEquals(count, 1)
      return text
    end
    for expected_words, text in pairs({
      ["no JSON; expected JSON"] = contents:sub(1, #contents // 2),
      ["nothing; expected JSON"] = "",
      ["the file: no object; expected an object"] = "[]",
      ["choices.product_tile: 7x9; expected 6x4, 5x5, 4x6, 8x3, 12x2"] = change("8x3", "7x9"),
      ["choices.product_tile: 1; expected 6x4"] = change('"8x3"', "1"),
      ["choices.tile: no choice; expected product_tile, gradient_tile"] = change("product_tile", "tile"),
      ["date: yesterday; expected a date"] = change("2026%-11%-23", "yesterday"),
      ["level: x86-64-v3; expected x86-64-v4"] = change('"x86%-64%-v4"', '"x86-64-v3"'),
    }) do
      assert(write.file(path, text))
      local warnings = tuned.apply(project, plan)
      lu.assertEquals(#warnings, 1)
      lu.assertStrContains(warnings[1], path .. ": " .. expected_words)
      lu.assertEquals(select(2, get_choice(plan, 1, "product_tile")), "model")
    end
  end)
end

function TestStoredChoices.test_two_processes_write_temporary_files_of_different_names()
  with_empty_cache(function()
    local rename, names = os.rename, {}
    support.replace_fields({ { os, "rename", function(from, to)
      names[#names + 1] = not from:find("%.partial$") and from or nil
      return rename(from, to)
    end } }, function()
      store_choices("2026-01-02", CHOICES)
      store_choices("2026-01-02", CHOICES)
    end)
    lu.assertEquals(#names, 2)
    lu.assertNotEquals(names[1], names[2])
  end)
end

function TestStoredChoices.test_an_unreadable_folder_is_a_warning()
  with_empty_cache(function()
    local plan = make_plan()
    store_choices("2026-01-02", { product_tile = "4x3" })
    support.replace_fields({ { require("lfs"), "dir", function() error("cannot open it: Permission denied") end } },
      function()
      local warnings = tuned.apply(project, plan)
      lu.assertEquals(#warnings, 1)
      lu.assertStrContains(warnings[1], "Permission denied; estimated choices are used instead")
    end)
  end)
end

function TestStoredChoices.test_control_characters_in_names_are_not_printed()
  with_empty_cache(function()
    local path = store_choices("2026-01-02", { product_tile = "4x3" })
    assert(write.file(path, (support.read(path):gsub("product_tile", "\\u001b[31m"))))
    local warnings = tuned.apply(project, make_plan())
    lu.assertStrContains(warnings[1], "choices.?[31m: no choice")
  end)
end

function TestStoredChoices.test_a_study_reports_each_invalid_file_once()
  local build, overview, log = require("render.builds.build"), require("lab.study.run.overview"), {}
  support.replace_fields({ { tuned, "apply", function() return { "strange" } end },
    { overview, "print", function(...) log[#log + 1] = table.concat({ ... }) end },
    { build, "find_levels", function() return "x86-64" end }, { build, "is_fresh", function() return true end },
    { build, "is_compiled", function() return true end } }, function()
    local cells, request = {}, { target = "cpu" }
    for i = 1, 2 do
      cells[i] = { id = tuning_plans.SPEC, spec = assert(project:plan(tuning_plans.SPEC, {})) }
    end
    local trainers = require("lab.study.run.trainers")
    assert(trainers.list(project, cells, request) and trainers.list(project, cells, request))
  end)
  lu.assertEquals(log, { "warning: strange" })
end

support.run()
