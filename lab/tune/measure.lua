-- Builds trainers that differ in their choices, and measures the speed of one relative to another.
--
-- Input: a project; a spec's plan and the level to compile it for; { seconds, threads, lengths, files } for `bench`.
-- Output: trainers; ratios of rates. Variants share a folder, so that only files that differ are compiled again. Rates
-- are steps per second of processor time, which other jobs on the machine disturb least.

local build = require("render.builds.build")
local lfs = require("lfs")
local lists = require("base.lists")
local search = require("lab.tune.search")
local shell = require("base.shell")
local stops = require("lab.stop")
local tuning = require("plan.deriving.tuning")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT = 1, 4

local LEAST_ROUNDS, MOST_ROUNDS = 3, 15
local CLEAR = 0.97 -- ratio of rates: a candidate below it gets no further rounds after the first ones

-- Makes a folder of variants of one plan: { project, spec, job, dir, made }; or nil and a message.
function M.open(project, spec, levels, dir)
  local made, message = lfs.mkdir(dir)
  return made and { project = project, spec = spec, dir = dir, made = {}, count = 0, level = levels,
    job = { id = spec.id, levels = levels, linking = "dynamic" } }, message
end

local INTERRUPTED = { [75] = true, [130] = true, [143] = true } -- exit codes of a stopped trainer, SIGINT, SIGTERM

-- Ends the search if a command failed. passed: exit codes of user errors, which tune returns unchanged.
local function check(code, what, passed)
  if INTERRUPTED[code] then
    error("interrupted!", 0)
  elseif code ~= 0 then
    local how = code > 128 and ("signal %d"):format(code - 128) or ("exit code %d"):format(code)
    stops.with(passed and passed[code] and code or ENVIRONMENT, ("longhand tune: %s: %s"):format(what, how))
  end
end

function M.trainer(work, values)
  local name = tuning.text(values)
  if work.made[name] then
    return work.made[name]
  end
  local spec, log = work.spec, work.dir .. "/log"
  spec.plan.tuned = tuning.derive(spec.plan, nil, { [work.level] = { date = "now", values = values } })
  local files = stops.must(INPUT, work.project:files(spec.plan, false))
  stops.must(ENVIRONMENT, write.files(work.dir .. "/src", files))
  local words = build.compile_words(work.project, work.job, work.dir, math.min(build.processors(), 16))
  local code = shell.run(words, { output = log, errors_too = true })
  check(code, code ~= 0 and (write.read(log) or "") .. "make" or "make")
  work.count = work.count + 1
  local path = ("%s/trainer-%d"):format(work.dir, work.count)
  assert(os.rename(work.dir .. "/trainer", path))
  work.made[name] = path
  return path
end

local function rates(trainer, modes, options)
  local list = {}
  for _, mode in ipairs(modes) do
    -- LONGHAND_ISA would replace the level that is tuned.
    local words = { "env", "-u", "LONGHAND_ISA", trainer, "bench", "--json", "--mode", mode, "--windows", "3",
      "--seconds", options.seconds, "--threads", options.threads }
    lists.append(words, options.lengths and { "--lengths", options.lengths } or {})
    lists.append(words, options.files)
    local text, code = shell.capture(words)
    check(code, "bench of a trainer", { true, true })
    local found = lists.matches(text, '"processor_seconds_per_step":([%d.eE+-]+)')
    lists.append(list, lists.map(found, function(seconds) return 1 / tonumber(seconds) end))
  end
  return list
end

local function ratio(from, to)
  local sum = 0
  for i in ipairs(from) do
    sum = sum + math.log(to[i] / from[i])
  end
  return math.exp(sum / #from)
end

-- Compares two trainers in alternation until a time (os.time): { gain, noise, rounds }; nil if no time was left.
function M.compare(from, to, modes, options, stop)
  local ratios = {}
  while #ratios < MOST_ROUNDS and (os.time() < stop or #ratios > 0 and #ratios < LEAST_ROUNDS) do
    local first, second = from, to
    if #ratios % 2 == 1 then
      first, second = to, from
    end
    local one, other = rates(first, modes, options), rates(second, modes, options)
    ratios[#ratios + 1] = #ratios % 2 == 1 and ratio(other, one) or ratio(one, other)
    if #ratios >= LEAST_ROUNDS and search.median(ratios) < CLEAR then
      break
    end
  end
  return ratios[1] and search.result(ratios)
end

return M
