-- Appends a recurrence to a network: each sequence has a state, which a step computes from the previous state and the
-- step's token. The result of the operation holds the states of all steps.
--
-- The cell of a network is the rule by which a step computes, such as "lstm". A stack or a tape, the memory of some
-- networks, consists of memory cells with CELL numbers each.
-- Sums of a step are W x + b + U h, where x is the one-hot token (so W x is a row of W), and h is the previous state.
-- With a memory, x also has the numbers of the memory cell that the step reads. Source: Deletang et al. 2023, "Neural
-- Networks and the Chomsky Hierarchy", and their code.
-- Fields of M.CELLS[name], the entry of a cell:
--   words            its name for users, which the command `plan` shows
--   gates            the number of sums for each channel of the state
--   has_step_values  whether training stores values of all steps in addition to the states
--   adds_gradient    how the backward pass writes the product that gives the gradient of the previous state: true if it
--                    adds the product to this gradient, nil if it stores the product
--   has_bias         whether the product with the state has a bias, in addition to the bias of the token's map
--   has_joint_init   whether initial values are drawn as for one matrix with the rows of both maps, that of the token
--                    and that of the state; otherwise as for two matrices
--   header           the name of the file of kernels/cpu that computes a step, if it is not "recurrence"
--   heads            for a cell with a memory: a list { name, width } of the values by which a step changes the memory.
--                    One product with the new state computes these values for this step, and the sums of the next step
--   layers           a list of further linear maps, which follow one another. The first reads one of `heads`, after
--                    ReLU; the last computes the value that is written into the memory. Fields of a map:
--     name           the name of its weight
--     from, to       names of its input and output widths
--     unpadded_count   the number of its outputs without padding; nil: there is no padding
--   buffers(op)      returns the list of the operation's buffers (buffers.lua), without the buffer of the result

local lists = require("base.lists")

local M = {}

local CELL = 8 -- the count of numbers in a memory cell
-- The product with the state has a multiple of this number of columns, so that matmul.h divides it into wide panels.
local COLUMN_UNIT = 48
local HIDDEN = 64 -- width of the hidden layers that compute a written value
local VALUE = 16 -- width of a written value: CELL, filled up to whole vectors
-- The end of the generated comment on a buffer of the form "steps"; the comment begins with the shape.
local COMMENT = "in training; rows of one step in evaluation"

-- The width of a buffer that holds a stack. The field `text` computes the size of the stack in C from the sequence's
-- length. The generator knows no length, so the field `count` is the size of one cell (max_cells in buffers.lua).
local function make_stack_width(op)
  return { text = ("count_stack_numbers(w->length, %s)"):format(op.cells and "CELLS" or "w->length"), count = CELL }
end

-- The buffer dlater has the gradient of a state through all later steps. The buffer `cells` has the cell states of an
-- LSTM, and no memory cells.
M.CELLS = {
  rnn = { words = "simple RNN", gates = 1, has_bias = true, buffers = function(op)
    return { { name = "dlater", form = "step", width = op.out.width, training = true } }
  end },
  lstm = { words = "LSTM", gates = 4, has_joint_init = true, has_step_values = true, adds_gradient = true,
    buffers = function(op)
    return { { name = "gates", form = "steps", width = op.sums, comment = COMMENT },
      { name = "cells", form = "steps", width = op.out.width, comment = COMMENT },
      { name = "dcells", form = "step", width = op.out.width, training = true } }
  end },
  stack_rnn = { words = "stack-RNN", gates = 1, has_bias = true, has_step_values = true, header = "memory",
    heads = { { name = "push", width = CELL }, { name = "actions", width = 3 } },
    buffers = function(op)
      local stack, read = make_stack_width(op), { text = "CELL_WIDTH", count = CELL }
      local max_cells = op.cells or math.maxinteger
      return { { name = "heads", form = "steps", width = op.p.columns, comment = COMMENT },
        { name = "stacks", form = "steps", width = stack, max_cells = max_cells, comment = COMMENT },
        { name = "reads", form = "steps", width = read, comment = COMMENT },
        { name = "dlater", form = "step", width = op.out.width, training = true },
        { name = "dstack", form = "step", width = stack, max_cells = max_cells, training = true } }
    end },
  tape_rnn = { words = "tape-RNN", gates = 1, has_bias = true, has_step_values = true, header = "memory",
    heads = { { name = "write_1", width = HIDDEN }, { name = "actions", width = 5 } },
    layers = { { name = "write_2", from = "HIDDEN_CHANNELS", to = "HIDDEN_CHANNELS" },
      { name = "write_3", from = "HIDDEN_CHANNELS", to = "VALUE_COLUMNS", unpadded_count = CELL } },
    buffers = function(op)
      local tape, read = { text = "CELLS * CELL_WIDTH", count = op.cells * CELL }, { text = "CELL_WIDTH", count = CELL }
      local hidden, value = op.layers[1].rows, op.layers[2].columns
      return { { name = "heads", form = "steps", width = op.p.columns, comment = COMMENT },
        { name = "tapes", form = "steps", width = tape, comment = COMMENT },
        { name = "spare_tape", form = "step", width = tape },
        { name = "reads", form = "steps", width = read, comment = COMMENT },
        { name = "hidden_1", form = "steps", width = hidden, comment = COMMENT },
        { name = "hidden_2", form = "steps", width = hidden, comment = COMMENT },
        { name = "written", form = "steps", width = value, comment = COMMENT },
        { name = "dlater", form = "step", width = op.out.width, training = true },
        { name = "dhidden_1", form = "step", width = hidden, training = true },
        { name = "dhidden_2", form = "step", width = hidden, training = true },
        { name = "dtape", form = "step", width = tape, training = true } }
    end },
}

