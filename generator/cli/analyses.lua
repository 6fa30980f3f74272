-- The command line of `analyze`: its analyses and their options.
--
-- Input: the parser of cli.lua. Output: none; the verb is added to it.

local converters = require("cli.converters")
local measures = require("spec.measures")

local M = {}

local positive = converters.positive

-- Task lengths, at least `fewest` different ones.
local function lengths(fewest)
  return function(text)
    local list, known = {}, {}
    for word in (text .. ","):gmatch("([^,]*),") do
      local length = positive(word)
      if not length or known[length] then
        return nil, ("--lengths %s: expected different lengths from 1 on, such as 40,150"):format(text)
      end
      list[#list + 1], known[length] = length, true
    end
    if #list < fewest then
      return nil, ("--lengths %s: expected the length to fit on, then those to compare with it"):format(text)
    end
    return list
  end
end

-- An analysis of what runs trace; of examples of some lengths, unless fewest is nil.
local function add_analysis(analyze, name, summary, fewest)
  local command = analyze:command(name):summary(summary)
  command:argument("runs"):argname("RUN"):args("+"):description("folder of a run, or a checkpoint in one; several "
    .. "are shown one below the other")
  if fewest then
    command:option("--lengths"):argname("A,B"):default("40,150"):convert(lengths(fewest)):description("task "
      .. "lengths")
  end
  command:option("--seed"):argname("S"):default("1"):convert(positive):description("of the examples and position draws")
  command:option("--trainer"):argname("FILE"):description("the runs' trainer; default: the one in build/trainers, "
    .. "built again where it is missing")
  command:option("--out"):argname("DIR"):description("where to; default: " .. name .. " in the folder of the first run")
  return command
end

local function points(text)
  local number = tonumber(text)
  return number and number > 0 and number <= 100 and number or nil, ("%s: not a number of points above 0, at most 100")
    :format(text)
end

-- A score in percent, as criteria of studies have it.
local function percent(text)
  local number = tonumber(text)
  return number and number > 1 and number < 100 and number or nil, ("%s: not a number of percent above 1, below 100%s")
    :format(text, number and number > 0 and number <= 1 and "; percent, not a share" or "")
end

-- Numbers of layers, or places of a frame, from 0 on.
local function count(text)
  local number = math.tointeger(tonumber(text))
  return number and number >= 0 and number or nil, ("%s: not an integer from 0 on"):format(text)
end

local function counts(text)
  local list = {}
  for word in (text .. ","):gmatch("([^,]*),") do
    list[#list + 1] = count(word)
    if not count(word) then
      return nil, ("--layers %s: expected numbers of layers from 0 on, such as 0,5"):format(text)
    end
  end
  return list
end

local function add_decoding(analyze)
  local command = add_analysis(analyze, "decoding", "attention of every head while an input of your own is answered")
  command:option("--text"):argname("SYMBOLS"):count("+"):description("the input, such as 078114514+0241919810; "
    .. "may stand there several times")
  command:option("--frame"):argname("N"):convert(count):description("places of its numbers, 0: no padding; default: "
    .. "those of the task")
  command:option("--spec"):argname("SPEC"):description("the spec that the runs were made from; default: run.json's")
  command:option("--layers"):argname("A,B"):convert(counts):description("numbers of layers, from 0; default: all")
end

local SETS = { "test", "train", "validation" }
local SPLITS = { "test", "in_distribution", "between", "beyond", "train", "validation" }

-- An analysis of all runs in a folder. splits: those that it may be of, SETS unless given.
local function add_study_analysis(analyze, name, summary, split, splits)
  local command = analyze:command(name):summary(summary)
  command:argument("runs"):argname("RUNS"):description("a folder of runs")
  command:option("--study"):argname("STUDY"):description("as in report")
  command:option("--scale"):argname("NAME"):description("as in report")
  command:option("--split"):choices(splits or SETS):default(split):description("which evaluation "
    .. "counts; that of test is the score of reports")
  command:option("--out"):argname("DIR"):description(("where to; default: %s, or %s-STUDY, in RUNS"):format(name, name))
  return command
end

local function add_comparison(analyze)
  local compare = add_study_analysis(analyze, "compare", "tests between the cells of a study, or of any runs, over "
    .. "their seeds", "test", SPLITS)
  compare:option("--axis"):argname("NAME"):description("the study's axis along which cells are compared; default: the "
    .. "last with several values")
  compare:option("--reference"):argname("VALUE"):description("a value of the axis: compare with it alone")
  compare:option("--metric"):choices(measures.NAMES):description("what is compared; default: the metric of the study's "
    .. "scores, exact_match where models answer token by token")
  compare:option("--above"):argname("PERCENT"):convert(percent):description("a seed generalises above this score "
    .. "of the metric; default: the study's criterion")
  compare:option("--margin"):argname("POINTS"):convert(points):description("means less than so many points of percent "
    .. "(nats of a loss) apart count as equivalent; without it nothing does")
  compare:option("--resamples"):argname("N"):default("10000"):convert(positive):description("of the bootstrap, "
    .. "and of a permutation test of too many splits")
  compare:option("--seed"):argname("S"):default("1"):convert(positive):description("of these")
end

local function add_similarity(analyze)
  local command = add_study_analysis(analyze, "similarity", "how alike the attention of all models is, cell by cell",
    "validation")
  command:option("--length"):argname("N"):default("16"):convert(positive):description("task length of the examples")
  command:option("--examples"):argname("K"):default("108"):convert(positive):description("the first K of the length; "
    .. "of finite data, of the split, as many as it has")
  command:option("--seed"):argname("S"):default("1"):convert(positive):description("of the examples and position draws")
  command:option("--reference"):argname("CELL"):description("a cell: what likeness to it has to do with accuracy")
  command:flag("--trained-only"):description("leave out step 0")
end

-- Ids of puzzles, from 0 on.
local function ids(text)
  local list = {}
  for word in (text .. ","):gmatch("([^,]*),") do
    local id = math.tointeger(tonumber(word))
    if not id or id < 0 then
      return nil, ("--without %s: expected ids of puzzles from 0 on, such as 99,100,101"):format(text)
    end
    list[#list + 1] = id
  end
  return list
end

local function add_human(analyze)
  local command = add_study_analysis(analyze, "human", "accuracy by puzzle, models against people", "validation")
  command:option("--human"):argname("FILE"):description("CSV with a row for each puzzle")
  command:option("--column"):argname("NAME"):description("its column with the share of people; default: the last")
  command:option("--trials"):argname("FILE"):description("CSV of participants' trials: subject, LST_id, accuracy")
  command:option("--without"):argname("IDS"):convert(ids):description("puzzles to leave out, such as 99,100,101")
  command:option("--copies"):argname("N"):default("3"):convert(positive):description("puzzles of a base, side "
    .. "by side")
  command:option("--resamples"):argname("N"):default("2000"):convert(positive):description("of bases, and of halves "
    .. "of the participants")
  command:option("--seed"):argname("S"):default("1"):convert(positive):description("of these")
end

local LARGEST_GRID = 4096 -- cells

-- ROWSxCOLUMNS
local function grid(text)
  local down, across = text:match("^(%d+)x(%d+)$")
  down, across = positive(down), positive(across)
  return down and across and down * across <= LARGEST_GRID and { down = down, across = across } or nil,
    ("--grid %s: expected rows and columns, such as 4x4"):format(text)
end

local function add_tables(analyze)
  local tables = add_study_analysis(analyze, "tables", "position tables: their distance from a fixed one, and how "
    .. "alike they are", "validation")
  tables:option("--grid"):argname("RxC"):default("4x4"):convert(grid):description("what the positions are the cells "
    .. "of, by rows; the first R times C of a table count")
  tables:option("--reference"):choices({ "grid", "line" }):default("grid"):description("the sinusoid of a cell's "
    .. "column and row, or that of its number")
end

local LOUDEST = 1e6

-- Standard deviations, ascending.
local function deviations(text)
  local list = {}
  for word in (text .. ","):gmatch("([^,]*),") do
    local number = tonumber(word)
    if not number or not (number >= 0 and number <= LOUDEST) or #list > 0 and number <= list[#list] then
      return nil, ("--noise %s: expected ascending standard deviations from 0 on, such as 0,0.5,1"):format(text)
    end
    list[#list + 1] = number + 0.0
  end
  return list
end

local function add_noise(analyze)
  local command = add_study_analysis(analyze, "noise", "accuracy under noise on the embeddings", "validation")
  command:option("--noise"):argname("A,B"):default("0,0.25,0.5,0.75,1,1.25,1.5,1.75,2,2.25,2.5,2.75,3")
    :convert(deviations):description("its standard deviations")
  command:flag("--relative"):description("they are times the root mean square of each token's embedding")
  command:option("--axis"):argname("NAME"):description("a curve for each of its values; default: the first with "
    .. "several")
  command:option("--length"):argname("N"):default("16"):convert(positive):description("task length of the examples")
  command:option("--examples"):argname("K"):default("500"):convert(positive):description("of the length; of finite "
    .. "data, of the split, as many as it has")
  command:option("--draws"):argname("D"):default("10"):convert(positive):description("of the noise")
  command:option("--seed"):argname("S"):default("1"):convert(positive):description("of examples and noise")
end

function M.add(parser)
  local analyze = parser:command("analyze"):summary("look into trained models: pca, attention, decoding, "
    .. "similarity, tables, human, noise, compare"):command_target("what")
  local pca = add_analysis(analyze, "pca", "principal components of activations, fitted on the first length", 2)
  pca:option("--sequences"):argname("N"):default("30"):convert(positive):description("of each length")
  pca:option("--part"):choices({ "input", "output" }):default("input"):description("which tokens: the input's "
    .. "or those at the outputs")
  local attention = add_analysis(analyze, "attention", "attention of one sequence, the maximum over a layer's heads", 1)
  attention:option("--sequence"):argname("I"):default("1"):convert(positive):description("which one")
  attention:option("--crop"):argname("N"):convert(positive):description("the first N queries and keys alone")
  add_decoding(analyze)
  add_comparison(analyze)
  add_similarity(analyze)
  add_tables(analyze)
  add_human(analyze)
  add_noise(analyze)
end

return M
