-- Merges a section of a spec over its parent, or --set over the section.
--
-- Input: the section's name, two trees. Output: the result of tree.merge, except for fields that depend on each other.
-- Another choice of a task (kind, source, data) replaces the parent's task; if --set makes the choice, the parent's
-- fields are kept, marked `droppable`: validation drops those that the new task does not have (settle.lua).
-- If the section has the field `steps`, the parent's field `epochs` is dropped, and the other way round. A score
-- replaces the parent's score, and need not use the parent's parameters (spec/score/entries.lua).
--
-- M.expand replaces a word in place of a section by the table that the word stands for.

local entries = require("spec.score.entries")
local families = require("spec.families")
local lists = require("base.lists")
local tree = require("spec.reading.tree")

local M = {}

-- A spec may have a word in place of these sections: the name of a preset, or the task's kind. Section -> the field
-- that gets the word.
local FIELD_OF_WORD = { task = "kind", encoding = "use", model = "use", train = "use", eval = "use" }

-- A table { field = node } in place of a word; other nodes are returned unchanged.
local function expand_word(node, field)
  if not node or type(node.value) ~= "string" then
    return node
  end
  local expanded = tree.make_table(node.origin)
  expanded.fields[field] = node
  return expanded
end

-- Returns a section in which words are replaced by tables: encoding = "fox" by { use = "fox" }, and likewise the word
-- for a family of attentions in an encoding. Other nodes are returned unchanged.
function M.expand(section, node)
  node = FIELD_OF_WORD[section] and expand_word(node, FIELD_OF_WORD[section]) or node
  if section ~= "encoding" or not tree.is_table(node) then
    return node
  end
  return lists.merge(node, { fields = tree.map(node, function(name, field)
    return families.is_name[name] and expand_word(field, "use") or field
  end).fields })
end

-- An encoding's table in which the list `layers` is replaced by a table for each entry: layer1, layer2, ... A table of
-- that name in the encoding's table is merged over the entry. report(node, field, what, expected) reports an error.
function M.expand_layers(own_table, report)
  local list = own_table.fields.layers
  if not list then
    return own_table
  end
  local new_table = tree.copy(own_table)
  new_table.fields.layers = nil
  if not tree.is_list(list) or not list.items[2] or list.items[#families.LAYERS + 1] then
    report(list, "encoding.layers", tree.is_list(list) and ("has %d entries"):format(#list.items)
      or "is " .. tree.show(list), families.LAYERS_TEXT)
    return new_table
  end
  for i, item in ipairs(list.items) do
    local name, entry = families.LAYERS[i], M.expand("encoding", item)
    new_table.fields[name] = own_table.fields[name] and entries.merge(entry, own_table.fields[name]) or entry
  end
  return new_table
end

-- Fields that choose a task; a spec states one of them.
M.TASK_CHOICES = { "kind", "source", "data" }

function M.find_task_choice(task)
  return lists.find(M.TASK_CHOICES, function(choice)
    return task.fields[choice] and not task.fields[choice].droppable
  end)
end

-- A copy of the task's table in which all fields, and all fields of its options, are marked `droppable`.
local function mark_droppable(task, mark)
  return tree.map(task, function(name, node)
    return tree.mark_droppable(name == "options" and tree.is_table(node) and mark_droppable(node, mark) or node, mark)
  end)
end

-- Options of a parent that chooses no task are kept: a study's base may give options for the tasks that an axis of the
-- study chooses.
local function merge_task(base, override)
  local base_choice, new_choice = M.find_task_choice(base), M.find_task_choice(override)
  local kind, new_kind = base.fields.kind, override.fields.kind
  if base_choice and new_choice and (base_choice ~= new_choice or kind and kind.value ~= new_kind.value) then
    local set_text = override.fields[new_choice].origin.set
    -- The parent's options belong to another task.
    return set_text and tree.merge(mark_droppable(base, set_text), override) or override
  end
  return tree.merge(base, override)
end

-- Merges the section `train`: steps replace the parent's epochs, and epochs its steps.
local function merge_train(base, override)
  local merged = tree.merge(base, override)
  local steps, epochs = override.fields.steps, override.fields.epochs
  merged.fields.steps = steps or not epochs and base.fields.steps or nil
  merged.fields.epochs = epochs or not steps and base.fields.epochs or nil
  return merged
end

local MERGERS = { encoding = entries.merge, task = merge_task, train = merge_train }

function M.merge(section, base, override)
  local merge = MERGERS[section] or tree.merge
  return tree.is_table(base) and tree.is_table(override) and merge(base, override) or override
end

return M
