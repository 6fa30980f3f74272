-- A small study with two axes and two scales, and its expansion to cells and runs.

local support = require("support")

local grid = require("lab.study.grid.grid")
local lu = require("luaunit")
local project = require("project").new(".")

local probes = {}

function probes.expand(argument, options)
  local study, message = grid.expand(project, argument, options)
  lu.assertNil(message)
  return study
end

probes.SMALL = [[
return {
  title = "probe",
  base = { model = { use = "small_encoder", layers = 3 }, train = { steps = 70, learning_rate = 0.004 },
    eval = { lengths = { 3, 9, step = 3 }, examples = 8, draws = 2 } },
  axes = {
    { name = "task", use = "ruoss_tasks", only = { "reverse_string", "parity_check" } },
    { name = "encoding", values = {
      { name = "tilted", spec = { encoding = { score = function(x)
        return x.score + 0.25 * x.distance
      end } } },
      { name = "rand-rope", spec = { encoding = { kind = "rope", positions = { kind = "randomized",
        max_position = 128 } }, train = { batch = 12 } } },
    } },
  },
  seeds = { 2, 4 },
  report = { { kind = "table", rows = "task" } },
  scales = {
    short = { base = { model = { use = "ruoss_encoder" }, train = { steps = 5 } }, seeds = { 0, 0 },
      learning_rates = { 1e-4, 5e-3 }, axes = { encoding = { "rand-rope" } } },
    other = { base = { train = { steps = 9 } } },
  },
}]]

function probes.write_small()
  return support.write("probe.lua", probes.SMALL)
end

return probes
