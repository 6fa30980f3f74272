-- Appends blocks of attention and a feed-forward part around a residual stream, for encoders and decoders.
--
--   model.norm.place = "post"   y = norm(x + f(x)): Vaswani et al. 2017
--   model.norm.place = "pre"    y = x + f(norm(x)), and one norm after the last block: Xiong et al. 2020
--
-- Input: the network and the section `model` (builder.lua); x, the value of the stream's tokens; options. Output: the
-- value after the last block or norm. Fields of `options`:
--   layers      the number of layers
--   source      a further publication for comments of generated code if the place is "post", or nil
--   loops       the section model.loops, or nil
-- Fields of `options` for a model with several stacks:
--   name        the block's name, by default "layer"
--   path        the prefix of its tensors' names, with %d for the repetition
--   attention   the family of self-attention, by default "self"
--   memory      a value of another stream, to which each block attends after its self-attention, by cross-attention
--   norm        the name of a norm after the last block. The stack then has this norm with either place of norms
--   norm_path   the first part of the names of this norm's tensors
--   kind        the stack's kind in comments of generated code, by default model.kind
--
-- With loops, the whole stack of layers runs several times; one such run is a pass. A pass may have further operations:
--   loops.inject   adds the embedding at the beginning
--   loops.norm     adds a norm at the end
--   loops.loss     adds a loss at the end
-- If a pass has such operations, a group repeats the layers and these operations. But a pass of one layer without a
-- loss needs no group: the layer's block also contains the operations.
--
-- With encodings by layer (families.list_layers), each encoding has a block of its own. A group, the cycle, repeats the
-- sequence of these blocks. The layers of an incomplete last cycle are further blocks after the group.

local lists = require("base.lists")

local NOISE_SOURCE = "McLeish et al. 2024" -- the publication of passes that start from noise
local START_DEVIATION = 0.02 -- standard deviation of this noise in the publication

local SOURCES = { post = "Vaswani et al. 2017", pre = "Xiong et al. 2020" }

