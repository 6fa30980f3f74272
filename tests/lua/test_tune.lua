-- Choices for a machine: the performance model, the stored choices and their reader, and the search. No digest contains
-- a choice.

local support = dofile("tests/lua/support.lua")

local json = require("dkjson")
local levels = require("plan.deriving.levels")
local lu = require("luaunit")
local measure = require("lab.tune.measure")
local project = require("project").new(".")
local stop = require("lab.stop")
local tune = require("lab.tune.tune")
local tuned = require("render.builds.tuned")
local tuning = require("plan.deriving.tuning")

local SPEC = "parity_check_sinusoid"

local function plan_text(...)
  return assert(project:plan(SPEC, { ... })).plan
end

local function get_value(plan, level, name)
  for _, choice in ipairs(plan.tuned[level].choices) do
    if choice.name == name then
      return choice.value, choice.from
    end
  end
end

TestModel = {}

-- Choices that were made by hand before the performance model existed, from measurements; see docs/tuning.md.
function TestModel.test_of_the_base_model()
  local plan = plan_text()
  lu.assertEquals(get_value(plan, 1, "product_tile"), "6x4")
  lu.assertEquals(get_value(plan, 2, "product_tile"), "6x2")
  lu.assertEquals(get_value(plan, 1, "gradient_tile"), "4x6")
  lu.assertEquals(get_value(plan, 2, "gradient_tile"), "4x3")
end

-- Ten vectors in a row: five columns divide them, four do not.
function TestModel.test_tiles_follow_the_width()
  lu.assertEquals(get_value(plan_text("model.width=160", "model.feedforward=640"), 1, "product_tile"), "5x5")
end

function TestModel.test_more_cache_takes_more_tokens()
  local plan, least = plan_text(), nil
  for _, kilobytes in ipairs({ 256, 512, 1024, 2048 }) do
    local tokens = tonumber(tuning.choose_defaults(plan, levels[1], { l2 = kilobytes * 1024 }).evaluation_tokens)
    lu.assertTrue(not least or tokens >= least)
    least = tokens
  end
  lu.assertTrue(least > 84)
end

function TestModel.test_every_default_is_legal()
  local plan = plan_text("precision=float64")
  for i, level in ipairs(levels) do
    for name, value in pairs(tuning.choose_defaults(plan, level, tuning.ANY_MACHINE)) do
      lu.assertTrue(tuning.list_values(plan, level)[name][value])
      lu.assertEquals(get_value(plan, i, name), value)
    end
  end
end

-- Registers hold sums, a row of weights and their factors. Sizes are multiples of 16.
function TestModel.test_tiles_fit_their_registers_and_rows_divide_sizes()
  for _, level in ipairs(levels) do
    local values = tuning.list_values(plan_text(), level)
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
  spec.plan.tuned = tuning.derive(spec.plan, nil, { [levels[1].name] = { date = "2026-11-23", values = values } })
  local by_name = {}
  local files, digest = project:render_files(spec.plan, false)
  for _, file in ipairs(assert(files)) do
    by_name[file.path] = file.text
  end
  return by_name, digest, files
end

function TestFiles.test_choices_are_in_tuned_h_alone_and_in_the_stamp_of_a_build()
  local build = require("render.builds.build")
  local one, digest, files = files_with({ product_tile = "8x3" })
  local other, other_digest, other_files = files_with({ product_tile = "12x2" })
  lu.assertStrContains(one["tuned.h"], "TILE_ROWS = 8,")
  lu.assertStrContains(one["tuned.h"], 'CHOICE("product_tile", "8x3", "tuned 2026-11-23")')
  lu.assertEquals(digest, other_digest)
  lu.assertNotEquals((build.make_stamps(project, files)), (build.make_stamps(project, other_files)))
  for name, text in pairs(one) do
    lu.assertEquals(text == other[name], name ~= "tuned.h", name)
  end
end

-- A choice that can change a rounding is a field of the spec, and its default is the value of older specs.
function TestFiles.test_tokens_of_a_training_block_are_part_of_the_plan()
  lu.assertEquals(plan_text("train.block_tokens=84").digest, plan_text().digest)
  local other = plan_text("train.block_tokens=126")
  lu.assertNotEquals(other.digest, plan_text().digest)
  lu.assertEquals({ other.block_tokens, other.model_digest }, { 126, plan_text().model_digest })
end

TestRemembered = {}

