-- Makes the records of products that device code divides among warps, alone or in chains (chains.lua). Generated code
-- has a function for each size of products. If device.choices.by_team is true, products store their operands, and the
-- team (all thread blocks of a model) sums the gradients of weights from these operands.
--
-- Input: the table `device` (make_state of cuda_network.lua), texts by role (cuda_records.lua), an operation or an
-- entry of a backward list. Output: records (cuda_records.lua). Only training stores operands and reads rounded
-- weights, so a block may have two forward records for a product: one for training, one for evaluation.

local calls = require("network.targets.calls")
local lists = require("base.lists")
local ops = require("network.graph.ops")
local repetitions = require("network.targets.repetitions")

local M = {}

-- The name of a product, which is unique in the network.
local function name_product(device, op)
  return op.scope == device.net and op.weight or op.scope.name .. "_" .. op.weight
end

-- C text of the address at which a shard (the part of the batch that a thread block computes) stores an operand of a
-- product for the team; nil if the shard stores none. operand: "x" or "dy". In a block, rows_before counts the rows of
-- earlier repetitions, whose operands lie first.
local function write_operand_address(device, op, operand)
  if not device.choices.by_team then
    return nil
  end
  local first_address = ("block()->held.%s_%s"):format(name_product(device, op), operand)
  return op.scope == device.net and first_address or ("%s + block()->%s * %s"):format(first_address,
    (device.variables[op.x.stream].T:gsub("^T", "rows_before")),
    operand == "x" and op.x.width.text or op.out.width.text)
end

-- C text that selects the struct with an operation's weight. Training reads the struct with rounded copies, if there is
-- one, and evaluation the struct of parameters.
local function name_weights(device, text, op, training)
  return training and device.rounds and (op.scope == device.net and "" or op.scope.name .. "_") .. "rounded()->"
    or text.p
end

-- The name of a function, or of its variant for evaluation.
local function name_in_mode(training, name)
  return training and name or name .. "_in_evaluation"
end

-- The records of an operation; make(training) returns the record for one mode. A block's function serves both modes, so
-- a block has a record for each mode, with a condition.
local function make_for_modes(device, op, training, make)
  if op.scope == device.net then
    return make(training)
  end
  return lists.merge(make(true), { condition = "training" }), lists.merge(make(false), { condition = "else" })
end

-- The kinds of operations that may follow the first product of a chain.
local ACTIVATIONS = { activation = true, gate = true }

-- The only operation of a list, if it is a product without relu and dropout; nil in other cases.
local function find_only_product(operations)
  local op = operations and #operations == 1 and operations[1]
  return op and op.kind == "product" and not op.has_relu and not op.dropout and op or nil
end

-- Fills device.rounded_values: value -> entry, for the values that are rounded when they are computed. An attention is
-- "in fragments" if matrix units compute it. The rounded values are:
--   the result of a product, if only an attention in fragments reads it;
--   the result of an attention in fragments, if only a product reads it, except a product that may begin a chain.
-- The first columns of a value may be queries, which are also multiplied by a factor. An entry is empty if its
-- value has no queries, and else has the fields:
--   scaled   C text of the number of these columns
--   scale    C text of the factor
function M.find_rounded_values(device)
  local readers, makers = {}, {}
  for _, scope in ipairs(device.choices.rounds and device.net.order or {}) do
    for _, op in ipairs(device.lists[scope].forward) do
      for _, value in ipairs(ops.list_read(op)) do
        lists.append_to(readers, value, op)
      end
      lists.append_to(makers, op.out or false, op)
    end
  end
  for _, op in ipairs(ops.find_all(device.net, "attention")) do
    local family, q, kv, attended = op.family, op.q, op.kv, op.out
    local is_only_reader = readers[q] and readers[kv] and #readers[q] == 1 and #readers[kv] == 1
    if family.attends.in_fragments and family.rotation.kind ~= "rope" and is_only_reader
      and find_only_product(makers[q]) and find_only_product(makers[kv]) then
      device.rounded_values[kv] = {}
      device.rounded_values[q] = { scaled = "WIDTH", scale = family.PREFIX .. "LOGIT_SCALE" .. family.attends.to_log2 }
    end
    local reader = find_only_product(readers[attended])
    local may_begin_chain = reader and lists.any(readers[reader.out] or {}, function(next_op)
      return ACTIVATIONS[next_op.kind]
    end)
    if family.attends.in_fragments and attended ~= op.scope.output_value and reader and not may_begin_chain then
      device.rounded_values[attended] = {}
    end
  end
