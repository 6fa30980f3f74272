-- Recurrence: one state for each sequence, which a step computes from the previous state and the step's token.
--
-- The kinds of steps are CELLS, by name; the value of the operation has the states of all steps:
--   words     the name of the cell for `longhand plan`
--   gates     the number of sums for each channel of the state
--   stores    whether training stores values of all steps in addition to the states
--   adds      whether the backward product adds to the gradient of the previous state, instead of storing its result
--   biases    whether the product with the state has a bias, as the map of the token has
--   joined    whether token and state are the input of one map, whose number of rows determines the initial values
--   buffers   a function of the operation: buffers in addition to the value's (buffers.lua): "steps" have rows of all
--             steps in training and of one step in evaluation, "step" have rows of one step
-- Sums of a step are W x + b + U h, where x is the one-hot token, so W x is a row of W. Source: Deletang et al. 2023,
-- "Neural Networks and the Chomsky Hierarchy", and their code.

local lists = require("base.lists")

local M = {}

M.CELLS = {
  rnn = { words = "simple RNN", gates = 1, biases = true, buffers = function(op)
    return { { name = "dlater", form = "step", width = op.out.width, training = true } }
  end },
  lstm = { words = "LSTM", gates = 4, joined = true, stores = true, adds = true, buffers = function(op)
    return { { name = "gates", form = "steps", width = op.sums, comment = "in training, of one step in evaluation" },
      { name = "cells", form = "steps", width = op.out.width, comment = "in training, of one step in evaluation" },
      { name = "dcells", form = "step", width = op.out.width, training = true } }
  end },
}

-- The initial values of a scheme for a weight that is a part of a matrix with this number of rows.
local function make_part_scheme(scheme, rows)
  return lists.merge(scheme, { weight = function(_, columns) return scheme.weight(rows, columns) end })
end

function M.list_buffers(op)
  return M.CELLS[op.cell].buffers(op)
end

-- Appends the states of all steps of a stream: [tokens][WIDTH]. Rows of a network with a recurrence lie step by step,
-- each step with a row for every sequence.
function M.recur(scope, name, stream, cell_name)
  local net, cell = scope.net, M.CELLS[cell_name]
  local width = net.widths.WIDTH
  local sums = cell.gates == 1 and width
    or { count = cell.gates * width.count, text = ("%d * %s"):format(cell.gates, width.text) }
  local joint = net.tokens.count + width.count
  local input = scope:declare({ kind = "linear", name = "input", path = "input", rows = net.tokens, columns = sums,
    init = make_part_scheme(net.initial, cell.joined and joint or net.tokens.count) })
  local recurrent = scope:declare({ kind = "weight", name = "recurrent", tensors = { "recurrent" }, rows = width,
    width = sums, columns = sums, bias = cell.biases or false,
    init = make_part_scheme(net.initial, cell.joined and joint or width.count) })
  net.by_step = true
  return scope:push({ kind = "recur", stream = stream, cell = cell_name, sums = sums, p = recurrent,
    other_parameters = { input } }, name, width)
end

return M
