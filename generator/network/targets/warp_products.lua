-- Records of products that are cut by warp, alone or in chains (chains.lua). Each size has its own function. With
-- given.by_team, products store operands for the team, all blocks of threads of a model, to sum gradients of weights.
--
-- Input: the state of cuda_network.lua (device), the names that a record needs (at), an operation or an entry of a
-- backward list. Output: records as in cuda_records.lua. In a block of the network, forward records come in pairs if
-- training and evaluation have different functions: only training stores operands and reads rounded weights.

local calls = require("network.targets.calls")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local function name_operands(device, op)
  return op.scope == device.net and op.weight or op.scope.name .. "_" .. op.weight
end

-- The address at which a shard stores an operand of a product for the team, "x" or "dy"; nil if it stores none. In a
-- block, the operand of a use lies `rows_before` rows after the operand of the first use.
local function write_operand_address(device, op, side)
  if not device.given.by_team then
    return nil
  end
  local first = ("block()->held.%s_%s"):format(name_operands(device, op), side)
  return op.scope == device.net and first or ("%s + block()->%s * %s"):format(first,
    (device.words[op.x.stream].T:gsub("^T", "rows_before")), side == "x" and op.x.width.text or op.out.width.text)
end

-- The struct of an operation's weights: in training, the struct of rounded copies if there is one.
local function name_weights(device, at, op, training)
  return training and device.rounds and (op.scope == device.net and "" or op.scope.name .. "_") .. "rounded()->" or at.p
end

local function name_in_mode(training, name)
  return training and name or name .. "_in_evaluation"
end

-- make(training) returns a record. In a block, whose function has a variable for the mode, the result is the records of
-- both modes; elsewhere the record of the pass's mode.
local function make_for_modes(device, op, training, make)
  if op.scope == device.net then
    return make(training)
  end
  return lists.merge(make(true), { asked = "training" }), lists.merge(make(false), { asked = "else" })
end

local ACTIVATIONS = { activation = true, gate = true } -- a product before one can begin a chain, which rounds nothing

-- The product that alone makes or alone reads a value, if the value is stored as the product makes it.
local function find_only_product(list)
  local op = list and #list == 1 and list[1]
  return op and op.kind == "product" and not op.relu and not op.dropout and op or nil
end

-- Finds values that products write for attention in fragments, or attention for a product, and that nothing else reads:
-- their writers round them.
-- Fills device.rounded_values: value -> { scaled, scale }, where the first `scaled` columns, the queries, are also
-- multiplied by `scale`; {} for values that are only rounded.
function M.find_rounded_values(device)
  local readers, makers = {}, {}
  for _, scope in ipairs(device.given.rounds and device.net.order or {}) do
    for _, op in ipairs(device.lists[scope].forward) do
      for _, value in ipairs(ops.list_read(op)) do
        lists.append_to(readers, value, op)
      end
      lists.append_to(makers, op.out or false, op)
    end
  end
  for _, op in ipairs(ops.find_all(device.net, "attention")) do
    local family, q, kv, attended = op.family, op.q, op.kv, op.out
    local alone = readers[q] and readers[kv] and #readers[q] == 1 and #readers[kv] == 1
    if family.attends.in_fragments and family.rotation.kind ~= "rope" and alone and find_only_product(makers[q])
      and find_only_product(makers[kv]) then
      device.rounded_values[kv] = {}
      device.rounded_values[q] = { scaled = "WIDTH", scale = family.PREFIX .. "LOGIT_SCALE" .. family.attends.to_log2 }
    end
    local reader = find_only_product(readers[attended])
    local activated = reader and lists.any(readers[reader.out] or {}, function(one) return ACTIVATIONS[one.kind] end)
    if family.attends.in_fragments and attended ~= op.scope.last and reader and not activated then
      device.rounded_values[attended] = {}
    end
  end
end

-- Whether the last operation that wrote a buffer of gradients rounded it as products do, as text.
local function is_rounded(device, buffer)
  return tostring(device.rounded[buffer] == true)
end

-- Records which gradients a backward operation leaves rounded: dropout rounds the gradients of a branch
-- (norm_quads.cu), and attention in fragments the gradients of rounded queries, keys and values.
function M.note_rounded(device, b)
  for _, role in ipairs({ "to", "dbranch", "dq", "dkv", "dcontribution", "dhidden" }) do
    device.rounded[b[role] or false] = nil
  end
  device.rounded[b.dbranch or b.kind == "dropout_grad" and b.op.branch and b.to or false] = true
  if b.kind == "attention_grad" and device.rounded_values[b.op.q] then
    device.rounded[b.dq], device.rounded[b.dkv] = true, true
  end
end

-- The form of a product's result (product_warps.cu) with an epilogue (finish); value: the value that the result is, or
-- whose gradient it is.
local function write_form(device, value, finish, of_gradient)
  local rounded = device.rounded_values[value]
  local scaled = rounded and not of_gradient and rounded.scaled
  return rounded and ("{%s, true, %s, %s}"):format(finish, scaled or 0, scaled and rounded.scale or 1)
    or ("unrounded(%s)"):format(finish)
end

-- The name of the function for products of a size, k to columns. about: { name, order, finish, form, extra, keeps,
-- x_rounded, rounded }, the fields that templates/cuda/rows/product.tpl reads.
local function find_product_function(device, about, k, columns)
  local sizes = ("%s_to_%s"):format(k, columns):lower():gsub("%W+", "_")
  local name = about.name:format(sizes)
  local key = table.concat({ name, about.form, about.extra or "", about.x_rounded }, " ")
  return calls.find_function(device.rows, key, name,
    lists.merge(about, { template = "cuda/rows/product.tpl", k = k, columns = columns }))
end

