-- The digests of a plan and of its model, and the fields that change them. test_task_digests.lua tests tasks, datasets
-- and init.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local plans = require("plans")
local schema = require("spec.schema")

local build, resolve, resolve_everything = plans.build, plans.resolve, plans.resolve_everything
local make_small_sets, make_task = plans.make_small_sets, plans.make_task

TestDigests = {}

-- Settings of a spec with positions of digits, and of a spec with lines.
local DIGITS = { ["encoding.positions.kind"] = "digits", ["encoding.additive.kind"] = "learned" }
local LINES = { ["encoding.lines"] = "{ { head = 0, direction = 1, line = 0, value = 1 } }" }

-- For every field of a spec: { path, another value, whether the value changes the plan digest, whether it changes the
-- model digest, settings of the spec }; without settings, plans.resolve_everything makes the spec.
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
  { "model.norm.embedding", false, true, true, { ["model.norm.embedding"] = "true" } },
  { "model.norm.place", "post", true, true, { ["model.norm.place"] = "pre" } },
  { "model.activation", "silu", true, true, { ["model.activation"] = "gelu" } },
  { "model.bias", "none", true, true, { ["model.bias"] = "all" } },
  { "model.init", "xavier", true, false, { ["model.init"] = "torch" } },
  { "model.branch_activation", "silu", true, true, { ["model.branch_activation"] = "gelu" } },
  { "model.embedding", "table", true, true, { ["model.embedding"] = "linear" } },
  { "model.readout", "probe", true, true, { ["model.readout"] = "last", ["task.kind"] = "even_pairs" } },
  { "model.output", "linear", true, true, { ["model.output"] = "feedforward" } },
  { "model.output_bias", true, true, true, { ["model.output_bias"] = "false" } },
  { "model.tied", false, true, true, { ["model.kind"] = "decoder", ["model.tied"] = "true" } },
  { "encoding.rotation.kind", "none", true, true },
  { "encoding.rotation.base", 500.0, true, true },
  { "encoding.rotation.heads", 1, true, true, { ["encoding.rotation.kind"] = "rope",
    ["encoding.rotation.heads"] = "2", ["model.heads"] = "4" } },
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
  { "encoding.normaliser.own_key", true, true, true, { ["encoding.kind"] = "stick_breaking" } },
  { "encoding.normaliser.rest", "own_value", true, true, { ["encoding.kind"] = "stick_breaking" } },
  { "encoding.relative.kind", "transformer_xl", true, true },
  { "encoding.relative.clip", 5, true, true },
  { "encoding.relative.sides", "both", true, true, { ["encoding.mask.kind"] = "causal",
    ["encoding.relative"] = "{ kind = 'shaw', sides = 'left' }" } },
  { "encoding.relative.init_sigma", 1.0, true, false, { ["encoding.relative"] = "{ kind = 'shaw', init_sigma = 2 }" } },
  { "encoding.relative.rows", 5, true, true, { ["encoding.kind"] = "cope" } },
  { "encoding.relative.divided", false, true, true, { ["encoding.kind"] = "cope" } },
  { "encoding.positions.kind", "index", true, true },
  { "encoding.positions.period", 4, true, true, { ["encoding.positions"] = "{ kind = 'cyclic', period = 3 }",
    ["encoding.additive.kind"] = "sinusoid" } },
  { "encoding.positions.max_position", 500, true, false },
  { "encoding.positions.offset", 7, true, false, DIGITS },
  { "encoding.positions.elsewhere", "none", true, false,
    lists.merge(DIGITS, { ["encoding.positions.elsewhere"] = "index" }) },
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
  { "train.lengths.per", "batch", true, false, { ["train.lengths.per"] = "sequence" } },
  { "train.lengths.curriculum", { { until_step = 9, max = 20 } }, true, false,
    { ["train.lengths.curriculum"] = "{ { until_step = 9, max = 30 } }" } },
  { "train.loss_mean", "token", true, false, { ["train.loss_mean"] = "sequence" } },
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
  { "eval.places", false, false, false, { ["eval.places"] = "true" } },
  { "eval.dropout", false, true, false },
  { "eval.noise", "absolute", true, false, { ["eval.by"] = "{ noise = { list = { 0.5 } } }",
    ["eval.noise"] = "relative" } },
  { "eval.during.every", 6, false, false },
  { "eval.during.lengths", { first = 3, last = 4, step = 1 }, false, false },
  { "eval.during.examples", 5, false, false },
}

