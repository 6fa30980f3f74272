-- Positions that depend on tokens: their data in a plan, their generated code, and their code in exported files.

local support = dofile("tests/lua/support.lua")

local export_run = require("lab.export.export_run")
local exports = require("exports")
local lu = require("luaunit")
local resolved_spec = require("spec.resolved")

TestTokenPositions = {}

local assert_has, assert_lacks = exports.assert_has, exports.assert_lacks

local function write_spec(position_fields, encoding_fields, more_fields)
  return ([[{ task = { kind = "free_addition", options = { longest = 5, pairs = 64 } },
    encoding = { kind = "learned", positions = { kind = "digits", offset = 7, max_position = 100%s } %s },
    model = { kind = "decoder" }, train = { steps = 100 } %s }]]):format(position_fields or "", encoding_fields or "",
    more_fields or "")
end

-- Later versions of a task add options that are off by default. While they are off, digests are those of earlier runs.
function TestTokenPositions.test_options_that_are_off_are_in_no_digest()
  local function compute_digests(options)
    local plan = exports.plan_text((write_spec():gsub("pairs = 64", "pairs = 64" .. options))).plan
    return plan.digest, plan.model_digest
  end
  local base, model = compute_digests("")
  lu.assertEquals({ compute_digests(", hints = 0, spaces = 0, tests = 100") }, { base, model })
  local hinted, hinted_model = compute_digests(", hints = 30")
  lu.assertNotEquals(hinted, base)
  lu.assertNotEquals(hinted_model, model)
end

function TestTokenPositions.test_a_plan_has_the_digits_the_limit_and_the_rows_of_positions()
  local plan = exports.plan_text(write_spec()).plan
  lu.assertEquals(plan.token_positions.digits, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 })
  lu.assertEquals(plan.token_positions.offset, 7)
  lu.assertEquals({ plan.additive.rows, plan.limit.tokens }, { 101, 93 })
  lu.assertEquals({ plan.any_draws, plan.sequence_scratch, plan.streams[1].sequence_reader }, { false, false, false })
end

function TestTokenPositions.test_a_plan_has_the_largest_position_of_the_task()
  local plan = exports.plan_text([[{ task = { kind = "reverse_string" }, model = { kind = "decoder" },
    encoding = { use = "coupling", positions = { max_position = 600 } } }]]).plan
  lu.assertEquals(plan.token_positions, { max_position = 600, digits = false, by_line = false })
  lu.assertEquals({ plan.additive.rows, plan.limit }, { 601, false })
end

function TestTokenPositions.test_lines_of_dataset_files_have_positions()
  local plan = exports.plan_text([[{ task = { data = "bits.jsonl", input_symbols = 2, output_symbols = 2 },
    encoding = { use = "coupling", positions = { max_position = 600 } }, model = { kind = "decoder" } }]]).plan
  lu.assertEquals(plan.token_positions, { max_position = 600, digits = false, by_line = true })
end

-- Renders the device code and its description for the host.
local function render_device(spec)
  local text = support.index_texts(assert(exports.project:render_files(exports.plan_text(spec).plan, true)))
  return text["device.cu"], text["cuda.c"]
end

-- The host code samples no positions, since the runtime computes positions that depend on tokens.
function TestTokenPositions.test_device_code_reads_positions_of_tokens()
  local device, host = render_device(write_spec())
  assert_has(device, "v->positions = in->draws;", "add_placed_rows(v->T, token_positions() + ",
    "INLINE bool is_digit(int token) { return (token >= 0 && token <= 9); }", "block()->cached.place[row]")
  assert_lacks(host, "draw_count", "longhand/positions.h")
  local coupled = render_device((write_spec():gsub("positions = %b{}", 'positions = { kind = "by_task" }')))
  assert_has(coupled, "add_placed_rows(", "position[row * v->T + block()->current]")
  assert_lacks(coupled, "is_digit", "cached.place")
end

-- The symbols of outputs follow those of inputs.
function TestTokenPositions.test_device_code_knows_the_digits_of_both_streams()
  local device = render_device([[{ encoding = { use = "abacus" }, model = { kind = "encoder_decoder" },
    task = { data = "sums.jsonl", input_symbols = { "0", "1", "x", "7" }, output_symbols = { "y", "8", "9" } } }]])
  assert_has(device, "return (token >= 0 && token <= 1) || token == 3 || (token >= 5 && token <= 6);",
    "v->source_positions = in->draws;",
    "v->target_positions = v->source_positions + (size_t)in->sequences * in->T[0];")
end

-- The longest sum of training has 6 digits, and the offset is at most 7.
function TestTokenPositions.test_positions_that_training_cannot_sample_are_named()
  local function list_warnings(eval)
    return table.concat(exports.plan_text(write_spec("", "", ", eval = " .. eval)).warnings, "\n")
  end
  for _, eval in ipairs({ "{ by = { digits = { 1, 12 } } }", "{ by = { digits = true } }",
    "{ by = { first = { list = { 12 } }, second = { 1, 2 } } }", "{}" }) do
    lu.assertEquals(list_warnings(eval), "", eval)
  end
  for _, eval in ipairs({ "{ by = { digits = { 1, 13 } } }", "{ by = { second = { list = { 1, 13 } } } }",
    "{ during = { every = 1, by = { digits = { 13, 13 } } } }" }) do
    lu.assertStrContains(list_warnings(eval), "encoding.positions.offset: evaluations have digits at positions up to "
      .. "14, but training samples positions up to 13, so the vectors of later positions are not trained", eval)
  end
end

