-- lab/study/slurm: packing of runs into tasks, the texts of a job array, the output of squeue, and a folder of runs
-- with a submitted job. tests/system/test_slurm.sh submits jobs to a simulated cluster.

local support = dofile("tests/lua/support.lua")

local attempts = require("lab.study.slurm.attempts")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local packing = require("lab.study.slurm.packing")
local project = require("project").new(".")
local queue = require("lab.study.slurm.queue")
local records = require("lab.study.slurm.records")
local script = require("lab.study.slurm.job_script")
local run_seeds = require("lab.study.read.seeds")
local shell = require("base.shell")
local site_module = require("lab.study.slurm.site")

local function read_site(text)
  return site_module.read(project, support.write("site.lua", text))
end

TestPacking = {}

-- A cell that misses the runs of all rates and of the seeds { first, last }, except runs whose names are in
-- `finished_names`.
local function make_cell(id, rates, seeds, finished_names)
  local cell = { id = id, missing = {}, spec = { plan = { digest = "0123456789abcdef" } } }
  for _, rate in ipairs(rates) do
    for seed = seeds[1], seeds[2] do
      local name = ("lr%s-seed%d"):format(rate, seed)
      if not (finished_names or {})[name] then
        table.insert(cell.missing, { learning_rate = rate, seed = seed,
          dir = ("%s/0123456789abcdef/%s"):format(id, name) })
      end
    end
  end
  return cell
end

