-- generator/spec/validate.lua and spec/rules: the resolved spec, its origins, the rules between fields, warnings.

local support = dofile("tests/lua/support.lua")
local lists = require("base.lists")
local lu = require("luaunit")
local resolved_spec = require("spec.resolved")
local write = require("base.write")

TestValidate = {}

local accept, refuse = support.accept, support.refuse

local TASK = 'task = { kind = "bucket_sort" }, '

function TestValidate.test_defaults_are_those_of_the_paper()
  local resolved = accept("return { " .. TASK .. "}")
  lu.assertEquals(resolved, {
    id = "probe", source = "probe.lua", precision = "float32",
    task = { kind = "bucket_sort" },
    model = { kind = "encoder", layers = 5, heads = 8, width = 64, feedforward = 256, dropout = 0.1 },
    encoding = { rotation = { kind = "none" }, relative = { kind = "none" }, positions = { kind = "index" },
      additive = { kind = "none" } },
    train = { batch = 128, shards = 16, steps = 2000000, learning_rate = 3e-4,
      lengths = { first = 1, last = 40, step = 1 },
      optimizer = { kind = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 },
      clip = { kind = "global_norm", max_norm = 1.0 }, log_every = 100,
      checkpoint = { every = 10000, minutes = 10.0, keep = "last" } },
    eval = { lengths = { first = 41, last = 500, step = 1 }, examples = 500, draws = 1 },
  })
end

function TestValidate.test_options_of_a_task_are_resolved_with_their_defaults()
  support.write("choices.c", support.read("tests/golden/tasks/own/choices.c"))
  local resolved, info = accept('return { task = { source = "choices.c", options = { base = 10 } } }')
  lu.assertEquals(resolved.task.options, { order = "up", base = 10 })
  lu.assertEquals({ info.origins["task.options.order"], info.origins["task.options.base"] },
    { "default", "probe.lua:1:53" })
  lu.assertStrContains(resolved_spec.format(resolved, info.origins), 'task.options.base ')
  lu.assertNil(accept("return { " .. TASK .. "}").task.options)
end

function TestValidate.test_a_spec_may_state_a_default_that_the_resolved_spec_omits()
  local written = accept('return { task = { kind = "bucket_sort", computation = 0 }, model = { spare_token = true } }')
  lu.assertEquals(written, accept("return { " .. TASK .. "}"))
  local resolved, info = accept('return { task = { kind = "bucket_sort", computation = 2 }, '
    .. "model = { spare_token = false } }")
  lu.assertEquals({ resolved.task.computation, resolved.model.spare_token }, { 2, false })
  lu.assertStrContains(info.warnings[1], "model.spare_token: false has no effect")
end

-- A table whose fields all have their defaults is left out of the resolved spec. Any other table keeps only the fields
-- with other values.
function TestValidate.test_a_model_s_defaults_are_left_out()
  local function resolve_model(fields)
    return accept("return { " .. TASK .. "model = { layers = 2, " .. fields .. " } }").model
  end
  local resolved = resolve_model("")
  lu.assertEquals(resolve_model('norm = {}'), resolved)
  lu.assertEquals(resolve_model('norm = { kind = "layer", place = "post" }, activation = "relu", bias = "feedforward", '
    .. 'init = "haiku"'), resolved)
  lu.assertEquals(resolve_model('norm = { kind = "layer", place = "pre" }').norm, { place = "pre" })
  lu.assertEquals(resolve_model('norm = { kind = "rms", place = "post" }').norm, { kind = "rms" })
  local decoder = resolve_model('kind = "decoder", tied = false')
  lu.assertEquals(decoder, { kind = "decoder", layers = 2, heads = 8, width = 64, feedforward = 256, dropout = 0.1 })
end

