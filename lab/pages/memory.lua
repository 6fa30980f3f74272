-- Memory of a trainer on the CPU, in bytes: the network's buffers (buffers.lua), attention, tables, packed weights.
-- Generated functions count the same bytes: lay_out (templates/cpu/workspace.tpl and its includes), shared_bytes
-- (step_tables_end.tpl), tables_bytes (parts/position_tables.tpl). tests/unit/test_random.c and test_parity.c compare
-- both counts.
--
-- Input:
--   plan        a plan with its network (plan.cpu); a family is an item of plan.attentions
--   size        the number of tokens of every stream, { T } or { S, T }
--   sequences   a number of sequences
--   level       a level of levels.lua; nil: the widest
-- Output of M.derive, computed once for a plan:
--   parameter_bytes bytes of all parameters, with padding
--   shared_bytes    bytes that all threads share (M.count_shared)
--   tables_bytes    bytes of the tables of positions
--   workspace_bytes bytes of one thread's workspace
--   memory_bytes    bytes of a process that trains with M.THREADS threads
--   largest_block   { bytes, size, sequences }: the largest workspace of a pass, and the size and number of the
--                   sequences in this pass
-- M.derive also sets two fields of the operations of plan.passes, for largest_block and over all repetitions:
--   kept_bytes      bytes of the buffers that the operation is the first to write, and that the backward pass reads
--   scratch_bytes   bytes of the other buffers that the operation is the first to write

local levels = require("plan.deriving.levels")
local lists = require("base.lists")
local facet_modules = require("facets.modules")
local relative = require("facets.relative")

local M = { THREADS = 2 }

local CACHE_LINE = 64 -- bytes; each request starts at a multiple (templates/cpu/reserve.tpl)
local INTEGER = 4 -- int32_t
local LARGE_PAGE, LARGE_FROM = 2 << 20, 512 << 10 -- bytes: runtime/engine/engine.c
local PROGRAM = 2.5e6 -- bytes of a process without an engine: `trainer info`, gcc 12.2 and glibc 2.36

local function round_up(n, unit)
  return (n + unit - 1) // unit * unit
end

-- Returns the bytes that a request of this size takes in a workspace (`take` of templates/cpu/reserve.tpl).
local function count_padded(bytes)
  return round_up(bytes, CACHE_LINE)
end

-- Returns the number of rows of a product's tile at a level.
local function find_tile_rows(plan, level)
  local tuned = lists.find(plan.tuned, function(entry) return entry.name == level.name end)
  return lists.any(tuned.choices, function(choice)
    return lists.any(choice.constants, function(constant) return constant.name == "TILE_ROWS" and constant.value end)
  end)
end

