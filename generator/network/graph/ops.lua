-- The kinds of operations of a network, an entry for each. A model that needs another kind adds an entry here, with a
-- kernel for each target and a twin of the kernel in kernels/ref. An entry without `choose_kernel` also needs a method
-- of scopes (builder.lua), a rule in backward.lua and records for both targets (see ARCHITECTURE.md). `op` is an
-- operation of the kind. Fields of an entry:
--
--   roles      the names of the fields of op that hold the operands, in the order in which these are read
--   is_by_row  whether a row of the result depends only on the same row of each operand
--   describe(op)      returns the description that `longhand plan` prints
--   count_flops(op)   returns the numbers of floating-point operations of a forward pass, two per multiply-add:
--     token, pair, label   the number for each token, for each pair of tokens, or for each label
--     distance             the number for the vector of each distance between tokens (relative positions), which is
--                          computed once for a batch
--     text                 C text of the number for each token, such as "4.0 * WIDTH"; for attention, of the number
--                          for each pair of tokens
--   kinds      for activations, gates and norms: name of each activation, gate or norm -> its description
--   method     the arguments of the builder's method that appends the operation (M.METHODS of handles.lua)
--   is_constant   true: the result depends on no operand and no parameter, so it has no gradient
-- Further fields of row operations. A row operation maps each row of one value, may apply dropout to the result, and
-- reads the value again in the backward pass:
--   header     the name of the kernels' file in kernels/cpu and kernels/cuda
--   choose_kernel(op)   returns the name K of the kernels K(rows, width, x, y) and K_grad(rows, width, x, dy, dx),
--                       which each target has
--   describe_without_dropout(op)   returns the description, without the words on dropout
--   choose_width(value, fail)      returns the result's width; without this function it is the width of the value
--   by_activation  for gates: value of model.activation -> the name of the gate's activation

local canonical = require("base.canonical")
local lists = require("base.lists")
local recurrence = require("network.graph.recurrence")

local M = {}

M.embed = {
  roles = {},
  method = { owner = "network", { "name", "name" }, { "stream", "stream" },
    options = { table = "table", scale = "number", place = "positions", dropout = "rate" } },
  describe = function(op)
    return (op.p.kind == "linear" and "linear map of tokens" or "vectors of tokens")
      .. (op.encoding and op.encoding.kind ~= "none" and " and of their positions" or "")
  end,
}

-- Values from which a network with repeated layers (passes) starts: zeros, and normal noise.
M.zeros = { roles = {}, is_constant = true, describe = function() return "zeros" end }
M.noise = { roles = {}, is_constant = true, describe = function(op)
  return ("normal noise of standard deviation %.9g"):format(op.deviation)
end }

M.place = {
  roles = { "x" },
  method = { owner = "block", { "value", "value" }, { "positions", "positions" } },
  describe = function(op) return "adds vectors of positions" .. (op.dropout and ", with dropout of the sum" or "") end,
}

M.product = {
  roles = { "x" }, is_by_row = true,
  method = { { "name", "name" }, { "value", "value" }, { "width", "count" },
    options = { parts = "names", bias = "flag" } },
  describe = function(op) return op.p.bias and "product and bias" or "product" end,
  count_flops = function(op)
    local columns = #op.p.tensors * (op.p.unpadded_count or op.p.width.count)
    return { token = 2 * op.x.width.count * columns,
      text = ("2.0 * %s * %s"):format(op.x.width.text, op.p.unpadded_count and columns or op.out.width.text) }
  end,
}

local function make_row_operation(operation)
  operation.roles, operation.is_by_row, operation.header = { "x" }, true, "activations"
  operation.method = { { "name", "name" }, { "value", "value" }, { "kind", "word" }, { "dropout", "rate" },
    required = 3 }
  function operation.describe(op)
    return operation.describe_without_dropout(op) .. (op.dropout and ", dropped out" or "")
  end
  return operation
end

local function get_activation(op)
  return op.activation
end

M.activation = make_row_operation { choose_kernel = get_activation, describe_without_dropout = get_activation, kinds = {
  relu = "max(x, 0)",
  gelu = "x Phi(x), Hendrycks and Gimpel 2016",
  gelu_tanh = "gelu, approximated by tanh",
  silu = "x sigmoid(x)",
} }

-- A gate: f(first half of the channels) times the second half.
M.gate = make_row_operation { kinds = { silu = "SwiGLU", gelu = "GEGLU" },
  by_activation = { swiglu = "silu", geglu = "gelu" },
  choose_kernel = function(op) return op.activation == "silu" and "swiglu" or "geglu" end,
  describe_without_dropout = function(op) return ("the %s gate"):format(op.activation) end,
  choose_width = function(x, fail)
    return x.width.factor == 2 and x.width.base or fail(("the input of the gate, %s, has the width %s"):format(x.name,
      x.width.text), "a product of two parts: gate and up")
  end }

