-- How alike the attention of all models of a study is (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of similarity.lua with `reference`. Output: the files
-- similarity.csv (a pair of cells and a layer per line), levels.csv, similarity.gnuplot; or nil and a message. Third,
-- what is damaged and was left out, or nil.

local correlation = require("lab.study.analyse.mathematics.correlation")
local nearest = require("base.nearest")
local groups_module = require("lab.study.analyse.groups")
local heat = require("lab.study.analyse.pictures.heat")
local panels = require("lab.study.analyse.pictures.panels")
local sheets = require("lab.study.analyse.sheets")
local similarity = require("lab.study.analyse.similarity")
local statistics = require("lab.study.read.statistics")
local table_text = require("lab.study.report.tables.table_text")
local tongues = require("base.tongues")
local wording = require("base.wording")

local M = {}

local line, number, texts = sheets.line, sheets.number, sheets.texts

local ALL = -1
local STEP = { start = "step 0", trained = "trained" }
local LARGEST = math.log(2) -- of a divergence
local CELL, LEAST = 18, 220 -- pixels of a group in the picture, and of a panel at least
local LETTER = 6            -- pixels of a letter beside it

local function shown_name(group)
  return group.name .. (group.mask and " *" or "")
end

local function mean_and_sd(values, form)
  local sd = statistics.sd(values)
  return number(form, statistics.mean(values)) .. (sd and (" ± " .. form):format(sd) or "")
end

local NONE = { cosine = {}, divergence = {} }

-- The lists of two groups in either order.
local function between(step, a, b, layer)
  return step.pairs[a][b][layer] or step.pairs[b][a][layer] or NONE
end

local function matrix_table(groups, step, measure, title)
  local rows, names = {}, {}
  for i, a in ipairs(groups) do
    local row = {}
    for j, b in ipairs(groups) do
      row[j] = number("%.3f", statistics.mean(between(step, a, b, ALL)[measure]))
    end
    names[i], rows[i] = shown_name(a), { title = shown_name(a), cells = texts(table.unpack(row)) }
  end
  return { name = measure, title = ("%s of attention, %s"):format(title, STEP[step.step]), about = step.shape
    .. " each, all layers; mean over all pairs of seeds, on the diagonal of different ones; * attention is masked",
    corner = "cell", subs = { "" }, columns = sheets.columns(table.unpack(names)), rows = rows, notes = {} }
end

local function levels_table(groups, step, notes)
  local rows = {}
  for i, group in ipairs(groups) do
    local ceiling, floor = between(step, group, group, ALL), step.floors[group][ALL]
    rows[i] = { title = shown_name(group), cells = texts(group.mask or "full", ("%d"):format(#group.runs),
      mean_and_sd(ceiling.cosine, "%.3f"), mean_and_sd(floor.cosine, "%.3f"), mean_and_sd(ceiling.divergence, "%.3f"),
      mean_and_sd(floor.divergence, "%.3f")) }
  end
  return { name = "levels", title = ("What the numbers lie between, %s"):format(STEP[step.step]), about = "ceiling: "
    .. "the same cell, other seeds; floor: attention that is uniform under the same mask; mean ± sd (n - 1) over "
    .. "pairs or seeds; divergences in nats, 0 is alike and ln 2 = 0.693 as far apart as can be", corner = "cell",
    subs = { "" }, columns = sheets.columns("mask", "seeds", "cosine, ceiling", "cosine, floor",
    "divergence, ceiling", "divergence, floor"), rows = rows, notes = notes }
end

local function similarity_csv(groups, steps)
  local lines = { "a,b,step,layer,pairs,cosine,cosine_sd,divergence,divergence_sd,mask_a,mask_b" }
  for _, step in ipairs(steps) do
    groups_module.each_pair(groups, function(a, b)
      for layer = ALL, step.layers - 1 do
        local lists = between(step, a, b, layer)
        lines[#lines + 1] = line(a.name, b.name, step.step, layer == ALL and "all" or layer, #lists.cosine,
          statistics.mean(lists.cosine), statistics.sd(lists.cosine), statistics.mean(lists.divergence),
          statistics.sd(lists.divergence), a.mask or "full", b.mask or "full")
      end
    end)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function levels_csv(groups, steps)
  local lines = { "cell,step,layer,mask,seeds,ceiling_cosine,floor_cosine,ceiling_divergence,floor_divergence" }
  for _, step in ipairs(steps) do
    for _, group in ipairs(groups) do
      for layer = ALL, step.layers - 1 do
        local ceiling, floor = between(step, group, group, layer), step.floors[group][layer]
        lines[#lines + 1] = line(group.name, step.step, layer == ALL and "all" or layer, group.mask or "full",
          #group.runs, statistics.mean(ceiling.cosine), statistics.mean(floor.cosine),
          statistics.mean(ceiling.divergence), statistics.mean(floor.divergence))
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

-- sign: of the values that are drawn; of numbers that are less for what is more alike, minus.
local function panel(data, groups, step, measure, sign, title, range)
  local values, names = {}, {}
  for i, a in ipairs(groups) do
    names[i] = shown_name(a)
    for _, b in ipairs(groups) do
      values[#values + 1] = sign * (statistics.mean(between(step, a, b, ALL)[measure]) or 0 / 0)
    end
  end
  return heat.panel(data, measure .. step.step, values, #groups, title, range, names)
end

local function picture(groups, steps)
  local data, rows, longest = {}, {}, 0
  for _, group in ipairs(groups) do
    longest = math.max(longest, utf8.len(tongues.plain(shown_name(group))))
  end
  for i, step in ipairs(steps) do
    rows[i] = { label = STEP[step.step], panel(data, groups, step, "cosine", 1, "cosine, from 0 to 1",
      { 0, 1 }), panel(data, groups, step, "divergence", -1, "divergence, from ln 2 to 0", { -LARGEST, 0 }) }
  end
  local beside = 24 + LETTER * longest
  return panels.script({ name = "similarity", title = "Attention: how alike the maps of two models are", note =
    "means over pairs of seeds; light is alike; divergence: Jensen and Shannon's; *: masked",
    panel = math.max(LEAST, CELL * #groups), settings = heat.SETTINGS, data = data, rows = rows, left = beside,
    across = beside, down = 60 + beside })
end

-- What the cosine with a reference has to do with accuracy, as lines.
local function tell_reference(groups, steps, reference, options)
  for _, step in ipairs(steps) do
    local all, scores, means, mean_scores = {}, {}, {}, {}
    for _, group in ipairs(groups) do
      local own = {}
      for i in ipairs(group ~= reference and group.runs or {}) do
        own[i] = step.of_run[group][i][reference]
        all[#all + 1], scores[#scores + 1] = own[i], group.scores[i]
      end
      means[#means + 1] = statistics.mean(own)
      mean_scores[#mean_scores + 1] = #own > 0 and statistics.mean(group.scores) or nil
    end
    options.say(table_text.wrap(("Cosine with %s against accuracy, %s: Pearson %s, Spearman %s over %s; %s and %s over "
      .. "the means of %s"):format(tongues.plain(reference.name), STEP[step.step], number("%.3f",
      correlation.pearson(all, scores)), number("%.3f", correlation.spearman(all, scores)), wording.count(#all, "run"),
      number("%.3f", correlation.pearson(means, mean_scores)), number("%.3f", correlation.spearman(means, mean_scores)),
      wording.count(#means, "cell")), sheets.WIDTH))
  end
end

-- Groups with runs, and the reference among them; or nil and a message.
local function chosen(study, options)
  local groups, names, reference, notes = {}, {}, nil, {}
  for _, group in ipairs(groups_module.all(study, options.split)) do
    if #group.runs > 0 then
      groups[#groups + 1], names[#names + 1] = group, tongues.plain(group.name)
      reference = group.name == options.reference and group or reference
    end
    if #group.runs < group.asked then
      notes[#notes + 1] = ("%s: %d of %d seeds have a score"):format(group.name, #group.runs, group.asked)
    end
  end
  if #groups == 0 then
    return nil, ("no run has a score on %s\n  expected: runs trained to the end"):format(options.split)
  elseif options.reference and not reference then
    local hint = nearest.hint(options.reference, names, "%s")
    return nil, ("--reference %s: there is no such cell\n  expected: %s%s"):format(options.reference,
      table.concat(names, ", "), hint and "\n  hint: " .. hint or "")
  end
  return groups, notes, reference
end

function M.run(study, options)
  local damage = sheets.damage(study)
  local groups, notes, reference = chosen(study, options)
  if not groups then
    return nil, damage and notes .. "\n" .. damage or notes
  end
  options.study = study
  local steps = similarity.of(groups, options)
  for _, group in ipairs(groups) do
    notes[#notes + 1] = group.without_dropout and ("%s: dropout is off here, though its spec evaluates with it")
      :format(group.name) or nil
  end
  for _, step in ipairs(steps) do
    options.say(sheets.shown(matrix_table(groups, step, "cosine", "Cosine")))
    options.say(sheets.shown(matrix_table(groups, step, "divergence", "Jensen-Shannon divergence")))
    options.say(sheets.shown(levels_table(groups, step, notes)))
  end
  if reference then
    tell_reference(groups, steps, reference, options)
  end
  return {
    { path = "similarity.csv", text = similarity_csv(groups, steps) },
    { path = "levels.csv", text = levels_csv(groups, steps) },
    { path = "similarity.gnuplot", text = picture(groups, steps) },
  }, nil, damage
end

return M
