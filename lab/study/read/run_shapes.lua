-- The central table of valid contents of a run's files: types, ranges and patterns of every field.
--
-- Input: none; schema.lua supplies the fields of a spec. Output: the maximum sizes of files, and shapes (shapes.lua):
--   facts              run.json
--   id, digest, spec   fields of run.json
--   evaluation         a line of eval.jsonl
--   places, by_example fields of such a line
--   metrics            a line of metrics.jsonl
--   record             the note that a sweep writes to the folder of all runs
-- Most objects may also have other fields, from later versions of Longhand. These fields are not checked.

local alphabets = require("spec.task.alphabets")
local axes = require("spec.task.axes")
local attention_lines = require("spec.attention_lines")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local parameters = require("spec.score.score_parameters")
local schema = require("spec.schema")
local shapes = require("lab.study.read.shapes")

local M = {}

-- Limits in bytes, far above usual sizes. Files of lines are read in pieces, other files at once.
M.MAX_BYTES = { ["run.json"] = 4 << 20, ["eval.jsonl"] = 256 << 20, ["metrics.jsonl"] = 256 << 20, record = 1 << 20 }
M.MAX_LINE_BYTES = 1 << 20 -- enough for the counts of MAX_PLACES places and the results of MAX_EXAMPLES examples
M.MAX_LINES = 1 << 20
M.MAX_EVALUATED_LENGTH = 1000000 -- maximum task length that `trainer eval` takes: runtime/cli/options.h

local MAX_COUNT = 1 << 53 -- a double holds it exactly
local MAX_TEXT = 16384 -- bytes; enough for a flag with a path or with a list of all lengths
local MAX_FORMULA = 1 << 20 -- bytes
local MAX_PLACES = 16384 -- LH_MAX_TARGET_PLACES of runtime/eval/by_place.h
local MAX_EXAMPLES = 16384 -- LH_MAX_LISTED_EXAMPLES of runtime/eval/by_sequence.h
local MAX_FLAGS, MAX_VALUES = 4096, 1 << 21

local TEXT = shapes.text(MAX_TEXT)
local WORD = shapes.text(64, "^[%a_][%w_]*$", "a word: letters, digits and _")
local NAME = shapes.text(64, "^[%w_][%w_.+ -]*$", "a name: letters, digits, blanks, _ . + and -")
local COUNT = shapes.integer(0, MAX_COUNT)
local NUMBER = shapes.number({})
local SHARE = shapes.number({ min = 0, max = 1 })
local LENGTH = shapes.integer(1, schema.MAX_TASK_LENGTH)
local DIGEST = shapes.text(64, "^%x+$", "hexadecimal digits")
local RATE = shapes.number({ min = 0, max = 1e6 })

M.id = shapes.text(load_module.MAX_ID_LENGTH, "^[a-z][a-z0-9_]+$", load_module.ID_TEXT)
M.digest = shapes.text(16, "^" .. ("[0-9a-f]"):rep(16) .. "$", "16 hexadecimal digits")

local CURRICULUM = shapes.list(shapes.object({ until_step = COUNT, max = COUNT }, {
  required = { "until_step", "max" } }), MAX_FLAGS)
local LENGTHS = shapes.object({ first = LENGTH, last = LENGTH, step = LENGTH,
  list = shapes.list(LENGTH, schema.MAX_TASK_LENGTH, true), per = WORD, curriculum = CURRICULUM }, {
  expected = "{ first, last, step } or { list }",
  check = function(value, path)
    if value.list and value.first or not value.list and not (value.first and value.last) then
      return { field = path, found = "another form", expected = "first and last, or a list" }
    elseif value.first and value.first > value.last then
      return { field = path .. ".last", found = ("%d"):format(value.last),
        expected = ("at least %d, the value of first"):format(value.first) }
    end
  end })

