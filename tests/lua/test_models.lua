-- The fields of a model: its tensors, passes, tasks and readouts.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local handles = require("network.graph.handles")
local lfs = require("lfs")
local lu = require("luaunit")
local own_network = require("spec.reading.own_network")
local plans = require("plans")
local project_module = require("project")
local respec = require("lab.study.read.respec")

local project = project_module.new(".")

TestFields = {}

local function list_tensors(sets)
  local names = {}
  for _, t in ipairs(plans.make_plan(plans.make_small_sets(sets)).tensors) do
    names[t.name] = t.shape
  end
  return names
end

function TestFields.test_biases_have_tensors_where_the_model_has_them()
  local none, some, all = list_tensors({ ["model.bias"] = "none" }), list_tensors(),
    list_tensors({ ["model.bias"] = "all" })
  for _, name in ipairs({ "attention.query", "attention.key", "attention.value", "attention.output" }) do
    lu.assertNil(some["layers.1." .. name .. ".bias"], name)
    lu.assertNotNil(all["layers.1." .. name .. ".bias"], name)
  end
  for _, name in ipairs({ "feedforward.up", "feedforward.down" }) do
    lu.assertNil(none["layers.1." .. name .. ".bias"], name)
    lu.assertNotNil(some["layers.1." .. name .. ".bias"], name)
    lu.assertNotNil(all["layers.1." .. name .. ".bias"], name)
  end
  lu.assertEquals({ none["output.bias"], some["output.bias"], all["output.bias"] }, { { 5 }, { 5 }, { 5 } })
end

function TestFields.test_norms_have_tensors_by_kind_and_place()
  local rms, pre = list_tensors({ ["model.norm.kind"] = "rms" }), list_tensors({ ["model.norm.place"] = "pre" })
  lu.assertEquals({ rms["layers.0.norm1.scale"], rms["layers.0.norm1.offset"], rms["norm.scale"] }, { { 16 } })
  lu.assertEquals({ pre["layers.0.norm1.scale"], pre["layers.0.norm1.offset"], pre["norm.scale"] },
    { { 16 }, { 16 }, { 16 } })
end

function TestFields.test_gates_have_two_halves()
  for _, kind in ipairs({ "swiglu", "geglu" }) do
    local tensors = list_tensors({ ["model.activation"] = kind })
    lu.assertEquals({ tensors["layers.0.feedforward.gate.weight"], tensors["layers.0.feedforward.up.weight"],
      tensors["layers.0.feedforward.down.weight"] }, { { 16, 32 }, { 16, 32 }, { 32, 16 } })
  end
  lu.assertNil(list_tensors({ ["model.activation"] = "gelu" })["layers.0.feedforward.gate.weight"])
end

-- With a tied output there is neither weight nor bias; the table has rows for input, output and separator.
function TestFields.test_a_tied_output_has_no_weight()
  local separate, tied = list_tensors({ ["model.kind"] = "decoder" }),
    list_tensors({ ["model.kind"] = "decoder", ["model.tied"] = "true" })
  lu.assertEquals({ separate["output.weight"], separate["output.bias"], separate["embed.token.weight"] },
    { { 16, 5 }, { 5 }, { 11, 16 } })
  lu.assertEquals({ tied["output.weight"], tied["output.bias"], tied["embed.token.weight"] },
    { nil, nil, { 11, 16 } })
end

-- A decoder's sequences have the length of an encoder's.
function TestFields.test_a_decoder_has_as_many_tokens_as_an_encoder()
  local encoder, decoder = plans.make_plan({}), plans.make_plan({ ["model.kind"] = "decoder" })
  lu.assertEquals({ decoder.mean_tokens, decoder.longest_training, decoder.flops_per_step },
    { encoder.mean_tokens, encoder.longest_training, encoder.flops_per_step })
end

