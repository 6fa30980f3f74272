-- The part of a plan for GPUs: the files of device code, and the choices that fix the order of its sums.
--
-- Input: the plan with its dimensions and facets; the graph of its network (builder.lua), and the lists of this graph
-- (scope_lists.lua). Output: cuda_files; least_architecture, a compute capability such as 80; and two tables for
-- templates/cuda: `cuda`, whose fields are below, and `device`, the network in device code (cuda_network.lua). If
-- device code exists, no_device_code is false; otherwise device is false, and no_device_code is { what, line }. A draw
-- is a sample of random positions or distances. Fields of cuda:
--   threads            the number of threads of a thread block
--   by_team            whether the team, all thread blocks of a model, sums gradients of products' weights over all
--                      tokens of the batch
--   operand_bytes      bytes of the operands that shards would store for these sums, or false
--   products           "generated": one kernel runs whole steps; "library": a step is a sequence of launches, each of a
--                      phase of a kernel or of a library's product over the whole batch
--   library_width      the least width with products by the library
--   multiplies         whether the device text contains matrix products; with the library, only those for tables
--   multiplies_tables  whether the device text contains matrix products for tables
--   gradients          the C type of a shard's sums
--   chip_shards        the number of shards of a step if one model has the GPU alone; gradients of shards are added in
--                      their order
--   replica_shards     the number of shards of a step of each model if several models train together
--   group_tokens       the number of tokens of evaluation that go through the layers together
--   staging            the number of reals of shared memory that operations of a thread block use one after another
--   staging_name       the name of the constant with this number
--   block_state        bytes of shared memory for the state of a thread block
--   kernels            files of kernels/ in the device text, in order, before the optimiser's
--   step_draws, host_draws, draw_scratch   see cuda_draws.lua
--   has_begin_step     whether tables are made at the start of a step
--   has_shared_tables  whether the thread blocks of a model share memory for tables or their sums
--   has_table_sums     whether gradients of tables are added up over shards before they reach the parameters
--   scales_gradient    whether the sum of the shards' gradients is scaled, since the loss is a mean over the labels
--                      that are not masked; otherwise the gradient of each label already has the factor of the mean
--   parts              the largest number of parts of a step, each of which has sequences of one length; false if all
--                      sequences of a step have one length
--   constants          places of tensors that are not learned: { first, last, stride, columns, name }; false if all
--                      tensors are learned
--
-- Each attention family gets the table `attends`, which describes how device code computes the attention. It has the
-- names of the family's values (cuda_names.lua), and these fields:
--   template           the template of its attention
--   forward            the template of the forward pass, which decoding renders again
--   visits_by_distance   whether a query visits its keys in the order of their distance; then the backward pass stores
--                      the weights of pairs
--   in_fragments       whether warps compute attention on matrix units
--   fragment_rows      the number of queries or keys that a warp has at a time: 16 or 32. With few heads, 16 lets more
--                      warps run. For wide heads, see NARROW_HEAD
--   head_lanes         the number of threads that share a head's channels in attention
--   uneven_heads       whether some of these threads have fewer channels
--   head_part          C text, the number of a thread's channels
--   channel            C text, appended to an address: the offset of a thread's first channel
--   if_first_lane      C text before a statement that only the first of a head's threads executes: "if (...) ", or ""
--   first_task         C text of a thread's first task in a loop over tasks
--   task_step          C text of the step from one task of a thread to its next task
--   slice              channels of Transformer-XL's vectors that a block makes at a time, in a wide model
--   has_begin_step, has_table_sums   the fields of cuda with these names, for this family
--   layer_gradients    whether attention writes gradients of the layer's parameters
--   sum_passes         the passes that sum gradients of pairs for entries of tables (attention/device.lua)
--   ends_without_barrier   whether the sums after the pass over keys end without a barrier; backward.tpl then adds one
--   depends_on_mode    whether the kernel tests the mode, since dropout applies to weights in training only
--   dscore             the name of the gradient of a pair's score
--   unroll, keys_at_once   numbers of pairs that loops over pairs process together
--   keys, key_stride, to_keys   C texts: the number of keys, their stride, and their offset from the queries
--   stores_pairs       whether gradients of logits of pairs are stored for a sum pass or the pass over keys
--   stores_pair_scores   whether gradients of scores of pairs are stored too
--   calls_end_score_by_layer   whether thread blocks call end_score for different layers at the same time. This is
--                      possible if the layers share no learned parameter of the score
--   samples_draws      whether random numbers are sampled for the family
--   draw_rows          the number of rows of sampled positions and distances. A row has T numbers. In cross-attention,
--                      the same number of rows of S numbers follows
--   position_draws, distance_draws   the counts of draws of positions and of distances; a draw of distances has
--                      distance_rows rows
--   has_later_draws    whether the sampled numbers of another draw follow in memory
--   position_row, distance_row   C text of the index of layer l's row, in parentheses if it is a sum; false for row 0
--   reads_positions    whether layers read sampled positions
--   to_log2            " * LOG2E", a factor of logits, since weights are computed with exp2; "" if the family maps
--                      logits to scores (terms.maps_logits): scores get the factor
--   uniform_count      the number of the score's tables of class uniform (expression/lower.lua) with gradients; false
--                      without such tables
--   sum_pass_text      text of a comment about the sum passes, or ""

