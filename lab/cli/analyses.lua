-- The command line of `analyze`: its analyses and their options. M.add adds the verb to the parser of
-- generator/cli/cli.lua.

local converters = require("cli.converters")
local lists = require("base.lists")
local measures = require("spec.measures")
local options = require("cli.options")

local M = {}

local read_positive = converters.read_positive

local function read_count(text)
  local number = math.tointeger(tonumber(text))
  return number and number >= 0 and number or nil, ("%s: not an integer from 0 on"):format(text)
end

-- Makes a converter of a list of at least `minimum` different task lengths.
local function make_lengths_reader(minimum)
  local expected = "different lengths from 1 on, such as 40,150"
  local read = converters.make_list_reader(expected, function(word, list)
    local length = read_positive(word)
    return length and not lists.has(list, length) and length or nil
  end)
  return function(text)
    local list, message = read(text)
    if list and #list < minimum then
      return nil, ("%s: expected a length for fitting the components, then lengths to compare with it"):format(text)
    end
    return list, message
  end
end

local function read_points(text)
  local number = tonumber(text)
  return number and number > 0 and number <= 100 and number or nil,
    ("%s: expected a number of percentage points, above 0 and at most 100"):format(text)
end

local function read_percent(text)
  local number = tonumber(text)
  return number and number > 1 and number < 100 and number or nil, ("%s: not a percentage above 1 and below 100%s")
    :format(text, number and number > 0 and number <= 1 and "; write percent, not a share" or "")
end

local MAX_GRID_CELLS = 4096

local function read_grid(text)
  local rows, columns = text:match("^(%d+)x(%d+)$")
  rows, columns = read_positive(rows), read_positive(columns)
  if not rows or not columns then
    return nil, ("%s: expected rows and columns, such as 4x4"):format(text)
  elseif rows * columns > MAX_GRID_CELLS then
    return nil, ("%s: found %d cells; expected at most %d"):format(text, rows * columns, MAX_GRID_CELLS)
  end
  return { rows = rows, columns = columns }
end

local MAX_NUMBER = 1e6 -- in lists of standard deviations and of differences

