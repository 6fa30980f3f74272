-- Position tables: their distance from a fixed one, and how alike they are (docs/analyses.md).
--
-- Input: a study with its cells read, and { project, folder, grid, reference, split, say }. Output: the files
-- tables.csv (a table per line), correlations.csv, similarity.csv, tables.gnuplot; or nil and a message. Third, what is
-- damaged and was left out, or nil.

local groups = require("lab.study.analyse.groups")
local heat = require("lab.study.analyse.pictures.heat")
local lists = require("base.lists")
local panels = require("lab.study.analyse.pictures.panels")
local procrustes = require("lab.study.analyse.procrustes")
local scatter = require("lab.study.analyse.pictures.scatter")
local sheets = require("lab.study.analyse.sheets")
local statistics = require("lab.study.read.statistics")
local table_text = require("lab.study.report.tables.table_text")
local tables = require("lab.study.analyse.tables")

local M = {}

local line, number, texts = sheets.line, sheets.number, sheets.texts

local REFERENCE = { grid = "2-D sinusoid", line = "1-D sinusoid" }
local STEP = { start = "step 0", trained = "trained" }
local MEASURE = { norm = "norm", distance = "distance", unit = "distance at unit norm" }
local ACROSS = 6 -- panels of a row of the picture

local function mean_and_sd(values, form)
  local mean, sd = statistics.mean(values), statistics.sd(values)
  return number(form, mean) .. (sd and (" ± " .. form):format(sd) or "")
end

