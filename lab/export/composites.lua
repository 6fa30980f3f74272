-- Composites of a network: groups of its operations that become PyTorch modules of their own.
--
-- Input: a scope of a network, which is the network itself or a block (network/graph/builder.lua). M.find_groups
-- returns { [operation] = the group that contains it }. A group:
--   path       the folder of the group's tensors in checkpoints, which is the module's name
--   ops        the set of its operations
--   reads      the values that it reads from other operations
--   out        its result
--   last       the operation that computes the result
--   attention  the operation of an attention; nil for other groups
--   list       in other groups: the operations in order
--   entry      in other groups: the one value that the group reads

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

-- Returns the group of an attention: its products of queries, keys and values, its contribution to the scores if there
-- is one, and its output product if this product has the attention's folder.
local function group_attention(op, readers)
  local group = { path = op.path:gsub("%.$", ""), attention = op, ops = { [op] = true, [op.q.op] = true,
    [op.kv.op] = true }, out = op.out, last = op, reads = { op.q.op.x } }
  if op.kv.op.x ~= op.q.op.x then
    group.reads[2] = op.kv.op.x
  end
  if op.contribution then
    group.ops[op.contribution.op] = true
  end
  local output = readers[op.out][1]
  if output.kind == "product" and output.p.tensors[1] == op.path .. "output" then
    group.ops[output], group.out, group.last = true, output.out, output
  end
  return group
end

-- Returns the folder that all tensors of a product share; nil if they share none, or the operation is no product.
local function find_folder(op)
  local folders = lists.map(op.kind == "product" and op.p.tensors or {}, function(path)
    return path:match("^(.*)%.") or false
  end)
  return #lists.drop_repeats(folders) == 1 and folders[1] or nil
end

local GROUPED_KINDS = { product = true, activation = true, gate = true }

-- Returns the group of the operations with indices `from` to `to` of a scope. Returns nil unless these read only one
-- value from other operations, and other operations read only the last result.
local function find_group(scope, path, from, to, readers)
  local group = { path = path, ops = {}, list = {}, out = scope.ops[to].out, last = scope.ops[to] }
  local results = {}
  for i = from, to do
    local op = scope.ops[i]
    if not GROUPED_KINDS[op.kind] or op.kind == "product" and find_folder(op) ~= path then
      return nil
    elseif not results[op.x] then
      group.entry = group.entry or op.x
      if group.entry ~= op.x then
        return nil
      end
    end
    group.ops[op], group.list[#group.list + 1], results[op.out] = true, op, true
  end
  for i = from, to - 1 do
    for _, reader in ipairs(readers[scope.ops[i].out]) do
      if not group.ops[reader] then
        return nil
      end
    end
  end
  group.reads = { group.entry }
  return group
end

function M.find_groups(scope)
  local readers, group_by_op, first_index, last_index, paths = find_readers(scope), {}, {}, {}, {}
  local function add(group)
    for op in next, group and group.ops or {} do
      group_by_op[op] = group
    end
  end
  for _, op in ipairs(scope.ops) do
    if op.kind == "attention" then
      add(group_attention(op, readers))
    end
  end
  for i, op in ipairs(scope.ops) do
    local path = not group_by_op[op] and find_folder(op)
    if path then
      paths[#paths + 1] = not first_index[path] and path or nil
      first_index[path], last_index[path] = first_index[path] or i, i
    end
  end
  for _, path in ipairs(paths) do
    add(find_group(scope, path, first_index[path], last_index[path], readers))
  end
  return group_by_op
end

return M
