-- lab/study/slurm/site: site files, their defaults and messages.

local support = dofile("tests/lua/support.lua")

local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")
local site_module = require("lab.study.slurm.site")

TestSites = {}

local function read_site(text)
  return site_module.read(project, support.write("site.lua", text))
end

function TestSites.test_examples_are_legal()
  local cpu, gpu = assert(site_module.read(project, "cpu_nodes")), assert(site_module.read(project, "gpu_nodes"))
  lu.assertEquals({ cpu.partition, cpu.seconds, cpu.cpus, cpu.gpus, cpu.replicas, cpu.levels },
    { "standard", nil, 16, 0, 16, { "x86-64-v3" } })
  lu.assertEquals({ gpu.seconds, gpu.gpus, gpu.architectures, gpu.replicas, gpu.max_tasks },
    { 24 * 3600, 1, { "sm_80", "sm_90" }, 32, 1000 })
end

function TestSites.test_defaults_of_a_site()
  local site = assert(read_site("return {}"))
  lu.assertEquals({ site.cpus, site.gpus, site.replicas, site.max_tasks, site.partition, site.seconds },
    { 1, 0, 1, 1000, nil, nil })
  -- On a GPU, by default as many runs train together as a trainer allows.
  lu.assertEquals(assert(read_site('return { time = "1:00:00", gpus = 1 }')).replicas, 4096)
end

function TestSites.test_times_in_slurms_format()
  local parse = site_module.parse_time
  lu.assertEquals({ parse("1:02:03"), parse("1-00:00:01"), parse("100:00:00") }, { 3723, 86401, 360000 })
  lu.assertEquals(lists.map({ 300, 3723, 86401, 360000 }, site_module.format_time),
    { "0:05:00", "1:02:03", "1-0:00:01", "4-4:00:00" })
  for _, text in ipairs({ "30", "10:00", "1:60:00", "1:00:60", "1-24:00:00", "x", "" }) do
    lu.assertNil(parse(text), text)
  end
end

-- The fields of an invalid site, and two parts of its message.
local INVALID_SITES = {
  { 'time = "1:00:00", partitoin = "a"', "site.lua:1:28: error: partitoin: no such field",
    'did you mean "partition"?' },
  { 'time = "30"', 'error: time: "30" does not fit here', "at least" },
  { 'time = "00:04:59"', 'time: "00:04:59" does not fit here', "" },
  { "time = 3600", "time: 3600 does not fit here", "" },
  { 'time = "1:00:00", cpus = 0', "cpus: 0 is below 1", "expected: an integer from 1 to 4096" },
  { 'time = "1:00:00", cpus = "4"', 'cpus: "4" is a string', "write 4 without quotes" },
  { 'time = "1:00:00", gpus = 4', "gpus: 4 is above 1", "expected: an integer from 0 to 1" },
  { 'time = "1:00:00", partition = "a b"', 'partition: "a b" does not fit here', "letters, digits" },
  { 'time = "1:00:00", memory = "4 GB"', 'memory: "4 GB" does not fit here', "K, M, G or T" },
  { 'time = "1:00:00", levels = { "avx2" }', 'levels[1]: "avx2" does not fit here', "x86-64-v3" },
  { 'time = "1:00:00", architectures = { "sm_80" }', "architectures: is given without a GPU", "gpus = 1" },
  { 'time = "1:00:00", gpus = 1, architectures = { "ampere" }', 'architectures[1]: "ampere" does not fit', "sm_80" },
  { 'time = "1:00:00", options = { "--array=1-9" }', "options[1]: --array is set by the sweep", "other options" },
  { 'time = "1:00:00", options = { "--job-na=x" }', "--job-na, short for --job-name, is set by the sweep", "" },
  { 'time = "1:00:00", options = "--exclusive"', 'options: is "--exclusive"', "a list such as" },
  { 'time = "1:00:00", prologue = { "a\\nb" }', "prologue[1]:", "a list of lines" },
  { 'time = "1:00:00", min_tasks = 9, max_tasks = 5', "min_tasks: 9 is above max_tasks, 5", "at most max_tasks" },
  { 'time = "1:00:00", scratch = "tmp"', 'scratch: "tmp" does not fit here', "an absolute path" },
}

function TestSites.test_messages_on_invalid_sites()
  for _, case in ipairs(INVALID_SITES) do
    local site, message = read_site("return { " .. case[1] .. " }")
    lu.assertNil(site, case[1])
    lu.assertStrContains(message, case[2])
    lu.assertStrContains(message, case[3])
  end
  local _, message = site_module.read(project, "cpu_node")
  lu.assertStrContains(message, "no such site: cpu_node")
  lu.assertStrContains(message, "did you mean cpu_nodes?")
end

support.run()
