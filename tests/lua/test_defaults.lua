-- Defaults of a trainer's flags, the part of an experiment that changes no code: their text, the files that contain
-- them, and their replacement in an existing trainer.

local support = dofile("tests/lua/support.lua")

local cases = require("cases")
local defaults = require("plan.deriving.defaults")
local gen = require("render.templates.gen")
local lfs = require("lfs")
local lu = require("luaunit")
local plan_module = require("plan.plan")
local sha256 = require("base.sha256")
local shell = require("base.shell")
local trainer_defaults = require("render.builds.trainer_defaults")

local function make_plan(sets)
  local resolved, info, d = support.check(cases.SPEC, support.sets(sets))
  assert(resolved, d:text())
  return plan_module.build(resolved, { task = info.task })
end

TestText = {}

function TestText.test_each_value_has_its_line()
  local text = make_plan({ "train.steps=2e6", "train.learning_rate=3e-4", "train.checkpoint.keep={ 100, 1000 }",
    "eval.lengths={ list = { 7, 9 } }", "eval.during={ every = 5, lengths = { 3, 9, step = 2 } }" }).defaults.text
  for _, line in ipairs({ "train.steps 2000000", "train.learning_rate 0.0003", "train.keep_steps 100,1000",
    "eval.lengths 7,9", "eval.during_every 5", "eval.during_lengths 3:9:2", "eval.during_examples 128" }) do
    lu.assertStrContains(text, "\n" .. line .. "\n")
  end
  lu.assertNotStrContains(make_plan({}).defaults.text, "during")
end

function TestText.test_the_first_line_has_space_and_digest()
  local plan_defaults = make_plan({}).defaults
  local reserved, digest, body = plan_defaults.text:match("^longhand defaults 1 (%d+) (%x+)\n(.*)$")
  lu.assertEquals(reserved, tostring(plan_defaults.reserved))
  lu.assertEquals(digest, sha256.digest(body))
  lu.assertEquals(plan_defaults.text:find(defaults.make_pattern(plan_defaults.reserved)), 1)
  lu.assertNil(plan_defaults.text:find(defaults.make_pattern(2 * plan_defaults.reserved)))
end

