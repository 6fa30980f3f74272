-- A study as cells: for each point of its grid the plan of one spec, and the runs over seeds and learning rates.
--
-- Input: a project, the name of a file in spec/studies or a path, and options:
--   scale, set      the name of a scale, and words of --set, or nil
--   out             the folder of all runs
--   reading         true if the study is only read, and no run will be trained
--   choice          the selected cells (chosen_cells.lua), nil: all cells
--   flag_study      { text, origin } of a study from flags (requested_study.lua), or nil
-- Output: nil and the errors as text; or { name, title, path, scale, set, report, scored, labels, axes = { { name,
-- values = { names } } }, warnings, ids (of all cells), cells (the selected cells) }. A cell:
--   key             { <axis> = <value> }
--   id              the cell's name
--   spec            the planned spec, as from project:plan; nil while the cell waits
--   seeds           a list; seeds.part_seeds: nil, or a list for each part of the random numbers (init, data, draws)
--                   that has separate seeds
--   learning_rates  a list; { false } for a waiting cell whose spec will set the rate
--   runs            a list of { seed, part_seeds, learning_rate, dir, runs_on_other_data }:
--       dir                  the run's folder, below the folder of all runs; nil while the cell waits
--       runs_on_other_data   see run_folders.lua
--   data            the file that the cell is trained on, { shown, digest } (run_folders.lua), or nil
--   stage           the name of the cell's stage, or nil
--   source          nil, or a table if the cell's spec is made from the run of another cell, which has a single run:
--       id, cell        the other cell
--       run             the folder of its run; nil while the other cell waits
--       verb, options   the command that makes the spec, and its options
--       file            the path of the spec; the cell waits until this file exists. nil while the other cell waits
--   lost_text       nil, or, if `reading`, a text on the missing initial checkpoint for which the cell waits
-- Reads files, writes none.

local canonical = require("base.canonical")
local choice = require("lab.study.grid.chosen_cells")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local file_digest = require("lab.study.read.file_digest")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local lfs = require("lfs")
local similar_names = require("base.similar_names")
local nodes = require("lab.study.grid.nodes")
local paths = require("base.paths")
local project_module = require("project")
local run_folders = require("lab.study.read.run_folders")
local seeds = require("lab.study.read.seeds")
local sha256 = require("base.sha256")
local stages = require("lab.study.grid.stages")
local study_module = require("lab.study.grid.study")
local tree = require("spec.reading.tree")
local wording = require("base.wording")

local M = {}

local MAX_CELLS = 4096 -- points of a study's grid, including excluded ones

-- Returns the shortest text that reads back as the same number, for names of run folders. lh_write_shortest of the
-- runtime gives the same text.
function M.format_shortest(x)
  for digits = 1, 17 do
    local text = ("%." .. digits .. "g"):format(x)
    if tonumber(text) == x then
      return text
    end
  end
end

-- Returns the name of a run's folder, without the suffix for the training file's digest (run_folders.lua).
function M.name_run(run)
  return ("lr%s-seed%s"):format(M.format_shortest(run.learning_rate), seeds.format(run))
end

-- Returns a trainer's flags for some runs of a cell. subset:
--   learning_rates   a list
--   seeds            { first, last }
--   part_seeds       { <part> = { first, last } }, for parts of the random numbers with separate seeds
function M.make_flags(subset, device)
  local words = { "--seeds", ("%d:%d"):format(table.unpack(subset.seeds)) }
  for _, name in ipairs(seeds.PARTS) do
    local range = subset.part_seeds[name]
    lists.append(words, range and { "--seeds-" .. name, ("%d:%d"):format(table.unpack(range)) } or {})
  end
  return lists.append(words, { "--learning-rate",
    table.concat(lists.map(subset.learning_rates, M.format_shortest), ","), "--device", device })
end

local function is_file(path)
  return lfs.attributes(path, "mode") == "file"
end

-- Returns the path of a study's file; nil after an error. argument: a path, a name in spec/studies, or the name of a
-- study from flags, which a sweep has written into `out`.
local function find_file(project, argument, out, d)
  local path = project:path("spec/studies/" .. argument .. ".lua")
  local from_flags = ("%s/%s.lua"):format(out, argument)
  if is_file(argument) then
    return argument
  elseif load_module.is_id(argument) and is_file(path) then
    return path
  elseif not argument:find("/", 1, true) and is_file(from_flags) then
    return from_flags
  end
  d:add({ what = diagnostics.describe_missing("study", argument, lfs.attributes(argument, "mode")),
    expected = "a path, or one of the names that ./longhand list studies shows",
    hint = is_file(project:path("spec/runs/" .. argument .. ".lua")) and ("%s is a spec: ./longhand train %s"):format(
      argument, argument) or similar_names.make_hint(argument:match("([^/]*)$"):gsub("%.lua$", ""),
      project:list_names("spec/studies", ".lua"), "%s") })
