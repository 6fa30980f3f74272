-- The fields of a model: their effect on tensors, passes and code, and the tasks and readouts of each kind of model.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local handles = require("network.graph.handles")
local lists = require("base.lists")
local lu = require("luaunit")
local own_network = require("spec.reading.own_network")
local plans = require("plans")
local project_module = require("project")
local spec_writer = require("lab.study.read.spec_writer")
local write = require("base.write")

local project = project_module.new(".")

TestFields = {}

-- Returns the shapes of a small model's tensors, by name.
local function list_shapes(sets)
  local shapes = {}
  for _, tensor in ipairs(plans.make_plan(plans.make_small_sets(sets)).tensors) do
    shapes[tensor.name] = tensor.shape
  end
  return shapes
end

function TestFields.test_biases_have_tensors_where_the_model_has_them()
  local unbiased, default, full = list_shapes({ ["model.bias"] = "none" }), list_shapes(),
    list_shapes({ ["model.bias"] = "all" })
  for _, name in ipairs({ "attention.query", "attention.key", "attention.value", "attention.output" }) do
    lu.assertNil(default["layers.1." .. name .. ".bias"], name)
    lu.assertNotNil(full["layers.1." .. name .. ".bias"], name)
  end
  for _, name in ipairs({ "feedforward.up", "feedforward.down" }) do
    lu.assertNil(unbiased["layers.1." .. name .. ".bias"], name)
    lu.assertNotNil(default["layers.1." .. name .. ".bias"], name)
    lu.assertNotNil(full["layers.1." .. name .. ".bias"], name)
  end
  lu.assertEquals({ unbiased["output.bias"], default["output.bias"], full["output.bias"] }, { { 5 }, { 5 }, { 5 } })
end

function TestFields.test_norms_have_tensors_by_kind_and_place()
  local rms, pre = list_shapes({ ["model.norm.kind"] = "rms" }), list_shapes({ ["model.norm.place"] = "pre" })
  lu.assertEquals({ rms["layers.0.norm1.scale"], rms["layers.0.norm1.offset"], rms["norm.scale"] }, { { 16 } })
  lu.assertEquals({ pre["layers.0.norm1.scale"], pre["layers.0.norm1.offset"], pre["norm.scale"] },
    { { 16 }, { 16 }, { 16 } })
end

function TestFields.test_a_norm_follows_each_embedding()
  lu.assertEquals(list_shapes({ ["model.norm.embedding"] = "true" })["embedding_norm.scale"], { 16 })
  lu.assertNil(list_shapes({})["embedding_norm.scale"])
  local pair = assert(project:plan("abc_addition_vanilla", { "model.norm.embedding=true" })).plan
  local names = lists.to_set(lists.get_names(pair.tensors))
  lu.assertEquals({ names["source_embedding_norm.scale"], names["target_embedding_norm.scale"] }, { true, true })
end

-- Gated activations have two maps to the hidden width, gate and up.
function TestFields.test_gated_activations_have_two_maps()
  for _, kind in ipairs({ "swiglu", "geglu" }) do
    local tensors = list_shapes({ ["model.activation"] = kind })
    lu.assertEquals({ tensors["layers.0.feedforward.gate.weight"], tensors["layers.0.feedforward.up.weight"],
      tensors["layers.0.feedforward.down.weight"] }, { { 16, 32 }, { 16, 32 }, { 32, 16 } })
  end
  lu.assertNil(list_shapes({ ["model.activation"] = "gelu" })["layers.0.feedforward.gate.weight"])
end

-- A tied output has neither a weight nor a bias. The table of tokens has rows for inputs, outputs and separator.
function TestFields.test_a_tied_output_has_no_weight()
  local separate, tied = list_shapes({ ["model.kind"] = "decoder" }),
    list_shapes({ ["model.kind"] = "decoder", ["model.tied"] = "true" })
  lu.assertEquals({ separate["output.weight"], separate["output.bias"], separate["embed.token.weight"] },
    { { 16, 5 }, { 5 }, { 11, 16 } })
  lu.assertEquals({ tied["output.weight"], tied["output.bias"], tied["embed.token.weight"] },
    { nil, nil, { 11, 16 } })
