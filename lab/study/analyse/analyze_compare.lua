-- Comparisons over seeds: tests between the cells of a study, or of any runs (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of comparisons.lua. Output: what analyze.lua says, with the files
-- compare.csv (a pair per line), groups.csv, seeds.csv, compare.tex, compare.gnuplot.

local captions = require("lab.study.report.tables.captions")
local comparisons = require("lab.study.analyse.comparisons")
local groups = require("lab.study.analyse.groups")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local sheets = require("lab.study.analyse.sheets")
local strips = require("lab.study.analyse.pictures.strips")
local table_latex = require("lab.study.report.tables.table_latex")
local wording = require("base.wording")

local M = {}

local number = sheets.number

local function p_text(p)
  return not p and sheets.MISSING or p < 0.0001 and "< 0.0001" or ("%.4f"):format(p)
end

local function titled(set, text)
  return set.name ~= "" and ("%s: %s"):format(set.name, text) or text
end

local function pair_title(pair)
  return titled(pair.set, ("%s - %s"):format(pair.a.name, pair.b.name))
end

-- What take(set, group) gives, of all groups.
local function of_groups(result, take)
  local list = {}
  for set, group in lists.nested(result.sets, "groups") do
    list[#list + 1] = take(set, group)
  end
  return list
end

-- The scores, at the head of a table: "Exact match in percent, mean over 9 lengths 60..500, beyond training"; the
-- sources of their examples, for all runs, are few texts.
local function scored_text(result, options)
  local of, places = metrics.of[result.metric], {}
  of_groups(result, function(_, group)
    lists.append(places, lists.map(group.runs, function(run)
      return captions.place(run, runs.evaluation(run, options.split))
    end))
  end)
  return ("%s in %s, %s, %s"):format(of.title:gsub("^%l", string.upper), of.unit, result.grid.text,
    table.concat(lists.distinct(places), " or "))
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
  return lists.append(of_groups(result, function(set, group)
    return group.clumped and ("%s: two clumps of seeds, of which %s generalise; the mean describes neither"):format(
      groups.title(set, group), share_text(group)) or nil
  end), result.notes)
end

local function groups_table(result, options)
  local form = metrics.of[result.metric].factor == 100 and "%.2f" or "%.4f"
  return sheets.table({ name = "groups", title = scored_text(result, options) .. ", at the last step",
    about = (result.answers and result.answers .. "; " or "") .. ("over seeds; sd has n - 1 in its denominator; "
    .. "intervals of the mean hold 95%% of the bootstrap's means; a seed generalises with %s, and the exact interval "
    .. "(of Clopper and Pearson) holds the share of all seeds that would"):format(
    metrics.criterion_text(result.criterion)), heads = { result.axis, "seeds", "mean", "sd", "std. error", "interval",
    "generalise", "exact interval", "learning rate" }, rows = of_groups(result, function(set, group)
      return { titled(set, group.name), ("%d of %d"):format(#group.scores, group.asked), number(form, group.mean),
        number(form, group.sd), number(form, group.error), number(form .. " to " .. form, group.low, group.high),
        share_text(group), number("%.1f%% to %.1f%%", percent(group.share_low), percent(group.share_high)),
        ("%g"):format(group.rate) }
    end), notes = notes_of(result) })
end

local function pairs_table(result, options)
  local margin = options.margin and ("the margin of equivalence is %g %s"):format(options.margin, unit_text(result))
    or "no margin is given, so that nothing can be called equivalent"
  return sheets.table({ name = "comparisons", title = ("Differences between the means of seeds, in %s: %s"):format(
    unit_text(result), wording.count(#result.pairs, "pair")), about = "the verdict is by Welch's t test, two-sided, "
    .. "where the seeds of both cells are spread and in one clump, and by the permutation test where they are not; "
    .. "equivalence by two one-sided t tests; each p corrected by Holm's method over all pairs; " .. margin,
    heads = { result.axis, "difference", "verdict", "by", "p", "p equivalence", "95% (Welch)", "95% (bootstrap)", "t",
    "df" }, rows = lists.map(result.pairs, function(pair)
      local test = pair.test
      return { pair_title(pair), ("%+.2f"):format(test.difference), pair.verdict,
        pair.raw and pair.method or sheets.MISSING, p_text(pair.p), p_text(pair.equivalence),
        number("%.2f to %.2f", test.low, test.high), ("%.2f to %.2f"):format(pair.low, pair.high),
        number("%.3f", test.t), number("%.1f", test.freedom) }
    end) })
end

-- The least p of the sizes of cells that cannot show anything, in words.
local function notes_on_seeds(result)
  local correction = #result.pairs > 1 and (", before it is corrected for %d pairs"):format(#result.pairs) or ""
  return lists.distinct(lists.map(result.pairs, function(pair)
    return pair.verdict == "too few seeds" and ("%d against %d seeds: however far apart they are, p is at least %.3g%s")
      :format(#pair.a.scores, #pair.b.scores, pair.least, correction) or nil
  end))
end

local function shares_table(result)
  return sheets.table({ name = "shares", title = "Seeds that generalise, and tests that suppose nothing of how scores "
    .. "are spread", about = ("a seed generalises with %s; Fisher's exact test is of the two shares, the permutation "
    .. "test of the two means, both two-sided; least p: what so many seeds can reach at best"):format(
    metrics.criterion_text(result.criterion)), heads = { result.axis, "first", "second", "p Fisher (Holm)", "p Fisher",
    "p permutation", "least p" }, rows = lists.map(result.pairs, function(pair)
      return { pair_title(pair), share_text(pair.a), share_text(pair.b), p_text(pair.fisher_p), p_text(pair.fisher),
        p_text(pair.permutation), p_text(pair.least) }
    end), notes = notes_on_seeds(result) })
end

local function seeds_csv(result, options)
  return sheets.csv("seeds.csv", "set,group,learning_rate,seed,step,metric,score,folder", function(add)
    for set, group in lists.nested(result.sets, "groups") do
      for i, run in ipairs(group.runs) do
        add(set.name, group.name, group.rate, run.seed, runs.evaluation(run, options.split).step, result.metric,
          group.scores[i], run.dir)
      end
    end
  end)
end

local function groups_csv(result)
  local criterion = result.criterion
  return sheets.csv("groups.csv", "set,group,learning_rate,asked,seeds,mean,sd,error,low,high,metric,criterion,above,"
    .. "judged,generalise,share_low,share_high", function(add)
      for set, group in lists.nested(result.sets, "groups") do
        add(set.name, group.name, group.rate, group.asked, #group.scores, group.mean, group.sd, group.error, group.low,
          group.high, result.metric, criterion.metric, criterion.above, group.judged, group.generalise,
          group.share_low, group.share_high)
      end
    end)
end

local function pairs_csv(result, options)
  return sheets.csv("compare.csv", "set,a,b,seeds_a,seeds_b,difference,error,t,df,p,p_holm,low,high,bootstrap_low,"
    .. "bootstrap_high,margin,p_equivalence,p_equivalence_holm,verdict,metric,test,p_welch,p_permutation,splits,"
    .. "least_p,least_p_holm,generalise_a,judged_a,generalise_b,judged_b,p_fisher,p_fisher_holm", function(add)
      for _, pair in ipairs(result.pairs) do
        local test, a, b = pair.test, pair.a, pair.b
        add(pair.set.name, a.name, b.name, #a.scores, #b.scores, test.difference, test.error, test.t, test.freedom,
          pair.raw, pair.p, test.low, test.high, pair.low, pair.high, options.margin, pair.p_equivalence,
          pair.equivalence, pair.verdict, result.metric, pair.raw and pair.method or "", test.p, pair.permutation,
          pair.splits, pair.least, pair.reachable, a.generalise, a.judged, b.generalise, b.judged, pair.fisher,
          pair.fisher_p)
      end
    end)
end

function M.run(study, options)
  local result, message = comparisons.of(study, options)
  if not result then
    return nil, message
  end
  local models = { groups_table(result, options), pairs_table(result, options), shares_table(result) }
  return { pairs_csv(result, options), groups_csv(result), seeds_csv(result, options), { path = "compare.tex",
    text = table.concat(lists.map(models, table_latex.render), "\n") }, { path = "compare.gnuplot",
    text = strips.script({ name = "compare", title = ("Every seed, by %s"):format(result.axis),
      xlabel = ("%s; points: seeds; bars: means and 95%% of the bootstrap's"):format(scored_text(result, options)),
      sets = result.sets }) }, tables = models }
end

return M
