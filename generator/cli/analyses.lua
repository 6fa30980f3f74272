-- The command line of `analyze`: its analyses and their options.
--
-- Input: the parser of cli.lua. Output: none; the verb is added to it.

local converters = require("cli.converters")
local lists = require("base.lists")
local measures = require("spec.measures")
local options = require("cli.options")

local M = {}

local count, positive = converters.count, converters.positive

-- A converter of task lengths: at least `fewest` different ones.
local function lengths(fewest)
  local read = converters.list("--lengths", "different lengths from 1 on, such as 40,150", function(word, list)
    local length = positive(word)
    return length and not lists.has(list, length) and length or nil
  end)
  return function(text)
    local list, message = read(text)
    if list and #list < fewest then
      return nil, ("--lengths %s: expected the length to fit on, then those to compare with it"):format(text)
    end
    return list, message
  end
end

-- Adds an analysis of traced runs. fewest: the least number of task lengths; nil: the analysis has no --lengths.
local function add_analysis(analyze, name, summary, fewest)
  local command = analyze:command(name):summary(summary)
  command:argument("runs", "folder of a run, or a checkpoint in one; several are shown one below the other")
    :argname("RUN"):args("+")
  options.add(command, fewest and { { "--lengths A,B", "task lengths", default = "40,150", convert = lengths(fewest) } }
    or {})
  options.add(command, {
    { "--seed S", "of the examples and position draws", default = "1", convert = positive },
    options.trainer("the runs'"),
    { "--out DIR", ("where to; default: %s in the folder of the first run"):format(name) },
  })
  return command
end

local function points(text)
  local number = tonumber(text)
  return number and number > 0 and number <= 100 and number or nil, ("%s: not a number of points above 0, at most 100")
    :format(text)
end

-- Converts a score in percent, as criteria of studies have it.
local function percent(text)
  local number = tonumber(text)
  return number and number > 1 and number < 100 and number or nil, ("%s: not a number of percent above 1, below 100%s")
    :format(text, number and number > 0 and number <= 1 and "; percent, not a share" or "")
end

local function add_decoding(analyze)
  options.add(add_analysis(analyze, "decoding", "attention of every head while an input of your own is answered"), {
    { "--text SYMBOLS", "the input, such as 078114514+0241919810; may stand there several times", count = "+" },
    { "--frame N", "places of its numbers, 0: no padding; default: those of the task", convert = count },
    { "--spec SPEC", "the spec that the runs were made from; default: run.json's" },
    { "--layers A,B", "numbers of layers, from 0; default: all",
      convert = converters.list("--layers", "numbers of layers from 0 on, such as 0,5", count) },
  })
end

local SETS = { "test", "train", "validation" }
local SPLITS = { "test", "in_distribution", "between", "beyond", "train", "validation" }

-- Adds an analysis of all runs in a folder. splits: the splits that it can analyze, SETS unless given.
local function add_study_analysis(analyze, name, summary, split, splits)
  local command = analyze:command(name):summary(summary)
  command:argument("runs", "a folder of runs"):argname("RUNS")
  options.add(command, {
    { "--study STUDY", "as in report" }, { "--scale NAME", "as in report" },
    { "--split", "which evaluation counts; that of test is the score of reports", choices = splits or SETS,
      default = split },
    { "--out DIR", ("where to; default: %s, or %s-STUDY, in RUNS"):format(name, name) },
  })
  return command
end

local function add_comparison(analyze)
  options.add(add_study_analysis(analyze, "compare", "tests between the cells of a study, or of any runs, over their "
    .. "seeds", "test", SPLITS), {
    { "--axis NAME", "the study's axis along which cells are compared; default: the last with several values" },
    { "--reference VALUE", "a value of the axis: compare with it alone" },
    { "--metric", "what is compared; default: the metric of the study's scores, exact_match where models answer token "
      .. "by token", choices = measures.NAMES },
    { "--above PERCENT", "a seed generalises above this score of the metric; default: the study's criterion",
      convert = percent },
    { "--margin POINTS", "means less than so many points of percent (nats of a loss) apart count as equivalent; "
      .. "without it nothing does", convert = points },
    { "--resamples N", "of the bootstrap, and of a permutation test of too many splits", default = "10000",
      convert = positive },
    { "--seed S", "of these", default = "1", convert = positive },
  })
