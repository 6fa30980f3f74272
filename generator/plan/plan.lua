-- Makes a plan from a resolved spec: it settles all defaults and derives all numbers, and renders nothing.
--
-- Input: the resolved spec (spec/validate.lua) and facts:
--   task      the task's header (spec/task/tasks.lua)
--   score     the formula of the score, or nil
--   network   the file of a user's own network, or nil
--   init      the first checkpoint (spec/reading/first_checkpoint.lua), or nil
-- Output: pure data that the templates read by name; the modules below document these names. The output is nil and an
-- error for the diagnostics if no plan is possible, for example if a formula is too large or a network is not valid.
-- Invariant: each function that `build` calls reads only fields that earlier functions have made. It returns new
-- fields, or adds fields to the records in earlier fields, such as families of attentions. No field is set twice.

local capacity = require("plan.deriving.capacity")
local checkpoint = require("plan.deriving.checkpoint_fits")
local costs = require("plan.deriving.costs")
local cuda = require("plan.deriving.cuda_half")
local defaults = require("plan.deriving.defaults")
local describe = require("plan.pages.describe")
local diagnostics = require("base.diagnostics")
local digests = require("plan.deriving.digests")
local dimensions = require("plan.deriving.dimensions")
local encoding_facets = require("plan.deriving.encoding_facets")
local experiment = require("plan.deriving.experiment")
local model_network = require("plan.deriving.model_network")
local optimizer = require("plan.deriving.optimizer")
local recomputed_weights = require("plan.deriving.recomputed_weights")
local terms = require("attention.terms")
local escape = require("base.escape")
local tuning = require("plan.deriving.tuning")

local M = {}

local ABI = 8 -- equal to LH_ABI of include/longhand; the generated config.h checks this

-- The files of the CPU half, in the order of rendering, except that gen.lua renders spec.c last. Fields of a file:
--   template   the path of its template in templates/
--   path       its path in the generated folder
--   family     a family of attentions: the template can read its fields by name, and they hide equal names of the plan
--   is_data    true: the file contains data and no code, so the source digest does not cover it
--   changes_no_bits   true: the file's code changes no bit of a run, so the source digest does not cover it
local function list_files(plan)
  local first_family = plan.first_family
  local files = {
    { template = "common/spec.c.tpl", path = "spec.c", family = first_family },
    { template = "common/defaults.inc.tpl", path = "defaults.inc", is_data = true },
    { template = "common/config.h.tpl", path = "config.h", family = first_family },
    { template = "common/tuned.h.tpl", path = "tuned.h", changes_no_bits = true },
  }
  for _, family in ipairs(plan.attentions) do
    if family.score.kind ~= "none" then
      files[#files + 1] = { template = "attention/cpu/scalar.inc.tpl", path = ("score_%s.inc"):format(family.name),
        family = family }
    end
    files[#files + 1] = { template = "attention/cpu/attention.inc.tpl",
      path = ("attention_%s.inc"):format(family.name), family = family }
  end
  for _, name in ipairs({ "layers", "loss", "trace", plan.cpu.decoding and "decode" or nil }) do
    files[#files + 1] = { template = ("cpu/%s.inc.tpl"):format(name), path = name .. ".inc", family = first_family }
  end
  -- step.c calls functions of all other files, so it is rendered after them.
  files[#files + 1] = { template = "cpu/step.c.tpl", path = "step.c", family = first_family }
  return files
end

-- The fields that need no derivation. `symbol` is the id in names of C: generated code is linked by names
-- longhand_<role>_<symbol>. A role is one word without underscore: spec; x8664, x8664v3, x8664v4, aarch64 (the code for
-- one instruction-set level); cuda, images, text (the CUDA half); train, evaluate (its kernels). No other names begin
-- with longhand_: names of the runtime begin with lh_, names of a task with lh_task_. C reserves two underscores in a
-- row for compilers, so a symbol has _U in place of two underscores (the Makefile replaces them, too); no id contains a
-- U.
local function make_head(resolved, facts)
  return {
    abi = ABI,
    id = resolved.id,
    symbol = (resolved.id:gsub("__", "_U")),
    source = resolved.source,
    command = "./longhand gen " .. escape.shell(resolved.source), -- the command that banners show
    precision = resolved.precision,
    resolved = resolved,
    defaults = defaults.derive(resolved, facts.init),
    init = facts.init and { shown = facts.init.shown, checksum = facts.init.checksum },
  }
end

local function build(resolved, facts)
  local plan = {}
  local function enter(fields)
    for name, value in next, fields do
      assert(plan[name] == nil, name)
      plan[name] = value
    end
  end
  enter(make_head(resolved, facts))
  enter(experiment.derive(plan, facts.task, facts.network))
  enter(dimensions.derive(plan))
  enter(costs.measure_training(plan, facts.task))
  enter(capacity.derive(plan, facts.task))
  local added_vectors = encoding_facets.derive_added_vectors(plan, facts)
  enter(model_network.derive_attentions(plan, added_vectors, facts.network))
  enter(encoding_facets.derive(plan, facts, added_vectors))
  local model_fields, net, lists = model_network.derive(plan, facts.network)
  enter(model_fields)
  recomputed_weights.settle(plan)
  terms.settle(plan)
  enter(encoding_facets.derive_shared(plan))
  enter({ files = list_files(plan), tuned = tuning.derive(plan) })
  enter(optimizer.derive(plan))
  enter(costs.derive(plan, net, facts.task))
  enter(cuda.derive(plan, net, lists))
  enter({ comments = describe.make_comments(plan) })
  enter({ digest = digests.digest_plan(plan), model_digest = digests.digest_model(plan) })
  if facts.init then
    checkpoint.check(plan, facts.init)
  end
  return plan
end

-- Returns a problem with its complete place, for the diagnostics. A line without a path is a line in the file of the
-- user's own network. A problem without path, line and field belongs to the formula of the score.
local function locate(problem, resolved, network)
  local located = { what = problem.what, expected = problem.expected, hint = problem.hint }
  local path = problem.path or problem.line and network and network.path
  if path then
    located.path, located.line, located.col = path, problem.line, problem.col or problem.line and 1
  else
    located.path, located.field = not problem.field and resolved.source or nil, problem.field or "encoding.score"
  end
  return located
end

function M.build(resolved, facts)
  local plan, problem = diagnostics.attempt(build, resolved, facts)
  return plan, problem and locate(problem, resolved, facts.network)
end

return M