function TestValidate.test_a_decoder_sees_no_right_side()
  local function list_warnings(kind, mask)
    local _, info = accept(("return { %s model = { kind = %q }, encoding = { mask = %s } }"):format(TASK, kind, mask))
    return table.concat(info.warnings, "\n")
  end
  lu.assertStrContains(list_warnings("decoder", '{ kind = "window", left = 3, right = 2 }'),
    "encoding.mask.right: 2 has no effect: a decoder sees no key after the query")
  lu.assertEquals(list_warnings("decoder", '{ kind = "window", left = 3 }'), "")
  lu.assertEquals(list_warnings("decoder", '{ kind = "window", left = 3, right = 0 }'), "")
  lu.assertEquals(list_warnings("encoder", '{ kind = "window", left = 3, right = 2 }'), "")
  lu.assertEquals(list_warnings("encoder_decoder", '{ kind = "window", left = 3, right = 2 }'), "")
  local _, info = accept("return { " .. TASK .. [[ model = { kind = "encoder_decoder" },
    encoding = { decoder = { mask = { kind = "window", left = 3, right = 2 } } } }]])
  lu.assertEquals(info.warnings, { "encoding.decoder.mask.right: 2 has no effect: a decoder sees no key after the "
    .. "query" })
end

-- An axis with the name of another key would be read as that key, or hide it in tables of evaluations.
function TestValidate.test_axes_have_names_of_their_own()
  local function make_spec(names)
    return ('return { task = { data = "x.jsonl", input_symbols = 3, output_symbols = 3, axes = { %s } } }'):format(
      names)
  end
  accept(make_spec('"digits", "carry"'))
  refuse(make_spec('"digits", "length"'), 'task.axes[2]: "length" is already a key of examples or results')
  refuse(make_spec('"input"'), 'task.axes[1]: "input" is already a key of examples or results')
  refuse(make_spec('"seed"'), 'task.axes[1]: "seed" is already a key of examples or results')
  refuse(make_spec('"Digits"'), 'task.axes[1]: "Digits" does not fit here')
  refuse(make_spec('"Digits"'), "expected: a list of names of up to 40 characters: a-z, 0-9 and _, a letter first")
end

-- A facet of `encoding` applies to the attention families that have no such facet of their own.
function TestValidate.test_geometric_attention_is_for_an_encoder()
  local text = "return { " .. TASK .. [[ model = { kind = "encoder_decoder" },
    encoding = { normaliser = { kind = "geometric" }, %s } }]]
  local softmax = '%s = { normaliser = { kind = "softmax" } }'
  local attentions = softmax:format("decoder") .. ", " .. softmax:format("cross")
  lu.assertEquals(accept(text:format(attentions)).encoding.normaliser.kind, "geometric")
  refuse(text:format(softmax:format("cross")), "is only for the encoder's self-attention")
  refuse(text:format(softmax:format("encoder")), "is only for the encoder's self-attention")
end

function TestValidate.test_a_family_uses_no_preset_that_adds_vectors()
  local text = "return { " .. TASK .. [[ model = { kind = "encoder_decoder" },
    encoding = { kind = "alibi", cross = { use = "sinusoid" } } }]]
  refuse(text, "encoding.cross.additive: vectors of positions are added to the tokens")
  refuse(text, "hint: instead of `use`, write the preset's facets in encoding.cross, without `additive`")
end

