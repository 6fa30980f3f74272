-- Rules about combinations of fields.
--
-- Input: the context of validate.lua. Output: errors in the diagnostics; a list of warnings as text. The argument
-- `report` of the functions below has the functions of reports.lua. Invariants: the module changes only the
-- diagnostics; a rule whose fields are missing or invalid reports nothing, since those fields are already reported.

local alphabets = require("spec.task.alphabets")
local axes = require("spec.task.axes")
local best_rules = require("spec.rules.best_rules")
local decoding = require("spec.rules.decoding_rules")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local family_facets = require("spec.rules.family_facets")
local lists = require("base.lists")
local lengths = require("spec.rules.lengths")
local layer_rules = require("spec.rules.layer_rules")
local loop_rules = require("spec.rules.loop_rules")
local facets = require("facets.modules")
local predicates = require("facets.predicates")
local reports = require("spec.rules.reports")
local schema = require("spec.schema")
local tasks = require("spec.task.tasks")
local validation = require("spec.rules.validation")
local warnings = require("spec.rules.warnings")

local M = {}

local MAX_HEAD_WIDTH = 256 -- kernels/cpu/columns.h
local MAX_HEADS = 64

local function are_legal_heads(width, heads)
  local head_width = width // heads
  return width % heads == 0 and head_width % 4 == 0 and head_width <= MAX_HEAD_WIDTH
end

local function find_nearest_head_count(width, heads)
  local result = math.huge
  for candidate = 1, MAX_HEADS do
    if are_legal_heads(width, candidate) and math.abs(candidate - heads) < math.abs(result - heads) then
      result = candidate
    end
  end
  return result
end