end

local function add_similarity(analyze)
  options.add(add_study_analysis(analyze, "similarity", "how alike the attention of all models is, cell by cell",
    "validation"), {
    { "--length N", "task length of the examples", default = "16", convert = positive },
    { "--examples K", "the first K of the length; of finite data, of the split, as many as it has", default = "108",
      convert = positive },
    { "--seed S", "of the examples and position draws", default = "1", convert = positive },
    { "--reference CELL", "a cell: what similarity to it has to do with accuracy" },
    { "--trained-only", "leave out step 0" },
  })
end

local function add_human(analyze)
  options.add(add_study_analysis(analyze, "human", "accuracy by puzzle, models against people", "validation"), {
    { "--human FILE", "CSV with a row for each puzzle" },
    { "--column NAME", "its column with the share of people; default: the last" },
    { "--trials FILE", "CSV of participants' trials: subject, LST_id, accuracy" },
    { "--without IDS", "puzzles to leave out, such as 99,100,101",
      convert = converters.list("--without", "ids of puzzles from 0 on, such as 99,100,101", count) },
    { "--copies N", "puzzles of a base, side by side", default = "3", convert = positive },
    { "--resamples N", "of bases, and of halves of the participants", default = "2000", convert = positive },
    { "--seed S", "of these", default = "1", convert = positive },
  })
end

local LARGEST_GRID = 4096 -- cells

-- Converts ROWSxCOLUMNS.
local function grid(text)
  local down, across = text:match("^(%d+)x(%d+)$")
  down, across = positive(down), positive(across)
  return down and across and down * across <= LARGEST_GRID and { down = down, across = across } or nil,
    ("--grid %s: expected rows and columns, such as 4x4"):format(text)
end

local function add_tables(analyze)
  options.add(add_study_analysis(analyze, "tables", "position tables: their distance from a fixed one, and how alike "
    .. "they are", "validation"), {
    { "--grid RxC", "what the positions are the cells of, by rows; the first R times C of a table count",
      default = "4x4", convert = grid },
    { "--reference", "the sinusoid of a cell's column and row, or that of its number", choices = { "grid", "line" },
      default = "grid" },
  })
end

local LOUDEST = 1e6

-- Converts a standard deviation, which must exceed the deviations before it.
local function deviation(word, list)
  local number = tonumber(word)
  return number and number >= 0 and number <= LOUDEST and number > (list[#list] or -1) and number + 0.0 or nil
end

local function add_noise(analyze)
  options.add(add_study_analysis(analyze, "noise", "accuracy under noise on the embeddings", "validation"), {
    { "--noise A,B", "its standard deviations", default = "0,0.25,0.5,0.75,1,1.25,1.5,1.75,2,2.25,2.5,2.75,3",
      convert = converters.list("--noise", "ascending standard deviations from 0 on, such as 0,0.5,1", deviation) },
    { "--relative", "they are times the root mean square of each token's embedding" },
    { "--axis NAME", "a curve for each of its values; default: the first with several" },
    { "--length N", "task length of the examples", default = "16", convert = positive },
    { "--examples K", "of the length; of finite data, of the split, as many as it has", default = "500",
      convert = positive },
    { "--draws D", "of the noise", default = "10", convert = positive },
    { "--seed S", "of examples and noise", default = "1", convert = positive },
  })
end

function M.add(parser)
  local analyze = parser:command("analyze"):summary("look into trained models: pca, attention, decoding, "
    .. "similarity, tables, human, noise, compare"):command_target("what")
  options.add(add_analysis(analyze, "pca", "principal components of activations, fitted on the first length", 2), {
    { "--sequences N", "of each length", default = "30", convert = positive },
    { "--part", "which tokens: the input's or those at the outputs", choices = { "input", "output" },
      default = "input" },
  })
  options.add(add_analysis(analyze, "attention", "attention of one sequence, the maximum over a layer's heads", 1), {
    { "--sequence I", "which one", default = "1", convert = positive },
    { "--crop N", "the first N queries and keys alone", convert = positive },
  })
  add_decoding(analyze)
  add_comparison(analyze)
  add_similarity(analyze)
  add_tables(analyze)
  add_human(analyze)
  add_noise(analyze)
end

return M