M.norm = {
  roles = { "x" }, is_by_row = true,
  method = { { "name", "name" }, { "value", "value" }, { "kind", "word" }, required = 2 },
  describe = function(op) return op.norm == "rms" and "RMS norm" or "layer norm" end,
  kinds = { layer = "Ba et al. 2016", rms = "Zhang and Sennrich 2019" },
}

M.add = {
  roles = { "residual", "branch" }, is_by_row = true,
  method = { { "residual", "value" }, { "branch", "value" }, { "dropout", "rate" }, required = 2 },
  describe = function(op) return op.dropout and "sum, the branch dropped out" or "sum" end,
}

-- A sum and its norm, fused (fuse.lua).
M.add_norm = { roles = { "residual", "branch" }, is_by_row = true, describe = function(op)
  return (op.dropout and "sum, the branch dropped out, and its " or "sum and its ") .. M.norm.describe(op)
end }

-- Whether attention of a family multiplies, for each pair of tokens, the query with the vector of the pair's distance.
function M.has_distance_products(family)
  return family.relative.kind ~= "none" and not family.relative.counts_keys
end

-- Attention. Operands:
--   q              queries
--   kv             keys and values
--   contribution   the value that a facet requests (attention.lua), or nil
M.attention = {
  roles = { "q", "kv", "contribution" },
  method = { owner = "block", { "family", "word" }, { "queries", "value" }, { "keys", "value" },
    options = { bias = "flag", name = "name", dropout = "rate" } },
  describe = function(op)
    return ("attention %s%s"):format(op.family.name, op.dropout and ", weights dropped out" or "")
  end,
  count_flops = function(op)
    local C, relative = op.out.width.count, op.family.relative
    -- a multiply-add for the logit, one for the weighted value, and one for the product with the distance's vector
    local per_channel = M.has_distance_products(op.family) and 6 or 4
    local has_map = relative.toeplitz and relative.biases -- a learned map computes the vectors of distances
    return { pair = per_channel * C, text = ("%d.0 * %s"):format(per_channel, op.out.width.text),
      distance = has_map and 2 * C * C or 0 }
  end,
}

-- The states of a recurrence (recurrence.lua). Fields of the operation:
--   sums       the width of a step's sums W x + b + U h (recurrence.lua)
--   weight_sizes   a list of { rows, columns }: the sizes of the weights by which every token is multiplied, without
--                  weights that multiply one-hot tokens
--   header     the file of its kernels, if it differs from `header` of this entry
M.recur = {
  roles = {}, header = "recurrence",
  describe = function(op) return recurrence.CELLS[op.cell].words end,
  count_flops = function(op)
    local flops = 2 * lists.sum(op.weight_sizes, function(size) return size[1] * size[2] end)
    return { token = flops, text = ("%d.0"):format(flops) }
  end,
}

M.block = { roles = { "x" }, describe = function(op)
  return ("block, %d times"):format(op.block.count * op.block.loops)
end }

M.classify = {
  roles = { "x" },
  method = { owner = "network", { "readout", "readout" }, options = { tied = "table", bias = "flag" } },
  describe = function(op)
    return op.class_table and not op.other_parameters[1] and "logits (products with the tokens' vectors), loss"
      or "logits, loss"
  end,
  count_flops = function(op) return { label = 2 * op.x.width.count * op.out.width.unpadded_count } end,
}

-- The entries of row operations, by kind.
function M.list_row_operations()
  local operations = {}
  for kind, operation in next, M do
    operations[kind] = type(operation) == "table" and operation.choose_kernel and operation or nil
  end
  return operations
end

-- The names in a table of kinds, as a list in English: "gelu, relu or silu".
function M.format_names(kinds)
  local names = canonical.sort_keys(kinds)
  local last = table.remove(names)
  return #names == 0 and last or table.concat(names, ", ") .. " or " .. last
end

-- The operations of a kind in a whole network, scope by scope.
function M.find_all(net, kind)
  return lists.collect(net.order, function(scope)
    return lists.filter(scope.ops, function(op) return op.kind == kind end)
  end)
end

-- The numbers of floating-point operations of `op`: the result of its entry's count_flops(), or an empty table.
function M.count_flops(op)
  local count_flops = M[op.kind].count_flops
  return count_flops and count_flops(op) or {}
end

-- The values that an operation makes. A fused sum and norm (fuse.lua) that stores the sum makes two values, the sum
-- first.
function M.list_results(op)
  return op.sum and { op.sum, op.out } or { op.out }
end

-- The values that an operation reads, each once.
function M.list_read(op)
  return lists.map(M.list_operands(op), function(operand) return operand.value end)
end

-- Every operand of an operation with its role, in order; a value with two roles is listed once.
function M.list_operands(op)
  local operands, is_listed = {}, {}
  for _, role in ipairs(M[op.kind].roles) do
    local value = op[role]
    if value and not is_listed[value] then
      is_listed[value] = true
      operands[#operands + 1] = { role = role, value = value }
    end
  end
  return lists.append(operands, lists.map(op.externals or {}, function(value)
    return { role = "external", value = value }
  end))
end

return M