end

-- The sequences of a decoder are as long as the sequences of an encoder.
function TestFields.test_a_decoder_has_as_many_tokens_as_an_encoder()
  local encoder, decoder = plans.make_plan({}), plans.make_plan({ ["model.kind"] = "decoder" })
  lu.assertEquals({ decoder.mean_tokens, decoder.longest_training, decoder.flops_per_step },
    { encoder.mean_tokens, encoder.longest_training, encoder.flops_per_step })
end

-- The specs of tests/specs/networks are planned, and the resolved spec in run.json gives the same plan. long_models.sh
-- checks their results.
function TestFields.test_the_resolved_spec_of_a_run_gives_the_same_plan()
  local paths_by_digest = {}
  for _, name in ipairs(write.list_names("tests/specs/networks")) do
    local path = "tests/specs/networks/" .. name
    local result, message = project:plan(path, {})
    lu.assertTrue(result ~= nil, message)
    local plan = result.plan
    lu.assertEquals(plan.decoder ~= false, path:find("decoder_") ~= nil or path:find("/abc_") ~= nil, path)
    lu.assertNil(paths_by_digest[plan.model_digest], path)
    paths_by_digest[plan.model_digest] = path
    if not plan.own_network then
      local text = assert(spec_writer.write_spec(plan.resolved))
      lu.assertEquals(project:plan(support.write("again.lua", text)).plan.digest, plan.digest, path)
    end
  end
end