-- The comment of a block in generated code, with the block's publications. is_pass: whether a repetition of the block
-- is a pass; the pass then has 1 layer.
local function describe(model, options, is_pass)
  local place = model.norm.place
  local sources = { place == "post" and options.source or nil }
  sources[#sources + 1] = SOURCES[place]
  sources[#sources + 1] = model.norm.kind == "rms" and "Zhang and Sennrich 2019" or nil
  sources[#sources + 1] = model.branch_activation ~= "none" and "Ito et al. 2024" or nil
  sources[#sources + 1] = model.activation:find("glu$") and "Shazeer 2020" or nil
  sources[#sources + 1] = is_pass and (options.loops.start == "noise" and NOISE_SOURCE or "Fan et al. 2024") or nil
  return ("One %s%s-norm %s block: %s."):format(is_pass and "pass of 1 " or "", place, options.kind or model.kind,
    table.concat(sources, "; "))
end

-- Appends a layer to the block `b`, which reads the value h; returns the layer's result.
--   family   the name of the family of self-attention
--   memory   the value that cross-attention reads, or nil
local function add_layer(b, h, model, family, memory)
  local kind, is_pre, norm_count = model.norm.kind, model.norm.place == "pre", 0
  -- Adds a branch to h, with a norm before the branch or after the sum.
  local function add_branch(make_branch)
    norm_count = norm_count + 1
    local name = "norm" .. norm_count
    h = is_pre and b:add(h, make_branch(b:norm(name, h, kind)), model.dropout)
      or b:norm(name, b:add(h, make_branch(h), model.dropout), kind)
  end
  add_branch(function(n) return b:attention(family, n, n, { bias = model.bias == "all" }) end)
  if memory then
    add_branch(function(n) return b:attention("cross", n, memory, { bias = model.bias == "all" }) end)
  end
  add_branch(function(n)
    return b:feedforward(n, { hidden = model.feedforward, activation = model.activation, width_name = "FEEDFORWARD",
      bias = model.bias ~= "none", hidden_dropout = model.hidden_dropout,
      branch_activation = model.branch_activation ~= "none" and model.branch_activation or nil })
  end)
  return h
end

return function(net, model, x, options)
  local loops, norm_kind, is_pre = options.loops or { times = 1 }, model.norm.kind, model.norm.place == "pre"
  local norms_inside = is_pre and loops.norm == "inside"
  -- The encodings by layer, in order; without encodings by layer, one entry for all layers. Fields of an entry:
  --   name      the encoding's attention family
  --   times     the number of the encoding's successive layers
  --   period    the number of layers of a cycle
  --   first     the index of the encoding's first layer
  --   is_last   whether the entry is for layers of the incomplete last cycle
  local entries = net.layer_families
  entries = entries[1] and entries
    or { { name = options.attention or "self", times = options.layers, period = options.layers } }
  local cycles, is_by_layer = options.layers // entries[1].period, entries[2] ~= nil
  local has_operations = loops.inject or norms_inside or false -- a pass has operations in addition to its layers
  local has_pass_losses = loops.loss == "every"
  local is_pass = has_operations and options.layers == 1 and not has_pass_losses
  local pass_options = { loops = loops.times, has_passes = options.loops ~= nil,
    passes_by_length = loops.passes_by_length, is_progressive = loops.progressive }
  local group = (has_operations and not is_pass or has_pass_losses or is_by_layer and options.loops)
    and net:group("pass", 1, lists.merge(pass_options, { has_pass_losses = has_pass_losses }))
  local cycle = is_by_layer and cycles > 1 and (group or net):group("cycle", cycles, {})
  local function open_pass(scope, h)
    h = scope:input(h)
    return loops.inject and scope:add(h, scope:external(x)) or h
  end
  local function close_pass(scope, h)
    scope:output(norms_inside and scope:norm("norm", h, norm_kind) or h)
    return scope.result
  end
  -- Adds the block of an entry. Passes are repetitions of the group `pass`, or, if there is no such group, of the block
  -- itself.
  local function add_block(scope, h, entry)
    local repetitions_per_pass = entry.times * (entry.is_last and 1 or cycles)
    local block_options = lists.merge(group and {} or pass_options, { path = options.path or "layers.%d.",
      -- the index of a repetition's layer, counted over all passes
      get_number = is_by_layer and function(repetition)
        local pass_index, index_in_pass = repetition // repetitions_per_pass, repetition % repetitions_per_pass
        local cycle_index, index_in_entry = index_in_pass // entry.times, index_in_pass % entry.times
        return pass_index * options.layers + cycle_index * entry.period + entry.first + index_in_entry
      end or nil })
    local suffix = is_by_layer and entry.name:match("^self(.*)") or "" -- "1" for self1
    local b = scope:block((options.name or "layer") .. suffix, entry.times, describe(model, options, is_pass),
      block_options)
    h = is_pass and open_pass(b, h) or b:input(h)
    h = net.block_additive and b:place(h, net.block_additive) or h -- adds vectors of positions in each block
    h = add_layer(b, h, model, entry.name, options.memory and b:external(options.memory))
    if is_pass then
      return close_pass(b, h)
    end
    b:output(h)
    return b.result
  end
  local function add_blocks(scope, h, is_last)
    for _, entry in ipairs(entries) do
      h = (entry.is_last or false) == is_last and add_block(scope, h, entry) or h
    end
    return h
  end
  local h = loops.start == "zeros" and net:make_zeros("start", x)
    or loops.start == "noise" and net:make_noise("start", x, loops.deviation or START_DEVIATION) or x
  h = group and open_pass(group, h) or h
  h = add_blocks(cycle or group or net, cycle and cycle:input(h) or h, false)
  if cycle then
    cycle:output(h)
    h = cycle.result
  end
  h = add_blocks(group or net, h, true)
  h = group and close_pass(group, h) or h
  local last_norm = options.norm or is_pre and not norms_inside and "norm"
  return last_norm and net:norm(last_norm, h, norm_kind, options.norm_path) or h
end
