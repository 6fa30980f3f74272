-- Specs whose network is a random description (tests/lua/networks.lua), for tests of generated code: in the generator,
-- the description replaces the description of the spec's kind of model.
--
-- random_<number>: a narrow network; random_wide_<number>: a network whose products a library computes in device code.

local networks = require("networks")

local current_description -- the description of the network that is being planned

for _, kind in ipairs({ "encoder", "decoder", "encoder_decoder" }) do
  local name = "network.models." .. kind
  local plain_network = require(name)
  package.loaded[name] = function(net, model)
    return (current_description or plain_network)(net, model)
  end
end

local M = {}

-- Texts of encodings in a spec. Each random network is tested with only one of them: with all of them,
-- most of its generated code would be the same. Further fields:
--
--   has_block_positions   whether vectors of positions are added in blocks
--   is_two_sided  true: the encoding attends to both sides, so decoders cannot use it
--   heads         the number of heads, if it must be LH_PARITY_HEADS, the number of slopes in lh_parity.h
local ENCODINGS = {
  { [[kind = "none"]] }, { [[kind = "rope"]] }, { [[kind = "alibi"]], heads = 2 }, { [[kind = "relative"]] },
  { [[kind = "sinusoid"]] },
  { [[kind = "learned", additive = { rows = 40, at = "block", dropout = 0.2 }, normaliser = { temperature = 0.5 }]],
    has_block_positions = true },
  { [[kind = "geometric"]], is_two_sided = true }, { [[relative = { kind = "shaw", clip = 4 }]] },
  { [[kind = "learned", additive = { rows = 40 }]] },
  { [[kind = "rope", mask = { kind = "causal" }, projections = { bias = true, output = false }]] },
  { [[kind = "none", mask = { kind = "window", left = 2 }]] },
  { [[kind = "sinusoid", additive = { at = "block" }, rotation = { kind = "rope" }]], has_block_positions = true },
  { [[relative = { kind = "shaw", clip = 3, sides = "left" }, mask = { kind = "causal" }]] },
  { [[kind = "none", projections = { output = false }]] },
}

-- Texts of encodings for two streams; their families of attention differ. no_dropout: the set of families without
-- dropout of weights.
local PAIR_ENCODINGS = {
  { [[kind = "rope", encoder = { relative = { kind = "shaw", clip = 3 }, rotation = { kind = "none" } },
    decoder = { lines = { { head = 0, direction = 1, line = -1, value = 1 },
      { head = 0, direction = -1, line = 2, value = 2 },
      { head = 1, direction = 0, line = 1, value = 0.5 } } },
    cross = { mask = { kind = "antidiagonal", width = 1, stride = 2 } }]] },
  { [[kind = "none", encoder = { kind = "geometric" }, decoder = { kind = "relative" },
    cross = { kind = "relative", mask = { kind = "window", left = 3, right = 2 } }]], no_dropout = { encoder = true } },
  { [[kind = "alibi", rotation = { kind = "rope" }, additive = { kind = "learned", rows = 40 },
    encoder = { score = { kind = "none" } }, cross = { kind = "shaw", relative = { clip = 4 } }]], heads = 2 },
  { [[kind = "sinusoid", positions = { kind = "cyclic", period = 5 },
    decoder = { kind = "relative", positions = { kind = "index" } },
    encoder = { normaliser = { temperature = 0.5 }, projections = { bias = true } },
    cross = { lines = { { head = 0, direction = -1, line = 0, value = 1 },
      { head = 0, direction = 1, line = 3, value = 2 },
      { head = 1, direction = 0, line = 2, value = 0.5 } } }]] },
  { [[kind = "none", decoder = { kind = "alibi" }, encoder = { mask = { kind = "window", left = 2, right = 1 } },
    cross = { rotation = { kind = "rope" }, projections = { output = false } }]], heads = 2 },
  { [[kind = "none", cross = { kind = "relative" },
    decoder = { relative = { kind = "shaw", clip = 3, sides = "left" } }]] },
  { [[kind = "learned", additive = { rows = 40 }, encoder = { rotation = { kind = "rope" } }]] },
}