-- Checks the shapes and initial values of all tensors of the model of Ito et al. 2024.
function TestFields.test_the_latin_square_encoder()
  local plan = assert(project:plan("lst_nope")).plan
  lu.assertEquals(plan.parameters, 1238724) -- embedding 960, four blocks of 309,280, head 644
  lu.assertEquals({ plan.longest_training, plan.classes, plan.train.batch }, { 16, 4, 128 })
  local count, uniform = 0, "LH_INIT_UNIFORM"
  local tensors = lists.index_by(plan.tensors, function(tensor) return tensor.name end)
  local function check(name, shape, init, value)
    local tensor = assert(tensors[name], name)
    lu.assertEquals({ tensor.shape, tensor.init }, { shape, init }, name)
    lu.assertAlmostEquals(tensor.value, value, 1e-12, name)
    count = count + 1
  end
  check("embed.token.weight", { 5, 160 }, uniform, 1 / math.sqrt(5))
  check("embed.token.bias", { 160 }, uniform, 1 / math.sqrt(5))
  for layer = 0, 3 do
    local function check_layer(name, ...)
      check(("layers.%d.%s"):format(layer, name), ...)
    end
    for _, projection in ipairs({ "query", "key", "value" }) do
      check_layer(("attention.%s.weight"):format(projection), { 160, 160 }, uniform, math.sqrt(6 / 640))
      check_layer(("attention.%s.bias"):format(projection), { 160 }, "LH_INIT_CONSTANT", 0)
    end
    check_layer("attention.output.weight", { 160, 160 }, uniform, 1 / math.sqrt(160))
    check_layer("attention.output.bias", { 160 }, "LH_INIT_CONSTANT", 0)
    check_layer("feedforward.up.weight", { 160, 640 }, uniform, 1 / math.sqrt(160))
    check_layer("feedforward.up.bias", { 640 }, uniform, 1 / math.sqrt(160))
    check_layer("feedforward.down.weight", { 640, 160 }, uniform, 1 / math.sqrt(640))
    check_layer("feedforward.down.bias", { 160 }, uniform, 1 / math.sqrt(640))
    for _, norm in ipairs({ "norm1", "norm2" }) do
      check_layer(norm .. ".scale", { 160 }, "LH_INIT_CONSTANT", 1)
      check_layer(norm .. ".offset", { 160 }, "LH_INIT_CONSTANT", 0)
    end
  end
  check("output.weight", { 160, 4 }, uniform, 1 / math.sqrt(160))
  check("output.bias", { 4 }, uniform, 1 / math.sqrt(160))
  lu.assertEquals(count, #plan.tensors)
end

-- The weight of a linear embedding has no row for blanks, and one for an encoder's empty token.
function TestFields.test_every_kind_of_model_may_have_a_linear_embedding()
  for kind, rows in pairs({ encoder = 6, decoder = 10, encoder_decoder = 10 }) do
    local plan = assert(project:plan("latin_square_learned", { "model.embedding=linear", "model.kind=" .. kind })).plan
    lu.assertEquals({ plan.tensors[1].name, plan.tensors[1].shape, plan.tensors[2].name, plan.tensors[2].shape },
      { "embed.token.weight", { rows, 160 }, "embed.token.bias", { 160 } }, kind)
    lu.assertTrue(project:render_files(plan) ~= nil, kind)
  end
end

-- A readout at a token of the input is refused with a reason if the task or the model does not allow it.
function TestFields.test_readouts_that_do_not_fit_the_model_are_refused()
  local function refuse(spec, expected, ...)
    local result, message = project:plan(spec, { ... })
    lu.assertTrue(result == nil, expected)
    lu.assertStrContains(message, expected)
  end
  refuse("bucket_sort_none", '"last" cannot be used with this task: bucket_sort has n outputs', "model.readout=last")
  refuse("even_pairs_none", '"in_place" cannot be used with this task: even_pairs has 1 outputs for n input tokens',
    "model.readout=in_place")
  refuse("latin_square_learned", "latin_square has 1 outputs for 16 input tokens", "model.readout=in_place")
  refuse("even_pairs_none", '"probe" cannot be used with this task: even_pairs declares no probe',
    "model.readout=probe")
  refuse("even_pairs_none", "computation tokens stand between the input", "model.readout=last", "task.computation=1")
  refuse("latin_square_learned", 'kind "encoder" has this field', "model.kind=decoder", "model.readout=last")
  refuse("latin_square_learned", "the output layer is tied to a linear embedding",
    "model.kind=decoder", "model.tied=true",
    "model.embedding=linear")
  local file = support.write("read_out.lua", [[return { model = { readout = "last" },
    task = { data = "train.tsv" } }]])
  support.write("train.tsv", "abc\tgood\nab\tbad\n")
  refuse(file, "data declares no probe", "model.readout=probe")
  refuse(file, "computation tokens stand between the input", "task.computation=1")
end

-- With the readout "in_place" each input token has a label. A sampler has as many outputs as inputs; an example of a
-- file has at most half of task.longest input tokens.
function TestFields.test_labels_in_place_add_no_tokens()
  local function render(spec, ...)
    local plan = assert(project:plan(spec, { ... })).plan
    local text = support.index_texts(assert(project:render_files(plan)))["spec.c"]
    return plan, text
  end
  local plan, text = render("bucket_sort_none", "model.readout=in_place")
  lu.assertEquals({ plan.tokens, plan.empty_token, plan.longest_training }, { 5, false, 40 })
  lu.assertStrContains(text, '{"source", input_length}')
  lu.assertNotStrContains(text, "count_outputs")
  local file = support.write("labels.lua",
    [[return { model = { readout = "in_place" }, task = { data = "tags.jsonl" } }]])
  support.write("tags.jsonl", '{"input":["a","b"],"target":[null,"x"]}\n')
  plan, text = render(file)
  lu.assertEquals({ plan.tokens, plan.classes, plan.longest_training }, { 2, 1, 256 })
  lu.assertStrContains(text, "static int count_outputs(int input) { return input; }")
end

-- In a file for classification, a sequence is the input alone, and the answer is one symbol. Generated code gives each
-- example one output.
function TestFields.test_files_for_classification_have_no_empty_tokens()
  local file = support.write("classes.lua", [[return { model = { readout = "last" }, task = { data = "train.tsv" } }]])
  support.write("train.tsv", "abc\tgood\nab\tbad\n")
  local plan = assert(project:plan(file)).plan
  lu.assertEquals({ plan.tokens, plan.classes, plan.empty_token, plan.longest_training }, { 3, 2, false, 511 })
  local text = support.index_texts(assert(project:render_files(plan)))["spec.c"]
  lu.assertStrContains(text, "shape->length[0] = input;\n    shape->labels = output;")
  lu.assertStrContains(text, "static int count_outputs(int input) { return 1; }")
end

-- Plans every task with a kind of model that has a decoder; calls try(spec, expected count of tokens, facts of the
-- task) for each.
local function try_every_task(kind, try)
  for _, facts in ipairs(assert(project:read_tasks()).list) do
    local base = facts.symbols and "abc_addition_vanilla" or facts.sets and "latin_square_learned" or "even_pairs_none"
    local spec, message = project:plan(base, { "task.kind=" .. facts.kind, "model.kind=" .. kind })
    lu.assertNotNil(spec, message)
    local shared = facts.start_symbol and (facts.input_symbol_count and facts.input_symbol_count.min
      or #facts.input_symbols)
    try(spec, shared or #facts.input_symbols + #facts.output_symbols + 1, facts)
  end
end

function TestFields.test_a_decoder_learns_every_task()
  try_every_task("decoder", function(spec, tokens, facts)
    lu.assertEquals(spec.plan.tokens, tokens, facts.kind)
    local chance = type(facts.chance) == "table" and 0.1 or facts.chance
    lu.assertEquals({ spec.plan.task.chance, spec.plan.task.baseline }, { chance, facts.baseline or false })
  end)
end

-- If a task masks labels, the loss of an encoder is over all labels, as published; the loss of other models is over the
-- counted labels. The table has the plan digests { of an encoder, of a decoder } with a loss over all labels; these
-- digests must not change.
function TestFields.test_masked_labels_are_only_in_the_loss_of_encoders()
  for kind, digests in pairs({ stack_manipulation = { "7476004b4767c365", "9716c8736cd76207" },
    binary_addition = { "e3fe2c25f3ebceba", "77fedf96144a2480" },
    binary_multiplication = { "a47e0389bd8c8850", "40f5535cd5c49b7e" } }) do
    local function plan_with(...)
      return assert(project:plan("bucket_sort_none", { "task.kind=" .. kind, ... })).plan
    end
    local encoder, decoder = plan_with(), plan_with("model.kind=decoder")
    lu.assertEquals({ encoder.task.loss, encoder.digest }, { "all", digests[1] }, kind)
    lu.assertEquals(decoder.task.loss, "counted", kind)
    lu.assertNotEquals(decoder.digest, digests[2], kind)
    lu.assertEquals(plan_with("model.kind=decoder", "task.loss=all").digest, digests[2], kind)
  end
  lu.assertEquals(assert(project:plan("examples/dataset/addition_sinusoid.lua")).plan.digest, "5a1e140926e9dad9")
  local result, message = project:plan("bucket_sort_none", { "task.loss=counted" })
  lu.assertNil(result)
  lu.assertStrContains(message, "bucket_sort masks no label")
end

function TestFields.test_an_encoder_decoder_learns_every_task()
  try_every_task("encoder_decoder", function(spec, tokens, facts)
    lu.assertEquals(spec.plan.tokens, tokens, facts.kind)
    lu.assertTrue(project:render_files(spec.plan) ~= nil, facts.kind)
  end)
end

-- With a gated activation, a feed-forward output has the maps gate, up and down, a norm and a square map. The weight of
-- an output layer without a bias has a row for each class.
function TestFields.test_a_feedforward_output_has_tensors_of_its_own()
  local linear, full = list_shapes(), list_shapes({ ["model.output"] = "feedforward", ["model.activation"] = "geglu" })
  local unbiased = list_shapes({ ["model.output"] = "feedforward", ["model.output_bias"] = "false",
    ["model.bias"] = "none", ["model.kind"] = "decoder", ["model.norm.place"] = "pre" })
  lu.assertNil(linear["final.down.weight"])
  lu.assertEquals({ full["final.gate.weight"], full["final.up.bias"], full["final.down.weight"] },
    { { 16, 32 }, { 32 }, { 32, 16 } })
  lu.assertEquals({ full["final_norm.scale"], full["final_map.weight"], full["final_map.bias"] },
    { { 16 }, { 16, 16 }, { 16 } })
  lu.assertEquals({ full["output.weight"], full["output.bias"] }, { { 16, 5 }, { 5 } })
  lu.assertEquals({ unbiased["final.up.weight"], unbiased["norm.scale"], unbiased["output.weight"] },
    { { 16, 32 }, { 16 }, { 5, 16 } })
  lu.assertEquals({ unbiased["final.up.bias"], unbiased["final_map.bias"], unbiased["output.bias"] }, {})
  local pair = assert(project:plan("abc_addition_vanilla", { "model.output=feedforward", "model.output_bias=false" }))
  local names = lists.to_set(lists.get_names(pair.plan.tensors))
  lu.assertEquals({ names["final.up.bias"], names["final_map.bias"], names["output.weight"] }, { true, nil, true })
end

-- An output layer has the same initial weights with and without a bias.
function TestFields.test_an_output_without_a_bias_starts_like_one_with_a_bias()
  for _, scheme in ipairs({ "haiku", "torch", "xavier" }) do
    local inits = {}
    for i, has_bias in ipairs({ "true", "false" }) do
      local tensors = plans.make_plan(plans.make_small_sets({ ["model.output_bias"] = has_bias,
        ["model.init"] = scheme })).tensors
      local output = lists.find(tensors, function(tensor) return tensor.name == "output.weight" end)
      inits[i] = { output.init, output.value }
    end
    lu.assertEquals(inits[1], inits[2], scheme)
  end
end

-- The model's parameters are a table of 13 tokens and a table of 2048 places; a layer with four square maps of
-- attention and the maps gate, up and down; norms of the embedding and of both branches; after the last pass the maps
-- gate, up and down, a norm and a square map; and an output layer of 13 classes.
function TestFields.test_the_looped_decoder()
  local plan = assert(project:plan("free_addition_looped", { "model.width=1024", "model.heads=16",
    "model.feedforward=1024" })).plan
  lu.assertEquals(plan.parameters, (13 + 2048) * 1024 + (4 + 2 + 1 + 2 + 1 + 1) * 1024 ^ 2 + 4 * 2 * 1024
    + 13 * 1024)
  lu.assertEquals({ plan.cpu.passes, plan.cpu.gradient_passes, plan.starts_from_noise }, { 16, 8, true })
end

-- The paper's model for addition has 15 tokens, which both streams share; token 12 begins a target.
function TestFields.test_addition_has_the_parameters_of_the_paper()
  local plan = assert(project:plan("abc_addition_vanilla", {})).plan
  lu.assertEquals(plan.parameters, 1591567)
  lu.assertEquals({ plan.tokens, plan.classes, plan.decoder.first_output, plan.decoder.separator }, { 15, 15, 0, 12 })
  lu.assertEquals(plan.task.input_count, 15)
  lu.assertEquals(assert(project:plan("abc_addition_vanilla", { "model.encoder_layers=1" })).plan.parameters, 1790095)
  lu.assertEquals(assert(project:plan("abc_addition_vanilla", { "encoding.kind=pair_table",
    "encoding.cross.parameters.columns=128", "encoding.cross.parameters.bias.shape=8192" })).plan.parameters,
    1591567 + 8 * (64 * 64 + 64 * 128))
  lu.assertEquals(assert(project:plan("abc_addition_vanilla", { "task.options.base=16" })).plan.tokens, 21)
  lu.assertEquals(assert(project:plan("abc_addition_vanilla", { "task.options.base=2" })).plan.tokens, 15)
  lu.assertEquals(assert(project:plan("abc_addition_vanilla", { "task.computation=1" })).plan.tokens, 16)
  local sets_by_digest = {}
  for _, set in ipairs({ "task.options.width=60", "task.options.input=aligned", "task.seed=1", "task.seed=0" }) do
    local changed_plan = assert(project:plan("abc_addition_vanilla", { set })).plan
    lu.assertNil(sets_by_digest[changed_plan.digest], set)
    sets_by_digest[changed_plan.digest] = set
  end
end

-- The branches of a decoder's layer share a buffer, like the branches of an encoder's layer.
function TestFields.test_branches_of_a_decoder_layer_share_a_buffer()
  local spec = assert(project:plan("tests/specs/parity_float64_encoder_decoder.lua", {}))
  local text = support.index_texts(assert(project:render_files(spec.plan)))["layers.inc"]
  lu.assertStrContains(text, "w->target_branch")
  lu.assertStrContains(text, "w->dtarget_branch")
  lu.assertNotStrContains(text, "branch_2")
  lu.assertNotStrContains(text, "target_dtarget")
end

-- Decoders have code for decoding, in decode.inc; encoders and models with dropout in evaluation have none.
function TestFields.test_decoders_have_code_for_decoding()
  local function render_decoding(id)
    local plan = assert(project:plan(id, {})).plan
    local files = assert(project:render_files(plan))
    local text = support.index_texts(files)["decode.inc"]
    lu.assertEquals(text ~= nil, plan.cpu.decoding ~= false, id)
    lu.assertEquals(lists.any(files, function(file)
      return not file.cuda and file.text:find("decode_%w") ~= nil
    end), text ~= nil, id)
    return text
  end
  lu.assertNil(render_decoding("tests/specs/parity_rope.lua"))
  lu.assertNil(render_decoding("tests/specs/emulated_encoder_decoder.lua"))
  lu.assertNotStrContains(render_decoding("tests/specs/parity_decoder_rope.lua"), "decode_begin")
  local file = render_decoding("tests/specs/parity_float64_encoder_decoder.lua")
  local prepare_body = file:match("decoder_layer_prepare%b()%s*(%b{})")
  lu.assertStrContains(prepare_body, "w->source.rows")
  lu.assertNotStrContains(prepare_body, "w->target")
  lu.assertNotStrContains(file:match("decoder_layer_decode%b()%s*(%b{})"), "w->source")
  lu.assertNotStrContains(file, "draw_masks")
end

function TestFields.test_an_encoder_decoder_has_tensors_for_every_family()
  local sizes = { ["model.kind"] = "encoder_decoder", ["model.encoder_layers"] = "1", ["model.decoder_layers"] = "6",
    ["model.width"] = "128", ["model.feedforward"] = "512", ["model.bias"] = "all" }
  local one_layer = plans.make_plan(sizes)
  sizes["model.encoder_layers"] = "0"
  local no_layers = plans.make_plan(sizes)
  lu.assertEquals(one_layer.parameters - no_layers.parameters, 198272 + 256)
  lu.assertEquals(no_layers.parameters, 6 * 264576 + 256 + no_layers.tokens * 128 + 129 * no_layers.classes)
  local names = lists.to_set(lists.get_names(one_layer.tensors))
  for _, name in ipairs({ "embed.token.weight", "encoder.layers.0.norm2.scale", "encoder.norm.offset",
    "decoder.layers.5.attention.query.bias", "decoder.layers.5.cross_attention.value.weight",
    "decoder.layers.5.norm3.scale", "decoder.norm.scale", "output.bias" }) do
    lu.assertTrue(names[name], name)
  end
end

-- In the formula of a family, x.layers is the family's number of layers. A facet of a family is not in the resolved
-- spec if it equals the facet of `encoding`.
function TestFields.test_facets_of_a_family_differ_if_the_spec_sets_them()
  local sizes = "model = { kind = 'encoder_decoder', encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16 }"
  local function make_plan(encoding)
    local spec, message = project:plan(support.write("families.lua",
      ("return { task = { kind = 'bucket_sort' }, encoding = { %s }, %s }"):format(encoding, sizes)))
    return assert(spec, message).plan
  end
  local plan = make_plan("kind = 'rope', cross = { rotation = { base = 10000 }, mask = { kind = 'full' } }")
  lu.assertNil(plan.resolved.encoding.cross)
  lu.assertEquals(plan.digest, make_plan("kind = 'rope'").digest)
  local separate = make_plan("kind = 'alibi_learned', mask = { kind = 'causal' }, cross = { mask = { kind = 'full' }, "
    .. "score = { kind = 'none' } }, encoder = { mask = { kind = 'causal' }, "
    .. "parameters = { slope = { per = 'layer_head' } } }")
  lu.assertEquals(separate.resolved.encoding.cross, { mask = { kind = "full" }, score = "none" })
  lu.assertEquals(separate.resolved.encoding.encoder.parameters.slope.per, "layer_head")
  lu.assertEquals({ separate.attentions[3].score.kind, separate.attentions[3].mask.kind,
    separate.attentions[2].mask.kind }, { "none", "none", "causal" })
  local layered_plan = make_plan("score = function(x) return x.score * x.layers * x.key_length end")
  lu.assertEquals(layered_plan.resolved.encoding.score, "x.score * x.query_length")
  lu.assertEquals(layered_plan.resolved.encoding.decoder, { score = "2 * x.score * x.query_length" })
  lu.assertEquals(layered_plan.attentions[3].score.formula, "2 * x.score * x.key_length")
end

function TestFields.test_every_field_has_code()
  for _, set in ipairs({ "model.kind=decoder", "model.norm.place=pre", "model.norm.kind=rms", "model.activation=gelu",
    "model.bias=all", "model.init=torch", "model.source=../../tests/golden/networks/plain.lua" }) do
    local spec = assert(project:plan("even_pairs_none", { set }))
    local files, message = project:render_files(spec.plan)
    lu.assertTrue(files and true or false, ("%s: %s"):format(set, message))
  end
end

TestDerived = {}

-- Every combination of the fields has members of a workspace and operations of the backward pass.
function TestDerived.test_every_model_has_both_passes()
  local digests = {}
  for _, kind in ipairs({ "encoder", "decoder" }) do
    for _, place in ipairs({ "post", "pre" }) do
      for _, norm in ipairs({ "layer", "rms" }) do
        for _, activation in ipairs({ "relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu" }) do
          local plan = plans.make_plan(plans.make_small_sets({ ["model.kind"] = kind, ["model.norm.place"] = place,
            ["model.norm.kind"] = norm, ["model.activation"] = activation,
            ["model.tied"] = kind == "decoder" and "true" or nil }))
          lu.assertNil(digests[plan.model_digest])
          digests[plan.model_digest] = true
          lu.assertTrue(#plan.cpu.members > 4)
          lu.assertTrue(#plan.cpu.blocks[1].backward > 8)
        end
      end
    end
  end
end

function TestDerived.test_kinds_of_arguments_are_documented()
  local used_kinds = {}
  for _, name in ipairs(canonical.sort_keys(handles.METHODS)) do
    for _, argument in ipairs(handles.METHODS[name]) do
      used_kinds[argument[2]] = true
    end
    for _, kind in pairs(handles.METHODS[name].options or {}) do
      used_kinds[kind] = true
    end
  end
  for kind in pairs(used_kinds) do
    lu.assertNotNil(handles.KINDS[kind], kind)
  end
  lu.assertStrContains(table.concat(own_network.NAMES, " "), "assert")
end

support.run()