-- Returns sizes and functions, also for the function count_bytes of facets:
--   real            bytes of a number
--   width           the width of the model
--   vector          bytes of a vector register
--   lanes           numbers in a vector register
--   tile_rows       rows of a product's tile
--   is_step_major   whether the model is recurrent (plan.is_step_major)
--   vocabulary      the number of rows in buffers with a row for each symbol; 0 without such buffers
--   key_unit(family)   the number of keys whose gradients are summed together
--   padded(bytes)   the result of count_padded
--   reals(count)    the result of count_padded for `count` numbers
local function derive_sizes(plan, level)
  level = level or levels[1]
  local real = plan.real_bytes
  local sizes = { round_up = round_up, padded = count_padded, width = plan.width, real = real,
    lanes = level.vector // real, vector = level.vector, tile_rows = find_tile_rows(plan, level),
    is_step_major = plan.is_step_major }
  sizes.vocabulary = plan.cpu.vocabulary and round_up(plan.tokens, sizes.tile_rows) or 0
  function sizes.key_unit(family)
    local part_width = math.min(family.head_part, sizes.lanes)
    return math.max(1, level.key_tile // (family.head_width // part_width))
  end
  function sizes.reals(count)
    return count_padded(count * real)
  end
  return sizes
end

-- Returns the numbers of queries and keys of a family in sequences of this size.
local function get_sides(family, size)
  return size[family.queries.stream + 1], size[family.keys.stream + 1]
end

-- Returns the number of weights for `lanes` queries in one head, as group_weights of attention/cpu/family.tpl.
local function count_weights(family, sizes, keys)
  return round_up(keys, sizes.key_unit(family)) * sizes.lanes
end

-- Whether the backward pass recomputes a family's weights in sequences of this number of tokens.
local function recomputes_weights(family, tokens)
  return family.recomputed and (family.recomputed.always or tokens * tokens > family.recomputed.pairs)
end

-- Returns the number of bytes that a family stores for the backward pass.
local function count_kept(family, sizes, queries, keys, sequences)
  local groups = sequences * family.heads * ((queries + sizes.lanes - 1) // sizes.lanes)
  local weights, sums = sizes.reals(groups * count_weights(family, sizes, keys)), sizes.reals(groups * sizes.lanes)
  if family.terms.visits_outwards then
    return 2 * weights + (family.terms.normalised and sums or 0)
  end
  local has_sums = family.terms.normalised or family.normaliser.own_value
  return (recomputes_weights(family, keys) and 0 or weights) + (has_sums and sums or 0)
end

-- Returns the number of bytes of a family's scratch memory, without sums: the members of the struct in scratch.tpl.
local function count_scratch(family, sizes, queries, keys)
  local lanes, terms, width = sizes.lanes, family.terms, family.head_width
  local groups, group_weights = (queries + lanes - 1) // lanes, count_weights(family, sizes, keys)
  local padding = family.paired and not terms.pair_vectors and lanes or 0
  -- row_bytes: bytes of the members weights, rows, pairs and pair_rows
  local row_bytes = sizes.reals(queries * terms.vectors_per_query * width + padding)
  if recomputes_weights(family, keys) then
    groups = family.recomputed.queries // lanes
    row_bytes = row_bytes + sizes.reals(groups * group_weights)
  end
  local dlogit_count = groups * group_weights -- gradients of logits
  if terms.visits_outwards then -- two more arrays: `along` and `across` of outwards.tpl
    return row_bytes + sizes.reals(dlogit_count) + sizes.reals((keys + 2) * lanes)
      + sizes.reals((keys + 1 + lanes) * lanes)
  elseif terms.by_offset then
    dlogit_count = (sizes.key_unit(family) + groups * (keys + sizes.key_unit(family))) * lanes
  end
  if family.paired and 2 * width <= lanes then
    local pair_count = 2 * groups * group_weights
    dlogit_count = terms.pair_vectors and dlogit_count or pair_count
    row_bytes = row_bytes
      + (terms.pair_vectors and sizes.reals(pair_count) + sizes.reals(queries * 2 * width + lanes) or 0)
  end
  local rotated_bytes = terms.by_rotation
    and sizes.reals(sizes.width * lanes) + sizes.reals(round_up(keys, relative.ROTATED_KEYS) * lanes) or 0
  -- The buffer of masks also has KEEP_SLACK bytes (kernels/cpu/dropout.h): 8 bytes and a vector register.
  local keep_bytes = terms.drops_weights and count_padded(lanes * keys + 8 + sizes.vector) or 0
  return row_bytes + sizes.reals(dlogit_count) + rotated_bytes + keep_bytes
end

-- Returns the bytes that a family's facets need for one purpose, with T queries and S keys. purpose: a field in the
-- result of the facets' function count_bytes (facets/modules.lua).
local function count_facets(family, sizes, purpose, T, S)
  return lists.sum(facet_modules.collect("count_bytes", family, sizes, T, S), function(bytes_by_purpose)
    return bytes_by_purpose[purpose] or 0
  end)
end

-- Returns how many numbers a row of a buffer has. A buffer with max_cells holds a stack and two empty cells
-- (count_stack_numbers of kernels/cpu/memory.h).
local function count_channels(buffer, tokens)
  return buffer.max_cells and (math.min(tokens // 2, buffer.max_cells) + 2) * buffer.channels or buffer.channels
end

-- Returns the bytes of a buffer for a number of tokens in a number of sequences. buffer.form determines its rows.
local function count_buffer(buffer, sizes, tokens, sequences)
  local rows = round_up(sizes.is_step_major and tokens + sizes.tile_rows - 1 or tokens, sizes.tile_rows)
  local max_rows = math.max(rows, sizes.vocabulary)
  local channels = count_channels(buffer, tokens // sequences)
  if buffer.form == "step" then
    return sizes.reals(round_up(sequences, sizes.tile_rows) * channels)
  elseif buffer.form == "rows" or buffer.form == "steps" then
    return sizes.reals(max_rows * channels)
  elseif buffer.form == "row" then
    return sizes.reals(max_rows)
  elseif buffer.form == "vocabulary" then
    return sizes.reals(sizes.vocabulary * buffer.channels)
  end
  return count_padded(rows * buffer.channels + sizes.vector) -- the form "mask"
end

-- Returns a list of the buffers in the workspace that trains these sequences. A buffer:
--   name      its name
--   block     the name of a block if each repetition of the block has such a buffer; otherwise nil
--   is_kept   whether the backward pass reads the buffer
--   bytes     bytes of all repetitions
function M.list_buffers(plan, size, sequences, level)
  local sizes, list = derive_sizes(plan, level), {}
  local function add(name, bytes, is_kept, block)
    list[#list + 1] = { name = name, bytes = bytes, is_kept = is_kept, block = block }
  end
  local function count_bytes(buffer)
    if buffer.family then
      local T, S = get_sides(buffer.family, size)
      return count_kept(buffer.family, sizes, T, S, sequences)
    end
    return count_buffer(buffer, sizes, sequences * size[buffer.stream + 1], sequences)
  end
  for block, buffer in lists.iterate_nested(plan.cpu.states, "buffers") do
    add(buffer.name, count_bytes(buffer) * block.stored, true, block.name)
  end
  for _, buffer in ipairs(plan.cpu.workspace) do
    add(buffer.name, count_bytes(buffer), buffer.is_read_backward)
  end
  for _, family in ipairs(plan.attentions) do
    local T, S = get_sides(family, size)
    local facets = count_facets(family, sizes, "sums", T, S) + count_facets(family, sizes, "scratch", T, S)
    add(family.name .. "_scratch", count_scratch(family, sizes, T, S) + facets, false)
  end
  local integers = plan.sequence_scratch and plan.sequence_scratch.count or 0
  local scratch = count_padded(integers * INTEGER) -- all streams share it, so only the first stream adds it
  for i, stream in ipairs(plan.streams) do
    if stream.sequence_reader then
      add(stream.name .. "_position", count_padded(sequences * size[i] * INTEGER) + scratch, false)
      scratch = 0
    end
  end
  return list
end

function M.count_workspace(plan, size, sequences, level)
  return lists.sum(M.list_buffers(plan, size, sequences, level), function(buffer) return buffer.bytes end)
end

-- Returns the number of sequences that pass through all layers together (block_sequences of step.c.tpl).
local function count_block_sequences(plan, size)
  local tokens = size[1] + (size[2] or 0)
  local shard = plan.shard_sequences
  return plan.is_step_major and shard or math.min(shard, math.max(1, (plan.block_tokens + tokens // 2) // tokens))
end

-- Some families store their weights in short sequences, and recompute them in long ones. Returns the largest length, at
-- most max_length, at which such a family stores its weights; 0 without such a family.
local function find_max_stored_length(plan, max_length)
  return lists.max(plan.attentions, function(family)
    local recomputed = family.recomputed
    local stored_length = recomputed and not recomputed.always and math.floor(math.sqrt(recomputed.pairs)) or 0
    return math.min(stored_length, max_length)
  end)
end

-- Returns the largest workspace over all sizes of training, { bytes, size, sequences }. sizes: a list in ascending
-- order. Among sizes with the same number of sequences, the longest has the largest workspace, unless attention
-- recomputes its weights in long sequences.
function M.find_largest_workspace(plan, sizes, level)
  local best, max_length = { bytes = 0 }, 0
  local function compare_size(size, sequences)
    local bytes = M.count_workspace(plan, size, sequences, level)
    if bytes > best.bytes then
      best = { bytes = bytes, size = size, sequences = sequences }
    end
  end
  for _, group in ipairs(lists.group(sizes, function(size) return count_block_sequences(plan, size) end)) do
    for i, size in ipairs(group) do
      local next_size = group[i + 1]
      max_length = math.max(max_length, size[1])
      if not next_size or next_size[1] < size[1] or (next_size[2] or 0) < (size[2] or 0) then
        compare_size(size, group.key)
      end
    end
  end
  -- A shorter length may need more memory than the longest, since it stores its weights.
  for tokens = 1, find_max_stored_length(plan, max_length) do
    local size = { tokens }
    compare_size(size, count_block_sequences(plan, size))
  end
  return best
end

-- Returns the bytes of packed weights (the output's included), of sampled positions, and of the tables of a step.
function M.count_shared(plan, size, level)
  local sizes = derive_sizes(plan, level)
  local reals, bytes, step_tables = plan.width * plan.class_columns, 0, 0
  for struct, panel in lists.iterate_nested(plan.structs, "panels") do
    reals = reals + struct.struct_count * panel.elements
  end
  if plan.input_draw and plan.input_draw.is_separate and plan.input_draw.kind == "randomized" then
    bytes = 2 * #plan.streams * plan.input_draw.bound * INTEGER
  end
  for _, family in ipairs(plan.attentions) do
    bytes = bytes + count_facets(family, sizes, "draws", get_sides(family, size))
    step_tables = step_tables + count_facets(family, sizes, "step_tables", get_sides(family, size))
  end
  bytes = round_up(reals * sizes.real + bytes, sizes.real)
  return plan.last_family_with_tables and count_padded(bytes) + step_tables or bytes
end

-- Returns the bytes of the tables of positions. size: the longest sequences.
function M.count_tables(plan, size)
  local rows, channels = math.max(table.unpack(size)), plan.sinusoids and plan.width or 0
  channels = channels + (plan.additive.member == "place" and plan.width or 0)
  if plan.input_draw and plan.input_draw.is_separate then
    rows = math.max(rows, plan.input_draw.bound)
  end
  for _, family in ipairs(plan.attentions) do
    local bound = family.positions.bound or family.positions.distance.bound
    if bound then
      rows = plan.attentions[2] and math.max(rows, bound) or bound
    end
    channels = channels + (family.rotation.kind == "rope" and 2 * family.rotation.period or 0)
  end
  return rows * channels * derive_sizes(plan).real
end

local function round_allocation(bytes)
  return bytes >= LARGE_FROM and round_up(bytes, LARGE_PAGE) or bytes
end

-- Returns the largest number of bytes that a process takes in training with this number of threads. bytes: see the
-- output of M.derive. The process has parameters, the optimiser's state, a sum of gradients, memory that threads share,
-- a gradient and a workspace for each thread, and a checkpoint. It reads the checkpoint when a run resumes, and before
-- it replaces the checkpoint. The task's examples and the activations of evaluations are not counted.
function M.count_process(plan, bytes, threads)
  local state_count = #plan.optimizer.states
  local parameter_bytes, checkpoint_bytes = round_allocation(bytes.parameter_bytes),
    (1 + state_count) * plan.parameters * derive_sizes(plan).real
  return PROGRAM + round_allocation((2 + state_count) * bytes.parameter_bytes) + round_allocation(bytes.shared_bytes)
    + round_allocation(bytes.tables_bytes) + threads * (parameter_bytes + round_allocation(bytes.workspace_bytes))
    + checkpoint_bytes
end

-- Returns the sizes of training sequences; for dataset files one size for each number of tokens up to the largest.
local function list_sizes(plan)
  local max_size = plan.training_sizes[1]
  if not plan.task.data then
    return plan.training_sizes
  end
  local list = {}
  for T = 1, math.max(table.unpack(max_size)) do
    list[T] = { math.min(T, max_size[1]), max_size[2] and math.min(T, max_size[2]) }
  end
  return list
end

-- Sets kept_bytes and scratch_bytes of the operations of plan.passes. block: { size, sequences } (M.derive).
local function add_bytes(plan, block)
  local stored, scratch = {}, {}
  for _, buffer in ipairs(M.list_buffers(plan, block.size, block.sequences)) do
    local bytes, key = buffer.is_kept and stored or scratch, (buffer.block or "") .. " " .. buffer.name
    bytes[key] = (bytes[key] or 0) + buffer.bytes
  end
  for _, scope in ipairs(plan.passes) do
    local prefix = scope.name .. " "
    for _, operation in ipairs(lists.join(scope.forward, scope.backward)) do
      operation.kept_bytes = lists.sum(operation.buffers, function(name)
        return stored[prefix .. name] or stored[" " .. name] or 0
      end)
      operation.scratch_bytes = lists.sum(operation.buffers, function(name)
        return stored[prefix .. name] and 0 or scratch[" " .. name] or 0
      end)
    end
  end
end

function M.derive(plan)
  if not plan.memory then
    local max_size = lists.map(plan.streams, function(stream) return stream.longest end)
    local block = M.find_largest_workspace(plan, list_sizes(plan))
    local bytes = { parameter_bytes = plan.parameter_storage * plan.real_bytes, largest_block = block,
      workspace_bytes = block.bytes, shared_bytes = M.count_shared(plan, max_size), tables_bytes = M.count_tables(plan,
      max_size) }
    bytes.memory_bytes = math.floor(M.count_process(plan, bytes, M.THREADS))
    add_bytes(plan, block)
    plan.memory = bytes
  end
  return plan.memory
end

return M
