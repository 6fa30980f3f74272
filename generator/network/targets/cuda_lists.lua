-- Makes the lists of device code. In a narrow model, a list holds the records of a scope's operations. In a wide model,
-- whose products a library computes, it holds the records of the launches on the GPU and of their phases.
--
-- Input: the table `device` (make_state of cuda_network.lua), a scope of the network, its entries (M.list_entries).
-- Output: records (cuda_records.lua), or for a wide model:
--   list              the records of the host's list of launches (launches.lua): products by the library, and phases
--   phases            the list of the phases; one kernel computes all phases. Fields of a phase:
--     name              its name
--     records           its records
--     adds_table_sums   whether the phase sums gradients of learned tables to which all passes of the network add
--   reads             name of an argument -> whether the host's list reads it (M.find_read)
--   reads_in_phases   name of an argument -> whether the records of the phases read it

local calls = require("network.targets.calls")
local cuda_buffers = require("network.targets.cuda_buffers")
local launches = require("network.targets.launches")
local lists = require("base.lists")
local records = require("network.targets.cuda_records")
local repetitions = require("network.targets.repetitions")

local M = {}

-- C texts of two counts in the host's list of launches: of all passes, and of the passes without gradient.
M.HOST_PASSES, M.HOST_FREE_PASSES = "list->passes", "list->free_passes"

-- Texts (cuda_records.lua) for a block in the host's list of launches; the variable x is a layer's input.
local BLOCK_TEXT = { w = "w->", state_prefix = "s->", p = "p->", g = "g->", input = "x" }

-- The name of the array of the states of a block or a group in the host's list of launches.
function M.name_host_states(block)
  return block.is_group and block.name .. "_states" or block.name
end

-- C text of the state of repetition `index` of a block or a group in the host's list of launches. If the number of
-- passes may vary, all repetitions of an evaluation share one state.
function M.write_host_state(block, index)
  local state_index = repetitions.write_state_index(block, index, "list, ")
  state_index = block.has_passes and ("training ? %s : 0"):format(state_index) or state_index
  return ("%s[%s]"):format(M.name_host_states(block), state_index)
end

-- C text of the state that holds the output of the previous repetition of a block or a group.
local function write_previous_state(block)
  local holder = cuda_buffers.find_holder(block)
  return M.write_host_state(holder, repetitions.write_first_index(holder, block, block.index) .. " - 1")
end

-- Texts for the host's list of launches, for the network or a group.
function M.make_host_text(device, scope)
  return { w = "w.", state_prefix = "w.", p = "p->", g = "g->", state = function(block)
    local end_index = scope.is_group and repetitions.write_first_index(block, scope, ("(%s + 1)"):format(scope.index))
      or repetitions.write_count(block, M.HOST_PASSES)
    return M.write_host_state(block, block == scope and scope.index or end_index .. " - 1")
  end, write_input = function(group)
    local first_input = records.write_address_outside(device, M.make_host_text(device, group.parent), group.outer_input)
    return ("(%s ? %s.output : %s)"):format(repetitions.write_previous_condition(group), write_previous_state(group),
      first_input)
  end }
end

-- The kinds of operations whose own record also applies the dropout.
local APPLIES_DROPOUT = { add = true, add_norm = true, embed = true, place = true }

-- The entries { kind, item, is_backward } of a list. item: an operation, or an entry of a backward list. Except for the
-- kinds of APPLIES_DROPOUT, the dropout of a result is a separate entry of kind "drop".
function M.list_entries(list, is_backward)
  return lists.collect(list, function(item)
    local has_drop_entry = not is_backward and item.dropout and item.mask and not APPLIES_DROPOUT[item.kind]
    return { { kind = item.kind, item = item, is_backward = is_backward },
      has_drop_entry and { kind = "drop", item = item, is_backward = false } or nil }
  end)
end

-- The records of a scope's entries. decodes: whether the records process one token of each sequence.
function M.make_records(device, scope, training, entries, decodes)
  local text, list = records.make_scope_text(device, scope, decodes or false), {}
  for _, entry in ipairs(entries) do
    calls.append("cuda", list, entry.kind, records.make_records(device, scope, training, text, entry))
  end
  return list
end

-- The records of a scope that process one token of each sequence of the decoded stream.
function M.make_decoding_records(device, scope, entries)
  local decoded = lists.filter(entries, function(entry) return entry.item.out.stream == device.choices.decoded end)
  local is_block = scope ~= device.net and not scope.is_group
  return lists.map(M.make_records(device, scope, is_block, decoded, true), function(record)
    return record.condition ~= "training" and lists.merge(record, { condition = false }) or nil
  end)
end

-- Name of an argument -> whether the records of a function read it.
function M.find_read(list)
  local read_names = calls.find_read(list)
  local reads = { l = false, x = false }
  for _, name in ipairs({ "w", "s", "p", "g", "training" }) do
    reads[name] = read_names[name] or false
  end
  for _, record in ipairs(list) do
    reads.training = reads.training or record.arguments and lists.has(record.arguments, "training") or false
    reads.l = reads.l or record.phase or record.product == "weight" and record.last_pass_start ~= false
    reads.x = reads.x or record.x == BLOCK_TEXT.input
  end
  return reads
