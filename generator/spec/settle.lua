-- Settles a spec's task and model after the schema has been applied: the chosen task with its facts, its options, the
-- labels in the loss, and the fields that depend on these.
--
-- Input: the context of validate.lua with the resolved spec, as values.lua has read it. Output: context.task, the facts
-- of the task for this spec; resolved.task, with fields derived from these facts. Errors go to the diagnostics.

local datasets = require("spec.task.datasets")
local features = require("spec.rules.features")
local lists = require("base.lists")
local task_options = require("spec.task.task_options")
local schema = require("spec.schema")
local sections = require("spec.reading.sections")
local tasks = require("spec.task.tasks")
local tree = require("spec.reading.tree")
local values = require("spec.values")

local M = {}

local add = values.add

-- Checks that a task is chosen in exactly one way; returns the name of the choice, or nil after an error.
local function find_choice(context, given)
  local choices = lists.map(sections.TASK_CHOICES, function(name) return given.fields[name] and name or nil end)
  local choice, other = choices[1], choices[2]
  if other then
    return add(context, given.fields[other], "task." .. other, "conflicts with task." .. choice, "one of the two")
  elseif not choice then
    add(context, given, "task.kind", "is missing",
      table.concat(values.list_kinds(context, schema.by_path["task.kind"]), ", "),
      'or a task of your own: task.source = "<kind>.c", task.data = "<file>.jsonl"')
  end
  return choice
end

-- Refuses fields of a section that need another field (`with` in schema.lua) which is not given. given: the section's
-- node; present: a set of the names of given fields; nil: they are unknown, and nothing is refused; description: of the
-- given fields, for messages, such as `task.data`.
local function refuse_dependent_fields(context, section, given, present, description)
  for _, field in ipairs(present and schema.children[section] or {}) do
    local node = field.requires and given.fields[field.name]
    if node and not present[field.requires] then
      add(context, node, field.path, "cannot be used with " .. description, ("%s.%s"):format(section, field.requires))
    end
  end
end

-- Removes from the task's table the fields of a choice that --set has replaced, and the fields that depend on these.
function M.drop_replaced_task(context)
  local given = context.root.fields.task
  local choice = tree.is_table(given) and sections.find_task_choice(given)
  if not choice then
    return
  end
  context.root = tree.copy(context.root)
  context.root.fields.task = tree.copy(given)
  for name, node in tree.iterate(given) do
    local field = schema.by_path["task." .. name]
    local belongs_to = lists.has(sections.TASK_CHOICES, name) and name or field and field.requires or choice
    local is_kept = belongs_to == choice or not tree.drops(context, node, "task." .. name)
    context.root.fields.task.fields[name] = is_kept and node or nil
  end
end

-- Settles the labels in the loss, all labels or only counted labels (mask 1). facts.loss becomes "all" or "counted", or
-- nil if the task masks no label. facts.mask: the usual labels by the model, or nil (tasks.lua). The resolved task
-- leaves out the usual value: "counted" for examples in files, "all" for other tasks.
local function settle_loss(context, given, facts)
  local task, node = context.resolved.task, given.fields.loss
  local in_files = facts.data and not facts.data.made
  local model = features.is_causal(context.resolved) and "other" or "encoder"
  local usual_labels = in_files and "counted" or facts.mask and facts.mask[model]
  if not usual_labels and node and not tree.drops(context, node, "task.loss") then
    add(context, node, "task.loss", ("%s masks no label"):format(facts.kind),
      "a task that does: task.data, or a C file with a line `mask: loss` or `mask: accuracy` in its header")
  end
  facts.loss = usual_labels and (task.loss or usual_labels)
  task.loss = usual_labels and facts.loss ~= (in_files and "counted" or "all") and facts.loss or nil
end

-- Gives a tape whose number of cells is not stated a cell for each token of the longest input; in files, of the longest
-- input that task.longest allows.
local function settle_cells(context)
  local model, facts = context.resolved.model, context.task
  if not model or model.cell ~= "tape_rnn" or model.cells then
    return
  elseif facts.data and not facts.data.made then
    model.cells = facts.data.longest - 1
    return
  end
  local named = facts.data and { 1 } or tasks.list_named_lengths(context.resolved)
  model.cells = named[1] and lists.max(named, function(n) return tasks.length(facts.input_length, n) end)
end

-- Refuses fields that only a user's own network has, if the network is built in.
function M.refuse_network_fields(context)
  local given = context.root.fields.model
  if tree.is_table(given) and not context.partial.model then
    refuse_dependent_fields(context, "model", given, given.fields, "a network of Longhand's")
  end
end

-- Settles the task and sets context.task, the task's facts. The kind of a user's own task is the name of its file
-- without .c.
function M.settle_task(context)
  local given, task = context.root.fields.task, context.resolved.task
  if not task or not tree.is_table(given) then
    return
  end
  local choice = not context.partial.task and find_choice(context, given)
  refuse_dependent_fields(context, "task", given, choice and { [choice] = true }, choice and "task." .. choice)
  if choice == "source" and context.own_task then
    task.kind = context.own_task.kind
    context.origins["task.kind"] = given.fields.source.origin
  end
  local facts = choice ~= "data" and (context.own_task or context.tasks[task.kind])
  if choice == "data" then
    facts = datasets.read_files(context, given, task)
    datasets.refuse(context, given, "task.data", { seed = "a task that generates its examples" })
  end
  task.options = task_options.settle(context, facts)
  if choice ~= "data" and facts then
    local problem
    facts, problem = tasks.settle(facts, task.options)
    if not facts then
      add(context, given.fields.options or given, "task.options", problem, "choices that the header's formulas allow")
    end
  end
  if facts and facts.sets then
    facts = datasets.add_data(context, given, facts, task)
  elseif facts and choice ~= "data" then
    datasets.refuse(context, given, "a sampler", { validation = "a task with sets of examples: ./longhand list tasks",
      seed = "a task that generates its examples: ./longhand list tasks" })
  end
  if facts then
    local model = context.resolved.model or {} -- the facts are copied, since several specs share a task
    context.task = lists.merge(lists.copy(facts), { computation = task.computation, readout = model.readout,
      has_two_streams = model.kind == "encoder_decoder" or nil })
    settle_loss(context, given, context.task)
    settle_cells(context)
  end
  datasets.settle_steps(context, context.task)
end
return M