local function check_head_width(context, report)
  local width, heads = context.resolved.model.width, context.resolved.model.heads
  if not width or not heads or are_legal_heads(width, heads) then
    return
  end
  local message = ("%d does not divide the width, %d"):format(heads, width)
  if width % heads == 0 then
    message = ("the head width %d / %d = %d is %s"):format(width, heads, width // heads,
      width // heads > MAX_HEAD_WIDTH and "above " .. MAX_HEAD_WIDTH or "not a multiple of 4")
  end
  local rope = context.resolved.encoding.rotation
  local rope_text = rope and rope.kind == "rope" and "; rope rotates channels in pairs" or ""
  report.refuse("model.heads", "model.width", width, { what = message,
    expected = ("a number of heads so that width / heads is a multiple of 4 up to %d%s"):format(MAX_HEAD_WIDTH,
      rope_text),
    hint = ("%d is the nearest number of heads for this width"):format(find_nearest_head_count(width, heads)) })
end

local function check_shards(context, report)
  local train = context.resolved.train
  if train.shards and train.batch and train.shards > train.batch then
    report.refuse("train.shards", "train.batch", train.batch, {
      what = ("%d shards for a batch of %d leave some shards empty"):format(train.shards, train.batch),
      expected = ("at most train.batch = %d; a shard is one sequence or more"):format(train.batch) })
  end
end

-- Refuses device_products = "warps" for wide models, whose products a library computes.
local function check_products(context, report)
  local resolved = context.resolved
  if resolved.device_products ~= "warps" then
    return
  end
  local width = resolved.model.width
  if width and width >= schema.LIBRARY_WIDTH then
    report.refuse("device_products", "model.width", width, {
      what = ('"warps" is for narrower models; from width %d on, a library computes products'):format(
        schema.LIBRARY_WIDTH),
      expected = ('model.width up to %d, or device_products = "tiles"'):format(schema.LIBRARY_WIDTH - 1) })
  end
end

-- Refuses a value of positions.reading that makes cross-attention read sampled distances. Distances can be sampled only
-- within one sequence.
local function check_cross_reading(context, report)
  local conflict = context.conflicting_reading
  if conflict then
    report.refuse(conflict.path, "model.kind", '"encoder_decoder"', {
      what = ('"%s" cannot be used with cross-attention: its queries and keys are of two sequences')
        :format(conflict.value),
      expected = '"difference" (of the positions of query and key), the default for cross-attention',
      hint = conflict.path == "encoding.positions.reading"
        and 'encoding.cross = { positions = { reading = "difference" } } sets it for cross-attention alone' or nil })
  end
end

-- Family of an encoder-decoder -> the streams that it reads.
local STREAMS = { encoder = { "source" }, decoder = { "target" }, cross = { "target", "source" } }

-- Fields of `positions`. All readers of the same sampled positions need equal values.
local SHARED_FIELDS = { "max_position", "range", "sorted" }

local function get_position_field(positions, name)
  return name == "range" and positions.range == nil and "zero_based" or positions[name]
end

-- Checks that all readers of a stream have equal SHARED_FIELDS. readers: the result of find_readers.
local function check_draws(report, readers)
  for _, stream in ipairs({ "source", "target" }) do
    local first_reader
    for _, reader in ipairs(readers[stream]) do
      for _, name in ipairs(first_reader and SHARED_FIELDS or {}) do
        local value = get_position_field(reader.positions, name)
        local first_value = get_position_field(first_reader.positions, name)
        if value ~= first_value then
          local path, first_path = reader.path .. "." .. name, first_reader.path .. "." .. name
          report.refuse(path, first_path, diagnostics.show(first_value), {
            what = ("%s, but all facets share the sampled positions of the %s"):format(diagnostics.show(value), stream),
            expected = ("%s = %s; or positions.draw other than \"sequence\""):format(first_path,
              diagnostics.show(first_value)) })
        end
      end
      first_reader = first_reader or reader
    end
  end
end

-- Explains why the answer cannot be read at a token of the input. Returns nil if it can be read there, or three texts:
--   the problem
--   the expected setting
--   the path of the field that causes the problem
local function explain_readout(context, readout)
  local facts, task = context.task, context.resolved.task
  local task_field = task.data and "task.data" or "task.kind"
  if readout == "in_place" and not task.data and not tasks.has_outputs_in_place(facts) then
    return ("%s has %s outputs for %s input tokens"):format(facts.kind, facts.output_length, facts.input_length),
      "a sampler with an output for each input token", task_field
  elseif readout ~= "in_place" and not task.data and not tasks.has_one_output(facts) then
    return ("%s has %s outputs"):format(facts.kind, facts.output_length), "a task of one output", task_field
  elseif readout == "probe" and not facts.probe then
    return facts.kind .. " declares no probe", "a task whose header has the line `probe:`", task_field
  elseif task.computation then
    return "computation tokens stand between the input and the answers", "no computation tokens", "task.computation"
  end
end

-- Refuses a readout at a token of the input if the answer cannot be read there.
local function check_readout(context, report)
  local model = context.resolved.model
  if not model.readout or not context.task then
    return
  end
  local message, expected, field = explain_readout(context, model.readout)
  if message then
    report.refuse("model.readout", field, tostring(lists.get(context.resolved, field)), {
      what = ("%q cannot be used with this task: %s"):format(model.readout, message),
      expected = ('"outputs", or %s'):format(expected) })
  end
end

-- Checks that 16 bits can number all tokens of a model: symbols, and at most two further tokens.
local function check_tokens(context, report)
  local facts, kind = context.task, context.resolved.model.kind
  if not facts or not facts.input_symbols or not facts.output_symbols or not kind then
    return
  end
  local output_vectors = kind ~= "encoder" and kind ~= "recurrent" and not facts.symbols and #facts.output_symbols or 0
  local max_symbols = alphabets.MAX_TOKENS - 2
  if #facts.input_symbols + output_vectors > max_symbols then
    report.refuse(context.resolved.task.data and "task.data" or "task.kind", "model.kind", ("%q"):format(kind), {
      what = ("%d input and %d output symbols, each with a vector of its own"):format(#facts.input_symbols,
        output_vectors),
      expected = ("at most %d together; or one alphabet for both: `symbols`"):format(max_symbols) })
  end
end

-- Refuses task.end_symbol for models that take the number of answers from the target.
local function check_end_symbol(context, report)
  local resolved = context.resolved
  local kind = resolved.model.kind
  if resolved.task.end_symbol and (kind == "encoder" or kind == "recurrent") then
    report.refuse("task.end_symbol", "model.kind", ("%q"):format(kind), {
      what = "the model gives as many answers as the target has symbols, so no symbol ends them",
      expected = 'no such field, or model.kind = "decoder" or "encoder_decoder"' })
  end
end

-- Fields outside `encoding` that a recurrent model does not use.
local UNUSED_BY_RECURRENT = { "eval.by.noise", "train.keep_probabilities", "train.block_tokens" }

-- Refuses fields that a recurrent model does not use.
local function check_recurrent(context, report)
  local resolved = context.resolved
  if resolved.model.kind ~= "recurrent" then
    return
  end
  local function refuse(path, expected)
    report.refuse(path, "model.kind", '"recurrent"', { what = "a recurrent model does not use this field",
      expected = expected })
  end
  for _, module in ipairs(facets.in_spec_order) do
    local path, value = "encoding." .. module.name, resolved.encoding[module.name]
    local kind = type(value) == "table" and value.kind
    -- positions of kind "index" are the default and have no effect without other facets
    if value and kind ~= "none" and not (module.is_read_by_facets and kind == "index") then
      refuse(kind and path .. ".kind" or path, 'encoding = { kind = "none" }: the state contains the order of tokens')
    end
  end
  for _, path in ipairs(UNUSED_BY_RECURRENT) do
    if lists.get(resolved, path) ~= nil then
      refuse(path, "no such field")
    end
  end
  local cell = resolved.model.cell
  if resolved.model.cells and cell ~= "stack_rnn" and cell ~= "tape_rnn" then
    report.refuse("model.cells", "model.cell", ("%q"):format(cell), {
      what = "only a stack or a tape has a number of cells",
      expected = 'no such field, or model.cell = "stack_rnn" or "tape_rnn"' })
  end
end

-- Refuses tied weights with a linear embedding: its rows are not vectors of tokens.
local function check_tied(context, report)
  local model = context.resolved.model
  if model.tied and model.embedding == "linear" then
    report.refuse("model.tied", "model.embedding", '"linear"', {
      what = "the output layer is tied to a linear embedding",
      expected = 'false, or model.embedding = "table"' })
  end
end

-- Finds the readers of positions that are sampled once for each sequence (draw = "sequence"): families, and vectors
-- added to tokens. Returns a table, name of a stream -> list of readers. Fields of a reader:
--   path        the path of its section `positions`
--   positions   the fields of this section
local function find_readers(context)
  local resolved = context.resolved
  local by_stream = { source = {}, target = {} }
  local function add_reader(streams, path, view)
    for _, stream in ipairs(predicates.samples_by_sequence(view) and streams or {}) do
      table.insert(by_stream[stream], { path = path, positions = view.encoding.positions })
    end
  end
  if resolved.encoding.additive.kind ~= "none" then
    add_reader({ "source", "target" }, "encoding.positions", resolved)
  end
  for _, name in ipairs(families.list(resolved.model, resolved.encoding)) do
    local view = family_facets.make_view(resolved, name)
    local path = family_facets.has_own(context, name) and ("encoding.%s.positions"):format(name) or "encoding.positions"
    add_reader(predicates.reads_positions(view) and STREAMS[name] or {}, path, view)
  end
  return by_stream
end

-- Checks that a learning rate falls after its warm-up. With epochs, only the trainer knows the number of steps.
local function check_schedule(context, report)
  local train = context.resolved.train
  local warmup, steps = train.schedule and train.schedule.warmup, train.steps
  if warmup and steps and train.schedule.kind and train.schedule.kind ~= "constant" and warmup >= steps then
    report.refuse("train.schedule.warmup", "train.steps", steps, {
      what = ("%d steps of warm-up leave no step in which the rate falls"):format(warmup),
      expected = ("below train.steps = %d"):format(steps) })
  end
end

function M.apply(context)
  local resolved, report = context.resolved, reports.make(context)
  for _, rule in ipairs({ check_head_width, check_shards, check_products, check_schedule, check_readout,
    check_tied, check_tokens, check_end_symbol, check_recurrent }) do
    rule(context, report)
  end
  family_facets.check_each(context, function(view)
    facets.call(facets.in_spec_order, "check", view, reports.make(view))
  end)
  check_cross_reading(context, report)
  if context.has_no_errors and resolved.model.kind == "encoder_decoder" then
    check_draws(report, find_readers(context))
  end
  axes.check(context, report)
  decoding.check(context, report)
  layer_rules.check(context, report)
  loop_rules.check(context, report)
  validation.check(context, report)
  best_rules.check(context, report)
  lengths.check_curriculum(context, report)
  return context.has_no_errors and warnings.list(context) or {}
end

return M