-- "CELL RATES FIRST_SEED:LAST_SEED RUNS" of each group.
local function format_groups(groups)
  return lists.map(groups, function(group)
    return ("%s %s %d:%d %d"):format(group.cell.id, table.concat(group.learning_rates, ","), group.seeds[1],
      group.seeds[2], #group.runs)
  end)
end

-- A group has all combinations of its rates and its seeds.
function TestPacking.test_groups_are_rectangles_of_missing_runs()
  lu.assertEquals(format_groups(packing.make_groups({ make_cell("a", { 0.1, 0.2 }, { 0, 4 }) }, 4)),
    { "a 0.1,0.2 0:1 4", "a 0.1,0.2 2:3 4", "a 0.1,0.2 4:4 2" })
  lu.assertEquals(format_groups(packing.make_groups({ make_cell("a", { 0.1, 0.2 }, { 0, 4 },
    { ["lr0.2-seed2"] = true }) }, 9)),
    { "a 0.1 0:4 5", "a 0.2 0:1 2", "a 0.2 3:4 2" })
  lu.assertEquals(format_groups(packing.make_groups({ make_cell("a", { 1, 2, 3 }, { 7, 8 }) }, 2)),
    { "a 1,2 7:7 2", "a 1,2 8:8 2", "a 3 7:7 1", "a 3 8:8 1" })
  lu.assertEquals(#packing.make_groups({ make_cell("a", { 1 }, { 0, 9 }), make_cell("b", { 1 }, { 0, 9 }) }, 1), 20)
end

-- The separate seeds of a part are in one group if all their runs are missing; if not, each seed has its own group.
function TestPacking.test_groups_of_runs_with_separate_seeds_of_parts()
  local function make_crossed(missing_run)
    local cell = { id = "a", seeds = { 0, 1, part_seeds = { init = { 0, 1, 2 } } } }
    cell.missing = lists.filter(run_seeds.list_runs(cell.seeds), function(run)
      run.learning_rate = 1
      return run_seeds.format(run) ~= missing_run
    end)
    return cell
  end
  local function list_groups(cell, replicas)
    return lists.map(packing.make_groups({ cell }, replicas), function(group)
      return ("%d:%d init %d:%d %d"):format(group.seeds[1], group.seeds[2],
        group.part_seeds.init[1], group.part_seeds.init[2], #group.runs)
    end)
  end
  lu.assertEquals(list_groups(make_crossed(), 6), { "0:1 init 0:2 6" })
  lu.assertEquals(list_groups(make_crossed(), 5), { "0:0 init 0:2 3", "1:1 init 0:2 3" })
  lu.assertEquals(list_groups(make_crossed(), 2), { "0:1 init 0:0 2", "0:1 init 1:1 2", "0:1 init 2:2 2" })
  lu.assertEquals(list_groups(make_crossed("1.init0"), 6), { "0:0 init 0:0 1", "0:1 init 1:1 2", "0:1 init 2:2 2" })
end

function TestPacking.test_runs_that_continue_are_in_groups_of_their_own()
  local cell = make_cell("a", { 1 }, { 0, 3 })
  cell.missing[2].is_replacement, cell.missing[3].is_replacement = true, true
  local groups = packing.make_groups({ cell }, 4)
  lu.assertEquals(format_groups(groups), { "a 1 0:0 1", "a 1 3:3 1", "a 1 1:2 2" })
  lu.assertEquals({ groups[1].is_replacement, groups[3].is_replacement }, { false, true })
end

-- Packs groups into tasks, which should take at most 60 seconds. group_seconds: the seconds of each group, false if
-- unknown; min_tasks: the minimum number of tasks, by default 1; lanes: the maximum number of lanes, by default 1.
-- Returns the tasks, each a list of groups; the seconds of the longest task; and the number of lanes.
local function pack(group_seconds, max_tasks, min_tasks, lanes)
  local groups = lists.map(group_seconds, function(seconds, i)
    return { seconds = seconds or nil, runs = { i }, name = i }
  end)
  return packing.make_tasks(groups, { min_tasks = min_tasks or 1, max_tasks = max_tasks, seconds = 60,
    lanes = lanes or 1 })
end

function TestPacking.test_tasks_fit_their_time()
  local list = {}
  for i = 1, 100 do
    list[i] = 10 + i % 7
  end
  local tasks, max_seconds = pack(list, 1000)
  local sums = lists.map(tasks, function(groups)
    return lists.sum(groups, function(group) return group.seconds end)
  end)
  lu.assertEquals(lists.sum(tasks, function(groups) return #groups end), 100)
  for _, sum in ipairs(sums) do
    lu.assertTrue(sum <= 60 and sum > 0, sum)
  end
  lu.assertEquals(max_seconds, math.max(table.unpack(sums)))
  lu.assertTrue(#tasks <= 30, #tasks)
end

function TestPacking.test_the_number_of_tasks_matters_more_than_their_times()
  local tasks, max_seconds = pack({ 50, 50, 50, 50 }, 2)
  lu.assertEquals({ #tasks, max_seconds, #tasks[1], #tasks[2] }, { 2, 100, 2, 2 })
  lu.assertEquals(#pack({ 500, 10 }, 9), 2) -- a group may exceed the time of a task: it continues after a requeue
  lu.assertEquals({ #pack({ 1, 1 }, 9), #pack({ 1, 1, 1 }, 9, 2), #pack({ 1, 1 }, 9, 5) }, { 1, 2, 2 })
  local even, seconds = pack({ false, false, false, false, false }, 2)
  lu.assertEquals({ #even[1], #even[2], seconds }, { 3, 2, nil })
end

-- Chooses groups for cells whose numbers of seeds are seed_counts. Returns the numbers of runs of the groups as a text,
-- and the number of lanes.
local function choose(seed_counts, max_runs, cpus)
  local groups, lanes = packing.choose_groups(lists.map(seed_counts, function(count, i)
    return make_cell("c" .. i, { 1 }, { 0, count - 1 })
  end), max_runs, cpus or max_runs)
  return table.concat(lists.map(groups, function(group) return #group.runs end), " "), lanes
end

function TestPacking.test_cells_with_few_runs_train_side_by_side()
  lu.assertEquals({ choose({ 8, 8 }, 8) }, { "8 8", 1 })
  lu.assertEquals({ choose({ 3, 3 }, 8) }, { "3 3", 2 })
  lu.assertEquals({ choose({ 3, 3, 3 }, 8) }, { "3 3 3", 2 }) -- in two rounds, like nine single runs
  lu.assertEquals({ choose({ 3, 3, 3, 3, 3, 3, 3, 3 }, 8) }, { ("1 "):rep(23) .. "1", 8 }) -- in three rounds, not four
  lu.assertEquals({ choose({ 1, 1, 1 }, 2) }, { "1 1 1", 2 })
  lu.assertEquals({ choose({ 5 }, 2) }, { "2 2 1", 1 })
end

-- Lanes share the processors of a task, also if more runs than processors may train at a time.
function TestPacking.test_lanes_have_a_processor_for_each_run()
  lu.assertEquals({ choose({ 2, 2, 2, 2, 2, 2, 2, 2 }, 16, 4) }, { "2 2 2 2 2 2 2 2", 2 })
  lu.assertEquals({ choose({ 16, 16 }, 16, 4) }, { "16 16", 1 })
  lu.assertEquals({ choose({ 2, 2 }, 2, 1) }, { "2 2", 1 })
  lu.assertEquals({ choose({ 1, 1, 1, 6 }, 6, 1) }, { "1 1 1 6", 1 }) -- one processor: all groupings take equal time
  lu.assertEquals({ choose({ 5, 5, 5, 5 }, 16, 4) }, { "5 5 5 5", 1 })
end

function TestPacking.test_groups_are_distributed_over_lanes()
  local tasks, max_seconds, lanes = pack({ 40, 40, 40, 20, 20, 20 }, 9, 1, 2)
  lu.assertEquals({ #tasks, max_seconds, lanes }, { 2, 60, 2 })
  for _, groups in ipairs(tasks) do
    local sums = {}
    for _, group in ipairs(groups) do
      sums[group.lane] = (sums[group.lane] or 0) + group.seconds
    end
    lu.assertTrue(#sums == 2 and sums[1] <= 60 and sums[2] <= 60, #sums)
  end
  lu.assertEquals(select(3, pack({ 1, 1, 1 }, 9, 3, 4)), 1) -- three tasks of one group each
  local even
  even, max_seconds, lanes = pack({ false, false, false, false, false }, 2, 1, 4)
  lu.assertEquals({ #even[1], #even[2], max_seconds, lanes }, { 3, 2, nil, 3 })
end

TestScript = {}

local JOB = { name = "probe-1", task_count = 7, folder = "/r/.slurm/1", runs = "/r", trainers = "/r/.slurm/trainers",
  directory = "/home", time = "1-00:00:00", study = "probe (small)", group_count = 9, run_count = 20 }

function TestScript.test_head_of_a_job_script()
  local site = assert(read_site([[return { partition = "p", account = "a", gpus = 1, cpus = 3,
    memory = "2G", options = { "--exclusive" }, prologue = { "module load x" }, scratch = "/s/$USER" }]]))
  local text = script.make_script(site, JOB, "BODY\n")
  lu.assertEquals(text, [[
#!/bin/bash -l
#SBATCH --job-name=probe-1
#SBATCH --array=1-7
#SBATCH --partition=p
#SBATCH --account=a
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=3
#SBATCH --gres=gpu:1
#SBATCH --mem=2G
#SBATCH --time=1-00:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=/r/.slurm/1/logs/%a.txt
#SBATCH --chdir=/home
#SBATCH --exclusive
#
# probe (small): 20 runs in 9 processes of training, 7 tasks. State: ./longhand sweep status

trap 'echo "$0: a line of the prologue failed with exit code $?: $BASH_COMMAND" >&2; exit 4' ERR
module load x
trap - ERR

export TMPDIR="/s/$USER"
mkdir -p "$TMPDIR" || exit 4
export LONGHAND_CACHE="$TMPDIR/longhand" CUDA_CACHE_PATH="$TMPDIR/compute"

folder=/r/.slurm/1
runs=/r
trainers=/r/.slurm/trainers
BODY
]])
end

-- A failing line of the prologue ends the task and is named. A failing line in a condition or after the prologue does
-- not end the task.
function TestScript.test_a_failed_line_of_the_prologue_is_reported()
  local function run(line)
    local site = assert(read_site(('return { time = "1:00:00", prologue = { %q } }'):format(line)))
    local path = support.write("job.sh", script.make_script(site, JOB, "false\necho trains\n"))
    return shell.capture({ "sh", "-c", 'exec bash "$1" 2>&1', "sh", path })
  end
  local output, code = run("modul load cuda/12 2>/dev/null")
  lu.assertEquals(code, 4)
  lu.assertStrContains(output, "a line of the prologue failed with exit code 127: modul load cuda/12")
  lu.assertNil(output:find("trains", 1, true))
  for _, line in ipairs({ "[ -e /nowhere ] && . /nowhere", "true" }) do
    output, code = run(line)
    lu.assertEquals({ code, output }, { 0, "trains\n" })
  end
end

function TestScript.test_fields_that_a_site_omits_are_absent()
  local text = script.make_script(assert(read_site('return { time = "1:00:00" }')), JOB, "")
  for _, word in ipairs({ "partition", "account", "qos", "gres", "mem", "TMPDIR", "module" }) do
    lu.assertNil(text:find(word, 1, true), word)
  end
end

-- Two tasks with three groups of runs of the cells a and b; the last group, of b, continues its runs.
local function make_two_tasks()
  local groups = packing.make_groups({ make_cell("a", { 0.001 }, { 0, 2 }), make_cell("b", { 1e-05, 0.5 }, { 3, 3 }) },
    2)
  for _, group in ipairs(groups) do
    group.defaults, group.item, group.flags = "00ff", { copy = group.cell.id .. "-77" }, { "--data=/a b/c.jsonl" }
  end
  groups[3].is_replacement = true
  return { { groups[1], groups[3] }, { groups[2] } }
end

function TestScript.test_the_list_of_tasks_is_written_and_read()
  local text = script.make_list({ cpus = 2, gpus = 0 }, make_two_tasks(), 1)
  lu.assertEquals(text, [[
1 new a 0123456789abcdef 00ff a-77 'lr0.001-seed0 lr0.001-seed1' --threads 2 --seeds 0:1 --learning-rate 0.001 ]]
    .. [[--device cpu '--data=/a b/c.jsonl'
1 again b 0123456789abcdef 00ff b-77 'lr1e-05-seed3 lr0.5-seed3' --threads 2 --seeds 3:3 --learning-rate 1e-05,0.5 ]]
    .. [[--device cpu '--data=/a b/c.jsonl'
2 new a 0123456789abcdef 00ff a-77 lr0.001-seed2 --threads 2 --seeds 2:2 --learning-rate 0.001 --device cpu ]]
    .. [['--data=/a b/c.jsonl'
]])
  local folder = "/0123456789abcdef/lr"
  lu.assertEquals(script.parse_list(text), { ["a" .. folder .. "0.001-seed0"] = 1,
    ["a" .. folder .. "0.001-seed1"] = 1,
    ["b" .. folder .. "1e-05-seed3"] = 1, ["b" .. folder .. "0.5-seed3"] = 1, ["a" .. folder .. "0.001-seed2"] = 2 })
end

function TestScript.test_lanes_share_the_processors_of_a_task()
  local tasks = make_two_tasks()
  for _, groups in ipairs(tasks) do
    for i, group in ipairs(groups) do
      group.lane = i
    end
  end
  local text = script.make_list({ cpus = 9, gpus = 0 }, tasks, 2)
  lu.assertEquals(lists.find_all(text, "([%d.]+ %l+ %l) "), { "1.1 new a", "1.2 again b", "2.1 new a" })
  lu.assertEquals(lists.find_all(text, "%-%-threads (%d+)"), { "4", "4", "4" })
  lu.assertEquals(script.parse_list(text), script.parse_list(script.make_list({ cpus = 9, gpus = 0 }, tasks, 1)))
end

TestQueue = {}

function TestQueue.test_lines_of_squeue()
  local list = queue.parse("probe-1|12|3|RUNNING|n7|None\nprobe-1|12|4|PENDING||Resources\nnonsense\n"
    .. "x|5|N/A|COMPLETING|n1|a|b\n")
  lu.assertEquals(#list, 3)
  lu.assertEquals(list[1], { name = "probe-1", job = "12", task = 3, state = "RUNNING", node = "n7",
    reason = "None", is_running = true })
  lu.assertEquals({ list[2].is_running, list[2].reason, list[3].task, list[3].is_running },
    { false, "Resources", 0, true })
end

-- Writes a folder of runs with the record of a submitted job of make_two_tasks. Returns the folder and the job's
-- folder.
local function write_submitted_folder()
  support.clean()
  local out = support.write("out/here", ""):match("^(.*)/")
  local dir, n = records.make_folder(out)
  local study = { name = "probe", path = "probe.lua", scale = "small", set = {} }
  support.write("out/.slurm/" .. n .. "/record.json", records.format_record(study, { real = "/s.lua" }, "probe-1"))
  support.write("out/.slurm/" .. n .. "/runs.txt", script.make_list({ cpus = 2, gpus = 0 }, make_two_tasks(), 1))
  return out, dir
end

function TestQueue.test_records_of_submitted_jobs()
  local out, dir = write_submitted_folder()
  lu.assertEquals(dir, out .. "/.slurm/1")
  local list = records.list(out)
  lu.assertEquals({ #list, list[1].study, list[1].scale, list[1].set[1], list[1].name, list[1].is_cancelled },
    { 1, "probe", "small", nil, "probe-1", false })
  lu.assertEquals(select(2, records.make_folder(out)), 2)
  lu.assertEquals(#records.list(out), 1) -- the second was never submitted, so it has no record
  local live = records.find_queued_runs(list, queue.parse("probe-1|12|2|PENDING||Priority\nother|13|1|RUNNING|n|\n"))
  local count = 0
  for _, entry in pairs(live) do
    count = count + 1
    lu.assertEquals({ entry.task.job, entry.task.task, entry.record.number }, { "12", 2, 1 })
  end
  lu.assertEquals(count, 1)
  lu.assertNotNil(live["a/0123456789abcdef/lr0.001-seed2"])
end

function TestQueue.test_one_sweep_at_a_time()
  local out = write_submitted_folder()
  local release = assert(records.claim(out))
  local second, message = records.claim(out)
  lu.assertNil(second)
  lu.assertStrContains(message, "another sweep is submitting jobs for this folder")
  lu.assertStrContains(message, out .. "/.slurm/submitting")
  release()
  lu.assertNotNil(records.claim(out))
  release() -- the second call of the first claim does not release the new claim
  lu.assertNil(records.claim(out))
end

function TestQueue.test_files_of_attempts()
  local out = write_submitted_folder()
  local dir = "a/0123456789abcdef/lr0.001-seed2"
  local run = { dir = dir, state = "absent" }
  lu.assertNil(attempts.read_state(out, run))
  local function write_attempt(name, step)
    local path = ("out/a/0123456789abcdef/.attempts/%s/%s/"):format(name, dir)
    support.write(path .. "window.jsonl", ('{"step":5,"x":1}\n{"step":%d,"x":1}\n'):format(step))
    support.write(path .. "checkpoint.safetensors", name)
  end
  write_attempt("12-1", 20)
  write_attempt("12-2", 40)
  write_attempt("12-3", 30)
  lu.assertEquals(attempts.find_best(out, run).step, 40)
  lu.assertEquals(attempts.read_state(out, run), "stopped")
end

-- A sweep continues the attempt with the most steps that its trainer can continue. The trainer has level v3 and ends at
-- step 50; attempts of the first run also have level v4 and step 60, and the only attempt of the second run has level
-- v4.
function TestQueue.test_attempts_that_a_sweep_continues()
  local out, cell = write_submitted_folder(), "a/0123456789abcdef"
  local function write_attempt(name, seed, step, level)
    local path = ("out/%s/.attempts/%s/%s/lr0.001-seed%d/"):format(cell, name, cell, seed)
    local header = ('{"__metadata__":{"step":"%d","level":"%s","compiler":"gcc 12","source_digest":"5a"}}'):format(step,
      level)
    support.write(path .. "window.jsonl", ('{"step":%d,"x":1}\n'):format(step))
    support.write(path .. "checkpoint.safetensors", ("<I8"):pack(#header) .. header)
    support.write(path .. "from", name)
  end
  local function list_attempts()
    return lists.find_all(support.shell(("find %s/%s/.attempts -name 'lr*' | sort"):format(out, cell)), "ts/([^/]+)/")
  end
  write_attempt("12-1", 1, 20, "v3")
  write_attempt("12-2", 1, 40, "v4")
  write_attempt("12-3", 1, 30, "v3")
  write_attempt("12-4", 1, 60, "v3")
  write_attempt("12-5", 2, 40, "v4")
  -- a task that died left a run that it had replaced
  support.write(("out/%s/.attempts/12-1/replaced/lr0.001-seed1/notes.jsonl"):format(cell), "mine")
  local first = { dir = cell .. "/lr0.001-seed1", state = "absent" }
  local second = { dir = cell .. "/lr0.001-seed2", state = "absent" }
  local third = { dir = cell .. "/lr0.001-seed3", state = "stopped" }
  local trainer = { "printf", "%s", '{"level":"v3","compiler":"gcc 12","source_digest":"5a","steps":50}' }
  lu.assertEquals({ attempts.adopt(out, { first, second, third }, trainer, "cpu") }, { 1, 1 })
  lu.assertEquals({ first.state, second.state }, { "stopped", "absent" })
  lu.assertEquals(support.read(("%s/%s/from"):format(out, first.dir)), "12-3")
  lu.assertEquals(list_attempts(), { "12-1", "12-2", "12-4", "12-5" }) -- 12-1 has only the folder `replaced`
  lu.assertEquals({ attempts.adopt(out, { second }, trainer, "cuda:1") }, { 1, 0 }) -- levels of GPUs are not compared
  first.state, second.state = "done", "done"
  attempts.tidy({ cells = { { spec = {}, runs = { first, second } } } }, out)
  lu.assertNil(lfs.attributes(out .. "/" .. cell .. "/.attempts"))
  lu.assertEquals(support.read(("%s/%s/notes.jsonl"):format(out, first.dir)), "mine")
end

-- The message of a failed run is in the log of its task, before the task's line about the group.
function TestQueue.test_reason_why_a_run_of_a_task_failed()
  local out = write_submitted_folder()
  local run = { dir = "a/0123456789abcdef/lr0.001-seed2", learning_rate = 1e-3, seed = 2 }
  local dir = out .. "/a/0123456789abcdef/.attempts/12_2-1/" .. run.dir
  lu.assertNil(attempts.find_error(out, run, dir))
  local function format_error(words)
    return "learning rate 0.001, seed 2: error: " .. words .. "\n"
  end
  local function format_task(words)
    return "2026-11-23T10:00:00Z task 2: " .. words .. "\n"
  end
  support.write("out/.slurm/1/logs/2.txt", format_error("of another cell")
    .. format_task("b: not all of lr0.001-seed2 is done (the trainer's exit code: 1)")
    .. format_error("the loss is nan")
    .. format_task("a: not all of lr0.001-seed1 lr0.001-seed2 is done (the trainer's exit code: 1)")
    .. format_error("of a third"))
  lu.assertEquals(attempts.find_error(out, run, dir), "the loss is nan")
  lu.assertNil(attempts.find_error(out, run, out .. "/" .. run.dir))
end

support.run()