function TestValidate.test_defaults_follow_other_fields()
  local resolved = accept("return { " .. TASK .. [[
    model = { dropout = 0.2 }, train = { batch = 5 },
    encoding = { positions = { kind = "randomized", max_position = 3000 }, additive = { kind = "learned" } },
    eval = { lengths = { 5, 9, step = 2 }, during = { every = 10 } } }]])
  lu.assertEquals(resolved.train.shards, 5)
  lu.assertEquals(resolved.encoding.additive, { kind = "learned", rows = 3000, init_sigma = 1.0, dropout = 0.2 })
  lu.assertEquals(resolved.encoding.positions.draw, "pass")
  lu.assertEquals(resolved.eval.during, { every = 10, lengths = { first = 5, last = 9, step = 2 }, examples = 128 })
  resolved = accept("return { " .. TASK .. 'encoding = { kind = "rope", positions = { kind = "randomized" } } }')
  lu.assertEquals(resolved.encoding.positions.draw, "layer")
  for _, kind in ipairs({ "relative", "shaw" }) do
    resolved = accept("return { " .. TASK
      .. ('encoding = { kind = %q, positions = { kind = "randomized" } } }'):format(kind))
    lu.assertEquals({ resolved.encoding.positions.draw, resolved.encoding.positions.reading }, { "layer", "drawn" })
  end
  lu.assertEquals(resolved.encoding.relative, { kind = "shaw", clip = 16 })
end

-- Presets are complete, and can be changed and switched off. The kind "none" gives the same spec as no scaling.
function TestValidate.test_scalings_of_rope_can_be_changed_and_switched_off()
  local function resolve_rotation(encoding)
    return accept("return { " .. TASK .. "encoding = { " .. encoding .. " } }").encoding.rotation
  end
  local function make_rope(scaling)
    return { kind = "rope", base = 10000.0, scaling = scaling }
  end
  lu.assertEquals(resolve_rotation('kind = "rope_linear"'), make_rope({ kind = "linear", factor = 4.0 }))
  lu.assertEquals(resolve_rotation('kind = "rope_ntk", rotation = { scaling = { factor = 2.5 } }'),
    make_rope({ kind = "ntk", factor = 2.5 }))
  lu.assertEquals(resolve_rotation('kind = "rope_yarn"'),
    make_rope({ kind = "yarn", factor = 4.0, beta_slow = 1.0, beta_fast = 32.0 }))
  lu.assertEquals(resolve_rotation('kind = "rope_yarn", rotation = { scaling = { kind = "linear", factor = 8 } }'),
    make_rope({ kind = "linear", factor = 8.0 }))
  lu.assertEquals(resolve_rotation('kind = "rope_yarn", rotation = { scaling = { kind = "none" } }'), make_rope())
  lu.assertEquals(resolve_rotation('kind = "rope_yarn", rotation = { kind = "none" }'), { kind = "none" })
  refuse("return { " .. TASK .. "encoding = { rotation = { scaling = { kind = 'linear', factor = 4 } } } }",
    'encoding.rotation.scaling: no such field for kind "none"')
end

function TestValidate.test_numbers_have_one_form()
  local resolved = accept("return { " .. TASK
    .. "model = { dropout = 0 }, train = { steps = 2e6, clip = { max_norm = 2 } } }")
  lu.assertEquals(math.type(resolved.train.steps), "integer")
  lu.assertEquals(math.type(resolved.model.dropout), "float")
  lu.assertEquals(math.type(resolved.train.clip.max_norm), "float")
  lu.assertEquals(math.type(resolved.train.checkpoint.minutes), "float")
  refuse("return { " .. TASK .. "train = { steps = 1e300 } }", "train.steps: 1e300 is above 2147483647")
  refuse("return { " .. TASK .. "train = { steps = 1.5 } }", "train.steps: 1.5 is not an integer")
end

