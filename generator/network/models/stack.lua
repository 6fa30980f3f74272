-- Blocks of attention and a feed-forward network around a residual stream, for encoders and decoders.
--
--   model.norm.place = "post"   y = norm(x + f(x)): Vaswani et al. 2017
--   model.norm.place = "pre"    y = x + f(norm(x)), and one norm after the last block: Xiong et al. 2020
--
-- Input: the network and the section `model` (builder.lua); x, the value of the stream's tokens; options. Output: the
-- value after the last block or norm. Fields of `options`: layers, the number of layers; source, the publication named
-- in comments of generated code if norms follow the sums; loops, the section model.loops or nil; and for a model with
-- several stacks:
--   name        the block's name, else "layer"; path: the prefix of its tensors' names, with %d for the repetition
--   attention   the family of self-attention, by default "self"
--   memory      a value of another stream to which blocks attend in addition; cross-attention follows self-attention
--   norm        the name of a norm after the last block, for both places of norms; norm_path: the name of its tensors
--   kind        the stack's kind in comments of generated code, by default model.kind
--
-- A repetition of the block is a layer. If a pass of a loop also adds the embedding or ends with a norm, a repetition
-- is a whole pass: the names of its second layer end with 2, those of its third with 3.

local SOURCES = { post = "Vaswani et al. 2017", pre = "Xiong et al. 2020" }

-- The comment of a block in generated code. layers: the number of layers in a repetition of the block.
local function describe(model, options, layers)
  local place = model.norm.place
  local words = { place == "post" and options.source or nil }
  words[#words + 1] = SOURCES[place]
  words[#words + 1] = model.norm.kind == "rms" and "Zhang and Sennrich 2019" or nil
  words[#words + 1] = model.branch_activation ~= "none" and "Ito et al. 2024" or nil
  words[#words + 1] = model.activation:find("glu$") and "Shazeer 2020" or nil
  words[#words + 1] = layers and "Fan et al. 2024" or nil
  return ("One %s%s-norm %s %s: %s."):format(layers and ("pass of %d "):format(layers) or "", place,
    options.kind or model.kind, layers and layers > 1 and "blocks" or "block", table.concat(words, "; "))
end

-- Returns a function that appends layer number i of a repetition of the block `b` to the value h, with cross-attention
-- to `memory` if it is not nil.
local function make_layers(b, model, options, memory)
  local kind, is_pre = model.norm.kind, model.norm.place == "pre"
  local family, norm_count = options.attention or "self", 0
  -- Adds a branch to h, with a norm before the branch or after the sum.
  local function add_branch(h, make_branch)
    norm_count = norm_count + 1
    local name = "norm" .. norm_count
    return is_pre and b:add(h, make_branch(b:norm(name, h, kind)), model.dropout)
      or b:norm(name, b:add(h, make_branch(h), model.dropout), kind)
  end
  return function(h, i)
    local attention_options = { bias = model.bias == "all", name = i > 1 and "attention" .. i or nil }
    local feedforward_options = { hidden = model.feedforward, activation = model.activation, width_name = "FEEDFORWARD",
      bias = model.bias ~= "none", hidden_dropout = model.hidden_dropout, name = i > 1 and "feedforward" .. i or nil,
      branch_activation = model.branch_activation ~= "none" and model.branch_activation or nil }
    h = add_branch(h, function(n) return b:attention(family, n, n, attention_options) end)
    h = memory and add_branch(h, function(n)
      return b:attention("cross", n, memory, { bias = attention_options.bias })
    end) or h
    return add_branch(h, function(n) return b:feedforward(n, feedforward_options) end)
  end
end

return function(net, model, x, options)
  local loops, kind, is_pre = options.loops or { times = 1 }, model.norm.kind, model.norm.place == "pre"
  local norms_inside = is_pre and loops.norm == "inside"
  local is_pass = loops.inject or norms_inside or false -- a repetition of the block is a pass, with all its layers
  local b = net:block(options.name or "layer", is_pass and 1 or options.layers,
    describe(model, options, is_pass and options.layers), { path = options.path, loops = loops.times,
      has_passes = options.loops ~= nil, by_length = loops.by_length })
  local h = b:input(loops.start == "zeros" and net:make_zeros("start", x) or x)
  h = loops.inject and b:add(h, b:external(x)) or h
  h = net.block_place and b:place(h, net.block_place) or h
  local add_layer = make_layers(b, model, options, options.memory and b:external(options.memory))
  for i = 1, is_pass and options.layers or 1 do
    h = add_layer(h, i)
  end
  b:output(norms_inside and b:norm("norm", h, kind) or h)
  local last_norm = options.norm or is_pre and not norms_inside and "norm"
  return last_norm and net:norm(last_norm, b.result, kind, options.norm_path) or b.result
end
