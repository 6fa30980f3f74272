-- Finds whether a network can be decoded token by token. If so, it also finds which operations run once and which run
-- with every token.
--
-- The decoded stream is the labelled stream, which holds the target. Operations of other streams do not depend on the
-- decoded stream. They run once, before the first token is decoded. Operations of the decoded stream run for a few
-- tokens at a time, and read the keys and values of earlier tokens from a cache.
-- Decoding is impossible if
--   a token attends to a later token,
--   another stream reads the decoded stream,
--   a block of another stream has an operation of the decoded stream,
--   weights come from geometric attention,
--   evaluation applies dropout, since its masks are for whole sequences,
--   evaluation starts passes from noise, since the noise depends on a sequence's place in the batch.
-- Decoding is useless if no token attends to another token.
--
-- Input: a network (builder.lua), in which a stream is the sequence of tokens that one side of the model processes.
-- Output of M.find_stream: the decoded stream, or nil if decoding is impossible or useless.

local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Whether an operation permits decoding of a stream.
--   An operation of the stream must compute each token from this token and earlier tokens alone.
--   An operation of another stream must not read the decoded stream.
local function permits_decoding(op, stream)
  for _, operand in ipairs(ops.list_operands(op)) do
    local is_checked_inside = operand.role == "external" -- operations inside the block read this value
    if not is_checked_inside and operand.value.stream == stream and op.out.stream ~= stream then
      return false
    end
  end
  if op.kind ~= "attention" or op.q.stream ~= stream then
    return true
  end
  local family = op.family
  local is_causal = family.causal or family.mask.right == 0
  return family.normaliser.kind ~= "geometric" and (family.cross or op.q == op.kv and is_causal)
end

-- The stream that is decoded, or nil. has_target: whether a stream holds the target of the task; evaluates_dropout:
-- whether evaluation applies dropout.
function M.find_stream(net, has_target, evaluates_dropout)
  local stream, has_attention = net.classified.op.x.stream, false
  if not has_target or evaluates_dropout or ops.find_all(net, "noise")[1] then
    return nil
  end
  for scope, op in lists.iterate_nested(net.order, "ops") do
    local scope_stream = scope.input_value and scope.input_value.stream or op.out.stream
    local is_in_other_stream = op.out.stream == stream and scope_stream ~= stream
    if is_in_other_stream or not permits_decoding(op, stream) then
      return nil
    end
    has_attention = has_attention or op.kind == "attention" and op.q.stream == stream
  end
  return has_attention and stream or nil
end

-- The operations of a scope's list that run once, before all decoded tokens (runs_once is true), or that run with every
-- token (runs_once is false).
function M.list_part(list, stream, runs_once)
  return lists.map(list, function(op) return (op.out.stream ~= stream) == runs_once and op or nil end)
end

-- The attentions of a block whose queries are decoded.
function M.list_attentions(block, stream)
  return lists.map(block.ops, function(op) return op.kind == "attention" and op.q.stream == stream and op or nil end)
end

return M
