-- The verb `runs`: lists the runs of a folder, shows one run, removes runs, or renames the runs of a spec.
--
-- Input, the options:
--   action  list, show, remove or rename
--   paths   folders of runs
--   where   conditions on runs (where.lua), or nil
--   metric  the metric of scores, or nil
--   json    whether to print JSON
--   yes     whether to remove runs without a question
--   name    the new name, for rename
--   say     prints a line
-- Output: an exit code and, if it is not 0, a message.

local alter = require("lab.runs.alter")
local evaluations = require("lab.study.read.evaluations")
local escape = require("base.escape")
local json = require("dkjson")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local paths = require("base.paths")
local rows = require("lab.runs.rows")
local runs = require("lab.study.read.runs")
local seeds = require("lab.study.read.seeds")
local shell = require("base.shell")
local where = require("lab.runs.where")
local wording = require("base.wording")

local M = {}

local DONE, INPUT, USAGE = 0, 1, 2

local function format_size(bytes)
  for _, unit in ipairs({ "B", "kB", "MB" }) do
    if bytes < 1000 then
      return ("%.3g %s"):format(bytes, unit)
    end
    bytes = bytes / 1000
  end
  return ("%.3g GB"):format(bytes)
end

local function format_score(metric, score)
  local measure = metrics.by_name[metric]
  return ("%s %.4g%s"):format(measure.title, score, measure.unit == "percent" and "%" or "")
end

-- The columns of the list: { title, get_value, is_right_aligned }. get_value(row) returns a cell's text or number, or
-- nil.
local COLUMNS = {
  { "task", function(row) return row.task end },
  { "encoding", function(row) return row.encoding end },
  { "layers x width", function(row)
    return row.layers and row.width and ("%d x %d"):format(row.layers, row.width)
  end, is_right_aligned = true },
  { "seed", function(row) return row.seed and seeds.format(row.run) end, is_right_aligned = true },
  { "steps", function(row) return row.steps end, is_right_aligned = true },
  { "score", function(row) return row.score and format_score(row.metric, row.score) end },
  { "state", function(row) return row.state end },
  { "started", function(row) return row.started and row.started:sub(1, 16):gsub("T", " ") end },
  { "size", function(row) return format_size(row.bytes) end, is_right_aligned = true },
  { "run", function(row) return row.path end },
}

-- Prints runs as a table with aligned columns.
local function print_table(options, selected_rows)
  local lines = {}
  for _, column in ipairs(COLUMNS) do
    local title, get_value = table.unpack(column)
    local texts = lists.join({ title }, lists.map(selected_rows, function(row)
      return escape.plain((get_value(row)) or "-")
    end))
    local width = lists.max(texts, function(text) return utf8.len(text) end)
    for i, text in ipairs(texts) do
      local gap = (" "):rep(width - utf8.len(text))
      lines[i] = (lines[i] and lines[i] .. "  " or "") .. (column.is_right_aligned and gap .. text or text .. gap)
    end
  end
  for _, line in ipairs(lines) do
    options.say((line:gsub("%s+$", "")))
  end
end

-- Returns the number of runs and their total size as words.
local function format_total(selected_rows)
  return ("%s, %s"):format(wording.count(#selected_rows, "run"), format_size(lists.sum(selected_rows,
    function(row) return row.bytes end)))
end

local function copy_facts(row)
  local facts = lists.merge(row)
  facts.run = nil
  return facts
end

local function print_json(options, value)
  options.say(json.encode(value, { indent = true, keyorder = lists.join(rows.FIELDS, { "spec", "evaluations" }) }))
end

