-- The trainers of a study's cells: lists existing trainers, and builds the missing ones, several at a time.
--
-- Input: a project, planned cells. Output: an item for each cell:
--   cell          the cell
--   dir           the trainer's folder
--   job           the job of build.lua
--   linking       the field `linking` of M.list's request
--   is_fresh      whether the trainer is up to date
--   is_compiled   whether the trainer is up to date, except perhaps for the defaults of flags
--   code          the exit code of a build
-- A trainer with the defaults of another study is compiled but not fresh. M.build replaces only its defaults. The first
-- trainer to compile is built alone, because all trainers share the runtime's objects.

local build = require("render.builds.build")
local claim = require("base.claim")
local jobs = require("lab.study.run.jobs")
local lists = require("base.lists")
local overview = require("lab.study.run.overview")
local shell = require("base.shell")
local escape = require("base.escape")
local trainer_defaults = require("render.builds.trainer_defaults")
local tuned = require("render.builds.tuned")
local wording = require("base.wording")

local M = {}

local INPUT, ENVIRONMENT = 1, 4
local must, say = overview.must, overview.print

local MAX_BUILDS = 3 -- the maximum number of attempts to build a trainer and copy it

-- Lists the trainers. request:
--   target    "cpu" or "cpu,cuda"
--   arch, jit, cuda_root   options of the build of device code
--   levels    the levels of a trainer; nil: the best level of this machine
--   linking   nil: existing trainers may have any linking, and new trainers are linked dynamically
function M.list(project, cells, request)
  local levels = must(ENVIRONMENT, build.find_levels(project, request.levels or "best"))
  local with_cuda, cuda = request.target == "cpu,cuda", {} -- cuda: options of CUDA by minimum architecture
  return lists.map(cells, function(cell)
    local spec = cell.spec
    overview.warn(tuned.apply(project, spec.plan))
    spec.files = must(INPUT, project:render_files(spec.plan, with_cuda))
    local min_architecture = spec.plan.least_architecture
    if with_cuda and not cuda[min_architecture] then
      cuda[min_architecture] = must(ENVIRONMENT, build.find_cuda(project, request, min_architecture))
    end
    local job = build.make_job(project, spec, levels, request.linking or "dynamic",
      with_cuda and cuda[min_architecture] or nil)
    local dir = build.get_folder(project, spec)
    return { cell = cell, dir = dir, job = job, linking = request.linking,
      is_fresh = build.is_fresh(dir, job, request.linking), is_compiled = build.is_compiled(dir, job, request.linking) }
  end)
end

local function print_text(text)
  if text then
    say((text:gsub("\n$", "")))
  end
end

-- Records and prints the end of a build. state: { ended_count, count }, the number of ended builds and of all builds.
local function conclude(state, item, code, text)
  state.ended_count = state.ended_count + 1
  item.is_fresh, item.code = code == 0, code
  print_text(text)
  say(("[%d/%d] %s: %s"):format(state.ended_count, state.count, item.cell.id, code == 0 and "built"
    or "nothing was built"))
end

-- Begins the builds of items. Returns the builds that could begin, and their commands as lines of shell.
local function begin_all(project, items, state, threads)
  local builds, lines = {}, {}
  for _, item in ipairs(items) do
    local started_build, code, text = build.begin(project, item.job, item.dir, threads)
    if started_build then
      started_build.item = item
      builds[#builds + 1] = started_build
      lines[#lines + 1] = ("%s >%s 2>&1"):format(shell.join(started_build.words), escape.shell(started_build.log))
    else
      conclude(state, item, code, text)
    end
  end
  return builds, lines
end

-- Builds the trainers of items at the same time; returns the result of jobs.run.
local function build_together(project, items, state, threads)
  local builds, lines = begin_all(project, items, state, threads)
  local is_ok, outcome = pcall(jobs.run, project, lines, build.count_processors(), {
    finish = function(i, status, runner)
      if status == 0 or not runner.is_stopped then
        conclude(state, builds[i].item, build.finish(builds[i], status))
      end
    end,
  })
  for _, started_build in ipairs(builds) do
    claim.give_back(started_build.claim)
  end
  if not is_ok then
    error(outcome, 0)
  end
  return outcome
end

-- Updates the defaults of compiled trainers that are not fresh. Returns the items that must be compiled.
local function renew_defaults(project, items)
  local outdated_items = lists.filter(items, function(item) return not item.is_fresh end)
  local uncompiled_items = lists.filter(outdated_items, function(item)
    local code, text = build.update_defaults(project, item.job, item.dir, item.linking)
    item.is_fresh, item.code = code == 0, code
    print_text(text)
    local must_compile = not code
    return must_compile
  end)
  local renewed_count = lists.count(outdated_items, function(item) return item.is_fresh end)
  if renewed_count > 0 then
    say(("%s given new defaults, nothing compiled"):format(wording.count(renewed_count, "trainer")))
  end
  return uncompiled_items
end

-- Builds the trainers of items that are not fresh; returns the result of jobs.run.
function M.build(project, items)
  local remaining_items = renew_defaults(project, items)
  if #remaining_items == 0 then
    return "done"
  end
  local state = { ended_count = 0, count = #remaining_items }
  say(("building %s for %s"):format(wording.count(#remaining_items, "trainer"),
    (remaining_items[1].job.levels:gsub(" ", ", "))))
  local outcome = build_together(project, { table.remove(remaining_items, 1) }, state, build.count_processors())
  if outcome == "done" and #remaining_items > 0 then
    return build_together(project, remaining_items, state, 1)
  end
  return outcome
end

-- Lists the trainers of cells and builds them. If some cannot be built, ends the command with a message that begins
-- with `failure`.
function M.build_all(project, cells, request, failure)
  local items = M.list(project, cells, request)
  M.build(project, items)
  local failed_item = lists.find(items, function(item) return not item.is_fresh end)
  must(failed_item and failed_item.code or ENVIRONMENT, not failed_item,
    failure .. ", since not all trainers could be built\n")
  return items
end

-- Copies an item's trainer to a path, with the item's defaults. If a concurrent build changes the trainer's code or
-- linking, builds and copies the trainer again. Returns true, or nil and a message.
function M.copy(project, item, path)
  for _ = 1, MAX_BUILDS do
    -- is_written: false after an error; nil if the trainer has no space for these defaults and must be built again
    local is_written, message = trainer_defaults.write(item.dir .. "/trainer", path, item.job.defaults)
    if is_written == false then
      return nil, message
    elseif is_written and build.is_compiled(item.dir, item.job, item.linking) then
      return true
    end
    item.is_fresh = false
    M.build(project, { item })
  end
  return nil, item.dir .. ": other builds also write this trainer; run the same command after they have ended"
end

-- Builds the first item's trainer, unless a trainer is fresh. Returns true, also without items; or nil and an exit
-- code.
function M.ensure_one(project, items)
  if #items == 0 or lists.find(items, function(item) return item.is_fresh end) then
    return true
  end
  say(("building a trainer of %s to measure its speed, since none is built and no speed is recorded"):format(
    items[1].cell.id))
  M.build(project, { items[1] })
  return items[1].is_fresh or nil, items[1].code
end

return M
