-- The digests of a plan and its model with other tasks and options, files of examples, and files of initial parameters.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plans = require("plans")
local safetensors = require("base.safetensors")

TestTaskDigests = {}

-- The bytes of a user's own task are in the plan's digest, its path is not.
function TestTaskDigests.test_a_user_s_task_is_in_the_digest_by_its_bytes()
  local text = support.read("tests/golden/tasks/own/first_repeat.c")
  local function compute_digests(folder, bytes)
    support.write(folder .. "/first_repeat.c", bytes)
    local path = support.write("probe.lua", 'return { task = { source = "' .. folder .. '/first_repeat.c" } }')
    local resolved, info, d = support.check(path)
    assert(resolved, d:text())
    lu.assertEquals(resolved.task, { kind = "first_repeat", source = folder .. "/first_repeat.c" })
    local plan = plans.build(resolved, info.task)
    return plan.digest, plan.model_digest
  end
  local plan, model = compute_digests("here", text)
  lu.assertEquals({ compute_digests("there", text) }, { plan, model })
  local other_plan, other_model = compute_digests("here", text .. "/* another */\n")
  lu.assertNotEquals(other_plan, plan)
  lu.assertEquals(other_model, model)
end

-- The digests of plan and model of a spec, from the texts of its task's fields and of its other fields.
local function digest_task(fields, more_fields)
  local plan = plans.plan_task(fields, more_fields)
  return plan.digest, plan.model_digest
end

-- The digests cover the alphabets of dataset files; the trainer compares the bytes of the files.
function TestTaskDigests.test_dataset_files_are_in_the_digest_by_their_alphabets()
  local base, model = digest_task("data = 'a.jsonl', input_symbols = 3, output_symbols = 2")
  local expected = { base, model }
  lu.assertEquals({ digest_task("data = 'b/a.jsonl', eval = 'c.jsonl', input_symbols = 3, output_symbols = 2") },
    expected)
  lu.assertEquals({ digest_task("data = 'a.jsonl', input_symbols = { 'x', 'y', 'z' }, output_symbols = 2") },
    expected)
  lu.assertEquals({ digest_task("data = 'a.jsonl', input_symbols = 3, output_symbols = 2, longest = 40") },
    expected)
  lu.assertEquals({ digest_task("data = 'a.jsonl', input_symbols = 3, output_symbols = 2",
    ", train = { epochs = 4, cadence = 'epochs' }, eval = { examples = 3 }") }, expected)
  lu.assertEquals({ digest_task("data = 'a.jsonl', name = 'sums', input_symbols = 3, output_symbols = 2") },
    expected)
  local changed_plan, other_model = digest_task("data = 'a.jsonl', input_symbols = 4, output_symbols = 2")
  lu.assertNotEquals(changed_plan, base)
  lu.assertNotEquals(other_model, model)
end

-- If a task makes the examples, the plan digest covers its options, its seed, and the bytes of a validation file.
function TestTaskDigests.test_generated_examples_are_in_the_digest_by_options_seed_and_files()
  local kind = "kind = 'latin_square'"
  local base, model = digest_task(kind)
  lu.assertEquals({ digest_task(kind .. ", seed = 0, options = { puzzles = 3000, strict = 'no' }",
    ", train = { epochs = 4 }, eval = { by = { vectors = true, puzzle = { 1, 9 } }, splits = { 'validation' } }") },
    { base, model })
  lu.assertEquals(plans.plan_task(kind .. ", seed = 0").resolved.task, plans.plan_task(kind).resolved.task)
  local known_digests = { [base] = true }
  support.write("a.csv", "some")
  support.write("b/c.csv", "some")
  support.write("b/d.csv", "others")
  for _, fields in ipairs({ "seed = 1", "options = { puzzles = 30 }", "validation = 'a.csv'",
    "validation = 'b/d.csv'" }) do
    local digest, other_model = digest_task(kind .. ", " .. fields)
    lu.assertNil(known_digests[digest], fields)
    lu.assertEquals(other_model == model, not fields:find("options"), fields)
    known_digests[digest] = true
  end
  lu.assertEquals(digest_task(kind .. ", validation = 'b/c.csv'"),
    (digest_task(kind .. ", validation = 'a.csv'")))