local function distances_table(result, options)
  local rows = {}
  for _, group in ipairs(result.groups) do
    local row = { ("%d"):format(#group.records), number("%.2f", statistics.mean(group.scores)) }
    for _, step in ipairs(tables.STEPS) do
      for _, measure in ipairs(tables.MEASURES) do
        row[#row + 1] = mean_and_sd(tables.values(group, step, measure), measure == "unit" and "%.4f" or "%.2f")
      end
    end
    rows[#rows + 1] = { title = group.name, cells = texts(table.unpack(row)) }
  end
  local titles = { "seeds", "accuracy" }
  for _, step in ipairs(tables.STEPS) do
    for _, measure in ipairs(tables.MEASURES) do
      titles[#titles + 1] = ("%s, %s"):format(MEASURE[measure], STEP[step])
    end
  end
  return { name = "tables", title = ("Orthogonal Procrustes distance of position tables from the %s"):format(
    REFERENCE[options.reference]), about = ("min |A Q - B| over orthogonal Q, of the first %d positions; means over "
    .. "blocks, then mean ± sd (n - 1) over seeds; accuracy in percent, split %s"):format(options.rows, options.split),
    corner = "cell", subs = { "" }, columns = sheets.columns(table.unpack(titles)), rows = rows, notes = result.notes }
end

local function correlations_table(list)
  local rows, at = {}, {}
  for _, item in ipairs(list) do
    local key = item.over .. "\n" .. item.step
    if not item.block and not at[key] then
      at[key] = { title = ("%s, %s"):format(item.over, STEP[item.step]), list = { ("%d"):format(item.count) } }
      rows[#rows + 1] = at[key]
    end
    if not item.block then
      table.insert(at[key].list, number("%.3f", item.pearson))
      table.insert(at[key].list, number("%.3f", item.spearman))
    end
  end
  for i, row in ipairs(rows) do
    rows[i] = { title = row.title, cells = texts(table.unpack(row.list)) }
  end
  local titles = { "points" }
  for _, measure in ipairs(tables.MEASURES) do
    titles[#titles + 1], titles[#titles + 2] = MEASURE[measure], "(ranks)"
  end
  return { name = "correlations", title = "Correlation with accuracy: Pearson, and Spearman (ranks)",
    about = "of learned tables; the accuracy is that of the trained model, also beside step 0", corner = "over",
    subs = { "" }, columns = sheets.columns(table.unpack(titles)), rows = rows, notes = {} }
end

-- Pearson's of all runs, by step and measure.
local function of_all(list)
  local found = {}
  for _, item in ipairs(list) do
    if item.over == "all runs" and not item.block then
      found[item.step .. item.measure] = item.pearson
    end
  end
  return found
end

-- What one must know before one reads the correlations as a finding; nil where there is nothing to say.
local function warning_of(found)
  if not found.startdistance then
    return nil
  end
  return ("Before any training the distance correlates with the later accuracy at %.2f, and the norm alone at %s: the "
    .. "distance follows the norm, which the initial values set. What training added must show at unit norm (%s at "
    .. "step 0, %s trained), or within a cell over seeds."):format(found.startdistance, number("%.2f", found.startnorm),
    number("%.2f", found.startunit), number("%.2f", found.trainedunit))
end

local function similarity_table(result, list, step)
  local names, rows, at = {}, {}, {}
  for i, group in ipairs(result.groups) do
    names[i], at[group] = group.name, {}
    rows[i] = { title = group.name }
  end
  for _, item in ipairs(list) do
    if item.step == step then
      at[item.a][item.b], at[item.b][item.a] = item, item
    end
  end
  for i, a in ipairs(result.groups) do
    local row = lists.map(result.groups, function(b) return number("%.4f", at[a][b] and at[a][b].mean) end)
    rows[i].cells = texts(table.unpack(row))
  end
  return { name = "similarity", title = ("Cosine of the tables themselves, %s"):format(STEP[step]),
    about = "of flattened tables, mean over blocks, then over all pairs of seeds; on the diagonal, of different seeds",
    corner = "cell", subs = { "" }, columns = sheets.columns(table.unpack(names)), rows = rows, notes = {} }
end

local function tables_csv(result)
  local lines = { "cell,seed,learning_rate,step,block,norm,distance,unit_distance,unrotated,cosine,accuracy" }
  tables.each(result.groups, function(list, step, record, group)
    for _, one in ipairs(list) do
      local m = one.measures
      lines[#lines + 1] = line(group.name, record.run.seed, group.rate, step, one.block, m.norm, m.distance, m.unit,
        m.plain, m.cosine, record.accuracy)
    end
  end)
  return table.concat(lines, "\n") .. "\n"
end

local function correlations_csv(list)
  local lines = { "over,step,block,measure,points,pearson,spearman" }
  for _, item in ipairs(list) do
    lines[#lines + 1] = line(item.over, item.step, item.block or "mean", item.measure, item.count, item.pearson,
      item.spearman)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function similarity_csv(list)
  local lines = { "a,b,step,pairs,mean,sd" }
  for _, item in ipairs(list) do
    lines[#lines + 1] = line(item.a.name, item.b.name, item.step, item.count, item.mean, item.sd)
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The first seed's table of the first block of each group, trained and turned towards the reference; or nil, a code and
-- a message.
local function rotate(result, options)
  local values = {}
  for i, group in ipairs(result.groups) do
    values[i] = group.records[1].trained[1].values
  end
  return procrustes.measure(options.project, options.folder, { rows = options.rows, columns = result.width },
    result.reference, values, true)
end

local function picture(result, rotated, correlations, options)
  local data = {}
  local shown = { heat.panel(data, "reference", result.reference, options.rows, REFERENCE[options.reference]) }
  for i, group in ipairs(result.groups) do
    shown[#shown + 1] = heat.panel(data, ("rotated%d"):format(i), rotated[i].rotated, options.rows, group.name)
  end
  local rows = {}
  for i, one in ipairs(shown) do
    local row = math.ceil(i / ACROSS)
    rows[row] = rows[row] or { label = row == 1 and "Trained tables (first seed, first block), turned towards the "
      .. "first panel: positions down, channels across" or "" }
    table.insert(rows[row], one)
  end
  for _, step in ipairs(tables.STEPS) do
    local row = { label = ("Accuracy in percent against what stands above each panel, %s: points are runs")
      :format(STEP[step]) }
    for _, measure in ipairs(tables.MEASURES) do
      local groups_shown = {}
      for _, group in ipairs(result.groups) do
        local values, scores = tables.values(group, step, measure)
        groups_shown[#groups_shown + 1] = { name = group.name, x = values, y = scores }
      end
      row[#row + 1] = scatter.panel(data, step .. measure, groups_shown, ("%s, r = %s"):format(MEASURE[measure],
        number("%.2f", correlations[step .. measure])))
    end
    rows[#rows + 1] = row
  end
  return panels.script({ name = "tables", title = ("Position tables and the %s"):format(REFERENCE[options.reference]),
    note = "colours of tables from minus to plus the panel's largest; points: cells in that order, from dark to light; "
      .. "r: Pearson's, of learned tables", panel = 190, settings = heat.SETTINGS, data = data, rows = rows })
end

function M.run(study, options)
  options.rows, options.across = options.grid.down * options.grid.across, options.grid.across
  local damage = sheets.damage(study)
  local result, code, message = tables.of(groups.all(study, options.split), options)
  if not result then
    return nil, damage and message .. "\n" .. damage or message, nil, code
  end
  local rotated
  rotated, code, message = rotate(result, options)
  if not rotated then
    return nil, message, nil, code
  end
  local correlations, similarities = tables.correlations(result), tables.similarities(result)
  options.say(sheets.shown(distances_table(result, options)))
  options.say(sheets.shown(correlations_table(correlations)))
  options.say(table_text.wrap(warning_of(of_all(correlations))
    or "There are no checkpoints of step 0 to compare with.", sheets.WIDTH) .. "\n")
  for _, step in ipairs(tables.STEPS) do
    options.say(sheets.shown(similarity_table(result, similarities, step)))
  end
  return {
    { path = "tables.csv", text = tables_csv(result) },
    { path = "correlations.csv", text = correlations_csv(correlations) },
    { path = "similarity.csv", text = similarity_csv(similarities) },
    { path = "tables.gnuplot", text = picture(result, rotated, of_all(correlations), options) },
  }, nil, damage
end

return M