end

-- The record in the host's list for all launches of a block or a group.
local function make_block_launches(device, launch)
  local block, record = launch.block, device.block_records[launch.block]
  local direction = launch.entry.kind == "block" and "forward" or "backward"
  return calls.fill("cuda", lists.merge(record.on_host, { kind = block.is_group and "list_group" or "list_block",
    block = true, name = block.name, direction = direction, index = block.index, layer = record.layer,
    previous_condition = record.previous_condition, reads = record[direction].reads, list = record[direction].list,
    loss_phases = record.loss_phases or false, state = M.write_host_state(block, block.index),
    previous = write_previous_state(block) }))
end

-- The calls for products of the backward pass in the host's list; products of the forward pass have a template.
local CALLS = {
  weight = "weight_gradient('list', row_count, inner, columns, x, dy, is_added, dweight)",
  input = "input_gradient('list', row_count, inner, columns, dy, weight, is_added, to)",
}

-- The record in the host's list for a product.
--   phase   the phase that adds the product's bias, or nil
--   layer   C text of the index of the layer for which the phase runs
local function make_product_launch(device, scope, training, launch, phase, layer)
  local scope_text = (scope == device.net or scope.is_group) and M.make_host_text(device, scope) or BLOCK_TEXT
  local text, record = records.make_records(device, scope, training, scope_text, launch.entry)
  local x = (launch.entry.item.op or launch.entry.item).x
  local last_pass_start = repetitions.write_last_pass_start(scope, M.HOST_PASSES)
  record.kind, record.product, record.call = "list_" .. launch.product, launch.product, CALLS[launch.product]
  record.row_count = device.net.streams[2] and "list->" .. device.variables[x.stream].rows or false
  if launch.product == "weight" then
    record.is_added = device.has_loops and (last_pass_start and "use < " .. last_pass_start or "false")
    record.last_pass_start = last_pass_start or false
  end
  record.phase, record.layer = phase and phase.name or false, layer
  return calls.fill("cuda", record, text)
end

-- Whether an entry sums gradients of learned tables over a shard.
local function sums_table_gradients(entry)
  return entry.is_backward and entry.item.op ~= nil and records.sums_table_gradients(entry.item.op)
end

-- The list of a wide model's scope: its entries, cut into launches.
function M.make_launches(device, scope, training, entries)
  -- layer: C text of the index of the layer for which the next phase runs. A phase outside of blocks gets the index of
  -- the layer that ran last.
  local host_list, phases, phase_records, layer = {}, {}, {}, scope.input_value and scope.index or "0"
  for i, launch in ipairs(launches.cut(entries, scope.input_value and scope.name, device.adds_bias)) do
    local phase = launch.phase
    if phase then
      phases[#phases + 1] = { name = phase.name, records = M.make_records(device, scope, training, phase.entries),
        adds_table_sums = scope.loops > 1 and lists.any(phase.entries, sums_table_gradients) }
      lists.append(phase_records, phases[#phases].records)
    end
    if launch.product then
      host_list[i] = make_product_launch(device, scope, training, launch, phase, layer)
      device.has_biased_product = device.has_biased_product or phase ~= nil
    elseif launch.block then
      host_list[i] = make_block_launches(device, launch)
      local last = repetitions.write_count(launch.block, M.HOST_PASSES) .. " - 1"
      layer = scope.is_group and scope.index or launch.entry.kind == "block" and last or "0"
    else
      host_list[i] = calls.fill("cuda", { call = "list_phase('list', phase, layer)", phase = phase.name,
        layer = layer })
    end
  end
  return { list = host_list, phases = phases, reads = M.find_read(host_list),
    reads_in_phases = M.find_read(phase_records) }
end

-- The number of launches of a scope itself, without those of its blocks.
local function count_own(list)
  return lists.count(list, function(launch) return not launch.block end)
end

-- C text of the number of launches of a step.
function M.count_launches(scopes, train)
  local terms = lists.map(scopes, function(scope)
    local count = count_own(scope.forward.list) + count_own(scope.backward.list) + (scope.loss_phases and 2 or 0)
    return ("%d * %s"):format(count, scope.repetitions_text)
  end)
  return ("%d + %s"):format(2 + count_own(train.list), table.concat(terms, " + ")) -- 2: begin and end
end

-- C text of the number of launches in one pass of an evaluation.
function M.count_launches_of_pass(scopes)
  return table.concat(lists.map(scopes, function(scope)
    return ("%d * %s"):format(count_own(scope.forward.list), scope.count)
  end), " + ")
end

-- The names of all phases, each once. Phases outside of blocks come first, then the phases of each block.
function M.list_phases(pass, scopes)
  local outside = lists.join(pass.train.phases, pass.evaluate.phases)
  return lists.drop_repeats(lists.join(lists.get_names(outside), lists.collect(scopes, function(scope)
    return scope.phases
  end)))
end

return M
