-- Networks: the fields of a model, and a user's own networks: the built-in ones written again, errors with file, line,
-- found and expected, and other properties of descriptions.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local grid = require("lab.study.grid.grid")
local handles = require("network.graph.handles")
local lfs = require("lfs")
local lu = require("luaunit")
local own_network = require("spec.reading.own_network")
local plan_page = require("plan.pages.plan_page")
local plans = require("plans")
local project_module = require("project")
local random = require("random")
local respec = require("lab.study.read.respec")

local project = project_module.new(".")

-- The plan of a spec with a user's network of this text; sets: as on the command line.
local function planned(text, sets, spec)
  support.write("net.lua", text)
  local path = support.write("mine.lua", spec or [[return { task = { kind = "bucket_sort" },
    model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 } }]])
  return project:plan(path, sets)
end

local function good(text, sets, spec)
  local made, message = planned(text, sets, spec)
  lu.assertTrue(made ~= nil, message)
  return made.plan
end

-- A description with these lines in its block, the first of which is line 5.
local function with_block(lines)
  return ([[
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 4, place = net.additive })
  local b = net:block("layer", model.layers)
  local h = b:input(x)
%s
  net:classify(net:readout(b.result, "last"))
end
]]):format(lines)
end

local PLAIN = support.read("tests/golden/networks/plain.lua")

local FULL = [[b:output(b:add(h, b:feedforward(h, { hidden = 32, activation = "relu" })))]]

-- ---- fields ----

TestFields = {}

local function tensors_of(sets)
  local names = {}
  for _, t in ipairs(plans.plan_of(plans.small(sets)).tensors) do
    names[t.name] = t.shape
  end
  return names
end

function TestFields.test_biases()
  local none, some, all = tensors_of({ ["model.bias"] = "none" }), tensors_of(), tensors_of({ ["model.bias"] = "all" })
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

function TestFields.test_norms()
  local rms, pre = tensors_of({ ["model.norm.kind"] = "rms" }), tensors_of({ ["model.norm.place"] = "pre" })
  lu.assertEquals({ rms["layers.0.norm1.scale"], rms["layers.0.norm1.offset"], rms["norm.scale"] }, { { 16 } })
  lu.assertEquals({ pre["layers.0.norm1.scale"], pre["layers.0.norm1.offset"], pre["norm.scale"] },
    { { 16 }, { 16 }, { 16 } })
end

function TestFields.test_gates_have_two_halves()
  for _, kind in ipairs({ "swiglu", "geglu" }) do
    local tensors = tensors_of({ ["model.activation"] = kind })
    lu.assertEquals({ tensors["layers.0.feedforward.gate.weight"], tensors["layers.0.feedforward.up.weight"],
      tensors["layers.0.feedforward.down.weight"] }, { { 16, 32 }, { 16, 32 }, { 32, 16 } })
  end
  lu.assertNil(tensors_of({ ["model.activation"] = "gelu" })["layers.0.feedforward.gate.weight"])
end

-- With a tied output there is neither weight nor bias; the table has rows for input, output and separator.
function TestFields.test_tied()
  local own, tied = tensors_of({ ["model.kind"] = "decoder" }),
    tensors_of({ ["model.kind"] = "decoder", ["model.tied"] = "true" })
  lu.assertEquals({ own["output.weight"], own["output.bias"], own["embed.token.weight"] },
    { { 16, 5 }, { 5 }, { 11, 16 } })
  lu.assertEquals({ tied["output.weight"], tied["output.bias"], tied["embed.token.weight"] },
    { nil, nil, { 11, 16 } })
end

-- A decoder's sequences have the length of an encoder's.
function TestFields.test_a_decoder_s_tokens()
  local encoder, decoder = plans.plan_of({}), plans.plan_of({ ["model.kind"] = "decoder" })
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

-- Specs of other networks than the first one (long_models.sh checks their results) are planned, and a run's resolved
-- spec gives the same plan.
function TestFields.test_specs_and_their_runs()
  local seen = {}
  for _, path in ipairs(specs()) do
    local made, message = project:plan(path, {})
    lu.assertTrue(made ~= nil, message)
    local plan = made.plan
    lu.assertEquals(plan.decoder ~= false, path:find("decoder_") ~= nil or path:find("/abc_") ~= nil, path)
    lu.assertNil(seen[plan.model_digest], path)
    seen[plan.model_digest] = path
    if not plan.own_network then
      local text = assert(respec.text(plan.resolved))
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
function TestFields.test_a_linear_embedding_of_every_kind_of_model()
  for kind, rows in pairs({ encoder = 6, decoder = 10, encoder_decoder = 10 }) do
    local plan = assert(project:plan("latin_square_learned", { "model.embedding=linear", "model.kind=" .. kind })).plan
    lu.assertEquals({ plan.tensors[1].name, plan.tensors[1].shape, plan.tensors[2].name, plan.tensors[2].shape },
      { "embed.token.weight", { rows, 160 }, "embed.token.bias", { 160 } }, kind)
    lu.assertTrue(project:files(plan) ~= nil, kind)
  end
end

-- Reasons why a token of the input cannot answer.
function TestFields.test_readouts_that_are_refused()
  local function refused(spec, expected, ...)
    local made, message = project:plan(spec, { ... })
    lu.assertTrue(made == nil, expected)
    lu.assertStrContains(message, expected)
  end
  refused("bucket_sort_none", '"last" does not go with this task: bucket_sort has n outputs', "model.readout=last")
  refused("even_pairs_none", '"probe" does not go with this task: even_pairs declares no probe', "model.readout=probe")
  refused("even_pairs_none", "computation tokens stand behind the input", "model.readout=last", "task.computation=1")
  refused("latin_square_learned", 'kind "encoder" has it', "model.kind=decoder", "model.readout=last")
  refused("latin_square_learned", "logits by the rows of a linear embedding", "model.kind=decoder", "model.tied=true",
    "model.embedding=linear")
  local file = support.write("read_out.lua", [[return { model = { readout = "last" },
    task = { data = "train.jsonl", input_symbols = 3, output_symbols = 2 } }]])
  support.write("train.jsonl", '{"input":[0],"target":[1]}\n')
  refused(file, "examples of files have any number of outputs")