local PARAMETER = shapes.object({
  per = WORD, size = shapes.integer(1, MAX_COUNT), first = shapes.integer(-MAX_COUNT, MAX_COUNT),
    learned = shapes.boolean,
  init = shapes.either(NUMBER, shapes.object({ kind = WORD, sigma = shapes.number({ above = 0 }) },
    { required = { "kind", "sigma" } })),
  values = shapes.list(NUMBER, MAX_VALUES), outside = shapes.either(NUMBER, WORD),
  from = WORD, unit = shapes.boolean,
}, { required = { "per" }, other_fields = shapes.any, check = function(value, path)
  if not value.init and not value.values then
    return { field = path, found = "neither init nor values", expected = "one of them" }
  elseif value.size and not value.first then
    return { field = path .. ".first", found = "nothing", expected = "an integer, together with size" }
  end
end })

local VALUE = shapes.integer(0, axes.MAX_VALUE)
local DEVIATION = shapes.number({ min = 0, max = axes.MAX_NOISE })
local NOISE = shapes.object({ list = shapes.list(DEVIATION, schema.MAX_TASK_LENGTH) }, { required = { "list" } })
local BY = shapes.object({ [axes.NOISE] = NOISE }, { names = "^[%a_][%w_]*$",
  other_fields = shapes.either(shapes.boolean,
  shapes.object({ first = VALUE, last = VALUE, step = LENGTH,
    list = shapes.list(VALUE, schema.MAX_TASK_LENGTH, true) })) })

local LINES = shapes.list(shapes.object({
  head = shapes.integer(0, MAX_COUNT), direction = shapes.integer(-1, 1),
  line = shapes.integer(-attention_lines.MAX_LINE_NUMBER, attention_lines.MAX_LINE_NUMBER), value = NUMBER,
}, { required = { "head", "direction", "line", "value" } }), attention_lines.MAX_LINES)

local KEEP = shapes.either(WORD, shapes.list(COUNT, MAX_FLAGS, true))

local OPTION = "^[%a_][%w_]*$" -- names of options and of settings

-- Shapes of a spec's fields, by the field's type in spec/schema.lua. Some are functions that make the shape of a field.
local BY_TYPE = {
  integer = function(field)
    local integer = shapes.integer(field.min, field.max)
    return field.word and shapes.either(integer, WORD) or integer
  end,
  number = shapes.number,
  boolean = shapes.boolean, kind = WORD, choice = WORD, lengths = LENGTHS, curriculum = CURRICULUM, keep = KEEP,
  lines = LINES, by = BY,
  score = shapes.text(MAX_FORMULA),
  parameters = shapes.object({}, { other_fields = PARAMETER, names = parameters.NAME }),
  source = TEXT, network = TEXT, file = TEXT, checkpoint = TEXT, name = WORD,
  symbol = TEXT, names = shapes.list(WORD, axes.MAX_AXES),
  symbols = shapes.either(shapes.integer(alphabets.MAX_LISTED + 1, alphabets.MAX_SYMBOLS),
    shapes.list(TEXT, alphabets.MAX_SYMBOLS)),
  options = shapes.object({}, { other_fields = shapes.either(NUMBER, TEXT), names = OPTION }),
  settings = shapes.object({}, { other_fields = shapes.either(NUMBER, shapes.boolean, TEXT), names = OPTION }),
}

-- Returns the shapes of the fields of a table of the spec, by name. path: the path of the table; "" is the whole spec.
local function make_fields(path)
  local fields = {}
  for _, field in ipairs(schema.children[path]) do
    local shape = BY_TYPE[field.type]
    fields[field.name] = field.type == "table" and shapes.object(make_fields(field.path), { other_fields = shapes.any })
      or type(shape) == "function" and shape(field) or shape
  end
  return fields
end

local SPEC = make_fields("")
SPEC.id, SPEC.source = M.id, TEXT
M.spec = shapes.object(SPEC, { required = { "task", "model", "train", "eval" }, other_fields = shapes.any })

