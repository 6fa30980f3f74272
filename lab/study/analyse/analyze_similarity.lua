-- How alike the attention of all models of a study is (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of similarity.lua with `reference`. Output: what analyze.lua
-- says, with the files similarity.csv (a pair of cells and a layer per line), levels.csv, similarity.gnuplot.

local correlation = require("lab.study.analyse.mathematics.correlation")
local groups_module = require("lab.study.analyse.groups")
local heat = require("lab.study.analyse.pictures.heat")
local lists = require("base.lists")
local panels = require("lab.study.analyse.pictures.panels")
local sheets = require("lab.study.analyse.sheets")
local similarity = require("lab.study.analyse.similarity")
local statistics = require("lab.study.read.statistics")
local table_text = require("lab.study.report.tables.table_text")
local tongues = require("base.tongues")
local wording = require("base.wording")

local M = {}

local number, mean = sheets.number, statistics.mean

local ALL = -1
local STEP = { start = "step 0", trained = "trained" }
local LARGEST = math.log(2) -- of a divergence
local CELL, LEAST = 18, 220 -- pixels of a group in the picture, and of a panel at least
local LETTER = 6            -- pixels of a letter beside it

local function shown_name(group)
  return group.name .. (group.mask and " *" or "")
end

local NONE = { cosine = {}, divergence = {} }

-- The lists of two groups in either order.
local function between(step, a, b, layer)
  return step.pairs[a][b][layer] or step.pairs[b][a][layer] or NONE
end

local function matrix_table(groups, step, measure, title)
  return sheets.table({ name = measure, title = ("%s of attention, %s"):format(title, STEP[step.step]), about =
    step.shape .. " each, all layers; mean over all pairs of seeds, on the diagonal of different ones; * attention is "
    .. "masked", heads = lists.join({ "cell" }, lists.map(groups, shown_name)), rows = lists.map(groups, function(a)
      return lists.join({ shown_name(a) }, lists.map(groups, function(b)
        return number("%.3f", mean(between(step, a, b, ALL)[measure]))
      end))
    end) })
end

local function levels_table(groups, step, notes)
  local rows = lists.map(groups, function(group)
    local ceiling, floor = between(step, group, group, ALL), step.floors[group][ALL]
    local levels = lists.map({ ceiling.cosine, floor.cosine, ceiling.divergence, floor.divergence }, function(values)
      return sheets.mean_and_sd("%.3f", values)
    end)
    return { shown_name(group), group.mask or "full", ("%d"):format(#group.runs), table.unpack(levels) }
  end)
  return sheets.table({ name = "levels", title = ("What the numbers lie between, %s"):format(STEP[step.step]), about =
    "ceiling: the same cell, other seeds; floor: attention that is uniform under the same mask; mean ± sd (n - 1) "
    .. "over pairs or seeds; divergences in nats, 0 is alike and ln 2 = 0.693 as far apart as can be", heads = { "cell",
    "mask", "seeds", "cosine, ceiling", "cosine, floor", "divergence, ceiling", "divergence, floor" }, rows = rows,
    notes = notes })
end

local function layer_name(layer)
  return layer == ALL and "all" or layer
end

local function similarity_csv(groups, steps)
  return sheets.csv("similarity.csv", "a,b,step,layer,pairs,cosine,cosine_sd,divergence,divergence_sd,mask_a,mask_b",
    function(add)
      for _, step in ipairs(steps) do
        groups_module.each_pair(groups, function(a, b)
          for layer = ALL, step.layers - 1 do
            local found = between(step, a, b, layer)
            add(a.name, b.name, step.step, layer_name(layer), #found.cosine, mean(found.cosine),
              statistics.sd(found.cosine), mean(found.divergence), statistics.sd(found.divergence), a.mask or "full",
              b.mask or "full")
          end
        end)
      end
    end)
end

local function levels_csv(groups, steps)
  return sheets.csv("levels.csv", "cell,step,layer,mask,seeds,ceiling_cosine,floor_cosine,ceiling_divergence,"
    .. "floor_divergence", function(add)
      for _, step in ipairs(steps) do
        for _, group in ipairs(groups) do
          for layer = ALL, step.layers - 1 do
            local ceiling, floor = between(step, group, group, layer), step.floors[group][layer]
            add(group.name, step.step, layer_name(layer), group.mask or "full", #group.runs, mean(ceiling.cosine),
              mean(floor.cosine), mean(ceiling.divergence), mean(floor.divergence))
          end
        end
      end
    end)
end

-- sign: of the values that are drawn; of numbers that are less for what is more alike, minus.
local function panel(data, groups, step, measure, sign, title, range)
  local values = {}
  for _, a in ipairs(groups) do
    for _, b in ipairs(groups) do
      values[#values + 1] = sign * (mean(between(step, a, b, ALL)[measure]) or 0 / 0)
    end
  end
  return heat.panel(data, measure .. step.step, values, #groups, title, range, lists.map(groups, shown_name))
end

local function picture(groups, steps)
  local data, longest = {}, 0
  for _, group in ipairs(groups) do
    longest = math.max(longest, utf8.len(tongues.plain(shown_name(group))))
  end
  local rows = lists.map(steps, function(step)
    return { label = STEP[step.step], panel(data, groups, step, "cosine", 1, "cosine, from 0 to 1", { 0, 1 }),
      panel(data, groups, step, "divergence", -1, "divergence, from ln 2 to 0", { -LARGEST, 0 }) }
  end)
  local beside = 24 + LETTER * longest
  return panels.script({ name = "similarity", title = "Attention: how alike the maps of two models are", note =
    "means over pairs of seeds; light is alike; divergence: Jensen and Shannon's; *: masked",
    panel = math.max(LEAST, CELL * #groups), settings = heat.SETTINGS, data = data, rows = rows, left = beside,
    across = beside, down = 60 + beside })
end

-- What the cosine with a reference has to do with accuracy, as lines.
local function reference_text(groups, step, reference)
  local all, scores, means, mean_scores = {}, {}, {}, {}
  for _, group in ipairs(groups) do
    if group ~= reference then
      local own = lists.map(group.runs, function(_, i) return step.of_run[group][i][reference] end)
      lists.append(all, own)
      lists.append(scores, group.scores)
      means[#means + 1], mean_scores[#mean_scores + 1] = mean(own), mean(group.scores)
    end
  end
  local function both(x, y)
    return number("%.3f", correlation.pearson(x, y)), number("%.3f", correlation.spearman(x, y))
  end
  local pearson, spearman = both(all, scores)
  local of_means, ranks_of_means = both(means, mean_scores)
  return table_text.wrap(("Cosine with %s against accuracy, %s: Pearson %s, Spearman %s over %s; %s and %s over the "
    .. "means of %s"):format(tongues.plain(reference.name), STEP[step.step], pearson, spearman, wording.count(#all,
    "run"), of_means, ranks_of_means, wording.count(#means, "cell")), sheets.WIDTH)
end

function M.run(study, options)
  local sets, notes = groups_module.with_runs({ { name = "", groups = groups_module.all(study, options.split) } },
    options.split)
  local problem = sets and groups_module.reference_problem(sets, options.reference, "name")
  if not sets or problem then
    return nil, problem or notes
  end
  local groups = sets[1].groups
  local reference = lists.find(groups, function(group) return group.name == options.reference end)
  local steps, tables = similarity.of(groups, options), {}
  lists.append(notes, lists.map(groups, function(group)
    return group.without_dropout and ("%s: dropout is off here, though its spec evaluates with it"):format(group.name)
      or nil
  end))
  for _, step in ipairs(steps) do
    lists.append(tables, { matrix_table(groups, step, "cosine", "Cosine"), matrix_table(groups, step, "divergence",
      "Jensen-Shannon divergence"), levels_table(groups, step, notes) })
  end
  lists.append(tables, lists.map(reference and steps or {}, function(step)
    return reference_text(groups, step, reference)
  end))
  return { similarity_csv(groups, steps), levels_csv(groups, steps), { path = "similarity.gnuplot",
    text = picture(groups, steps) }, tables = tables }
end

return M