end

-- Defaults of options do not change digests; other values and computation tokens do. The model digest only covers
-- whether there are computation tokens, not their number.
function TestTaskDigests.test_options_and_computation_tokens_change_the_data()
  support.write("choices.c", support.read("tests/golden/tasks/own/choices.c"))
  local file = "source = 'choices.c'"
  local plan, model = digest_task(file)
  lu.assertEquals({ digest_task(file .. ", options = { base = 2, order = 'up' }, computation = 0") },
    { plan, model })
  for _, fields in ipairs({ "options = { base = 10 }", "options = { order = 'down' }" }) do
    local changed_plan, other_model = digest_task(file .. ", " .. fields)
    lu.assertNotEquals(changed_plan, plan)
    lu.assertNotEquals(other_model, model)
  end
  for _, field in ipairs({ file, "kind = 'bucket_sort'", "data = 'a.jsonl', input_symbols = 2, output_symbols = 2" }) do
    local no_tokens, none_model = digest_task(field)
    local one_token, one_model = digest_task(field .. ", computation = 1")
    local two_tokens, two_model = digest_task(field .. ", computation = 2")
    lu.assertTrue(one_token ~= no_tokens and two_tokens ~= one_token and two_tokens ~= no_tokens, field)
    lu.assertNotEquals(one_model, none_model)
    lu.assertEquals(two_model, one_model)
  end
end

-- The labels in the loss change the plan digest only if they differ from the default.
function TestTaskDigests.test_a_loss_other_than_the_default_is_in_the_digest()
  local function compute_digests(choice, model)
    local plan = plans.plan_task(choice, model and (", model = { kind = '%s' }"):format(model) or "")
    return plan.digest, plan.model_digest, plan.task.loss
  end
  local files = "data = 'a.jsonl', input_symbols = 2, output_symbols = 2"
  support.write("masked_sort.c", support.read("tests/golden/tasks/own/masked_sort.c"))
  local file = "source = 'masked_sort.c'"
  for _, case in ipairs({
    { file, nil, "all", "counted" }, { file, "decoder", "counted", "all" }, { files, nil, "counted", "all" },
    { file, "encoder_decoder", "counted", "all" }, { files, "decoder", "counted", "all" },
  }) do
    local base_digest, model, loss = compute_digests(case[1], case[2])
    lu.assertEquals(loss, case[3], case[1])
    lu.assertEquals({ compute_digests(case[1] .. (", loss = '%s'"):format(case[3]), case[2]) },
      { base_digest, model, case[3] })
    local changed_plan, other_model, other_loss = compute_digests(case[1] .. (", loss = '%s'"):format(case[4]), case[2])
    lu.assertEquals({ other_model, other_loss }, { model, case[4] }, case[1])
    lu.assertNotEquals(changed_plan, base_digest, case[1])
  end
  lu.assertFalse(select(3, compute_digests("kind = 'bucket_sort'")))
end

-- YaRN depends on the longest training sequence, which for a dataset file is task.longest.
function TestTaskDigests.test_the_longest_length_is_in_the_digest_where_a_choice_depends_on_it()
  local function plan_lengths(max_length)
    return plans.plan_task("data = 'a.jsonl', input_symbols = 3, output_symbols = 2, longest = " .. max_length,
      ", encoding = { kind = 'rope_yarn' }")
  end
  local short, long = plan_lengths(40), plan_lengths(80)
  lu.assertEquals(short.attentions[1].rotation.scaling.original_length, 40)
  lu.assertEquals(long.attentions[1].rotation.scaling.original_length, 80)
  lu.assertNotEquals(short.digest, long.digest)
  lu.assertEquals(short.model_digest, long.model_digest)
end