local attention = require("network.graph.attention")
local cuda_kernels = require("plan.deriving.cuda_kernels")
local device_terms = require("attention.device")
local decoding = require("network.lists.decoding")
local diagnostics = require("base.diagnostics")
local draws = require("plan.deriving.cuda_draws")
local lists = require("base.lists")
local network = require("network.targets.cuda_network")
local schema = require("spec.schema")
local tasks = require("spec.task.tasks")

local M = {}

local THREADS = 256
local WARPS = THREADS // 32
local CHIP_SHARDS = 128 -- about the number of multiprocessors of a large GPU; chips.lua has the numbers of others
local REPLICA_SHARDS = 16 -- shards of a few sequences, whose activations fit the caches; teams divide the shards
local GROUP_TOKENS = 256 -- tokens of evaluation that go through the layers together
-- Reals of shared memory that kernels/cuda/product.cu takes: two buffers of a tile's slabs; float64 has fewer slabs.
local SLAB = 32 * 64
local STAGING = { float32 = 6 * SLAB, tf32 = 6 * SLAB, bf16 = 6 * SLAB, float64 = 4 * SLAB }
local TILE = 64 -- columns of a result that a block makes at a time: kernels/cuda/slab.cu
local LIBRARY_SHARDS = 256 -- one sequence per shard in most batches
local LIBRARY_GROUP_CHANNELS = 65536 * 256 -- tokens times width in evaluation: about a gigabyte of activations
-- If several threads share a head, HEAD_PART is the number of the head's channels that one thread holds in registers.
-- Threads share heads in wide models, and in other models if a head is wider than WHOLE_HEAD.
local HEAD_PART = { float32 = 16, tf32 = 16, bf16 = 16, float64 = 8 }
local WHOLE_HEAD = 32 -- the largest number of channels of a head that one thread can hold
local NARROW_HEAD = 8 -- the largest head width for which a warp takes 32 rows; wider heads would spill registers
local BLOCK_STATE = 1024 -- bytes of shared memory for the state of all threads of a block: enough for most models
local OTHER_STATE = 512 -- the most bytes that the state takes without the addresses of the network's arrays
local STATE_STEP = 256 -- bytes; a state larger than BLOCK_STATE is a multiple of this
local SUM_STATE = 14 -- words of 8 bytes for sums over the batch: kernels/cuda/product_weights.cu
-- Bytes that shards of one model store for sums over the batch, at most; beyond this each shard has its own products.
local MAX_OPERAND_BYTES = 256 << 20
local FAMILY_STATE = 9 -- addresses of a family's tables, sums and draws; OTHER_STATE includes one family's addresses
local PART_STATE = 2 -- the address and the number that steps of mixed lengths need
local TOKEN_STATE = 3 -- addresses of two streams' positions that depend on tokens, and of the decoded tokens' positions