-- The number of reserved bytes is at least twice the length of the text, and one of a few numbers. So the texts of most
-- other specs fit.
function TestText.test_space_of_the_text_fits_most_other_texts()
  local steps = {}
  for i = 1, 2000 do
    steps[i] = i
  end
  local short_text = make_plan({}).defaults
  local long_text = make_plan({ "train.checkpoint.keep={ " .. table.concat(steps, ",") .. " }" }).defaults
  lu.assertEquals(short_text.reserved, 16384)
  lu.assertTrue(long_text.reserved >= 2 * #long_text.text and long_text.reserved < 4 * #long_text.text)
end

TestFiles = {}

-- Settings of fields that are not in the plan digest.
local OUTSIDE = { "train.steps=7", "train.learning_rate=0.5", "train.log_every=3", "train.checkpoint.every=3",
  "train.checkpoint.minutes=3", "train.checkpoint.keep=all", "train.checkpoint.keep={ 1, 2 }", "eval.lengths={ 3, 4 }",
  "eval.lengths={ list = { 3, 9 } }", "eval.examples=3", "eval.batch=2", "eval.draws=3", "eval.during={ every = 2 }",
  "eval.during={ every = 2, lengths = { 3, 4 }, examples = 3 }" }

-- Fields that are not in the plan digest change only the data files, defaults.inc and plan.lua.
function TestFiles.test_values_outside_the_digest_are_in_data_files_alone()
  local function render_files(sets)
    local list = gen.render_files(make_plan(sets), cases.read_template, {}, true)
    local code_files, data_files = {}, {}
    for _, file in ipairs(list) do
      table.insert(file.is_data and data_files or code_files, file.path .. "\n" .. file.text)
    end
    return code_files, data_files
  end
  local code_files, data_files = render_files({})
  lu.assertEquals(#data_files, 2)
  for _, set in ipairs(OUTSIDE) do
    local changed_code_files, other_data_files = render_files({ set })
    lu.assertEquals(changed_code_files, code_files, set)
    lu.assertNotEquals(other_data_files[1], data_files[1], set)
  end
  for _, set in ipairs({ "train.batch=64", "train.lengths={ 1, 5 }", "eval.dropout=true", "model.layers=1" }) do
    lu.assertNotEquals((render_files({ set })), code_files, set)
  end
end

TestWrite = {}

local old_defaults = { text = "longhand defaults 1 100 0123456789abcdef\ntrain.steps 1\n", reserved = 100 }
local new_defaults = { text = "longhand defaults 1 100 fedcba9876543210\ntrain.steps 20000\n", reserved = 100 }

local function pad_text(flag_defaults)
  return flag_defaults.text .. ("\0"):rep(flag_defaults.reserved - #flag_defaults.text)
end

local function write_program(name, bytes)
  local path = support.write(name, bytes)
  os.execute("chmod 751 " .. path)
  return path
end

function TestWrite.test_another_text_is_written_into_the_same_space()
  local from = write_program("trainer", "\127ELF" .. pad_text(old_defaults) .. "\0\1behind")
  local to = support.write("place/x", ""):match("^(.*)/") .. "/trainer"
  lu.assertTrue(trainer_defaults.write(from, to, new_defaults))
  lu.assertEquals(support.read(to), "\127ELF" .. pad_text(new_defaults) .. "\0\1behind")
  lu.assertEquals(lfs.attributes(to, "permissions"), "rwxr-x--x")
  lu.assertEquals(support.read(from), "\127ELF" .. pad_text(old_defaults) .. "\0\1behind")
end

-- Trainers of two builds differ if the builds had folders of different names, which debugging information contains.
function TestWrite.test_another_build_may_replace_the_old_trainer_meanwhile()
  local from = write_program("replaced/trainer", "partial1" .. pad_text(old_defaults))
  local capture_all = shell.capture_all
  shell.capture_all = function(words) -- the trainer is replaced when the copy begins
    write_program("replaced/trainer", "partial2" .. pad_text(old_defaults))
    return capture_all(words)
  end
  local is_written, message = trainer_defaults.write(from, from .. "2", new_defaults)
  shell.capture_all = capture_all
  lu.assertTrue(is_written, message)
  lu.assertEquals(support.read(from .. "2"), "partial2" .. pad_text(new_defaults))
end

-- If the text and its whole buffer are not found with certainty, the text is not replaced, and the trainer is compiled
-- instead.
function TestWrite.test_ambiguous_places_are_not_written()
  local block = pad_text(old_defaults)
  for name, bytes in pairs({ none = "no text", twice = block .. block, cut = block:sub(1, -2),
    behind = old_defaults.text .. ("\0"):rep(20) .. ("x"):rep(80), reserved = (block:gsub(" 100 ", " 101 ", 1)),
    version = (block:gsub("defaults 1", "defaults 2", 1)) }) do
    local to = support.write("unsure/x", ""):match("^(.*)/") .. "/" .. name
    lu.assertNil((trainer_defaults.write(write_program("unsure/from_" .. name, bytes), to, new_defaults)), name)
    lu.assertNil(lfs.attributes(to, "mode"), name)
  end
  lu.assertNil((trainer_defaults.write("/nonexistent", "/nonexistent2", new_defaults)))
end

function TestWrite.test_a_folder_that_does_not_exist_is_reported()
  local program = write_program("trainer", pad_text(old_defaults))
  local succeeded, message = trainer_defaults.write(program, "/nonexistent/trainer", new_defaults)
  lu.assertFalse(succeeded)
  lu.assertStrContains(message, "/nonexistent/trainer")
end

support.run()