-- Returns the table of a resolved spec that contains the field `path`, and the name of the field in this table.
local function find_parent(resolved, path)
  local parent = resolved
  for name in path:gmatch("([^%.]+)%.") do
    parent = parent[name]
  end
  return parent, path:match("[^%.]+$")
end

function TestDigests.test_each_field_changes_what_it_should()
  local full_plan = build(resolve_everything())
  for _, entry in ipairs(FIELDS) do
    local path, value, changes_plan, changes_model, settings = table.unpack(entry)
    local resolved = settings and resolve(make_small_sets(settings)) or resolve_everything()
    local base = settings and build(resolve(make_small_sets(settings))) or full_plan
    local parent, name = find_parent(resolved, path)
    lu.assertNotNil(parent[name], path)
    lu.assertNotEquals(parent[name], value, path)
    parent[name] = value
    local plan = build(resolved)
    lu.assertEquals(plan.digest ~= base.digest, changes_plan, path .. ": plan digest changes")
    lu.assertEquals(plan.model_digest ~= base.model_digest, changes_model, path .. ": model digest changes")
  end
end

-- The number of steps is part of the plan if the learning rate decreases, but not if it only warms up.
function TestDigests.test_steps_are_in_the_digest_if_the_schedule_depends_on_them()
  local function compute_digests(sets)
    local short_sets, long_sets = make_small_sets(sets), make_small_sets(sets)
    short_sets["train.steps"], long_sets["train.steps"] = "500", "1000"
    return build(resolve(short_sets)).digest, build(resolve(long_sets)).digest
  end
  for _, kind in ipairs({ "linear", "cosine" }) do
    local short, long = compute_digests({ ["train.schedule.kind"] = kind })
    lu.assertNotEquals(short, long)
  end
  local short, long = compute_digests({ ["train.schedule.warmup"] = "5" })
  lu.assertEquals(short, long)
  local base = compute_digests()
  lu.assertNotEquals(short, base)
  lu.assertEquals({ compute_digests({ ["train.schedule"] = "{ kind = 'constant', warmup = 0 }" }) }, { base, base })
  local function compute_digest_of_epochs(epochs)
    return (plans.plan_task("data = 'a.jsonl', input_symbols = 3, output_symbols = 2",
      (", train = { epochs = %d, schedule = { kind = 'linear' } }"):format(epochs))).digest
  end
  lu.assertNotEquals(compute_digest_of_epochs(4), compute_digest_of_epochs(5))
end

-- The defaults of a network are not part of the resolved spec, even if a spec writes them, so new fields with defaults
-- do not change the digests of existing specs.
function TestDigests.test_defaults_of_a_network_are_not_in_the_digest()
  local plain = resolve(make_small_sets())
  local written = resolve(make_small_sets({ ["model.norm"] = "{ kind = 'layer', place = 'post' }",
    ["model.bias"] = "feedforward",
    ["model.activation"] = "relu", ["model.init"] = "haiku" }))
  lu.assertEquals(written, plain)
  lu.assertEquals(plain.model, { kind = "encoder", layers = 2, heads = 2, width = 16, feedforward = 32, dropout = 0.1 })
  lu.assertNil(build(plain).network_identity)
  lu.assertEquals({ build(plain).digest, build(plain).model_digest }, { "f89ad3f59cb267e9", "61999b425ef9028a" })
end

-- The model digest covers the operations, their order and their inputs, but neither dropout nor initial values.
function TestDigests.test_a_network_is_in_the_model_digest_by_its_operations()
  local function compute_model_digest(sets)
    return build(resolve(make_small_sets(sets))).model_digest
  end
  local sets_by_digest = { [compute_model_digest({})] = "plain" }
  for _, sets in ipairs({
    { ["model.activation"] = "gelu" }, { ["model.activation"] = "gelu_tanh" }, { ["model.activation"] = "silu" },
    { ["model.activation"] = "swiglu" }, { ["model.activation"] = "geglu" }, { ["model.norm.place"] = "pre" },
    { ["model.norm.kind"] = "rms" }, { ["model.norm.kind"] = "rms", ["model.norm.place"] = "pre" },
    { ["model.kind"] = "decoder" }, { ["model.kind"] = "decoder", ["model.tied"] = "true" },
    { ["model.loops"] = "{ times = 2 }" }, { ["model.loops"] = "{ times = 3 }" },
    { ["model.loops"] = "{ times = 2, inject = true }" },
    { ["model.loops"] = "{ times = 2, inject = true, start = 'zeros' }" },
    { ["model.loops"] = "{ times = 2, inject = true, start = 'noise' }" },
    { ["model.loops"] = "{ times = 2, inject = true, start = 'noise', deviation = 1 }" },
    { ["model.norm.place"] = "pre", ["model.loops"] = "{ times = 2, norm = 'inside' }" },
  }) do
    local digest = compute_model_digest(sets)
    lu.assertNil(sets_by_digest[digest])
    sets_by_digest[digest] = next(sets)
    sets["model.dropout"], sets["model.init"] = "0", "torch"
    lu.assertEquals(compute_model_digest(sets), digest)
  end
  lu.assertEquals( -- `progressive` does not change the model digest
    sets_by_digest[compute_model_digest({ ["model.loops"] = "{ times = 2, progressive = true }" })], "model.loops")
