-- The progress of a sweep as text: totals, a line for each group of cells, failures and their reasons.
--
-- Input: the study, whose runs have a state and, once started, `progress` (run_progress.lua); options of M.format.
-- Output: lines; a display that shows them.
--
-- Sums over runs have these fields:
--   runs              the number of all runs
--   done              the number of runs that are done or trained further
--   running, failed, waiting, to continue, to evaluate   the numbers of runs in these states
--   trained_further   the number of runs that are trained further
--   unknown           the number of runs with unknown work
--   unknown_done      the number of finished runs with unknown work
--   work, done_work   all operations, and the operations that are done
--   share             done_work / work
--   is_known          whether the work of all runs that are not done is known
--   step_rate         the steps of training per second of all running runs
--   work_rate         the operations per second of all running runs
--   best              the best accuracy of all runs, nil if none is known

local lists = require("base.lists")
local escape = require("base.escape")
local wording = require("base.wording")
local shell = require("base.shell")

local M = {}

-- Adds a run to sums; the head of this file lists their fields.
local function add_run(sums, cell, run)
  local goal, progress = cell.goal, run.progress
  local state = run.state == "trained further" and "done" or run.state -- a sweep skips runs that are trained further
  sums.runs = sums.runs + 1
  if sums[state] then
    sums[state] = sums[state] + 1
  end
  sums.trained_further = sums.trained_further + (run.state == "trained further" and 1 or 0)
  if goal and goal.total then
    sums.work = sums.work + goal.work
    if state == "done" then
      sums.done_work = sums.done_work + goal.work
    elseif progress then
      sums.done_work = sums.done_work + math.min(progress.work, goal.work)
    end
  else
    sums.unknown = sums.unknown + 1
    sums.unknown_done = sums.unknown_done + (state == "done" and 1 or 0)
  end
  if progress and progress.accuracy then
    sums.best = math.max(sums.best or progress.accuracy, progress.accuracy)
  end
  if run.state == "running" and progress and progress.rate then
    sums.work_rate = sums.work_rate + progress.rate * cell.spec.plan.flops_per_step
    sums.step_rate = sums.step_rate + (progress.evaluated and 0 or progress.rate)
  end
end

-- Completes sums. A run with unknown work counts with mean_work, or with 1. mean_work: the mean of the runs with known
-- work; nil if there are none.
local function complete_sums(sums, mean_work)
  local run_work = mean_work or 1
  sums.work = sums.work + sums.unknown * run_work
  sums.done_work = sums.done_work + sums.unknown_done * run_work
  sums.share = sums.work > 0 and sums.done_work / sums.work or sums.done / math.max(1, sums.runs)
  sums.is_known = sums.unknown == sums.unknown_done
  return sums
end

