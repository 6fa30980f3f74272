-- Finds whether a network can be decoded token by token, and which of its operations run once or with every token.
--
-- The decoded stream is the labelled stream, which holds the target. Other streams do not depend on it and run once,
-- first. The decoded stream runs a few tokens at a time, which find the keys and values of earlier tokens in a cache.
-- Decoding is impossible if a token attends to a later token, another stream reads the decoded one, weights do not come
-- from a softmax, or evaluation drops out with masks of whole sequences; and useless if no token attends to others.
--
-- Input: a network (builder.lua); whether a stream holds the target, and whether evaluation applies dropout.

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Whether an operation of the decoded stream computes each token from this and earlier tokens alone, and an operation
-- of another stream does not read the decoded stream.
local function fits(op, stream)
  for _, operand in ipairs(ops.list_operands(op)) do
    local from, to = operand.value.stream, op.out.stream
    if operand.role ~= "external" and from ~= to and from == stream then
      return false
    end
  end
  if op.kind ~= "attention" or op.q.stream ~= stream then
    return true
  end
  local family = op.family
  local causal = family.causal or family.mask.right == 0
  return family.normaliser.kind == "softmax" and (family.cross or op.q == op.kv and causal)
end

-- The stream that is decoded, or nil. has_target: the caller can decode a target; drops: evaluation applies dropout.
function M.find_stream(net, has_target, drops)
  local stream, attends = net.classified.op.x.stream, false
  if not has_target or drops then
    return nil
  end
  for scope, op in lists.iterate_nested(net.order, "ops") do
    local is_in_other_block = op.out.stream == stream and scope.entry and scope.entry.stream ~= stream
    if is_in_other_block or not fits(op, stream) then
      return nil
    end
    attends = attends or op.kind == "attention" and op.q.stream == stream
  end
  return attends and stream or nil
end

-- The operations of a scope's list that run once before all tokens (ahead: true), or with every token (false).
function M.list_part(list, stream, ahead)
  return lists.map(list, function(op) return (op.out.stream ~= stream) == ahead and op or nil end)
end

-- The attentions of a block whose queries are decoded.
function M.list_attentions(block, stream)
  return lists.map(block.ops, function(op) return op.kind == "attention" and op.q.stream == stream and op or nil end)
end

return M
