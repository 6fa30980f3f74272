-- Writes names in generated code for the CPU: names of functions, and places of values. The place of a value is the C
-- text of a pointer to its rows, such as "w->embedding".
--
-- Input: the table `cpu` (M.derive of cpu_network.lua), a scope, a value. Output: text.

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local repetitions = require("network.targets.repetitions")
local scope_lists = require("network.lists.scope_lists")
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

-- Texts for the records of a scope's calls (cpu_records.lua). mode: see M.make_placer. The network's function contains
-- the calls of groups. Fields that are prefixes, to which names of members are appended:
--   w              members of the workspace
--   state_prefix   members of the layer's state
--   p              parameters
--   g              gradients of parameters
--   panels         panels of weights
--   selection      members of the selection of rows that a repetition computes
-- Fields that are arguments:
--   self           the workspace
--   all            the selection of all tokens; false if the CPU computes all rows (cpu_rows.lua)
--   part           the selection of the tokens that the current repetition computes; false if the CPU computes all rows
function M.make_scope_text(cpu, scope, mode)
  local is_block = scope ~= cpu.net and not scope.is_group
  local text = is_block
    and { w = "w->", self = "w", state_prefix = "s->", p = "p->", g = "g->", panels = "panels->", selection = "part->" }
    or { w = "w.", self = "&w", state_prefix = "w.", p = "p->", g = "g->",
      panels = ("w.%s->"):format(cpu.panels_member), selection = "w.read." }
  if scope.is_group then
    text.state_prefix = ("w.%s[%s]."):format(scope.name, mode == "train" and scope.index or "0")
    text.selection = "part->"
  end
  text.all = cpu.labelled_rows and (is_block and "&w->all" or "&w.all") or false
  text.part = cpu.labelled_rows and (scope == cpu.net and "&w.read" or "part") or false
  return text
end

-- Returns the range of repetitions of a block or a group in one repetition of its parent. Three indices as text:
--   the first index
--   the index after the last one
--   the current index: the variable l; or the first index, if a group's repetition runs the block once
-- is_backward: whether the range omits free passes (passes without gradient at the beginning of a step).
function M.write_range(block, is_backward)
  local first, past = repetitions.write_range(block, "w.passes")
  if not block.parent.is_group then
    local omits_free_passes = is_backward and block.is_progressive
    return omits_free_passes and repetitions.write_count(block, "w.free_passes") or first, past, "l"
  end
  return first, past, block.times == 1 and first or "l"
end

-- Texts for the records of a list's entry (calls.lua), among them the numbers of rows and of tokens that the entry
-- computes. place_value: a function that returns the place of a value.
function M.make_entry_text(cpu, scope_text, entry, place_value)
  local value = (entry.op or entry).out or entry.to
  local prefix = scope_text.is_partial and scope_text.selection
    or scope_text.w .. cpu_buffers.get_prefix(cpu.net, value.stream)
  local with_rows = setmetatable({ rows = prefix .. "rows", tokens = prefix .. "tokens" }, { __index = scope_text })
  return calls.make_text(with_rows, entry, place_value)
end

-- The place of a block's value in the block's forward or backward function.
local function write_address_in_block(cpu, scope, text, value, is_backward)
  if value.external then
    return text.w .. value.name
  elseif value == scope.input_value then
    return is_backward and "s->input" or "input"
  elseif value == scope.output_value then
    return "output"
  end
  return (cpu.buffers.scopes[scope].read_backward[value] and text.state_prefix or text.w) .. value.name
end

-- Whether each repetition of a block has a buffer for its input.
function M.keeps_input(cpu, block, mode)
  return mode == "train" and cpu.buffers.scopes[block].read_backward[block.input_value] or false
end

-- The place of the input of a block or a group in repetition `index` of `scope`.
--   scope   a scope around the block, or the group itself
--   value   a value with the input's width and stream
local function place_input(cpu, block, scope, index, value, mode)
  local storing_block = scope_lists.find_block_storing_input(block)
  return M.keeps_input(cpu, storing_block, mode)
    and ("w.%s[%s].input"):format(storing_block.name, repetitions.write_first_index(storing_block, scope, index))
    or "w." .. buffers.name_for_stream("output", value)
end

local write_address_outside

-- The place of a group's input. The first repetition reads a value of the group's parent. Later repetitions read the
-- output of the repetition before.
local function place_group_input(cpu, group, mode)
  local place = place_input(cpu, group, group, group.index, group.input_value, mode)
  local first_place = write_address_outside(cpu, group.parent, group.outer_input, mode)
  local is_stored = M.keeps_input(cpu, scope_lists.find_block_storing_input(group), mode)
  local is_same_in_all_repetitions = is_stored or group.outer_input.carried
  local first = M.write_range(group)
  return is_same_in_all_repetitions and place
    or ("%s > %s ? %s : %s"):format(group.index, first, place, first_place)
end

-- The place of the input of a group's next repetition, which is the output of the current one.
local function place_next_input(cpu, group, mode)
  return place_input(cpu, group, group, ("(%s + 1)"):format(group.index), group.output_value, mode)
end

-- The place of a group's output: the place of the next repetition's input, and for the last repetition the place of the
-- group's result.
local function place_group_output(cpu, group, mode)
  local place = place_next_input(cpu, group, mode)
  local last_place = write_address_outside(cpu, group.parent, group.result, mode)
  local _, past = M.write_range(group)
  return place == last_place and place or ("%s + 1 < %s ? %s : %s"):format(group.index, past, place, last_place)
end

-- The record of all repetitions of the group op.block. losses is false, or if a loss follows each repetition:
--   in a forward list    true
--   in a backward list   the name of the function that adds the gradient of this loss
function M.make_group(cpu, text, op, is_backward, losses)
  local group = op.block
  local first, past = M.write_range(group, is_backward)
  return { template = ("cpu/op/%s.tpl"):format(group.name), first = first, past = past, is_backward = is_backward,
    losses = losses and { tokens = text.tokens, routine = losses,
      -- `output` is read after every repetition except the last one, whose loss is the loss of the network
      output = place_next_input(cpu, group, "train"),
      gradient = "w." .. buffers.name_for_stream("gradient", op.out) } or false }
end

-- The place of a value of the network or of a group. mode: "train" or "evaluate". A carried value (scope_lists.lua) is
-- in a block's input or in the stream's output.
function write_address_outside(cpu, scope, value, mode)
  if scope.is_group and value == scope.input_value then
    return place_group_input(cpu, scope, mode)
  elseif scope.is_group and value == scope.output_value then
    return place_group_output(cpu, scope, mode)
  elseif not value.carried then
    local is_kept = scope.is_group and cpu.buffers.scopes[scope].read_backward[value]
    return (is_kept and M.make_scope_text(cpu, scope, mode).state_prefix or "w.") .. value.name
  end
  return value.carried.block and place_input(cpu, value.carried.block, scope, scope.index, value, mode)
    or "w." .. buffers.name_for_stream("output", value)
end

-- Makes a function that returns the place of a scope's value. mode:
--   for the network and groups   "train" or "evaluate"
--   for a block                  "forward" in its forward function, "back" in its backward function
function M.make_placer(cpu, scope, text, mode)
  return function(value)
    return (scope == cpu.net or scope.is_group) and write_address_outside(cpu, scope, value, mode)
      or write_address_in_block(cpu, scope, text, value, mode == "back")
  end
end

return M