local function make_product_in_mode(device, at, op, training)
  local bias, operand = device.adds_bias(op), training and write_operand_address(device, op, "x") or false
  local finish = op.relu and "FINISH_BIAS_RELU" or bias and "FINISH_BIAS" or "FINISH_STORE"
  return { call = "routine(rows, x, operand, weight, bias, out)", operand = operand,
    weight = name_weights(device, at, op, training) .. op.weight, bias = bias and at.p .. op.weight .. "_bias",
    routine = find_product_function(device, { name = name_in_mode(training or not device.given.by_team, "product_%s"),
      order = "ROWS", keeps = operand ~= false, x_rounded = tostring(device.rounded_values[op.x] ~= nil),
      rounded = tostring(training and device.rounds), extra = bias and "bias", finish = finish,
      form = write_form(device, op.out, finish) }, op.x.width.text, op.out.width.text) }
end

function M.make_product(device, at, op, training)
  if not device.given.by_team then
    return make_product_in_mode(device, at, op, false)
  end
  return make_for_modes(device, op, training, function(mode) return make_product_in_mode(device, at, op, mode) end)
end

function M.make_input_grad(device, at, b)
  local op, operand = b.op, write_operand_address(device, b.op, "dy") or false
  local finish = b.relu and "FINISH_RELU_GRAD" or b.adds and "FINISH_ADD" or "FINISH_STORE"
  return { call = "routine(rows, dy, operand, weight, other, to)", operand = operand,
    other = b.relu and at.x or b.adds and at.to, weight = name_weights(device, at, op, true) .. op.weight,
    routine = find_product_function(device, { name = "product_%s_grad", order = "COLUMNS", keeps = operand ~= false,
      x_rounded = is_rounded(device, b.dy), rounded = tostring(device.rounds),
      extra = b.relu and "x" or b.adds and "other", finish = finish,
      form = write_form(device, op.x, finish, true) }, op.out.width.text, op.x.width.text) }
end

-- Notes a product for the team, which sums the gradient of its weights over the batch (templates/cuda/weights.tpl).
function M.sum_by_team(device, op)
  local scope, words = op.scope, device.words[op.x.stream]
  local outside = scope == device.net
  local before = outside and "0" or ("count_rows_before(l, b->view.%s)"):format(words.T)
  local to, bias = outside and "g->" or ("g->%s[l]."):format(scope.name), device.adds_bias(op)
  table.insert(device.operands, { name = name_operands(device, op), words = words, rows = words.rows, T = words.T,
    uses = scope.uses, count = not outside and scope.count_name, loops = scope.loops, before = before,
    between = scope.loops > 1 and ("(int)count_rows_before(%s, b->view.%s)"):format(scope.count_name, words.T) or "0",
    scope = scope, weight = op.weight, bias = bias and op.weight .. "_bias" or false, dweight = to .. op.weight,
    dbias = bias and to .. op.weight .. "_bias" or "NULL", inner = op.x.width.text, columns = op.out.width.text })
end

-- The name of the function for a chain, or for its gradients. form: { name, ending (of the template), biased,
-- next_biased, keeps, x_rounded, rounded, stores }.
local function find_chain_function(device, chain, form)
  local ending = (chain.gated and "_gate" or "") .. form.ending
  local about = lists.merge(form, { template = ("cuda/rows/chain%s.tpl"):format(ending), kernel = chain.kernel,
    inner = chain.x.width.text, channels = chain.hidden.width.text, outer = chain.out.width.text })
  local name = form.name:format(chain.kernel .. ending)
  local key = { name, about.inner, about.channels, about.outer, tostring(form.biased), tostring(form.next_biased),
    form.x_rounded }
  return calls.find_function(device.rows, table.concat(key, " "), name, about)
end

local function make_chain_in_mode(device, at, chain, training)
  local first, last = chain.first, chain.last
  local biased, next_biased = device.adds_bias(first) and true or false, device.adds_bias(last) and true or false
  local weights = name_weights(device, at, first, training)
  return { call = "routine(rows, x, operand, weight, bias, next_weight, next_bias, sum, hidden, out)",
    routine = find_chain_function(device, chain, { name = name_in_mode(training, "chain_%s"), ending = "",
      biased = biased, next_biased = next_biased, keeps = training and device.given.by_team, stores = training,
      x_rounded = "false", rounded = tostring(training and device.rounds) }),
    operand = training and write_operand_address(device, first, "x") or false,
    sum = training and at.sum, hidden = training and (write_operand_address(device, last, "x") or at.hidden),
    weight = weights .. first.weight, bias = biased and at.p .. first.weight .. "_bias",
    next_weight = weights .. last.weight, next_bias = next_biased and at.p .. last.weight .. "_bias" }
end

-- The records of a chain. Hidden values are stored only in training, for the backward pass.
function M.make_chain(device, at, chain, training)
  return make_for_modes(device, chain.first, training, function(mode)
    return make_chain_in_mode(device, at, chain, mode)
  end)
end

function M.make_chain_grad(device, at, b)
  local chain = b.op
  local weights = name_weights(device, at, chain.first, true)
  return { call = "routine(rows, dy, operand, next_weight, values, weight, other, dhidden, to)",
    routine = find_chain_function(device, chain, { name = "chain_%s", ending = "_grad", keeps = device.given.by_team,
      x_rounded = is_rounded(device, b.dy), rounded = tostring(device.rounds) }),
    operand = write_operand_address(device, chain.last, "dy") or false, next_weight = weights .. chain.last.weight,
    values = chain.sum and at.sum or write_operand_address(device, chain.last, "x") or at.hidden,
    dhidden = write_operand_address(device, chain.first, "dy") or at.dhidden, weight = weights .. chain.first.weight,
    other = b.adds and at.to or "NULL" }
end

return M
