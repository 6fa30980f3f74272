-- Comparisons over seeds: tests between the cells of a study, or of any runs (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of comparisons.lua with `say`. Output: the files compare.csv (a
-- pair per line), groups.csv, seeds.csv, compare.tex, compare.gnuplot; or nil and a message; and third, what is damaged
-- and was left out, or nil.

local captions = require("lab.study.report.tables.captions")
local comparisons = require("lab.study.analyse.comparisons")
local groups = require("lab.study.analyse.groups")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local sheets = require("lab.study.analyse.sheets")
local strips = require("lab.study.analyse.pictures.strips")
local table_latex = require("lab.study.report.tables.table_latex")
local wording = require("base.wording")

local M = {}

local columns, line, number, texts = sheets.columns, sheets.line, sheets.number, sheets.texts

local function p_text(p)
  return not p and sheets.MISSING or p < 0.0001 and "< 0.0001" or ("%.4f"):format(p)
end

local function titled(set, text)
  return set.name ~= "" and ("%s: %s"):format(set.name, text) or text
end

-- The sources of the examples that scores are of, for all runs; these are few texts.
local function places_text(result, options)
  local places, seen = {}, {}
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      for _, run in ipairs(group.runs) do
        local place = captions.place(run, runs.evaluation(run, options.split))
        places[#places + 1] = not seen[place] and place or nil
        seen[place] = true
      end
    end
  end
  return table.concat(places, " or ")
end

-- The scores, at the head of a table: "Exact match in percent, mean over 9 lengths 60..500, beyond training".
local function scored_text(result, options)
  local of = metrics.of[result.metric]
  return ("%s in %s, %s, %s"):format(of.title:gsub("^%l", string.upper), of.unit, result.grid.text,
    places_text(result, options))
end

local function unit_text(result)
  return metrics.of[result.metric].unit == "percent" and "points" or metrics.of[result.metric].unit
end

local function share_text(group)
  return group.judged > 0 and ("%d of %d"):format(group.generalise, group.judged) or sheets.MISSING
end

local function percent(share)
  return share and 100 * share
end

-- The cells whose seeds are two clumps, in words, and what is to be known of all groups.
local function notes_of(result)
  local notes = {}
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      notes[#notes + 1] = group.clumped and ("%s: two clumps of seeds, of which %s generalise; the mean describes "
        .. "neither"):format(groups.title(set, group), share_text(group)) or nil
    end
  end
  return table.move(result.notes, 1, #result.notes, #notes + 1, notes)
end

local function groups_table(result, options)
  local rows, form = {}, metrics.of[result.metric].factor == 100 and "%.2f" or "%.4f"
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      rows[#rows + 1] = { title = titled(set, group.name), cells = texts(("%d of %d"):format(#group.scores,
        group.asked), number(form, group.mean), number(form, group.sd), number(form, group.error),
        number(form .. " to " .. form, group.low, group.high), share_text(group),
        number("%.1f%% to %.1f%%", percent(group.share_low), percent(group.share_high)), ("%g"):format(group.rate)) }
    end
  end
  return { name = "groups", title = scored_text(result, options) .. ", at the last step",
    about = (result.answers and result.answers .. "; " or "") .. ("over seeds; sd has n - 1 in its denominator; "
    .. "intervals of the mean hold 95%% of the bootstrap's means; a seed generalises with %s, and the exact interval "
    .. "(of Clopper and Pearson) holds the share of all seeds that would"):format(
    metrics.criterion_text(result.criterion)), corner = result.axis, subs = { "" },
    columns = columns("seeds", "mean", "sd", "std. error", "interval", "generalise", "exact interval", "learning rate"),
    rows = rows, notes = notes_of(result) }
end

local function pairs_table(result, options)
  local rows = {}
  for i, pair in ipairs(result.pairs) do
    local test = pair.test
    rows[i] = { title = titled(pair.set, ("%s - %s"):format(pair.a.name, pair.b.name)), cells = texts(
      ("%+.2f"):format(test.difference), pair.verdict, pair.raw and pair.method or sheets.MISSING, p_text(pair.p),
      p_text(pair.equivalence), number("%.2f to %.2f", test.low, test.high), ("%.2f to %.2f"):format(pair.low,
      pair.high), number("%.3f", test.t), number("%.1f", test.freedom)) }
  end
  local margin = options.margin and ("the margin of equivalence is %g %s"):format(options.margin, unit_text(result))
    or "no margin is given, so that nothing can be called equivalent"
  return { name = "comparisons", title = ("Differences between the means of seeds, in %s: %s"):format(
    unit_text(result), wording.count(#rows, "pair")), about = "the verdict is by Welch's t test, two-sided, where the "
    .. "seeds of both cells are spread and in one clump, and by the permutation test where they are not; equivalence "
    .. "by two one-sided t tests; each p corrected by Holm's method over all pairs; " .. margin, corner = result.axis,
    subs = { "" }, columns = columns("difference", "verdict", "by", "p", "p equivalence", "95% (Welch)",
    "95% (bootstrap)", "t", "df"), rows = rows, notes = {} }
end

-- The least p of the sizes of cells that cannot show anything, in words.
local function notes_on_seeds(result)
  local notes, seen = {}, {}
  for _, pair in ipairs(result.pairs) do
    local text = ("%d against %d seeds: however far apart they are, p is at least %.3g%s"):format(#pair.a.scores,
      #pair.b.scores, pair.least, #result.pairs > 1 and (", before it is corrected for %d pairs"):format(
      #result.pairs) or "")
    notes[#notes + 1] = pair.verdict == "too few seeds" and not seen[text] and text or nil
    seen[text] = true
  end
  return notes
end

local function shares_table(result)
  local rows = {}
  for i, pair in ipairs(result.pairs) do
    rows[i] = { title = titled(pair.set, ("%s - %s"):format(pair.a.name, pair.b.name)), cells = texts(
      share_text(pair.a), share_text(pair.b), p_text(pair.fisher_p), p_text(pair.fisher), p_text(pair.permutation),
      p_text(pair.least)) }
  end
  return { name = "shares", title = "Seeds that generalise, and tests that suppose nothing of how scores are spread",
    about = ("a seed generalises with %s; Fisher's exact test is of the two shares, the permutation test of the two "
    .. "means, both two-sided; least p: what so many seeds can reach at best"):format(metrics.criterion_text(
    result.criterion)), corner = result.axis, subs = { "" }, columns = columns("first", "second", "p Fisher (Holm)",
    "p Fisher", "p permutation", "least p"), rows = rows, notes = notes_on_seeds(result) }
end

local function seeds_csv(result, options)
  local lines = { "set,group,learning_rate,seed,step,metric,score,folder" }
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      for i, run in ipairs(group.runs) do
        lines[#lines + 1] = line(set.name, group.name, group.rate, run.seed, runs.evaluation(run, options.split).step,
          result.metric, group.scores[i], run.dir)
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function groups_csv(result)
  local criterion = result.criterion
  local lines = { "set,group,learning_rate,asked,seeds,mean,sd,error,low,high,metric,criterion,above,judged,generalise,"
    .. "share_low,share_high" }
  for _, set in ipairs(result.sets) do
    for _, group in ipairs(set.groups) do
      lines[#lines + 1] = line(set.name, group.name, group.rate, group.asked, #group.scores, group.mean, group.sd,
        group.error, group.low, group.high, result.metric, criterion.metric, criterion.above, group.judged,
        group.generalise, group.share_low, group.share_high)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function pairs_csv(result, options)
  local lines = { "set,a,b,seeds_a,seeds_b,difference,error,t,df,p,p_holm,low,high,bootstrap_low,bootstrap_high,margin,"
    .. "p_equivalence,p_equivalence_holm,verdict,metric,test,p_welch,p_permutation,splits,least_p,least_p_holm,"
    .. "generalise_a,judged_a,generalise_b,judged_b,p_fisher,p_fisher_holm" }
  for _, pair in ipairs(result.pairs) do
    local test, a, b = pair.test, pair.a, pair.b
    lines[#lines + 1] = line(pair.set.name, a.name, b.name, #a.scores, #b.scores, test.difference, test.error, test.t,
      test.freedom, pair.raw, pair.p, test.low, test.high, pair.low, pair.high, options.margin, pair.p_equivalence,
      pair.equivalence, pair.verdict, result.metric, pair.raw and pair.method or "", test.p, pair.permutation,
      pair.splits, pair.least, pair.reachable, a.generalise, a.judged, b.generalise, b.judged, pair.fisher,
      pair.fisher_p)
  end
  return table.concat(lines, "\n") .. "\n"
end

function M.run(study, options)
  local result, message = comparisons.of(study, options)
  if not result then
    local damage = sheets.damage(study)
    return nil, damage and message .. "\n" .. damage or message
  end
  local models, latex = { groups_table(result, options), pairs_table(result, options), shares_table(result) }, {}
  for i, model in ipairs(models) do
    options.say(sheets.shown(model))
    latex[i] = table_latex.render(model)
  end
  return {
    { path = "compare.csv", text = pairs_csv(result, options) },
    { path = "groups.csv", text = groups_csv(result) },
    { path = "seeds.csv", text = seeds_csv(result, options) },
    { path = "compare.tex", text = table.concat(latex, "\n") },
    { path = "compare.gnuplot", text = strips.script({ name = "compare", title = ("Every seed, by %s"):format(
      result.axis), xlabel = ("%s; points: seeds; bars: means and 95%% of the bootstrap's"):format(
      scored_text(result, options)), sets = result.sets }) },
  }, nil, sheets.damage(study)
end

return M