function TestValidate.test_every_form_of_lengths_is_read()
  local function resolve_lengths(text)
    return accept("return { " .. TASK .. "eval = { lengths = " .. text .. " } }").eval.lengths
  end
  lu.assertEquals(resolve_lengths("{ 5, 5 }"), { first = 5, last = 5, step = 1 })
  lu.assertEquals(resolve_lengths("{ 1.0, 100000, step = 7 }"), { first = 1, last = 100000, step = 7 })
  lu.assertEquals(resolve_lengths("{ list = { 6, 10, 50 } }"), { list = { 6, 10, 50 } })
  for text, message in pairs({
    ["{ 0, 5 }"] = "eval.lengths[1]: 0 is out of range", ["{ 1, 100001 }"] = "eval.lengths[2]: 100001 is out of range",
    ["{ 1, 'x' }"] = "eval.lengths[2]", ["{ 1, 5, step = 0 }"] = "eval.lengths.step: 0 is out of range",
    ["{ 1, 5, list = { 1 } }"] = "eval.lengths.list", ["{ list = { 5, 3 } }"] = "eval.lengths.list[2]: 3 follows 5",
    ["{ list = {} }"] = "eval.lengths.list: the list is empty", ["{}"] = "eval.lengths: no lengths are given",
    ["{ 5 }"] = "write { list = { 5 } }", ["{ list = { 1 }, step = 2 }"] = "eval.lengths.step",
    ["{ first = 1, last = 5 }"] = "eval.lengths.first: no such field",
    ["{ list = 5 }"] = "eval.lengths.list: 5 is not a list",
    ["{ { 1, 2 }, 3 }"] = "eval.lengths[1]: a table is not an integer",
  }) do
    refuse("return { " .. TASK .. "eval = { lengths = " .. text .. " } }", message)
  end
end

function TestValidate.test_a_function_fits_only_the_score()
  refuse("return { " .. TASK .. "train = { steps = function() end } }",
    "only encoding.score can be a function")
  refuse("return { " .. TASK .. "encoding = { scores = function(x) return x end } }", 'did you mean "score"?')
  refuse("return { " .. TASK .. "model = function() end }", "model: a function does not fit here")
end

function TestValidate.test_inherited_fields_of_another_kind_are_dropped()
  support.write("base.lua", "return { " .. TASK .. "train = { clip = { max_norm = 2 } } }")
  local resolved = accept('return { use = "./base.lua", train = { clip = { kind = "none" } } }')
  lu.assertEquals(resolved.train.clip, { kind = "none" })
  resolved = accept('return { use = "./base.lua", train = { clip = { kind = "global_norm" } } }')
  lu.assertEquals(resolved.train.clip, { kind = "global_norm", max_norm = 2.0 })
  refuse("return { " .. TASK .. 'train = { clip = { kind = "none", max_norm = 2 } } }',
    'train.clip.max_norm: no such field for kind "none"')
end

function TestValidate.test_sequences_fit_their_encoding()
  local learned = "return { " .. TASK .. 'encoding = { additive = { kind = "learned", rows = %d } } }'
  accept(learned:format(1000)) -- 500 input tokens and 500 output tokens
  refuse(learned:format(999), "eval.lengths[2]: length 500, a sequence of 1000 tokens, is past the learned table")
  local random = "return { " .. TASK
    .. 'encoding = { kind = "sinusoid", positions = { kind = "randomized", max_position = %d } } }'
  accept(random:format(1000))
  refuse(random:format(999), "is past the range of positions")
  local one_based = "encoding = { kind = %q, positions = { kind = 'randomized', max_position = %d, "
    .. "range = 'one_based' } } }"
  accept("return { " .. TASK .. one_based:format("alibi", 999)) -- distances to 999 other tokens
  refuse("return { " .. TASK .. one_based:format("alibi", 998), "is past the range of positions")
  accept("return { " .. TASK .. one_based:format("learned", 1000))
  refuse("return { " .. TASK .. one_based:format("learned", 999), "is past the range of positions")
  local during = learned:format(1000):gsub("}$", ", eval = { during = { every = 1, lengths = { 1, 501 } } } }")
  refuse(during, "eval.during.lengths[2]: length 501")
  refuse("return { " .. TASK .. [[encoding = { positions = { kind = "randomized" },
    additive = { kind = "learned", rows = 2047 } } }]], "2047 rows are fewer than the positions that can be sampled")
end

