-- A study as cells: for each point of its grid the plan of one spec, and the runs over seeds and learning rates.
--
-- Input: a project, the name of a file in spec/studies or a path, { scale, set }. Output:
--     { name, title, path, scale, set, report, scored, axes = { { name, values = { names } } }, seeds,
--       warnings, ids (of all cells),
--       cells = { { key = { <axis> = <value> }, id, spec, learning_rates, runs = { { seed, learning_rate, dir } } } } }
-- or nil and the errors as text. spec is what project:plan returns of a spec file; dir, below the folder of all runs,
-- is where the trainer puts the run. Reads files, writes none.

local diagnostics = require("base.diagnostics")
local load_module = require("spec.load")
local lfs = require("lfs")
local paths = require("base.paths")
local project_module = require("project")
local study_module = require("study.grid.study")
local tree = require("spec.tree")

local M = {}

local MOST_CELLS = 4096

-- The shortest text of a number that reads back as it, as the names of run folders have it: lh_shortest of the runtime.
function M.shortest(x)
  for digits = 1, 17 do
    local text = ("%." .. digits .. "g"):format(x)
    if tonumber(text) == x then
      return text
    end
  end
end

local function is_file(path)
  return lfs.attributes(path, "mode") == "file"
end

local function find(project, argument, d)
  if is_file(argument) then
    return argument
  end
  local path = project:path("spec/studies/" .. argument .. ".lua")
  if load_module.is_id(argument) and is_file(path) then
    return path
  end
  local near = diagnostics.nearest(argument:match("([^/]*)$"):gsub("%.lua$", ""), project:names("spec/studies", ".lua"))
  d:add({ what = ("no such study: %s"):format(argument),
    expected = "a path, or one of the names that ./longhand list studies shows",
    hint = is_file(project:path("spec/runs/" .. argument .. ".lua")) and ("%s is a spec: ./longhand train %s"):format(
      argument, argument) or near and ("did you mean %s?"):format(near) or nil })
end