-- Copies a scheme (initial.lua) for a weight that is a part of a larger matrix. rows: the number of the matrix's rows.
local function make_part_scheme(scheme, rows)
  return lists.merge(scheme, { weight = function(_, columns) return scheme.weight(rows, columns) end })
end

function M.list_buffers(op)
  return M.CELLS[op.cell].buffers(op)
end

-- Returns three results for the product with the state:
--   its width
--   the names of the tensors that lie side by side in its weight: one for the sums, and one for each head
--   the numbers of columns of these tensors
local function describe_state_product(net, cell, sums)
  local tensors, widths, count = { "recurrent" }, { sums.count }, sums.count
  for i, head in ipairs(cell.heads or {}) do
    tensors[i + 1], widths[i + 1], count = head.name, head.width, count + head.width
  end
  local padded_count = (count + COLUMN_UNIT - 1) // COLUMN_UNIT * COLUMN_UNIT
  return cell.heads and net:width("RECURRENT_COLUMNS", padded_count) or sums, tensors, widths
end

-- Declares the linear maps in `layers` of a cell; returns their parameters.
local function declare_layers(scope, cell)
  local net = scope.net
  local widths = cell.layers and { HIDDEN_CHANNELS = net:width("HIDDEN_CHANNELS", HIDDEN),
    VALUE_COLUMNS = net:width("VALUE_COLUMNS", VALUE) }
  return lists.map(cell.layers or {}, function(layer)
    return scope:declare({ kind = "weight", name = layer.name, tensors = { layer.name }, rows = widths[layer.from],
      width = widths[layer.to], columns = widths[layer.to], unpadded_count = layer.unpadded_count, bias = true,
      init = net.initial })
  end)
end

-- Appends a recurrence and returns the states of all steps of a stream: [tokens][WIDTH]. In a network with a
-- recurrence, rows lie step by step: each step has a row for every sequence. cells: the number of memory cells; nil for
-- a stack with a memory cell for every step.
function M.recur(scope, name, stream, cell_name, cells)
  local net, cell = scope.net, M.CELLS[cell_name]
  local width = net.widths.WIDTH
  local sums = cell.gates == 1 and width
    or { count = cell.gates * width.count, text = ("%d * %s"):format(cell.gates, width.text) }
  local joint_rows = net.tokens.count + width.count -- rows of both maps together
  local input_rows = net.tokens.count + (cell.heads and CELL or 0) -- rows of the map that reads x
  local scheme = make_part_scheme(net.initial, cell.has_joint_init and joint_rows or input_rows)
  local input_parameters = { scope:declare({ kind = "linear", name = "input", path = "input", rows = net.tokens,
    columns = sums, init = scheme }) }
  if cell.heads then
    net.cell_width = CELL
    -- The kind "facet" is an array without rows and bias, as facets declare them.
    input_parameters[2] = scope:declare({ kind = "facet", name = "read", size = "CELL_WIDTH * " .. width.text,
      tensors = { { "read.weight", { CELL, width.count }, scheme.weight(CELL, width.count) } } })
  end
  local columns, tensors, widths = describe_state_product(net, cell, sums)
  local recurrent = scope:declare({ kind = "weight", name = "recurrent", tensors = tensors, rows = width,
    widths = widths, columns = columns, bias = cell.has_bias or false,
    init = make_part_scheme(net.initial, cell.has_joint_init and joint_rows or width.count) })
  local layers = declare_layers(scope, cell)
  net.is_step_major = true
  local weight_sizes = { { width.count, lists.sum(widths, function(count) return count end) },
    cell.heads and { CELL, width.count } or nil }
  for _, layer in ipairs(layers) do
    weight_sizes[#weight_sizes + 1] = { layer.rows.count, layer.unpadded_count or layer.columns.count }
  end
  return scope:push({ kind = "recur", stream = stream, cell = cell_name, cells = cells, sums = sums, p = recurrent,
    other_parameters = lists.join(input_parameters, layers), layers = layers,
    weight_sizes = weight_sizes, header = cell.header }, name, width)
end

return M