-- Runs with the module and a folder of its own, which getenv names.
local function in_folder(run)
  local folder, getenv = support.write("tuned/empty", ""):match("^(.*)/"), os.getenv
  require("base.write").remove_tree(folder .. "/tuned") -- files of earlier tests
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

function TestRemembered.test_stored_choices_are_used_and_printed_by_plan()
  in_folder(function()
    local plan = plan_text()
    local key = tuned.make_key(project, plan, "x86-64-v4")
    local path = assert(tune.write(key, { date = "2026-11-23", choices = CHOICES, gain = { train = 1.02 } }))
    lu.assertEquals(json.decode(support.read(path)).gain.train, 1.02)
    lu.assertEquals(tuned.apply(project, plan), {})
    lu.assertEquals({ get_value(plan, 1, "product_tile") }, { "8x3", "tuned 2026-11-23" })
    lu.assertEquals({ get_value(plan, 2, "product_tile") }, { "6x2", "model" })
    local page = require("lab.pages.plan_page").format_page(plan)
    lu.assertStrContains(page, "product_tile             8x3                       x86-64-v4: tuned here on 2026-11-23")
    lu.assertStrContains(page, "x86-64: model: the fewest loads per multiply-add with 16 registers")
    local other = plan_text("model.width=128")
    tuned.apply(project, other)
    lu.assertEquals(select(2, get_value(other, 1, "product_tile")), "model")
  end)
end

-- Other content is ignored, and reported with its field.
function TestRemembered.test_invalid_files_are_reported_and_ignored()
  in_folder(function()
    local plan = plan_text()
    local key = tuned.make_key(project, plan, "x86-64-v4")
    local path = assert(tune.write(key, { date = "2026-11-23", choices = CHOICES }))
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
      lu.assertEquals(select(2, get_value(plan, 1, "product_tile")), "model")
    end
  end)
end

TestSearch = {}