-- Tasks with their training, evaluation and models. One task has its only answer at the last token of the input, one
-- at the probe token, and two are for encoder-decoders (pair).
local SAMPLED = { train = [[use = "ruoss", lengths = { 1, 18 }]], eval = "lengths = { 1, 18 }, " }
local TASKS = {
  { task = "latin_square", fields = { train = "epochs = 1", eval = "" },
    model = { embedding = "linear", readout = "probe" } },
  { task = "bucket_sort", fields = SAMPLED },
  { task = "bucket_sort", fields = SAMPLED, pair = true },
  { task = "even_pairs", fields = SAMPLED, model = { embedding = "linear", readout = "last" } },
  { task = "duplicate_string", fields = SAMPLED, pair = true, model = { embedding = "linear" } },
}

local WIDTHS, WIDE = { 16, 32, 48 }, { 256, 272 }
-- For each width, numbers of channels that a head can have; in a wide model, heads with more than 32 channels are
-- spread over threads.
local HEAD_WIDTHS = { [16] = { 4, 8 }, [32] = { 8, 16 }, [48] = { 8, 12, 24 }, [256] = { 32, 64 }, [272] = { 16, 68 } }

local SPEC = [[
return {
  task = { kind = "%s" },
  encoding = { %s },
  model = { %s, heads = %d, width = %d, feedforward = 32, dropout = 0, attention_dropout = %g%s },
  train = { %s },
  eval = { %sexamples = 4, dropout = %s },
  precision = "float64",
}
]]

-- Texts of kinds of models. The layers are required, but the random description ignores them.
local KINDS = {
  encoder = [[kind = "encoder", layers = 2]],
  decoder = [[kind = "decoder", layers = 2]],
  pair = [[kind = "encoder_decoder", encoder_layers = 2, decoder_layers = 2]],
}

local function parse_number(id)
  local wide, number = id:match("^random_(w?i?d?e?_?)(%d+)$")
  return tonumber(number), wide == "wide_"
end

M.parse_number = parse_number

local function make_description(number, is_wide, encoding, task_case)
  local options = { families = { "self" }, widths = is_wide and WIDE or WIDTHS, is_generated = true,
    tied = not encoding.is_two_sided, -- a tied network becomes a decoder, which two-sided encodings do not allow
    no_dropout = encoding.no_dropout or { self = encoding.is_two_sided },
    model = task_case.model, has_block_positions = encoding.has_block_positions }
  if task_case.pair then
    options.streams, options.families = { "target", "source" }, { "decoder" }
    options.memory_families = { "encoder" }
  end
  return networks.make_random(number, options)
end

-- The text of a random spec, and its description. Every second spec without geometric attention has dropout of
-- attention's weights, whatever rates the description has.
function M.make_text(id)
  local number, is_wide = parse_number(id)
  local task_case = TASKS[number % #TASKS + 1]
  local encodings = task_case.pair and PAIR_ENCODINGS or ENCODINGS
  local encoding = encodings[number % #encodings + 1]
  local description = make_description(number, is_wide, encoding, task_case)
  local head_widths, no_dropout = HEAD_WIDTHS[description.width], encoding.is_two_sided or encoding.no_dropout
  local heads = encoding.heads or description.width // head_widths[number % #head_widths + 1]
  local section = ""
  for _, field in ipairs({ "embedding", "readout" }) do
    local value = (task_case.model or {})[field]
    section = section .. (value and (", %s = %q"):format(field, value) or "")
  end
  -- The description of a tied network is used for a decoder, whose input and output have the same alphabet.
  local kind = KINDS[task_case.pair and "pair" or description.tied and "decoder" or "encoder"]
  local rate = number % 2 == 1 and not no_dropout and 0.25 or 0
  return SPEC:format(task_case.task, encoding[1], kind, heads, description.width, rate, section, task_case.fields.train,
    task_case.fields.eval, number % 3 == 0), description.text
end

-- Calls f while a description replaces the descriptions of encoders and decoders.
function M.call_with_description(description, f)
  current_description = description
  f()
  current_description = nil
end

-- Calls f with the plan of a random spec, while its description replaces the kind's. folder: the folder to which the
-- spec is written.
function M.call_with_plan(project, id, folder, f)
  local text, description = M.make_text(id)
  local path = ("%s/%s.lua"):format(folder, id)
  local file = assert(io.open(path, "wb"))
  file:write(text, "\n--[[\n", description, "]]\n")
  file:close()
  M.call_with_description(assert(load(description))(), function()
    local spec, message = project:plan(path)
    f(assert(spec, message).plan)
  end)
end

return M