-- Writes a checkpoint of a plan's model with this metadata; missing: the name of a tensor that the checkpoint lacks, or
-- nil. Returns the path.
local function write_checkpoint(name, plan, metadata, missing)
  local list = {}
  for _, tensor in ipairs(plan.tensors) do
    local values = {}
    for i = 1, tensor.elements or tensor.shape[1] * (tensor.shape[2] or 1) do
      values[i] = 0
    end
    list[#list + 1] = tensor.name ~= missing and { name = tensor.name, shape = tensor.shape, values = values } or nil
  end
  metadata.model_digest = metadata.model_digest or plan.model_digest
  return support.write(name, (safetensors.make_file(list, metadata)))
end

local PARITY = "kind = 'parity_check'"
local MODEL = ", model = { kind = 'encoder', layers = 1, heads = 1, width = 16, feedforward = 16 }, "

-- The plan digest covers the bytes of a file of initial parameters, not its path; the model digest does not change.
function TestTaskDigests.test_an_initial_checkpoint_is_in_the_digest_by_its_bytes()
  local uninitialised = plans.plan_task(PARITY, MODEL)
  write_checkpoint("one.safetensors", uninitialised, { checksum = "00000000000000aa", id = "teacher" })
  write_checkpoint("deep/er/same.safetensors", uninitialised, { checksum = "00000000000000aa" })
  write_checkpoint("other.safetensors", uninitialised, { checksum = "00000000000000ab" })
  local from_init = plans.plan_task(PARITY, MODEL .. "init = 'one.safetensors'")
  local from_copy = plans.plan_task(PARITY, MODEL .. "init = 'deep/er/same.safetensors'")
  local from_other_init = plans.plan_task(PARITY, MODEL .. "init = 'other.safetensors'")
  lu.assertEquals(plans.plan_task(PARITY, MODEL .. "init = false").digest, uninitialised.digest)
  lu.assertNotEquals(from_init.digest, uninitialised.digest)
  lu.assertEquals(from_copy.digest, from_init.digest)
  lu.assertNotEquals(from_other_init.digest, from_init.digest)
  lu.assertEquals(from_init.model_digest, uninitialised.model_digest)
  lu.assertStrContains(from_init.defaults.text, "one.safetensors\ntrain.init_checksum 00000000000000aa\n")
  lu.assertNotStrContains(uninitialised.defaults.text, "train.init")
end

-- A checkpoint that does not fit is reported before a build.
function TestTaskDigests.test_a_checkpoint_that_does_not_fit_is_reported()
  local plain, sum = plans.plan_task(PARITY, MODEL), "00000000000000aa"
  write_checkpoint("less.safetensors", plain, { checksum = sum, id = "teacher" }, plain.tensors[2].name)
  write_checkpoint("mine.safetensors", plain, {})
  write_checkpoint("rope.safetensors", plain, { checksum = sum, model_digest = "0123456789abcdef" })
  local contents = support.read(write_checkpoint("whole.safetensors", plain, { checksum = sum }))
  support.write("torn.safetensors", contents:sub(1, #contents - 1))
  support.write("text.safetensors", "{}")
  for name, words in pairs({
    ["less.safetensors"] = plain.tensors[2].name .. " is missing (a checkpoint of teacher)",
    ["rope.safetensors"] = "its model digest is 0123456789abcdef",
  }) do
    local plan, problem = plans.plan_task(PARITY, MODEL .. ("init = %q"):format(name))
    lu.assertNil(plan, name)
    lu.assertEquals(problem.field, "init")
    lu.assertStrContains(problem.what, words)
  end
  local wide_model = MODEL:gsub("width = 16", "width = 32")
  local _, problem = plans.plan_task(PARITY, wide_model .. "init = 'whole.safetensors'")
  lu.assertStrContains(problem.what, "has shape [")
  for name, words in pairs({ ["mine.safetensors"] = "has no checksum",
    ["torn.safetensors"] = "do not match its shape", ["text.safetensors"] = "not a safetensors file, or cut short",
    ["."] = "is a directory, expected a file" }) do
    local _, _, d = support.check_text(("return { task = { %s } %s init = %q }"):format(PARITY, MODEL, name))
    lu.assertStrContains(d:text(), words)
    lu.assertStrContains(d:text(), "error: init: ")
  end
end

support.run()
