-- The experiment without its model, for spec.c: the task, and the settings of training that are compiled in.
--
-- Input: a plan with its resolved spec, the task's header (tasks.lua), the file of the user's own network or nil.
-- Output: task, train, clip, own_network, and lists: the C arrays { type, name, text } of lengths; validation: {
-- lengths, examples, coincide } of the validation stream, or false.

local formulas = require("spec.task.formulas")
local lists = require("base.lists")
local literals = require("base.literals")
local validation = require("spec.rules.validation")

local M = {}

local function lengths_text(lengths, name, arrays)
  if not lengths then
    return "{NULL, 0, 1, 0, 1}" -- no lengths: dataset files determine them
  elseif lengths.list then
    arrays[#arrays + 1] = { type = "int32_t", name = name, text = table.concat(lengths.list, ", ") }
    return string.format("{%s, %d, 0, 0, 0}", name, #lengths.list)
  end
  return string.format("{NULL, 0, %d, %d, %d}", lengths.first, lengths.last, lengths.step or 1)
end

-- The token of a symbol; false if no symbol has the name.
local function token_of(symbols, name)
  local tokens = lists.map(symbols, function(symbol, i) return symbol == name and i - 1 or nil end)
  return tokens[1] or false
end

-- The options as a task's code reads them: numbers unchanged, words by their index from 0.
local function option_fields(facts, chosen)
  if not chosen then
    return false
  end
  local values = lists.map(facts.options, function(option) return formulas.number(option, chosen[option.name]) end)
  local words = lists.map(facts.options, function(option)
    return ("%s = %s"):format(option.name, chosen[option.name])
  end)
  return { values = table.concat(values, ", "), about = table.concat(words, ", ") }
end

local function task_fields(facts, task)
  return {
    kind = facts.kind,
    source = facts.text and facts.kind .. ".c",
    path = facts.path,
    text = facts.text,
    data = facts.data,
    axes = facts.axes and { names = table.concat(literals.names(lists.names(facts.axes)), " "), count = #facts.axes }
      or false,
    options = option_fields(facts, task.options),
    lengths = not facts.data and {
      { name = "input_length", formula = facts.input_length, constant = not facts.input_length:find("n") },
      { name = "output_length", formula = facts.output_length, constant = not facts.output_length:find("n") },
    },
    shared = facts.symbols ~= nil,
    start = token_of(facts.symbols or {}, facts.start_symbol), -- a decoder's first token, instead of a separator
    end_token = token_of(facts.output_symbols, facts.end_symbol),
    end_symbol = facts.end_symbol or false,
    input_count = #facts.input_symbols,
    output_count = #facts.output_symbols,
    blanks = #(facts.blank or {}),
    probe = token_of(facts.input_symbols, facts.probe),
    probe_symbol = facts.probe or false,
    literal = facts.literal or false,
    loss = facts.loss or false, -- of all labels, or of counted labels; false: none is masked
    counted = facts.loss == "counted",
    alphabets = {
      { name = "input_symbols", lines = literals.names(facts.input_symbols) },
      { name = "output_symbols", lines = literals.names(facts.output_symbols) },
    },
    chance = facts.chance,
    baseline = facts.baseline,
    baseline_name = facts.baseline_name,
  }
end

function M.derive(plan, facts, network)
  local resolved, train, arrays = plan.resolved, plan.resolved.train, {}
  local stream = validation.of(resolved) or false
  if stream then
    stream.coincide = validation.coincide(resolved, facts)
  end
  return { own_network = network or false, task = task_fields(facts, resolved.task), lists = arrays,
    train = { batch = train.batch, shards = train.shards,
      lengths_text = lengths_text(train.lengths, "train_lengths", arrays) }, clip = train.clip, validation = stream }
end

return M
