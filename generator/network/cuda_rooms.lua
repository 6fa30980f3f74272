-- The arrays of device code: what a layer keeps, and what a block of threads has besides, as members of structs.
--
-- A member is { name, type, each, about, limited }: `each` elements for every row of a token, false for one; limited:
-- rows of some sequences at a time.
-- type: "reals" are known to the compiler to lie in global memory. "real *" is what the loops over pairs read: with the
-- other type they would need 10 to 20 registers more, with as many loads of memory.

local buffers = require("network.buffers")

local M = {}

local PLAIN, GLOBAL = "real *", "reals"

-- Values and gradients that attention reads or writes pair by pair.
local function read_by_pairs(device)
  local names = {}
  for _, scope in ipairs(device.lists.order) do
    for _, op in ipairs(device.lists[scope].forward) do
      if op.kind == "attention" then
        names[op.q.name], names[op.kv.name], names[op.out.name] = true, true, true
      end
    end
    for _, b in ipairs(device.lists[scope].backward) do
      if b.kind == "attention_grad" then
        names[b.dy.name], names[b.dq.name], names[b.dkv.name] = true, true, true
      end
    end
  end
  return names
end

local function shape_of(each)
  return each and ("[rows][%s]"):format((each:gsub(" %* ", " "))) or "[rows]"
end

local function rows(name, type, width, about)
  local each = width and width.text or false
  return { name = name, type = type, each = each, about = shape_of(each) .. (about and " " .. about or ""),
    limited = false }
end

local function of_heads(name, type, about, times)
  local each = (times and times .. " * " or "") .. "HEADS"
  return { name = name, type = type, each = each, about = about, limited = false }
end

local function of_pairs(device, name, type, about)
  return { name = name, type = type, each = "HEADS * (size_t)T", about = about,
    limited = device.given.pairs }
end

-- What a family of attentions keeps of a layer.
local function family_kept(family, list)
  if family.relative.biases then
    list[#list + 1] = of_heads("key_bias", PLAIN,
      "[sequences][HEADS][T] of a key with the content bias, times LOGIT_SCALE")
  end
  if family.normaliser.normalised then
    list[#list + 1] = of_heads("inverse_total", GLOBAL, "[sequences][HEADS][T] of a query's weights")
  elseif family.normaliser.kind ~= "geometric" then
    list[#list + 1] = of_heads("largest", PLAIN, "[sequences][HEADS][T] of a query's softmax")
    list[#list + 1] = of_heads("inverse_sum", PLAIN, "[sequences][HEADS][T] of a query's softmax")
  end
end

-- What its backward pass works with.
local function family_work(device, family, list)
  local given, normaliser = device.given, family.normaliser
  local at_a_time = given.pairs and " at a time" or ""
  if normaliser.kind == "geometric" then
    local of_weights = normaliser.normalised and "before they are divided by their sum" or "of values"
    list[#list + 1] = of_pairs(device, "weights", GLOBAL, ("[sequences%s][HEADS][key - query, or that + T][queries] %s")
      :format(at_a_time, of_weights))
    list[#list + 1] = of_pairs(device, "pairs", GLOBAL, "likewise: 1 - P, then gradients of logits")
    list[#list + 1] = of_heads("query_sums", GLOBAL,
      "[numbers as in geometric_numbers][sequences][HEADS][T] what a query adds to their gradients", "QUERY_SUMS")
  else
    list[#list + 1] = of_heads("delta", PLAIN, "[sequences][HEADS][T] output times its gradient")
    if given.pairs then
      list[#list + 1] = of_pairs(device, "pairs", PLAIN,
        "[sequences at a time][HEADS][queries][keys] gradients of logits")
    end
  end
  if given.pair_scores then
    list[#list + 1] = of_pairs(device, "pair_scores", GLOBAL, "likewise, of scores")
  end
  if family.relative.biases then
    list[#list + 1] = of_heads("key_sums", GLOBAL, "[rows][HEADS] of a key's gradients of logits")
  end
  if given.uniform_count then
    list[#list + 1] = of_heads("head_sums", GLOBAL, "[tables][sequences][HEADS][T] of a query's gradients of scores",
      tostring(given.uniform_count))
  end
end

local function member_of(buffer, plain)
  local width = buffer.form == "rows" and buffer.width
  return rows(buffer.name, plain[buffer.name] and PLAIN or GLOBAL, width, buffer.about)
end

-- What a layer keeps; its output last. What attention works with lies together, its result behind it: the compiler
-- loads neighbours at once, and in another order attention over pairs has more instructions.
function M.kept(device, block)
  local list, plain = {}, read_by_pairs(device)
  for _, buffer in ipairs(device.buffers.scopes[block].kept) do
    if buffer.form == "family" then
      local attended = table.remove(list)
      family_kept(buffer.family, list)
      list[#list + 1] = attended
    elseif buffer.form ~= "keep" and buffer.name ~= "input" then
      list[#list + 1] = member_of(buffer, plain)
    end
  end
  list[#list + 1] = rows("output", GLOBAL, block.last.width, "input of the next layer")
  return list
end

-- Values between blocks and what layers do not keep, then, in training alone, gradients and what attention works with.
function M.workspace(device)
  local always, training, plain = {}, {}, read_by_pairs(device)
  local blocks_give = {}
  for _, op in ipairs(device.lists[device.net].forward) do
    if op.kind == "block" then
      blocks_give[op.out.name], blocks_give[buffers.of_stream("output", op.out)] = true, true
    elseif op.out.carried then
      always[#always + 1] = rows(op.out.name, GLOBAL, op.out.width, "input of the first layer")
    end
  end
  for _, buffer in ipairs(device.buffers.workspace) do
    if buffer.form ~= "keep" and buffer.form ~= "family" and not blocks_give[buffer.name] then
      table.insert(buffer.training and training or always, member_of(buffer, plain))
    end
  end
  for _, scope in ipairs(device.lists.order) do
    for _, op in ipairs(device.lists[scope].forward) do
      if op.kind == "attention" then
        family_work(device, op.family, training)
      end
    end
  end
  return always, training
end

-- Members as lines of a struct: neighbours of one type and meaning stand in one line.
function M.lines(members)
  local lines = {}
  for _, m in ipairs(members) do
    local last, star = lines[#lines], m.type == PLAIN and "*" or ""
    if last and last.type == m.type and last.about == m.about and #last.text < 60 then
      last.text = ("%s, %s%s"):format(last.text, star, m.name)
    else
      lines[#lines + 1] = { type = m.type, about = m.about, text = m.type .. (star == "" and " " or "") .. m.name }
    end
  end
  local texts = {}
  for i, line in ipairs(lines) do
    texts[i] = ("%s; /* %s */"):format(line.text, line.about)
  end
  return texts
end

return M
