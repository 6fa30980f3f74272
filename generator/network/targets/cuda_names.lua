-- Writes the names of the values of attentions and embeddings in device code.
--
-- Input: the table `device` (make_state of cuda_network.lua). Output, pure data, texts in C unless a field states
-- another type:
--   M.name_attentions   attention family -> the names of its values in device code:
--     block                          the name of the block
--     state                          the C type of the block's state
--     gradients_type                 the C type of the block's gradients
--     q, kv, out, contribution       members of the state with the values
--     dq, dkv, dout, dcontribution   members of the workspace with the gradients of these values
--     contribution_bias              the bias of the product that computes the contribution
--     T, S                           the numbers of tokens of queries and of keys
--     T_of_view, S_of_view           T and S as members of `view`, the struct that a kernel of attention receives
--     lengths_of_view                the arguments T_of_view and, in cross-attention, S_of_view
--     distance_count                 the name of the function that counts distances; each distance has a vector
--     vector_count                   a call of this function
--     distance_of_row                the name of the function that returns the distance of a vector
--     position_offset, key_position_offset, distance_offset   offsets of the rows that layer l reads in the arrays of
--                                    sampled positions, of key positions and of distances: "" or a text such as
--                                    " + l * v->T"
--     mask                           the masks of its weights, or false
--     index                          the variable that counts the block's repetitions
--     rounded                        "true" or "false": whether q and kv are rounded when they are stored. A rounded q
--                                    is also scaled (warp_products.lua)
--     rounded_out                    "true" or "false": whether out and dout are rounded when they are stored
--     positions_function             the function that returns the sampled positions of the sequences of queries
--   M.list_embeddings   a list with an entry for each function:
--     routine, number, vectors, scale, additive, dropout   see M.list_functions of embeddings.lua
--     T, tokens, places              names of the stream's length, tokens and positions (cuda_buffers.lua)
--     positions_function             the function that returns the positions of a thread block's sequences
--     stream                         the index of the stream
--     value, gradient                members with the result and with its gradient
--     sampled_positions              the address of the sampled positions of added vectors, if any
--     adds_vectors                   whether the function adds its gradients of the table of tokens to stored ones
--     adds_places                    whether the function adds its gradients of the table of positions to stored ones
--     has_class_gradients            whether the table of tokens already has gradients from the output layer
--     mask_number                    the index of its dropout mask in the group of masks (cuda_masks.lua)
--     array_text                     words for a comment on the array of vectors

local attention = require("network.graph.attention")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local function find_entry(backward, kind, op)
  return lists.find(backward, function(entry) return entry.kind == kind and entry.op == op end)
end

-- The offset of a row of sampled positions, as text that is appended to an address.
--   row      C text of the row's index, or false for row 0
--   length   the member of `v` with the number of positions of a row
local function write_row_offset(row, length)
  return row and (" + %s * v->%s"):format(row, length) or ""
end

-- The names of an attention's values in device code: an entry of the table of M.name_attentions.
local function name_attention(device, op, block)
  local gradient, variables = find_entry(device.lists[block].backward, "attention_grad", op), device.variables
  local T, S = variables[op.q.stream].T, variables[op.kv.stream].T
  local names = { T = T, S = S,
    lengths_of_view = op.family.cross and ("v->%s, v->%s"):format(T, S) or "v->" .. T,
    T_of_view = "v->" .. T, S_of_view = "v->" .. S, distance_count = op.family.prefix .. "distance_count",
    vector_count = ("(size_t)%sdistance_count(%s, %s)"):format(op.family.prefix, T, S),
    distance_of_row = op.family.prefix .. "relative_distance",
    block = block.name, state = block.name .. "_state",
    gradients_type = device.choices.wide and block.gradients_type or block.parameters_type,
    q = op.q.name, kv = op.kv.name, out = op.out.name, dq = gradient.dq.name, dkv = gradient.dkv.name,
    dout = gradient.dy.name,
    mask = op.dropout and device.operation_bits[op].name or false, index = block.index,
    positions_function = variables[op.q.stream].sequence_positions,
    rounded = tostring(device.rounded_values[op.q] ~= nil),
    rounded_out = tostring(device.rounded_values[op.out] ~= nil) }
  local attends = op.family.attends
  names.position_offset = write_row_offset(attends.position_row, T)
  names.key_position_offset = write_row_offset(attends.position_row, S)
  names.distance_offset = write_row_offset(attends.distance_row, T)
  if op.contribution then
    names.contribution, names.dcontribution = op.contribution.name, gradient.dcontribution.name
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

-- C text of the address of sampled positions, for the vectors that are added to a stream's tokens.
--   variables   the variables of the stream (cuda_buffers.lua)
--   draw        the sample, of a family or only for added vectors (is_separate); nil if positions are not sampled
function M.name_input_draws(variables, draw)
  return draw and "v->" .. (draw.is_separate and variables.input_draws or draw.prefix .. "draws")
end

-- C text of the address of sampled positions, for the vectors that a layer adds; nil without sampling. l: C text of the
-- layer's index.
function M.name_layer_draws(variables, op, l)
  local draw = op.encoding.draw
  if draw and draw.kind == "sequence" then
    return variables.sequence_positions .. "()"
  end
  local family = attention.find_family_of_positions(op.scope)
  return draw and (draw.is_separate and "v->" .. variables.input_draws
    or ("%sfind_positions(v, %s)"):format((family or draw).prefix, l))
end

-- Whether embedding `op` adds its gradients of position vectors to stored ones: an earlier embedding of the backward
-- pass stores them. All streams share these gradients if every sequence has its own sample.
local function adds_places(backward, op)
  local draw = op.encoding and op.encoding.draw
  local shares_table = draw and draw.kind == "sequence"
  for _, entry in ipairs(backward) do
    if entry.op == op then
      return false
    elseif entry.kind == "embed_grad" and (shares_table or entry.op.stream == op.stream) and entry.op.encoding then
      return true
    end
  end
end

-- The functions that embed streams. If embeddings share a table, the first in the backward pass stores its gradients.
function M.list_embeddings(device)
  local backward, net = device.lists[device.net].backward, device.net
  return embeddings.list_functions(net, function(op, i)
    local entry, variables = find_entry(backward, "embed_grad", op), device.variables[op.stream]
    local draw = op.encoding and op.encoding.draw
    local storing_entry = lists.find(backward, function(candidate)
      return candidate.kind == "embed_grad" and candidate.op.p == op.p
    end)
    return { T = variables.T, stream = op.stream.index, tokens = variables.tokens,
      places = variables.prefix .. "places",
      positions_function = draw and draw.by_token and variables.token_positions or variables.sequence_positions,
      sampled_positions = draw and M.name_input_draws(variables, draw),
      value = op.out.name, gradient = entry.dy.name, adds_places = adds_places(backward, op),
      adds_vectors = storing_entry ~= entry,
      has_class_gradients = net.classified.op.class_table == op.p,
      mask_number = op.dropout and device.mask_numbers[op] or 0,
      array_text = net.streams[2] and "Vectors of the " .. op.stream.name
        or i > 1 and "Vectors of the tokens, " .. op.out.name or "The first layer's input" }
  end)
end

return M
