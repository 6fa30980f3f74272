-- Names of the values of attentions and embeddings in device code.
--
-- Input: the state of cuda_network.lua (device). Output, pure data, texts in C unless stated otherwise:
--   attends      family -> names of its values: block, state and gradients_type; q, kv, out, contribution and the
--                gradients dq, dkv, dout, dcontribution; contribution_bias; T, S: tokens of its queries and keys;
--                T_of_view, S_of_view: the same of a view; lengths_of_view: arguments, both of a view if they can
--                differ; distance_count, distance_of_row: functions; vectors: the number of rows of distances;
--                to_positions, to_key_positions, to_distances: offsets to append; keep: masks of its weights, or false;
--                index: the variable that counts the block's uses; rounded, rounded_out: whether q and kv, and out and
--                dout, are rounded when they are stored (q also scaled: warp_products.lua); sequences: the
--                function that finds the positions of its queries' sequences
--   embeddings   { routine, number, vectors, scale, additive, T, stream, tokens, places, drawn, sequences, value,
--                gradient, adds, adds_places, tied, drops, mask, about }, one for each function; number, stream, mask:
--                numbers from 0; vectors: the parameter; drawn: the positions of added vectors, if all sequences share
--                a sample; adds, tied: another embedding, or the readout, has stored gradients of the table before

local attention = require("network.graph.attention")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local function find_entry(backward, kind, op)
  return lists.find(backward, function(b) return b.kind == kind and b.op == op end)
end

-- The offset of a row of sampled positions, in rows of `length` numbers, as text to append. row: the row's number as
-- text, or false for row 0.
local function write_row_offset(row, length)
  return row and (" + %s * v->%s"):format(row, length) or ""
end

-- Names of a device's values in the text of an attention.
local function name_attention(device, op, block)
  local b, words = find_entry(device.lists[block].backward, "attention_grad", op), device.words
  local T, S, wide = words[op.q.stream].T, words[op.kv.stream].T, device.given.wide
  local names = { T = T, S = S,
    lengths_of_view = op.family.cross and ("v->%s, v->%s"):format(T, S) or "v->" .. T,
    T_of_view = "v->" .. T, S_of_view = "v->" .. S, distance_count = op.family.prefix .. "distance_count",
    vectors = ("(size_t)%sdistance_count(%s, %s)"):format(op.family.prefix, T, S),
    distance_of_row = op.family.prefix .. "relative_distance",
    block = block.name, state = block.name .. "_state",
    gradients_type = wide and block.gradients_type or block.parameters_type,
    q = op.q.name, kv = op.kv.name, out = op.out.name, dq = b.dq.name, dkv = b.dkv.name, dout = b.dy.name,
    keep = op.dropout and device.operation_bits[op].name or false, index = block.index,
    sequences = words[op.q.stream].sequences, rounded = tostring(device.rounded_values[op.q] ~= nil),
    rounded_out = tostring(device.rounded_values[op.out] ~= nil) }
  local drawn = op.family.attends
  names.to_positions = write_row_offset(drawn.position_row, T)
  names.to_key_positions = write_row_offset(drawn.position_row, S)
  names.to_distances = write_row_offset(drawn.distance_row, T)
  if op.contribution then
    names.contribution, names.dcontribution = op.contribution.name, b.dcontribution.name
    names.contribution_bias = op.contribution.op.weight .. "_bias"
  end
  return names
end

function M.name_attentions(device)
  local by_family = {}
  for _, op in ipairs(ops.find_all(device.net, "attention")) do
    by_family[op.family] = name_attention(device, op, op.scope)
  end
  return by_family
end

-- The positions of vectors added to a stream's tokens, if all sequences share a sample. Without a second stream it is
-- the sample of the network's first family.
function M.name_input_draws(words, draw)
  return draw and "v->" .. (draw.apart and words.input_draws or draw.prefix .. "draws")
end

-- The positions of vectors added in a layer of a block; l: the text of the layer's number. They may differ by sequence.
function M.name_drawn_places(words, op, l)
  local draw = op.encoding.draw
  if draw and draw.kind == "sequence" then
    return words.sequences .. "()"
  end
  local placing = attention.find_placing_family(op.scope)
  return draw and (draw.apart and "v->" .. words.input_draws
    or ("%sfind_positions(v, %s)"):format((placing or draw).prefix, l))
end

-- Whether an embedding earlier in the backward pass has stored gradients of positions. Each stream has sums of its own;
-- but if every sequence has its own sample, all streams add to the one table.
local function adds_places(backward, op)
  local draw = op.encoding and op.encoding.draw
  local by_sequence = draw and draw.kind == "sequence"
  for _, b in ipairs(backward) do
    if b.op == op then
      return false
    elseif b.kind == "embed_grad" and (by_sequence or b.op.stream == op.stream) and b.op.encoding then
      return true
    end
  end
end

-- The functions that embed streams. Of embeddings that share a table, the first in the backward pass stores gradients.
function M.list_embeddings(device)
  local back, net = device.lists[device.net].backward, device.net
  return embeddings.list_functions(net, function(op, i)
    local b, words = find_entry(back, "embed_grad", op), device.words[op.stream]
    local stores = lists.find(back, function(other) return other.kind == "embed_grad" and other.op.p == op.p end)
    return { T = words.T, stream = op.stream.index, tokens = words.tokens, places = words.at .. "places",
      sequences = words.sequences, drawn = op.encoding and M.name_input_draws(words, op.encoding.draw),
      value = op.out.name, gradient = b.dy.name, adds_places = adds_places(back, op), adds = stores ~= b,
      tied = net.classified.op.tied == op.p, mask = op.dropout and device.mask_numbers[op] or 0,
      about = net.streams[2] and "Vectors of the " .. op.stream.name
        or i > 1 and "Vectors of the tokens, " .. op.out.name or "The first layer's input" }
  end)
end

return M
