-- The states of blocks and groups in device code. A state is a struct with the values that a repetition stores.
--
-- Input: the table `device` that the modules of device code share (make_state in cuda_network.lua); operations of kind
-- "block". Output of M.describe: the fields of an entry of `blocks` that concern states and repetitions. Output of
-- M.make_groups: the entries of `groups`. Indices of repetitions and states in these entries are C texts.

local buffers = require("network.lists.buffers")
local cuda_buffers = require("network.targets.cuda_buffers")
local cuda_lists = require("network.targets.cuda_lists")
local lists = require("base.lists")
local records = require("network.targets.cuda_records")
local repetitions = require("network.targets.repetitions")
local wording = require("base.wording")

local M = {}

-- The variables (name_streams of cuda_buffers.lua) of the streams to which at least one item belongs. items: members
-- of a struct, or operands of products (warp_products.lua).
function M.find_streams(device, items)
  local has_item = lists.to_set(lists.map(items, function(item) return item.variables end))
  return lists.filter(device.streams, function(variables) return has_item[variables] end)
end

-- The fields of an entry that concern its state, its repetitions and its input. op: the operation of kind "block";
-- members: the members of the state. Fields that are not explained here are texts for names and declarations.
--   plural        the name of all repetitions, and of the array of their states in the workspace, such as "layers"
--   index         the variable that is the index of the current repetition
--   count         C text of the number of sets of parameters
--   repetitions_text   C text of the largest number of repetitions in training
--   stored        C text of the number of states for these repetitions
--   state_number  the index of the state of the current repetition in training
--   first, last   the indices of the first and the last repetition within the current repetition of the parent
--   past          the index after `last`
--   first_with_gradient   the index of the first repetition with a gradient
--   in_group      whether the parent is a group
--   previous_condition   C text of a condition: whether the current repetition reads the output of the previous one;
--                       false if the block runs once in each repetition of a group
--   input         the address of the input of the first repetition
--   on_host       the fields first, past, first_with_gradient and input for the host's list of launches, with
--     states      the name of the array of states in this list
function M.describe(device, op, members)
  local block, parent = op.block, op.scope
  local first, past = repetitions.write_range(block, repetitions.PASSES)
  local host_first, host_past = repetitions.write_range(block, cuda_lists.HOST_PASSES)
  -- With progressive training, each step samples the number of passes, and the first passes have no gradient.
  local samples_passes = block.is_progressive and not parent.is_group
  return {
    name = block.name, article = wording.choose_article(block.name), state = block.name .. "_state",
    plural = block.name .. (block.is_group and block.name:find("s$") and "es" or "s"), is_group = block.is_group,
    members = members, lines = cuda_buffers.write_lines(members),
    row_declarations = cuda_buffers.declare_rows(M.find_streams(device, members)),
    index = block.index, count = block.count_name, repetitions_text = block.repetitions_text,
    stored = repetitions.write_state_count(block), is_progressive = block.is_progressive,
    state_number = repetitions.write_state_index(block, block.index),
    first = first, past = past,
    first_with_gradient = samples_passes and repetitions.write_count(block, repetitions.FREE_PASSES) or first,
    in_group = parent.is_group, previous_condition = repetitions.write_previous_condition(block),
    last = past .. " - 1",
    input = records.write_address_outside(device, records.make_scope_text(device, parent), op.x),
    on_host = { first = host_first, past = host_past,
      first_with_gradient = samples_passes and repetitions.write_count(block, cuda_lists.HOST_FREE_PASSES)
        or host_first,
      states = cuda_lists.name_host_states(block),
      input = records.write_address_outside(device, cuda_lists.make_host_text(device, parent), op.x) },
  }
end

