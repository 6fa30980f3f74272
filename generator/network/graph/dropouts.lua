-- Methods of scopes that apply dropout to a result, or to weights of attention (builder.lua).
--
-- A dropout is an object { name, use, rate }:
--   name   the start of the names of its constants in C
--   use    the kind of numbers to which it applies: "value", "branch", "embedding", "place" or "weights"
--   rate   the share of numbers that it drops
-- Operations with equal `use` and rate share a dropout. Each operation has its own index within the scope,
-- op.dropout_number, so their masks differ.

local checks = require("network.graph.checks")
local lists = require("base.lists")
local names = require("base.names")

local M = {}

-- The largest number of dropouts in a scope, or in a whole network with dropout in evaluation: the random counter
-- (longhand/rng.h) has 8 bits for the index of a dropout.
M.MAX_DROPOUTS = 256

-- Returns a dropout, or nil for rate 0. other_name: replaces a `name` that another dropout has; a number follows if
-- another dropout also has `other_name`.
local function find_dropout(net, rate, use, name, other_name)
  if rate == nil or rate == 0 then
    return nil
  end
  local equal_dropout = lists.find(net.dropouts, function(d) return d.rate == rate and d.use == use end)
  if equal_dropout then
    return equal_dropout
  end
  local used_names = lists.to_set(lists.get_names(net.dropouts))
  local free_name = not used_names[name] and name or names.find_unused(other_name, used_names)
  local dropout = { name = free_name, use = use, rate = rate }
  net.dropouts[#net.dropouts + 1] = dropout
  return dropout
end

-- Gives the dropout of an operation the next index within its scope.
local function number_dropout(scope, op)
  op.dropout_number = scope.dropout_count
  scope.dropout_count = scope.dropout_count + 1
  if scope.dropout_count > M.MAX_DROPOUTS then
    checks.fail(scope.net, ("%s has %d dropouts"):format(scope.title, scope.dropout_count), "at most %d",
      M.MAX_DROPOUTS)
  end
end

-- Applies dropout to an operation's result. mask_name: the start of the stored mask's name; the further parameters: see
-- find_dropout().
function M.drop(scope, op, mask_name, rate, use, name, other_name)
  op.dropout = find_dropout(scope.net, rate, use, name, other_name)
  if op.dropout then
    local mask_count = (scope.masks[mask_name] or 0) + 1
    scope.masks[mask_name] = mask_count
    op.mask = mask_name .. (mask_count > 1 and mask_count or "") .. "_keep"
    number_dropout(scope, op)
  end
end

-- Applies dropout to the weights of an attention. op.mask stays nil: each target has its own way to store which weights
-- are dropped.
function M.drop_attention_weights(scope, op, family_name, rate)
  op.dropout = find_dropout(scope.net, rate, "weights", "ATTENTION", "ATTENTION_" .. family_name:upper())
  if op.dropout then
    number_dropout(scope, op)
  end
end

-- Returns the largest number of dropouts in a scope of the network.
function M.find_max(net)
  return lists.max(net.order, function(scope) return scope.dropout_count end)
end

return M