-- With hints no two digits are next to each other, so no position is too high.
function TestTokenPositions.test_symbols_that_end_numbers_are_named()
  local function list_warnings(option)
    return exports.plan_text((write_spec("", "", ", eval = { by = { digits = { 1, 13 } } }"):gsub("pairs = 64",
      "pairs = 64, " .. option))).warnings
  end
  local hinted, spaced = list_warnings("hints = 30"), list_warnings("spaces = 20")
  lu.assertEquals({ #hinted, #spaced, #list_warnings("hints = 0") }, { 1, 2, 1 })
  lu.assertStrContains(hinted[1], "encoding.positions.kind: with task.options.hints, a symbol stands before "
    .. "each digit and ends the number, so all digits have the same position")
  lu.assertStrContains(spaced[1], "encoding.positions.kind: with task.options.spaces, symbols within the numbers")
end

function TestTokenPositions.test_a_default_of_the_largest_position_gives_a_warning()
  local function list_warnings(positions)
    return exports.plan_text(([[{ task = { kind = "reverse_string" }, model = { kind = "decoder" },
      encoding = { use = "coupling" %s } }]]):format(positions)).warnings
  end
  lu.assertEquals(list_warnings(", positions = { max_position = 2048 }"), {})
  lu.assertStrContains(table.concat(list_warnings(""), "\n"), "encoding.positions.max_position: 2048 by default. "
    .. "Training samples positions up to max_position")
end

function TestTokenPositions.test_axes_of_digit_counts_are_printed()
  local plan = exports.plan_text(write_spec("", "", ", eval = { by = { first = { 1, 12 }, second = true } }")).plan
  assert_has(resolved_spec.format(plan.resolved, {}), "eval.by                         = "
    .. "{ first = { 1, 12 }, second = true }")
end

-- If the outputs of a decoder have their own alphabet, their tokens follow the tokens of inputs.
function TestTokenPositions.test_digits_of_both_alphabets_count()
  local plan = exports.plan_text([[{ task = { kind = "reverse_string" }, model = { kind = "decoder" },
    encoding = { use = "abacus", positions = { max_position = 2000 } } }]]).plan
  lu.assertEquals(plan.token_positions.digits, { 0, 1, 2, 3 })
end

function TestTokenPositions.test_a_plan_of_indices_has_no_token_positions()
  lu.assertFalse(exports.plan_text('{ task = { kind = "bucket_sort" }, encoding = { kind = "learned" } }').plan
    .token_positions)
end

function TestTokenPositions.test_exported_files_count_digits()
  local digits = exports.render_spec(write_spec())
  assert_has(digits, "DIGITS = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])  # the tokens that are digits",
    "digit = torch.isin(tokens, DIGITS.to(tokens.device))", 'self.embed["position"](number_digits(tokens))')
  assert_lacks(digits, "place =", "MAX_POSITION")
  local rotated_text = exports.render_spec(write_spec(', elsewhere = "index"', ', rotation = { kind = "rope" }'))
  assert_has(rotated_text, 'self.embed["position"](number_digits(tokens))', "place = torch.arange(tokens.shape[1]")
  assert_lacks(exports.render_spec('{ task = { kind = "bucket_sort" }, encoding = { kind = "learned" } }'), "DIGITS",
    "number_digits")
end

local COUPLED = [[{ task = { kind = "reverse_string"%s }, model = { kind = %q },
  encoding = { use = "coupling"%s } }]]

function TestTokenPositions.test_exported_files_take_positions_of_the_task()
  local coupled = exports.render_spec(COUPLED:format("", "decoder", ""))
  assert_has(coupled, "Its argument `positions` has a number for each token of `with_target`: the position that the "
    .. "task gives")
  assert_has(coupled, "    target = decode(model, inputs, 5, positions)\n", "def forward(self, tokens, positions):",
    "positions = torch.as_tensor(positions, device=tokens.device)", 'self.embed["position"](positions)',
    "def decode(model, inputs, outputs, positions):", "model(with_target(inputs, target), positions)",
    'model(tokens, example["positions"])')
  assert_lacks(coupled, "place =", "MAX_POSITION", "number_digits", "positions=None")
  local rotated = exports.render_spec(COUPLED:format("", "decoder",
    ', positions = { elsewhere = "index" }, rotation = { kind = "rope" }'))
  assert_has(rotated, 'self.embed["position"](positions)', "place = torch.arange(tokens.shape[1]")
end

function TestTokenPositions.test_exported_files_split_positions_of_two_streams()
  local coupled = exports.render_spec(COUPLED:format("", "encoder_decoder",
    ', decoder = { rotation = { kind = "rope" }, positions = { kind = "index" } }'))
  assert_has(coupled, "def forward(self, source, target, positions):",
    "positions [S + T] or [B][S + T], which the task gives.",
    "positions = torch.as_tensor(positions, device=source.device)",
    "source_positions, target_positions = positions.split([source.shape[1], target.shape[1]], dim=-1)",
    'self.embed["position"](source_positions)', '(target_positions)')
end

function TestTokenPositions.test_requests_for_data_files_have_positions()
  local plan = { readout = "target", limit = false, token_positions = { by_line = true, max_position = 9 },
    streams = { { position_range = 0, distance_range = 0 } }, task = { data = { longest = 20 } } }
  lu.assertEquals(export_run.make_request(plan, { 1, 0, 1 }, 2), { input = { 1, 0, 1 }, outputs = 2,
    positions = { 0, 7, 4, 1, 8 } })
end

os.exit(lu.LuaUnit.run())
