-- Lists of device code: the records of a scope's operations; for a wide model, the records of its launches and phases.
--
-- Input: the state of cuda_network.lua (device), a scope of the network, its entries (M.list_entries). Output: records
-- (cuda_records.lua), or for a wide model:
--   list              the records of the host's list of launches (launches.lua)
--   phases            the phases { name, records }
--   reads             the arguments that the host's list reads (M.find_read)
--   reads_in_phases   the arguments that the phases read

local calls = require("network.targets.calls")
local launches = require("network.targets.launches")
local lists = require("base.lists")
local records = require("network.targets.cuda_records")

local M = {}

-- Texts (cuda_records.lua) for the host's list of launches, of a block and of the network. In the list of a block the
-- variable x is the layer's input.
local BLOCK_TEXT = { w = "w->", state_prefix = "s->", p = "p->", g = "g->", input = "x" }
M.NETWORK_TEXT = { w = "w.", state_prefix = "w.", p = "p->", g = "g->", state = "%s[%s - 1].output" }

-- The kinds of operations that apply dropout in their own records.
local APPLIES_DROPOUT = { add = true, add_norm = true, embed = true, place = true }

-- The entries { kind, item, is_backward } of a list. item: an operation, or an entry of a backward list. The dropout of
-- a result is an entry of its own, of kind "drop", except for the kinds of APPLIES_DROPOUT.
function M.list_entries(list, is_backward)
  return lists.collect(list, function(item)
    local has_drop_entry = not is_backward and item.dropout and item.mask and not APPLIES_DROPOUT[item.kind]
    return { { kind = item.kind, item = item, is_backward = is_backward },
      has_drop_entry and { kind = "drop", item = item, is_backward = false } or nil }
  end)
end

-- The records of a scope's entries. decodes: the records process one token of each sequence.
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
  return lists.map(M.make_records(device, scope, scope ~= device.net, decoded, true), function(record)
    return record.condition ~= "training" and lists.merge(record, { condition = false }) or nil
  end)
end

-- The arguments that the statements of a function read: name -> whether they read it.
function M.find_read(list)
  local read_names = calls.find_read(list)
  local reads = { l = false, x = false }
  for _, name in ipairs({ "w", "s", "p", "g", "training" }) do
    reads[name] = read_names[name] or false
  end
  for _, record in ipairs(list) do
    reads.training = reads.training or record.arguments and lists.has(record.arguments, "training") or false
    reads.l = reads.l or record.phase or record.product == "weight" and record.first_use ~= false
    reads.x = reads.x or record.x == BLOCK_TEXT.input
  end
  return reads
end

-- The record in the host's list for all launches of a block.
local function make_block_launches(device, launch)
  local block = device.block_records[launch.block]
  local direction = launch.entry.kind == "block" and "forward" or "backward"
  return calls.fill("cuda", { kind = "list_block", block = true, name = block.name, uses = block.uses,
    direction = direction, index = block.index, layer = block.layer, input = block.host_input,
    reads = block[direction].reads })
end

-- The calls of backward products in the host's list; forward products have their own template.
local CALLS = {
  weight = "weight_gradient('list', row_count, inner, columns, x, dy, adds, dweight)",
  input = "input_gradient('list', row_count, inner, columns, dy, weight, adds, to)",
}

-- The record in the host's list for a product. phase: the phase that adds its bias, or nil; layer: the phase's layer.
local function make_product_launch(device, scope, training, launch, phase, layer)
  local scope_text = scope == device.net and M.NETWORK_TEXT or BLOCK_TEXT
  local text, record = records.make_records(device, scope, training, scope_text, launch.entry)
  local x, first_use = (launch.entry.item.op or launch.entry.item).x, scope.first_use
  record.kind, record.product, record.call = "list_" .. launch.product, launch.product, CALLS[launch.product]
  record.row_count = device.net.streams[2] and "list->" .. device.variables[x.stream].rows or false
  if launch.product == "weight" then
    record.adds = device.loops and (first_use and "use < " .. first_use or "false")
    record.first_use = first_use or false
  end
  record.phase, record.layer = phase and phase.name or false, layer
  return calls.fill("cuda", record, text)
end

-- A scope's entries, cut into launches.
function M.make_launches(device, scope, training, entries)
  -- layer: C text of the layer of the next phase; outside blocks, of the last layer that ran
  local host_list, phases, phase_records, layer = {}, {}, {}, scope.input_value and scope.index or "0"
  for i, launch in ipairs(launches.cut(entries, scope.input_value and scope.name, device.adds_bias)) do
    local phase = launch.phase
    if phase then
      phases[#phases + 1] = { name = phase.name, records = M.make_records(device, scope, training, phase.entries) }
      lists.append(phase_records, phases[#phases].records)
    end
    if launch.product then
      host_list[i] = make_product_launch(device, scope, training, launch, phase, layer)
      device.biased = device.biased or phase ~= nil
    elseif launch.block then
      host_list[i] = make_block_launches(device, launch)
      layer = launch.entry.kind == "block" and launch.block.uses .. " - 1" or "0"
    else
      host_list[i] = calls.fill("cuda", { call = "list_phase('list', phase, layer)", phase = phase.name,
        layer = layer })
    end
  end
  return { list = host_list, phases = phases, reads = M.find_read(host_list),
    reads_in_phases = M.find_read(phase_records) }
end

-- The number of launches of a step, as C text: a constant, and a count for each use of a block.
function M.count_launches(blocks, train)
  local outside_count = 2 + lists.count(train.list, function(launch) return not launch.block end) -- 2: begin, end
  local terms = lists.map(blocks, function(block)
    return ("%d * %s"):format(#block.forward.list + #block.backward.list, block.uses)
  end)
  return ("%d + %s"):format(outside_count, table.concat(terms, " + "))
end

-- The names of all phases, each once: the names of phases outside of blocks, then block by block.
function M.list_phases(pass, blocks)
  local in_blocks = lists.collect(blocks, function(block) return { block.forward, block.backward } end)
  return lists.drop_repeats(lists.collect(lists.join({ pass.train, pass.evaluate }, in_blocks), function(list)
    return lists.get_names(list.phases)
  end))
end

return M
