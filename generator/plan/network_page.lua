-- The network on one page, and as a picture: what `plan` prints of it, and what `plan --graph` gives to graphviz.
--
-- Input: a plan with its network (costs.lua). Output: lines of text, a list for the JSON encoder, the text of a graph
-- in the language of dot. Nothing is decided here.
-- Invariant: all words in a graph are names that the builder has checked, and words of ours.

local wording = require("base.wording")

local M = {}

local function grouped(n)
  local text = tostring(n)
  repeat
    local count
    text, count = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
  until count == 0
  return text
end

M.grouped = grouped

local function shape_words(operation)
  return operation.rows == "none" and "" or ("[%s][%d]"):format(operation.rows, operation.columns)
end

-- "5 times"; with loops over the same parameters "5 times, 3 loops".
local function times_of(scope)
  local loops = scope.times // scope.count
  return wording.count(scope.count, "time") .. (loops > 1 and (", %d loops"):format(loops) or "")
end

local function title_of(scope, i)
  if i == 1 then
    return "  the network"
  end
  return ("  %s, %s%s"):format(scope.name, times_of(scope), scope.about and ": " .. scope.about or "")
end

-- A section for the page: an operation a line, in the order in which they are done.
function M.lines(plan)
  local lines = { "network, operations of the forward pass; GFLOP of a step's forward and backward pass" }
  for i, scope in ipairs(plan.network) do
    lines[#lines + 1] = title_of(scope, i)
    for _, operation in ipairs(scope.operations) do
      local parameters = operation.parameters > 0 and grouped(operation.parameters) or ""
      local flops = operation.flops > 0 and ("%.3f GFLOP"):format(operation.flops / 1e9) or ""
      lines[#lines + 1] = (("    %-22s %-40s %-16s %9s  %14s"):format(operation.name, operation.words,
        shape_words(operation), parameters, flops):gsub("%s+$", ""))
    end
  end
  return lines
end

-- The same as data: flops is of a whole step.
function M.json(plan)
  local list = {}
  for i, scope in ipairs(plan.network) do
    for _, operation in ipairs(scope.operations) do
      list[#list + 1] = { block = i > 1 and scope.name or nil, times = scope.times, name = operation.name,
        what = operation.words, reads = operation.reads, rows = operation.rows,
        columns = operation.columns, parameters = operation.parameters, flops = operation.flops }
    end
  end
  return list
end

local function node(id, label, shape)
  return ('    "%s" [label="%s"%s];'):format(id, label, shape and ", shape=" .. shape or "")
end

-- Of one scope: its operations as boxes, arrows from what they read.
local function draw_scope(lines, scope, prefix)
  for j, operation in ipairs(scope.operations) do
    local label = { operation.name, operation.words, shape_words(operation) }
    lines[#lines + 1] = node(prefix .. j, table.concat(label, "\\n"))
    for _, from in ipairs(operation.from) do
      lines[#lines + 1] = ('    "%s%s" -> "%s%d";'):format(prefix, from, prefix, j)
    end
  end
end

-- A graph for dot: the network, and beside it each block, which is drawn once.
function M.graph(plan)
  local lines = { "digraph network {", "  rankdir=TB;", '  node [shape=box, fontname="sans-serif", fontsize=10];' }
  for i, scope in ipairs(plan.network) do
    lines[#lines + 1] = ("  subgraph cluster_%d {"):format(i)
    lines[#lines + 1] = ('    label="%s"; fontname="sans-serif"; fontsize=11;'):format(i == 1 and "the network"
      or ("%s, %s"):format(scope.name, times_of(scope)))
    local prefix = "s" .. i .. "."
    for _, outside in ipairs(scope.outside) do
      lines[#lines + 1] = node(prefix .. outside, outside:gsub("_%d+$", ""), "plaintext")
    end
    draw_scope(lines, scope, prefix)
    lines[#lines + 1] = "  }"
  end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n") .. "\n"
end

return M
