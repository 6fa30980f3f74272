-- The digests of a plan, and the fields that change them.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plans = require("plans")
local schema = require("spec.schema")
local safetensors = require("base.safetensors")

local build, everything, resolve, small, task = plans.build, plans.everything, plans.resolve, plans.small, plans.task

TestDigests = {}

-- For every field of a spec: another value, and whether this value changes the digests of plan and model.
local LINES = { ["encoding.lines"] = "{ { head = 0, direction = 1, line = 0, value = 1 } }" }

local FIELDS = {
  { "id", "other", false, false },
  { "source", "spec/runs/other.lua", false, false },
  { "precision", "float64", true, false },
  { "task.kind", "even_pairs", true, false },
  { "model.kind", "decoder", true, true },
  { "model.layers", 3, true, true },
  { "model.heads", 4, true, true },
  { "model.width", 32, true, true },
  { "model.feedforward", 64, true, true },
  { "model.dropout", 0.25, true, false },
  { "model.attention_dropout", 0.25, true, false, { ["model.attention_dropout"] = "0.5" } },
  { "model.hidden_dropout", 0.25, true, false, { ["model.hidden_dropout"] = "0.5" } },
  { "model.embedding_dropout", 0.25, true, false, { ["model.embedding_dropout"] = "0.5" } },
  { "model.spare_token", true, true, true },
  { "model.norm.kind", "layer", true, true, { ["model.norm.kind"] = "rms" } },
  { "model.norm.place", "post", true, true, { ["model.norm.place"] = "pre" } },
  { "model.activation", "silu", true, true, { ["model.activation"] = "gelu" } },
  { "model.bias", "none", true, true, { ["model.bias"] = "all" } },
  { "model.init", "xavier", true, false, { ["model.init"] = "torch" } },
  { "model.branch_activation", "silu", true, true, { ["model.branch_activation"] = "gelu" } },
  { "model.embedding", "table", true, true, { ["model.embedding"] = "linear" } },
  { "model.readout", "probe", true, true, { ["model.readout"] = "last", ["task.kind"] = "even_pairs" } },
  { "model.tied", false, true, true, { ["model.kind"] = "decoder", ["model.tied"] = "true" } },
  { "encoding.rotation.kind", "none", true, true },
  { "encoding.rotation.base", 500.0, true, true },
  { "encoding.rotation.scaling.kind", "linear", true, false },
  { "encoding.rotation.scaling.factor", 2.0, true, false },
  { "encoding.rotation.scaling.original_length", 42, true, false },
  { "encoding.rotation.scaling.beta_slow", 2.0, true, false },
  { "encoding.rotation.scaling.beta_fast", 16.0, true, false },
  { "encoding.rotation.scaling.attention_factor", 1.5, true, false },
  { "encoding.mask.kind", "causal", true, true },
  { "encoding.mask.left", 5, true, true },
  { "encoding.mask.right", 5, true, true },
  { "encoding.mask.width", 2, true, true, { ["encoding.mask"] = "{ kind = 'antidiagonal', width = 1 }" } },
  { "encoding.mask.stride", 2, true, true, { ["encoding.mask"] = "{ kind = 'antidiagonal', width = 1 }" } },
  { "encoding.mask.left_only", true, true, true, { ["encoding.mask"] = "{ kind = 'antidiagonal', width = 1 }" } },
  { "encoding.lines.list", { { head = 0, direction = 1, line = 0, value = 2.0 } }, true, false, LINES },
  { "encoding.lines.zero_corner", "all", true, false, LINES },
  { "encoding.lines.columns", "left", true, false, { ["encoding.lines"] = "{ columns = 'right', "
    .. "{ head = 0, direction = 0, line = 0, value = 1 } }" } },
  { "encoding.normaliser.kind", "another", true, true, { ["encoding.normaliser.kind"] = "geometric" } },
  { "encoding.normaliser.temperature", 2.0, true, true, { ["encoding.normaliser.temperature"] = "0.5" } },
  { "encoding.projections.bias", true, true, true, { ["encoding.projections.bias"] = "false" } },
  { "encoding.projections.output", true, true, true, { ["encoding.projections.output"] = "false" } },
  { "encoding.projections.init", "attention", true, false, { ["encoding.projections.init"] = "linear",
    ["model.init"] = "torch" } },
  { "encoding.normaliser.normalised", false, true, true, { ["encoding.normaliser.kind"] = "geometric" } },
  { "encoding.normaliser.directional", false, true, true, { ["encoding.normaliser.kind"] = "geometric" } },
  { "encoding.relative.kind", "transformer_xl", true, true },
  { "encoding.relative.clip", 5, true, true },
  { "encoding.relative.sides", "both", true, true, { ["encoding.mask.kind"] = "causal",
    ["encoding.relative"] = "{ kind = 'shaw', sides = 'left' }" } },
  { "encoding.relative.init_sigma", 1.0, true, false, { ["encoding.relative"] = "{ kind = 'shaw', init_sigma = 2 }" } },
  { "encoding.positions.kind", "index", true, true },
  { "encoding.positions.period", 4, true, true, { ["encoding.positions"] = "{ kind = 'cyclic', period = 3 }",
    ["encoding.additive.kind"] = "sinusoid" } },
  { "encoding.positions.max_position", 500, true, false },
  { "encoding.positions.range", "zero_based", true, false },
  { "encoding.positions.sorted", false, true, false },
  { "encoding.positions.draw", "pass", true, false },
  { "encoding.positions.reading", "clamped", true, true },
  { "encoding.positions.sides", "mirrored", true, false },
  { "encoding.additive.kind", "sinusoid", true, true },
  { "encoding.additive.rows", 1200, true, true },
  { "encoding.additive.at", "input", true, true, { ["encoding.additive"] = "{ kind = 'learned', at = 'block' }" } },
  { "encoding.additive.channels", "halves", true, true,
    { ["encoding.additive"] = "{ kind = 'sinusoid', channels = 'interleaved' }" } },
  { "encoding.additive.learned", true, true, true,
    { ["encoding.additive"] = "{ kind = 'learned', learned = false }" } },
  { "encoding.additive.init", "truncated_normal", true, false,
    { ["encoding.additive"] = "{ kind = 'learned', init = 'normal' }" } },
  { "encoding.additive.init_sigma", 0.5, true, false },
  { "encoding.additive.dropout", 0.0, true, false },
  { "encoding.score", "x.score - x.slope", true, true },
  { "encoding.parameters", { slope = { per = "head", learned = true, init = 1.0 } }, true, true },
  { "train.batch", 64, true, false },
  { "train.shards", 8, true, false },
  { "train.steps", 5, false, false },
  { "train.learning_rate", 0.5, false, false },
  { "train.lengths", { first = 1, last = 41, step = 1 }, true, false },
  { "train.optimizer.kind", "adam", true, false, { ["train.optimizer.kind"] = "adamw" } },
  { "train.optimizer.beta1", 0.5, true, false },
  { "train.optimizer.beta2", 0.5, true, false },
  { "train.optimizer.epsilon", 0.5, true, false },
  { "train.optimizer.weight_decay", 0.5, true, false, { ["train.optimizer.kind"] = "adamw" } },
  { "train.optimizer.decays", "matrices", true, false, { ["train.optimizer.kind"] = "adamw" } },
  { "train.optimizer.momentum", 0.5, true, false, { ["train.optimizer"] = "{ kind = 'sgd', momentum = 0.9 }" } },
  { "train.schedule.kind", "linear", true, false, { ["train.schedule.kind"] = "cosine" } },
  { "train.schedule.warmup", 7, true, false, { ["train.schedule.warmup"] = "5" } },
  { "train.schedule.final", 0.5, true, false, { ["train.schedule.kind"] = "cosine" } },
  { "train.clip.kind", "none", true, false },
  { "train.clip.max_norm", 0.5, true, false },
  { "train.log_every", 5, false, false },
  { "train.checkpoint.every", 5, false, false },
  { "train.checkpoint.minutes", 5.0, false, false },
  { "train.checkpoint.keep", { 10, 20 }, false, false },
  { "eval.lengths", { list = { 7, 9 } }, false, false },
  { "eval.examples", 5, false, false },
  { "eval.batch", 5, false, false },
  { "eval.validation.lengths", { first = 1, last = 4, step = 1 }, false, false },
  { "eval.validation.examples", 7, false, false },
  { "eval.draws", 5, false, false },
  { "eval.dropout", false, true, false },
  { "eval.noise", "absolute", true, false, { ["eval.by"] = "{ noise = { list = { 0.5 } } }",
    ["eval.noise"] = "relative" } },
  { "eval.during.every", 6, false, false },
  { "eval.during.lengths", { first = 3, last = 4, step = 1 }, false, false },
  { "eval.during.examples", 5, false, false },
}

