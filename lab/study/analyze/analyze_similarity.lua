-- Similarity of attention between all models of a study (docs/analyses.md).
--
-- Input: a study with the results of its cells (cells.lua), and { project, provide, folder, study, split, length,
-- examples, seed, say, trained_only, reference }. Output: as in analyze.lua, with the files similarity.csv (a pair of
-- cells, a step and a layer per line), levels.csv. Errors of trainers end the analysis: see source.lua.

local correlation = require("lab.study.analyze.mathematics.correlation")
local cell_groups = require("lab.study.analyze.cell_groups")
local heat = require("lab.study.report.figures.heat")
local lists = require("base.lists")
local sheets = require("lab.study.analyze.sheets")
local shell = require("base.shell")
local source = require("lab.study.analyze.source")
local statistics = require("lab.study.read.statistics")
local stop = require("lab.stop")
local table_text = require("lab.study.report.tables.table_text")
local escape = require("base.escape")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT = 1, 4 -- exit codes
local format_number, mean = sheets.format_number, statistics.mean

local ALL_LAYERS = -1 -- the layer that stands for all layers together
local FULL = "full" -- attention without a mask
local MAX_DIVERGENCE = math.log(2) -- limit of Jensen and Shannon's divergence
local CELL = 18 -- side of the square of a pair of groups in the picture, in pixels
local MIN_PANEL = 220 -- least side of a panel, in pixels

-- Types of elements in traces: their bytes, and their format in string.pack.
local ELEMENT_TYPES = { F32 = { bytes = 4, format = "=f" }, F64 = { bytes = 8, format = "=d" } }

-- Returns the name of a spec's mask, and how many keys to the left and to the right of its own token a query sees. Only
-- windows and causal masks are described; others count as full.
local function describe_mask(spec)
  local mask = spec.encoding and spec.encoding.mask or {}
  if mask.kind == "window" then
    local right = spec.model.kind == "decoder" and 0 or mask.right or mask.left
    return ("window %d, %d"):format(mask.left, right), mask.left, right
  end
  if mask.kind == "causal" or spec.model.kind == "decoder" then
    return "causal", math.huge, 0
  end
  return FULL, math.huge, math.huge
end

-- Opens a source for a group's models, with a trainer that evaluates without dropout. Sets group.without_dropout.
local function open_group(group, options)
  group.without_dropout = source.open_run(group.runs[1].dir).info.spec.eval.dropout == true
  return source.open_group(group, options, { group.without_dropout and "eval.dropout=false" or nil })
end

-- Returns the attention maps in a trace as { path, offsets (of each layer, in bytes of the file), examples, heads,
-- queries, keys, element_type (a key of ELEMENT_TYPES) }. file: the opened trace of the source `traced`.
local function find_maps(traced, file, length)
  local maps = { path = file.path, offsets = {} }
  for i, site in ipairs(traced:list_sites(file, length, "attention")) do
    local entry = file.entries[("n%d.%s.attention"):format(length, site)]
    local shape = traced:get_shape(file, length, site .. ".attention", 1)
    maps.offsets[i] = file.data_start + entry.begin
    maps.element_type = maps.element_type or entry.dtype
    for k, name in ipairs({ "examples", "heads", "queries", "keys" }) do
      maps[name] = maps[name] or shape[k]
      if maps[name] ~= shape[k] then
        stop.exit(INPUT, ("%s: its attentions differ in shape: %s has %d %s, another has %d"):format(traced.run.dir,
          site, shape[k], name, maps[name]))
      end
    end
  end
  return maps
end