end

-- If the backward pass recomputes attention weights, gradients of vectors of distances are summed in another order.
function TestDigests.test_keep_probabilities_is_in_the_digest_where_it_changes_bits()
  local function compute_digests(encoding, train)
    local plan = plans.plan_task("kind = 'bucket_sort'",
      (", encoding = { kind = '%s' }, train = { %s }"):format(encoding, train))
    return { plan.digest, plan.model_digest }
  end
  for _, encoding in ipairs({ "relative", "rope", "alibi_learned" }) do
    local default = compute_digests(encoding, "")
    lu.assertEquals(compute_digests(encoding, "keep_probabilities = true"), default)
    local digests = compute_digests(encoding, "keep_probabilities = false")
    lu.assertEquals(digests[1] ~= default[1], encoding == "relative", encoding)
    lu.assertEquals(digests[2], default[2])
  end
  local long = "lengths = { 1, 400 }"
  local keeping = long .. ", keep_probabilities = true"
  lu.assertNotEquals(compute_digests("relative", long), compute_digests("relative", keeping))
  lu.assertEquals(compute_digests("rope", long), compute_digests("rope", keeping))
end

function TestDigests.test_every_field_is_in_FIELDS_or_tested_elsewhere()
  local tested = { id = true, file = true, init = true, ["train.epochs"] = true, ["train.cadence"] = true,
    device_products = true, ["train.block_tokens"] = true, -- absent by default: test_warp_products.lua, test_tuned.lua
    ["train.keep_probabilities"] = true, -- test_keep_probabilities_is_in_the_digest_where_it_changes_bits
    ["model.source"] = true, ["model.options"] = true,
    -- test_an_encoder_decoder_is_in_the_model_digest_by_layers_and_families
    ["model.encoder_layers"] = true, ["model.decoder_layers"] = true,
    ["eval.by"] = true, ["eval.splits"] = true, ["eval.novel"] = true, ["eval.during.by"] = true,
    ["eval.during.splits"] = true, ["eval.order"] = true, ["eval.validation"] = true,
    ["train.checkpoint.best.metric"] = true, ["train.checkpoint.best.tie"] = true, -- test_best.lua
    ["train.patience"] = true, -- test_best.lua
    ["eval.decoding"] = true, -- for decoders: test_eval_decoding.lua
    -- absent by default: test_a_network_is_in_the_model_digest_by_its_operations
    ["model.loops.times"] = true, ["model.loops.inject"] = true, ["model.loops.start"] = true,
    ["model.loops.norm"] = true, ["model.loops.progressive"] = true, ["model.loops.deviation"] = true,
    ["model.loops.loss"] = true,
    ["model.loops.max_times"] = true, -- for tasks with axes: test_models.lua
    ["model.cell"] = true, ["model.cells"] = true, -- test_recurrent.lua
    ["encoding.layers"] = true, -- test_encodings_by_layer_are_in_the_model_digest
    ["encoding.made_for"] = true } -- for encoder-decoders: test_inherit.lua
  for _, field in ipairs(schema.children.task) do
    tested[field.path] = true -- fields that choose a task: test_task_digests.lua
  end
  for _, entry in ipairs(FIELDS) do
    tested[entry[1]] = true
  end
  for _, field in ipairs(schema.fields) do
    lu.assertTrue(tested[field.path] or field.numbered or field.type == "table", field.path .. " is not in FIELDS")
  end
  local function check_fields(value, path)
    if type(value) == "table" and not tested[path] then
      for name, inner in pairs(value) do
        check_fields(inner, path == "" and name or path .. "." .. name)
      end
    else
      lu.assertTrue(tested[path], path .. " is resolved and not in FIELDS")
    end
  end
  check_fields(resolve_everything(), "")
end

