-- The feed-forward part of a network: two products with an activation or a gate between them, and optionally an
-- activation after the second product (Ito et al. 2024).

local checks = require("network.graph.checks")
local ops = require("network.graph.ops")

-- Appends the feed-forward part to the value x and returns its result. Options:
--   hidden              the number of channels of the hidden values, which lie between the products
--   activation          the activation or the gate of the hidden values
--   hidden_dropout      the dropout rate of the hidden values
--   bias                whether products have biases, by default true
--   name                the first part of the names of values and tensors; by default names of values have no such
--                       part, and names of tensors begin with "feedforward"
--   width_name          the name of the constant for `hidden` in C, by default derived from `name`
--   branch_activation   the activation after the second product, by default none
return function(scope, x, options)
  local net, name = scope.net, options.name
  local prefix = name and name .. "_" or ""
  local path = name and name .. "." or "feedforward."
  checks.check_readable(scope, x, "the input of feedforward")
  if options.activation ~= nil and not ops.activation.kinds[options.activation]
    and not ops.gate.by_activation[options.activation] then
    checks.fail(net, ("the activation %q"):format(options.activation), "one of %s or %s",
      ops.format_names(ops.activation.kinds), ops.format_names(ops.gate.by_activation))
  end
  local hidden = scope:width(options.width_name or (prefix .. "feedforward"):upper(), options.hidden)
  local bias = options.bias == nil or options.bias
  local gate_kind = ops.gate.by_activation[options.activation]
  local h
  if gate_kind then
    h = scope:gate(prefix .. "hidden", scope:product(prefix .. "gate_up", x, hidden, {
      weight = prefix .. "gate_up", tensors = { path .. "gate", path .. "up" }, bias = bias }), gate_kind,
      options.hidden_dropout)
  else
    local up = scope:product(prefix .. "hidden_sum", x, hidden, {
      weight = prefix .. "up", tensors = { path .. "up" }, bias = bias, role = prefix .. "hidden" })
    h = scope:activation(prefix .. "hidden", up, options.activation, options.hidden_dropout)
  end
  local last_activation = options.branch_activation
  local y = scope:product(prefix .. (last_activation and "branch_sum" or "branch"), h, x.width, {
    weight = prefix .. "down", tensors = { path .. "down" }, bias = bias, role = prefix .. "feedforward_output" })
  if last_activation then
    y = scope:activation(prefix .. "branch", y, last_activation)
  end
  y.mask_name, y.comment = name or "feedforward", "the branch of a residual connection"
  return y
end