-- Returns the axes with several values among the first `depth` axes; the first axis if none has several values.
local function list_shown_axes(study, depth)
  local axes = lists.filter({ table.unpack(study.axes, 1, depth) }, function(axis) return #axis.values > 1 end)
  return axes[1] and axes or { study.axes[1] }
end

local function group_cells(study, depth)
  local axes = list_shown_axes(study, depth)
  local groups = lists.group(study.cells, function(cell)
    return table.concat(lists.map(axes, function(axis) return cell.key[axis.name] end), " ")
  end)
  return lists.map(groups, function(cells) return { name = cells.key, cells = cells } end)
end

local function sum_runs(cells)
  -- Operations are floats, since the operations of a study can exceed the largest integer.
  local sums = { runs = 0, done = 0, trained_further = 0, running = 0, failed = 0, waiting = 0,
    ["to continue"] = 0, ["to evaluate"] = 0,
    done_work = 0.0, work = 0.0, step_rate = 0.0, work_rate = 0.0, unknown = 0, unknown_done = 0 }
  for cell, run in lists.iterate_nested(cells, "runs") do
    add_run(sums, cell, run)
  end
  return sums
end

-- Merges cells that differ only in the last axes into a group, until there are at most `max_groups` groups or a single
-- axis distinguishes them. Returns
--   the sums of all cells
--   the groups, { name, cells (their count), sums }, in the order of the grid
--   the number of axes that distinguish groups
function M.sum_up(study, max_groups)
  local total, depth = sum_runs(study.cells), #study.axes
  local groups = group_cells(study, depth)
  while #groups > max_groups and depth > 1 do
    depth = depth - 1
    groups = group_cells(study, depth)
  end
  local known_count = total.runs - total.unknown
  local mean = known_count > 0 and total.work / known_count or nil
  for _, group in ipairs(groups) do
    group.sums, group.cells = complete_sums(sum_runs(group.cells), mean), #group.cells
  end
  return complete_sums(total, mean), groups, depth
end

local MAX_COLUMNS = 120 -- maximum width of a line on a terminal
local GROUP_COLUMNS = 110 -- maximum width of a group's line without a terminal
local MAX_FAILURES = 4 -- lines about failures on a terminal
local MIN_NAME_WIDTH = 8 -- characters of a group's name
local BAR_WIDTH = 8 -- characters of a group's bar
local OTHER_LINES = 4 -- lines for the title, the bar of the study, the heads of columns, and the cursor
local COUNTS_FORMAT = "%9s %7s %6s %8s %6s %6s" -- done, running, failed, steps/s, best, time left

-- Formats a share as a bar "[####....]", of 20 characters by default, as trainers show it.
function M.format_bar(share, width)
  width = width or 20
  local full_cells = math.floor(width * math.max(0, math.min(1, share)) + 1e-9)
  return "[" .. ("#"):rep(full_cells) .. ("."):rep(width - full_cells) .. "]"
end

-- Formats a duration as "45s", "12m30", "3h05" or "240h"; "" if it is unknown or at least 10000 hours.
local function format_duration(seconds)
  if not (seconds and seconds >= 0 and seconds < 3.6e7) then
    return ""
  end
  local whole_seconds = math.floor(seconds + 0.5)
  if whole_seconds >= 360000 then
    return ("%dh"):format(whole_seconds // 3600)
  elseif whole_seconds >= 3600 then
    return ("%dh%02d"):format(whole_seconds // 3600, whole_seconds % 3600 // 60)
  end
  return whole_seconds >= 60 and ("%dm%02d"):format(whole_seconds // 60, whole_seconds % 60)
    or ("%ds"):format(whole_seconds)
end

local function format_count(n)
  return n > 0 and tostring(n) or ""
end

local function cut(text, width)
  return #text > width and text:sub(1, width - 2) .. ".." or text
end

local function format_counts(total)
  local parts = lists.map({ "running", "to continue", "to evaluate", "failed", "waiting" }, function(state)
    return (total[state] > 0 or state == "running") and (", %d %s"):format(total[state], state) or nil
  end)
  local further = (total.trained_further or 0) > 0 and (" (%d trained further)"):format(total.trained_further) or ""
  return ("%d of %s done"):format(total.done, wording.count(total.runs, "run")) .. further .. table.concat(parts)
end

local function format_pace(total, seconds_left)
  if total.running == 0 then
    return total.done == total.runs and "all is done" or "nothing runs"
  end
  return ("%.1f steps/s; %s left"):format(total.step_rate, wording.format_duration(seconds_left or -1))
end

function M.format_total(total, seconds_left)
  return ("%s %s; %s"):format(M.format_bar(total.share), format_counts(total), format_pace(total, seconds_left))
end

-- Returns a function that returns the remaining seconds, nil if they cannot be estimated. The speed of work is measured
-- from the function's first call on, and anew after each change of total.unknown. Before any work is done, the speed is
-- total.work_rate.
function M.make_time_estimator()
  local first_work, start_time, unknown_count
  return function(total, now)
    now = now or os.time()
    if not first_work or unknown_count ~= total.unknown then
      first_work, start_time, unknown_count = total.done_work, now, total.unknown
    end
    local remaining_work = total.work - total.done_work
    if total.done_work > first_work and now > start_time then
      return remaining_work / (total.done_work - first_work) * (now - start_time)
    end
    return total.is_known and total.work_rate > 0 and remaining_work / total.work_rate or nil
  end
end

local function format_group(group, width)
  local sums = group.sums
  local left = sums.is_known and sums.work_rate > 0 and (sums.work - sums.done_work) / sums.work_rate or nil
  return ("%-" .. width .. "s %s " .. COUNTS_FORMAT):format(cut(group.name, width), M.format_bar(sums.share, BAR_WIDTH),
    ("%d/%d"):format(sums.done, sums.runs), format_count(sums.running), format_count(sums.failed),
    sums.step_rate > 0 and ("%.1f"):format(sums.step_rate) or "", sums.best and ("%.4f"):format(sums.best) or "",
      format_duration(left))
end

local function format_header(study, depth, width)
  local axes = table.concat(lists.get_names(list_shown_axes(study, depth)), " ")
  return ("%-" .. width .. "s %s " .. COUNTS_FORMAT):format(cut(axes, width),
    (" "):rep(BAR_WIDTH + 2), "done", "running", "failed", "steps/s", "best", "left")
end

-- Shortens a list of too many groups. Returns the `max_groups` - 1 most active groups, in the order of the grid, and a
-- line on the other groups. Groups with running runs are the most active; then groups with failed runs, with unfinished
-- runs, and finished groups.
local function shorten_groups(groups, max_groups)
  local ranked_groups = {}
  for i, group in ipairs(groups) do
    local sums = group.sums
    ranked_groups[i], group.position = group, i
    group.rank = sums.running > 0 and 1 or sums.failed > 0 and 2 or sums.done < sums.runs and 3 or 4
  end
  table.sort(ranked_groups, function(a, b) return a.rank < b.rank or a.rank == b.rank and a.position < b.position end)
  local shown_groups = { table.unpack(ranked_groups, 1, max_groups - 1) }
  local hidden_groups = { table.unpack(ranked_groups, max_groups) }
  table.sort(shown_groups, function(a, b) return a.position < b.position end)
  return shown_groups, ("and %d more: %d of %s done"):format(#hidden_groups,
    lists.sum(hidden_groups, function(group) return group.sums.done end),
    wording.count(lists.sum(hidden_groups, function(group) return group.sums.runs end), "run"))
end

local function format_failures(failures, max_lines)
  local shown_count = #failures > max_lines and max_lines - 1 or #failures
  local lines = lists.map({ table.unpack(failures, 1, shown_count) }, function(failure)
    return ("failed: %s: %s"):format(failure.name, failure.reason or "its log has no reason")
  end)
  lines[#lines + 1] = #failures > shown_count and ("and %d more failed"):format(#failures - shown_count) or nil
  return lines
end

-- Returns the width of the names of groups, at least MIN_NAME_WIDTH.
local function choose_width(study, groups, columns)
  local name_width = lists.sum(study.axes, function(axis) return #axis.name + 1 end)
  name_width = math.max(name_width, lists.max(groups, function(group) return #group.name end))
  local counts_width = #COUNTS_FORMAT:format("", "", "", "", "", "")
  local bar_width = BAR_WIDTH + 5 -- two brackets, a blank before and after, and the last column, which stays empty
  return math.max(MIN_NAME_WIDTH, math.min(name_width, columns - counts_width - bar_width))
end

-- Returns the lines of the text and the sums of all cells. options: title; seconds_left, a function of the sums;
-- failures, a list of { name, reason }; lines and columns of the terminal, nil for unlimited text.
function M.format(study, options)
  local columns = math.min(options.columns or MAX_COLUMNS, MAX_COLUMNS)
  local failures = format_failures(options.failures, options.lines and MAX_FAILURES or math.huge)
  local max_groups = options.lines and math.max(2, options.lines - OTHER_LINES - #failures) or math.huge
  local total, groups, depth = M.sum_up(study, max_groups)
  local counts = format_counts(total)
  local lines = { ("%s: %s"):format(cut(options.title, math.max(4, columns - #counts - 4)), counts),
    ("%s %s"):format(M.format_bar(total.share), format_pace(total, options.seconds_left(total))) }
  local width, hidden_line = choose_width(study, groups, options.columns and columns or GROUP_COLUMNS), nil
  if #groups > max_groups then
    groups, hidden_line = shorten_groups(groups, max_groups)
  end
  lines[3] = format_header(study, depth, width)
  lists.append(lines, lists.map(groups, function(group) return format_group(group, width) end))
  lines[#lines + 1] = hidden_line
  lists.append(lines, failures)
  for i, line in ipairs(lines) do
    line = escape.plain(line):gsub("%s+$", "")
    lines[i] = options.columns and line:sub(1, options.columns - 1) or line
  end
  return lines, total
end

-- A display: { stream, is_live (whether it is redrawn in place), height (lines on the terminal), shown_time (when the
-- last lines were shown) }.
local Display = {}
Display.__index = Display

local PLAIN_SECONDS = 30 -- between two texts if the display is not redrawn

-- Opens a display on stdout (1) or stderr (2).
function M.open_display(descriptor)
  local terminal = os.getenv("TERM") or "dumb"
  local is_live = terminal ~= "dumb" and terminal ~= "" and shell.run({ "test", "-t", descriptor }) == 0
  return setmetatable({ stream = descriptor == 1 and io.stdout or io.stderr, is_live = is_live, height = 0,
    shown_time = os.time() }, Display)
end

-- Returns the terminal's current number of lines and columns; nil if the display is not redrawn.
function Display:get_size()
  if not self.is_live then
    return nil
  end
  local lines, columns = shell.capture({ "sh", "-c", "stty size </dev/tty 2>/dev/null" }):match("^(%d+) (%d+)")
  lines, columns = tonumber(lines) or 24, tonumber(columns) or 80
  return lines > 0 and lines or 24, columns > 0 and columns or 80
end

function Display:wipe()
  if self.height > 0 then
    self.stream:write(("\27[%dA\27[J"):format(self.height))
    self.height = 0
  end
end

function Display:say(text)
  self:wipe()
  self.stream:write(text, "\n")
  self.stream:flush()
end

function Display:is_due()
  return self.is_live or os.time() - self.shown_time >= PLAIN_SECONDS
end

function Display:show(lines)
  self.shown_time = os.time()
  if not self.is_live then
    self.stream:write(table.concat(lines, "\n"), "\n")
  else
    local cursor_up = self.height > 0 and ("\27[%dA"):format(self.height) or ""
    self.stream:write(cursor_up, "\27[K", table.concat(lines, "\n\27[K"), "\n\27[J")
    self.height = #lines
  end
  self.stream:flush()
end

return M