local function find_parent(resolved, path)
  local at = resolved
  for name in path:gmatch("([^%.]+)%.") do
    at = at[name]
  end
  return at, path:match("[^%.]+$")
end

function TestDigests.test_each_field_changes_what_it_should()
  local whole = build(everything())
  for _, entry in ipairs(FIELDS) do
    local path, value, of_plan, of_model, alone = table.unpack(entry)
    local resolved = alone and resolve(small(alone)) or everything()
    local base = alone and build(resolve(small(alone))) or whole
    local parent, name = find_parent(resolved, path)
    lu.assertNotNil(parent[name], path)
    lu.assertNotEquals(parent[name], value, path)
    parent[name] = value
    local plan = build(resolved)
    lu.assertEquals(plan.digest ~= base.digest, of_plan, path .. ": plan digest changes")
    lu.assertEquals(plan.model_digest ~= base.model_digest, of_model, path .. ": model digest changes")
  end
end

-- The bytes of a user's own task are in the plan's digest, its path is not.
function TestDigests.test_a_user_s_task_is_in_the_digest_by_its_bytes()
  local text = support.read("tests/golden/tasks/own/first_repeat.c")
  local function digests(folder, bytes)
    support.write(folder .. "/first_repeat.c", bytes)
    local path = support.write("probe.lua", 'return { task = { source = "' .. folder .. '/first_repeat.c" } }')
    local resolved, info, d = support.check(path)
    assert(resolved, d:text())
    lu.assertEquals(resolved.task, { kind = "first_repeat", source = folder .. "/first_repeat.c" })
    local plan = build(resolved, info.task)
    return plan.digest, plan.model_digest
  end
  local plan, model = digests("here", text)
  lu.assertEquals({ digests("there", text) }, { plan, model })
  local other_plan, other_model = digests("here", text .. "/* another */\n")
  lu.assertNotEquals(other_plan, plan)
  lu.assertEquals(other_model, model)
