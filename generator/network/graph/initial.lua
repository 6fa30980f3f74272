-- The distributions of initial values of parameters, by the scheme that model.init names.
--
--   haiku    Ruoss et al. 2023, released code: weights from a truncated normal of standard deviation 1 / sqrt(fan in),
--            token vectors of standard deviation 0.02, biases 0
--   torch    PyTorch's layers, which Ito et al. 2024 use: weight and bias uniform in +-1 / sqrt(fan in); in attention
--            the scheme `xavier` for the weight of queries, keys and values, and biases 0; token vectors from a normal
--            distribution of standard deviation 1
--   xavier   Duan and Shi 2024, released code: every matrix uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010,
--            equation 16); biases of the scheme `torch`
--
-- A scheme has the functions token(rows, columns), weight(rows, columns, attention_part) and
-- bias(rows, attention_part), for tables of tokens, weights of products and biases. Arguments:
--   rows, columns    the numbers of inputs and outputs of the whole matrix, even if the weight is only a part of it;
--                    PyTorch has one matrix for queries, keys and values
--   attention_part   "queries" for the weight of queries, keys and values; "attended" for the weight of attention's
--                    output; nil outside attention
-- Results: { kind, value }; value: the number for "constant", the standard deviation for "normal" and
-- "truncated_normal", the limit for "uniform", whose values lie from -value to value.

local M = {}

M.ALL_ZERO, M.ALL_ONE = { kind = "constant", value = 0 }, { kind = "constant", value = 1 }

local function make_glorot(rows, columns)
  return { kind = "uniform", value = math.sqrt(6 / (rows + columns)) }
end

local function make_uniform(rows)
  return { kind = "uniform", value = 1 / math.sqrt(rows) }
end

local function make_torch_bias(rows, attention_part)
  return attention_part and M.ALL_ZERO or make_uniform(rows)
end

-- Makes a function of a scheme that returns the same distribution for every size.
local function make_unscaled(init)
  return function() return init end
end

-- A scheme for one learned map. init: the initial value of all weights, or their distribution { kind, sigma }. The bias
-- of the map starts at 0.
function M.make_scheme(init)
  local weight = type(init) == "number" and { kind = "constant", value = init }
    or { kind = init.kind, value = init.sigma }
  return { weight = make_unscaled(weight), bias = make_unscaled(M.ALL_ZERO) }
end

M.SCHEMES = {
  haiku = { token = make_unscaled({ kind = "truncated_normal", value = 0.02 }), bias = make_unscaled(M.ALL_ZERO),
    weight = function(rows) return { kind = "truncated_normal", value = 1 / math.sqrt(rows) } end },
  torch = { token = make_unscaled({ kind = "normal", value = 1 }), bias = make_torch_bias,
    weight = function(rows, columns, attention_part)
      return attention_part == "queries" and make_glorot(rows, columns) or make_uniform(rows)
    end },
  xavier = { token = make_glorot, weight = make_glorot, bias = make_torch_bias },
}

return M
