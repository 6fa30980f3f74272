-- Steps that all kinds of sweeps share: expanding a study, counting states of runs, the lines of `sweep status`.
--
-- Input: options of sweep.lua. Output: surveyed studies, counts; a study's note and snapshot; text on stdout, stderr.

local grid = require("lab.study.grid.grid")
local json = require("dkjson")
local ledger = require("lab.study.run.ledger")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local paths = require("base.paths")
local run_files = require("lab.study.read.run_files")
local snapshots = require("lab.study.read.snapshots")
local escape = require("base.escape")
local versions = require("lab.study.read.versions")
local wording = require("base.wording")
local write = require("base.write")
local canonical = require("base.canonical")
local inside = require("lab.study.run.inside")
local lfs = require("lfs")

local M = {}

local NOTE_ORDER = { "study", "path", "absolute", "scale", "set", "started" }
local STATES = ledger.STATES
local MAX_DECISION_LINES = 12 -- lines about existing runs that a sweep prints when it begins

function M.print(...)
  io.stderr:write(table.concat({ ... }) .. "\n") -- one write, since other processes may write lines there, too
end

local printed_texts = {} -- { [text] = true }

-- Prints warnings, each once in the process.
function M.warn(texts)
  for _, text in ipairs(texts) do
    if not printed_texts[text] then
      M.print("warning: ", text)
    end
    printed_texts[text] = true
  end
end

-- Returns its arguments after `code`. If `value` is nil or false, ends the command with the exit code `code` and prints
-- "longhand: " and the message. A message that ends with a newline is printed without "longhand: ".
function M.must(code, value, message, ...)
  if not value then
    error({ code = code, text = message:find("\n$") and message:sub(1, -2) or "longhand: " .. message }, 0)
  end
  return value, message, ...
end

function M.list_runs(study)
  return lists.collect(study.cells, function(cell) return cell.runs end)
end

-- Looks for a spec with another name but the same plan as a cell. If this spec has finished runs that the cell lacks,
-- returns { id (of this spec), runs (the count of these runs) }, else nil. out: the folder of all runs; ids: the names
-- of its folders.
local function find_equal_runs(out, ids, cell)
  return lists.any(ids, function(id)
    local runs = lists.count(cell.runs, function(run)
      local facts = id ~= cell.id and run.state == "absent" and run_files.read_facts(
        ("%s/%s"):format(out, run.dir:gsub("^[^/]+", id)))
      return facts and facts.exit == 0
    end)
    return runs > 0 and { id = id, runs = runs }
  end) or nil
end