-- Both digests cover the layers of the encoder, the layers of the decoder, and the facets of each family.
function TestDigests.test_an_encoder_decoder_is_in_the_model_digest_by_layers_and_families()
  local digests = {}
  for i, sets in ipairs({ {}, { ["model.encoder_layers"] = "2" }, { ["model.decoder_layers"] = "2" },
    { ["encoding.cross.rotation.kind"] = "rope" }, { ["encoding.encoder.rotation.kind"] = "rope" },
    { ["encoding.cross.mask"] = "{ kind = 'window', left = 2 }" } }) do
    sets["model.kind"] = "encoder_decoder"
    local plan = plans.make_plan(sets)
    for _, digest in ipairs({ plan.digest, plan.model_digest }) do
      lu.assertNil(digests[digest], i)
      digests[digest] = true
    end
  end
end

-- Both digests cover the encodings by layer, their order and how many layers each has, even if no tensor differs.
function TestDigests.test_encodings_by_layer_are_in_the_model_digest()
  local digests = {}
  for i, layers in ipairs({ "{ 'rope', 'none' }", "{ 'none', 'rope' }", "{ { use = 'rope', times = 3 }, 'none' }",
    "{ 'rope', { use = 'none', times = 3 } }", "{ 'rope', 'alibi' }" }) do
    local plan = plans.make_plan({ ["model.layers"] = "4", ["encoding.layers"] = layers })
    for _, digest in ipairs({ plan.digest, plan.model_digest }) do
      lu.assertNil(digests[digest], i)
      digests[digest] = true
    end
  end
end

-- Lines are constants of attention, so a model with lines can continue from a checkpoint of a model without lines.
function TestDigests.test_lines_do_not_change_the_model()
  local plain, digests = plans.make_plan({ ["model.kind"] = "encoder_decoder" }), {}
  for i, sets in ipairs({ { ["encoding.cross.lines"] = "{ { head = 0, direction = -1, line = 0, value = 1 } }" },
    { ["encoding.cross.lines"] = "{ { head = 0, direction = -1, line = 1, value = 1 } }" },
    { ["encoding.decoder.lines"] = "{ { head = 1, direction = 1, line = 0, value = 0 } }" } }) do
    sets["model.kind"] = "encoder_decoder"
    local plan = plans.make_plan(sets)
    lu.assertNil(digests[plan.digest], i)
    digests[plan.digest] = true
    lu.assertEquals(plan.model_digest, plain.model_digest, i)
  end
end

function TestDigests.test_evaluation_during_training_is_in_no_digest()
  local with_evaluation, without_evaluation = resolve_everything(), resolve_everything()
  without_evaluation.eval.during = nil
  lu.assertEquals(build(with_evaluation).digest, build(without_evaluation).digest)
end

-- A scaling of kind none is not part of the resolved spec.
function TestDigests.test_a_scaling_of_kind_none_is_not_in_the_digest()
  local plain = resolve(make_small_sets({ ["encoding.rotation.kind"] = "rope" }))
  local unscaled = resolve(make_small_sets({ ["encoding.rotation.kind"] = "rope",
    ["encoding.rotation.scaling"] = "{ kind = 'none' }" }))
  lu.assertEquals(plain.encoding.rotation, { kind = "rope", base = 10000.0 })
  lu.assertEquals(unscaled.encoding, plain.encoding)
  lu.assertEquals(build(unscaled).digest, build(plain).digest)
end

-- A checkpoint that was trained without a scaling fits a trainer that has one.
function TestDigests.test_a_scaling_accepts_checkpoints_trained_without_it()
  local with_scaling, without_scaling = resolve_everything(), resolve_everything()
  without_scaling.encoding.rotation.scaling = nil
  lu.assertEquals(build(with_scaling).model_digest, build(without_scaling).model_digest)
  lu.assertNotEquals(build(with_scaling).digest, build(without_scaling).digest)
end

function TestDigests.test_the_vocabulary_is_in_the_model_digest()
  local base = build(resolve_everything(), make_task(5, 5))
  for _, facts in ipairs({ make_task(4, 5), make_task(5, 4), make_task(5, 4, "n") }) do
    local plan = build(resolve_everything(), facts)
    lu.assertNotEquals(plan.model_digest, base.model_digest)
  end
  lu.assertEquals(build(resolve_everything(), make_task(5, 5, "2*n")).model_digest, base.model_digest)
end

function TestDigests.test_a_digest_is_short_and_repeats()
  local a, b = build(resolve_everything()), build(resolve_everything())
  lu.assertStrMatches(a.digest, "%x+")
  lu.assertEquals(#a.digest, 16)
  lu.assertEquals({ a.digest, a.model_digest }, { b.digest, b.model_digest })
  lu.assertNotEquals(a.digest, a.model_digest)
end

support.run()
