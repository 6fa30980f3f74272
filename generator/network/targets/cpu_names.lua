-- Names in generated code for the CPU: functions, and places of values.
--
-- Input: the state of cpu_network.lua, a scope, a value. Output: text.

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local cpu_buffers = require("network.targets.cpu_buffers")

local M = {}

-- Functions of kernels/cpu whose names could collide with functions named after values.
local KERNEL_NAMES = lists.find_all([[layer_norm rms_norm norm_row rms_row bias dropout class matmul_weight tied_class
  add_branch add_row add_norm add_norm_sum add_dropout_norm add_dropout_norm_sum rms_add_norm rms_add_norm_sum
  rms_add_dropout_norm rms_add_dropout_norm_sum]], "%S+")

-- The set of the names of kernels, which functions of a generated file may not have.
function M.list_kernel_names()
  local names = lists.join(KERNEL_NAMES, {})
  for _, operation in next, ops.list_row_operations() do
    for kind in next, operation.kinds do
      names[#names + 1] = operation.choose_kernel({ activation = kind })
    end
  end
  return lists.to_set(lists.collect(names, function(name) return { name, name .. "_grad" } end))
end

-- Texts for a scope's records. Prefixes of names: w, of the workspace; kept, of the layer's state; p, of parameters; g,
-- of gradients; panels, of panels of weights; selection, of the rows that a repetition computes. Arguments: self, the
-- workspace; if the CPU omits unused rows (cpu_rows.lua), also all (all tokens) and part (the tokens that this
-- repetition computes), else false.
function M.make_scope_text(cpu, scope)
  local text = scope == cpu.net
    and { w = "w.", self = "&w", kept = "w.", p = "p->", g = "g->",
      panels = ("w.%s->"):format(cpu.panels_member), selection = "w.read." }
    or { w = "w->", self = "w", kept = "s->", p = "p->", g = "g->", panels = "panels->", selection = "part->" }
  text.all = cpu.part and (scope == cpu.net and "&w.all" or "&w->all") or false
  text.part = cpu.part and (scope == cpu.net and "&w.read" or "part") or false
  return text
end

-- The number of a block's repetitions in a step, as text. w: the prefix of the workspace's members.
function M.write_uses(block, w)
  return block.has_passes and ("%spasses * %s"):format(w, block.count_name) or block.uses
end

-- Texts for the records of a list's entry (calls.lua), with the numbers of rows and tokens that the entry computes.
function M.make_entry_text(cpu, scope_text, entry, place)
  local value = (entry.op or entry).out or entry.to
  local prefix = scope_text.is_partial and scope_text.selection
    or scope_text.w .. cpu_buffers.get_prefix(cpu.net, value.stream)
  local with_rows = setmetatable({ rows = prefix .. "rows", tokens = prefix .. "tokens" }, { __index = scope_text })
  return calls.make_text(with_rows, entry, place)
end

-- The place of a block's value in the forward or the backward pass, as text.
local function place_in_block(cpu, scope, text, value, is_backward)
  if value.external then
    return text.w .. value.name
  elseif value == scope.entry then
    return is_backward and "s->input" or "input"
  elseif value == scope.last then
    return "output"
  end
  return (cpu.buffers.scopes[scope].read[value] and text.kept or text.w) .. value.name
end

-- The place of a value of the network, as text. A value that only one block reads, as its input, is in the place that
-- the block's first repetition reads; a block's result that is read once is in the `output` of its width and stream.
-- mode: "train" or "evaluate".
local function place_in_network(cpu, value, mode)
  if not value.carried then
    return "w." .. value.name
  end
  local block = value.carried.block
  return mode == "train" and block and cpu.buffers.scopes[block].read[block.entry]
    and ("w.%s[0].input"):format(block.name) or "w." .. buffers.name_for_stream("output", value)
end

-- Makes a function that gives the place of a scope's value, as text. mode: "train" or "evaluate" for the network,
-- "back" for a block's backward pass, "forward" for its forward pass.
function M.make_placer(cpu, scope, text, mode)
  return function(value)
    return scope == cpu.net and place_in_network(cpu, value, mode)
      or place_in_block(cpu, scope, text, value, mode == "back")
  end
end

return M