-- A search over two choices with speeds by value; returns the accepted values and the comparisons.
local function searched(speeds, options)
  local log, accepted, budget = {}, {}, options and options.most or 100
  local best = measure.search({
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
  local result = measure.summarise({ 1.1, 0.9, 1.0, 5, 1.05 })
  lu.assertEquals(result.gain, 1.05)
  lu.assertAlmostEquals(result.noise, 1.4826 * 1.2533 * 0.05 / math.sqrt(5), 1e-12)
  lu.assertEquals(measure.compute_median({ 4, 1 }), 2.5)
end

TestTune = {}

local shell = require("base.shell")

-- Calls a function while fields of modules have other functions.
local function with_fields(changes, run)
  local before = {}
  for i, change in ipairs(changes) do
    before[i] = assert(change[1][change[2]], change[2])
    change[1][change[2]] = change[3]
  end
  local ok, problem = pcall(run)
  for i, change in ipairs(changes) do
    change[1][change[2]] = before[i]
  end
  if not ok then
    error(problem, 0)
  end
end

-- A search with a simulated clock: compilation takes `compiles` seconds, a comparison one. gain_of(from, to, modes):
-- gain between texts of values. Returns the exit code, the output, and the comparisons.
local function tuned_by(gain_of, compiles, seconds)
  local now, trainers, lines, compared, code, message = 1000, {}, {}, {}, nil, nil
  with_fields({
    { os, "time", function() return now end },
    { measure, "build", function(_, values)
      local name = tuning.format(values)
      now, trainers[name] = now + (trainers[name] and 0 or compiles), true
      return name
    end },
    { measure, "compare", function(from, to, modes, _, last)
      if now >= last then
        return nil
      end
      now, compared[#compared + 1] = now + 1, to
      return { gain = gain_of(from, to, modes), noise = 0.001, rounds = 3 }
    end },
  }, function()
    code, message = stop.catch(tune.run, { project = setmetatable({ find = project.plan }, { __index = project }),
      seconds = seconds or 1000, level = "x86-64", threads = 1, spec = SPEC, set = {},
      say = function(text) table.insert(lines, text) end })
  end)
  return code, table.concat(lines, "\n") .. (message or ""), compared
end

local function read_back()
  local plan = plan_text()
  return tuned.read(tuned.make_key(project, plan, "x86-64"), plan)
end

local function remembered(date, choices)
  return assert(tune.write(tuned.make_key(project, plan_text(), "x86-64"), { date = date, choices = choices }))
end

local function faster_without_prefetch(from, to)
  local function speed(text)
    return text:find("gradient_prefetch no", 1, true) and 1.1 or 1
  end
  return speed(to) / speed(from)
end

local function none() return 1 end

-- About twelve candidates in 700 seconds, each of which takes longer to compile than its share.
function TestTune.test_compilation_does_not_shorten_a_candidate_s_share()
  in_folder(function()
    local _, _, compared = tuned_by(none, 80)
    lu.assertTrue(#compared >= 8, #compared)
  end)
end

function TestTune.test_better_choices_are_written()
  in_folder(function()
    local code, printed = tuned_by(faster_without_prefetch, 1)
    lu.assertEquals({ code, read_back().values.gradient_prefetch }, { 0, "no" })
    lu.assertStrContains(printed, "what builds here take from now on")
  end)
end

function TestTune.test_stopped_keeps_what_it_found()
  in_folder(function()
    local found = false
    local code = tuned_by(function(from, to)
      if found then
        error("interrupted!", 0)
      end
      found = to:find("prefetch no", 1, true) and from:find("prefetch yes", 1, true)
      return faster_without_prefetch(from, to)
    end, 1)
    lu.assertEquals({ code, read_back().values.gradient_prefetch }, { 75, "no" })
  end)
end

function TestTune.test_choices_that_are_slower_at_the_end_are_not_written()
  in_folder(function()
    -- Prefetching affects training alone: evaluation is compared only at the end.
    local _, printed = tuned_by(function(from, to, modes)
      local differ = from:find("prefetch yes", 1, true) and to:find("prefetch no", 1, true)
      return modes[1] == "eval" and differ and 0.5 or faster_without_prefetch(from, to)
    end, 1)
    lu.assertNil(read_back())
    lu.assertStrContains(printed, "slower than the model's choices in the end; nothing is written")
  end)
end

function TestTune.test_nothing_found_keeps_what_an_earlier_search_found()
  in_folder(function()
    local path = remembered("2026-01-02", { product_tile = "4x3" })
    local before = support.read(path)
    local _, printed = tuned_by(none, 1)
    lu.assertEquals(support.read(path), before)
    lu.assertStrContains(printed, "the best that were tried; what was found on 2026-01-02 stays")
  end)
end

function TestTune.test_equal_choices_keep_their_date()
  in_folder(function()
    local path = remembered("2026-01-02", { gradient_prefetch = "no" })
    local before = support.read(path)
    local _, printed = tuned_by(faster_without_prefetch, 1)
    lu.assertEquals(support.read(path), before)
    lu.assertStrContains(printed, "the same was found on 2026-01-02; that entry stays")
  end)
end

function TestTune.test_temporary_folder_that_make_cannot_take_is_refused()
  local getenv, code, printed = os.getenv, nil, nil
  with_fields({ { os, "getenv", function(name) return name == "TMPDIR" and "/tmp/a b" or getenv(name) end },
    { shell, "make_temporary_folder", function() error("a folder was made") end } }, function()
    code, printed = tuned_by(none, 1)
  end)
  lu.assertEquals(code, 2)
  lu.assertStrContains(printed, "/tmp/a b: make cannot handle this folder's name; expected letters")
end

-- The error of measure.compare if `bench` ends with this code, and the arguments of bench.
local function bench_with(code)
  local problem, ran
  with_fields({ { shell, "capture", function(words) ran = words; return "", code end } }, function()
    local _
    _, problem = pcall(measure.compare, "a", "b", { "eval" }, { seconds = 1, threads = 1, files = {} }, math.huge)
  end)
  return problem, table.concat(ran, " ")
end

function TestTune.test_exit_codes_of_bench()
  for _, code in ipairs({ 75, 130, 143 }) do
    lu.assertEquals(bench_with(code), "interrupted!")
  end
  for code, expected in pairs({ [1] = 1, [2] = 2, [3] = 4, [139] = 4 }) do
    lu.assertEquals((bench_with(code)).code, expected)
  end
  lu.assertStrContains((bench_with(139)).text, "bench of a trainer: signal 11")
  lu.assertStrContains((bench_with(3)).text, "bench of a trainer: exit code 3")
  lu.assertStrContains(select(2, bench_with(3)), "env -u LONGHAND_ISA a bench")
end

function TestRemembered.test_two_at_once_write_under_names_of_their_own()
  in_folder(function()
    local rename, names = os.rename, {}
    with_fields({ { os, "rename", function(from, to)
      names[#names + 1] = not from:find("%.partial$") and from or nil
      return rename(from, to)
    end } }, function()
      remembered("2026-01-02", CHOICES)
      remembered("2026-01-02", CHOICES)
    end)
    lu.assertEquals(#names, 2)
    lu.assertNotEquals(names[1], names[2])
  end)
end

function TestRemembered.test_folder_that_cannot_be_read_is_a_warning()
  in_folder(function()
    local plan = plan_text()
    remembered("2026-01-02", { product_tile = "4x3" })
    with_fields({ { require("lfs"), "dir", function() error("cannot open it: Permission denied") end } }, function()
      local warnings = tuned.apply(project, plan)
      lu.assertEquals(#warnings, 1)
      lu.assertStrContains(warnings[1], "Permission denied; the model's choices are taken")
    end)
  end)
end

function TestRemembered.test_control_characters_in_names_are_not_printed()
  in_folder(function()
    local path = remembered("2026-01-02", { product_tile = "4x3" })
    local text = support.read(path):gsub("product_tile", "\\u001b[31m")
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    local warnings = tuned.apply(project, plan_text())
    lu.assertStrContains(warnings[1], "choices.?[31m: no choice")
  end)
end

function TestRemembered.test_a_study_reports_each_invalid_file_once()
  local build, overview, log = require("render.builds.build"), require("lab.study.run.overview"), {}
  with_fields({ { tuned, "apply", function() return { "strange" } end },
    { overview, "print", function(...) log[#log + 1] = table.concat({ ... }) end },
    { build, "find_levels", function() return "x86-64" end }, { build, "is_fresh", function() return true end },
    { build, "is_compiled", function() return true end } }, function()
    local cells, request = {}, { target = "cpu" }
    for i = 1, 2 do
      cells[i] = { id = SPEC, spec = assert(project:plan(SPEC, {})) }
    end
    local trainers = require("lab.study.run.trainers")
    assert(trainers.list(project, cells, request) and trainers.list(project, cells, request))
  end)
  lu.assertEquals(log, { "warning: strange" })
end

-- The runtime divides an evaluation into whole blocks of training.
function TestModel.test_evaluation_takes_whole_blocks()
  for _, tokens in ipairs({ 42, 84, 126 }) do
    local plan = plan_text("train.block_tokens=" .. tokens)
    lu.assertEquals(table.concat(tuning.list_values(plan, levels[1]).evaluation_tokens, " "),
      ("%d %d %d"):format(tokens, 2 * tokens, 3 * tokens))
  end
  for kilobytes, tokens in pairs({ [512] = "84", [1024] = "168" }) do -- values of docs/tuning.md
    lu.assertEquals(tuning.choose_defaults(plan_text(), levels[1], { l2 = kilobytes * 1024 }).evaluation_tokens, tokens)
  end
end

-- The block with the most memory per token counts, wherever the network has it.
function TestModel.test_evaluation_looks_at_all_blocks()
  local function tokens(first, second)
    support.write("net.lua", ([[
return function(net, model)
  local value = net:embed("embedding", net:stream("source"), { scale = 4, place = net.additive })
  for i, hidden in ipairs({ %d, %d }) do
    local b = net:block("part" .. i, 1)
    local h = b:input(value)
    local wide = b:activation("bent" .. i, b:product("wide" .. i, h, hidden), "gelu")
    b:output(b:norm("n", b:add(h, b:product("back" .. i, wide, model.width))))
    value = b.result
  end
  net:classify(net:readout(value, "last"))
end
]]):format(first, second))
    local path = support.write("mine.lua", [[return { task = { kind = "bucket_sort" },
      model = { source = "net.lua", heads = 2, width = 64 } }]])
    local plan = assert(project:plan(path, {})).plan
    return tuning.choose_defaults(plan, levels[1], { l2 = 512 * 1024 }).evaluation_tokens
  end
  lu.assertEquals(tokens(512, 64), tokens(64, 512))
  lu.assertTrue(tonumber(tokens(64, 64)) > tonumber(tokens(64, 512)))
end

function TestModel.test_shape_has_all_inputs_of_the_choices()
  local shape = tuning.describe_shape(plan_text())
  lu.assertNotEquals(tuning.describe_shape(plan_text("train.block_tokens=126")), shape)
  lu.assertNotEquals(tuning.describe_shape(plan_text("model.activation=gelu")), shape)
end

support.run()
