-- Blocks of attention and a feed-forward network around a residual stream, for encoders and decoders.
--
--   model.norm.place = "post"   y = norm(x + f(x)): Vaswani et al. 2017
--   model.norm.place = "pre"    y = x + f(norm(x)), and one norm after the last block: Xiong et al. 2020
--
-- Input: the network and the section `model` (builder.lua); x, the value of the stream's tokens; options. Output: the
-- value after the last block or norm. Fields of `options`: layers, the number of repetitions of the block; source, the
-- publication named in comments of generated code if norms follow the sums; and for a model with several stacks:
--   name        the block's name, else "layer"; path: the prefix of its tensors' names, with %d for the repetition
--   attention   the family of self-attention, by default "self"
--   memory      a value of another stream to which blocks attend in addition; cross-attention follows self-attention
--   norm        the name of a norm after the last block, for both places of norms; norm_path: the name of its tensors
--   kind        the stack's kind in comments of generated code, by default model.kind

local SOURCES = { post = "Vaswani et al. 2017", pre = "Xiong et al. 2020" }

-- The comment of a block in generated code.
local function describe(model, options)
  local place = model.norm.place
  local words = { place == "post" and options.source or nil }
  words[#words + 1] = SOURCES[place]
  words[#words + 1] = model.norm.kind == "rms" and "Zhang and Sennrich 2019" or nil
  words[#words + 1] = model.branch_activation ~= "none" and "Ito et al. 2024" or nil
  words[#words + 1] = model.activation:find("glu$") and "Shazeer 2020" or nil
  return ("One %s-norm %s block: %s."):format(place, options.kind or model.kind, table.concat(words, "; "))
end

return function(net, model, x, options)
  local b = net:block(options.name or "layer", options.layers, describe(model, options), { path = options.path })
  local kind, is_pre = model.norm.kind, model.norm.place == "pre"
  local attention_options = { bias = model.bias == "all" }
  local feedforward_options = { hidden = model.feedforward, activation = model.activation, bias = model.bias ~= "none",
    hidden_dropout = model.hidden_dropout,
    branch_activation = model.branch_activation ~= "none" and model.branch_activation or nil }
  local family, norm_count = options.attention or "self", 0
  -- Adds a branch to h, with a norm before the branch or after the sum.
  local function add_branch(h, make_branch)
    norm_count = norm_count + 1
    local name = "norm" .. norm_count
    return is_pre and b:add(h, make_branch(b:norm(name, h, kind)), model.dropout)
      or b:norm(name, b:add(h, make_branch(h), model.dropout), kind)
  end
  local h = b:input(x)
  h = net.block_place and b:place(h, net.block_place) or h
  local memory = options.memory and b:external(options.memory)
  h = add_branch(h, function(n) return b:attention(family, n, n, attention_options) end)
  h = memory and add_branch(h, function(n) return b:attention("cross", n, memory, attention_options) end) or h
  b:output(add_branch(h, function(n) return b:feedforward(n, feedforward_options) end))
  local last_norm = options.norm or is_pre and "norm"
  return last_norm and net:norm(last_norm, b.result, kind, options.norm_path) or b.result
end
