-- Overrides of the command line and spec files: words for whole sections, and tables that replace others.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")

TestOverrides = {}

local SPEC = [[return {
  task = { data = "x.tsv", axes = { "digits", "carry" }, input_symbols = 3, output_symbols = 2 },
  encoding = { kind = "none" }, model = { layers = 1, width = 32, heads = 2 }, train = { steps = 10, log_every = 5 },
  eval = { by = { digits = { 1, 5 }, carry = true } } }]]

local function resolve(sets)
  local resolved, _, d = support.check_text(SPEC, support.sets(sets))
  return resolved, d:text()
end

function TestOverrides.test_a_word_for_a_section_names_a_preset()
  lu.assertEquals(resolve({ "encoding=rope" }), resolve({ "encoding.use=rope" }))
  lu.assertEquals(resolve({ "encoding=rope" }).encoding.rotation.kind, "rope")
  local resolved = resolve({ "model=small_encoder", "encoding=rope", "encoding.rotation.base=500" })
  lu.assertEquals({ resolved.model.width, resolved.encoding.rotation.base }, { 32, 500.0 })
  local _, message = resolve({ "encoding=ropy" })
  lu.assertStrContains(message, "there is no ropy.lua in spec/encodings")
  lu.assertStrContains(message, 'hint: did you mean "rope"?')
end

function TestOverrides.test_a_spec_file_takes_names_in_place_of_sections()
  local function resolve_spec(fields, sets)
    local resolved, _, d = support.check_text("return { " .. fields .. " }", support.sets(sets or {}))
    return resolved, d:text()
  end
  local short = 'task = "bucket_sort", encoding = "fox", model = "small_encoder", train = "quick", eval = "quick"'
  local long = 'task = { kind = "bucket_sort" }, encoding = { use = "fox" }, model = { use = "small_encoder" }, '
    .. 'train = { use = "quick" }, eval = { use = "quick" }'
  lu.assertNotNil(resolve_spec(long))
  lu.assertEquals(resolve_spec(short), resolve_spec(long))
  for _, set in ipairs({ "encoding.parameters.gate.init={ normal = 0.1 }", "encoding=rope", "model.width=32",
    "task=reverse_string", "task.options={}" }) do
    lu.assertEquals(resolve_spec(short, { set }), resolve_spec(long, { set }), set)
  end
  local _, message = resolve_spec('task = "bucket_sort", encoding = "foxx", model = "small_encoder"')
  lu.assertStrContains(message, "encoding.use: there is no foxx.lua in spec/encodings")
  lu.assertStrContains(message, 'hint: did you mean "fox"?')
end

function TestOverrides.test_a_family_of_attentions_takes_a_name()
  local function get_kinds(fields, sets)
    local text = ('return { task = "reverse_string", model = { use = "small_encoder_decoder", encoder_layers = 1 }, '
      .. 'train = { use = "quick" }, eval = { use = "quick" }, %s }'):format(fields)
    local resolved, _, d = support.check_text(text, support.sets(sets))
    lu.assertEquals(d:text(), "")
    local encoder = resolved.encoding.encoder or resolved.encoding
    return { encoder.rotation.kind, encoder.rotation.base, (resolved.encoding.decoder or resolved.encoding).score }
  end
  local expected = get_kinds('encoding = { encoder = { use = "rope" }, decoder = { use = "alibi" } }', {})
  lu.assertEquals({ expected[1], expected[2], type(expected[3]) }, { "rope", 10000.0, "string" })
  lu.assertEquals(get_kinds('encoding = { encoder = "rope", decoder = "alibi" }', {}), expected)
  lu.assertEquals(get_kinds('encoding = { encoder = "t5", decoder = "alibi" }', { "encoding.encoder=rope" }), expected)
  expected[2] = 500.0
  lu.assertEquals(get_kinds('encoding = { encoder = "rope", decoder = "alibi" }',
    { "encoding.encoder.rotation.base=500" }), expected)
end

function TestOverrides.test_axes_of_an_evaluation_are_replaced_as_a_whole()
  local carries = { first = 0, last = 3, step = 1 }
  lu.assertEquals(resolve({ "eval.by={ carry = { 0, 3 } }" }).eval.by, { carry = carries })
  lu.assertEquals(resolve({ "eval.by={ carry = { 0, 3 } }", "eval.by.length=true" }).eval.by,
    { carry = carries, length = true })
  lu.assertEquals(resolve({ "eval.by.length=true" }).eval.by, { carry = true, length = true,
    digits = { first = 1, last = 5, step = 1 } })
end

-- --set of lengths keeps the fields next to them, such as `per`; --set of such a field keeps the lengths.
function TestOverrides.test_lengths_and_the_fields_next_to_them_are_set_separately()
  local function check(lengths_in_file, set, lengths)
    local resolved, _, d = support.check_text(([[return { task = { kind = "even_pairs" }, encoding = { kind = "none" },
      train = { lengths = %s } }]]):format(lengths_in_file), support.sets({ set }))
    lu.assertEquals(d:text(), "")
    lu.assertEquals(resolved.train.lengths, lengths)
  end
  check("{ 1, 20 }", "train.lengths.per=sequence", { first = 1, last = 20, step = 1, per = "sequence" })
  check("{ 1, 20, per = 'sequence' }", "train.lengths={ 3, 9, step = 2 }", { first = 3, last = 9, step = 2,
    per = "sequence" })
  check("{ 1, 20, step = 3, per = 'sequence' }", "train.lengths={ per = 'batch' }", { first = 1, last = 20, step = 3 })
  check("{ list = { 4 }, per = 'sequence' }", "train.lengths={ 1, 9, per = 'batch' }",
    { first = 1, last = 9, step = 1 })
  check("{ 1, 20, per = 'sequence' }", "train.lengths={ list = { 7 } }", { list = { 7 }, per = "sequence" })
  check("{ per = 'sequence' }", "train.steps=5", { first = 1, last = 40, step = 1, per = "sequence" })
end

support.run()
