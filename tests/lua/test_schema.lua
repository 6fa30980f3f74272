-- generator/spec/schema.lua: every field has an accepted and a refused value, which load and validate check here.
-- LH_UPDATE_GOLDEN=1 updates tests/golden/fields.txt.

local support = dofile("tests/lua/support.lua")
local cases = require("cases")
local families = require("spec.families")
local lists = require("base.lists")
local lu = require("luaunit")
local schema = require("spec.schema")

TestSchema = {}

local ANTIDIAGONAL = "encoding.mask={ kind = 'antidiagonal', width = 1 }"
local LINE = "encoding.lines={ list = { { head = 0, direction = 1, line = 0, value = 1 } } }"
local SHAW = "encoding.relative.kind=shaw"
local COPE = { "encoding.relative.kind=cope", "encoding.mask.kind=causal" }
local XL = "encoding.relative.kind=transformer_xl"
local RANDOM = "encoding.positions.kind=randomized"
local DIGITS = "encoding.positions.kind=digits"
local LEARNED = "encoding.additive.kind=learned"
local ROPE = "encoding.rotation.kind=rope"
local DATA = { "task.data=x.jsonl", "task.input_symbols=5", "task.output_symbols=2" }
local AXES = { DATA[1], DATA[2], DATA[3], "task.axes={ 'digits', 'carry' }" }
local TRAINED = { DATA[1], DATA[2], DATA[3], "task.axes={ 'trained' }" }
local DURING_AXES = { DATA[1], DATA[2], DATA[3], "task.axes={ 'carry' }", "eval.during.every=5" }
local WINDOW = "encoding.kind=window"
local GEOMETRIC = "encoding.normaliser.kind=geometric"
local STICK = { "encoding.normaliser.kind=stick_breaking", "encoding.mask.kind=causal" }
local DURING = "eval.during.every=5"
local LOOPS, PRE = "model.loops={ times = 3, inject = true }", "model.norm.place=pre"
local BEST = { DURING, "eval.during.lengths={ 1, 4 }", "train.checkpoint.best={}" }
local SCALING = "encoding.rotation.scaling"
local ENCODER_DECODER = "model.kind=encoder_decoder"
local YARN = SCALING .. "={ kind = 'yarn', factor = 4 }"

