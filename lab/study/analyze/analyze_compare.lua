-- Statistical tests over seeds between the cells of a study, or of any runs (docs/analyses.md).
--
-- Input: a study with the results of its cells (cells.lua), and { axis, reference, split, margin, above, resamples,
-- seed } of the command line. Output: as in analyze.lua, with the files compare.csv (a pair per line), groups.csv,
-- seeds.csv.

local captions = require("lab.study.report.tables.captions")
local exact = require("lab.study.analyze.mathematics.exact")
local cell_groups = require("lab.study.analyze.cell_groups")
local inference = require("lab.study.analyze.mathematics.inference")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local seeds = require("lab.study.read.seeds")
local sheets = require("lab.study.analyze.sheets")
local scales = require("lab.study.report.figures.scales")
local statistics = require("lab.study.read.statistics")
local stop = require("lab.stop")
local strips = require("lab.study.analyze.pictures.strips")
local escape = require("base.escape")
local wording = require("base.wording")

local M = {}

local INPUT = 1 -- exit code
local format_number = sheets.format_number

local MAX_NAMED = 12 -- cells in a message
local MIN_GAP = 0.05 -- between two clusters of seeds, as a share of the metric's full scale

-- Whether the seeds that generalise and the others form two clusters, with a gap wider than each cluster and at least
-- MIN_GAP. generalises_by_run: for each run, whether it generalises, or nil.
local function has_two_clusters(group, generalises_by_run)
  local function find_range(generalises)
    return scales.find_range({ lists.map(group.scores, function(score, i)
      return generalises_by_run[i] == generalises and score or nil
    end) })
  end
  local good_low, good_high = find_range(true)
  local bad_low, bad_high = find_range(false)
  local gap = math.max(good_low - bad_high, bad_low - good_high) -- infinite if a cluster is empty
  return group.judged_count == #group.scores and gap < math.huge
    and gap > math.max(good_high - good_low, bad_high - bad_low)
    and gap >= MIN_GAP * metrics.by_name[group.metric].factor
end

-- Adds to a group the fields judged_count, generalising_count, share_low, share_high and is_clustered (M.compare).
local function count_generalising(group, split)
  local generalises_by_run, count = {}, 0
  group.judged_count = 0
  for i, run in ipairs(group.runs) do
    generalises_by_run[i] = metrics.generalises(runs.get_score(run, split, group.criterion.metric), group.criterion)
    group.judged_count = group.judged_count + (generalises_by_run[i] ~= nil and 1 or 0)
    count = count + (generalises_by_run[i] and 1 or 0)
  end
  group.generalising_count, group.is_clustered = count, has_two_clusters(group, generalises_by_run)
  if group.judged_count > 0 then
    group.share_low, group.share_high = exact.compute_interval(count, group.judged_count, inference.SIGNIFICANCE)
  end
end

