-- Derives what the generated file spec.c contains about an experiment besides its model: the task, and those settings
-- of training that are compiled into the trainer.
--
-- Input: a plan with its resolved spec; facts, the facts of the task's header (tasks.lua); the file of the user's own
-- network or nil. Output:
--   task         facts about the task and its symbols (describe_task)
--   train        { batch, shards } of the spec, and
--     mixes_lengths      whether the sequences of a batch may have different lengths
--     weighs_sequences   whether all sequences have the same weight in the loss
--     stage_count        the number of stages of the curriculum
--     lengths_text       C text of the training lengths, such as "{NULL, 0, 1, 20, 1}"
--   clip         the limit of the gradient's norm in the spec, or nil
--   own_network  the file of the user's own network, or false
--   lists        C arrays { comment, type, name, lines }; lines: C text of the elements
--   validation   false, or the validation stream:
--     lengths            the task lengths
--     examples           the number of examples
--     coincide           { training, evaluation }: the estimated shares of the stream's inputs that also occur in
--                        training, and that also occur in the final evaluation

local alphabets = require("spec.task.alphabets")
local features = require("spec.rules.features")
local formulas = require("spec.task.formulas")
local lists = require("base.lists")
local literals = require("base.literals")
local task_options = require("spec.task.task_options")
local validation = require("spec.rules.validation")

local M = {}

local function add_array(arrays, comment, type, name, lines)
  arrays[#arrays + 1] = { comment = comment, type = type, name = name, lines = lines }
end

-- The C initialiser of the training lengths. It has five values: the name of a list and the number of its items, or
-- NULL and 0; then the first length, the last length and the step of a range.
local function write_lengths(lengths, arrays)
  if not lengths then
    return "{NULL, 0, 1, 0, 1}" -- an empty range: dataset files determine the lengths
  elseif lengths.list then
    add_array(arrays, "Task lengths of training.", "int32_t", "train_lengths", { table.concat(lengths.list, ", ") })
    return string.format("{train_lengths, %d, 0, 0, 0}", #lengths.list)
  end
  return string.format("{NULL, 0, %d, %d, %d}", lengths.first, lengths.last, lengths.step or 1)
end

-- Adds the stages of a curriculum; returns their number.
local function add_curriculum(stages, arrays)
  if stages then
    add_array(arrays, "The curriculum: { a step, the largest length of the steps before it }.", "lh_curriculum_stage",
      "curriculum", lists.map(stages, function(stage) return ("{%d, %d},"):format(stage.until_step, stage.max) end))
  end
  return #(stages or {})
end

-- The token of a symbol; false if no symbol has the name.
local function find_token(symbols, name)
  local tokens = lists.map(symbols, function(symbol, i) return symbol == name and i - 1 or nil end)
  return tokens[1] or false
end

-- Adds the options in the form that a task's code reads: numbers unchanged, words by their index from 0. Returns the
-- options in words, or false if the task has none.
local function add_options(facts, options, arrays)
  if not options then
    return false
  end
  local values = lists.map(facts.options, function(option)
    return formulas.find_number(option, options[option.name])
  end)
  local words = lists.map(facts.options, function(option)
    return ("%s = %s"):format(option.name, options[option.name])
  end)
  local text = table.concat(words, ", ")
  add_array(arrays, text, "int", "task_options", { table.concat(values, ", ") })
  return text
end

-- Returns the name of the array with the names of an alphabet's symbols. The array is added, unless the alphabet is a
-- long list of numbers: the runtime has the array of their names.
local function add_symbols(symbols, comment, name, arrays)
  if alphabets.are_many_numbers(symbols) then
    return "lh_number_names"
  end
  add_array(arrays, comment, "char *const", name, literals.quote(symbols))
  return name
end

-- Adds the names of the task's axes, and the symbol that ends targets. Returns whether a symbol ends targets.
local function add_axes_and_end_symbol(facts, resolved, arrays)
  local token = features.is_causal(resolved) and find_token(facts.output_symbols, facts.end_symbol)
  if facts.axes then
    add_array(arrays, "Axes that distinguish examples.", "char *const", "axes",
      literals.quote(lists.get_names(facts.axes)))
  end
  if token then
    add_array(arrays, ('"%s" ends targets.'):format(facts.end_symbol), "uint16_t", "end_symbol", { token })
  end
  return token ~= false
end

-- model.loops.times can be the name of an axis whose value is an example's number of passes. Returns the index, from 1,
-- of this axis; 0 without such an axis.
local function find_pass_axis(facts, resolved)
  local times = lists.get(resolved, "model.loops.times")
  for i, axis in ipairs(facts.axes or {}) do
    if axis.name == times then
      return i
    end
  end
  return 0
end

-- Defaults of the fields of facts.data (spec/task/datasets.lua) that some tasks do not have.
local DATA_DEFAULTS = { train = false, eval = false, validation = false, is_generated = false, seed = false,
  validation_digest = false }

local function describe_task(facts, resolved, arrays)
  return {
    kind = facts.kind,
    source = facts.text and facts.kind .. ".c" or false,
    path = facts.path,
    text = facts.text,
    data = facts.data and lists.merge(DATA_DEFAULTS, facts.data) or false,
    axis_count = #(facts.axes or {}),
    pass_axis = find_pass_axis(facts, resolved),
    input_names = add_symbols(facts.input_symbols, "The symbols of inputs.", "input_symbols", arrays),
    output_names = add_symbols(facts.output_symbols, "The symbols of outputs.", "output_symbols", arrays),
    has_end_symbol = add_axes_and_end_symbol(facts, resolved, arrays),
    options = add_options(facts, resolved.task.options, arrays),
    active_options = task_options.list_active(facts, resolved.task.options),
    lengths = facts.data and {} or {
      { name = "input_length", formula = facts.input_length },
      { name = "output_length", formula = facts.output_length },
    },
    has_shared_symbols = facts.symbols ~= nil, -- inputs and outputs have one alphabet
    -- the token with which a decoder's answer begins, in place of a separator
    start = find_token(facts.symbols or {}, facts.start_symbol),
    input_count = #facts.input_symbols,
    output_count = #facts.output_symbols,
    blank_count = #(facts.blank or {}), -- input symbols without content
    -- the input token at which an encoder's answer is read, and the name of its symbol
    probe = find_token(facts.input_symbols, facts.probe),
    probe_symbol = facts.probe or false,
    literal = facts.literal or false, -- a sample input as text, such as "12+345", or false
    has_intermediate_results = facts.result ~= nil, -- whether targets contain intermediate results
    -- "counted": the loss excludes masked labels; "all": the loss includes them; false: the task masks no label
    loss = facts.loss or false,
    excludes_masked_labels = facts.loss == "counted",
    chance = facts.chance,
    baseline = facts.baseline or false,
    baseline_name = facts.baseline_name or false,
  }
end

function M.derive(plan, facts, network)
  local resolved, train, arrays = plan.resolved, plan.resolved.train, {}
  local stream = validation.plan(resolved) or false
  if stream then
    stream.coincide = validation.estimate_shares(resolved, facts)
  end
  return { own_network = network or false, task = describe_task(facts, resolved, arrays), lists = arrays,
    train = { batch = train.batch, shards = train.shards,
      mixes_lengths = train.lengths ~= nil and train.lengths.per == "sequence",
      weighs_sequences = train.loss_mean == "sequence",
      stage_count = add_curriculum(lists.get(train, "lengths.curriculum"), arrays),
      lengths_text = write_lengths(train.lengths, arrays) }, clip = train.clip, validation = stream }
end

return M