end

-- Whether the values of a point allow each other. The field `with` of a value restricts the other values (study.lua).
local function is_combination(axes, point)
  return not lists.any(point, function(value) return not nodes.has_values(axes, point, value.with or {}) end)
end

-- Returns the points of the grid, without excluded points. A point is a list with a value for each axis. The last axis
-- varies fastest.
local function list_points(axes)
  local list = { {} }
  for _, axis in ipairs(axes) do
    list = lists.collect(list, function(point)
      return lists.map(axis.values, function(value) return lists.join(point, { value }) end)
    end)
  end
  return lists.filter(list, function(point) return is_combination(axes, point) end)
end

-- Returns a cell's id: the joined names of its values. If the study has a prefix, the name of an axis precedes a number
-- (sort_width_64), unless the id becomes too long. The first axis' name precedes an invalid id, such as 16.
local function make_id(study, point)
  local function join(first, has_axis_names)
    return table.concat(lists.join(first, lists.map(point, function(value, i)
      local axis = has_axis_names and tonumber(value.name) and study.axes[i].name .. "_" or ""
      return ((axis .. value.name):gsub("[^%w]", "_"))
    end)), "_")
  end
  local candidates = study.prefix and { join({ study.prefix }, true), join({ study.prefix }) } or { join({}) }
  return lists.find(candidates, load_module.is_id) or join({ (study.axes[1].name:gsub("[^%w]", "_")) })
end