M.facts = shapes.object({
  id = M.id, digest = M.digest, model_digest = DIGEST, source_digest = DIGEST,
  spec = M.spec, flags = shapes.list(TEXT, MAX_FLAGS),
  data = shapes.object({ epoch_batches = shapes.integer(1, MAX_COUNT), train = TEXT, train_sha256 = DIGEST,
    train_examples = COUNT, eval = TEXT, eval_sha256 = DIGEST, eval_examples = COUNT, validation = TEXT,
    validation_sha256 = DIGEST, validation_examples = COUNT, train_masked = COUNT, eval_masked = COUNT,
    validation_masked = COUNT, by = shapes.list(WORD, axes.MAX_AXES) }, { other_fields = shapes.any }),
  train_lengths = shapes.list(LENGTH, schema.MAX_TASK_LENGTH),
  -- Each entry of `seen`: a length, and the numbers of sequences, labels and tokens of this length in training.
  seen = shapes.list(shapes.tuple(COUNT, 4), schema.MAX_TASK_LENGTH),
  seed = COUNT, seeds_apart = shapes.object({ init = COUNT, data = COUNT, draws = COUNT }),
  learning_rate = RATE, level = NAME, compiler = TEXT, variant = NAME, precision = WORD, threads = COUNT,
  parameters = COUNT, machine = TEXT, started = TEXT, step = COUNT, train_seconds = shapes.number({ min = 0 }),
  init = TEXT, init_checksum = DIGEST, epoch_accuracy = SHARE, ended = TEXT, exit = shapes.integer(0, 255),
  loss = WORD,
  patience_of_steps = COUNT, -- if train.patience ended the run: the requested number of steps
  best = shapes.object({ step = COUNT, metric = WORD, score = NUMBER }, { required = { "step", "metric", "score" } }),
}, { required = { "id", "digest", "spec", "seed", "learning_rate" }, other_fields = shapes.any })

-- Returns the name of the accuracy that a line of eval.jsonl must have and lacks; nil if it lacks none. Lines without
-- counted labels need no accuracy.
function M.find_missing_accuracy(line)
  if line.accuracy or line.counted == 0 then
    return nil
  elseif line.decoding == "teacher_forced" then
    return not line.accuracy_teacher_forced and "accuracy_teacher_forced" or nil
  end
  return "accuracy"
end

local COUNTS = shapes.list(COUNT, MAX_PLACES)
local SIDE = shapes.object({ counted = COUNTS, correct = COUNTS, correct_teacher_forced = COUNTS },
  { required = { "counted" } })

-- Checks that both sides have the same kinds of answers, and that each sequence has at most one first error. If lists
-- are not empty, there must be counts of right answers, and at least one sequence.
local function check_totals(value, path)
  local has_answers = false
  for _, key in ipairs({ "correct", "correct_teacher_forced" }) do
    if (value.start[key] ~= nil) ~= (value["end"][key] ~= nil) then
      return { field = ("%s%s.%s"):format(path, value.start[key] and "end" or "start", key), found = "nothing",
        expected = "a list, as on the other side" }
    end
    has_answers = has_answers or value.start[key] ~= nil
  end
  local errors = lists.sum(value.first_error, function(count) return count + 0.0 end) -- as integers, they may overflow
  if not has_answers and #value.first_error > 0 then
    return { field = path .. "start", found = "no answers", expected = "correct or correct_teacher_forced" }
  elseif value.sequences == 0 and #value.first_error > 0 then
    return { field = path .. "sequences", found = "0", expected = "1 or more, since the lists have places" }
  elseif errors > value.sequences then
    return { field = path .. "first_error", found = ("%.0f errors"):format(errors),
      expected = ("at most one for each of %d sequences"):format(value.sequences) }
  end
end

