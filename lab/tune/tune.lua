-- The verb tune: finds and stores the fastest choices for this machine (tuning.lua), and proposes settings of the spec.
--
-- Input: { project, spec, set, seconds, lengths, level, threads, say }, the arguments of the command line and the
-- arguments that lab/verbs.lua adds. Output: an exit code, and a message or nil. Values that are faster than the
-- defaults replace the values of an earlier search; a search that ends early stores the best values so far. "The model"
-- is the model of registers and caches by which tuning.lua chooses defaults. The functions share a job:
--   project, spec, say, seconds   from the input
--   find_variant(sets)   returns a variant of the spec
--   dir           a temporary folder
--   level         the instruction-set level, an item of levels.lua
--   end_time      the time at which the search ends, of os.time
--   key           the key of the stored entry (tuned.lua)
--   options       options of measurements (measure.lua)
--   earlier       the entry of an earlier search (read_earlier)
--   work          the record of built variants (measure.open)
--   model         the default values
--   floor         gains up to this number are ignored
--   tried_count   the number of measured candidates
--   best_values   the best values before they are confirmed
--   path          the path of the stored entry
--   failure       a message

local build = require("render.builds.build")
local json = require("dkjson")
local known_levels = require("plan.deriving.levels")
local lists = require("base.lists")
local measure = require("lab.tune.measure")
local shell = require("base.shell")
local stops = require("lab.stop")
local tasks = require("spec.task.tasks")
local trainer_flags = require("spec.trainer_flags")
local tuned = require("render.builds.tuned")
local tuning = require("plan.deriving.tuning")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local must = stops.must

local INPUT, ENVIRONMENT, STOPPED = 1, 4, 75
local WINDOW_SECONDS = 0.3 -- seconds of `bench` for a mode and a length
local SEARCH_SHARE = 0.7 -- share of the time; the rest is for comparing with the model's choices, and for proposals
local MIN_GAIN = 0.005 -- gains up to 0.5% are ignored
local BLOCKS = { 42, 84, 126, 168 } -- values of train.block_tokens to propose
local KEY_ORDER = { "machine", "level", "compiler", "shape", "date", "gain", "choices" }
local MODES = { "train", "eval" } -- modes of the trainer's bench