-- The time to check a file name is proportional to its length, for any content.
function TestValidate.test_long_names_of_files_are_refused_in_linear_time()
  for _, name in ipairs({ ("x"):rep(300000), ("x"):rep(300000) .. "/", ("/x"):rep(100000) }) do
    local began = os.clock()
    refuse(("return { task = { source = %q } }"):format(name), "task.source")
    refuse(("return { %smodel = { source = %q } }"):format(TASK, name), "model.source")
    lu.assertTrue(os.clock() - began < 5)
  end
end

function TestValidate.test_widths_of_heads_are_multiples_of_4_in_limits()
  accept("return { " .. TASK .. "model = { width = 96, heads = 24 } }")
  refuse("return { " .. TASK .. "model = { width = 80, heads = 8 } }",
    "the head width 80 / 8 = 10 is not a multiple of 4")
  accept("return { " .. TASK .. "model = { width = 1024, heads = 4 } }")
  refuse("return { " .. TASK .. "model = { width = 1024, heads = 2 } }",
    "the head width 1024 / 2 = 512 is above 256")
  refuse("return { " .. TASK .. "model = { width = 80, heads = 7 } }", "7 does not divide the width, 80")
  refuse("return { " .. TASK .. 'encoding = { kind = "rope" }, model = { width = 80, heads = 8 } }',
    "rope rotates channels in pairs")
end

function TestValidate.test_shards_fit_the_batch()
  accept("return { " .. TASK .. "train = { batch = 16, shards = 16 } }")
  refuse("return { " .. TASK .. "train = { batch = 8, shards = 16 } }", "train.shards: 16 shards for a batch of 8")
end

-- The sequences have up to 12 queries and 12 keys, so line 11 is the last line that contains a pair.
function TestValidate.test_lines_beyond_all_sequences_are_warned_about()
  local function list_warnings(facets, lengths)
    local _, info = accept(("return { %s encoding = { %s }, model = { kind = 'encoder_decoder' }, train = { lengths = "
      .. "{ 1, 10 } }, eval = { lengths = %s } }"):format(TASK, facets, lengths or "{ 1, 12 }"))
    return table.concat(info.warnings, "\n")
  end
  local function make_lines(...) -- each argument: { direction, line }
    local list = lists.map({ ... }, function(entry)
      return ("{ head = 3, direction = %d, line = %d, value = 1 }"):format(entry[1], entry[2])
    end)
    return "lines = { " .. table.concat(list, ", ") .. " }"
  end
  local outermost = "cross = { " .. make_lines({ 1, 11 }, { 1, -11 }, { -1, 11 }, { -1, -11 }, { 0, 11 }) .. " }"
  lu.assertEquals(list_warnings(outermost), "")
  lu.assertEquals(list_warnings("cross = { " .. make_lines({ 1, 11 }) .. " }", "{ 1, 5 }"),
    "encoding.cross.lines: line 11 "
    .. "of direction 1 in head 3 contains no pair: the longest sequences have 10 queries and 10 keys")
  for _, entry in ipairs({ { 1, 12 }, { 1, -12 }, { -1, 12 }, { -1, -12 }, { 0, 12 } }) do
    lu.assertStrContains(list_warnings("cross = { " .. make_lines(entry) .. " }"), "contains no pair")
  end
  lu.assertStrContains(list_warnings("cross = { " .. make_lines({ 1, 40 }, { 1, 41 }, { 1, 0 }) .. " }"),
    "line 40 of direction 1 in head 3, and 1 more, contain no pair: ")
  local line = make_lines({ 1, 1 })
  lu.assertStrContains(list_warnings("decoder = { " .. line .. " }"), "encoding.decoder.lines: line 1 of ")
  lu.assertEquals(list_warnings("encoder = { " .. line .. " }"), "")
  lu.assertStrContains(list_warnings("encoder = { mask = { kind = 'causal' }, " .. line .. " }"), "contains no pair")
  local corner = make_lines({ 1, 0 }):gsub("{ ", "{ zero_corner = 'all', ", 1)
  lu.assertStrContains(list_warnings("decoder = { " .. corner .. " }"),
    "encoding.decoder.lines.zero_corner has no effect")
  lu.assertEquals(list_warnings("cross = { " .. corner .. " }"), "")