-- Finds earlier runs of a study's cells. out: the folder of all runs. Sets
--   study.snapshot   the snapshot of the last sweep
--   cell.equal       the result of find_equal_runs
--   cell.earlier     for a cell with absent runs, if runs of an earlier plan of the cell exist: { runs (their count),
--                    differences (texts on how the plans differ) }
function M.find_earlier_runs(study, out)
  local ids = write.list_names(out)
  study.snapshot = snapshots.read(out, study.name, study.scale)
  for _, cell in ipairs(study.cells) do
    cell.equal = cell.spec and find_equal_runs(out, ids, cell)
    local absent_run = cell.spec and lists.find(cell.runs, function(run) return run.state == "absent" end)
    local version = lists.find(absent_run and versions.find(out, study, cell) or {}, function(version)
      return version.digest ~= cell.spec.plan.digest
    end)
    cell.earlier = version and { runs = #version.dirs, differences = versions.describe(study, cell, version) }
  end
end

-- Expands the study and surveys its runs; nil and a message after errors.
function M.expand(options)
  local study, message = grid.expand(options.project, options.study, options)
  if study then
    M.warn(study.warnings)
    ledger.survey(study, options.out)
    M.find_earlier_runs(study, options.out)
  end
  return study, message
end

function M.name_study(study)
  return study.name .. (study.scale and (" (%s)"):format(study.scale) or "")
end

-- Returns the counts { cells, runs, done, left, and [state] for each state }. left: runs that are neither done nor
-- trained further.
function M.count_states(study)
  local runs = M.list_runs(study)
  local counts = { cells = #study.cells, runs = #runs, done = 0 }
  for _, state in ipairs(STATES) do
    counts[state] = 0
  end
  for _, run in ipairs(runs) do
    counts[run.state] = counts[run.state] + 1
  end
  counts.left = counts.runs - counts.done - counts["trained further"]
  return counts
end

-- Joins counts { count, words } into ", 3 running, 1 failed", without counts of 0.
function M.join_counts(counts)
  return table.concat(lists.map(counts, function(entry)
    return entry[1] > 0 and (", %d %s"):format(entry[1], entry[2]) or nil
  end))
end

-- Returns "4 cells", or "2 of 4 cells" if not all are selected.
function M.format_cell_count(study)
  local selected_text = #study.cells < #study.ids and ("%d of "):format(#study.cells) or ""
  return selected_text .. wording.count(#study.ids, "cell")
end

-- Returns " of 2 of 4 cells", or "" if all are selected.
function M.format_selection(study)
  return #study.cells < #study.ids and " of " .. M.format_cell_count(study) or ""
end

-- Returns a cell's entry in the snapshot. Sets sources[path] to the text of each of the user's files; path: of the
-- file's copy.
local function make_entry(cell, sources)
  local files = {}
  for field, file in pairs(snapshots.list_files(cell.spec)) do
    files[field] = { name = file.name, digest = file.digest }
    if file.text then
      sources[snapshots.get_copy(field, file.digest)] = file.text
    end
  end
  return { id = cell.id, key = cell.key, digest = cell.spec.plan.digest, swept = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    spec = cell.spec.resolved, files = files }
end

-- Joins the entries of an earlier snapshot (nil: none) and the entries of the study's cells, each plan once.
local function merge_entries(earlier_snapshot, study, sources)
  local list, is_listed = {}, {}
  for _, entry in ipairs(earlier_snapshot and earlier_snapshot.cells or {}) do
    list[#list + 1], is_listed[entry.id .. " " .. entry.digest] = entry, true
  end
  for _, cell in ipairs(study.cells) do
    if cell.spec and not is_listed[cell.id .. " " .. cell.spec.plan.digest] then
      list[#list + 1] = make_entry(cell, sources)
    end
  end
  return list
end

local function format_snapshot(study, entries)
  local head = canonical.format({ study = study.name, path = study.path, scale = study.scale, title = study.title,
    axes = study.axes, scored = metrics.complete_scored(study, study.scored or {}), labels = study.labels })
  return ('%s,"cells":[\n%s\n]}\n'):format(head:sub(1, -2), table.concat(lists.map(entries, canonical.format), ",\n"))
end

-- Writes the study's snapshot (study/read/snapshots.lua) and copies of the user's own sources into RUNS/.studies, so
-- that results can be shown even after the spec changes. Former cells, and former plans of cells, are kept. Returns nil
-- and a message after an error.
function M.write_snapshot(out, study)
  local link = inside.find_link(out, ("%s/%s/sources"):format(out, snapshots.FOLDER))
  if link then
    return nil, inside.describe_link(link)
  end
  local sources, is_written, message = {}, true, nil
  local text = format_snapshot(study, merge_entries(snapshots.read(out, study.name, study.scale), study, sources))
  for _, path in ipairs(canonical.sort_keys(sources)) do
    if is_written and lfs.attributes(out .. "/" .. path, "mode") ~= "file" then
      is_written, message = write.file(out .. "/" .. path, sources[path])
    end
  end
  if not is_written then
    return nil, message
  end
  return write.file(out .. "/" .. snapshots.get_path(study.name, study.scale), text)
end

-- Writes OUT/<study>.json and the cells' snapshot; for a study from flags also OUT/<study>.lua. Returns nil and a
-- message after an error.
function M.write_note(options, study)
  local is_written, message = M.write_snapshot(options.out, study)
  if not is_written then
    return nil, message
  end
  local text = json.encode({ study = study.name, path = study.path, absolute = paths.resolve(study.path),
    scale = study.scale or json.null, set = study.set, started = os.date("!%Y-%m-%dT%H:%M:%SZ") },
    { indent = true, keyorder = NOTE_ORDER })
  return write.files(options.out, { { path = study.name .. ".json", text = text .. "\n" },
    options.flag_study and { path = study.name .. ".lua", text = options.flag_study.text } or nil })
end

local MAX_NAMES = 3 -- names of cells in one line

local function describe_other_data(cell, outdated_run)
  local name, old_digest = cell.data.shown:match("[^/]*$"), versions.shorten(outdated_run.digest)
  if not cell.data.digest then
    return ("%s had the SHA-256 %s"):format(name, old_digest)
  end
  return ("%s had the SHA-256 %s, and has %s now; these runs stay unchanged"):format(name, old_digest,
    versions.shorten(cell.data.digest))
end

-- Returns the decisions on the runs of a cell: a list of { state, text (on the decision), cell (the id), runs (the
-- count) }.
local function list_cell_decisions(cell)
  local list = {}
  local function add(state, text, count)
    list[#list + 1] = { state = state, text = text, cell = cell.id, runs = count or 1 }
  end
  for _, file in ipairs(cell.missing_files or {}) do
    add(("%s: there is no file %s"):format(file.field, file.shown), "nothing is trained or evaluated without this "
      .. "file, and existing runs stay unchanged", #cell.runs)
  end
  if cell.earlier then
    add("of an earlier spec", ("%s; these runs stay unchanged, and the cell is trained anew"):format(table.concat(
      cell.earlier.differences, "; ")), cell.earlier.runs)
  end
  if cell.equal then
    add("finished under the name " .. cell.equal.id, ("the plans are equal, but the cell is trained again under its "
      .. "own name. If no study uses the other name, reuse these runs: longhand runs rename RUNS/%s %s"):format(
      cell.equal.id, cell.id), cell.equal.runs)
  end
  for _, run in ipairs(cell.runs) do
    if run.link then
      add("behind a link", run.explanation)
    elseif run.explanation and run.state ~= "damaged" and run.state ~= "running" then
      add(run.state, run.explanation .. (run.state == "trained further" and "; these runs stay unchanged" or ""))
    end
    -- Earlier runs with the same plan, seeds and learning rate, but with another training file.
    for _, outdated_run in ipairs(run.runs_on_other_data or {}) do
      add("trained on other data", describe_other_data(cell, outdated_run))
    end
  end
  return list
end

-- Returns lines on a sweep's decisions on existing runs, with reasons. Equal decisions in several cells share a line.
function M.list_decisions(study)
  local decisions = lists.collect(study.cells, function(cell) return cell.spec and list_cell_decisions(cell) or {} end)
  local groups = lists.group(decisions, function(decision) return decision.state .. "\0" .. decision.text end)
  return lists.map(groups, function(equal_decisions)
    local names = lists.drop_repeats(lists.map(equal_decisions, function(decision) return decision.cell end))
    local runs = lists.sum(equal_decisions, function(decision) return decision.runs end)
    return ("%s: %s of %s: %s"):format(equal_decisions[1].state, wording.count(runs, "run"), #names <= MAX_NAMES
      and table.concat(names, ", ") or wording.count(#names, "cell"), equal_decisions[1].text)
  end)
end

function M.print_states(study)
  local lines = M.list_decisions(study)
  for i = 1, math.min(#lines, MAX_DECISION_LINES) do
    M.print(escape.plain(lines[i]))
  end
  if #lines > MAX_DECISION_LINES then
    M.print(("and %d lines more: ./longhand sweep status"):format(#lines - MAX_DECISION_LINES))
  end
end

-- Prints a line for each cell, decisions on runs, and totals. Returns whether no run is damaged or behind a link.
function M.print_status(options, study)
  for _, cell in ipairs(study.cells) do
    local counts = M.count_states({ cells = { cell } })
    local other_counts = M.join_counts(lists.map(STATES, function(state) return { counts[state], state } end))
    -- A cell without a spec has the line "CELL 0 of 3 done, 3 waiting for SOURCE".
    io.stdout:write(("%-48s %3d of %3d done"):format(cell.id, counts.done, counts.runs), other_counts,
      not cell.spec and " for " .. cell.source.id or "", "\n")
  end
  for _, line in ipairs(M.list_decisions(study)) do
    io.stdout:write(escape.plain(line), "\n")
  end
  local counts = M.count_states(study)
  io.stdout:write(("%s: %d of %s%s done in %s\n"):format(M.name_study(study), counts.done, wording.count(counts.runs,
    "run"), M.format_selection(study), options.out))
  local unusable_runs = lists.filter(M.list_runs(study), function(run) return run.damage or run.link end)
  for _, run in ipairs(lists.filter(unusable_runs, function(run) return run.damage end)) do
    M.print(("damaged: %s/%s"):format(escape.plain(run.path), run.damage))
  end
  return #unusable_runs == 0
end

return M