end

-- Steps are part of the plan if the learning rate falls; with a warm-up alone they are not.
function TestDigests.test_steps_are_in_the_digest_if_the_schedule_falls()
  local function digests(sets)
    local short, long = small(sets), small(sets)
    short["train.steps"], long["train.steps"] = "500", "1000"
    return build(resolve(short)).digest, build(resolve(long)).digest
  end
  for _, kind in ipairs({ "linear", "cosine" }) do
    local short, long = digests({ ["train.schedule.kind"] = kind })
    lu.assertNotEquals(short, long)
  end
  local short, long = digests({ ["train.schedule.warmup"] = "5" })
  lu.assertEquals(short, long)
  local plain = digests()
  lu.assertNotEquals(short, plain)
  lu.assertEquals({ digests({ ["train.schedule"] = "{ kind = 'constant', warmup = 0 }" }) }, { plain, plain })
  local function of_epochs(epochs)
    return (plans.of_task("data = 'a.jsonl', input_symbols = 3, output_symbols = 2",
      (", train = { epochs = %d, schedule = { kind = 'linear' } }"):format(epochs))).digest
  end
  lu.assertNotEquals(of_epochs(4), of_epochs(5))
end

-- A network's default is not part of a spec, whether given or not: plans from before other norms, activations and
-- places existed keep their digests, and so do models.
function TestDigests.test_a_default_network_leaves_no_trace()
  local plain = resolve(small())
  local written = resolve(small({ ["model.norm"] = "{ kind = 'layer', place = 'post' }", ["model.bias"] = "feedforward",
    ["model.activation"] = "relu", ["model.init"] = "haiku" }))
  lu.assertEquals(written, plain)
  lu.assertEquals(plain.model, { kind = "encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 })
  lu.assertNil(build(plain).network_identity)
  -- models as before; plans since gradients of the first layer are summed by symbol
  lu.assertEquals({ build(plain).digest, build(plain).model_digest }, { "f89ad3f59cb267e9", "61999b425ef9028a" })
end

-- The model's digest of another network covers its operations, in order, and their inputs, but not dropout.
function TestDigests.test_a_network_is_in_the_model_digest_by_its_operations()
  local function model_digest(sets)
    return build(resolve(small(sets))).model_digest
  end
  local seen = { [model_digest({})] = "plain" }
  for _, sets in ipairs({
    { ["model.activation"] = "gelu" }, { ["model.activation"] = "gelu_tanh" }, { ["model.activation"] = "silu" },
    { ["model.activation"] = "swiglu" }, { ["model.activation"] = "geglu" }, { ["model.norm.place"] = "pre" },
    { ["model.norm.kind"] = "rms" }, { ["model.norm.kind"] = "rms", ["model.norm.place"] = "pre" },
    { ["model.kind"] = "decoder" }, { ["model.kind"] = "decoder", ["model.tied"] = "true" },
  }) do
    local digest = model_digest(sets)
    lu.assertNil(seen[digest])
    seen[digest] = next(sets)
    sets["model.dropout"], sets["model.init"] = "0", "torch"
    lu.assertEquals(model_digest(sets), digest)
  end
end

-- Digests of a task and the rest of a spec, as text.
local function task_digests(fields, rest)
  local plan = plans.of_task(fields, rest)
  return plan.digest, plan.model_digest
end

-- Dataset files: their alphabets are in the plan's digest; the trainer compares the bytes of the files, in any folder.
function TestDigests.test_dataset_files_are_in_the_digest_by_their_alphabets()
  local base, model = task_digests("data = 'a.jsonl', input_symbols = 3, output_symbols = 2")
  local same = { base, model }
  lu.assertEquals({ task_digests("data = 'b/a.jsonl', eval = 'c.jsonl', input_symbols = 3, output_symbols = 2") }, same)
  lu.assertEquals({ task_digests("data = 'a.jsonl', input_symbols = { 'x', 'y', 'z' }, output_symbols = 2") }, same)
  lu.assertEquals({ task_digests("data = 'a.jsonl', input_symbols = 3, output_symbols = 2, longest = 40") }, same)
  lu.assertEquals({ task_digests("data = 'a.jsonl', input_symbols = 3, output_symbols = 2",
    ", train = { epochs = 4, cadence = 'epochs' }, eval = { examples = 3 }") }, same)
  lu.assertEquals({ task_digests("data = 'a.jsonl', name = 'sums', input_symbols = 3, output_symbols = 2") }, same)
  local other, other_model = task_digests("data = 'a.jsonl', input_symbols = 4, output_symbols = 2")
  lu.assertNotEquals(other, base)
  lu.assertNotEquals(other_model, model)
end

-- Examples made by a task: its options and its seed, and the bytes of a validation file in any folder.
function TestDigests.test_made_examples_are_in_the_digest_by_options_seed_and_files()
  local kind = "kind = 'latin_square'"
  local base, model = task_digests(kind)
  lu.assertEquals({ task_digests(kind .. ", seed = 0, options = { puzzles = 3000, strict = 'no' }",
    ", train = { epochs = 4 }, eval = { by = { vectors = true, puzzle = { 1, 9 } }, splits = { 'validation' } }") },
    { base, model })
  lu.assertEquals(plans.of_task(kind .. ", seed = 0").resolved.task, plans.of_task(kind).resolved.task)
  local seen = { [base] = true }
  support.write("a.csv", "some")
  support.write("b/c.csv", "some")
  support.write("b/d.csv", "others")
  for _, fields in ipairs({ "seed = 1", "options = { puzzles = 30 }", "validation = 'a.csv'",
    "validation = 'b/d.csv'" }) do
    local digest, other_model = task_digests(kind .. ", " .. fields)
    lu.assertNil(seen[digest], fields)
    lu.assertEquals(other_model == model, not fields:find("options"), fields)
    seen[digest] = true
  end
  lu.assertEquals(task_digests(kind .. ", validation = 'b/c.csv'"), (task_digests(kind .. ", validation = 'a.csv'")))
end

-- The first choice is the default, whether given or not; another choice, or another number of computation tokens, is
-- another task. A model with computation tokens accepts any number of them.
function TestDigests.test_options_and_computation_tokens_change_the_data()
  support.write("choices.c", support.read("tests/golden/tasks/own/choices.c"))
  local file = "source = 'choices.c'"
  local plan, model = task_digests(file)
  lu.assertEquals({ task_digests(file .. ", options = { base = 2, order = 'up' }, computation = 0") }, { plan, model })
  for _, fields in ipairs({ "options = { base = 10 }", "options = { order = 'down' }" }) do
    local other, other_model = task_digests(file .. ", " .. fields)
    lu.assertNotEquals(other, plan)
    lu.assertNotEquals(other_model, model)
  end
  for _, field in ipairs({ file, "kind = 'bucket_sort'", "data = 'a.jsonl', input_symbols = 2, output_symbols = 2" }) do
    local none, none_model = task_digests(field)
    local one, one_model = task_digests(field .. ", computation = 1")
    local two, two_model = task_digests(field .. ", computation = 2")
    lu.assertTrue(one ~= none and two ~= one and two ~= none, field)
    lu.assertNotEquals(one_model, none_model)
    lu.assertEquals(two_model, one_model)
  end
end

-- Labels in the loss: digests of encoders' tasks and of files are as before the choice existed.
function TestDigests.test_another_loss_than_before_is_in_the_digest()
  local function digests(choice, model)
    local plan = plans.of_task(choice, model and (", model = { kind = '%s' }"):format(model) or "")
    return plan.digest, plan.model_digest, plan.task.loss
  end
  local files = "data = 'a.jsonl', input_symbols = 2, output_symbols = 2"
  support.write("masked_sort.c", support.read("tests/golden/tasks/own/masked_sort.c"))
  local file = "source = 'masked_sort.c'"
  for _, case in ipairs({
    { file, nil, "all", "counted" }, { file, "decoder", "counted", "all" }, { files, nil, "counted", "all" },
    { file, "encoder_decoder", "counted", "all" }, { files, "decoder", "counted", "all" },
  }) do
    local usual, model, loss = digests(case[1], case[2])
    lu.assertEquals(loss, case[3], case[1])
    lu.assertEquals({ digests(case[1] .. (", loss = '%s'"):format(case[3]), case[2]) }, { usual, model, case[3] })
    local other, other_model, other_loss = digests(case[1] .. (", loss = '%s'"):format(case[4]), case[2])
    lu.assertEquals({ other_model, other_loss }, { model, case[4] }, case[1])
    lu.assertNotEquals(other, usual, case[1])
  end
  lu.assertFalse(select(3, digests("kind = 'bucket_sort'")))
end

-- YaRN's ramp depends on the longest training sequence, of which only task.longest is known.
function TestDigests.test_the_longest_length_is_in_the_digest_where_a_choice_depends_on_it()
  local function plan_lengths(longest)
    return plans.of_task("data = 'a.jsonl', input_symbols = 3, output_symbols = 2, longest = " .. longest,
      ", encoding = { kind = 'rope_yarn' }")
  end
  local short, long = plan_lengths(40), plan_lengths(80)
  lu.assertEquals(short.attentions[1].rotation.scaling.original_length, 40)
  lu.assertEquals(long.attentions[1].rotation.scaling.original_length, 80)
  lu.assertNotEquals(short.digest, long.digest)
  lu.assertEquals(short.model_digest, long.model_digest)
end

-- Gradients of vectors of distances are summed by blocks if the backward pass recomputes attention's weights.
function TestDigests.test_keep_probabilities_is_in_the_digest_where_it_changes_bits()
  local function digests(encoding, train)
    local plan = plans.of_task("kind = 'bucket_sort'", (", encoding = { kind = '%s' }, train = { %s }"):format(encoding,
      train))
    return { plan.digest, plan.model_digest }
  end
  for _, encoding in ipairs({ "relative", "rope", "alibi_learned" }) do
    local by_plan = digests(encoding, "")
    lu.assertEquals(digests(encoding, "keep_probabilities = true"), by_plan)
    local digest = digests(encoding, "keep_probabilities = false")
    lu.assertEquals(digest[1] ~= by_plan[1], encoding == "relative", encoding)
    lu.assertEquals(digest[2], by_plan[2])
  end
  local long = "lengths = { 1, 400 }"
  lu.assertNotEquals(digests("relative", long), digests("relative", long .. ", keep_probabilities = true"))
  lu.assertEquals(digests("rope", long), digests("rope", long .. ", keep_probabilities = true"))
end

function TestDigests.test_every_field_is_in_the_table_above()
  local seen = { id = true, file = true, init = true, ["train.epochs"] = true, ["train.cadence"] = true,
    device_products = true, ["train.block_tokens"] = true, -- absent by default: test_warp_products.lua, test_tune.lua
    ["train.keep_probabilities"] = true, -- see above
    ["model.source"] = true, ["model.options"] = true,
    ["model.encoder_layers"] = true, ["model.decoder_layers"] = true, -- of another kind of model: see below
    ["eval.by"] = true, ["eval.splits"] = true, ["eval.novel"] = true, ["eval.during.by"] = true,
    ["eval.during.splits"] = true, ["eval.order"] = true, ["eval.validation"] = true,
    ["eval.decoding"] = true, -- for decoders: test_eval_decoding.lua
    ["encoding.made_for"] = true } -- for encoder-decoders: test_inherit.lua
  for _, field in ipairs(schema.children.task) do
    seen[field.path] = true -- fields that choose a task: see below
  end
  for _, entry in ipairs(FIELDS) do
    seen[entry[1]] = true
  end
  for _, field in ipairs(schema.fields) do
    lu.assertTrue(seen[field.path] or field.type == "table", field.path .. " is not in FIELDS")
  end
  local function walk(value, path)
    if type(value) == "table" and not seen[path] then
      for name, inner in pairs(value) do
        walk(inner, path == "" and name or path .. "." .. name)
      end
    else
      lu.assertTrue(seen[path], path .. " is resolved and not in FIELDS")
    end
  end
  walk(everything(), "")
end

-- Layers of both stacks and a family's own facets are in both digests.
function TestDigests.test_an_encoder_decoder_is_in_the_model_digest_by_layers_and_families()
  local seen = {}
  for i, sets in ipairs({ {}, { ["model.encoder_layers"] = "2" }, { ["model.decoder_layers"] = "2" },
    { ["encoding.cross.rotation.kind"] = "rope" }, { ["encoding.encoder.rotation.kind"] = "rope" },
    { ["encoding.cross.mask"] = "{ kind = 'window', left = 2 }" } }) do
    sets["model.kind"] = "encoder_decoder"
    local plan = plans.make_plan(sets)
    for _, digest in ipairs({ plan.digest, plan.model_digest }) do
      lu.assertNil(seen[digest], i)
      seen[digest] = true
    end
  end
end

-- Lines are constants of attention: a model with lines can continue a checkpoint without them.
function TestDigests.test_lines_do_not_change_the_model()
  local plain, seen = plans.make_plan({ ["model.kind"] = "encoder_decoder" }), {}
  for i, sets in ipairs({ { ["encoding.cross.lines"] = "{ { head = 0, direction = -1, line = 0, value = 1 } }" },
    { ["encoding.cross.lines"] = "{ { head = 0, direction = -1, line = 1, value = 1 } }" },
    { ["encoding.decoder.lines"] = "{ { head = 1, direction = 1, line = 0, value = 0 } }" } }) do
    sets["model.kind"] = "encoder_decoder"
    local plan = plans.make_plan(sets)
    lu.assertNil(seen[plan.digest], i)
    seen[plan.digest] = true
    lu.assertEquals(plan.model_digest, plain.model_digest, i)
  end
end

-- A checkpoint of a plan's model, with these entries in its metadata and without this tensor, as a file of this name.
local function checkpoint(name, plan, metadata, without)
  local list = {}
  for _, tensor in ipairs(plan.tensors) do
    local values = {}
    for i = 1, tensor.elements or tensor.shape[1] * (tensor.shape[2] or 1) do
      values[i] = 0
    end
    list[#list + 1] = tensor.name ~= without and { name = tensor.name, shape = tensor.shape, values = values } or nil
  end
  metadata.model_digest = metadata.model_digest or plan.model_digest
  return support.write(name, (safetensors.make_file(list, metadata)))
end

local PARITY = "kind = 'parity_check'"
local MODEL = ", model = { kind = 'encoder', layers = 1, heads = 1, width = 16, feedforward = 16 }, "

-- Initial parameters of a run count by the bytes of their file, in any folder; the model's digest does not change.
function TestDigests.test_an_initial_checkpoint_is_in_the_digest_by_its_bytes()
  local plain = plans.of_task(PARITY, MODEL)
  checkpoint("one.safetensors", plain, { checksum = "00000000000000aa", id = "teacher" })
  checkpoint("deep/er/same.safetensors", plain, { checksum = "00000000000000aa" })
  checkpoint("other.safetensors", plain, { checksum = "00000000000000ab" })
  local one, expected = plans.of_task(PARITY, MODEL .. "init = 'one.safetensors'"),
    plans.of_task(PARITY, MODEL .. "init = 'deep/er/same.safetensors'")
  local other = plans.of_task(PARITY, MODEL .. "init = 'other.safetensors'")
  lu.assertEquals(plans.of_task(PARITY, MODEL .. "init = false").digest, plain.digest)
  lu.assertNotEquals(one.digest, plain.digest)
  lu.assertEquals(expected.digest, one.digest)
  lu.assertNotEquals(other.digest, one.digest)
  lu.assertEquals(one.model_digest, plain.model_digest)
  lu.assertStrContains(one.defaults.text, "one.safetensors\ntrain.init_checksum 00000000000000aa\n")
  lu.assertNotStrContains(plain.defaults.text, "train.init")
end

-- A checkpoint that does not fit is reported before a build.
function TestDigests.test_a_checkpoint_that_does_not_fit_is_reported()
  local plain, sum = plans.of_task(PARITY, MODEL), "00000000000000aa"
  checkpoint("less.safetensors", plain, { checksum = sum, id = "teacher" }, plain.tensors[2].name)
  checkpoint("mine.safetensors", plain, {})
  checkpoint("rope.safetensors", plain, { checksum = sum, model_digest = "0123456789abcdef" })
  local whole = support.read(checkpoint("whole.safetensors", plain, { checksum = sum }))
  support.write("torn.safetensors", whole:sub(1, #whole - 1))
  support.write("text.safetensors", "{}")
  for name, words in pairs({
    ["less.safetensors"] = plain.tensors[2].name .. " is missing (it is of teacher)",
    ["rope.safetensors"] = "its model digest is 0123456789abcdef",
  }) do
    local plan, problem = plans.of_task(PARITY, MODEL .. ("init = %q"):format(name))
    lu.assertNil(plan, name)
    lu.assertEquals(problem.field, "init")
    lu.assertStrContains(problem.what, words)
  end
  local wide = MODEL:gsub("width = 16", "width = 32")
  local _, problem = plans.of_task(PARITY, wide .. "init = 'whole.safetensors'")
  lu.assertStrContains(problem.what, "has shape [")
  for name, words in pairs({ ["mine.safetensors"] = "has no checksum",
    ["torn.safetensors"] = "are not those of its shape", ["text.safetensors"] = "no safetensors file, or cut short",
    ["."] = "is a directory, expected a file" }) do
    local _, _, d = support.check_text(("return { task = { %s } %s init = %q }"):format(PARITY, MODEL, name))
    lu.assertStrContains(d:text(), words)
    lu.assertStrContains(d:text(), "error: init: ")
  end
end

function TestDigests.test_evaluation_during_training_is_in_no_digest()
  local enabled_fields, disabled_fields = everything(), everything()
  disabled_fields.eval.during = nil
  lu.assertEquals(build(enabled_fields).digest, build(disabled_fields).digest)
end

-- A scaling of kind none is the default, whether given or not: plans from before scalings existed keep their digests.
function TestDigests.test_no_scaling_leaves_no_trace()
  local plain = resolve(small({ ["encoding.rotation.kind"] = "rope" }))
  local none = resolve(small({ ["encoding.rotation.kind"] = "rope",
    ["encoding.rotation.scaling"] = "{ kind = 'none' }" }))
  lu.assertEquals(plain.encoding.rotation, { kind = "rope", base = 10000.0 })
  lu.assertEquals(none.encoding, plain.encoding)
  lu.assertEquals(build(none).digest, build(plain).digest)
end

-- A checkpoint that was trained without a scaling fits a trainer that has one.
function TestDigests.test_a_scaling_accepts_checkpoints_trained_without_it()
  local enabled_fields, disabled_fields = everything(), everything()
  disabled_fields.encoding.rotation.scaling = nil
  lu.assertEquals(build(enabled_fields).model_digest, build(disabled_fields).model_digest)
  lu.assertNotEquals(build(enabled_fields).digest, build(disabled_fields).digest)
end

function TestDigests.test_the_vocabulary_is_the_model_s()
  local base = build(everything(), task(5, 5))
  for _, facts in ipairs({ task(4, 5), task(5, 4), task(5, 4, "n") }) do
    local plan = build(everything(), facts)
    lu.assertNotEquals(plan.model_digest, base.model_digest)
  end
  lu.assertEquals(build(everything(), task(5, 5, "2*n")).model_digest, base.model_digest)
end

function TestDigests.test_a_digest_is_short_and_repeats()
  local a, b = build(everything()), build(everything())
  lu.assertStrMatches(a.digest, "%x+")
  lu.assertEquals(#a.digest, 16)
  lu.assertEquals({ a.digest, a.model_digest }, { b.digest, b.model_digest })
  lu.assertNotEquals(a.digest, a.model_digest)
end

support.run()