-- Returns a text such as "2 layers of 100 x 4 x 16 x 16": examples, heads, queries and keys.
local function describe_shape(maps)
  return ("%s of %d x %d x %d x %d"):format(wording.count(#maps.offsets, "layer"), maps.examples, maps.heads,
    maps.queries, maps.keys)
end

-- Traces the runs of a group. opened: the group's source; step_name: "trained" or "start". Appends the maps of each run
-- to models, with the fields run and group.
local function trace_runs(group, opened, step_name, options, models)
  for _, run in ipairs(group.runs) do
    local words = opened:choose_run(run, options, "--split")
    local file = opened:trace("attention", words, {
      checkpoint = step_name == "start" and opened:find_untrained() or nil,
      path = ("%s/trace%d.safetensors"):format(options.folder, #models) })
    local maps = find_maps(opened, file, options.length)
    if models[1] and describe_shape(models[1]) ~= describe_shape(maps) then
      stop.exit(INPUT, ("%s: its attention is %s; expected %s, the shape of %s"):format(run.dir, describe_shape(maps),
        describe_shape(models[1]), models[1].run.dir))
    end
    maps.run, maps.group = run, group
    models[#models + 1] = maps
  end
end

-- Writes a file with the maps of one layer of uniform attention under a mask. model: maps with the shape and the type
-- of elements; left, right: results of describe_mask. Returns maps { path, offsets }. Every offset is 0, so all
-- layers share the one layer in the file.
local function write_uniform(model, left, right, path)
  local format, rows = ELEMENT_TYPES[model.element_type].format, {}
  for query = 0, model.queries - 1 do
    local first, last = math.max(0, query - left), math.min(model.keys - 1, query + right)
    local row = {}
    for key = 0, model.keys - 1 do
      local is_allowed = key >= first and key <= last
      row[key + 1] = string.pack(format, is_allowed and 1 / (last - first + 1) or 0.0)
    end
    rows[query + 1] = table.concat(row)
  end
  stop.must(ENVIRONMENT, write.file(path, table.concat(rows):rep(model.examples * model.heads)))
  return { path = path, offsets = lists.map(model.offsets, function() return 0 end) }
end

-- Adds a model of uniform attention for each mask of the groups. Returns { [mask] = its uniform model }. The similarity
-- to this model is the floor, the lowest similarity that is expected.
local function add_floors(groups, models, folder)
  local floors = {}
  for _, group in ipairs(groups) do
    local mask, left, right = describe_mask(group.runs[1].facts.spec)
    group.mask = mask
    if not floors[mask] then
      floors[mask] = write_uniform(models[1], left, right, ("%s/uniform%d"):format(folder, #models))
      models[#models + 1] = floors[mask]
    end
  end
  return floors
end

-- Writes the input of runtime/tools/similarity.c.
local function write_list(models, path)
  local first = models[1]
  local lines = { ("%d %d %d %d %d"):format(#models, #first.offsets, first.examples * first.heads * first.queries,
    first.keys, ELEMENT_TYPES[first.element_type].bytes) }
  for _, model in ipairs(models) do
    lists.append(lines, { model.path, table.concat(model.offsets, " ") })
  end
  stop.must(ENVIRONMENT, write.file(path, table.concat(lines, "\n") .. "\n"))
end

-- Returns the similarities { cosine, divergence } of the runs of two groups in a layer: lists over all pairs of two
-- different runs. Without b, returns the similarities of the runs of `a` to uniform attention under their mask. step:
-- an item of the result of compare_steps. The lists are empty until add_similarity fills them.
local function find_similarities(step, a, b, layer)
  local first, second = a.index, b and b.index or 0 -- 0: uniform attention
  local key = ("%d %d %d"):format(math.min(first, second), math.max(first, second), layer)
  step.similarities[key] = step.similarities[key] or { cosine = {}, divergence = {} }
  return step.similarities[key]
end

-- Stores the similarity of two models. Model a precedes b in the list, in which uniform models (no group) are last.
local function add_similarity(step, floors, a, b, layer, cosine, divergence)
  if a.group and (b.group or b == floors[a.group.mask]) then
    local similarities = find_similarities(step, a.group, b.group, layer)
    table.insert(similarities.cosine, cosine)
    table.insert(similarities.divergence, divergence)
  end
  if a.group and b.group and layer == ALL_LAYERS then
    lists.append_to(step.cosines_by_run, a.run, { group = b.group, cosine = cosine })
    lists.append_to(step.cosines_by_run, b.run, { group = a.group, cosine = cosine })
  end
end

-- Returns the similarities of all pairs of models: { similarities, cosines_by_run }, which compare_steps explains.
local function compare(groups, models, options)
  local program = source.build_tool(options.project, options.folder, "similarity", { what = "A program",
    expected = "a C compiler and make" })
  local floors, list_path = add_floors(groups, models, options.folder), options.folder .. "/list"
  write_list(models, list_path)
  local step, pipe = { similarities = {}, cosines_by_run = {} }, shell.open({ program, list_path })
  for line in pipe:lines() do
    local first, second, layer, cosine, divergence = line:match("^(%d+) (%d+) (-?%d+) (%S+) (%S+)$")
    add_similarity(step, floors, models[math.tointeger(first) + 1], models[math.tointeger(second) + 1],
      math.tointeger(layer), tonumber(cosine), tonumber(divergence))
  end
  stop.must(ENVIRONMENT, pipe:close(), program .. " failed")
  return step
end

-- Returns steps { name ("trained" or "start"), layers (the count), shape (a text), similarities (for
-- find_similarities), cosines_by_run }. cosines_by_run: for each run, its cosines over all layers with other runs, a
-- list of { group (of the other run), cosine }. Sets `mask`, a text, and `without_dropout` of the groups.
local function compare_steps(groups, options)
  local sources, steps = lists.map(groups, function(group) return open_group(group, options) end), {}
  for _, step_name in ipairs(options.trained_only and { "trained" } or { "trained", "start" }) do
    local models = {}
    for i, group in ipairs(groups) do
      trace_runs(group, sources[i], step_name, options, models)
      options.say(("%s, %s: %s traced"):format(group.name, step_name == "start" and "step 0" or step_name,
        wording.count(#group.runs, "run")))
    end
    local result = compare(groups, models, options)
    result.name, result.layers, result.shape = step_name, #models[1].offsets, describe_shape(models[1])
    steps[#steps + 1] = result
  end
  return steps
end

local function name_group(group)
  return group.name .. (group.mask ~= FULL and " *" or "")
end

local function tabulate_matrix(groups, step, measure, title)
  return sheets.tabulate_pairs({ name = measure .. "-" .. step.name, title = ("%s of attention, %s"):format(title,
    sheets.STEP_TITLES[step.name]), caption = step.shape .. " each, all layers; mean over all pairs of seeds "
    .. "(on the diagonal: pairs of different seeds); *: masked attention" }, groups, name_group, function(a, b)
      return format_number("%.3f", mean(find_similarities(step, a, b, ALL_LAYERS)[measure]))
    end)
end

local function tabulate_levels(groups, step, notes)
  local rows = lists.map(groups, function(group)
    local ceiling = find_similarities(step, group, group, ALL_LAYERS)
    local floor = find_similarities(step, group, nil, ALL_LAYERS)
    local levels = lists.map({ ceiling.cosine, floor.cosine, ceiling.divergence, floor.divergence }, function(values)
      return sheets.format_mean("%.3f", values)
    end)
    return { name_group(group), group.mask, ("%d"):format(#group.runs), table.unpack(levels) }
  end)
  return sheets.tabulate({ name = "levels-" .. step.name, title = "Reference values, " .. sheets.STEP_TITLES[step.name],
    caption = "ceiling: other seeds of the same cell; floor: uniform attention under the window or causal mask; mean "
    .. "± sd (n - 1) over pairs or seeds; divergences in nats, from 0 (equal) to ln 2 = 0.693 (the maximum)",
    heads = { "cell", "mask", "seeds", "cosine, ceiling", "cosine, floor", "divergence, ceiling", "divergence, floor" },
    rows = rows, notes = notes })
end

-- Returns the files similarity.csv and levels.csv.
local function make_csv_files(groups, steps)
  local lines = {}
  for _, step in ipairs(steps) do
    for _, pair in ipairs(cell_groups.list_pairs(groups)) do
      for layer = ALL_LAYERS, step.layers - 1 do
        lines[#lines + 1] = { a = pair.a, b = pair.b, step = step.name,
          layer = layer == ALL_LAYERS and "all" or layer,
          similarity = find_similarities(step, pair.a, pair.b, layer),
            floor = find_similarities(step, pair.a, nil, layer) }
      end
    end
  end
  return sheets.to_csv("similarity.csv",
    "a=a.name b=b.name step layer pairs=count:similarity.cosine cosine=mean:similarity.cosine "
    .. "cosine_sd=sd:similarity.cosine divergence=mean:similarity.divergence divergence_sd=sd:similarity.divergence "
    .. "mask_a=a.mask mask_b=b.mask", lines),
    sheets.to_csv("levels.csv",
      "cell=a.name step layer mask=a.mask seeds=count:a.runs ceiling_cosine=mean:similarity.cosine "
      .. "floor_cosine=mean:floor.cosine ceiling_divergence=mean:similarity.divergence "
      .. "floor_divergence=mean:floor.divergence", lists.filter(lines, function(line) return line.a == line.b end))
end

-- Returns a panel of a measure. sign: the factor of values, -1 for a measure that is smaller for more similar models.
local function make_panel(groups, step, measure, sign, title, range)
  local values = lists.collect(groups, function(a)
    return lists.map(groups, function(b)
      return sign * (mean(find_similarities(step, a, b, ALL_LAYERS)[measure]) or 0 / 0)
    end)
  end)
  local names = lists.map(groups, name_group)
  return heat.draw(values, #groups, title, range, { rows = names, columns = names })
end

local function make_picture(groups, steps)
  local rows = lists.map(steps, function(step)
    return { label = sheets.STEP_TITLES[step.name],
      make_panel(groups, step, "cosine", 1, "cosine, from 0 to 1", { 0, 1 }),
      make_panel(groups, step, "divergence", -1, "divergence, from ln 2 to 0", { -MAX_DIVERGENCE, 0 }) }
  end)
  local space = heat.measure_names(lists.map(groups, name_group))
  return { title = "Similarity of the attention maps of two models", note = "means over pairs of seeds; light: "
    .. "similar; divergence: Jensen-Shannon; *: masked attention", rows = rows,
    panel_height = math.max(MIN_PANEL, CELL * #groups), left = space, column_gap = space, row_gap = 60 + space }
end

-- Returns a text on the correlation between the accuracy of runs and their similarity to a reference group.
local function describe_reference(groups, step, reference)
  local other_groups = lists.filter(groups, function(group) return group ~= reference end)
  local over_runs, over_means = correlation.correlate_samples(lists.map(other_groups, function(group)
    return { y = group.scores, x = lists.map(group.runs, function(run)
      return mean(lists.map(step.cosines_by_run[run], function(entry)
        return entry.group == reference and entry.cosine or nil
      end))
    end) }
  end))
  return table_text.wrap(("Cosine with %s against accuracy, %s: Pearson %s, Spearman %s over %s; %s and %s over the "
    .. "means of %s"):format(escape.plain(reference.name), sheets.STEP_TITLES[step.name],
    format_number("%.3f", over_runs.pearson), format_number("%.3f", over_runs.spearman),
    wording.count(over_runs.points, "run"), format_number("%.3f", over_means.pearson),
    format_number("%.3f", over_means.spearman), wording.count(over_means.points, "cell")), sheets.WIDTH)
end

function M.run(study, options)
  local sets, notes = cell_groups.drop_unscored(cell_groups.list_sets(study, nil, options.split), options.split)
  local groups = sets[1].groups
  cell_groups.check_reference(groups, options.reference, "name")
  for i, group in ipairs(groups) do
    group.index = i
  end
  local reference = lists.find(groups, function(group) return group.name == options.reference end)
  local steps = compare_steps(groups, options)
  lists.append(notes, lists.map(groups, function(group)
    return group.without_dropout and ("%s: dropout is off here, although its spec evaluates with it"):format(group.name)
      or nil
  end))
  local tables = lists.collect(steps, function(step)
    return { tabulate_matrix(groups, step, "cosine", "Cosine"), tabulate_matrix(groups, step, "divergence",
      "Jensen-Shannon divergence"), tabulate_levels(groups, step, notes) }
  end)
  lists.append(tables, lists.map(reference and steps or {}, function(step)
    return describe_reference(groups, step, reference)
  end))
  local pairs_file, groups_file = make_csv_files(groups, steps)
  return { pairs_file, groups_file, picture = make_picture(groups, steps), tables = tables }
end

return M