-- Precisions in which products by warp read rounded copies of weights. In float64, rounding changes nothing, so tests
-- can compare results exactly.
local STORES_ROUNDED = { tf32 = true, float64 = true }
-- Reals of shared memory: in kernels/cuda/product_warps.cu a part for each of 8 warps; in product_chains.cu two
-- operands of 24 rows and 256 columns.
local WARP_STAGING, CHAIN_STAGING = 8 * 32 * 32, 2 * 24 * 256
-- The least compute capability for products that are computed in tiles: in float64 they need more shared memory than a
-- block of sm_75 may have. Products by warp need tensor instructions of sm_80.
local LEAST_ARCHITECTURE = { float32 = 75, float64 = 80, tf32 = 80, bf16 = 80 }
local WARP_ARCHITECTURE = 80

-- The number of threads that share a head's channels: a power of two. A thread's part consists of whole quads (four
-- channels); with uneven parts the last threads have fewer channels or none.
local function count_head_lanes(head_width, precision)
  local quads, max_quads, lanes = head_width // 4, HEAD_PART[precision] // 4, 1
  while quads > lanes * max_quads do
    lanes = 2 * lanes
  end
  return lanes
end

-- Whether any family of the plan has the property `name` of its terms.
local function has_any(plan, name)
  return lists.any(plan.attentions, function(family) return family.terms[name] end)
end

-- The largest number of channels that consists of whole heads, fits a tile of a product and divides the width; at least
-- the width of one head.
local function choose_slice(family)
  local heads = 1
  for count = 1, family.heads do
    if family.heads % count == 0 and count * family.head_width <= TILE then
      heads = count
    end
  end
  return heads * family.head_width
end

-- The tensors that are not learned, with the indices of their first and their last element. A row has `columns`
-- elements; rows begin `stride` elements apart.
local function list_constants(plan)
  local list = lists.map(plan.tensors, function(t)
    local rows, columns = #t.shape == 2 and t.shape[1] or 1, t.shape[#t.shape]
    return not t.learned and { name = t.name, first = t.offset,
      last = t.offset + (rows - 1) * t.stride + columns - 1, stride = t.stride, columns = columns } or nil
  end)
  return list[1] ~= nil and list
end

-- The number of shards of one model. The default of train.shards is for CPUs, so max_shards replaces it, even if the
-- spec states this default.
local function count_chip_shards(plan, max_shards)
  local train = plan.resolved.train
  local is_default = train.shards == schema.by_path["train.shards"].default(plan.resolved)
  return is_default and math.min(train.batch, max_shards) or train.shards
end