-- Sets fields of a wide model's entry of `blocks` or `groups`:
--   phases   the names of its phases, in the order of the enumeration of all phases
--   first_phase, last_phase   the first and the last of these names
function M.find_phases(record)
  local losses = record.loss_phases and { record.loss_phases.forward, record.loss_phases.backward } or {}
  record.phases = lists.join(lists.join(lists.get_names(record.forward.phases), losses),
    lists.get_names(record.backward.phases))
  record.first_phase, record.last_phase = record.phases[1], record.phases[#record.phases]
end

-- The operations of kind "block" of the network or of a group, at any depth, in the order in which they run.
function M.list_block_operations(scope)
  return lists.collect(scope.ops, function(op)
    local inner_operations = op.kind == "block" and op.block.is_group and M.list_block_operations(op.block) or {}
    return op.kind == "block" and lists.join({ op }, inner_operations) or {}
  end)
end

-- The blocks and groups that a group repeats, at any depth.
local function list_inner(group)
  return lists.map(M.list_block_operations(group), function(op) return op.block end)
end

-- C text of the index of a group's repetition. The C variable `at` describes the launch of a phase:
--   a phase of the group or of an inner block   computed from at.layer, the index of this group's or block's repetition
--   another phase                               the index of the group's last repetition
local function write_group_index(device, group, record)
  local text = ""
  for _, inner in ipairs(lists.join({ group }, list_inner(group))) do
    if device.block_records[inner].first_phase then
      text = ("%sin_%s ? %s : "):format(text, inner.name, repetitions.write_outer_index(inner, group, "at.layer"))
    end
  end
  return text .. record.last
end

-- The names of two phases, or false:
--   forward    computes the loss of a repetition's result, after the repetition
--   backward   adds the gradient of this loss, before the backward pass of the repetition
local function name_loss_phases(device, group)
  local name = ("PHASE_%s_LOSS"):format(group.name:upper())
  return device.choices.wide and group.has_pass_losses and { forward = name, backward = name .. "_BACK" }
end

-- The entry of `groups` for a group. The entries of its blocks must exist already. Fields in addition to those of
-- M.describe:
--   inner      the inner blocks and groups that have states, each with:
--     name       its name
--     last       the index of its last repetition within the current repetition of the group
--   previous   the state that holds the output of the previous repetition:
--     name       the name of the state's block or group
--     index      the index of the state
--   has_pass_losses   whether there is a loss after each repetition
--   loss_phases   in a wide model with such losses, the names of their phases: { forward, backward }; else false
--   output     the address of a repetition's output
--   gradient   the address of the gradient of this output
--   shared_gradients   the parameters whose gradients are sums over repetitions: { name, size }
--   number     in a wide model, the index of the repetition in which a launch runs (write_group_index)
local function make_group(device, op)
  local group, group_lists = op.block, device.lists[op.block]
  local forward = cuda_lists.list_entries(group_lists.forward, false)
  local backward = cuda_lists.list_entries(group_lists.backward, true)
  local holder, past = cuda_buffers.find_holder(group), ("(%s + 1)"):format(group.index)
  local text = records.make_scope_text(device, group)
  local record = lists.merge(M.describe(device, op, cuda_buffers.list_kept_in_group(device, group)), {
    previous = { name = holder.name, index = repetitions.write_first_index(holder, group, group.index) .. " - 1" },
    inner = lists.map(list_inner(group), function(inner)
      return device.block_records[inner].members[1]
        and { name = inner.name, last = repetitions.write_first_index(inner, group, past) .. " - 1" } or nil
    end),
    has_pass_losses = group.has_pass_losses, loss_phases = name_loss_phases(device, group),
    output = records.write_address_outside(device, text, group.output_value),
    gradient = text.w .. buffers.name_for_stream("gradient", op.out), overwrites_input = false,
    shared_gradients = lists.collect(group_lists.backward, records.list_shared_gradients),
  })
  device.block_records[group] = record
  record.forward = device.make_list(device, group, true, forward)
  record.backward = device.make_list(device, group, true, backward)
  if device.choices.wide then
    M.find_phases(record)
    record.number = write_group_index(device, group, record)
  else
    record.evaluation = device.make_list(device, group, false, forward)
    record.decoding = device.choices.decoded and cuda_lists.make_decoding_records(device, group, forward) or false
  end
  return record
end

-- The entries of all groups that are run by the operations `block_ops`; inner groups come first.
function M.make_groups(device, block_ops)
  local groups = {}
  for i = #block_ops, 1, -1 do
    groups[#groups + 1] = block_ops[i].block.is_group and make_group(device, block_ops[i]) or nil
  end
  return groups
end

-- Name of a block -> C text of the index of the first repetition in the last pass; false if there is one pass.
function M.collect_last_pass_starts(blocks)
  local last_pass_starts = {}
  for _, block in ipairs(blocks) do
    last_pass_starts[block.name] = block.last_pass_start
  end
  return last_pass_starts
end

return M