local function specs()
  local list = {}
  for name in lfs.dir("tests/specs/networks") do
    list[#list + 1] = name:find("%.lua$") and "tests/specs/networks/" .. name or nil
  end
  table.sort(list)
  return list
end

-- The specs of tests/specs/networks are planned, and the resolved spec of a run gives the same plan. long_models.sh
-- checks their results.
function TestFields.test_a_run_s_spec_gives_the_plan_of_its_spec()
  local seen = {}
  for _, path in ipairs(specs()) do
    local result, message = project:plan(path, {})
    lu.assertTrue(result ~= nil, message)
    local plan = result.plan
    lu.assertEquals(plan.decoder ~= false, path:find("decoder_") ~= nil or path:find("/abc_") ~= nil, path)
    lu.assertNil(seen[plan.model_digest], path)
    seen[plan.model_digest] = path
    if not plan.own_network then
      local text = assert(respec.write_spec(plan.resolved))
      lu.assertEquals(project:plan(support.write("again.lua", text)).plan.digest, plan.digest, path)
    end
  end
end

-- The parameters and initial values of the model of Ito et al. 2024; it has no others.
function TestFields.test_the_latin_square_encoder()
  local plan = assert(project:plan("lst_nope")).plan
  lu.assertEquals(plan.parameters, 1238724) -- embedding 960, four blocks of 309,280, head 644
  lu.assertEquals({ plan.longest_training, plan.classes, plan.train.batch }, { 16, 4, 128 })
  local count, uniform = 0, "LH_INIT_UNIFORM"
  local function check(name, shape, init, value)
    for _, t in ipairs(plan.tensors) do
      if t.name == name then
        lu.assertEquals({ t.shape, t.init }, { shape, init }, name)
        lu.assertAlmostEquals(t.value, value, 1e-12, name)
        count = count + 1
        return
      end
    end
    lu.fail("there is no " .. name)
  end
  check("embed.token.weight", { 5, 160 }, uniform, 1 / math.sqrt(5))
  check("embed.token.bias", { 160 }, uniform, 1 / math.sqrt(5))
  for layer = 0, 3 do
    local function inside(name, ...)
      check(("layers.%d.%s"):format(layer, name), ...)
    end
    for _, which in ipairs({ "query", "key", "value" }) do
      inside(("attention.%s.weight"):format(which), { 160, 160 }, uniform, math.sqrt(6 / 640))
      inside(("attention.%s.bias"):format(which), { 160 }, "LH_INIT_CONSTANT", 0)
    end
    inside("attention.output.weight", { 160, 160 }, uniform, 1 / math.sqrt(160))
    inside("attention.output.bias", { 160 }, "LH_INIT_CONSTANT", 0)
    inside("feedforward.up.weight", { 160, 640 }, uniform, 1 / math.sqrt(160))
    inside("feedforward.up.bias", { 640 }, uniform, 1 / math.sqrt(160))
    inside("feedforward.down.weight", { 640, 160 }, uniform, 1 / math.sqrt(640))
    inside("feedforward.down.bias", { 160 }, uniform, 1 / math.sqrt(640))
    for _, norm in ipairs({ "norm1", "norm2" }) do
      inside(norm .. ".scale", { 160 }, "LH_INIT_CONSTANT", 1)
      inside(norm .. ".offset", { 160 }, "LH_INIT_CONSTANT", 0)
    end
  end
  check("output.weight", { 160, 4 }, uniform, 1 / math.sqrt(160))
  check("output.bias", { 4 }, uniform, 1 / math.sqrt(160))
  lu.assertEquals(count, #plan.tensors)
end

-- Blanks have no row; an encoder's empty token has one.
function TestFields.test_every_kind_of_model_may_have_a_linear_embedding()
  for kind, rows in pairs({ encoder = 6, decoder = 10, encoder_decoder = 10 }) do
    local plan = assert(project:plan("latin_square_learned", { "model.embedding=linear", "model.kind=" .. kind })).plan
    lu.assertEquals({ plan.tensors[1].name, plan.tensors[1].shape, plan.tensors[2].name, plan.tensors[2].shape },
      { "embed.token.weight", { rows, 160 }, "embed.token.bias", { 160 } }, kind)
    lu.assertTrue(project:render_files(plan) ~= nil, kind)
  end
end

-- Messages on the reasons why a token of the input cannot answer.
function TestFields.test_readouts_that_do_not_fit_the_model_are_refused()
  local function refuse(spec, expected, ...)
    local result, message = project:plan(spec, { ... })
    lu.assertTrue(result == nil, expected)
    lu.assertStrContains(message, expected)
  end
  refuse("bucket_sort_none", '"last" cannot be used with this task: bucket_sort has n outputs', "model.readout=last")
  refuse("even_pairs_none", '"probe" cannot be used with this task: even_pairs declares no probe',
    "model.readout=probe")
  refuse("even_pairs_none", "computation tokens stand behind the input", "model.readout=last", "task.computation=1")
  refuse("latin_square_learned", 'kind "encoder" has it', "model.kind=decoder", "model.readout=last")
  refuse("latin_square_learned", "logits by the rows of a linear embedding", "model.kind=decoder", "model.tied=true",
    "model.embedding=linear")
  local file = support.write("read_out.lua", [[return { model = { readout = "last" },
    task = { data = "train.jsonl", input_symbols = 3, output_symbols = 2 } }]])
  support.write("train.jsonl", '{"input":[0],"target":[1]}\n')
  refuse(file, "examples of files have any number of outputs")
end

-- The small spec of a task, and the tokens of its decoder.
local function try_every_task(kind, try)
  for _, facts in ipairs(assert(project:read_tasks()).list) do
    local base = facts.symbols and "abc_addition_vanilla" or facts.sets and "latin_square_learned" or "even_pairs_none"
    local spec, message = project:plan(base, { "task.kind=" .. facts.kind, "model.kind=" .. kind })
    lu.assertNotNil(spec, message)
    try(spec, facts.start_symbol and 15 or #facts.input_symbols + #facts.output_symbols + 1, facts)
  end
end

-- A decoder can learn every task.
function TestFields.test_a_decoder_learns_every_task()
  try_every_task("decoder", function(spec, tokens, facts)
    lu.assertEquals(spec.plan.tokens, tokens, facts.kind)
    local chance = type(facts.chance) == "table" and 0.1 or facts.chance
    lu.assertEquals({ spec.plan.task.chance, spec.plan.task.baseline }, { chance, facts.baseline })
  end)
end

-- With an encoder, tasks that mask have the published loss over all labels, and the digests from before the choice
-- existed. With other models the loss is over the counted labels.
function TestFields.test_masked_labels_are_only_in_the_loss_of_encoders()
  for kind, before in pairs({ stack_manipulation = { "7476004b4767c365", "9716c8736cd76207" },
    binary_addition = { "e3fe2c25f3ebceba", "77fedf96144a2480" },
    binary_multiplication = { "a47e0389bd8c8850", "40f5535cd5c49b7e" } }) do
    local function plan_with(...)
      return assert(project:plan("bucket_sort_none", { "task.kind=" .. kind, ... })).plan
    end
    local encoder, decoder = plan_with(), plan_with("model.kind=decoder")
    lu.assertEquals({ encoder.task.loss, encoder.digest }, { "all", before[1] }, kind)
    lu.assertEquals(decoder.task.loss, "counted", kind)
    lu.assertNotEquals(decoder.digest, before[2], kind)
    lu.assertEquals(plan_with("model.kind=decoder", "task.loss=all").digest, before[2], kind)
  end
  lu.assertEquals(assert(project:plan("examples/dataset/addition_sinusoid.lua")).plan.digest, "5a1e140926e9dad9")
  local result, message = project:plan("bucket_sort_none", { "task.loss=counted" })
  lu.assertNil(result)
  lu.assertStrContains(message, "bucket_sort masks no label")
end

-- An encoder-decoder can learn every task, too.
function TestFields.test_an_encoder_decoder_learns_every_task()
  try_every_task("encoder_decoder", function(spec, tokens, facts)
    lu.assertEquals(spec.plan.tokens, tokens, facts.kind)
    lu.assertTrue(project:render_files(spec.plan) ~= nil, facts.kind)
  end)
end

-- The paper's model on its addition: 15 tokens that both streams share, one of which begins a target.
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
  local seen = {}
  for _, set in ipairs({ "task.options.width=60", "task.options.input=aligned", "task.seed=1", "task.seed=0" }) do
    local other = assert(project:plan("abc_addition_vanilla", { set })).plan
    lu.assertNil(seen[other.digest], set)
    seen[other.digest] = set
  end
end

-- The branches of a decoder's layer share a buffer, as those of an encoder's do.
function TestFields.test_branches_of_a_decoder_layer_share_a_buffer()
  local spec = assert(project:plan("tests/specs/parity_float64_encoder_decoder.lua", {}))
  for _, file in ipairs(assert(project:render_files(spec.plan))) do
    if file.path == "layers.inc" then
      lu.assertStrContains(file.text, "w->target_branch")
      lu.assertStrContains(file.text, "w->dtarget_branch")
      lu.assertNotStrContains(file.text, "branch_2")
      lu.assertNotStrContains(file.text, "target_dtarget")
      return
    end
  end
  lu.fail("there is no layers.inc")
end

-- Parts of a program for decoding; an encoder has none, nor has a model with dropout in evaluation.
function TestFields.test_decoders_have_code_for_decoding()
  local function can_decode(id)
    local plan = assert(project:plan(id, {})).plan
    local words, file = {}, nil
    for _, f in ipairs(assert(project:render_files(plan))) do
      file = f.path == "decode.inc" and f.text or file
      for word in f.text:gmatch("decode_%w+") do
        words[word] = not f.cuda or nil
      end
    end
    lu.assertEquals(file ~= nil, plan.cpu.decoding ~= false, id)
    lu.assertEquals(next(words) ~= nil, file ~= nil, id)
    return file
  end
  lu.assertNil(can_decode("tests/specs/parity_rope.lua"))
  lu.assertNil(can_decode("tests/specs/emulated_encoder_decoder.lua"))
  lu.assertNotStrContains(can_decode("tests/specs/parity_decoder_rope.lua"), "decode_begin")
  local file = can_decode("tests/specs/parity_float64_encoder_decoder.lua")
  local ahead = file:match("decoder_layer_prepare%b()%s*(%b{})")
  lu.assertStrContains(ahead, "w->source.rows")
  lu.assertNotStrContains(ahead, "w->target")
  lu.assertNotStrContains(file:match("decoder_layer_decode%b()%s*(%b{})"), "w->source")
  lu.assertNotStrContains(file, "draw_masks")
end

function TestFields.test_an_encoder_decoder_has_tensors_for_every_family()
  local sizes = { ["model.kind"] = "encoder_decoder", ["model.encoder_layers"] = "1", ["model.decoder_layers"] = "6",
    ["model.width"] = "128", ["model.feedforward"] = "512", ["model.bias"] = "all" }
  local one = plans.make_plan(sizes)
  sizes["model.encoder_layers"] = "0"
  local none = plans.make_plan(sizes)
  lu.assertEquals(one.parameters - none.parameters, 198272 + 256)
  lu.assertEquals(none.parameters, 6 * 264576 + 256 + none.tokens * 128 + 129 * none.classes)
  local names = {}
  for _, t in ipairs(one.tensors) do
    names[t.name] = true
  end
  for _, name in ipairs({ "embed.token.weight", "encoder.layers.0.norm2.scale", "encoder.norm.offset",
    "decoder.layers.5.attention.query.bias", "decoder.layers.5.cross_attention.value.weight",
    "decoder.layers.5.norm3.scale", "decoder.norm.scale", "output.bias" }) do
    lu.assertTrue(names[name], name)
  end
end

-- A family's formula has its own number of layers; facets that do not differ are not in the resolved spec.
function TestFields.test_facets_of_a_family_differ_where_the_spec_says_so()
  local sizes = "model = { kind = 'encoder_decoder', encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16 }"
  local function with(encoding)
    local spec, message = project:plan(support.write("families.lua",
      ("return { task = { kind = 'bucket_sort' }, encoding = { %s }, %s }"):format(encoding, sizes)))
    return assert(spec, message).plan
  end
  local same = with("kind = 'rope', cross = { rotation = { base = 10000 }, mask = { kind = 'full' } }")
  lu.assertNil(same.resolved.encoding.cross)
  lu.assertEquals(same.digest, with("kind = 'rope'").digest)
  local separate = with("kind = 'alibi_learned', mask = { kind = 'causal' }, cross = { mask = { kind = 'full' }, "
    .. "score = { kind = 'none' } }, encoder = { mask = { kind = 'causal' }, "
    .. "parameters = { slope = { per = 'layer_head' } } }")
  lu.assertEquals(separate.resolved.encoding.cross, { mask = { kind = "full" }, score = "none" })
  lu.assertEquals(separate.resolved.encoding.encoder.parameters.slope.per, "layer_head")
  lu.assertEquals({ separate.attentions[3].score.kind, separate.attentions[3].mask.kind,
    separate.attentions[2].mask.kind }, { "none", "none", "causal" })
  local layered = with("score = function(x) return x.score * x.layers * x.key_length end")
  lu.assertEquals(layered.resolved.encoding.score, "x.score * x.query_length")
  lu.assertEquals(layered.resolved.encoding.decoder, { score = "2 * x.score * x.query_length" })
  lu.assertEquals(layered.attentions[3].score.formula, "2 * x.score * x.key_length")
end

-- Every field changes generated code.
function TestFields.test_every_field_changes_the_code()
  for _, set in ipairs({ "model.kind=decoder", "model.norm.place=pre", "model.norm.kind=rms", "model.activation=gelu",
    "model.bias=all", "model.init=torch", "model.source=../../tests/golden/networks/plain.lua" }) do
    local spec = assert(project:plan("even_pairs_none", { set }))
    local files, message = project:render_files(spec.plan)
    lu.assertTrue(files and true or false, ("%s: %s"):format(set, message))
  end
end

TestDerived = {}

-- Every combination of the fields has both passes, and code on the CPU.
function TestDerived.test_every_model_has_both_passes()
  local seen = {}
  for _, kind in ipairs({ "encoder", "decoder" }) do
    for _, place in ipairs({ "post", "pre" }) do
      for _, norm in ipairs({ "layer", "rms" }) do
        for _, activation in ipairs({ "relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu" }) do
          local plan = plans.make_plan(plans.make_small_sets({ ["model.kind"] = kind, ["model.norm.place"] = place,
            ["model.norm.kind"] = norm, ["model.activation"] = activation,
            ["model.tied"] = kind == "decoder" and "true" or nil }))
          lu.assertNil(seen[plan.model_digest])
          seen[plan.model_digest] = true
          lu.assertTrue(#plan.cpu.members > 4)
          lu.assertTrue(#plan.cpu.blocks[1].backward > 8)
        end
      end
    end
  end
end

function TestDerived.test_names_are_documented()
  local seen = {}
  for _, name in ipairs(canonical.sort_keys(handles.METHODS)) do
    for _, argument in ipairs(handles.METHODS[name]) do
      seen[argument[2]] = true
    end
    for _, kind in pairs(handles.METHODS[name].options or {}) do
      seen[kind] = true
    end
  end
  for kind in pairs(seen) do
    lu.assertNotNil(handles.KINDS[kind], kind)
  end
  lu.assertStrContains(table.concat(own_network.NAMES, " "), "assert")
end

support.run()