local function format_duration(seconds)
  return ("%d:%02d"):format(seconds // 60, seconds % 60)
end

-- Returns the middle and the last of the training lengths as text, "20,40"; nil if they come from dataset files.
local function choose_lengths(spec)
  local lengths = not spec.plan.task.data and spec.resolved.train.lengths
  local list = lengths and tasks.list_lengths(lengths)
  return list and ("%d,%d"):format(list[(#list + 1) // 2], list[#list])
end

local function format_result(result)
  return ("%.3f +- %.3f  (%s)"):format(result.gain, result.noise, wording.count(result.rounds, "round"))
end

-- Stores an entry, whole or not at all. key: tuned.make_key; entry: { date, gain = { train, eval } or nil, choices }.
-- Returns the path, or nil and a message.
function M.write(key, entry)
  local path = tuned.get_path(key)
  if not path then
    return nil, "there is no folder for the results: set HOME or LONGHAND_CACHE"
  end
  local record = lists.merge({ date = entry.date, gain = entry.gain, choices = entry.choices }, key)
  -- The temporary name is unique: two concurrent searches would otherwise write into the same file.
  local temporary = ("%s.%016x"):format(path, math.random(0))
  local is_written, message = write.file(temporary, json.encode(record, { indent = true, keyorder = KEY_ORDER })
    .. "\n")
  if is_written then
    is_written, message = os.rename(temporary, path)
    if not is_written then
      os.remove(temporary)
    end
  end
  return is_written and path, message
end

-- Stores values with today's date. An earlier entry with equal values is kept: a new date would rebuild trainers.
local function store_values(job, values, gain)
  local earlier = job.earlier
  if earlier and tuning.format(earlier.values) == tuning.format(values) then
    job.say(("the same choices were found on %s; that entry is kept"):format(earlier.date))
    job.path = earlier.path
    return
  end
  local path, message = M.write(job.key, { date = os.date("%Y-%m-%d"), choices = values, gain = gain })
  job.path, job.failure = path or job.path, not path and message or nil
end

local function report_unchanged(job, reason)
  local earlier = job.earlier
  job.say(reason .. (earlier and ("; the result of %s is kept"):format(earlier.date) or "; nothing is written"))
end

-- Measures the model's choices against themselves: differences of this size are noise, which sets the floor.
local function measure_floor(job)
  local trainer = measure.build(job.work, job.model)
  local result = measure.compare(trainer, trainer, MODES, job.options, os.time() + (job.end_time - os.time()) // 10)
  job.floor = math.max(MIN_GAIN, result and math.abs(result.gain - 1) or 0)
  if result then
    job.say(("%-39s %s"):format("the model's choices against themselves", format_result(result)))
  end
end

-- Searches the fastest values of all choices (measure.search) in SEARCH_SHARE of the time. Returns the best values.
local function search_choices(job)
  local say, search_end = job.say, os.time() + math.floor(SEARCH_SHARE * (job.end_time - os.time()))
  local values_by_name = tuning.list_values(job.spec.plan, job.level)
  return measure.search({
    start = job.model, floor = job.floor, choices = lists.map(tuning.list_choices(job.spec.plan), function(choice)
      return { name = choice.name, values = values_by_name[choice.name], modes = choice.modes }
    end),
    is_over = function() return os.time() >= search_end end,
    compare = function(best, candidate, modes, remaining)
      if os.time() >= search_end then
        return nil
      end
      -- A candidate's share of the time begins after compiling.
      local from, to = measure.build(job.work, best), measure.build(job.work, candidate)
      local now = os.time()
      return now < search_end and measure.compare(from, to, modes, job.options,
        now + math.max(2, (search_end - now) // math.max(1, remaining))) or nil
    end,
    report = function(choice, best, value, result)
      job.tried_count = job.tried_count + 1
      say(("%-18s %5s against %-5s %s  %s left"):format(choice.name, value, best[choice.name], format_result(result),
        format_duration(math.max(0, job.end_time - os.time()))))
    end,
    accept = function(values) job.best_values = values end,
  })
end

-- Compares the best values with the model's values, separately by mode, and stores the best values if they are faster.
-- Returns the faster values.
local function confirm(job, best)
  if tuning.format(best) == tuning.format(job.model) then
    report_unchanged(job, "the model's choices are the best that were tried")
    return best
  end
  local from, to = measure.build(job.work, job.model), measure.build(job.work, best)
  local gain, total_gain = {}, 1
  for i, mode in ipairs(MODES) do
    local now = os.time()
    -- Each mode gets a fifth of the time at the beginning of the loop: 1/5, then 1/4 of the rest.
    local result = measure.compare(from, to, { mode }, job.options, now + (job.end_time - now) // (6 - i))
    gain[mode], total_gain = result and result.gain, total_gain * (result and result.gain or 1)
    local outcome = result and format_result(result) or "no time"
    job.say(("%-39s %s"):format(("%s, best choices against the model's"):format(mode), outcome))
  end
  job.best_values = nil
  if total_gain < 1 then
    report_unchanged(job, "the best choices were slower than the model's choices in a second measurement")
    return job.model
  end
  store_values(job, best, gain)
  return best
end

-- Returns settings to propose, as arguments of --set: other block sizes, and half and twice the number of shards.
local function list_proposals(plan)
  local train = plan.resolved.train
  local blocks = lists.filter(BLOCKS, function(tokens)
    return not plan.is_step_major and tokens ~= plan.block_tokens
  end)
  local shards = lists.filter({ train.shards // 2, train.shards * 2 }, function(count)
    return count >= 1 and count <= train.batch
  end)
  return lists.append(lists.map(blocks, function(tokens) return ("train.block_tokens=%d"):format(tokens) end),
    lists.map(shards, function(count) return ("train.shards=%d"):format(count) end))
end

-- Returns values for another plan: default values of that plan replace values that are impossible there.
local function adapt_values(work, values, level)
  local legal_values = tuning.list_values(work.spec.plan, level)
  local adapted_values = tuning.choose_defaults(work.spec.plan, level, tuned.read_machine())
  for name in pairs(adapted_values) do
    adapted_values[name] = legal_values[name][values[name]] and values[name] or adapted_values[name]
  end
  return adapted_values
end

-- Opens the record of built variants of a spec (measure.open). number: of the plan, in the folder's name.
local function open_work(job, spec, number)
  local work, message = measure.open(job.project, spec, job.level.name, ("%s/plan%d"):format(job.dir, number))
  return must(ENVIRONMENT, work, "longhand tune: " .. (message or ""))
end

-- Measures settings that can change bits, each value in a plan of its own, and reports the gains; stores nothing.
local function propose(job, best)
  local list, say = list_proposals(job.spec.plan), job.say
  for i, set in ipairs(list) do
    local spec = os.time() < job.end_time and job.find_variant({ set })
    if spec then
      local variant_work = open_work(job, spec, i)
      local from = measure.build(job.work, best)
      local to = measure.build(variant_work, adapt_values(variant_work, best, job.level))
      local now = os.time()
      local result = measure.compare(from, to, { "train" }, job.options, now + (job.end_time - now) // (#list + 1 - i))
      local is_worthwhile = result and measure.exceeds_noise(result, job.floor)
      say(("--set %-30s %s%s"):format(set, result and format_result(result) or "no time", is_worthwhile
        and "  changes the plan: other bits, separate runs" or ""))
    end
  end
end

-- Measures the noise, searches, confirms the result, and proposes settings of the spec.
local function run_search(job)
  job.work = open_work(job, job.spec, 0)
  job.model = tuning.choose_defaults(job.spec.plan, job.level, tuned.read_machine())
  measure_floor(job)
  local best = search_choices(job)
  if job.tried_count == 0 then
    stops.exit(INPUT, ("longhand tune: --seconds %d: too short to try a choice; the defaults remain"):format(
      job.seconds))
  end
  propose(job, confirm(job, best))
end

-- Reads the stored entry, completed by defaults: { date, values, path }; nil if there is no usable entry.
local function read_earlier(job)
  local entry = tuned.read(job.key, job.spec.plan)
  if not entry then
    return nil
  end
  local values = lists.update(tuning.choose_defaults(job.spec.plan, job.level, tuned.read_machine()), entry.values)
  return { date = entry.date, values = values, path = tuned.get_path(job.key) }
end

-- Reports the result. ok, problem: the results of xpcall, also for a search that was interrupted. Returns an exit code
-- and a message.
local function conclude(job, ok, problem)
  local is_interrupted = not ok and tostring(problem):find("interrupted!", 1, true)
  if not ok and job.best_values then
    store_values(job, job.best_values)
  end
  if job.path then
    job.say(("%s: builds here use these values from now on for %s"):format(job.path, job.key.shape))
  end
  if not ok and not is_interrupted then
    if type(problem) == "table" and problem.code then
      return problem.code, problem.text
    end
    error(problem, 0)
  elseif job.failure then
    return ENVIRONMENT, job.failure
  end
  return is_interrupted and STOPPED or 0,
    is_interrupted and not job.path and "stopped before anything better was found" or nil
end

local function find_level(arguments)
  local name, message = build.find_levels(arguments.project, arguments.level)
  must(ENVIRONMENT, name, "longhand tune: " .. (message or ""))
  return (must(INPUT, known_levels[name], ("longhand tune: --level %s: expected one level, such as x86-64-v3"):format(
    arguments.level)))
end

local function check_folder(project)
  local folder = os.getenv("TMPDIR") or ""
  if folder:sub(1, 1) == "/" then
    local code, problem = build.refuse_folder(project, folder, "TMPDIR")
    must(code, not code, problem)
  end
end

function M.run(arguments)
  local project = arguments.project
  local function find_variant(sets)
    return project:find(arguments.spec, lists.join(arguments.set, sets))
  end
  local spec = must(INPUT, find_variant({}))
  local level = find_level(arguments)
  check_folder(project)
  local dir, message = shell.make_temporary_folder()
  must(ENVIRONMENT, dir, "longhand tune: " .. (message or ""))
  local job = { project = project, spec = spec, find_variant = find_variant, say = arguments.say, dir = dir,
    level = level, seconds = arguments.seconds, tried_count = 0,
    key = tuned.make_key(project, spec.plan, level.name), end_time = os.time() + arguments.seconds,
    options = { seconds = WINDOW_SECONDS, threads = arguments.threads,
      lengths = arguments.lengths or choose_lengths(spec), files = trainer_flags.list_files(spec.data_files) } }
  job.earlier = read_earlier(job)
  job.say(("%s at %s on %s, %s"):format(spec.id, level.name, job.key.machine, job.key.compiler))
  job.say(("%s; ratios of steps per second of processor time; %s"):format(job.key.shape,
    format_duration(arguments.seconds)))
  local ok, problem = xpcall(run_search, function(err)
    return type(err) == "table" and err or debug.traceback(tostring(err))
  end, job)
  write.remove_tree(dir)
  return conclude(job, ok, problem)
end

return M