-- Prints runs. all_runs: from find_runs; selected_rows: the rows of all_runs that meet the conditions.
local function list_runs(options, all_runs, selected_rows)
  if options.json then
    print_json(options, setmetatable(lists.map(selected_rows, copy_facts), { __jsontype = "array" }))
  elseif not selected_rows[1] then
    options.say(("none of %s meets --where"):format(wording.count(#all_runs.rows, "run")))
  else
    print_table(options, selected_rows)
    options.say(format_total(selected_rows))
  end
end

-- Returns a list of summaries: of the last evaluation of each split, run[split], and of the evaluation of the run's
-- best checkpoint on each split, run.best[split]. A summary has { split, step, examples, lengths } and, under the name
-- of each measured metric, its mean in its unit.
local function summarise_evaluations(run)
  local distinct_evaluations = lists.drop_repeats(lists.collect({ run, run.best }, function(by_split)
    return lists.map(evaluations.SPLITS, function(split) return by_split[split] end)
  end))
  return lists.map(distinct_evaluations, function(evaluation)
    local summary = { split = evaluation.split, step = evaluation.step, examples = evaluation.examples,
      lengths = lists.copy(evaluation.lengths) }
    for _, metric in ipairs(metrics.NAMES) do
      summary[metric] = runs.compute_mean(evaluation, metric)
    end
    return summary
  end)
end

-- Prints all facts of one run, and summaries of its evaluations.
local function show_run(options, row)
  local facts, summaries = copy_facts(row), summarise_evaluations(row.run)
  if options.json then
    facts.spec, facts.evaluations = row.run.facts.spec, summaries
    return print_json(options, facts)
  end
  for _, name in ipairs(rows.FIELDS) do
    local value = facts[name]
    value = name == "bytes" and format_size(value) or math.type(value) == "float" and ("%.9g"):format(value) or value
    if value ~= nil then
      options.say(("%-14s %s"):format(name, escape.plain(tostring(value))))
    end
  end
  local flags = table.concat(row.run.facts.flags or {}, " ")
  if flags ~= "" then
    options.say(("%-14s %s"):format("flags", escape.plain(flags)))
  end
  options.say(summaries[1] and "evaluations (means)" or "no evaluations yet")
  for _, summary in ipairs(summaries) do
    local lengths, values = summary.lengths, lists.map(metrics.NAMES, function(metric)
      return summary[metric] and format_score(metric, summary[metric])
    end)
    options.say(("  %-16s lengths %s to %s, step %d: %s"):format(summary.split, lengths[1], lengths[#lengths],
      summary.step, table.concat(values, ", ")))
  end
end

-- Asks a question on the terminal. Returns whether the answer begins with y; nil if there is no terminal.
local function ask_user(question)
  if shell.run({ "test", "-t", "0" }) ~= 0 then
    return nil
  end
  io.stderr:write(question, " [y/N] ")
  return (io.read("l") or ""):lower():find("^y") ~= nil
end

-- Removes runs after a question. Returns an exit code and a message or nil.
local function remove(options, all_runs, selected_rows)
  if not selected_rows[1] then
    return INPUT, "no run meets --where; nothing is removed"
  end
  local total = format_total(selected_rows)
  print_table(options, selected_rows)
  local is_confirmed = options.yes or ask_user(("Remove %s?"):format(total))
  if is_confirmed == nil then
    return USAGE, ("nothing is removed without a terminal to ask on; to remove %s, add --yes"):format(total)
  elseif not is_confirmed then
    return INPUT, "nothing is removed"
  end
  local is_done, message = alter.remove(all_runs.root, selected_rows)
  if not is_done then
    return INPUT, message
  end
  options.say(("removed %s"):format(total))
  return DONE
end

-- Renames the runs of a spec. Returns an exit code and a message or nil.
local function rename(options, all_runs, selected_rows)
  local path = options.paths[1]
  local id = paths.resolve(path):match("([^/]+)$")
  if paths.resolve(path) ~= paths.resolve(all_runs.root .. "/" .. id) then
    return INPUT, ("%s: all runs of a spec have one name\n  expected: the folder of a spec's runs, such as %s")
      :format(path, selected_rows[1].path:match("^(.*)/[^/]+/[^/]+$"))
  end
  local is_done, message = alter.rename(all_runs.root, selected_rows, id, options.name)
  if not is_done then
    return INPUT, message
  end
  options.say(("%s: now %s/%s"):format(path, all_runs.root, options.name))
  return DONE
end

-- Reads the runs in all folders of options.paths, each run once. Returns { root (the folder of all runs), rows,
-- problems (messages) }; or nil and a message.
local function find_runs(options)
  local all_runs
  local with_encodings = options.action ~= "rename"
  for _, path in ipairs(options.paths) do
    local folder_runs, message = rows.read(path, options.metric, with_encodings)
    if not folder_runs then
      return nil, message
    elseif all_runs and folder_runs.root ~= all_runs.root then
      return nil, ("%s and %s are in different folders of runs\n  expected: folders in one folder of runs"):format(
        options.paths[1], path)
    end
    all_runs = all_runs or { root = folder_runs.root, rows = {}, problems = folder_runs.problems }
    local rows_by_path = lists.index_by(all_runs.rows, function(row) return row.path end)
    lists.append(all_runs.rows, lists.filter(folder_runs.rows, function(row) return not rows_by_path[row.path] end))
  end
  return all_runs
end

function M.run(options)
  local all_runs, message = find_runs(options)
  if not all_runs then
    return INPUT, message
  end
  local selected_rows
  selected_rows, message = where.select(all_runs.rows, options.where)
  if not selected_rows then
    return USAGE, message
  elseif options.action == "remove" then
    return remove(options, all_runs, selected_rows)
  elseif options.action == "rename" then
    return rename(options, all_runs, selected_rows)
  elseif options.action == "show" and #selected_rows ~= 1 then
    return INPUT, ("%s: contains %s\n  expected: the folder of one run"):format(options.paths[1],
      wording.count(#selected_rows, "run"))
  elseif options.action == "show" then
    show_run(options, selected_rows[1])
  else
    list_runs(options, all_runs, selected_rows)
  end
  local damaged = lists.join(all_runs.problems, lists.collect(selected_rows, function(row)
    return row.state == "damaged" and lists.map(row.run.notes, function(note) return row.path .. "/" .. note end) or {}
  end))
  return #damaged > 0 and INPUT or DONE, damaged[1] and "damaged:\n  " .. table.concat(damaged, "\n  ")
end

return M
