-- Records for work on some rows alone on the CPU: in the last repetition of a block, on the rows of labelled tokens
-- (labelled_rows.lua); in the first repetition, on the rows of the vocabulary's symbols (vocabulary_rows.lua).
--
-- Input: the state of cpu_network.lua, with `part` and `vocabulary` from these modules, or nil; a scope and its names
-- (cpu_names.lua). Output: further records and names. In generated code `part` and `distinct` give the labelled rows
-- and the rows of symbols that a repetition computes alone; in other repetitions they give all tokens, and the
-- functions that copy, spread and sum rows do nothing.

local base_names = require("base.names")
local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

local VECTORS, SCRATCH = "token_vectors", "token_scratch"

-- Adds the buffers for rows of the vocabulary, if some are computed, to the workspace.
function M.add_buffers(cpu)
  local vocabulary = cpu.vocabulary
  local function add(name, width, about)
    table.insert(cpu.buffers.workspace, buffers.make_rows({ name = name, width = width, about = about,
      stream = vocabulary.embed.stream }, vocabulary.embed, { form = "vocabulary" }))
  end
  if vocabulary then
    add(VECTORS, vocabulary.embed.out.width, "the vectors of all symbols")
    add(SCRATCH, vocabulary.width)
  end
end

-- The name of the buffer for copies of the labelled rows of a value that has all rows: <value>_read, possibly with a
-- number. In the list of buffers, the buffer's first reader stands for its writer.
local function name_labelled_buffer(cpu, value, reader)
  local taken = lists.to_set(lists.map(cpu.buffers.workspace, function(b) return b.name end))
  if not cpu.part_names[value] then
    cpu.part_names[value] = base_names.find_unused(value.name .. "_read", taken)
    table.insert(cpu.buffers.workspace, buffers.make_rows(value, reader, { name = cpu.part_names[value],
      about = "rows of w->read" }))
  end
  return cpu.part_names[value]
end

-- Makes a function from a list's entry to the names and places of its records' values. If an entry computes some rows
-- alone, a record before the first reader copies these rows from a value that has all rows: labelled rows once in each
-- list (once for both lists of the network); or it takes the symbols' vectors in place of the block's input.
function M.make_naming(cpu, scope, at, place, records, mode)
  local partial = cpu.part and cpu.part.partial or {}
  local done = cpu.vocabulary and cpu.vocabulary.block == scope and cpu.vocabulary.done or {}
  local taken = scope == cpu.net and mode == "train" and cpu.part_taken or {}
  local part_at = setmetatable({ partly = true }, { __index = at })
  local distinct_at = setmetatable({ partly = true, of_part = "distinct->" }, { __index = at })
  local taken_input = false
  local function find_symbols(value)
    if value ~= scope.entry then
      return place(value)
    elseif not taken_input then
      taken_input = true
      calls.append("cpu", records, "distinct", at, { distinct = "distinct", all = "&" .. at.w .. "all",
        input = mode == "back" and "s->input" or "input", vectors = at.w .. VECTORS })
    end
    return "input_distinct"
  end
  return function(entry)
    if done[entry] then
      return distinct_at, find_symbols
    elseif not partial[entry] or entry.kind == "attention" then
      return at, place
    end
    return part_at, function(value)
      if cpu.part.values[value] then
        return place(value)
      elseif not taken[value] then
        taken[value] = name_labelled_buffer(cpu, value, entry)
        calls.append("cpu", records, "part", at, { self = at.self, part = at.part, name = taken[value],
          width = value.width.text, x = place(value), rows = at.w .. taken[value] })
      end
      return taken[value]
    end
  end
end

-- Appends records after an operation: rows of its results are copied to all tokens; an embedding makes rows of symbols.
function M.append_after(cpu, at, records, place, op)
  local vocabulary = cpu.vocabulary
  for _, value in ipairs(vocabulary and ops.list_results(op) or {}) do
    if vocabulary.repeated[value] then
      calls.append("cpu", records, "repeat", at, { call = "repeat_rows(self, distinct, width, x)",
        distinct = "distinct", width = value.width.text, x = place(value) })
    end
  end
  if vocabulary and vocabulary.embed == op then
    calls.append("cpu", records, "embed_vocabulary", at, { call = "routine(self, out)", out = at.w .. VECTORS,
      routine = embeddings.name_routine(cpu.net, op) .. "_vocabulary" })
  end
end

-- Appends records before an entry of a backward list, or at the end of a scope's list (key: the entry or the scope):
-- gradients of labelled rows are spread to all rows, and gradients of all tokens are summed by symbol.
function M.append_before(cpu, at, records, key)
  local symbols = cpu.vocabulary and cpu.vocabulary.summed[key]
  local function add(kind, call, list, distinct)
    for _, buffer in ipairs(list or {}) do
      calls.append("cpu", records, kind, at, { call = call, distinct = distinct, width = buffer.width.text,
        gradient = at.w .. buffer.name })
    end
  end
  add("spread", "expand_rows(self, part, width, gradient)", cpu.part and cpu.part.spread[key])
  add("sum", "sum_by_symbol(self, distinct, width, gradient)", symbols, "distinct")
end

return M