-- Converts a standard deviation in an ascending list. earlier: the numbers before it in the list.
local function read_deviation(word, earlier)
  local number = tonumber(word)
  return number and number > (earlier[#earlier] or -1) and number >= 0 and number <= MAX_NUMBER and number + 0.0
    or nil
end

-- Converts a difference in an ascending list. earlier: the numbers before it in the list.
local function read_difference(word, earlier)
  local number = tonumber(word)
  return number and number > (earlier[#earlier] or 0) and number <= MAX_NUMBER and number + 0.0 or nil
end

-- A row describes an option: its name, its help and further fields (cli/options.lua).
local function make_seed_row(noun)
  return { "--seed S", "seed of the " .. noun, default = "1", convert = read_positive }
end

local LENGTH = { "--length N", "task length of the examples", default = "16", convert = read_positive }

local function make_examples_row(default)
  return { "--examples K", "use the first K examples of the task length; with a dataset: of the split, or all if "
    .. "it has fewer", default = default, convert = read_positive }
end

-- Analyses of traces of single runs, each with its name, summary and own options. An optional field:
--   min_lengths   the minimum number of lengths in the option --lengths; nil: the analysis has no such option
local TRACE_ANALYSES = {
  { "pca", "find principal components of activations at the first length", min_lengths = 2, {
    { "--sequences N", "number of sequences of each length", default = "30", convert = read_positive },
    { "--part", "tokens to show: tokens of the input, or tokens at the outputs", choices = { "input", "output" },
      default = "input" },
  } },
  { "attention", "show attention of one sequence, the maximum over the heads", min_lengths = 1, {
    { "--sequence I", "index of the sequence, from 1", default = "1", convert = read_positive },
    { "--crop N", "show only the first N queries and keys", convert = read_positive },
  } },
  { "decoding", "show the attention of all heads while the model answers an input", {
    { "--text SYMBOLS", "the input, such as 078114514+0241919810; repeat the option for several inputs", count = "+" },
    { "--frame N", "number of digits to which numbers are padded; 0: no padding; default: as in the task",
      convert = read_count },
    { "--spec SPEC", "the spec of the runs; default: the spec in run.json" },
    { "--layers A,B", "indices of layers, from 0; default: all layers",
      convert = converters.make_list_reader("indices of layers, from 0, such as 0,5", read_count) },
  } },
}

local SETS = { "test", "train", "validation" }
local SPLITS = { "test", "in_distribution", "between", "beyond", "train", "validation" }

-- Analyses of all runs in a folder, each with its name, summary and own options. Two optional fields:
--   splits   the choices of the option --split; default: SETS
--   split    the default of this option; default: "validation"
local STUDY_ANALYSES = {
  { "compare", "compare the cells of a study, or any runs, by statistical tests over their seeds", split = "test",
    splits = SPLITS, {
      { "--axis NAME", "the study's axis along which cells are compared; default: the last axis with several values" },
      { "--reference VALUE", "a value of the axis; all other values are compared with this value alone" },
      { "--metric", "the metric to compare; default: the metric of the study's scores, or exact_match if models answer "
        .. "token by token", choices = measures.NAMES },
      { "--above PERCENT", "score of the metric above which a seed counts as generalising; default: the study's "
        .. "criterion", convert = read_percent },
      { "--margin POINTS", "means that differ by less than this number of percentage points (for a loss: nats) count "
        .. "as equivalent; without --margin, no means do", convert = read_points },
      { "--resamples N", "number of resamples of the bootstrap, and of a permutation test that cannot list all "
        .. "permutations", default = "10000", convert = read_positive },
      make_seed_row("resamples"),
    } },
  { "power", "estimate how many seeds a test needs to find a difference", split = "test", splits = SPLITS, {
    { "--differences X,Y", "differences of means in percentage points (for a loss: in nats)", default = "1,2,5,10",
      convert = converters.make_list_reader("ascending numbers above 0, such as 1,2,5",
        read_difference) },
    { "--power PERCENT", "probability with which the test finds the difference", default = "80",
      convert = read_percent },
    { "--published NAME", "take standard deviations from this file of spec/published, such as ruoss_2023/table4, "
      .. "instead of runs: from columns whose names end in _sd; RUNS is then the output folder" },
    { "--metric", "the metric of the scores; default: as in compare", choices = measures.NAMES },
  } },
  { "similarity", "measure the similarity of attention between models, by cell", {
    LENGTH,
    make_examples_row("108"),
    make_seed_row("examples and sampled positions"),
    { "--reference CELL", "a cell; the analysis also prints how accuracy depends on similarity to this cell" },
    { "--trained-only", "leave out checkpoints of step 0" },
  } },
  { "tables", "compare position tables with each other and with a fixed table", {
    { "--grid RxC", "the positions are the cells of this grid, counted row by row; only positions below R x C are used",
      default = "4x4", convert = read_grid },
    { "--reference", "the fixed table: sinusoids of a position's column and row (grid), or of the position (line)",
      choices = { "grid", "line" }, default = "grid" },
  } },
  { "human", "compare models and humans puzzle by puzzle", {
    { "--human FILE", "CSV file with a row for each puzzle" },
    { "--column NAME", "column of --human with the share of people who answered correctly; default: the last column" },
    { "--trials FILE", "CSV file of participants' trials, with the columns subject, LST_id, accuracy" },
    { "--without IDS", "puzzles to leave out, such as 99,100,101",
      convert = converters.make_list_reader("ids of puzzles from 0 on, such as 99,100,101", read_count) },
    { "--copies N", "number of consecutive puzzles that are copies of one puzzle", default = "3",
      convert = read_positive },
    { "--resamples N", "number of resamples of puzzles, and number of random splits of the participants into "
      .. "halves; copies of one puzzle are resampled together", default = "2000", convert = read_positive },
    make_seed_row("resamples"),
  } },
  { "noise", "measure accuracy under noise on the embeddings", {
    { "--noise A,B", "standard deviations of the noise", default = "0,0.25,0.5,0.75,1,1.25,1.5,1.75,2,2.25,2.5,2.75,3",
      convert = converters.make_list_reader("ascending standard deviations from 0 on, such as 0,0.5,1",
        read_deviation) },
    { "--relative", "multiply the standard deviations by the root mean square of each token's embedding" },
    { "--axis NAME", "axis of the study; each of its values has a curve; default: the first axis with several values" },
    LENGTH,
    make_examples_row("500"),
    { "--draws D", "number of samples of the noise", default = "10", convert = read_positive },
    make_seed_row("examples and the noise"),
  } },
}

function M.add(parser)
  local analyze = parser:command("analyze"):summary("analyze trained models: pca, attention, decoding, similarity, "
    .. "tables, human, noise, compare, power"):command_target("what")
  for _, analysis in ipairs(TRACE_ANALYSES) do
    local name, summary, own_options = table.unpack(analysis)
    local command = analyze:command(name):summary(summary)
    command:argument("runs", "folder of a run, or a checkpoint in it; results of several runs are shown one below the "
      .. "other"):argname("RUN"):args("+")
    options.add(command, analysis.min_lengths and { { "--lengths A,B", "task lengths", default = "40,150",
      convert = make_lengths_reader(analysis.min_lengths) } } or {})
    options.add(command, lists.append({ make_seed_row("examples and sampled positions"),
      options.make_trainer_row("the runs'"),
      { "--out DIR", ("output folder; default: %s in the folder of the first run"):format(name) } }, own_options))
  end
  for _, analysis in ipairs(STUDY_ANALYSES) do
    local name, summary, own_options = table.unpack(analysis)
    local command = analyze:command(name):summary(summary)
    command:argument("runs", "a folder of runs"):argname("RUNS")
    options.add(command, lists.append({
      { "--study STUDY", "as in report" }, { "--scale NAME", "as in report" },
      { "--split", "the split whose results are analyzed; scores in reports are results of the split `test`",
        choices = analysis.splits or SETS, default = analysis.split or "validation" },
      { "--out DIR", ("output folder; default: %s, or %s-STUDY, in RUNS"):format(name, name) },
    }, own_options))
  end
end

return M