-- The points of the grid: lists of values, the last axis fastest.
local function points(axes)
  local list = { {} }
  for _, axis in ipairs(axes) do
    local longer = {}
    for _, point in ipairs(list) do
      for _, value in ipairs(axis.values) do
        longer[#longer + 1] = table.move(point, 1, #point, 1, {})
        table.insert(longer[#longer], value)
      end
    end
    list = longer
  end
  return list
end

local function count(axes)
  local cells = 1
  for _, axis in ipairs(axes) do
    cells = cells * #axis.values
  end
  return cells
end

-- The names of the values; the first axis' name goes in front where they alone are no id, as 16 and 0.5.
local function cell_id(axes, point)
  local names = {}
  for i, value in ipairs(point) do
    names[i] = value.name:gsub("[^%w]", "_")
  end
  local id = table.concat(names, "_")
  return load_module.is_id(id) and id or axes[1].name:gsub("%-", "_") .. "_" .. id
end

-- Of the cell's value on the last axis whose value has any, the study's, or the one of its spec.
local function rates_of(study, point, spec)
  local rates = study.learning_rates or { spec.resolved.train.learning_rate }
  for _, value in ipairs(point) do
    rates = value.learning_rates or rates
  end
  return rates
end

local function runs_of(study, id, spec, rates)
  local runs = {}
  for _, rate in ipairs(rates) do
    for _, seed in ipairs(study.seeds) do
      runs[#runs + 1] = { seed = seed, learning_rate = rate,
        dir = ("%s/%s/lr%s-seed%d"):format(id, spec.plan.digest, M.shortest(rate), seed) }
    end
  end
  return runs
end

-- The fragments of a cell from the bottom up; what --set says is laid upon an empty one.
local function fragments_of(study, point)
  local list = table.move(study.below, 1, #study.below, 1, {})
  for _, value in ipairs(point) do
    list[#list + 1] = value.fragment
  end
  list[#list + 1] = { source = study.source, tree = tree.table(study.source.tree.origin) }
  return list
end

-- Resolves and plans one cell; nil after errors.
local function make_cell(work, point)
  local study, d, key, words = work.study, work.diagnostics, {}, {}
  for i, axis in ipairs(study.axes) do
    key[axis.name] = point[i].name
    words[i] = ("%s %s"):format(axis.name, point[i].name)
  end
  local id = cell_id(study.axes, point)
  d:within("in the cell of " .. table.concat(words, ", "))
  if not load_module.is_id(id) or work.ids[id] then
    d:add({ path = study.shown, what = ("%s is no name for a cell%s"):format(diagnostics.show(id),
      work.ids[id] and "; another has it" or ""), expected = load_module.ID_TEXT })
    return nil
  end
  work.ids[id] = true
  local name = ("%s:%s%s"):format(study.shown, work.scale and work.scale .. ":" or "", id)
  local loaded = load_module.join(id, name, fragments_of(study, point), work.sets)
  local spec = loaded and project_module.settle(loaded, d, work.facts)
  if not spec then
    return nil
  end
  spec.path = name
  for _, warning in ipairs(spec.warnings) do
    local text = type(warning) == "table" and warning.what or warning
    work.warnings[#work.warnings + 1] = not work.warned[text] and text or nil
    work.warned[text] = true
  end
  local rates = rates_of(study, point, spec)
  return { key = key, id = id, spec = spec, learning_rates = rates, runs = runs_of(study, id, spec, rates) }
end

local function make_cells(work)
  local study, cells = work.study, {}
  if count(study.axes) > MOST_CELLS then
    work.diagnostics:add({ path = study.shown, what = ("%d cells"):format(count(study.axes)),
      expected = ("at most %d"):format(MOST_CELLS) })
    return cells
  end
  for i, point in ipairs(points(study.axes)) do
    work.all[i] = cell_id(study.axes, point)
    if not work.only or work.only == work.all[i] then
      cells[#cells + 1] = make_cell(work, point)
    end
  end
  return cells
end

local function axis_names(axes)
  local list = {}
  for i, axis in ipairs(axes) do
    list[i] = { name = axis.name, values = {} }
    for j, value in ipairs(axis.values) do
      list[i].values[j] = value.name
    end
  end
  return list
end

-- options: scale, set, and `only`, the id of the one cell that is wanted.
function M.expand(project, argument, options)
  options = options or {}
  local d = diagnostics.new()
  local path = find(project, argument, d)
  local sets, facts = project_module.parse_sets(options.set, d), project:task_facts(d)
  local study = path and d:count() == 0 and study_module.read(path, { root = project.root, diagnostics = d,
    scale = options.scale, names = paths.names_in })
  if not study then
    return nil, d:text()
  end
  local work = { study = study, diagnostics = d, sets = sets, facts = facts, ids = {},
    all = {}, only = options.only, scale = options.scale,
    warnings = {}, warned = {} }
  local cells = make_cells(work)
  if d:count() > 0 then
    return nil, d:text()
  end
  return { name = path:match("([^/]*)%.lua$") or path:match("([^/]*)$"), title = study.title, path = path,
    scale = options.scale, set = options.set or {}, report = study.report, scored = study.scored,
    axes = axis_names(study.axes), seeds = study.seeds, cells = cells,
    ids = work.all, warnings = work.warnings }
end

-- STUDY:CELL or STUDY:SCALE:CELL as a spec: what project:plan returns; or nil and the errors as text.
function M.cell(project, text, sets)
  local argument, id = text:match("^(.*):([^:]*)$")
  local whole, scale = argument:match("^(.*):([^:]*)$")
  local study, message = M.expand(project, whole or argument, { scale = scale, only = id, set = sets })
  if study and not study.cells[1] then
    local d = diagnostics.new()
    local near = diagnostics.nearest(id, study.ids)
    d:add({ what = ("%s has no cell %s"):format(study.path, id), expected = "names of its axes' values, joined by _",
      hint = near and ("did you mean %s?"):format(near) or nil })
    return nil, d:text()
  end
  return study and study.cells[1].spec, message
end

return M