end

-- The small spec of a task, and the tokens of its decoder.
local function of_every_task(kind, try)
  for _, facts in ipairs(assert(project:tasks()).list) do
    local base = facts.symbols and "abc_addition_vanilla" or facts.sets and "latin_square_learned" or "even_pairs_none"
    local spec, message = project:plan(base, { "task.kind=" .. facts.kind, "model.kind=" .. kind })
    lu.assertNotNil(spec, message)
    try(spec, facts.start_symbol and 15 or #facts.input_symbols + #facts.output_symbols + 1, facts)
  end
end

-- A decoder can learn every task.
function TestFields.test_a_decoder_learns_every_task()
  of_every_task("decoder", function(spec, tokens, facts)
    lu.assertEquals(spec.plan.tokens, tokens, facts.kind)
    local chance = type(facts.chance) == "table" and 0.1 or facts.chance
    lu.assertEquals({ spec.plan.task.chance, spec.plan.task.baseline }, { chance, facts.baseline })
  end)
end

-- With an encoder, tasks that mask keep the published loss, over all labels, and the digests from before the choice
-- existed; with another model the loss is of the counted labels.
function TestFields.test_masked_labels_leave_the_loss_of_all_models_but_encoders()
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
  local made, message = project:plan("bucket_sort_none", { "task.loss=counted" })
  lu.assertNil(made)
  lu.assertStrContains(message, "bucket_sort masks no label")
end

-- An encoder-decoder can learn them, too, and has the tensors of Duan and Shi 2024.
function TestFields.test_an_encoder_decoder_learns_every_task()
  of_every_task("encoder_decoder", function(spec, tokens, facts)
    lu.assertEquals(spec.plan.tokens, tokens, facts.kind)
    lu.assertTrue(project:files(spec.plan) ~= nil, facts.kind)
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
function TestFields.test_buffers_of_an_encoder_decoder()
  local spec = assert(project:plan("tests/specs/parity_float64_encoder_decoder.lua", {}))
  for _, file in ipairs(assert(project:files(spec.plan))) do
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
function TestFields.test_decoders_are_decoded()
  local function decodes(id)
    local plan = assert(project:plan(id, {})).plan
    local words, file = {}, nil
    for _, f in ipairs(assert(project:files(plan))) do
      file = f.path == "decode.inc" and f.text or file
      for word in f.text:gmatch("decode_%w+") do
        words[word] = not f.cuda or nil
      end
    end
    lu.assertEquals(file ~= nil, plan.cpu.decoding ~= false, id)
    lu.assertEquals(next(words) ~= nil, file ~= nil, id)
    return file
  end
  lu.assertNil(decodes("tests/specs/parity_rope.lua"))
  lu.assertNil(decodes("tests/specs/emulated_encoder_decoder.lua"))
  lu.assertNotStrContains(decodes("tests/specs/parity_decoder_rope.lua"), "decode_begin")
  local file = decodes("tests/specs/parity_float64_encoder_decoder.lua")
  local ahead = file:match("decoder_layer_prepare%b()%s*(%b{})")
  lu.assertStrContains(ahead, "w->source.rows")
  lu.assertNotStrContains(ahead, "w->target")
  lu.assertNotStrContains(file:match("decoder_layer_decode%b()%s*(%b{})"), "w->source")
  lu.assertNotStrContains(file, "draw_masks")
end

function TestFields.test_tensors_of_an_encoder_decoder()
  local sizes = { ["model.kind"] = "encoder_decoder", ["model.encoder_layers"] = "1", ["model.decoder_layers"] = "6",
    ["model.width"] = "128", ["model.feedforward"] = "512", ["model.bias"] = "all" }
  local one = plans.plan_of(sizes)
  sizes["model.encoder_layers"] = "0"
  local none = plans.plan_of(sizes)
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
function TestFields.test_facets_of_families()
  local sizes = "model = { kind = 'encoder_decoder', encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16 }"
  local function with(encoding)
    local spec, message = project:plan(support.write("families.lua",
      ("return { task = { kind = 'bucket_sort' }, encoding = { %s }, %s }"):format(encoding, sizes)))
    return assert(spec, message).plan
  end
  local same = with("kind = 'rope', cross = { rotation = { base = 10000 }, mask = { kind = 'full' } }")
  lu.assertNil(same.resolved.encoding.cross)
  lu.assertEquals(same.digest, with("kind = 'rope'").digest)
  local own = with("kind = 'alibi_learned', mask = { kind = 'causal' }, cross = { mask = { kind = 'full' }, score = { "
    .. "kind = 'none' } }, encoder = { mask = { kind = 'causal' }, parameters = { slope = { per = 'layer_head' } } }")
  lu.assertEquals(own.resolved.encoding.cross, { mask = { kind = "full" }, score = "none" })
  lu.assertEquals(own.resolved.encoding.encoder.parameters.slope.per, "layer_head")
  lu.assertEquals({ own.attentions[3].score.kind, own.attentions[3].mask.kind, own.attentions[2].mask.kind },
    { "none", "none", "causal" })
  local layered = with("score = function(x) return x.score * x.layers * x.key_length end")
  lu.assertEquals(layered.resolved.encoding.score, "x.score * x.query_length")
  lu.assertEquals(layered.resolved.encoding.decoder, { score = "2 * x.score * x.query_length" })
  lu.assertEquals(layered.attentions[3].score.formula, "2 * x.score * x.key_length")
end

-- Every field changes generated code.
function TestFields.test_code_is_generated_for_each()
  for _, set in ipairs({ "model.kind=decoder", "model.norm.place=pre", "model.norm.kind=rms", "model.activation=gelu",
    "model.bias=all", "model.init=torch", "model.source=../../tests/golden/networks/plain.lua" }) do
    local spec = assert(project:plan("even_pairs_none", { set }))
    local files, message = project:files(spec.plan)
    lu.assertTrue(files and true or false, ("%s: %s"):format(set, message))
  end
end

-- ---- networks of the user's own ----

TestOwn = {}

local ENCODINGS = { "", ", encoding = { kind = 'rope' }", ", encoding = { kind = 'sinusoid' }",
  ", encoding = { kind = 'learned' }", ", encoding = { kind = 'relative' }", ", encoding = { kind = 'alibi' }",
  ", encoding = { kind = 'geometric' }" }

local SMALL = "layers = 2, heads = 2, width = 16, feedforward = 32"

-- A user's description of the encoder is the encoder: tensors, operations and the model digest.
function TestOwn.test_the_encoder_again()
  for _, encoding in ipairs(ENCODINGS) do
    local spec = 'return { task = { kind = "bucket_sort" }, model = { %s' .. SMALL .. " }" .. encoding .. " }"
    local plan = good(PLAIN, nil, spec:format('source = "net.lua", '))
    local ours = project:plan(support.write("ours.lua", spec:format(""))).plan
    lu.assertEquals(plan.tensors, ours.tensors, encoding)
    lu.assertEquals(plan.structs, ours.structs, encoding)
    lu.assertEquals(plan.model_digest, ours.model_digest, encoding)
    lu.assertNotEquals(plan.digest, ours.digest, encoding)
    lu.assertEquals(plan.flops_per_step, ours.flops_per_step, encoding)
  end
end

-- The file's bytes are in the digest, not its path; options are part of the spec.
function TestOwn.test_the_plan_s_digest_has_the_bytes()
  local plan = good(PLAIN)
  lu.assertEquals(good(PLAIN).digest, plan.digest)
  lu.assertEquals(plan.own_network.path, "net.lua")
  support.write("there/net.lua", PLAIN)
  lu.assertEquals(good(PLAIN, { "model.source=there/net.lua" }).digest, plan.digest)
  local other = good(PLAIN .. "-- and a comment\n")
  lu.assertNotEquals(other.digest, plan.digest)
  lu.assertEquals(other.model_digest, plan.model_digest)
  local gelu = good(PLAIN, { "model.options.kind=gelu" })
  lu.assertNotEquals(gelu.digest, plan.digest)
  lu.assertNotEquals(gelu.model_digest, plan.model_digest)
  lu.assertEquals(gelu.resolved.model.options, { kind = "gelu" })
  local wider = good(PLAIN, { "model.options.ratio=4" })
  lu.assertNotEquals(wider.model_digest, plan.model_digest)
end

-- A description's own state does not persist.
function TestOwn.test_nothing_is_left_of_the_last_time()
  local text = "local calls = 0\n" .. PLAIN:gsub("local kind", [[calls = calls + 1
  assert(calls == 1, "again")
  %0]])
  lu.assertEquals(good(text).digest, good(text).digest)
end

-- Blocks one after another, each with its own parameters.
function TestOwn.test_two_blocks()
  local plan = good((with_block(FULL):gsub("  net:classify.*", [[
  local c = net:block("second", 3)
  local g = c:input(b.result)
  c:output(c:norm("n", c:add(g, c:attention("self", g, g)), "rms"))
  net:classify(net:readout(c.result, "last"))
end
]])))
  local sites = {}
  for i, site in ipairs(plan.trace_sites) do
    sites[i] = site.name
  end
  lu.assertEquals(table.concat(sites, " "), "embedding layers.0.output layers.1.output seconds.0 seconds.0.output "
    .. "seconds.1 seconds.1.output seconds.2 seconds.2.output")
end

-- A block uses the random positions of its own attention, of which there are as many as it has layers.
function TestOwn.test_drawn_places_are_those_of_the_block()
  local text = [[
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 4 })
  local front = net:block("front", 1)
  local h = front:input(x)
  front:output(front:norm("n", front:add(h, front:attention("self", h, h, { name = "%s" }))))
  local b = net:block("layer", model.layers)
  local g = b:place(b:input(front.result), net.additive)
  b:output(b:norm("n", b:add(g, %s)))
  net:classify(net:readout(b.result, "last"))
end
]]
  local drawn = { "encoding.additive.kind=learned", "encoding.additive.at=block",
    "encoding.positions.kind=randomized", "encoding.positions.max_position=4000", "encoding.positions.draw=layer" }
  local attends, rows = 'b:attention("self", g, g)', 'b:feedforward(g, { hidden = 32, activation = "relu" })'
  local plan = good(text:format("near", attends), drawn)
  lu.assertEquals(plan.cpu.blocks[2].forward[1].positions, "w->shared->self_position[l]")
  lu.assertFalse(plan.no_device_code)
  local bare = text:format("self", rows)
  local made, message = planned(bare, drawn)
  lu.assertTrue(made == nil)
  lu.assertStrContains(message, "net.lua:7:1: error: place() is there 2 times, without attention, and positions are "
    .. "drawn for 1 layer")
  drawn[#drawn] = "encoding.positions.draw=pass"
  lu.assertEquals(good(bare, drawn).cpu.blocks[2].forward[1].positions, "w->shared->position[0]")
end

-- In evaluation the counter has a byte for all places of a pass, in training one for those of a repetition.
function TestOwn.test_places_of_an_evaluation_with_dropout()
  local text = with_block([[local a = b:add(h, b:attention("self", h, h), model.dropout)
b:output(b:norm("n", %s))]]):gsub('"layer", model.layers', '"layer", 2, "A block.", { loops = model.options.loops }')
  good(text:format("a"), { "model.options.loops=64", "eval.dropout=true" })
  local more = text:format("b:add(a, h, model.dropout)")
  good(more, { "model.options.loops=64" })
  local made, message = planned(more, { "model.options.loops=64", "eval.dropout=true" })
  lu.assertTrue(made == nil)
  lu.assertStrContains(message, "eval.dropout: 2 places of 129 layers")
end

-- A block whose parameters several repetitions share: they are stored once, and each repetition is traced.
function TestOwn.test_loops()
  local text = with_block([[b:output(b:norm("n", b:add(h, b:attention("self", h, h), model.dropout)))]])
    :gsub('"layer", model.layers', '%0, "A block.", { loops = 3 }')
  local once = text:gsub("loops = 3", "loops = 1")
  for _, encoding in ipairs({ "none", "relative" }) do -- the second has parameters for each layer
    local sets = { "model.dropout=0.1", encoding ~= "none" and "encoding.relative.kind=transformer_xl" or nil }
    local plan, single = good(text, sets), good(once, sets)
    lu.assertEquals(plan.tensors, single.tensors)
    lu.assertNotEquals(plan.model_digest, single.model_digest)
    lu.assertEquals(plan.flops_per_step, 3 * single.flops_per_step)
    lu.assertEquals({ plan.cpu.blocks[1].repetitions, plan.trace_site_count }, { 6, 1 + 2 * 6 })
    lu.assertEquals(plan.trace_sites[12].name, "layers.5")
  end
end

-- Every loop caches attention's weights for the backward pass: as much memory as separate layers would take.
function TestOwn.test_loops_keep_weights_each()
  local block = with_block([[b:output(b:norm("n", b:add(h, b:attention("self", h, h))))]])
  local function kept(layers, loops)
    local text = block:gsub('"layer", model.layers', ('"layer", %d, "A block.", { loops = %d }'):format(layers, loops))
    return good(text, { "train.lengths={1,400}" }).attentions[1].recomputed.pairs
  end
  lu.assertEquals(kept(2, 6), kept(12, 1))
  lu.assertEquals(kept(4, 1), 2 * kept(4, 2))
end

-- Several attentions of a model also cache weights each, among them those with dropout of weights.
function TestOwn.test_attentions_keep_weights_together()
  local function recomputed(rate)
    local text = with_block(([[local a = b:add(h, b:attention("self", h, h))
b:output(b:norm("n", b:add(a, b:attention("self", a, a, { name = "again", dropout = %s }))))]]):format(rate))
    local list = good(text, { "train.lengths={1,400}", "model.layers=12" }).attentions
    return list[1].recomputed, list[2].recomputed
  end
  local one = with_block([[b:output(b:norm("n", b:add(h, b:attention("self", h, h))))]])
  local alone = good(one, { "train.lengths={1,400}", "model.layers=12" }).attentions[1].recomputed
  local first, second = recomputed("0")
  lu.assertEquals({ 2 * first.pairs, 2 * second.pairs }, { alone.pairs, alone.pairs })
  first, second = recomputed("0.1")
  lu.assertEquals({ 2 * first.pairs, second }, { alone.pairs, false })
end

-- A number of channels equal to the model's width is that width, from any source.
function TestOwn.test_a_width_of_the_model_s()
  good(with_block([[
  local wide = b:activation("wide", b:product("w", h, 64), "gelu")
  b:output(b:norm("n", b:add(h, b:product("back", wide, model.width))))]]))
end

-- The mask of a sum has the sum's channels, which may differ from the model's width.
function TestOwn.test_masks_are_as_wide_as_what_they_drop()
  local plan = good(with_block([[
  local sum = b:add(b:product("one", h, 64), b:product("two", h, 64), 0.25)
  b:output(b:norm("n", b:add(h, b:product("back", b:activation("bent", sum, "gelu"), model.width), 0.1)))]]))
  local widths = {}
  for _, record in ipairs(plan.cpu.blocks[1].forward) do
    widths[#widths + 1] = record.kind == "draw" and record.width or nil
  end
  lu.assertEquals(widths, { "ONE_CHANNELS", "WIDTH" })
end

function TestOwn.test_a_decoder_of_ones_own()
  local plan = good(with_block(FULL), { "model.kind=decoder" })
  lu.assertEquals({ plan.decoder.separator, plan.first.mask.kind }, { 10, "causal" })
end

function TestOwn.test_two_streams_are_refused()
  local made, message = planned(PLAIN, { "model.kind=encoder_decoder" })
  lu.assertNil(made)
  lu.assertStrContains(message, "model.kind: a network of one's own reads one stream of tokens")
end

function TestOwn.test_a_run_s_spec_is_refused_by_name()
  local text, why = respec.text(good(PLAIN).resolved)
  lu.assertNil(text)
  lu.assertEquals(why, "its network is a file of the user's own, net.lua")
end

-- { lines of the block or a whole file, line of the message, what was found, what was expected }
local MISTAKES = {
  { [[b:norm("a", later) local later = h]], 5, '"later" is not defined', "local names" },
  { [[local later b:norm("a", later)]], 5, "value is nil", "a value that an operation has made" },
  { [[b:norm("a", x)]], 5, "belongs to the network", "block:input(value) and block:external(value)" },
  { [[local p = b:product("p", h, 32)
b:output(b:add(h, p))]], 6, "adding input of 16 channels and p of 32", "equal widths" },
  { [[b:norm("a", h) b:norm("a", h)]], 5, "a and a are parameters of block layer", "different names" },
  { [[local f = b:feedforward(h, { hidden = 32, activation = "relu" })
local a = b:attention("self", h, h)
b:output(b:add(b:add(h, f), a))]], 6, "branch is the name of two values of block layer", "{ name = ... }" },
  { [[local n = b:norm("n", h)
b:output(b:add(h, b:activation("a", b:norm("m", h), "relu")))]], 5, "n of block layer is read by nothing", "a use" },
  { [[b:output(b:add(b:add(h, b:attention("self", h, h)), b:attention("self", h, h)))]], 5, "a second attention self",
    "another name: { name = ... }" },
  { [[b:output(b:add(h, b:attention("self", b:norm("n", h), h)))]], 5, "queries of one value and keys of another",
    "the same value twice" },
  { [[b:output(b:add(h, b:attention("self", h, h, { name = "near" })))]], 5,
    'attention near has a name of its own, and none goes by "self"', "no name for the first one" },
  { [[b:attention("cross", h, h)]], 5, 'no attention is named "cross"', "one of self" },
  { [[b:output(h)]], 5, "block layer gives what it takes", "an operation between" },
  { [[b:output(b:product("same", h, 16))]], 5, "the output of block layer is a product of its input", "behind it" },
  { [[b:output(b:activation("a", b:product("same", h, 16), "relu"))]], 5, "is a product of its input", "behind it" },
  { [[b:output(b:product("up", h, 24))]], 5, "a width of 24", "a multiple of 16" },
  { [[b:output(b:add(h, b:feedforward(h, { activation = "gelu" })))]], 5, "a width of nil", "a multiple of 16" },
  { [[b:output(b:add(h, b:feedforward(h, { hidden = 32 })))]], 5, "the activation nil", "one of gelu" },
  { [[b:output(b:product("wide", h, 32))]], 5, "handing on input of 16 channels and wide of 32", "equal widths" },
  { [[b:output(b:gate("g", h, "silu"))]], 5, "the input of the gate is input", "a product of two parts" },
  { [[b:output(b:activation("a", h, "swish"))]], 5, 'the activation "swish"', "gelu, gelu_tanh, relu or silu" },
  { [[b:output(b:norm("n", h, "batch"))]], 5, 'the norm "batch"', "layer or rms" },
  { [[b:output(b:feedforward(h, { hidden = 32, activation = "tanh" }))]], 5, 'the activation "tanh"', "swiglu" },
  { [[b:output(b:feedforward(h, { hidden = 32, activation = "relu", branch_activation = "swiglu" }))]], 5,
    'the activation "swiglu"', "one of gelu, gelu_tanh, relu or silu" },
  { [[b:output(b:feedforward(h, { hiden = 32 }))]], 5, 'has no option "hiden"',
    "bias, branch_activation, hidden, hidden_dropout, name" },
  { [[b:output(h + h)]], 5, "values have no arithmetic", "block:add" },
  { [[b.output(h)]], 5, "is called on the value input", "a colon" },
  { [[b:output(b:norm("n", h), 5)]], 5, "is called with 2 arguments", "at most 1" },
  { [[h.width = 5]], 5, "the value input.width is set", "made by its methods" },
  { [[b:output(b:norm("n", h.out))]], 5, 'has no "out"', "name, width" },
  { with_block(FULL):gsub("local x = net:embed%(\"embedding\", net:stream%(\"source\"%), {",
    "local t = net:table(\"t\") %0 table = t,")
    :gsub('net:classify%(net:readout%(b.result, "last"%)', '%0, { tied = t }'), 6,
    "have no vectors of the output's symbols", 'model.kind = "decoder"', true },
  { [[net:attention("self", x, x)]], 5, 'the network has no "attention"', "block, classify, embed, feedforward" },
  { [[b:output(b:linear("n", h, 16))]], 5, 'has no "linear"', "product" },
  { [[b:output(b:product("n", h, model.wdith))]], 5, 'model has no "wdith"', "width" },
  { [[model.width = 32]], 5, "model.width is set", "stays" },
  { with_block(FULL):gsub("local x = net", "net:table(\"spare\") %0"), 2, "no vectors of table spare are embedded",
    "or no such line", true },
  { with_block(FULL):gsub('"layer"', '"token"'), 3, "token and token are parameters", "different names", true },
  { with_block(FULL):gsub('"layer"', '"view"'), 3, 'name is "view"', "a network's memory", true },
  { [[local c = net:block("layer_backward", 1)]], 5, "block layer and block layer_backward", "begins with the other" },
  { [[b:output(b:add(h, b:attention("self", h, h, { name = "layer_near" })))]], 5,
    "block layer and attention layer_near",
    "begins with the other" },
  { [[local t = b:product("t", h, 16) b:output(b:add(t, b:product("t_transposed", h, 16)))]], 5,
    "t and t_transposed are parameters", "_transposed behind them" },
  { [[b:output(b:norm("while", h))]], 5, 'name is "while"', "no word of C" },
  { [[b:output(b:add(h, b:attention("self", h, h, { name = "read" })))]], 5, 'name is "read"', "no word of C" },
  { [[local c = net:block("all", 2, "Another.")]], 5, 'name is "all"', "a network's memory" },
  { [[b:output(b:norm("Norm", h))]], 5, 'name is "Norm"', "a letter first" },
  { [[b:output(b:add(h, b:norm("n", h), 1))]], 5, "dropout is 1", "a share from 0 to below 1" },
  { [[local l = b:norm("n", h) b:output(b:add(h, l)) b:norm("m", h)]], 5, "behind the output of block layer", "last" },
  { [[local c = net:block("second", 2)
c:output(c:norm("n", c:input(b.result)))]], 6, "block layer has no result yet", "block:output" },
  { [[local c = b:block("inner", 2)]], 5, 'has no "block"', "product" },
  { [[net:block("layer", 2)]], 5, "two blocks are named layer", "different names" },
  { [[net:block("more", 2, nil, { loops = 0 })]], 5, "loops is 0", "a whole number from 1 to 64" },
  { [[net:block("more", 2, nil, { loops = 1.5 })]], 5, "loops is 1.5", "a whole number from 1 to 64" },
  { [[net:block("more", 2, nil, { times = 2 })]], 5, 'has no option "times"', "loops" },
  { [[net:block("more", 2, { loops = 2 })]], 5, "about is a table", "a sentence" },
  { [[net:block("more", 64, nil, { loops = 64 })]], 5, "the network's blocks run 4098 times", "at most 4096 times" },
  { [[local v = b:norm("n", h)
for i = 1, 257 do v = b:add(v, h, 0.1) end]], 6, "block layer drops out at 257 places", "at most 256" },
  { [[local function f() return f() + 1 end f()]], 5, "calls itself without end", "calls at most" },
  { [[while true do end]], 5, "still running after", "loop" },
  { [[local s = "x" while true do s = s .. s end]], 5, "memory", "computes little" },
  { [[assert(model.width > 16, "too narrow")]], 5, "too narrow", nil },
  { [[assert(nil, "\27[31mred" .. "\n")]], 5, "red", nil },
  { [[for i, option in ipairs(model.options) do end]], 5, "model.options is indexed with 1", "a name" },
  { [[local x = model[{}] ]], 5, "model is indexed with a table", "a name" },
  { [[os.exit()]], 5, '"os" is not defined; a network has no I/O', "ipairs" },
  { [[y = 5]], 5, '"y" is set as a global; a network has none', "constants" },
  { [[local n = nil b:output(n.x)]], 5, "attempt to index a nil value", nil },
  { "return 5", 1, "the file returns 5", "return function(net, model) ... end", true },
  { "local f = 1", 1, "the file returns nothing", "return function(net, model) ... end at its end", true },
  { "return function(net, model) end end", 1, "not valid Lua", nil, true },
  { with_block(FULL):gsub("net:classify", "net:norm('n', x)\n  %0"), 6, "n of the network is read by nothing", "a use",
    true },
  { "return function(net, model)\n  local s = net:stream(\"s\")\nend", 3, "the network has no readout", "net:classify",
    true },
  { with_block("b:output(b:norm('n', h))"):gsub("model.layers", "0"), 3, "count is 0", "a whole number from 1", true },
  { with_block("b:output(b:norm('n', h))"):gsub("source", "target"), 2, "there is no stream target", '"source"', true },
  { [[local d = b:product("n", h, 16)
b:output(b:norm("m", b:product("dn", d, 16)))]], 6, "dn is what the gradient of n is called", "another name" },
  { [[local v = h
for i = 1, 600 do v = b:norm("n" .. i, v) end]], 6, "too many operations", "at most 500" },
  { with_block("b:output(b:norm('n', h))"):gsub("b:input%(x%)", "b:input(nil)"), 4, "value is nil", "a value", true },
  { [[b:norm('n', h)]], 6, "block layer has no result yet", "block:output(value) before it" },
  { with_block("b:norm('n', h)"):gsub("b.result", "x"), 3, "block layer has no output", "block:output(value)", true },
  { with_block("b:output(b:norm('n', b:external(x)))"):gsub("local h = ", ""), 3, "the input of block layer is read by "
    .. "nothing", "reads it", true },
}

function TestOwn.test_mistakes_are_told_with_their_line()
  for _, case in ipairs(MISTAKES) do
    local text, line, what, expected, whole = table.unpack(case, 1, 5)
    local made, message = planned(whole and text or with_block(text))
    lu.assertTrue(made == nil, text)
    lu.assertStrContains(message, ("net.lua:%d:"):format(line), text)
    lu.assertStrContains(message, what)
    lu.assertStrContains(message, expected or "nothing was written")
  end
end

-- Unused options, and options of a network that is not a user's, are refused.
function TestOwn.test_options_are_those_that_are_read()
  local made, message = planned(PLAIN, { "model.options.hidden=3" })
  lu.assertTrue(made == nil)
  lu.assertStrContains(message, "--set model.options.hidden=3: error: model.options.hidden: is read by nothing")
  lu.assertStrContains(message, "an option that the network reads: kind, ratio")
  made, message = planned(PLAIN, nil, [[return { task = { kind = "bucket_sort" }, model = { options = { a = 1 } } }]])
  lu.assertTrue(made == nil)
  lu.assertStrContains(message, "model.options: does not go with a network of Longhand's")
  lu.assertStrContains(message, "expected: model.source")
end

-- Positions in a spec that the network does not use are reported.
function TestOwn.test_an_encoding_that_nothing_reads()
  local function refused(encoding, text, ...)
    local made, message = planned(text, nil, [[return { task = { kind = "bucket_sort" },
      model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 },
      encoding = { kind = "]] .. encoding .. '" } }')
    lu.assertTrue(made == nil)
    for _, words in ipairs({ ... }) do
      lu.assertStrContains(message, words)
    end
  end
  refused('none", lines = { { head = 0, direction = 1, line = -1, value = 1 } }, kind = "none', with_block(FULL),
    "encoding.lines: is read by nothing in net.lua", "an attention")
  refused("sinusoid", with_block(FULL):gsub(", place = net.additive", ""),
    "spec/encodings/sinusoid.lua:", "encoding.additive.kind: is read by nothing in net.lua", "place = net.additive")
  refused("rope", with_block(FULL), "encoding.rotation.kind: is read by nothing in net.lua", "an attention")
  refused("alibi", with_block(FULL), "encoding.score: is read by nothing in net.lua", "an attention")
  refused("window", with_block(FULL), "is read by nothing in net.lua")
  good(with_block(FULL))
end

-- Unused rates are reported, too; attention has the spec's rate, or its own.
function TestOwn.test_dropouts_of_the_spec_and_of_the_description()
  local text = with_block([[local s = b:add(h, b:attention("self", h, h%s), model.dropout)
b:output(b:norm("n", b:add(s, b:feedforward(s, { hidden = 32, activation = "relu"%s }), model.dropout)))]])
  local function planned_with(attention, feedforward, ...)
    return planned(text:format(attention, feedforward), { ... })
  end
  local _, message = planned_with("", "", "model.hidden_dropout=0.2")
  lu.assertStrContains(message, "model.hidden_dropout: is read by nothing in net.lua")
  lu.assertStrContains(message, "hidden_dropout = model.hidden_dropout")
  _, message = planned_with("", "", "model.embedding_dropout=0.2")
  lu.assertStrContains(message, "model.embedding_dropout: is read by nothing in net.lua")
  lu.assertStrContains(message, "dropout = net.additive_dropout")
  _, message = planned_with(", { dropout = 0.2 }", "", "encoding.normaliser.kind=geometric")
  lu.assertStrContains(message, "net.lua:5:")
  lu.assertStrContains(message, "attention self is geometric, and its weights are dropped out")
  local function rates(...)
    local of = {}
    for _, d in ipairs(good(text:format(select(1, ...), select(2, ...)), { select(3, ...) }).dropouts) do
      of[d.name] = d.rate_text
    end
    return of
  end
  local take = ", hidden_dropout = model.hidden_dropout"
  lu.assertEquals(rates("", take), { BRANCH = "0.1" })
  lu.assertEquals(rates("", take, "model.hidden_dropout=0.2", "model.attention_dropout=0.3"),
    { BRANCH = "0.1", HIDDEN = "0.2", ATTENTION = "0.3" })
  lu.assertEquals(rates(", { dropout = 0.4 }", "", "model.attention_dropout=0.3"),
    { BRANCH = "0.1", ATTENTION = "0.4" })
  lu.assertEquals(rates(", { dropout = 0 }", "", "model.attention_dropout=0.3"), { BRANCH = "0.1" })
end

-- A study varies options; the file's path is relative to the study.
function TestOwn.test_a_study_varies_options()
  support.write("study/net.lua", PLAIN)
  local path = support.write("study/kinds.lua", [[return { title = "Kinds", base = { task = { kind = "bucket_sort" },
    model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 } }, axes = { { name = "kind",
    values = { { name = "gelu", spec = { model = { options = { kind = "gelu" } } } },
      { name = "relu", spec = {} } } } } }]])
  local gelu = grid.cell(project, path .. ":gelu", {})
  local relu = grid.cell(project, path .. ":relu", {})
  lu.assertEquals(gelu.plan.resolved.model.options, { kind = "gelu" })
  lu.assertNil(relu.plan.resolved.model.options)
  lu.assertNil(relu.plan.network_identity)
  lu.assertNotEquals(gelu.plan.digest, relu.plan.digest)
end

-- Positions that are sampled in every layer, and tables of each, are counted in the attention's block; a score knows
-- model.layers.
function TestOwn.test_an_encoding_that_counts_layers()
  local spec = [[return { task = { kind = "bucket_sort" }, encoding = { kind = "%s" },
    model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 } }]]
  local three = PLAIN:gsub('"layer", model.layers', '"tower", 3')
  local family = good(three, nil, spec:format("relative")).first
  lu.assertEquals({ family.layers, family.stack.member, family.stack.count }, { 3, "tower", "TOWER_LAYERS" })
  lu.assertEquals(good(three, { "encoding.positions.kind=randomized" }, spec:format("rope")).first.positions.draws, 3)
  local made, message = planned(three, nil, spec:format("alibi"))
  lu.assertTrue(made == nil)
  lu.assertStrContains(message, "net.lua:8:1: error: attention self is there 3 times")
  lu.assertStrContains(message, "model.layers = 2 repetitions")
end

-- A field that a description does not read is reported if it is set, and not printed otherwise.
function TestOwn.test_fields_that_nothing_reads()
  for _, set in ipairs({ "tied=true", "activation=gelu", "branch_activation=relu", "bias=all", "norm.kind=rms",
    "norm.place=pre" }) do
    local name = set:match("^[^=]+")
    local made, message = planned(with_block(FULL), { "model." .. set, "model.kind=decoder" })
    lu.assertTrue(made == nil, set)
    lu.assertStrContains(message, ("model.%s: is read by nothing in net.lua"):format(name))
    local reading = with_block(FULL):gsub("local x = net", ("assert(model.%s ~= nil, 'x') %%0"):format(name))
    lu.assertStrContains(plan_page.text(good(reading, { "model." .. set, "model.kind=decoder" })), "network net.lua")
  end
  local text = plan_page.text(good(with_block(FULL)))
  lu.assertStrContains(text, "\nmodel       2 layers, width 16, float32, network net.lua")
end

-- Words of C, C++ and CUDA are refused as names; the name of a gradient avoids them.
function TestOwn.test_names_that_compilers_have_words_for()
  for _, word in ipairs({ "asm", "bool", "true", "typeof", "linux", "unix", "new", "this", "class", "or", "not",
    "template", "operator", "private", "do", "static_assert" }) do
    for _, text in ipairs({ with_block(('b:output(b:add(h, b:product("%s", h, 16)))'):format(word)),
      with_block(FULL):gsub('"layer"', ('"%s"'):format(word)),
      (with_block(FULL):gsub("local x = net", ('net:table("%s") %%0'):format(word))) }) do
      local made, message = planned(text)
      lu.assertTrue(made == nil, word)
      lu.assertStrContains(message, ('name is "%s"'):format(word))
      lu.assertStrContains(message, "no word of C, C++ or CUDA")
    end
  end
  local plan = good(with_block([[local o = b:product("o", b:norm("ouble", h), 16)
b:output(b:add(h, b:activation("act", o, "gelu")))]]))
  lu.assertStrContains(plan_page.text(plan), " d_o ")
  lu.assertStrContains(plan_page.text(plan), " d_ouble ")
  local _, message = planned(with_block([[local o = b:product("o", h, 16)
b:output(b:add(o, b:norm("d_o", o)))]]))
  lu.assertStrContains(message, "d_o is what the gradient of o is called")
end

-- Code of attention is absent without an attention; a second attention has the same facets with names of its own.
function TestOwn.test_no_attention_and_two()
  local none = good(with_block(FULL))
  lu.assertEquals(none.attentions, {})
  lu.assertStrContains(plan_page.text(none), "no positional encoding")
  local two = good(with_block([[
  local a = b:norm("n", b:add(h, b:attention("self", h, h)))
  b:output(b:norm("m", b:add(a, b:attention("self", a, a, { name = "far" }))))]]), { "encoding.rotation.kind=rope" })
  lu.assertEquals({ two.attentions[1].name, two.attentions[2].name }, { "self", "far" })
  lu.assertEquals({ two.attentions[1].PREFIX, two.attentions[2].PREFIX }, { "SELF_", "FAR_" })
  lu.assertEquals(two.attentions[2].rotation, two.attentions[1].rotation)
  lu.assertEquals(two.trace_sites[3].name, "layers.0.far")
  lu.assertStrContains(plan_page.text(two), "\n  layers.0.far.query.weight ")
end

-- ---- descriptions with any content ----

local WORDS = { "nil", "0", "-1", "1", "2", "16", "32", "1e300", "0/0", "1/0", "0.5", "true", "false", '"x"',
  '"self"', '"last"', '"relu"', '"rms"', '"swiglu"', '"input"', '"norm1"', '""', '"\\0"', "{}", "{ 1 }",
  '{ "a", "b" }', "{ parts = { 'a', 'b' } }", "{ hidden = 32, activation = 'gelu' }", "{ [1] = h }", "{ name = 'x' }",
  "{ table = 5 }", "{ table = net:table('t') }", "{ tied = net }", "{ place = net.additive }", "{ loops = 2 }",
  "model", "model.norm", "model.options", "model.options[1]", "net", "b", "x", "h", "net.additive", "net:stream('s')",
  "net:readout(x, 'last')", "b.result", "function() end", "ipairs", "net.block", "setmetatable" }

local function random_text(rng)
  local methods = {}
  for name in pairs(handles.METHODS) do
    methods[#methods + 1] = name
  end
  table.sort(methods)
  local lines = {}
  for i = 1, rng:below(4) - 1 do
    local arguments = {}
    for j = 1, rng:below(5) - 1 do
      arguments[j] = rng:pick(WORDS)
    end
    lines[i] = ("  local v%d = %s%s%s(%s)"):format(i, rng:chance(2) and "net" or "b", rng:chance(12) and "." or ":",
      rng:pick(methods), table.concat(arguments, ", "))
  end
  return with_block(table.concat(lines, "\n") .. (rng:chance(2) and "\n" .. FULL or ""))
end

-- Each description gives a plan or a message with a line of the file, never an internal error.
function TestOwn.test_any_description_ends_in_a_plan_or_a_message()
  local refused = 0
  for seed = 1, 200 do
    local text = random_text(random(seed))
    local made, message = planned(text)
    refused = refused + (made and 0 or 1)
    lu.assertTrue(made ~= nil or message:find("^net%.lua:%d+:%d+: error: ") ~= nil, ("seed %d: %s\n%s"):format(seed,
      message, text))
  end
  lu.assertTrue(refused > 100 and refused < 200, refused)
end

-- Objects hide their fields, and cannot be used in another network.
function TestOwn.test_objects_are_opaque()
  local text = [[
    local h = net:stream("s")
    for _, word in ipairs({ "real", "name", "index", "kind" }) do
      local seen = h[word]
    end]]
  local made, message = planned("return function(net, model)\n" .. text .. "\nend")
  lu.assertTrue(made == nil)
  lu.assertStrContains(message, 'has no "real"')
  lu.assertStrContains(message, "nothing; it is handed on as it is")
end

-- ---- derived lists ----

TestDerived = {}

-- Every combination of the fields has both passes, and code on the CPU.
function TestDerived.test_every_model_has_both_passes()
  local seen = {}
  for _, kind in ipairs({ "encoder", "decoder" }) do
    for _, place in ipairs({ "post", "pre" }) do
      for _, norm in ipairs({ "layer", "rms" }) do
        for _, activation in ipairs({ "relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu" }) do
          local plan = plans.plan_of(plans.small({ ["model.kind"] = kind, ["model.norm.place"] = place,
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
  for _, name in ipairs(canonical.sorted_keys(handles.METHODS)) do
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
