-- Composites of a network: groups of its operations that become separate PyTorch modules.
--
-- Input: a scope of a network, which is the network itself or a block (network/graph/builder.lua). M.find_composites
-- returns { [operation] = the composite that contains it }. A composite:
--   path       the folder of its tensors in checkpoints, which is the module's name
--   ops        the set of its operations
--   reads      the values that it reads from other operations
--   out        its result
--   last       the operation that computes the result
--   attention  the operation of an attention; nil for other composites
--   list       in other composites: the operations in order
--   entry      in other composites: the one value that the composite reads

local lists = require("base.lists")

local M = {}

-- Returns the operations that read each value, in order. The scope itself counts as a reader of its result.
local function find_readers(scope)
  local readers = {}
  for _, op in ipairs(scope.ops) do
    local values = lists.map(op.definition.roles, function(role) return op[role] end)
    for _, value in ipairs(lists.join(values, op.externals or {})) do
      lists.append_to(readers, value, op)
    end
  end
  lists.append_to(readers, scope.output_value or false, scope)
  return readers
end

-- Returns the composite of an attention: the attention, its products of queries, keys and values, a product that
-- a facet requests (op.contribution), and the output product if its tensors are in the attention's folder.
local function make_attention(op, readers)
  local composite = { path = op.path:gsub("%.$", ""), attention = op, ops = { [op] = true, [op.q.op] = true,
    [op.kv.op] = true }, out = op.out, last = op, reads = { op.q.op.x } }
  if op.kv.op.x ~= op.q.op.x then
    composite.reads[2] = op.kv.op.x
  end
  if op.contribution then
    composite.ops[op.contribution.op] = true
  end
  local output = readers[op.out][1]
  if output.kind == "product" and output.p.tensors[1] == op.path .. "output" then
    composite.ops[output], composite.out, composite.last = true, output.out, output
  end
  return composite
end

-- Returns the folder that all tensors of a product share; nil if they share none, or the operation is no product.
local function find_folder(op)
  local folders = lists.map(op.kind == "product" and op.p.tensors or {}, function(path)
    return path:match("^(.*)%.") or false
  end)
  return #lists.drop_repeats(folders) == 1 and folders[1] or nil
end

local COMPOSITE_KINDS = { product = true, activation = true, gate = true }

-- Returns the composite of the operations with indices `from` to `to` of a scope. Returns nil unless these operations
-- read only one value from other operations, and other operations read only the last result.
local function find_composite(scope, path, from, to, readers)
  local composite = { path = path, ops = {}, list = {}, out = scope.ops[to].out, last = scope.ops[to] }
  local results = {}
  for i = from, to do
    local op = scope.ops[i]
    if not COMPOSITE_KINDS[op.kind] or op.kind == "product" and find_folder(op) ~= path then
      return nil
    elseif not results[op.x] then
      composite.entry = composite.entry or op.x
      if composite.entry ~= op.x then
        return nil
      end
    end
    composite.ops[op], composite.list[#composite.list + 1], results[op.out] = true, op, true
  end
  for i = from, to - 1 do
    for _, reader in ipairs(readers[scope.ops[i].out]) do
      if not composite.ops[reader] then
        return nil
      end
    end
  end
  composite.reads = { composite.entry }
  return composite
end

function M.find_composites(scope)
  local readers, composite_by_op, first_index, last_index, paths = find_readers(scope), {}, {}, {}, {}
  local function add(composite)
    for op in next, composite and composite.ops or {} do
      composite_by_op[op] = composite
    end
  end
  for _, op in ipairs(scope.ops) do
    if op.kind == "attention" then
      add(make_attention(op, readers))
    end
  end
  for i, op in ipairs(scope.ops) do
    local path = not composite_by_op[op] and find_folder(op)
    if path then
      paths[#paths + 1] = not first_index[path] and path or nil
      first_index[path], last_index[path] = first_index[path] or i, i
    end
  end
  for _, path in ipairs(paths) do
    add(find_composite(scope, path, first_index[path], last_index[path], readers))
  end
  return composite_by_op
end

return M