end

-- C text, "true" or "false": whether the gradients in a buffer are rounded, as products round their operands.
local function write_is_rounded(device, buffer)
  return tostring(device.rounded[buffer] == true)
end

-- Updates device.rounded, the set of the buffers whose gradients are rounded at this point of the backward pass:
--   dropout rounds the gradients of a branch (norm_quads.cu);
--   attention in fragments rounds the gradients of rounded queries, keys and values.
function M.note_rounded(device, entry)
  for _, field in ipairs({ "to", "dbranch", "dq", "dkv", "dcontribution", "dhidden" }) do
    device.rounded[entry[field] or false] = nil
  end
  device.rounded[entry.dbranch or entry.kind == "dropout_grad" and entry.op.branch and entry.to or false] = true
  if entry.kind == "attention_grad" and device.rounded_values[entry.op.q] then
    device.rounded[entry.dq], device.rounded[entry.dkv] = true, true
  end
end

-- C text of the form of a product's result (product_warps.cu): the epilogue `finish`, whether the result is rounded,
-- the number of scaled columns, and their factor. value: the result, or the value whose gradient is the result.
local function write_form(device, value, finish, is_gradient)
  local rounding = device.rounded_values[value]
  local scaled_columns = rounding and not is_gradient and rounding.scaled
  return rounding and ("{%s, true, %s, %s}"):format(finish, scaled_columns or 0, scaled_columns and rounding.scale or 1)
    or ("unrounded(%s)"):format(finish)
end

-- The name of the function for products of one size.
--   fields    the variables of templates/cuda/rows/product.tpl; `name` contains %s for both sizes
--   k         C text of the number of terms of each sum
--   columns   C text of the number of sums in a row of the result
local function find_product_function(device, fields, k, columns)
  local sizes = ("%s_to_%s"):format(k, columns):lower():gsub("%W+", "_")
  local name = fields.name:format(sizes)
  local key = table.concat({ name, fields.form, fields.extra or "", fields.x_rounded }, " ")
  return calls.find_function(device.rows, key, name,
    lists.merge(fields, { template = "cuda/rows/product.tpl", k = k, columns = columns }))
end

local function make_product_in_mode(device, text, op, training)
  local bias, operand = device.adds_bias(op), training and write_operand_address(device, op, "x") or false
  local finish = op.has_relu and "FINISH_BIAS_RELU" or bias and "FINISH_BIAS" or "FINISH_STORE"
  return { call = "routine(rows, x, operand, weight, bias, out)", operand = operand,
    weight = name_weights(device, text, op, training) .. op.weight, bias = bias and text.p .. op.weight .. "_bias",
    routine = find_product_function(device, { name = name_in_mode(training or not device.choices.by_team, "product_%s"),
      order = "ROWS", stores_operand = operand ~= false, x_rounded = tostring(device.rounded_values[op.x] ~= nil),
      rounded = tostring(training and device.rounds), extra = bias and "bias", finish = finish,
      form = write_form(device, op.out, finish) }, op.x.width.text, op.out.width.text) }
end

function M.make_product(device, text, op, training)
  if not device.choices.by_team then
    return make_product_in_mode(device, text, op, false)
  end
  return make_for_modes(device, op, training, function(mode) return make_product_in_mode(device, text, op, mode) end)
end

function M.make_input_grad(device, text, entry)
  local op, operand = entry.op, write_operand_address(device, entry.op, "dy") or false
  local finish = entry.rectified_value and "FINISH_RELU_GRAD" or entry.is_added and "FINISH_ADD" or "FINISH_STORE"
  return { call = "routine(rows, dy, operand, weight, other, to)", operand = operand,
    other = entry.rectified_value and text.x or entry.is_added and text.to,
    weight = name_weights(device, text, op, true) .. op.weight,
    routine = find_product_function(device, { name = "product_%s_grad", order = "COLUMNS",
      stores_operand = operand ~= false, x_rounded = write_is_rounded(device, entry.dy),
      rounded = tostring(device.rounds),
      extra = entry.rectified_value and "x" or entry.is_added and "other", finish = finish,
      form = write_form(device, op.x, finish, true) }, op.out.width.text, op.x.width.text) }
end

