-- The operations that a network is made of: one entry each. A model that needs another one adds it here, with a kernel
-- for each target, its twin in kernels/ref, a rule in backward.lua and two templates (see ARCHITECTURE.md).
--
--   roles      the operands, in the order in which they are read
--   by_row     a row of the result is made of the same row of every operand
--   words      what `plan` says of it, from the operation
--   flops      floating-point operations of a forward pass, two per multiply-add: { token, pair, label, distance }, of
--              every token, pair of tokens, label, and row of distances that a batch shares
--   kinds      of those that have several: name -> { words, what is kept besides }

local M = {}

M.embed = { roles = {}, words = function(op)
  return (op.p.kind == "linear" and "linear map of tokens" or "vectors of tokens")
    .. (op.encoding and op.encoding.kind ~= "none" and " and of their positions" or "")
end }

M.place = { roles = { "x" }, words = function(op)
  return "adds vectors of positions" .. (op.dropout and ", the sum dropped out" or "")
end }

M.product = {
  roles = { "x" }, by_row = true,
  words = function(op)
    return op.p.bias and "product and bias" or "product"
  end,
  flops = function(op)
    return { token = 2 * op.x.width.count * #op.p.tensors * (op.p.shown or op.p.width.count) }
  end,
}

local function with_dropout(op, words)
  return words .. (op.dropout and ", dropped out" or "")
end

M.activation = { roles = { "x" }, by_row = true, words = function(op)
  return with_dropout(op, op.activation)
end, kinds = {
  relu = "max(x, 0)",
  gelu = "x Phi(x), Hendrycks and Gimpel 2016",
  gelu_tanh = "its approximation by tanh",
  silu = "x sigmoid(x)",
} }

M.gate = { roles = { "x" }, by_row = true, words = function(op)
  return with_dropout(op, op.activation .. " gate")
end, kinds = { silu = "SwiGLU", gelu = "GEGLU" }, of = { swiglu = "silu", geglu = "gelu" } }

M.norm = { roles = { "x" }, by_row = true, words = function(op)
  return op.norm == "rms" and "RMS norm" or "layer norm"
end, kinds = { layer = "Ba et al. 2016", rms = "Zhang and Sennrich 2019" } }

M.add = { roles = { "residual", "branch" }, by_row = true, words = function(op)
  return op.dropout and "sum, the branch dropped out" or "sum"
end }

-- A sum and the norm of it: fuse.lua.
M.add_norm = { roles = { "residual", "branch" }, by_row = true, words = function(op)
  return (op.dropout and "sum, the branch dropped out, and its " or "sum and its ") .. M.norm.words(op)
end }

-- Logits and weighted values; vectors of distances once more; their map, where rows of distances are made once.
M.attention = { roles = { "q", "kv", "direction" }, words = function(op)
  return ("attention %s%s"):format(op.family.name, op.dropout and ", weights dropped out" or "")
end, flops = function(op)
  local C, relative = op.out.width.count, op.family.relative
  return { pair = (relative.kind == "none" and 4 or 6) * C,
    distance = relative.toeplitz and relative.biases and 2 * C * C or 0 }
end }

M.block = { roles = { "x" }, words = function(op)
  return ("block, %d times"):format(op.block.count * op.block.loops)
end }

M.classify = { roles = { "x" }, words = function(op)
  return op.tied and "logits by the tokens' vectors, loss" or "logits, loss"
end, flops = function(op)
  return { label = 2 * op.x.width.count * op.out.width.shown }
end }

-- The names of a table of kinds as words: "gelu, relu or silu".
function M.names(kinds)
  local list = {}
  for name in pairs(kinds) do
    list[#list + 1] = name
  end
  table.sort(list)
  local last = table.remove(list)
  return #list == 0 and last or table.concat(list, ", ") .. " or " .. last
end

-- Every operand of an operation with its role, in order; one value in two roles comes once.
function M.operands(op)
  local list, seen = {}, {}
  for _, role in ipairs(M[op.kind].roles) do
    local value = op[role]
    if value and not seen[value] then
      seen[value] = true
      list[#list + 1] = { role = role, value = value }
    end
  end
  for _, value in ipairs(op.externals or {}) do
    list[#list + 1] = { role = "external", value = value }
  end
  return list
end

return M