-- Returns a setting of a point, "learning_rates" or "seeds". The last value with this field decides; nil if there is
-- none.
local function get_last_setting(point, name)
  local settings = lists.map(point, function(value) return value[name] end)
  return settings[#settings]
end

-- Returns the file of examples that a cell is trained on, { shown, digest } (run_folders.lua); nil without such a file.
local function find_data(spec)
  local file = spec and spec.data_files.data
  return file and { shown = file.shown, digest = file_digest.compute(file.real) } or nil
end

-- Returns the runs of a cell, without dir if the cell has no spec yet.
local function make_runs(work, cell)
  local runs, plan_folder = {}, cell.spec and cell.id .. "/" .. cell.spec.plan.digest
  for _, rate in ipairs(cell.learning_rates) do
    for _, run in ipairs(seeds.list_runs(cell.seeds)) do
      run.learning_rate = rate or nil
      if plan_folder then
        run.dir, run.runs_on_other_data = run_folders.find(work.out, plan_folder, M.name_run(run), cell.data,
          work.names_by_folder)
      end
      runs[#runs + 1] = run
    end
  end
  return runs
end

-- Returns the fragments of a cell's spec. Later fragments override earlier ones. --set fills the last, empty fragment.
-- made_spec: the spec that a verb has made from another cell's run, or nil.
local function list_fragments(study, point, made_spec)
  local list = lists.append({ made_spec and { source = made_spec, tree = made_spec.tree } }, study.base_fragments)
  lists.append(list, lists.collect(point, function(value) return value.fragments end))
  list[#list + 1] = { source = study.source, tree = tree.make_table(study.source.tree.origin) }
  return list
end

local function describe_point(axes, point)
  local words = lists.map(axes, function(axis, i) return ("%s %s"):format(axis.name, point[i].name) end)
  return table.concat(words, ", ")
end

-- Returns the stage of a point, or nil; and whether two stages contain the point, which is an error.
local function find_stage(work, point)
  local stage, conflict = stages.find_stage(work.study.stages, work.study.axes, point)
  if conflict then
    work.diagnostics:add({ at = conflict[2].origin, field = conflict[2].path .. ".cells", what =
      ("%s is in this stage and in %s"):format(describe_point(work.study.axes, point), conflict[1].name),
      expected = "a cell in one stage at most" })
  end
  return stage, conflict ~= nil
end

local make_cell

-- Returns the `source` of a cell whose spec is made from another cell's run; nil after errors.
local function find_source(work, stage, point, id)
  local study, d = work.study, work.diagnostics
  local source_point, axis_name = stages.find_source(stage, study.axes, point)
  source_point = source_point and is_combination(study.axes, source_point) and source_point
  local cell = source_point and make_cell(work, source_point)
  if source_point and not cell then
    return nil
  end
  d:set_note("in the cell of " .. describe_point(study.axes, point))
  if not source_point then
    d:add({ at = stage.origin, field = stage.path .. ".from",
      what = ("the source is not a single cell of %s%s"):format(stage.from.name,
        axis_name and (": no value or several values of the axis %s fit"):format(axis_name) or ""),
      expected = axis_name and "one value of the axis in the cells of " .. stage.from.name
        or "values that occur together in a cell" })
    return nil
  elseif #cell.runs ~= 1 then
    d:add({ at = stage.origin, field = stage.path .. ".from", what = ("the cell %s has %d runs"):format(cell.id,
      #cell.runs), expected = "one seed and one learning rate, so that a single run is used",
      hint = "to use several runs, add an axis with a value for each seed, which sets `seeds`" })
    return nil
  end
  local source = { id = cell.id, cell = cell, run = cell.runs[1].dir, verb = stage.verb, options = stage.options }
  source.file = source.run and ("%s/%s_%s/%s.lua"):format(id, stage.verb,
    sha256.digest(canonical.format({ run = source.run, options = stage.options })), id)
  return source
end

-- Returns the path of a spec's initial checkpoint, for messages, if this file is missing; otherwise nil.
local function find_lost_init(loaded)
  local node = loaded.tree.fields.init
  local checkpoint = node and type(node.value) == "string" and loaded.find_file(node.origin, node.value)
  return checkpoint and not is_file(checkpoint.real) and checkpoint.shown or nil
end

-- Returns three results:
--   the planned spec of a cell; nil while the cell waits
--   whether an error occurred
--   the cell's lost_text
local function plan_spec(work, point, id, source)
  local study, d = work.study, work.diagnostics
  local name = ("%s:%s%s"):format(study.shown, work.scale and work.scale .. ":" or "", id)
  local path = source and source.file and work.out .. "/" .. source.file
  if source and not (path and is_file(path)) then
    return nil
  end
  local made_spec = path and load_module.open(path, nil, study.source)
  if path and not made_spec then
    return nil, true
  end
  local loaded = load_module.join(id, name, list_fragments(study, point, made_spec), work.sets)
  local lost_path = work.reading and loaded and find_lost_init(loaded)
  if lost_path then
    return nil, false, ("init: %s is missing; the folder of these runs is unknown without the checkpoint"):format(
      lost_path)
  end
  local spec = loaded and project_module.settle(loaded, d, work.facts)
  if not spec then
    return nil, true
  end
  spec.path = name
  for _, warning in ipairs(spec.warnings) do
    table.insert(work.warnings, type(warning) == "table" and warning.what or warning)
  end
  return spec
end

local function make_key(axes, point)
  local key = {}
  for i, axis in ipairs(axes) do
    key[axis.name] = point[i].name
  end
  return key
end

-- Returns the cell of a point, which the first call plans; nil after errors.
function make_cell(work, point)
  local study, d = work.study, work.diagnostics
  local key, id = make_key(study.axes, point), make_id(study, point)
  local cell_key = canonical.format(key)
  if work.cells_by_key[cell_key] ~= nil then
    return work.cells_by_key[cell_key] or nil
  end
  work.cells_by_key[cell_key] = false
  d:set_note("in the cell of " .. describe_point(study.axes, point))
  if not load_module.is_id(id) or work.ids[id] then
    d:add({ path = study.shown, what = ("%s is not a name for a cell%s"):format(diagnostics.show(id),
      work.ids[id] and "; another cell has this name" or ""), expected = load_module.ID_TEXT })
    return nil
  end
  work.ids[id] = true
  local stage, has_failed = find_stage(work, point)
  local source = stage and stage.from and find_source(work, stage, point, id)
  if has_failed or stage and stage.from and not source then
    return nil
  end
  local spec, lost_text
  spec, has_failed, lost_text = plan_spec(work, point, id, source)
  if has_failed then
    return nil
  end
  local rates = study.learning_rates or { spec and spec.resolved.train.learning_rate or false }
  local cell = { key = key, id = id, spec = spec, data = find_data(spec),
    seeds = stage and stage.seeds or get_last_setting(point, "seeds") or study.seeds,
    learning_rates = get_last_setting(point, "learning_rates") or rates,
    stage = stage and stage.name, source = source, lost_text = lost_text }
  cell.runs = make_runs(work, cell)
  work.cells_by_key[cell_key] = cell
  return cell
end

-- Makes the selected cells. Adds errors to the diagnostics.
local function make_cells(work)
  local study, cells, count = work.study, {}, 1
  for _, axis in ipairs(study.axes) do
    count = count * #axis.values
  end
  if count > MAX_CELLS then
    work.diagnostics:add({ path = study.shown, what = ("%d cells"):format(count),
      expected = ("at most %d"):format(MAX_CELLS) })
    return cells
  end
  local is_chosen, chosen_count = choice.make_filter(work.choice, study.axes, work.diagnostics), 0
  for i, point in ipairs(list_points(study.axes)) do
    work.all_ids[i] = make_id(study, point)
    if is_chosen(point, work.all_ids[i]) then
      chosen_count = chosen_count + 1
      cells[#cells + 1] = make_cell(work, point)
    end
  end
  choice.check(work.choice, { path = work.path, scales = study.scales }, work.all_ids, chosen_count, work.diagnostics)
  return cells
end

-- Warns if cells have separate seeds of draws but sample neither positions nor dropout.
local function warn_of_seeds(work, cells)
  local without_draws = lists.filter(cells, function(cell)
    return cell.spec and not cell.spec.plan.has_draws and lists.get(cell.seeds, "part_seeds.draws")
  end)
  work.warnings[#work.warnings + 1] = without_draws[1] and ("seeds of draws have no effect without random "
    .. "positions or dropout: this concerns %d of %s, for example %s"):format(#without_draws,
    wording.count(#cells, "cell"), without_draws[1].id) or nil
end

-- Whether no self-attention of a model lets a query see later keys.
local function hides_later_keys(resolved)
  local model, encoding = resolved.model, resolved.encoding
  return not lists.any(families.list(model, encoding) or {}, function(name)
    return name ~= "cross" and not families.is_causal(model, name, lists.merge(encoding, encoding[name] or {}))
  end)
end

-- Whether an attention or a layer has its own mask, which overrides the mask of the whole encoding.
local function has_own_masks(encoding)
  return lists.any(families.NAMES, function(name) return lists.get(encoding, name .. ".mask") ~= nil end)
end

-- Warns if later keys are hidden in some cells, and visible in other cells that differ only in their encoding.
local function warn_of_masks(work, cells)
  local groups = lists.group(lists.filter(cells, function(cell) return cell.spec and cell.key.encoding end),
    function(cell) return canonical.format(lists.merge(cell.key, { encoding = "" })) end)
  for _, group in ipairs(groups) do
    local names = { [true] = {}, [false] = {} }
    for _, cell in ipairs(group) do
      table.insert(names[hides_later_keys(cell.spec.resolved)], cell.key.encoding)
    end
    local remedy = not lists.any(group, function(cell) return has_own_masks(cell.spec.resolved.encoding) end)
      and "; to compare only the encodings, add a mask to all cells: --set encoding.mask.kind=causal" or ""
    work.warnings[#work.warnings + 1] = names[true][1] and names[false][1]
      and ("encoding: the masks differ: later keys are hidden in %s, but not in %s"):format(
      table.concat(names[true], ", "), table.concat(names[false], ", ")) .. remedy or nil
  end
end

-- Expands a study, as the head of this file describes. argument: a name or a path; options.out: by default "runs".
function M.expand(project, argument, options)
  options = options or {}
  local d, out = diagnostics.new(), options.out or "runs"
  local path = options.flag_study and argument or find_file(project, argument, out, d)
  local sets, facts = project_module.parse_sets(options.set, d), project:read_task_facts(d)
  local study = path and d:count() == 0 and study_module.read(path, { root = project.root, diagnostics = d,
    scale = options.scale, names = paths.list_base_names, replacement = options.flag_study })
  if not study then
    return nil, d:text()
  end
  -- The functions share `work`, with these fields among others:
  --   ids               the set of the ids of made cells
  --   cells_by_key      made cells, by their keys as text; false after errors
  --   all_ids           the ids of all cells
  --   names_by_folder   see run_folders.find
  local work = { study = study, diagnostics = d, sets = sets, facts = facts, ids = {},
    cells_by_key = {}, all_ids = {}, choice = options.choice or {}, path = path, scale = options.scale,
    reading = options.reading, out = out, names_by_folder = {}, warnings = {} }
  local cells = make_cells(work)
  if d:count() > 0 then
    return nil, d:text()
  end
  warn_of_seeds(work, cells)
  warn_of_masks(work, cells)
  local axes = lists.map(study.axes, function(axis)
    return { name = axis.name, values = lists.get_names(axis.values) }
  end)
  return { name = path:match("([^/]*)%.lua$") or path:match("([^/]*)$"), title = study.title, path = path,
    scale = options.scale, set = options.set or {}, report = study.report, scored = study.scored,
    labels = study.labels, axes = axes, cells = cells, ids = work.all_ids,
    warnings = lists.drop_repeats(work.warnings) }
end

-- Returns the planned spec of STUDY:CELL or STUDY:SCALE:CELL; or nil and errors. out: the folder of runs.
function M.plan_cell(project, text, sets, out)
  local argument, scale, id = choice.split(text)
  local study, message = M.expand(project, argument, { scale = scale, choice = { cells = { id } }, set = sets,
    out = out })
  local cell = study and study.cells[1]
  if cell and not cell.spec then
    local d, file = diagnostics.new(), cell.source.file
    d:add({ what = ("the cell %s waits for %s"):format(cell.id, cell.source.id), expected = file
      and file .. ", which a sweep makes from that cell's run in the folder of runs" or "the runs of earlier stages" })
    return nil, d:text()
  end
  return cell and cell.spec, message
end

return M