-- { field, accepted text, refused text, part of the message, further settings }
local CASES = {
  { "precision", "float64", "float16", '"float16" does not fit here' },
  { "device_products", "warps", "warp", 'did you mean "warps"?', { "precision=tf32" } },
  { "init", "false", "nowhere.safetensors", "cannot read tests/golden/specs/nowhere.safetensors: No such file" },
  { "task", "{ kind = 'even_pairs' }", "5", "5 does not fit here" },
  { "task.kind", "parity_check", "parity_chek", 'did you mean "parity_check"?' },
  { "task.source", "../tasks/own/first_repeat.c", "nowhere.c", "cannot read tests/golden/specs/nowhere.c" },
  { "task.data", "train.jsonl", "7", "7 does not fit here", DATA },
  { "task.name", "scan_length", "SCAN", '"SCAN" does not fit here', DATA },
  { "task.eval", "test.jsonl", "{}", "a table does not fit here", DATA },
  { "task.validation", "items.csv", "true", "true does not fit here", DATA },
  { "task.axes", "{ 'digits', 'carry' }", "{ 'digits', 'digits' }", '"digits" is given twice', DATA },
  { "task.seed", "7", "-1", "-1 is below 0", { "task.kind=latin_square" } },
  { "task.input_symbols", "{ 'a', 'b' }", "{ 'a', 'a' }", 'the symbol "a" is given twice', DATA },
  { "task.output_symbols", "65000", "65001", "65001 symbols are out of range", DATA },
  { "task.symbols", "{ 'a', 'b' }", "{}", "0 symbols are out of range", { DATA[1] } },
  { "task.end_symbol", "'1'", "''", '"" does not fit here', { DATA[1], DATA[2], DATA[3], "model.kind=decoder" } },
  { "task.longest", "100000", "1", "1 is below 2", DATA },
  { "task.options", "{ order = 'down' }", "5", "5 does not fit here", { "task.source=../tasks/own/choices.c" } },
  { "task.loss", "all", "most", "expected: all, counted", { "task.source=../tasks/own/masked_sort.c" } },
  { "task.computation", "1000", "1001", "1001 is above 1000", { "eval.lengths={ 1, 2 }" } },
  { "model", "{ layers = 1 }", "true", "true does not fit here" },
  { "model.kind", "decoder", "decodre", 'did you mean "decoder"?' },
  { "model.source", "../networks/plain.lua", "nowhere.lua", "cannot read tests/golden/specs/nowhere.lua" },
  { "model.options", "{ kind = 'gelu', ratio = 2 }", "{ deep = { 1 } }", "options.deep: a table does not fit here",
    { "model.source=../networks/plain.lua" } },
  { "model.norm", "{ kind = 'rms', place = 'pre' }", "rms", '"rms" is a string' },
  { "model.norm.kind", "rms", "batch", 'there is no kind "batch"' },
  { "model.norm.place", "pre", "before", "expected: post, pre" },
  { "model.norm.embedding", "true", "yes", "expected: true or false" },
  { "model.activation", "swiglu", "swish", "expected: relu, gelu, gelu_tanh, silu, swiglu, geglu" },
  { "model.bias", "all", "true", "expected: feedforward, all, none" },
  { "model.init", "torch", "keras", "expected: haiku, torch, xavier" },
  { "model.branch_activation", "gelu", "swiglu", "expected: none, relu, gelu, gelu_tanh, silu" },
  { "model.embedding", "linear", "onehot", "expected: table, linear" },
  { "model.readout", "last", "first", "expected: outputs, last, in_place, probe", { "task.kind=even_pairs" } },
  { "model.output", "feedforward", "deep", "expected: linear, feedforward" },
  { "model.output_bias", "false", "none", "expected: true or false" },
  { "model.tied", "true", "yes", "expected: true or false", { "model.kind=decoder" } },
  { "model.layers", "64", "65", "65 is above 64" },
  { "model.encoder_layers", "0", "-1", "-1 is below 0", { ENCODER_DECODER } },
  { "model.decoder_layers", "64", "0", "0 is below 1", { ENCODER_DECODER } },
  { "model.loops", "{ times = 4 }", "{ inject = true }", "model.loops.times: is missing" },
  { "model.loops.times", "64", "1", "1 is below 2" },
  { "model.loops.max_times", "8", "1", "1 is below 2", { "model.loops.times=vectors",
    "task.kind=latin_square" } },
  { "model.loops.progressive", "true", "1", "expected: true or false", { LOOPS } },
  { "model.loops.loss", "every", "all", "expected: last, every", { LOOPS } },
  { "model.loops.inject", "true", "1", "expected: true or false", { LOOPS } },
  { "model.loops.start", "zeros", "random", "expected: embedding, zeros, noise", { LOOPS } },
  { "model.loops.deviation", "0.5", "-1", "-1 is below 0", { LOOPS, "model.loops.start=noise" } },
  { "model.loops.norm", "inside", "outer", "expected: outside, inside", { LOOPS, PRE } },
  { "model.cell", "rnn", "gru", "\"gru\" does not fit here", { "model.kind=recurrent" } },
  { "model.cells", "40", "0", "0 is below 1", { "model.kind=recurrent", "model.cell=stack_rnn" } },
  { "model.heads", "16", "0", "0 is below 1" },
  { "model.width", "128", "72", "80 is the nearest legal value" },
  { "model.feedforward", "16", "8", "8 is below 16" },
  { "model.dropout", "0.99", "0.9901", "0.9901 is above 0.99" },
  { "model.attention_dropout", "0.5", "1", "1 is above 0.99" },
  { "model.hidden_dropout", "0.99", "-0.1", "-0.1 is below 0" },
  { "model.embedding_dropout", "0", "0.991", "0.991 is above 0.99" },
  { "model.spare_token", "false", "0", "expected: true or false" },
  { "encoding", "{ kind = 'rope' }", "word", 'there is no word.lua in spec/encodings' },
  { "encoding.rotation", "{ kind = 'none' }", "1", "1 does not fit here" },
  { "encoding.rotation.kind", "rope", "rop", 'did you mean "rope"?' },
  { "encoding.rotation.base", "500", "1", "1 is not above 1", { ROPE } },
  { "encoding.rotation.heads", "7", "8", "the model has 8 heads", { ROPE } },
  { SCALING, "{ kind = 'none' }", "4", "4 does not fit here", { ROPE } },
  { SCALING .. ".kind", "ntk", "nkt", 'did you mean "ntk"?', { ROPE, SCALING .. ".factor=4" } },
  { SCALING .. ".factor", "1.5", "0.5", "0.5 is below 1", { ROPE, SCALING .. ".kind=linear" } },
  { SCALING .. ".original_length", "41", "41.5", "41.5 is not an integer", { ROPE, YARN } },
  { SCALING .. ".beta_slow", "0", "-1", "-1 is below 0", { ROPE, YARN } },
  { SCALING .. ".beta_fast", "8", "0", "0 is not above 0", { ROPE, YARN } },
  { SCALING .. ".attention_factor", "1.25", "0", "0 is not above 0", { ROPE, YARN } },
  { "encoding.relative", "{ kind = 'none' }", "1", "1 does not fit here" },
  { "encoding.relative.kind", "transformer_xl", "xl", "expected: none, transformer_xl, shaw, cope" },
  { "encoding.relative.clip", "1", "0", "0 is below 1", { SHAW } },
  { "encoding.relative.sides", "left", "right", "expected: both, left", { SHAW, "encoding.mask.kind=causal" } },
  { "encoding.relative.rows", "2", "1", "1 is below 2", COPE },
  { "encoding.relative.divided", "false", "0", "expected: true or false", COPE },
  { "encoding.relative.init_sigma", "1", "0", "0 is not above 0", { SHAW } },
  { "encoding.projections", "{ bias = false }", "false", "false does not fit here" },
  { "encoding.projections.bias", "true", "all", "expected: true or false" },
  { "encoding.projections.output", "false", "none", "expected: true or false" },
  { "encoding.projections.init", "linear", "torch", "expected: attention, linear", { "model.init=torch" } },
  { "encoding.mask", "{ kind = 'causal' }", "1", "1 does not fit here" },
  { "encoding.mask.kind", "causal", "casual", 'did you mean "causal"?' },
  { "encoding.mask.left", "3", "-1", "-1 is below 0", { "encoding.mask.kind=window" } },
  { "encoding.mask.right", "0", "0.5", "0.5 is not an integer",
    { "encoding.mask.kind=window", "encoding.mask.left=2" } },
  { "encoding.mask.width", "0", "-1", "-1 is below 0", { "encoding.mask.kind=antidiagonal" } },
  { "encoding.mask.stride", "2", "0", "0 is below 1", { ANTIDIAGONAL } },
  { "encoding.mask.left_only", "true", "1", "expected: true or false", { ANTIDIAGONAL } },
  { "encoding.lines", "{ { head = 0, direction = 1, line = 0, value = 1 } }", "1", "1 does not fit here" },
  { "encoding.lines.list", "{ { head = 0, direction = -1, line = 2, value = 0.5 } }", "{ 1 }", "1 is not a line" },
  { "encoding.made_for", "decoder", "cross", "expected: encoder, decoder" },
  { "encoding.lines.zero_corner", "all", "some", "expected: lines, all, none", { LINE } },
  { "encoding.lines.columns", "right", "up", "expected: left, right", { LINE } },
  { "encoding.normaliser", "{ kind = 'geometric' }", "1", "1 does not fit here" },
  { "encoding.normaliser.kind", "geometric", "geometrical", 'did you mean "geometric"?' },
  { "encoding.normaliser.temperature", "0.01", "0", "0 is not above 0" },
  { "encoding.normaliser.normalised", "false", "0", "expected: true or false", { GEOMETRIC } },
  { "encoding.normaliser.directional", "false", "left", "expected: true or false", { GEOMETRIC } },
  { "encoding.normaliser.own_key", "true", "1", "expected: true or false", STICK },
  { "encoding.normaliser.rest", "own_value", "kept", "expected: dropped, own_value", STICK },
  { "encoding.positions", "{ kind = 'index' }", "1", "1 does not fit here" },
  { "encoding.positions.kind", "randomized", "random", "expected: index, randomized, grid, cyclic, digits, by_task" },
  { "encoding.positions.period", "3", "1", "1 is below 2", { "encoding.positions.kind=cyclic" } },
  { "encoding.positions.max_position", "1000", "1", "1 is below 2", { RANDOM } },
  { "encoding.positions.offset", "0", "-1", "-1 is below 0", { DIGITS, LEARNED } },
  { "encoding.positions.elsewhere", "index", "all", "expected: none, index", { DIGITS, LEARNED } },
  { "encoding.positions.sorted", "false", "0", "expected: true or false", { RANDOM } },
  { "encoding.positions.range", "one_based", "1", "expected: zero_based, one_based", { RANDOM } },
  { "encoding.positions.draw", "sequence", "head", "expected: pass, layer, sequence", { RANDOM } },
  { "encoding.positions.sides", "independent", "both", "expected: mirrored, independent", { RANDOM } },
  { "encoding.score", "{ use = 'alibi' }", "5", "5 does not fit here" },
  { "encoding.parameters", "{ width = 4 }", "4", "4 does not fit here", { WINDOW } },
  { "encoding.positions.reading", "clamped", "clamp", "expected: drawn, difference, clamped", { RANDOM } },
  { "encoding.additive", "{ kind = 'none' }", "1", "1 does not fit here" },
  { "encoding.additive.kind", "sinusoid", "sinus", "expected: none, sinusoid, learned" },
  { "encoding.additive.rows", "1000", "0", "0 is below 1", { LEARNED } },
  { "encoding.additive.at", "block", "layer", "expected: input, block", { LEARNED } },
  { "encoding.additive.channels", "interleaved", "pairs", "expected: halves, interleaved",
    { "encoding.additive.kind=sinusoid" } },
  { "encoding.additive.learned", "false", "0", "expected: true or false", { LEARNED } },
  { "encoding.additive.init", "normal", "uniform", "expected: truncated_normal, normal", { LEARNED } },
  { "encoding.additive.init_sigma", "0.02", "0", "0 is not above 0", { LEARNED } },
  { "encoding.additive.dropout", "0.99", "-0.1", "-0.1 is below 0", { LEARNED } },
  { "encoding.encoder", "{ use = 'geometric' }", "1", "1 does not fit here", { ENCODER_DECODER } },
  { "encoding.decoder", "{ kind = 'rope' }", "{ additive = { kind = 'learned' } }", "are added to the tokens",
    { ENCODER_DECODER } },
  { "encoding.layers", "{ 'rope', 'none' }", "{ 'rope' }", "expected: a list of 2 to 8 encodings",
    { "model.layers=4" } },
  { "encoding.layer2", "{ use = 'alibi' }", "{ additive = { kind = 'sinusoid' } }", "expected: encoding.additive",
    { "model.layers=4", "encoding.layers={ 'rope', 'none' }" } },
  { "encoding.layer2.times", "3", "0", "expected: an integer from 1 to 64",
    { "model.layers=4", "encoding.layers={ 'rope', 'none' }" } },
  { "encoding.cross", "{ score = { use = 'alibi' } }", "{ kind = 'ropp' }", "there is no ropp.lua",
    { ENCODER_DECODER } },
  { "train", "{ steps = 1 }", "1", "1 does not fit here" },
  { "train.batch", "65536", "65537", "65537 is above 65536" },
  { "train.shards", "128", "257", "257 is above 256" },
  { "train.block_tokens", "126", "0", "0 is below 1" },
  { "train.keep_probabilities", "false", "0", "expected: true or false" },
  { "train.steps", "2e6", "2147483648", "2147483648 is above 2147483647" },
  { "train.epochs", "3", "0", "0 is below 1", DATA },
  { "train.learning_rate", "1", "0", "0 is not above 0" },
  { "train.lengths", "{ 3, 9, step = 2 }", "{ 9, 3 }", "train.lengths[2]: 3 is below the first length, 9" },
  { "train.lengths.per", "sequence", "sentence", 'did you mean "sequence"?' },
  { "train.lengths.curriculum", "{ { until_step = 5, max = 9 } }", "{ { until_step = 5 } }",
    "train.lengths.curriculum[1].max: is missing" },
  { "train.loss_mean", "sequence", "label", "expected: token, sequence" },
  { "train.optimizer", "{ kind = 'adam' }", "adam", '"adam" is a string' },
  { "train.optimizer.kind", "sgd", "sdg", 'did you mean "sgd"?' },
  { "train.optimizer.beta1", "0", "1", "1 is not below 1" },
  { "train.optimizer.beta2", "0.99", "-1", "-1 is below 0" },
  { "train.optimizer.epsilon", "1e-6", "0", "0 is not above 0" },
  { "train.optimizer.weight_decay", "0", "-0.1", "-0.1 is below 0", { "train.optimizer.kind=adamw" } },
  { "train.optimizer.decays", "matrices", "weights", "expected: all, matrices", { "train.optimizer.kind=adamw" } },
  { "train.optimizer.momentum", "0.9", "1", "1 is not below 1", { "train.optimizer.kind=sgd" } },
  { "train.schedule", "{ kind = 'constant' }", "cosine", '"cosine" is a string' },
  { "train.schedule.kind", "linear", "step", "expected: constant, linear, cosine" },
  { "train.schedule.warmup", "100", "0.5", "0.5 is not an integer" },
  { "train.schedule.final", "0.1", "1", "1 is not below 1", { "train.schedule.kind=cosine" } },
  { "train.clip", "{ kind = 'none' }", "none", '"none" is a string' },
  { "train.clip.kind", "none", "value", "expected: none, global_norm" },
  { "train.clip.max_norm", "0.5", "0", "0 is not above 0" },
  { "train.cadence", "epochs", "batches", "expected: steps, epochs", DATA },
  { "train.log_every", "1", "0", "0 is below 1" },
  { "train.checkpoint", "{ every = 5 }", "5", "5 does not fit here" },
  { "train.checkpoint.every", "5", "2.5", "2.5 is not an integer" },
  { "train.checkpoint.minutes", "0", "-1", "-1 is below 0" },
  { "train.checkpoint.keep", "{ 0, 200 }", "first", "expected: last, all, or an ascending list of steps" },
  { "train.checkpoint.best", "{ metric = 'loss' }", "loss", '"loss" is a string', BEST },
  { "train.checkpoint.best.metric", "exact_match", "perplexity", "expected: accuracy, exact_match, loss", BEST },
  { "train.checkpoint.best.tie", "earliest", "first", "expected: latest, earliest", BEST },
  { "train.patience", "5", "0", "0 is below 1", BEST },
  { "eval", "{ draws = 2 }", "1", "1 does not fit here" },
  { "eval.lengths", "{ list = { 6, 10, 50 } }", "{ 6, 10, 50 }", "write { list = { 6, 10, 50 } }" },
  { "eval.by", "{ digits = { 0, 50 }, length = { list = { 2, 4 } }, carry = true }", "{ digits = 5 }",
    "eval.by.digits: 5 does not fit here", AXES },
  { "eval.splits", "{ 'test', 'train' }", "{ 'tests' }", 'did you mean "test"?', DATA },
  { "eval.order", "file", "first", "expected: hash, file", DATA },
  { "eval.novel", "true", "1", "expected: true or false", TRAINED },
  { "eval.examples", "1", "0", "0 is below 1" },
  { "eval.batch", "64", "0", "0 is below 1" },
  { "eval.draws", "4", "0", "0 is below 1" },
  { "eval.decoding", "teacher_forced", "beam", "expected: greedy, teacher_forced", { "model.kind=decoder" } },
  { "eval.places", "true", "1", "expected: true or false" },
  { "eval.dropout", "true", "1", "expected: true or false" },
  { "eval.noise", "relative", "loud", "expected: absolute, relative" },
  { "eval.validation", "{ examples = 5 }", "5", "5 does not fit here" },
  { "eval.validation.lengths", "{ 2, 4 }", "{ 2, 41 }", "41 is not a training length" },
  { "eval.validation.examples", "0", "-1", "-1 is below 0" },
  { "eval.during", "{ every = 5 }", "{ examples = 5 }", "eval.during.every: is missing" },
  { "eval.during.every", "5", "0", "0 is below 1" },
  { "eval.during.lengths", "{ 50, 60 }", "50", "write { 50, 50 }", { DURING } },
  { "eval.during.by", "{ carry = { 0, 8, step = 2 } }", "{ 5 }", "a table does not fit here", DURING_AXES },
  { "eval.during.splits", "{ 'train' }", "{}", "expected: a list of train, test, validation", DURING_AXES },
  { "eval.during.examples", "64", "none", '"none" is a string', { DURING } },
}