end

-- The field `list` may be left out, and the order of lines does not matter. A family switches off the lines of
-- `encoding` by an empty list.
function TestValidate.test_lines_are_read_in_every_form()
  local function resolve(facets)
    return (accept(("return { %s encoding = { %s }, model = { kind = 'encoder_decoder' } }"):format(TASK, facets)))
  end
  local first_line = "{ head = 3, direction = -1, line = 0, value = 2 }"
  local second_line = "{ head = 3, direction = -1, line = -1, value = 1 }"
  local plain = resolve(("cross = { lines = { %s, %s } }"):format(first_line, second_line))
  lu.assertEquals(resolve(("cross = { lines = { list = { %s, %s } } }"):format(second_line, first_line)), plain)
  lu.assertEquals(plain.encoding.cross.lines, { zero_corner = "lines", list = {
    { head = 3, direction = -1, line = -1, value = 1.0 }, { head = 3, direction = -1, line = 0, value = 2.0 } } })
  local encoding = resolve(("lines = { %s }, encoder = { lines = { list = {} } }"):format(first_line)).encoding
  lu.assertEquals({ #encoding.lines.list, #encoding.encoder.lines.list, #encoding.cross.lines.list }, { 1, 0, 0 })
end

function TestValidate.test_lines_and_masks_are_read_again_from_run_json()
  local spec_writer = require("lab.study.read.spec_writer")
  local resolved = accept("return { " .. TASK .. [[ model = { kind = "encoder_decoder" }, encoding = {
    lines = { { head = 0, direction = 1, line = 0, value = 0.1 } }, encoder = { lines = { list = {} } },
    positions = { kind = "cyclic", period = 3 }, additive = { kind = "sinusoid" },
    cross = { lines = { list = {} }, mask = { kind = "antidiagonal", width = 1 } } } }]])
  lu.assertEquals((accept(assert(spec_writer.write_spec(resolved)))), resolved)
end

function TestValidate.test_accepted_specs_may_have_warnings()
  local function list_warnings(text)
    local _, info = accept("return { " .. TASK .. text .. " }")
    return table.concat(info.warnings, "\n")
  end
  lu.assertEquals(list_warnings(""), "")
  lu.assertStrContains(list_warnings('encoding = { positions = { kind = "randomized" } }'),
    "nothing reads the random positions")
  -- Facets of one attention may be the only ones that read the positions of all attentions.
  local crossed = 'model = { kind = "encoder_decoder" }, encoding = { positions = { kind = "randomized", '
    .. 'sorted = false, draw = "layer", reading = "difference" }, '
    .. "cross = { score = function(x) return x.score + x.%s end, %s } }"
  lu.assertEquals(list_warnings(crossed:format("distance", "")):match("encoding[^\n]*"), nil)
  lu.assertStrContains(list_warnings(crossed:format("head", "")), "nothing reads the random positions")
  lu.assertStrContains(list_warnings(crossed:format("distance", "positions = { kind = 'randomized' }")),
    "nothing reads the random positions")
  lu.assertStrContains(
    list_warnings('encoding = { kind = "sinusoid", positions = { kind = "randomized", draw = "layer" } }'),
    'the same as "pass"')
  lu.assertEquals(list_warnings('encoding = { additive = { kind = "sinusoid", at = "block" }, positions = { '
    .. 'kind = "randomized", draw = "layer" } }'), "")
  for _, scheme in ipairs({ "relative", "rope", "shaw" }) do
    lu.assertEquals(list_warnings(('encoding = { kind = %q, positions = { kind = "randomized" } }'):format(scheme)), "")
  end
  lu.assertEquals(
    list_warnings('encoding = { kind = "shaw", positions = { kind = "randomized", reading = "clamped" } }'), "")
  lu.assertStrContains(
    list_warnings('encoding = { kind = "rope", positions = { kind = "randomized", reading = "clamped" } }'),
    "nothing reads distances")
  lu.assertStrContains(
    list_warnings('encoding = { kind = "alibi", positions = { kind = "randomized", sorted = false } }'),
      "always ascend")
  lu.assertEquals(list_warnings('encoding = { kind = "alibi", additive = { kind = "sinusoid" }, '
    .. 'positions = { kind = "randomized", sorted = false } }'), "")
  local function list_random_warnings(kind, fields)
    return list_warnings(('encoding = { kind = %q, positions = { kind = "randomized", %s } }'):format(kind, fields))
  end
  lu.assertEquals(list_random_warnings("shaw", 'sides = "independent"'), "")
  lu.assertStrContains(list_random_warnings("rope", 'sides = "independent"'),
    "sides: \"independent\" has no effect: nothing reads")
  lu.assertStrContains(list_random_warnings("shaw", 'sides = "independent", reading = "difference"'),
    "differences of positions")
  lu.assertStrContains(list_random_warnings("shaw", 'sides = "independent", reading = "clamped"'),
    "clamped distances are sampled for the left side alone")
  lu.assertEquals(list_random_warnings("rope", "max_position = 32000"), "") -- 32 times the 1000 tokens of length 500
  lu.assertStrContains(list_random_warnings("rope", "max_position = 32001"), "32001 is more than 32 times 1000")
  lu.assertEquals(list_warnings("model = { dropout = 0 }, eval = { dropout = false }"), "")
  lu.assertStrContains(list_warnings("model = { dropout = 0 }, eval = { dropout = true }"), "eval.dropout: true has no")
  lu.assertEquals(list_warnings("eval = { batch = 499 }"), "")
  lu.assertStrContains(list_warnings("eval = { batch = 500 }"), "eval.batch: a batch of 500 contains all 500 examples")
  lu.assertStrContains(list_warnings("train = { steps = 50 }"), "train.log_every: 100 is past the last step, 50")
  lu.assertStrContains(list_warnings("train = { steps = 500, checkpoint = { keep = { 5, 501 } } }"), "step 501 is past")
  lu.assertStrContains(list_warnings("train = { steps = 500 }, eval = { during = { every = 501 } }"),
    "eval.during.every")
  lu.assertStrContains(list_warnings("train = { steps = 500, schedule = { warmup = 501 } }"), "warmup: 501 is")
  lu.assertEquals(list_warnings("train = { steps = 500, schedule = { warmup = 500 } }"), "")
  local _, epochs = accept('return { task = { kind = "latin_square" }, train = { epochs = 9, cadence = "epochs", '
    .. 'log_every = 9, checkpoint = { keep = { 0, 10 } } }, eval = { during = { every = 11 } } }')
  lu.assertEquals(epochs.warnings, { "train.checkpoint.keep: epoch 10 is past the last epoch, 9",
    "eval.during.every: 11 is past the last epoch, 9" })
  lu.assertStrContains(list_warnings("model = { dropout = 1e-6 }"), "model.dropout: 1e-6 drops nothing")
  for _, name in ipairs({ "attention", "hidden", "embedding" }) do
    local field = name .. "_dropout"
    lu.assertEquals(list_warnings(("model = { dropout = 0, %s = 0.1 }, eval = { dropout = true }"):format(field)), "")
    lu.assertStrContains(list_warnings(("model = { %s = 1e-6 }"):format(field)), field .. ": 1e-6 drops nothing")
  end
end

-- The resolved spec leaves some defaults out, and is the same if the spec writes them.
function TestValidate.test_a_default_that_is_left_out_gives_the_same_spec()
  local plain = accept("return { " .. TASK .. 'encoding = { kind = "shaw", positions = { kind = "randomized" } } }')
  local written = accept("return { " .. TASK .. [[encoding = { kind = "shaw", positions = { kind = "randomized",
    range = "zero_based", sides = "mirrored" } }, eval = { dropout = false },
    model = { attention_dropout = 0, hidden_dropout = 0 } }]])
  lu.assertEquals(written, plain)
  lu.assertNil(plain.encoding.positions.sides)
  lu.assertNil(plain.eval.dropout)