-- The bytes of a thread block's state: an address for each array of the network, and a part that every model has.
local function measure_block_state(plan, device)
  local loop_words = (device.has_passes and 1 or 0) + (device.adds_table_sums and 1 or 0)
    + lists.sum(device.groups, function(group) return #group.shared_gradients end)
  local sum_words = device.operands.list[1] and SUM_STATE + 2 * #device.operands.list or 0
  local words = sum_words + loop_words + #device.always + #device.training + #device.bits
    + FAMILY_STATE * math.max(0, #plan.attentions - 1) + (device.decoding and 4 + #device.decoding.caches or 0)
    + lists.sum(device.states, function(state) return #state.members + 2 end) -- the layers, and state of loops
    + (plan.token_positions and TOKEN_STATE or 0) + (plan.train.mixes_lengths and PART_STATE or 0)
  return math.max(BLOCK_STATE, (OTHER_STATE + 8 * words + STATE_STEP - 1) // STATE_STEP * STATE_STEP)
end

-- The network in device code; or false, and the reason why there is no device code.
local function derive_network(net, lists_by_scope, choices)
  local device, obstacle = diagnostics.attempt(network.derive, net, lists_by_scope, choices)
  for family, names in pairs(device and device.attention_names or {}) do
    lists.update(family.attends, names)
  end
  if device then
    device.attention_names = nil
  end
  return device or false, obstacle or false
end

-- The setting of training that device code does not support, as a value of no_device_code; nil if all are supported.
local function find_missing(plan, uses_library)
  local setting = uses_library and plan.train.mixes_lengths
    and 'train.lengths.per = "sequence" in a model of width %d or more'
  return setting and { what = setting:format(schema.LIBRARY_WIDTH) } or nil
end

-- The fields of `attends` about threads that share a head's channels.
local function name_heads(family, lanes)
  local is_spread, prefix = lanes > 1, family.prefix
  return {
    head_lanes = lanes,
    uneven_heads = family.head_width % (4 * lanes) ~= 0,
    head_part = family.PREFIX .. (is_spread and "HEAD_PART" or "HEAD_WIDTH"),
    channel = is_spread and (" + %schannel()"):format(prefix) or "",
    if_first_lane = is_spread and ("if (%sleads_head()) "):format(prefix) or "",
    first_task = is_spread and ("threadIdx.x / %sHEAD_LANES"):format(family.PREFIX) or "threadIdx.x",
    task_step = is_spread and family.PREFIX .. "TASKS" or "THREADS",
  }
end

-- C text of first_row + index, in parentheses if it is a sum; false for row 0. index: C text of the index of a row
-- among the rows that begin at row `first_row`.
local function write_row_factor(first_row, index)
  local row = first_row == 0 and index or index == "0" and tostring(first_row) or ("%d + %s"):format(first_row, index)
  return row ~= "0" and (row:find(" ", 1, true) and "(" .. row .. ")" or row)
end

-- Sets the counts of a family's random draws, and the rows that a layer reads. places_vectors: whether blocks also add
-- vectors at the family's sampled positions.
local function count_draws(family, attends, places_vectors)
  local positions, distance = family.positions, family.positions.distance
  local has_positions, has_distances = positions.kind == "randomized", distance.draws ~= false
  attends.samples_draws, attends.has_later_draws = has_positions or has_distances, false
  attends.position_draws = has_positions and positions.draws or 0
  attends.distance_draws = has_distances and distance.draws or 0
  attends.distance_rows = distance.independent and 2 or 1
  attends.position_row = positions.layer_index and write_row_factor(0, positions.layer_index) or false
  attends.distance_row = has_distances and write_row_factor(attends.position_draws,
    distance.independent and ("2 * %s + 1"):format(distance.layer_index) or distance.layer_index) or false
  attends.draw_rows = attends.position_draws + attends.distance_rows * attends.distance_draws
  attends.reads_positions = has_positions and (family.terms.rotates_rows or family.terms.reads_tables or places_vectors)
end

-- The fields of a family in device code, except the names of the network's values (cuda_network.lua).
local function derive_attends(plan, family, uses_library)
  local terms = family.on_device.terms
  local score, leftwards = terms.maps_logits and family.score.cuda, terms.scans_logits or terms.breaks_stick
  local stores_pairs = not uses_library and device_terms.stores_pairs(family)
  local gradients_differ = score and score.logit_grad and true or false -- the gradients of score and logit
  local is_spread = uses_library or family.head_width > WHOLE_HEAD
  local attends = name_heads(family, is_spread and count_head_lanes(family.head_width, plan.precision) or 1)
  attends.in_fragments = plan.cuts_by_warp and device_terms.fits_fragments(family, WHOLE_HEAD)
  attends.fragment_rows = family.heads >= WARPS and family.head_width <= NARROW_HEAD and 32 or 16
  attends.template = ("attention/cuda/%s.tpl"):format(
    attends.in_fragments and "fragments" or terms.visits_outwards and "outwards" or leftwards and "leftwards"
    or "softmax")
  attends.forward = ("attention/cuda/%s.tpl"):format((leftwards or terms.sums_terms) and "attend_leftwards"
    or "attend_loops")
  attends.has_begin_step = terms.pair_vectors or score and score.stages[1] ~= nil
  attends.has_table_sums = terms.pair_vectors or terms.trains_tables
  attends.dscore = gradients_differ and "dscore" or "dlogit"
  attends.unroll = family.head_width <= 16 and not gradients_differ and 4 or false
  attends.keys_at_once = family.head_width > 16 and 2 or 4
  attends.depends_on_mode = family.weight_dropout and not plan.eval_dropout
  attends.to_log2 = terms.maps_logits and "" or " * LOG2E"
  attends.keys = family.cross and "S" or "T"
  attends.key_stride = family.PREFIX .. (family.cross and "KEY_STRIDE" or "QUERY_STRIDE")
  attends.to_keys = family.cross and "" or " + WIDTH"
  attends.slice = uses_library and terms.has_biases and choose_slice(family)
  attends.calls_end_score_by_layer = terms.trains_tables and not lists.any(family.score.learned,
    function(learned) return not learned.per_layer end)
  attends.layer_gradients = terms.has_biases or terms.visits_outwards or terms.multiplies_rows or terms.scans_logits
  attends.visits_by_distance = terms.visits_outwards or leftwards
  attends.stores_pairs = stores_pairs or attends.visits_by_distance and not uses_library
  attends.stores_pair_scores = stores_pairs and gradients_differ and score.gathered_by_class.distance and true or false
  attends.uniform_count = score and score.gathered_by_class.uniform and score.uniform_count or false
  return attends
end

-- The set of families at whose sampled positions blocks add vectors.
local function find_placing_families(plan, net)
  local blocks = lists.filter(plan.streams[2] and {} or net.scopes, function(block)
    return lists.any(block.ops, function(op) return op.kind == "place" end)
  end)
  return lists.to_set(lists.map(blocks, function(block)
    return attention.find_family_of_positions(block) or plan.first_family
  end))
end

local function derive_families(plan, net, uses_library)
  local is_placing = find_placing_families(plan, net)
  for _, family in ipairs(plan.attentions) do
    family.on_device = { terms = device_terms.list_terms(family) }
    family.attends = derive_attends(plan, family, uses_library)
    family.attends.sum_passes = device_terms.list_sum_passes(family)
    family.attends.ends_without_barrier = family.attends.sum_passes[1] and (family.terms.has_biases
      or lists.any(family.attends.sum_passes, function(pass) return not pass.reads_stored_pairs end)) or false
    family.attends.sum_pass_text = family.attends.sum_passes[1] and ", then an entry of a table" or ""
    count_draws(family, family.attends, is_placing[family] or false)
  end
end

-- C names for the text in slots; an include can replace them:
--   a              the text before a member of the struct for a head
--   head           the pointer to this struct
--   h, j           the indices of the head and of the key
--   query_count, key_count   the numbers of queries and of keys
local function make_slot_names(attends)
  local in_fragments = attends.in_fragments
  return { a = "a.", head = "&a", h = "h", j = "j", query_count = in_fragments and "T" or "a.T",
    key_count = in_fragments and "S" or "a." .. attends.keys }
end

-- Sets family.on_device, the fields that device templates read: a copy of the family's fields, with the names of
-- make_slot_names and the family's terms on a device. The copy is made when all other fields of the family are set.
local function name_families(plan)
  for _, family in ipairs(plan.attentions) do
    local names = lists.update(family.on_device, lists.merge(family, make_slot_names(family.attends),
      { terms = family.on_device.terms }))
    names.on_device = nil
  end
end

-- Bytes of the operands of all products of a batch, inputs and gradients of outputs.
local function count_operand_bytes(plan, lists_by_scope)
  local numbers = lists.sum(lists_by_scope.order, function(scope)
    return lists.sum(lists_by_scope[scope].backward, function(b)
      local op = b.kind == "weight_grad" and b.op
      local uses, tokens = scope.loops * scope.count, op and plan.streams[op.x.stream.index + 1].longest
      return op and uses * tokens * (op.x.width.count + op.out.width.count) or 0
    end)
  end)
  return plan.train.batch * plan.real_bytes * numbers
end

function M.derive(plan, net, lists_by_scope)
  local additive = plan.additive
  local trains_position_vectors = additive.kind == "learned" and additive.is_read_from_tables and not additive.frozen
  local uses_library = plan.width >= schema.LIBRARY_WIDTH -- products over the batch are worth their launches
  local multiplies_tables = has_any(plan, "has_biases")
  local multiplies = not uses_library or multiplies_tables
  local operand_bytes = plan.cuts_by_warp and count_operand_bytes(plan, lists_by_scope)
  local samples_passes = lists.any(net.scopes, function(scope) return scope.is_progressive end)
  local by_team = operand_bytes and operand_bytes <= MAX_OPERAND_BYTES and not samples_passes
    and not plan.train.mixes_lengths
  local chip_shards = count_chip_shards(plan, uses_library and LIBRARY_SHARDS or CHIP_SHARDS)
  local cuda = {
    threads = THREADS,
    products = uses_library and "library" or "generated", library_width = schema.LIBRARY_WIDTH,
    multiplies = multiplies, multiplies_tables = multiplies_tables,
    by_team = by_team, operand_bytes = operand_bytes,
    gradients = uses_library and "gradients" or "parameters",
    chip_shards = chip_shards,
    replica_shards = uses_library and chip_shards or math.min(plan.train.batch, REPLICA_SHARDS),
    group_tokens = uses_library and LIBRARY_GROUP_CHANNELS // plan.width or GROUP_TOKENS,
    staging = plan.cuts_by_warp and WARP_STAGING or multiplies and STAGING[plan.precision] or 2 * THREADS,
    constants = list_constants(plan),
    scales_gradient = plan.task.excludes_masked_labels and not plan.train.weighs_sequences
      and not plan.train.mixes_lengths,
    parts = plan.train.mixes_lengths
      and math.min(plan.train.batch, #tasks.list_lengths(plan.resolved.train.lengths)),
  }
  derive_families(plan, net, uses_library)
  local attends = lists.map(plan.attentions, function(family) return family.attends end)
  cuda.has_begin_step = lists.any(attends, function(a) return a.has_begin_step end)
  cuda.has_table_sums = trains_position_vectors or lists.any(attends, function(a) return a.has_table_sums end)
  cuda.has_shared_tables = cuda.has_table_sums or lists.any(plan.attentions, function(family)
    return family.on_device.terms.maps_logits
  end)
  local device, obstacle = derive_network(net, lists_by_scope, { wide = uses_library, by_team = by_team,
    eval_dropout = plan.eval_dropout,
    decoded = decoding.find_stream(net, plan.decoder and not uses_library and not plan.noise, plan.eval_dropout),
    noise = plan.noise, cuts_by_warp = plan.cuts_by_warp,
    rounds = by_team and STORES_ROUNDED[plan.precision] or false })
  local missing = find_missing(plan, uses_library)
  device, obstacle = not missing and device, missing or obstacle
  cuda.staging_name = device and device.has_chains and "CHAIN_STAGING" or "STAGING"
  cuda.staging = cuda.staging_name == "STAGING" and cuda.staging or CHAIN_STAGING
  lists.update(cuda, device and draws.derive(plan, device) or {})
  cuda.block_state = device and measure_block_state(plan, device) or BLOCK_STATE
  cuda.kernels = device and cuda_kernels.list(plan, device, multiplies, by_team) or {}
  name_families(plan)
  return { cuda = cuda, device = device, no_device_code = obstacle, decodes = false, -- set by templates of decoding
    least_architecture = plan.cuts_by_warp and WARP_ARCHITECTURE or LEAST_ARCHITECTURE[plan.precision], cuda_files = {
      { template = "cuda/device.cu.tpl", path = "device.cu", family = plan.first_family },
      { template = "cuda/cuda.c.tpl", path = "cuda.c", family = plan.first_family },
    } }
end

return M
