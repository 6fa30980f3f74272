-- What a step takes of memory, for `plan`: of the widest level, without rounding to cache lines.
--
-- Input: a plan with its dimensions, facets, parameters and lists (cpu); the sizes of its training sequences, tokens of
-- every stream. Output, into the plan: vector_bytes, of a vector of parameters; workspace_bytes, of one thread's
-- activations; memory_bytes, of a process with two threads.

local M = {}

local function real_bytes(plan)
  return plan.precision == "float64" and 8 or 4
end

-- Tokens of the two sides of a family.
local function sides(family, size)
  return size[family.queries.stream + 1], size[family.keys.stream + 1]
end

-- Rows of vectors of distances for T queries and S keys, at most; 0 where the code makes none.
local function relative_rows(family, T, S)
  local relative = family.relative
  if relative.toeplitz then
    return T + S - 1
  end
  local most = family.positions.max_position or family.positions.distance.max_position
  local distinct = family.cross and T * S or T * (T - 1) + 1
  return relative.behind and math.min(distinct, 2 * most - 1) or 0
end

-- Elements of all sets of the score's tables: lay_out_<family>_scores in templates/cpu/score.inc.tpl.
local function score_elements(family, T, S, lanes)
  local score = family.score
  if score.kind == "none" then
    return 0
  end
  local queries, keys = (T + lanes - 1) // lanes * lanes, (S + lanes - 1) // lanes * lanes
  local counts = { uniform = 1, query = queries, key = keys, sum = queries + keys + lanes, pair = S * queries,
    distance = (S + lanes - 2) // lanes * lanes + queries + lanes }
  local total = 0
  for _, t in ipairs(score.tables) do
    total = total + counts[t.class] * ((t.per_head and family.heads or 1) + (t.row and 1 or 0))
  end
  return score.sets * total
end

-- Elements that a shard's blocks add up: lay_out_<family>_sums in templates/cpu/sums.tpl.
local function sums_elements(plan, family, T, S, lanes)
  local relative = family.relative
  local gradients = family.score.trains and score_elements(family, T, S, lanes) or 0
  if relative.kind == "none" then
    return gradients
  end
  local rows = relative.behind and relative_rows(family, T, S) or relative.rows
  return gradients + family.layers * (rows * relative.width + (relative.biases and 2 * plan.width * lanes or 0))
end

-- Elements behind the struct shared: templates/cpu/relative_tables.tpl.
local function behind_elements(plan, family, T, S)
  local relative, rows = family.relative, relative_rows(family, T, S)
  if rows == 0 then
    return 0
  end
  local codes = relative.biases and relative.sets + (relative.toeplitz and family.layers or 0) or 0
  return rows * (codes * plan.width + family.layers * relative.width)
end

-- What geometric attention has beyond softmax: elements of a layer, and of the backward pass. Layers keep the offsets
-- of groups of queries, twice: templates/cpu/attention_kept_geometric.tpl. Behind them are gradients by offset, columns
-- of keys and values, and what a shard adds up.
local function geometric_elements(plan, family, T, lanes, sequences)
  local normaliser = family.normaliser
  if normaliser.kind ~= "geometric" then
    return 0, 0
  end
  local queries, keys = (T + lanes - 1) // lanes * lanes, (T + 7) // 8 * 8
  local of_query = keys + 2 * (lanes - 1) - (normaliser.normalised and 0 or 1)
  local columns = 2 * family.head_width * ((queries // lanes + 2) | 1) * lanes
  local sums = family.layers * (plan.width + (normaliser.directional and 3 or 2)) * lanes
  return sequences * family.heads * queries * of_query, queries * (lanes - 1) + columns + sums
end

-- Elements that a layer keeps of a family's attention, and those of its backward pass.
local function family_elements(plan, family, size, sequences, lanes)
  local T, S = sides(family, size)
  local queries, keys = (T + lanes - 1) // lanes * lanes, (S + 7) // 8 * 8
  local geometric_layer, geometric_backward = geometric_elements(plan, family, T, lanes, sequences)
  local dlogits = family.relative.toeplitz and queries * (S + 8) + 8 * lanes or queries * keys
  return sequences * family.heads * queries * (keys + 1) + geometric_layer,
    dlogits + family.relative.vectors * T * family.head_width + sums_elements(plan, family, T, S, lanes)
      + geometric_backward
end

-- Bytes of rows of every stream.
local function row_bytes(rooms, rows, real)
  local bytes = 0
  for s, room in ipairs(rooms) do
    bytes = bytes + rows[s] * (room.reals * real + room.bytes)
  end
  return bytes
end

-- Bytes of a block of sequences of so many tokens in training: what the layers and the pass keep of every row, and what
-- attention has beside it.
local function block_bytes(plan, size)
  local cpu, real, tokens, rows = plan.cpu, real_bytes(plan), 0, {}
  local lanes = 64 // real
  for _, length in ipairs(size) do
    tokens = tokens + length
  end
  local shard = (plan.resolved.train.batch + plan.resolved.train.shards - 1) // plan.resolved.train.shards
  local sequences = math.min(shard, math.max(1, (plan.block_tokens + tokens // 2) // tokens))
  for s, length in ipairs(size) do
    rows[s] = (sequences * length + 5) // 6 * 6
  end
  local bytes, kept = row_bytes(cpu.rooms_per_row, rows, real), {}
  for _, family in ipairs(plan.attentions) do
    local of_layer, of_head = family_elements(plan, family, size, sequences, lanes)
    kept[family.name], bytes = of_layer, bytes + of_head * real
  end
  for _, block in ipairs(cpu.blocks) do
    local of_layers = 0
    for _, name in ipairs(block.families) do
      of_layers = of_layers + kept[name]
    end
    bytes = bytes + block.repetitions * (row_bytes(block.rooms_per_row, rows, real) + of_layers * real)
  end
  local by_sequence = plan.attentions[1].positions.kind == "sequence"
  return bytes + (by_sequence and (sequences * tokens + plan.max_position) * 4 or 0)
end

-- Bytes of one thread's workspace: room for the blocks of every length up to the longest. Blocks of shorter sequences
-- can be larger, because a block is whole sequences. Streams grow together.
local function workspace_bytes(plan, sizes, longest)
  local most = block_bytes(plan, longest)
  for _, size in ipairs(longest[2] and sizes or {}) do
    most = math.max(most, block_bytes(plan, size))
  end
  for T = 1, longest[2] and 0 or longest[1] do
    most = math.max(most, block_bytes(plan, { T }))
  end
  return most
end

-- Bytes of the position tables, of the draws and of what hangs on distances.
local function position_bytes(plan, longest)
  local real = real_bytes(plan)
  local lanes = 64 // real
  local rows = plan.max_position or math.max(table.unpack(longest))
  local row, elements, integers = plan.sinusoids and plan.width or 0, 0, 0
  for _, family in ipairs(plan.attentions) do
    local T, S = sides(family, longest)
    local relative, distance = family.relative, family.positions.distance
    row = row + (family.rotation.kind == "rope" and 2 * family.rotation.period or 0)
    elements = elements + behind_elements(plan, family, T, S) + score_elements(family, T, S, lanes)
    integers = integers
      + (2 * (family.positions.draws or 0) + (distance.draws or 0) * (distance.independent and 3 or 2)) * rows
    if relative.behind and not relative.toeplitz then -- where the rows of pairs start
      integers = integers + relative.sets * (2 * rows + S * ((T + lanes - 1) // lanes * lanes))
    end
  end
  return (rows * row + elements) * real + (plan.max_position and integers * 4 or 0)
end

-- sizes: tokens of every stream, for each length of training; longest: of each stream.
function M.derive(plan, sizes, longest)
  plan.vector_bytes = plan.parameter_storage * real_bytes(plan)
  plan.workspace_bytes = workspace_bytes(plan, sizes, longest)
  -- Parameters, the optimiser's state, the folded gradient, two forms of packed weights; and for each of two threads a
  -- gradient and a workspace.
  plan.memory_bytes = plan.vector_bytes * (4 + #plan.optimizer.states) + 2 * (plan.vector_bytes + plan.workspace_bytes)
    + position_bytes(plan, longest)
end

return M
