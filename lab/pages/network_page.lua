-- The network on one page and as a picture: the output of `plan`, and the input of graphviz for `plan --graph`.
--
-- Input: a plan with plan.network (outline.lua) and plan.passes (passes.lua), with flops from costs.lua. Output: lines
-- of text, a list for the JSON encoder, the text of a graph in the dot language. Invariant: all words in a graph are
-- names that the builder has checked, or constants of this module and of ops.lua; so labels need no escapes.

local lists = require("base.lists")
local memory = require("lab.pages.memory")
local wording = require("base.wording")

local M = {}

-- Formats a number with commas: "1,234,567".
function M.format_count(n)
  return (tostring(n):reverse():gsub("(%d%d%d)", "%1,"):gsub(",$", ""):reverse())
end

-- Returns the title of the scope with index i: "the network" for 1, otherwise such as "block, 5 times"; with loops over
-- the same parameters "block, 5 times, 3 loops".
local function format_title(scope, i)
  local loops = scope.times // scope.count
  return i == 1 and "the network" or ("%s, %s"):format(scope.name, wording.count(scope.count, "time"))
    .. (loops > 1 and (", %d loops"):format(loops) or "")
end

local function format_measure(number, unit, format)
  return number > 0 and format:format(number / unit) or ""
end

local function make_row(operation)
  local reads = #operation.reads > 0 and ": " .. table.concat(operation.reads, ", ") or ""
  return { operation.name, operation.shape and ("[%s][%s]"):format(operation.shape[1], operation.shape[2]) or "",
    operation.parameters > 0 and M.format_count(operation.parameters) or "", format_measure(operation.kept_bytes, 1e3,
    "%.1f"), format_measure(operation.scratch_bytes, 1e3, "%.1f"), format_measure(operation.flops, 1e9, "%.3f"),
      operation.description .. reads }
end

local HEADS = { "", "", "parameters", "kept kB", "scratch kB", "GFLOP", "" }
local LEFT_ALIGNED = { true, true, [7] = true } -- columns
local HEADING = "network     operations of a step, with GFLOP. Memory of one thread for %s of %s. kept: stored for\n"
  .. "            the backward pass by all repetitions; scratch: reused, listed where it is first written"

-- Returns rows as lines with aligned columns; a row that is a text becomes a line unchanged.
local function align(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(type(row) == "table" and row or {}) do
      widths[i] = math.max(widths[i] or 0, #cell)
    end
  end
  local lines = {}
  for n, row in ipairs(rows) do
    local cells = lists.map(type(row) == "table" and row or {}, function(cell, i)
      local blank = (" "):rep(widths[i] - #cell)
      return LEFT_ALIGNED[i] and cell .. blank or blank .. cell
    end)
    lines[n] = type(row) == "string" and row or "    " .. table.concat(cells, "  "):gsub("%s+$", "")
  end
  return lines
end

function M.format_lines(plan)
  local block, rows = memory.derive(plan).largest_block, { HEADS }
  local lengths = lists.map(block.size, function(length) return wording.count(length, "token") end)
  for i, scope in ipairs(plan.passes) do
    rows[#rows + 1] = ("  %s%s"):format(format_title(scope, i), i > 1 and scope.comment and ": " .. scope.comment or "")
    lists.append(rows, lists.map(scope.forward, make_row))
    rows[#rows + 1] = "    backward pass"
    lists.append(rows, lists.map(scope.backward, make_row))
  end
  local lines = align(rows)
  table.insert(lines, 1, HEADING:format(wording.count(block.sequences, "sequence"), table.concat(lengths, " and ")))
  return lines
end

-- Returns the table of operations as data: bytes and flops of all `times` repetitions, parameters of one copy.
function M.list_operations(plan)
  local list = {}
  memory.derive(plan) -- sets kept_bytes and scratch_bytes
  for i, scope in ipairs(plan.passes) do
    for _, pass in ipairs({ "forward", "backward" }) do
      for _, operation in ipairs(scope[pass]) do
        list[#list + 1] = { block = i > 1 and scope.name or nil, count = scope.count, times = scope.times, pass = pass,
          name = operation.name, what = operation.description, reads = operation.reads, shape = operation.shape,
          parameters = operation.parameters, kept_bytes = operation.kept_bytes,
          scratch_bytes = operation.scratch_bytes, flops = operation.flops }
      end
    end
  end
  return list
end

local function format_node(id, label, style)
  return ('    "%s" [label="%s"%s];'):format(id, label, style and ", " .. style or "")
end

-- The style of operations whose results are kept for the backward pass.
local KEPT_STYLE = "style=filled, fillcolor=lightgrey"

local function draw_scope(lines, scope, prefix)
  for j, operation in ipairs(scope.operations) do
    local label = { operation.name, operation.description,
      operation.rows == "none" and "" or ("[%s][%d]"):format(operation.rows, operation.columns) }
    lines[#lines + 1] = format_node(prefix .. j, table.concat(label, "\\n"), operation.kept and KEPT_STYLE)
    for _, from in ipairs(operation.from) do
      lines[#lines + 1] = ('    "%s%s" -> "%s%d";'):format(prefix, from, prefix, j)
    end
  end
end

-- Returns a graph for dot: the network, and next to it each block, drawn once however often it is repeated.
function M.draw_graph(plan)
  local lines = { "digraph network {", "  rankdir=TB;", '  node [shape=box, fontname="sans-serif", fontsize=10];',
    '  label="grey: kept for the backward pass"; fontname="sans-serif"; fontsize=10;' }
  for i, scope in ipairs(plan.network) do
    lines[#lines + 1] = ("  subgraph cluster_%d {"):format(i)
    lines[#lines + 1] = ('    label="%s"; fontname="sans-serif"; fontsize=11;'):format(format_title(scope, i))
    local prefix = "s" .. i .. "."
    for _, outside in ipairs(scope.outside) do
      lines[#lines + 1] = format_node(prefix .. outside, outside:gsub("_%d+$", ""), "shape=plaintext")
    end
    draw_scope(lines, scope, prefix)
    lines[#lines + 1] = "  }"
  end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n") .. "\n"
end

return M
