-- The trainers of a study's cells: lists existing trainers, and builds the missing ones, several at a time.
--
-- Input: a project, cells, their targets. Output: for each cell { cell, dir, job, linking (if it is required), fresh,
-- compiled }. A trainer with the defaults of another study is compiled but not fresh, and gets the defaults of its
-- cell. Of the trainers that are not compiled, the first is built alone, because all share the runtime's objects.

local build = require("render.builds.build")
local jobs = require("lab.study.run.jobs")
local lists = require("base.lists")
local must = require("lab.study.run.overview").must
local shell = require("base.shell")
local escape = require("base.escape")
local trainer_defaults = require("render.builds.trainer_defaults")
local tuned = require("render.builds.tuned")
local wording = require("base.wording")

local M = {}

local INPUT, ENVIRONMENT = 1, 4
local MOST_BUILDS = 3 -- the most attempts to build a trainer and copy it

-- Lists the trainers. request: { target, arch, jit, cuda_root } as in the verb train, levels as in build or nil,
-- linking "static" if it is required. warn(text) is called once for each invalid file of tuned choices.
function M.list(project, cells, request, warn)
  local levels = must(ENVIRONMENT, build.levels(project, request.levels or "best"))
  local with_cuda, words, items = request.target == "cpu,cuda", {}, {}
  request.told = request.told or {}
  for i, cell in ipairs(cells) do
    local spec = cell.spec
    for _, warning in ipairs(tuned.apply(project, spec.plan)) do
      if not request.told[warning] then
        warn(warning)
      end
      request.told[warning] = true
    end
    spec.files = must(INPUT, project:files(spec.plan, with_cuda))
    local least = spec.plan.least_architecture
    if with_cuda and not words[least] then
      words[least] = must(ENVIRONMENT, build.cuda(project, request, least))
    end
    local job = build.job(project, spec, levels, request.linking or "dynamic", with_cuda and words[least] or nil)
    local dir = build.folder(project, spec)
    items[i] = { cell = cell, dir = dir, job = job, linking = request.linking,
      fresh = build.fresh(dir, job, request.linking), compiled = build.is_compiled(dir, job, request.linking) }
  end
  return items
end

local function conclude(state, item, code, text)
  state.built = state.built + 1
  item.fresh, item.code = code == 0, code
  if text then
    state.say((text:gsub("\n$", "")))
  end
  state.say(("[%d/%d] %s: %s"):format(state.built, state.count, item.cell.id, code == 0 and "built"
    or "nothing was built"))
end

local function begin_all(project, items, state, threads)
  local works, lines = {}, {}
  for _, item in ipairs(items) do
    local work, code, text = build.begin(project, item.job, item.dir, threads)
    if work then
      work.item = item
      works[#works + 1] = work
      lines[#lines + 1] = ("%s >%s 2>&1"):format(shell.line(work.words), escape.shell(work.log))
    else
      conclude(state, item, code, text)
    end
  end
  return works, lines
end

local function build_these(project, items, state, threads)
  local works, lines = begin_all(project, items, state, threads)
  local done, how = pcall(jobs.run, project, lines, build.processors(), {
    finish = function(i, status, runner)
      if status == 0 or not runner.stopped then
        conclude(state, works[i].item, build.finish(works[i], status))
      end
    end,
  })
  for _, work in ipairs(works) do
    build.discard(work)
  end
  if not done then
    error(how, 0)
  end
  return how
end

-- Updates the defaults of compiled trainers that are not fresh. Returns the items that must be compiled.
local function renew(project, items, say)
  local stale, renewed = {}, 0
  for _, item in ipairs(items) do
    local code, text
    if not item.fresh then
      code, text = build.renew(project, item.job, item.dir, item.linking)
      stale[#stale + 1] = not code and item or nil
    end
    if code then
      item.fresh, item.code, renewed = code == 0, code, renewed + (code == 0 and 1 or 0)
    end
    if text then
      say((text:gsub("\n$", "")))
    end
  end
  if renewed > 0 then
    say(("%s given new defaults, nothing compiled"):format(wording.count(renewed, "trainer")))
  end
  return stale
end

-- Builds the trainers that are not fresh, and sets item.fresh. Returns the result of jobs.run.
function M.build(project, items, say)
  local stale = renew(project, items, say)
  if #stale == 0 then
    return "done"
  end
  local state = { say = say, built = 0, count = #stale }
  say(("building %s for %s"):format(wording.count(#stale, "trainer"), (stale[1].job.levels:gsub(" ", ", "))))
  local how = build_these(project, { table.remove(stale, 1) }, state, build.processors())
  return how == "done" and #stale > 0 and build_these(project, stale, state, 1) or how
end

-- Copies an item's trainer to a path, with the item's defaults. Builds of the same sources share a folder, and a
-- concurrent build may change the trainer's defaults or its linking: the copy then gets the defaults again, or the
-- trainer is built again. true, or nil and a message.
function M.copy(project, item, path, say)
  for _ = 1, MOST_BUILDS do
    local done, message = trainer_defaults.write(item.dir .. "/trainer", path, item.job.defaults)
    if done == false then
      return nil, message
    elseif done and build.is_compiled(item.dir, item.job, item.linking) then
      return true
    end
    item.fresh = false
    M.build(project, { item }, say)
  end
  return nil, item.dir .. ": other builds write this trainer, too; run the same command once they are done"
end

-- Builds the first trainer for measurements, unless some trainer exists. true, or nil and an exit code.
function M.ensure_one(project, items, say)
  if #items == 0 or lists.find(items, function(item) return item.fresh end) then
    return true
  end
  M.build(project, { items[1] }, say)
  return items[1].fresh or nil, items[1].code
end

return M
