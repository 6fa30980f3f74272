-- What every scope of a network executes: its forward list, fused, and its backward list, over buffers by name.
--
-- Input: a network (builder.lua). Output: order, the scopes, the network first; scope -> { forward, backward, writes }:
-- writes names the buffers of gradients that the backward list writes.
--
-- Values share buffers by name, within a scope and between scopes. Where two of them would meet in one buffer, the
-- later one gets a name with a number, in the graph itself.

local backward = require("network.backward")
local fuse = require("network.fuse")
local ops = require("network.ops")

local M = {}

local function written(backward_list)
  local names = {}
  for _, b in ipairs(backward_list) do
    for _, role in ipairs({ "to", "dbranch", "dq", "dkv", "ddirection" }) do
      if b[role] and not b[role].outside then
        names[b[role].name] = true
      end
    end
  end
  return names
end

local function derive(net)
  local lists = { order = { net, table.unpack(net.scopes) } }
  local function writes(block)
    return lists[block].writes
  end
  for i = #lists.order, 1, -1 do -- blocks first: the network's list runs them
    local scope = lists.order[i]
    local list = fuse.fuse(scope.ops, scope.last, ops.operands)
    local back = backward.derive(list, scope.entry, scope.last, writes)
    lists[scope] = { forward = list, backward = back, writes = written(back) }
  end
  return lists
end

M.derive = derive

return M