-- Checks that all lists have a number for each place, and that no place has more right answers than counted labels.
local function check_places(value, path)
  path = path == "" and "" or path .. "."
  for _, name in ipairs({ "start", "end" }) do
    local counted = value[name].counted
    for _, key in ipairs({ "correct", "correct_teacher_forced" }) do
      for i, count in ipairs(value[name][key] or {}) do
        if count > (counted[i] or -1) then
          return { field = ("%s%s.%s[%d]"):format(path, name, key, i), found = ("%d"):format(count),
            expected = counted[i] and ("at most %d, the counted labels"):format(counted[i])
              or "no number, since `counted` has no such place" }
        end
      end
    end
    if #counted ~= #value.first_error or value[name].correct and #value[name].correct ~= #counted
      or value[name].correct_teacher_forced and #value[name].correct_teacher_forced ~= #counted then
      return { field = path .. name, found = "lists of different lengths", expected = "a number for each place" }
    end
  end
  return check_totals(value, path)
end

M.places = shapes.object({ sequences = COUNT, start = SIDE, ["end"] = SIDE, first_error = COUNTS },
  { required = { "sequences", "start", "end", "first_error" }, check = check_places })

local EXAMPLE_COUNTS = shapes.list(COUNT, MAX_EXAMPLES)

M.by_example = shapes.object({ uncertainty = shapes.list(NUMBER, MAX_EXAMPLES),
  correct = EXAMPLE_COUNTS, counted = EXAMPLE_COUNTS }, { required = { "uncertainty", "correct", "counted" },
  check = function(value, path)
  if #value.correct ~= #value.uncertainty or #value.counted ~= #value.uncertainty then
    return { field = path, found = "lists of different lengths", expected = "a number for each example and draw" }
  end
end })

M.evaluation = shapes.object({
  step = COUNT, split = shapes.text(15, "^[a-z_]+$",
    "during, validation, in_distribution, between, beyond, test or train"),
  set = shapes.text(10, "^[a-z]+$", "test, train or validation"),
  by = shapes.object({ length = shapes.integer(1, M.MAX_EVALUATED_LENGTH) },
    { other_fields = shapes.number({ min = 0 }),
    names = "^[%a_][%w_]*$", expected = "{ length = n }, or other numbers by name" }),
  examples = shapes.integer(1, MAX_COUNT), of = shapes.integer(1, MAX_COUNT), order = WORD,
  batch = COUNT, draws = shapes.integer(1, MAX_COUNT),
  decoding = shapes.text(14, "^[a-z_]+$", "greedy or teacher_forced"), counted = COUNT,
  accuracy = SHARE, accuracy_teacher_forced = SHARE, exact_match = SHARE, exact_match_low = SHARE,
  exact_match_high = SHARE, ended_early = SHARE, not_ended = SHARE, loss = NUMBER, sd_over_draws = NUMBER,
  sd_over_sequences = NUMBER, beyond = shapes.list(WORD, axes.MAX_AXES), trained = SHARE, novel = shapes.boolean,
  data = DIGEST, places = M.places, by_example = M.by_example, seed = shapes.integer(math.mininteger, math.maxinteger),
}, { required = { "step", "split", "by", "examples", "draws" }, other_fields = shapes.any, check = function(value, path)
  local name = M.find_missing_accuracy(value)
  return name and { field = path == "" and name or path .. "." .. name, found = "nothing", expected = SHARE.expected }
    or nil
end })

M.metrics = shapes.object({ step = COUNT, accuracy = SHARE, accuracy_teacher_forced = SHARE,
  seconds = shapes.number({ min = 0 }) },
  { required = { "step" }, other_fields = NUMBER, names = "^[%a_][%w_]*$", expected = "numbers by name" })

M.record = shapes.object({ study = TEXT, path = TEXT, absolute = TEXT, scale = TEXT,
  set = shapes.list(TEXT, MAX_FLAGS) }, { required = { "study", "path" }, other_fields = shapes.any })

return M