-- Adds a product to device.operands. templates/cuda/weights.tpl prints how the team sums gradients for these products.
-- Fields of the entry, C texts unless another type is given:
--   name               the product's name
--   rows, T            the number of rows of all sequences, and of one sequence
--   repetitions_text   the number of repetitions in training
--   count              the number of layers; false outside of blocks
--   loops              the number of passes
--   first_row          the number of rows before those of layer l in the first pass
--   pass_rows          the number of rows of all layers of a pass; "0" if there is one pass
--   weight, bias       the names of the parameters; bias: false if there is none
--   dweight, dbias     the addresses of their gradients
--   inner, columns     the numbers of rows and of columns of the weight
--   variables, scope   the variables of the stream, and the scope: only for cuda_network.lua
function M.sum_by_team(device, op)
  local scope, variables = op.scope, device.variables[op.x.stream]
  local is_outside = scope == device.net
  local rows_before = is_outside and "0" or ("count_rows_before(l, b->view.%s)"):format(variables.T)
  local gradient_prefix, bias = is_outside and "g->" or ("g->%s[l]."):format(scope.name), device.adds_bias(op)
  table.insert(device.operands, { name = name_product(device, op), variables = variables, rows = variables.rows,
    T = variables.T, repetitions_text = scope.repetitions_text, count = not is_outside and scope.count_name,
    loops = scope.has_passes and repetitions.PASSES or scope.loops,
    first_row = rows_before,
    pass_rows = scope.loops > 1 and ("(int)count_rows_before(%s, b->view.%s)"):format(scope.count_name, variables.T)
      or "0", scope = scope, weight = op.weight, bias = bias and op.weight .. "_bias" or false,
    dweight = gradient_prefix .. op.weight, dbias = bias and gradient_prefix .. op.weight .. "_bias" or "NULL",
    inner = op.x.width.text, columns = op.out.width.text })
end

-- The name of the function for a chain, or for the chain's gradients. fields: the variables of the template, with
--   name     a format for the kernel's name
--   ending   the last part of the template's name
local function find_chain_function(device, chain, fields)
  local ending = (chain.is_gated and "_gate" or "") .. fields.ending
  local record = lists.merge(fields, { template = ("cuda/rows/chain%s.tpl"):format(ending), kernel = chain.kernel,
    inner = chain.x.width.text, channels = chain.hidden.width.text, outer = chain.out.width.text })
  local name = fields.name:format(chain.kernel .. ending)
  local key = { name, record.inner, record.channels, record.outer, tostring(fields.biased),
    tostring(fields.next_biased), fields.x_rounded }
  return calls.find_function(device.rows, table.concat(key, " "), name, record)
end

local function make_chain_in_mode(device, text, chain, training)
  local first_op, last_op = chain.first, chain.last
  local has_bias = device.adds_bias(first_op) and true or false
  local has_next_bias = device.adds_bias(last_op) and true or false
  local weights = name_weights(device, text, first_op, training)
  return { call = "routine(rows, x, operand, weight, bias, next_weight, next_bias, sum, hidden, out)",
    routine = find_chain_function(device, chain, { name = name_in_mode(training, "chain_%s"), ending = "",
      biased = has_bias, next_biased = has_next_bias, stores_operand = training and device.choices.by_team,
      stores = training, x_rounded = "false", rounded = tostring(training and device.rounds) }),
    operand = training and write_operand_address(device, first_op, "x") or false,
    sum = training and text.sum, hidden = training and (write_operand_address(device, last_op, "x") or text.hidden),
    weight = weights .. first_op.weight, bias = has_bias and text.p .. first_op.weight .. "_bias",
    next_weight = weights .. last_op.weight, next_bias = has_next_bias and text.p .. last_op.weight .. "_bias" }
end

-- The records of a chain. Hidden values are stored only in training, for the backward pass.
function M.make_chain(device, text, chain, training)
  return make_for_modes(device, chain.first, training, function(mode)
    return make_chain_in_mode(device, text, chain, mode)
  end)
end

function M.make_chain_grad(device, text, entry)
  local chain = entry.op
  local weights = name_weights(device, text, chain.first, true)
  return { call = "routine(rows, dy, operand, next_weight, values, weight, other, dhidden, to)",
    routine = find_chain_function(device, chain, { name = "chain_%s", ending = "_grad",
      stores_operand = device.choices.by_team, x_rounded = write_is_rounded(device, entry.dy),
      rounded = tostring(device.rounds) }),
    operand = write_operand_address(device, chain.last, "dy") or false, next_weight = weights .. chain.last.weight,
    values = chain.sum and text.sum or write_operand_address(device, chain.last, "x") or text.hidden,
    dhidden = write_operand_address(device, chain.first, "dy") or text.dhidden, weight = weights .. chain.first.weight,
    other = entry.is_added and text.to or "NULL" }
end

return M