end

function TestValidate.test_the_embedding_has_one_rate_of_dropout()
  local function resolve_rate(additive, model)
    local resolved = accept(("return { %s encoding = { additive = { %s } }, model = { %s } }"):format(TASK, additive,
      model))
    return resolved.encoding.additive.dropout
  end
  lu.assertEquals(resolve_rate('kind = "sinusoid"', ""), 0.1)
  lu.assertEquals(resolve_rate('kind = "sinusoid"', "dropout = 0.3"), 0.3)
  lu.assertEquals(resolve_rate('kind = "learned"', "embedding_dropout = 0"), 0)
  lu.assertEquals(resolve_rate('kind = "sinusoid"', "dropout = 0.3, embedding_dropout = 0.2"), 0.2)
  lu.assertEquals(resolve_rate('kind = "sinusoid", dropout = 0.2', "embedding_dropout = 0.2"), 0.2)
  lu.assertNil(resolve_rate('kind = "none"', "embedding_dropout = 0.2"))
end

function TestValidate.test_origins_name_file_set_and_default()
  local _, info = accept("return { " .. TASK .. 'model = { use = "small_encoder" } }', { { path = "train.steps",
    text = "5" } })
  lu.assertEquals(info.origins["task.kind"], "probe.lua:1:19")
  lu.assertEquals(info.origins["model.width"], "spec/models/small_encoder.lua:6:3")
  lu.assertEquals(info.origins["train.steps"], "--set train.steps=5")
  lu.assertEquals(info.origins["train.batch"], "default")
