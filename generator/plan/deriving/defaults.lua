-- The settings of an experiment that change no code, as the text that a trainer contains (runtime/training/defaults.h).
--
-- Input: the resolved spec, the checkpoint that runs begin with or nil (first_checkpoint.lua). Output:
--   text       the whole text
--   digest     the digest in its first line
--   reserved   the number of bytes that a program reserves for the text, so that a longer text can replace it
--   lines      the text as C string literals
-- If only this text differs, trainer_defaults.lua writes it into an existing trainer.

local axes = require("spec.task.axes")
local canonical = require("base.canonical")
local lists = require("base.lists")
local literals = require("base.literals")
local sha256 = require("base.sha256")
local tasks = require("spec.task.tasks")
local validation = require("spec.rules.validation")

local M = {}

local VERSION = 1 -- LH_DEFAULTS_VERSION
local MIN_RESERVED = 16384 -- bytes; a text takes at most half of the reserved bytes

-- The text of lengths: a list such as "10,20", or first:last:step.
local function format_lengths(lengths)
  if not lengths then
    return "1:0:1" -- an empty range: dataset files determine the lengths
  end
  return lengths.list and table.concat(lengths.list, ",")
    or ("%d:%d:%d"):format(lengths.first, lengths.last, lengths.step or 1)
end

-- The text of eval.by, such as "vectors=*;digits=1:50:1". values_by_axis: name of an axis -> its values, or true for
-- all values. Noise and passes are left out, since they have settings of their own.
local function format_axes(values_by_axis)
  local parts = lists.map(canonical.sort_keys(axes.remove_settings(values_by_axis) or {}), function(name)
    local values = values_by_axis[name]
    return ("%s=%s"):format(name, values == true and "*" or format_lengths(values))
  end)
  return #parts > 0 and table.concat(parts, ";")
end

-- The text of a list, such as the standard deviations of noise "0,0.5,1"; nil without a list.
local function format_list(list, format)
  return list and table.concat(lists.map(list, function(item) return (format or "%s"):format(item) end), ",")
end

-- The numbers of passes in eval.by.passes as text; nil without this field. The number of passes in training comes
-- first; 0 means that each example has its own number of passes.
local function format_passes(resolved)
  local passes = lists.get(resolved, "eval.by.passes")
  local times = passes and resolved.model.loops.times
  times = type(times) == "string" and 0 or times
  return passes and table.concat(lists.join({ times }, lists.filter(tasks.list_lengths(passes), function(number)
    return number ~= times
  end)), ",")
end

-- The number of examples; 0 stands for all examples.
local function encode_count(examples)
  return examples == "all" and 0 or examples
end

-- The settings as { name, value }, with the names of lh_spec; settings with a value of nil or false are left out of the
-- text.
local function list_values(resolved, init)
  local train, eval, during = resolved.train, resolved.eval, resolved.eval.during
  local keep = train.checkpoint.keep
  local stream = validation.plan(resolved) -- the plan of the validation examples of a sampler, or nil
  return {
    { "train.steps", train.steps },
    { "train.epochs", train.epochs },
    { "train.learning_rate", train.learning_rate },
    { "train.by_epochs", train.cadence == "epochs" },
    { "train.log_every", train.log_every },
    { "train.checkpoint_every", train.checkpoint.every },
    { "train.checkpoint_minutes", train.checkpoint.minutes },
    { "train.keep_all", keep == "all" },
    { "train.keep_steps", type(keep) == "table" and format_list(keep) },
    { "train.best", train.checkpoint.best and train.checkpoint.best.metric },
    { "train.best_earliest", train.checkpoint.best and train.checkpoint.best.tie == "earliest" },
    { "train.patience", train.patience },
    { "train.init", init and init.shown },
    { "train.init_checksum", init and init.checksum },
    { "eval.lengths", format_lengths(eval.lengths) },
    { "eval.by", format_axes(eval.by) },
    { "eval.noise", format_list(lists.get(eval, "by.noise.list"), "%.17g") },
    { "eval.passes", format_passes(resolved) },
    { "eval.sets", format_list(eval.splits) },
    { "eval.with_trained", eval.novel == false }, -- whether evaluation includes examples that occur in training
    { "eval.in_order", eval.order == "file" },
    { "eval.examples", encode_count(eval.examples) },
    { "eval.batch", eval.batch },
    { "eval.draws", eval.draws },
    { "eval.teacher_forced", eval.decoding == "teacher_forced" },
    { "eval.places", eval.places },
    { "eval.validation_lengths", stream and format_list(stream.lengths) },
    { "eval.validation_examples", stream and stream.examples },
    { "eval.during_every", during and during.every },
    { "eval.during_lengths", during and format_lengths(during.lengths) },
    { "eval.during_by", during and format_axes(during.by) },
    { "eval.during_sets", during and format_list(during.splits) },
    { "eval.during_examples", during and encode_count(during.examples) },
    { "resolved", canonical.format(resolved) },
  }
end

local function format_head(reserved, digest)
  return ("longhand defaults %d %d %s\n"):format(VERSION, reserved, digest)
end

-- A pattern that matches the first line of a text, with any digest. reserved: the number of bytes that the program
-- reserves for the text.
function M.make_pattern(reserved)
  return format_head(reserved, "%x+")
end

-- The lines of a text as C string literals, without their quotes.
local function write_literals(text)
  local strings = {}
  for line in text:gmatch("([^\n]*)\n") do
    lists.append(strings, literals.split_text(line))
    strings[#strings] = strings[#strings] .. "\\n"
  end
  return strings
end

-- The number of bytes to reserve for a text. It is one of a few numbers, since a text can only replace a text with the
-- same number of reserved bytes.
local function choose_reserved(bytes)
  local reserved = MIN_RESERVED
  while reserved < 2 * bytes do
    reserved = 2 * reserved
  end
  return reserved
end

-- The environment variable for a trainer that ./longhand starts. With this variable, the trainer refuses to run if
-- another build has replaced the trainer's defaults in the meantime.
function M.make_environment(settings)
  return "LONGHAND_DEFAULTS=" .. settings.digest
end

function M.derive(resolved, init)
  local body = table.concat(lists.map(list_values(resolved, init), function(entry)
    local name, value = entry[1], entry[2]
    local text = type(value) == "number" and canonical.format(value) or tostring(value)
    return value and ("%s %s\n"):format(name, text) or nil
  end))
  local reserved, digest = choose_reserved(#body), sha256.digest(body)
  local text = format_head(reserved, digest) .. body
  return { text = text, digest = digest, reserved = reserved, lines = write_literals(text) }
end

return M