-- Adds the statistics of M.compare to each group, and `means`, its resampled means. Groups are resampled independently,
-- so the differences between the resampled means of two groups are the resampled differences of the pair.
local function add_statistics(groups, metric, criterion, options)
  local random = inference.make_random(options.seed)
  for _, group in ipairs(groups) do
    group.metric, group.criterion = metric, criterion
    count_generalising(group, options.split)
    group.mean, group.sd = statistics.mean(group.scores), statistics.sd(group.scores)
    if group.sd then
      group.error = group.sd / math.sqrt(#group.scores)
      group.means = inference.resample(group.scores, statistics.mean, options.resamples, random)
      group.low, group.high = inference.compute_interval(group.means)
    end
  end
end

-- Returns the pair of two groups, with Welch's test and the bootstrap's interval.
local function test_pair(a, b)
  local pair = { a = a, b = b, test = inference.test_welch(a.scores, b.scores) }
  pair.low, pair.high = inference.compute_interval(lists.map(a.means, function(mean, i) return mean - b.means[i] end))
  return pair
end

-- Adds to a pair the tests without an assumption on the distribution of scores, and the name of the deciding test. This
-- is Welch's test if in each group the scores vary and form one cluster, otherwise the permutation test. The
-- permutation tests of all pairs start with the same seed.
local function test_exactly(pair, options)
  local a, b = pair.a, pair.b
  pair.permutation_p, pair.splits, pair.min_p = exact.test_permutation(a.scores, b.scores, options.resamples,
    inference.make_random(options.seed))
  pair.raw_fisher_p = a.judged_count > 0 and b.judged_count > 0 and exact.test_fisher(a.generalising_count,
    a.judged_count, b.generalising_count, b.judged_count) or nil
  local is_welch = inference.varies(a.scores) and inference.varies(b.scores)
    and not (a.is_clustered or b.is_clustered)
  local all_equal = not pair.test.p and pair.permutation_p == 1 -- all scores of both groups
  pair.raw_p = is_welch and pair.test.p or not all_equal and pair.permutation_p or nil
  pair.method = pair.raw_p and (is_welch and "Welch" or "permutation")
  pair.raw_min_p = pair.raw_p and (is_welch and 0.0 or pair.min_p)
end

-- Returns all pairs of groups within each set, if both groups have two scores or more. reference: the value of the axis
-- that group b has in all pairs; nil: any value.
local function test_pairs(sets, reference)
  local list = {}
  for _, set in ipairs(sets) do
    for i, a in ipairs(set.groups) do
      for j, b in ipairs(set.groups) do
        local is_requested = i < j
        if reference then
          is_requested = b.value == reference and i ~= j
        end
        if is_requested and a.sd and b.sd then
          list[#list + 1] = test_pair(a, b)
        end
      end
    end
  end
  return list
end

-- Returns the verdict on a pair. Only the test of equivalence can show that two means are nearly equal.
local function choose_verdict(pair)
  if not pair.raw_p then
    return "no spread"
  end
  local is_equal = pair.equivalence_p and pair.equivalence_p < inference.SIGNIFICANCE
  if pair.p < inference.SIGNIFICANCE then
    return (pair.test.difference > 0 and "higher" or "lower") .. (is_equal and ", within margin" or "")
  end
  if is_equal then
    return "equivalent"
  end
  return pair.corrected_min_p >= inference.SIGNIFICANCE and "too few seeds" or "undecided"
end

-- Adds to all pairs the exact tests, then every p after Holm's correction over all pairs, then the verdicts.
local function complete_pairs(all_pairs, options)
  for _, pair in ipairs(all_pairs) do
    test_exactly(pair, options)
    pair.margin = options.margin
    pair.raw_equivalence_p = options.margin and inference.test_equivalence(pair.test, options.margin)
  end
  for key, raw_key in pairs({ p = "raw_p", fisher_p = "raw_fisher_p", equivalence_p = "raw_equivalence_p",
    corrected_min_p = "raw_min_p" }) do
    local tested = lists.filter(all_pairs, function(pair) return pair[raw_key] end)
    for i, corrected_p in ipairs(inference.correct_holm(lists.map(tested, function(pair) return pair[raw_key] end))) do
      tested[i][key] = corrected_p
    end
  end
  for _, pair in ipairs(all_pairs) do
    pair.verdict = choose_verdict(pair)
  end
end

local function stop_without_pairs(groups, split)
  local counts = lists.map(groups, function(group)
    return ("%s: %d"):format(escape.plain(cell_groups.format_title(group)), #group.scores)
  end)
  local remaining_count = #counts - MAX_NAMED
  local names = table.concat(counts, "; ", 1, math.min(#counts, MAX_NAMED))
  stop.exit(INPUT, ("no two cells have two seeds each with a score on %s\n  found: %s\n  expected: at least two seeds "
    .. "of two cells, trained to the end"):format(split, remaining_count > 0
      and ("%s; and %d more"):format(names, remaining_count) or names))
end

-- Returns the comparison:
--   axis, metric, criterion   the axis along which cells differ, the metric of the scores, and the criterion of seeds
--                             that generalise
--   sets, groups              the sets of cell_groups.lua, and the groups of all sets
--   pairs                     the compared pairs of groups
--   grid                      the conditions over which most scores are means, { text, key } (runs.find_usual_grid)
--   answers                   describes the decoding (captions.lua)
--   notes                     texts below the tables
-- A group of cell_groups.lua gets metric, criterion, means (of resamples) and
--   mean, sd, error           of the scores; error: the standard error of the mean
--   low, high                 the bootstrap's interval of the mean; like error, nil for fewer than two scores
--   judged_count              the number of seeds with a score of the criterion's metric
--   generalising_count        the number of these seeds that generalise
--   share_low, share_high     the exact interval of the share that generalises
--   is_clustered              the result of has_two_clusters
-- A pair of groups a and b of one set, with at least two scores each, has a, b, margin (of the options), verdict and
--   test, low, high           Welch's test of a - b (inference.test_welch), and the bootstrap's interval of a - b
--   permutation_p             p of the permutation test
--   splits                    the number of splits of this test
--   min_p                     the least possible p of this test
--   raw_fisher_p, fisher_p    Fisher's p before and after Holm's correction over all pairs
--   method, raw_p, p          the deciding test, "Welch" or "permutation", and its p before and after correction
--   raw_min_p, corrected_min_p   the least possible p of the deciding test, 0 for Welch's, before and after correction.
--                             If all seeds of both groups have the same score, five fields are nil: method, raw_p, p,
--                             raw_min_p and corrected_min_p.
--   raw_equivalence_p, equivalence_p   with a margin, p of the test of equivalence before and after correction
function M.compare(study, options)
  local axis = cell_groups.choose_axis(study, options.axis)
  local sets = cell_groups.list_sets(study, axis, options.split)
  local groups = cell_groups.list_groups(sets)
  cell_groups.check_reference(groups, options.reference, "value")
  local metric, criterion = study.scored.metric, study.scored.generalises
  if options.above and metrics.by_name[metric].unit ~= "percent" then
    stop.exit(INPUT, ("--above %g: a %s is not a share\n  expected: --metric exact_match or another share"):format(
      options.above, metrics.by_name[metric].title))
  elseif options.above then
    criterion = { metric = metric, above = options.above }
  end
  add_statistics(groups, metric, criterion, options)
  local list = test_pairs(sets, options.reference)
  if #list == 0 then
    stop_without_pairs(groups, options.split)
  end
  complete_pairs(list, options)
  return { axis = axis, metric = metric, criterion = criterion, sets = sets, groups = groups, pairs = list,
    grid = cell_groups.find_usual_grid(groups, options.split), answers = captions.describe_decoding(study),
    notes = cell_groups.list_notes(study, groups, options.split) }
end

local function format_p(p)
  return not p and sheets.MISSING or p < 0.0001 and "< 0.0001" or ("%.4f"):format(p)
end

local function format_titled(group, text)
  return group.set.name ~= "" and ("%s: %s"):format(group.set.name, text) or text
end

local function format_pair(pair)
  return format_titled(pair.a, ("%s - %s"):format(pair.a.name, pair.b.name))
end

-- Returns the heading of a table of scores: "Exact match in percent, mean over 9 lengths 60..500, beyond training".
local function format_scored(result, options)
  local metric = metrics.by_name[result.metric]
  local phrases = lists.collect(result.groups, function(group)
    return lists.map(group.runs, function(run) return captions.name_examples(run, runs.get_evaluation(run,
      options.split)) end)
  end)
  return ("%s in %s, %s, %s"):format(metric.title:gsub("^%l", string.upper), metric.unit, result.grid.text,
    table.concat(lists.drop_repeats(phrases), " or "))
end

local function name_unit(result)
  return metrics.by_name[result.metric].unit == "percent" and "points" or metrics.by_name[result.metric].unit
end

local function format_share(group)
  return group.judged_count > 0 and ("%d of %d"):format(group.generalising_count, group.judged_count) or sheets.MISSING
end

local function tabulate_groups(result, options)
  local cluster_notes = lists.map(result.groups, function(group)
    return group.is_clustered and ("%s: two clusters of seeds; %s seeds generalise; the mean describes neither cluster")
      :format(cell_groups.format_title(group), format_share(group)) or nil
  end)
  local form = metrics.by_name[result.metric].factor == 100 and "%.2f" or "%.4f"
  return sheets.tabulate({ name = "groups", title = format_scored(result, options) .. ", at the last step",
    caption = (result.answers and result.answers .. "; " or "") .. ("over seeds; sd has n - 1 in its denominator; "
    .. "intervals of the mean contain 95%% of the bootstrap's means; a seed generalises with %s; the exact interval "
    .. "(Clopper and Pearson) is an interval of the share of seeds that generalise"):format(
    metrics.format_criterion(result.criterion)), heads = { result.axis, "seeds", "mean", "sd", "std. error", "interval",
    "generalise", "exact interval", "learning rate" }, rows = lists.map(result.groups, function(group)
      return { format_titled(group, group.name), ("%d of %d"):format(#group.scores, group.requested),
        format_number(form, group.mean), format_number(form, group.sd), format_number(form, group.error),
        format_number(form .. " to " .. form, group.low, group.high), format_share(group),
        group.share_low and ("%.1f%% to %.1f%%"):format(100 * group.share_low,
          100 * group.share_high) or sheets.MISSING, ("%g"):format(group.rate) }
    end), notes = lists.append(cluster_notes, result.notes) })
end

local function tabulate_pairs(result, options)
  local margin = options.margin and ("the margin of equivalence is %g %s"):format(options.margin, name_unit(result))
    or "without a margin nothing is called equivalent"
  return sheets.tabulate({ name = "comparisons", title = ("Differences between the means of seeds, in %s: %s"):format(
    name_unit(result), wording.count(#result.pairs, "pair")), caption = "Welch's two-sided t test gives the verdict "
    .. "if the seeds of both cells vary and form one cluster, otherwise the permutation test gives it; "
    .. "equivalence is by two one-sided t tests; each p is corrected by Holm's method over all pairs; " .. margin,
    heads = { result.axis, "difference", "verdict", "by", "p", "p equivalence", "95% (Welch)", "95% (bootstrap)", "t",
    "df" }, rows = lists.map(result.pairs, function(pair)
      local test = pair.test
      return { format_pair(pair), ("%+.2f"):format(test.difference), pair.verdict,
        pair.method or sheets.MISSING, format_p(pair.p), format_p(pair.equivalence_p),
        format_number("%.2f to %.2f", test.low, test.high), ("%.2f to %.2f"):format(pair.low, pair.high),
        format_number("%.3f", test.t), format_number("%.1f", test.freedom) }
    end) })
end

-- Returns notes on pairs with too few seeds for any finding, with the least possible p.
local function note_too_few_seeds(result)
  local correction = #result.pairs > 1 and (", before it is corrected for %d pairs"):format(#result.pairs) or ""
  return lists.drop_repeats(lists.map(result.pairs, function(pair)
    return pair.verdict == "too few seeds" and ("%d against %d seeds: whatever their scores, p is at least %.3g%s")
      :format(#pair.a.scores, #pair.b.scores, pair.min_p, correction) or nil
  end))
end

local function tabulate_shares(result)
  return sheets.tabulate({ name = "shares", title = "Seeds that generalise, and tests without an assumption on the "
    .. "distribution", caption = ("a seed generalises with %s; Fisher's exact test compares the shares, the "
    .. "permutation test the means; both are two-sided; least p: the smallest p that these numbers of seeds allow")
    :format(metrics.format_criterion(result.criterion)), heads = { result.axis, "first", "second", "p Fisher (Holm)",
    "p Fisher", "p permutation", "least p" }, rows = lists.map(result.pairs, function(pair)
      return { format_pair(pair), format_share(pair.a), format_share(pair.b), format_p(pair.fisher_p),
        format_p(pair.raw_fisher_p), format_p(pair.permutation_p), format_p(pair.min_p) }
    end), notes = note_too_few_seeds(result) })
end

local function make_seeds_csv(groups, split)
  return sheets.to_csv("seeds.csv", "set=group.set.name group=group.name learning_rate=group.rate seed=run.seed "
    .. "seed_init seed_data seed_draws step "
    .. "metric=group.metric score folder=run.dir", lists.collect(groups, function(group)
      return lists.map(group.runs, function(run, i)
        return lists.merge(seeds.list_columns(run), { group = group, run = run,
          step = runs.get_evaluation(run, split).step, score = group.scores[i] })
      end)
    end))
end

-- Columns of groups.csv and compare.csv, as words that sheets.to_csv reads.
local GROUP = "set=set.name group=name learning_rate=rate asked=requested seeds=count:scores mean sd error low high "
  .. "metric "
  .. "criterion=criterion.metric above=criterion.above judged=judged_count generalise=generalising_count share_low "
  .. "share_high"

local PAIR = "set=a.set.name a=a.name b=b.name seeds_a=count:a.scores seeds_b=count:b.scores "
  .. "difference=test.difference error=test.error t=test.t df=test.freedom p=raw_p p_holm=p low=test.low "
  .. "high=test.high bootstrap_low=low bootstrap_high=high margin p_equivalence=raw_equivalence_p "
  .. "p_equivalence_holm=equivalence_p verdict "
  .. "metric=a.metric test=method p_welch=test.p p_permutation=permutation_p splits least_p=min_p "
  .. "least_p_holm=corrected_min_p generalise_a=a.generalising_count judged_a=a.judged_count "
  .. "generalise_b=b.generalising_count judged_b=b.judged_count p_fisher=raw_fisher_p p_fisher_holm=fisher_p"

function M.run(study, options)
  local result = M.compare(study, options)
  return { sheets.to_csv("compare.csv", PAIR, result.pairs), sheets.to_csv("groups.csv", GROUP, result.groups),
    make_seeds_csv(result.groups, options.split),
    tables = { tabulate_groups(result, options), tabulate_pairs(result, options), tabulate_shares(result) },
    picture = strips(("Every seed, by %s"):format(result.axis), ("%s; points: seeds; bars: means and 95%% intervals")
      :format(format_scored(result, options)), result.sets) }
end

return M
