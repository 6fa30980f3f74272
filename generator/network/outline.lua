-- The network as a list, for people and for counts: every operation in the order of the description, unfused, with its
-- shape, its parameters and its floating-point operations.
--
-- Input: a network (builder.lua), its buffers (buffers.lua). Output, M.of: pure data, the network first and then its
-- blocks:
--   scope      { name, count, times, about, outside, operations }; count: repetitions with parameters of their own;
--              times: how often it is done, all loops over these; outside: what it reads that is none of its own
--   operation  { kind, name, words, reads, from, rows, columns, parameters, kept, per_token, per_pair, per_label,
--              per_distance }; reads: the names of what it reads; from: the number of the operation that made each, or
--              its name in `outside`; rows: "tokens", "labels" or "none"; kept: the
--              backward pass reads what it gives, or what a norm saves
-- per_...: floating-point operations of a forward pass, two for each multiply-add, for every token, pair of tokens,
-- label, and row of distances that a batch shares. M.counts: their sums over all repetitions, and the same as text.

local ops = require("network.ops")
local parameters = require("network.parameters")

local M = {}

-- Products go by their weights' names, which files know, and blocks by theirs; other operations by their values'.
local function name_of(op)
  return op.kind == "product" and op.weight or op.kind == "block" and op.block.name or op.out.name
end

-- What a value is called where it is read.
local function label_of(value)
  return value.input and "input" or value.external and value.name or value.op and name_of(value.op) or value.name
end

-- Learned numbers of an operation, its own and those of its facets, that no operation before has.
function M.learned(op, seen)
  local count, own = 0, { table.unpack(op.others or {}) }
  own[#own + 1] = op.p
  for _, p in ipairs(own) do
    count = count + (seen[p] and 0 or parameters.count(p))
    seen[p] = true
  end
  return count
end

local function width_of(op)
  local width = op.kind == "product" and #op.p.tensors * (op.p.shown or op.p.width.count) or op.out.width.shown
  return width or op.out.width.count
end

local function entry_of(op, seen, numbers, read)
  local reads, from = {}, {}
  for i, operand in ipairs(ops.operands(op)) do
    reads[i], from[i] = label_of(operand.value), numbers[operand.value]
  end
  local flops = op.about.flops and op.about.flops(op) or {}
  return {
    kind = op.kind, name = name_of(op), words = op.about.words(op), reads = reads, from = from,
    rows = op.kind == "classify" and "labels" or "tokens", columns = width_of(op), parameters = M.learned(op, seen),
    kept = (read[op.out] or op.norm ~= nil) and not op.out.result_of,
    per_token = flops.token or 0, per_pair = flops.pair or 0, per_label = flops.label or 0,
    per_distance = flops.distance or 0,
  }
end

local function scope_of(scope, seen, read)
  local list, outside, numbers = {}, {}, {}
  for i, value in ipairs({ scope.entry or nil, table.unpack(scope.externals) }) do
    outside[i] = ("%s_%d"):format(label_of(value), i)
    numbers[value] = outside[i]
  end
  for i, op in ipairs(scope.ops) do
    list[i] = entry_of(op, seen, numbers, read)
    numbers[op.out] = tostring(i)
  end
  local count = scope.count or 1
  return { name = scope.name, count = count, times = count * (scope.loops or 1), about = scope.comment or false,
    outside = outside, operations = list }
end

-- Numbers of a score that all layers share belong to the network.
function M.shared(net)
  local count = 0
  for _, p in ipairs(net.late) do
    count = count + parameters.count(p)
  end
  return count
end

function M.of(net, room)
  local seen = {}
  local list = { scope_of(net, seen, room.scopes[net].read) }
  for i, block in ipairs(net.scopes) do
    list[i + 1] = scope_of(block, seen, room.scopes[block].read)
  end
  local shared = M.shared(net)
  if shared > 0 then
    table.insert(list[1].operations, { kind = "score", name = "score", words = "numbers that all layers share",
      reads = {}, from = {}, rows = "none", columns = 0, parameters = shared,
      per_token = 0, per_pair = 0, per_label = 0, per_distance = 0 })
  end
  return list
end

-- "5 x (64 x 192 + 64 x 64)" for products { rows, columns } of a scope.
local function product_text(times, terms)
  local text = table.concat(terms, " + ")
  return times == 1 and text or ("%d x (%s)"):format(times, text)
end

local function add(to, times, entry)
  for _, name in ipairs({ "per_token", "per_pair", "per_label", "per_distance" }) do
    to[name] = to[name] + times * entry[name]
  end
end

-- Sums over the network; products: text of the weights that every token is multiplied by; pairs: of what attention
-- does.
function M.counts(net, outline)
  local sums = { per_token = 0, per_pair = 0, per_label = 0, per_distance = 0 }
  local products, pairs_of = {}, {}
  for i, scope in ipairs({ net, table.unpack(net.scopes) }) do
    local terms, times = {}, outline[i].times
    for j, op in ipairs(scope.ops) do
      add(sums, times, outline[i].operations[j])
      if op.kind == "product" then
        terms[#terms + 1] = ("%d x %d"):format(op.x.width.count, width_of(op))
      elseif op.kind == "attention" then
        pairs_of[#pairs_of + 1] = ("%s%d channels %s"):format(times > 1 and times .. " x " or "", op.out.width.count,
          op.family.relative.kind == "none" and "twice" or "three times")
      end
    end
    products[#products + 1] = #terms > 0 and product_text(times, terms) or nil
  end
  sums.weights = sums.per_token // 2
  sums.products = table.concat(products, " + ")
  sums.pairs = #pairs_of > 0 and table.concat(pairs_of, " and ") or "no channels"
  return sums
end

return M