-- Validates a spec with the further settings of a case and this text of its field.
local function check_with(case, text)
  local sets = support.sets(case[5] or {})
  sets[#sets + 1] = { path = case[1], text = text }
  local has_dataset = case[5] and case[5][1] == DATA[1] or case[1] == "task.seed"
  local spec = has_dataset and "bare" or "plain" -- a dataset has the lengths of its files, so bare.lua has none
  return support.check(("tests/golden/specs/%s.lua"):format(spec), sets)
end

function TestSchema.test_every_field_accepts()
  for _, case in ipairs(CASES) do
    local resolved, _, d = check_with(case, case[2])
    lu.assertNotNil(resolved, case[1] .. "\n" .. d:text())
  end
end

function TestSchema.test_every_field_refuses()
  for _, case in ipairs(CASES) do
    local resolved, _, d = check_with(case, case[3])
    lu.assertNil(resolved, case[1])
    lu.assertStrContains(d:text(), case[4])
    lu.assertStrContains(d:text(), "error: " .. case[1])
  end
end

-- A family's field refuses the same values as the facet's field, with its own name in the message.
function TestSchema.test_fields_of_families_refuse_the_values_of_their_facets()
  for _, case in ipairs(CASES) do
    local facet = case[1]:match("^encoding%.(%l+)")
    if facet and families.is_facet[facet] and case[1] ~= "encoding.score" then
      local path = "encoding.encoder." .. case[1]:match("^encoding%.(.*)$")
      local sets = { ENCODER_DECODER }
      for i, set in ipairs(case[5] or {}) do
        sets[i + 1] = set:gsub("^encoding%.", "encoding.encoder.")
      end
      local _, _, d = check_with({ path, nil, nil, nil, sets }, case[3])
      lu.assertStrContains(d:text(), "error: " .. path)
    end
  end
end

function TestSchema.test_every_field_has_a_case()
  local tested_paths = {}
  for _, case in ipairs(CASES) do
    lu.assertNotNil(schema.by_path[case[1]], case[1] .. " is not a field")
    tested_paths[case[1]] = true
  end
  for _, field in ipairs(schema.fields) do
    lu.assertTrue(tested_paths[field.path] or field.numbered, field.path .. " has no case here")
  end
end

function TestSchema.test_entries_are_complete()
  local types = { table = true, kind = true, choice = true, integer = true, number = true, boolean = true,
    lengths = true, keep = true, score = true, parameters = true, source = true, network = true, file = true,
    checkpoint = true, lines = true, symbols = true, symbol = true, options = true, settings = true, by = true,
    names = true, name = true, curriculum = true, layers = true }
  for _, field in ipairs(schema.fields) do
    lu.assertTrue(types[field.type], field.path)
    lu.assertIsString(field.doc, field.path)
    if field.type ~= "table" then
      local has_default = field.default ~= nil or field.default_text ~= nil
      lu.assertTrue(has_default or field.required or field.optional, field.path .. " has no default")
    end
    if type(field.default) == "function" or type(field.default) == "table" then
      lu.assertIsString(field.default_text, field.path .. " has no default_text")
    end
    if field.only then
      local parent = field.path:match("^(.*)%.")
      for _, name in ipairs(field.only) do
        lu.assertStrContains(schema.describe_values(schema.by_path[parent .. ".kind"]), name)
      end
    end
  end
end

function TestSchema.test_defaults_are_legal()
  local needed_sets = {}
  for _, case in ipairs(CASES) do
    needed_sets[case[1]] = case[5]
  end
  for _, field in ipairs(schema.fields) do
    if not field.numbered and (type(field.default) == "number" or type(field.default) == "string") then
      local sets = { DURING, table.unpack(needed_sets[field.path] or {}) }
      local resolved, _, d = check_with({ field.path, nil, nil, nil, sets }, tostring(field.default))
      lu.assertNotNil(resolved, field.path .. "\n" .. d:text())
    end
  end
end

function TestSchema.test_fields_text_names_every_field()
  local text = schema.format_fields(true)
  for _, field in ipairs(schema.fields) do
    lu.assertEquals(text:find("\n" .. field.path, 1, true) ~= nil, not field.numbered, field.path)
    lu.assertTrue(field.numbered or text:find(field.doc, 1, true) ~= nil, field.path)
  end
  lu.assertStrContains(text, "a number from 0 to below 1\n")
  lu.assertStrContains(text, "a number from 0 to 0.99; unit: share of elements\n")
  support.assert_golden("tests/golden/fields.txt", text)
end

function TestSchema.test_fields_text_of_one_section_and_of_most_specs()
  local common_fields, section = schema.format_fields(), schema.format_fields(false, "encoding.positions")
  lu.assertStrContains(common_fields, "\ntrain.batch\n")
  lu.assertNotStrContains(common_fields, "\ntrain.shards\n")
  lu.assertStrContains(common_fields, "fields that few specs need are not listed: add --all")
  lu.assertStrContains(section, "\nencoding.positions.range  (kind randomized)\n")
  lu.assertEquals({ section:find("encoding%.[^p]") }, {})
  lu.assertEquals({ schema.format_fields(false, "encoding.position") }, { nil, "encoding.positions" })
end

function TestSchema.test_facts_are_fields_and_words_of_formulas()
  local facts = schema.list_facts()
  lu.assertEquals(#facts.fields, lists.count(schema.fields, function(field) return not field.numbered end))
  lu.assertEquals(facts.fields[1].path, "precision")
  lu.assertEquals(facts.fields[1].default, "float32")
  lu.assertEquals(facts.formulas.operators, { __add = "+", __sub = "-", __mul = "*", __div = "/", __idiv = "//",
    __mod = "%", __pow = "^", __unm = "-" })
  lu.assertEquals(facts.formulas.refused.__lt.expected, "less(a, b)")
  lu.assertEquals(facts.formulas.functions[1], "abs")
  lu.assertEquals(facts.formulas.symbols[1], "score")
end

-- list_absent returns, in a fixed order, the identifiers that generated code of a spec must not contain. Each local
-- text below is a part of this list.
function TestSchema.test_absent_identifiers_follow_the_features()
  local function list_absent(...)
    local resolved = assert(support.check("tests/golden/specs/plain.lua", support.sets({ ... })))
    return table.concat(cases.list_absent_features(resolved), " ")
  end
  local noise = " add_noise"
  local updates = " adamw_update kernels/cpu/sgd.h momentum" .. noise
  local absent_words = updates .. " EVAL_DROPOUT"
  local score = " placed score_pair score_tables" .. absent_words
  local sampled = "GRID_WIDTH cyclic token_positions FIRST_POSITION draw_sequence signed_distances "
  local geometric = "geometric break_stick LEAST_TOTAL direction_scale DIRECTION_WIDTH "
  local counts = "count_table COUNT_ROWS "
  local relative = "position_bias table_row relative_table " .. counts .. "visible " .. geometric
  local scalings = "interpolated log_base scale_speed "
  local common_words = "w->passes free_passes pass_sums draw_start ATTENTION_KEEP_SCALE HIDDEN_KEEP_SCALE "
  local rotations = common_words .. "ROTATION_PERIOD rotation " .. scalings
  lu.assertEquals(list_absent(), rotations .. relative .. "lh_draw_ " .. sampled .. "sinusoid position_table" .. score)
  lu.assertEquals(list_absent("model.dropout=0"),
    (rotations:gsub("draw_start ", "%0dropout ", 1)) .. relative .. "lh_draw_ " .. sampled .. "sinusoid position_table"
      .. score)
  lu.assertEquals(list_absent("model.dropout=0", LEARNED, "encoding.additive.dropout=0.1"),
    rotations .. relative .. "lh_draw_ " .. sampled .. "sinusoid" .. score)
  lu.assertEquals(list_absent(RANDOM, LEARNED), rotations .. relative .. sampled .. "sinusoid" .. score)
  lu.assertEquals(list_absent(RANDOM, ROPE),
    common_words .. scalings .. relative .. sampled .. "sinusoid position_table" .. score)
  lu.assertEquals(list_absent(RANDOM), list_absent())
  lu.assertEquals(list_absent(ROPE, "encoding.additive.kind=sinusoid"),
    common_words .. scalings .. relative .. "lh_draw_ " .. sampled .. "position_table" .. score)
  lu.assertEquals(list_absent(XL),
    rotations .. "table_row relative_table " .. counts .. "visible " .. geometric .. "lh_draw_ " .. sampled
    .. "position_table" .. score)
  lu.assertEquals(list_absent(SHAW, RANDOM),
    rotations .. "position_bias " .. counts .. "visible " .. geometric .. sampled .. "sinusoid position_table" .. score)
  lu.assertEquals(list_absent(ROPE, YARN, RANDOM),
    common_words .. "interpolated log_base " .. relative .. sampled .. "sinusoid position_table" .. score)
  lu.assertEquals(list_absent(GEOMETRIC, "encoding.normaliser.normalised=false"), rotations
    .. "position_bias table_row relative_table " .. counts .. "visible break_stick LEAST_TOTAL lh_draw_ " .. sampled
    .. "sinusoid position_table" .. score)
  lu.assertEquals(list_absent("encoding.score={ use = 'alibi' }"),
    rotations .. relative .. "lh_draw_ " .. sampled .. "sinusoid position_table placed" .. absent_words)
  -- The resolved spec lacks choices without effect, too.
  lu.assertEquals(list_absent(RANDOM, ROPE, "encoding.positions.sides=independent",
    "encoding.positions.range=one_based"),
    common_words .. scalings .. relative
      .. "GRID_WIDTH cyclic token_positions draw_sequence signed_distances sinusoid position_table" .. score)
  lu.assertEquals(list_absent(RANDOM, SHAW, "encoding.positions.sides=independent",
    "encoding.positions.range=one_based"),
    rotations .. "position_bias " .. counts .. "visible " .. geometric
    .. "GRID_WIDTH cyclic token_positions FIRST_POSITION draw_sequence sinusoid position_table" .. score)
  lu.assertEquals(list_absent(RANDOM, LEARNED, "encoding.positions.draw=sequence", "eval.dropout=true"),
    rotations .. relative .. "GRID_WIDTH cyclic token_positions FIRST_POSITION signed_distances sinusoid "
      .. "placed score_pair score_tables" .. updates)
  lu.assertEquals(list_absent("model.dropout=0", "eval.dropout=true"), list_absent("model.dropout=0"))
  local without_dropout = list_absent("model.dropout=0"):gsub("dropout ", "", 1)
  lu.assertEquals(list_absent("model.dropout=0", "model.embedding_dropout=0.1"), without_dropout)
  lu.assertEquals(list_absent("model.dropout=0", "model.attention_dropout=0.1"),
    (without_dropout:gsub("ATTENTION_KEEP_SCALE ", "")))
  lu.assertEquals(list_absent("model.dropout=0", "model.hidden_dropout=0.1"),
    (without_dropout:gsub("HIDDEN_KEEP_SCALE ", "")))
  local function list_absent_updates(optimizer)
    return (list_absent("train.optimizer=" .. optimizer):gsub("^.*score_tables ", ""))
  end
  lu.assertEquals(list_absent_updates("{ kind = 'adamw' }"),
    "adam_update kernels/cpu/sgd.h momentum" .. noise .. " EVAL_DROPOUT")
  lu.assertEquals(list_absent_updates("{ kind = 'adamw', weight_decay = 0 }"), list_absent_updates("{ kind = 'adam' }"))
  lu.assertEquals(list_absent_updates("{ kind = 'sgd' }"),
    "adam_update adamw_update momentum" .. noise .. " EVAL_DROPOUT")
  lu.assertEquals(list_absent_updates("{ kind = 'sgd', momentum = 0.9 }"),
    "adam_update adamw_update" .. noise .. " EVAL_DROPOUT")
end

support.run()
