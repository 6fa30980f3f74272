-- Resolves a spec's task, and the fields of the model that depend on the task, after the schema has been applied.
--
-- Input: the context of validate.lua with the resolved spec. Output:
--   context.task    the facts of the task for this spec
--   resolved.task   gets fields that are derived from these facts
-- Errors go to the diagnostics.

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

local add = values.add_error

-- Checks that a task is chosen in exactly one way; returns the name of the choice, or nil after an error.
local function find_choice(context, task_node)
  local choices = lists.map(sections.TASK_CHOICES, function(name) return task_node.fields[name] and name or nil end)
  local choice, second_choice = choices[1], choices[2]
  if second_choice then
    return add(context, task_node.fields[second_choice], "task." .. second_choice, "conflicts with task." .. choice,
      "one of the two fields")
  elseif not choice then
    add(context, task_node, "task.kind", "is missing",
      table.concat(values.list_kinds(context, schema.by_path["task.kind"]), ", "),
      'or a task of your own: task.source = "<kind>.c", task.data = "<file>.jsonl"')
  end
  return choice
end

-- Refuses fields whose required field is missing (`requires` in schema.lua).
--   section, section_node   the section's name and node
--   is_present              the set of required fields that are present; nil: unknown, so no field is refused
--   description             words for messages: the choice that excludes the refused fields, such as `task.data`
local function refuse_dependent_fields(context, section, section_node, is_present, description)
  for _, field in ipairs(is_present and schema.children[section] or {}) do
    local node = field.requires and section_node.fields[field.name]
    if node and not is_present[field.requires] then
      add(context, node, field.path, "cannot be used with " .. description, ("%s.%s"):format(section, field.requires))
    end
  end
end

-- If --set has chosen another task, removes the fields of the old choice from the task's table.
function M.drop_replaced_task(context)
  local task_node = context.root.fields.task
  local choice = tree.is_table(task_node) and sections.find_task_choice(task_node)
  if not choice then
    return
  end
  context.root = tree.copy(context.root)
  context.root.fields.task = tree.copy(task_node)
  for name, node in tree.iterate(task_node) do
    local field = schema.by_path["task." .. name]
    local field_choice = lists.has(sections.TASK_CHOICES, name) and name or field and field.requires or choice
    local is_kept = field_choice == choice or not tree.try_drop(context, node, "task." .. name)
    context.root.fields.task.fields[name] = is_kept and node or nil
  end
end

-- Resolves the labels in the loss: facts.loss becomes "all" or "counted" (mask 1); nil if the task masks no label.
-- The resolved task has no field `loss` if its value is the usual one: "counted" for examples in files, "all" for
-- other tasks.
local function settle_loss(context, task_node, facts)
  local task, node = context.resolved.task, task_node.fields.loss
  local has_files = facts.data and not facts.data.is_generated
  local mask_key = features.is_causal(context.resolved) and "other" or "encoder"
  local default_labels = has_files and "counted" or facts.mask and facts.mask[mask_key]
  if not default_labels and node and not tree.try_drop(context, node, "task.loss") then
    add(context, node, "task.loss", ("%s masks no label"):format(facts.kind),
      "a task that masks labels: task.data, or a C file with a line `mask: loss` or `mask: accuracy` in its header")
  end
  facts.loss = default_labels and (task.loss or default_labels)
  local omitted_value = has_files and "counted" or "all"
  task.loss = default_labels and facts.loss ~= omitted_value and facts.loss or nil
end

-- Gives a tape one cell for each token of the longest input, unless the spec states model.cells. For examples in files,
-- the longest input has task.longest - 1 tokens, since a target has at least one.
local function settle_cells(context)
  local model, facts = context.resolved.model, context.task
  if not model or model.cell ~= "tape_rnn" or model.cells then
    return
  elseif facts.data and not facts.data.is_generated then
    model.cells = facts.data.longest - 1
    return
  end
  local task_lengths = facts.data and { 1 } or tasks.list_named_lengths(context.resolved)
  model.cells = task_lengths[1] and lists.max(task_lengths, function(n)
    return tasks.compute_length(facts.input_length, n)
  end)
end

-- Refuses fields that only a user's own network has, if the network is built in.
function M.refuse_network_fields(context)
  local model_node = context.root.fields.model
  if tree.is_table(model_node) and not context.partial.model then
    refuse_dependent_fields(context, "model", model_node, model_node.fields, "a built-in network")
  end
end

-- Settles the task and sets context.task, the task's facts.
function M.settle_task(context)
  local task_node, task = context.root.fields.task, context.resolved.task
  if not task or not tree.is_table(task_node) then
    return
  end
  local choice = not context.partial.task and find_choice(context, task_node)
  refuse_dependent_fields(context, "task", task_node, choice and { [choice] = true }, choice and "task." .. choice)
  if choice == "source" and context.own_task then
    task.kind = context.own_task.kind
    context.origins["task.kind"] = task_node.fields.source.origin
  end
  local facts = choice ~= "data" and (context.own_task or context.tasks[task.kind])
  if choice == "data" then
    facts = datasets.read_files(context, task_node, task)
    datasets.refuse(context, task_node, "task.data", { seed = "a task that generates its examples" })
  end
  task.options = task_options.settle(context, facts)
  if choice ~= "data" and facts then
    local problem
    facts, problem = tasks.settle(facts, task.options)
    if not facts then
      add(context, task_node.fields.options or task_node, "task.options", problem,
        "choices that the header's formulas allow")
    end
  end
  if facts and facts.sets then
    facts = datasets.add_data(context, task_node, facts, task)
  elseif facts and choice ~= "data" then
    datasets.refuse(context, task_node, "a sampler", {
      validation = "a task with sets of examples: ./longhand list tasks",
      seed = "a task that generates its examples: ./longhand list tasks" })
  end
  if facts then
    local model = context.resolved.model or {}
    -- the facts are copied, since several specs share a task
    context.task = lists.merge(lists.copy(facts), { computation = task.computation, readout = model.readout,
      has_two_streams = model.kind == "encoder_decoder" or nil })
    settle_loss(context, task_node, context.task)
    settle_cells(context)
  end
  datasets.settle_steps(context, context.task)
end
return M
