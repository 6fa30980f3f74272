-- Builds trainers that differ in their choices, and measures the speed of one relative to another.
--
-- Input: a project; a planned spec and a level; options of the trainer's verb bench, { seconds (per mode and length),
-- threads, lengths (text or nil), files (flags) }. Output: trainers; ratios of rates. Variants share a folder: files
-- that are equal are compiled once. Rates are steps per second of processor time, which other jobs disturb least.

local build = require("render.builds.build")
local lfs = require("lfs")
local lists = require("base.lists")
local shell = require("base.shell")
local statistics = require("lab.study.read.statistics")
local stops = require("lab.stop")
local tuning = require("plan.deriving.tuning")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT = 1, 4

local MIN_ROUNDS, MAX_ROUNDS = 3, 15
local CLEARLY_SLOWER = 0.97 -- ratio of rates: a smaller median ends a comparison after MIN_ROUNDS

-- Whether the gain of a result (M.summarise) exceeds 1 by more than `floor` and by more than twice the result's noise.
function M.exceeds_noise(result, floor)
  return result.gain - 1 > math.max(floor, 2 * result.noise)
end

-- Summarises the ratios of rounds: { gain (the median ratio), noise (the median's standard error), rounds (the number
-- of rounds) }.
function M.summarise(ratios)
  local gain = statistics.quantile(ratios, 0.5)
  local deviations = lists.map(ratios, function(ratio) return math.abs(ratio - gain) end)
  -- 1.4826 converts a median distance to a standard deviation, 1.2533 a mean's standard error to a median's.
  return { gain = gain, noise = 1.4826 * 1.2533 * statistics.quantile(deviations, 0.5) / math.sqrt(#ratios),
    rounds = #ratios }
end

-- Tries all values of a choice until time runs out. remaining: the number of candidates that are not tried yet. Returns
-- the best values, whether they are new, and the number of remaining candidates.
local function try_choice(request, best, choice, remaining)
  local better, better_result = nil, nil
  for _, value in ipairs(choice.values) do
    if value ~= best[choice.name] then
      local candidate = lists.copy(best)
      candidate[choice.name] = value
      local result = request.compare(best, candidate, choice.modes, remaining)
      if not result then
        break
      end
      remaining = remaining - 1
      request.report(choice, best, value, result)
      if M.exceeds_noise(result, request.floor) and (not better or result.gain > better_result.gain) then
        better, better_result = candidate, result
      end
    end
  end
  if better then
    request.accept(better)
  end
  return better or best, better ~= nil, remaining
end

-- Tries each value of each choice against the best values so far, until nothing improves or time runs out. Returns the
-- best values. Fields of request:
--   start       the values to begin with, by name of the choice
--   choices     { { name, values, modes }, ... }
--   floor       see M.exceeds_noise
--   compare(best, candidate, modes, remaining)   measures two sets of values and returns { gain, noise }, or nil if
--               time has run out; `remaining` candidates share the time that is left
--   accept(values)   is called for every new best set
--   report(choice, best, value, result)   is called for every candidate
--   is_over()   whether time has run out
function M.search(request)
  local best, has_changed = request.start, true
  while has_changed and not request.is_over() do
    has_changed = false
    local remaining = lists.sum(request.choices, function(choice) return #choice.values - 1 end)
    for _, choice in ipairs(request.choices) do
      local is_better
      best, is_better, remaining = try_choice(request, best, choice, remaining)
      has_changed = has_changed or is_better
    end
  end
  return best
end

-- Makes the folder `dir` for variants of a plan. level: the name of an instruction-set level. Returns a record for
-- M.build, or nil and a message. Fields of the record, in addition to the arguments:
--   trainers   paths of built trainers, by values as text
--   count      the number of built trainers
--   job        the job of build.lua
function M.open(project, spec, level, dir)
  local is_made, message = lfs.mkdir(dir)
  return is_made and { project = project, spec = spec, dir = dir, trainers = {}, count = 0, level = level,
    job = { id = spec.id, levels = level, linking = "dynamic" } }, message
end

local INTERRUPTED = { [75] = true, [130] = true, [143] = true } -- exit codes: a stopped trainer, SIGINT, SIGTERM

-- Ends the search if a command failed.
--   command          the beginning of the message: the command's log, if there is one, and the command's name
--   returned_codes   the set of exit codes that tune returns unchanged, or nil
local function check(code, command, returned_codes)
  if INTERRUPTED[code] then
    error("interrupted!", 0)
  elseif code ~= 0 then
    local ending = code > 128 and ("signal %d"):format(code - 128) or ("exit code %d"):format(code)
    stops.exit(returned_codes and returned_codes[code] and code or ENVIRONMENT,
      ("longhand tune: %s: %s"):format(command, ending))
  end
end

-- Builds a trainer with these values of choices, unless it was built before, and returns its path. work: from M.open.
function M.build(work, values)
  local name = tuning.format(values)
  if work.trainers[name] then
    return work.trainers[name]
  end
  local spec, log = work.spec, work.dir .. "/log"
  spec.plan.tuned = tuning.derive(spec.plan, nil, { [work.level] = { date = "now", values = values } })
  local files = stops.must(INPUT, work.project:render_files(spec.plan, false))
  stops.must(ENVIRONMENT, write.files(work.dir .. "/src", files))
  local words = build.make_compile_command(work.project, work.job, work.dir, math.min(build.count_processors(), 16))
  local code = shell.run(words, { output = log, errors_too = true })
  check(code, code ~= 0 and (write.read(log) or "") .. "make" or "make")
  work.count = work.count + 1
  local path = ("%s/trainer-%d"):format(work.dir, work.count)
  assert(os.rename(work.dir .. "/trainer", path))
  work.trainers[name] = path
  return path
end

-- Returns the rates of a trainer, for each mode of bench and each length.
local function measure_rates(trainer, modes, options)
  local list = {}
  for _, mode in ipairs(modes) do
    -- LONGHAND_ISA would replace the level that is tuned.
    local words = { "env", "-u", "LONGHAND_ISA", trainer, "bench", "--json", "--mode", mode, "--windows", "3",
      "--seconds", options.seconds, "--threads", options.threads }
    lists.append(words, options.lengths and { "--lengths", options.lengths } or {})
    lists.append(words, options.files)
    local text, code = shell.capture(words)
    check(code, "bench of a trainer", { true, true }) -- 1 and 2: errors in the user's input
    local texts = lists.find_all(text, '"processor_seconds_per_step":([%d.eE+-]+)')
    lists.append(list, lists.map(texts, function(seconds) return 1 / tonumber(seconds) end))
  end
  return list
end

-- Returns the geometric mean of the ratios to[i] / from[i].
local function compare_rates(from, to)
  local sum = 0
  for i in ipairs(from) do
    sum = sum + math.log(to[i] / from[i])
  end
  return math.exp(sum / #from)
end

-- Measures two trainers in alternation, MIN_ROUNDS to MAX_ROUNDS times, until end_time (of os.time) or until `to` is
-- clearly slower. Returns the summary (M.summarise) of the ratios of the rates of `to` to the rates of `from`; nil if
-- end_time is past.
function M.compare(from, to, modes, options, end_time)
  local ratios = {}
  while #ratios < MAX_ROUNDS and (os.time() < end_time or #ratios > 0 and #ratios < MIN_ROUNDS) do
    local from_rates, to_rates
    if #ratios % 2 == 0 then
      from_rates, to_rates = measure_rates(from, modes, options), measure_rates(to, modes, options)
    else
      to_rates, from_rates = measure_rates(to, modes, options), measure_rates(from, modes, options)
    end
    ratios[#ratios + 1] = compare_rates(from_rates, to_rates)
    if #ratios >= MIN_ROUNDS and statistics.quantile(ratios, 0.5) < CLEARLY_SLOWER then
      break
    end
  end
  return ratios[1] and M.summarise(ratios)
end

return M