end

function TestValidate.test_print_resolved_shows_every_value()
  local resolved, info = accept("return { " .. TASK .. [[eval = { during = { every = 5 } },
    encoding = { positions = { kind = "randomized", sorted = false }, additive = { kind = "sinusoid" } },
    train = { checkpoint = { keep = { 10, 20 } }, lengths = { list = { 3, 4 } } } }]])
  local text = resolved_spec.format(resolved, info.origins)
  for _, line in ipairs({ "encoding.positions.sorted       = false ",
    "train.lengths                   = { list = { 3, 4 } } ",
    "train.checkpoint.keep           = { 10, 20 } ", "eval.during.lengths             = { 41, 500 } ",
    "train.optimizer.epsilon         = 1e-8 ", "task.kind                       = \"bucket_sort\" " }) do
    lu.assertStrContains(text, line)
  end
  lu.assertEquals(text, resolved_spec.format(resolved, info.origins))
  lu.assertNotStrContains(text, "encoding.projections") -- a table that is left out does not mention its fields
end

function TestValidate.test_resolving_does_not_change_the_schema()
  local first = accept("return { " .. TASK .. "}")
  first.train.lengths.first = 99
  lu.assertEquals(accept("return { " .. TASK .. "}").train.lengths.first, 1)
end

TestRuns = {}

function TestRuns.test_every_run_is_valid()
  local names = write.list_names("spec/runs")
  support.replace_fields({ { support, "tasks_folder", "runtime/data/tasks" } }, function()
    for _, name in ipairs(names) do
      local resolved, info, d = support.check("spec/runs/" .. name)
      lu.assertEquals(d:text(), "")
      lu.assertEquals(resolved.source, "spec/runs/" .. name)
      for _, warning in ipairs(info.warnings) do -- the papers' models have biases of keys
        lu.assertStrContains(warning, "which softmax cancels")
      end
    end
  end)
  lu.assertTrue(#names >= 9)
end

support.run()
