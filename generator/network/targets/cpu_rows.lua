-- Makes the records (calls.lua) of operations that compute only some rows on the CPU. In generated code, two variables
-- select these rows:
--   part       in a block's last repetition, the rows of labelled tokens (labelled_rows.lua)
--   distinct   in a block's first repetition, a row for each symbol of the vocabulary (vocabulary_rows.lua)
-- In other repetitions both variables select all tokens, and the functions that copy, expand and sum rows do nothing.
--
-- Input: a scope, its names (cpu_names.lua), and the table `cpu` (M.derive of cpu_network.lua) with two fields:
--   labelled_rows   the output of labelled_rows.lua, or nil
--   vocabulary      the output of vocabulary_rows.lua, or nil
-- Output: further records and names.

local base_names = require("base.names")
local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local embeddings = require("network.targets.embeddings")
local lists = require("base.lists")
local ops = require("network.graph.ops")

local M = {}

-- Names of buffers: for the vectors of the vocabulary's symbols, and for rows while they are copied or summed.
local VECTORS, SCRATCH = "token_vectors", "token_scratch"

-- Adds the buffers for rows of the vocabulary to the workspace, if the network has such rows.
function M.add_buffers(cpu)
  local vocabulary = cpu.vocabulary
  local function add(name, width, comment)
    table.insert(cpu.buffers.workspace, buffers.make_rows({ name = name, width = width, comment = comment,
      stream = vocabulary.embed.stream }, vocabulary.embed, { form = "vocabulary" }))
  end
  if vocabulary then
    add(VECTORS, vocabulary.embed.out.width, "the vectors of all symbols")
    add(SCRATCH, vocabulary.width)
  end
end

-- Returns the name of the buffer for copies of a value's labelled rows: <value>_read, possibly with a number. The first
-- call for a value adds the buffer. The record that copies the rows belongs to `reader`, the entry that reads the
-- copies; so the buffer's writer is `reader`, too.
local function name_labelled_buffer(cpu, value, reader)
  local used_names = lists.to_set(lists.map(cpu.buffers.workspace, function(buffer) return buffer.name end))
  if not cpu.part_names[value] then
    cpu.part_names[value] = base_names.find_unused(value.name .. "_read", used_names)
    table.insert(cpu.buffers.workspace, buffers.make_rows(value, reader, { name = cpu.part_names[value],
      comment = "labelled rows (w->read)" }))
  end
  return cpu.part_names[value]
end

-- Returns a function(entry) with two results for an entry of a list:
--   the scope's texts (cpu_names.lua) for this entry
--   a function(value) that returns C text of the place where the entry finds a value
-- Parameters:
--   place   a function(value) that returns C text of the place of all rows of a value
--   mode    "train" or "evaluate" for a list of the network or a group; "forward" or "back" for a list of a block
-- Some entries compute only labelled rows and read a value that has all rows. A record before the first such entry then
-- copies the value's labelled rows. Similarly, a record replaces a block's input by vectors of symbols.
function M.make_naming(cpu, scope, text, place, records, mode)
  local labelled_work = cpu.labelled_rows and cpu.labelled_rows.labelled_work or {}
  local symbol_work = cpu.vocabulary and cpu.vocabulary.block == scope and cpu.vocabulary.by_symbol or {}
  -- Value -> name of its copy. In training, the network's backward list reads the copies of the forward list.
  local copy_names = scope == cpu.net and mode == "train" and cpu.copied_parts or {}
  -- is_partial: the entry computes the rows of a selection, `part` or `distinct`
  local part_text = setmetatable({ is_partial = true }, { __index = text })
  local distinct_text = setmetatable({ is_partial = true, selection = "distinct->" }, { __index = text })
  local has_symbol_input = false
  local function place_symbols(value)
    if value ~= scope.input_value then
      return place(value)
    elseif not has_symbol_input then
      has_symbol_input = true
      calls.append("cpu", records, "distinct", text, { distinct = "distinct", all = "&" .. text.w .. "all",
        input = mode == "back" and "s->input" or "input", vectors = text.w .. VECTORS })
    end
    return "input_distinct"
  end
  return function(entry)
    if symbol_work[entry] then
      return distinct_text, place_symbols
    elseif not labelled_work[entry] or entry.kind == "attention" then
      return text, place
    end
    return part_text, function(value)
      if cpu.labelled_rows.values[value] then
        return place(value)
      elseif not copy_names[value] then
        copy_names[value] = name_labelled_buffer(cpu, value, entry)
        calls.append("cpu", records, "part", text, { self = text.self, part = text.part, name = copy_names[value],
          width = value.width.text, x = place(value), rows = text.w .. copy_names[value] })
      end
      return copy_names[value]
    end
  end
end

-- Appends the records that follow an operation:
--   after an operation that computes rows of symbols   records that copy these rows to all tokens
--   after the embedding                                a record that computes the vectors of symbols
function M.append_after(cpu, text, records, place, op)
  local vocabulary = cpu.vocabulary
  for _, value in ipairs(vocabulary and ops.list_results(op) or {}) do
    if vocabulary.repeated[value] then
      calls.append("cpu", records, "repeat", text, { call = "repeat_rows(self, distinct, width, x)",
        distinct = "distinct", width = value.width.text, x = place(value) })
    end
  end
  if vocabulary and vocabulary.embed == op then
    calls.append("cpu", records, "embed_vocabulary", text, { call = "routine(self, out)", out = text.w .. VECTORS,
      routine = embeddings.name_routine(cpu.net, op) .. "_vocabulary" })
  end
end

-- Appends the records that expand gradients of labelled rows to all rows and sum gradients of all tokens by symbol.
-- key: the entry of the backward list that follows, or the scope at the end of the scope's list.
function M.append_before(cpu, text, records, key)
  local function add(kind, call, gradient_buffers, distinct)
    for _, buffer in ipairs(gradient_buffers or {}) do
      calls.append("cpu", records, kind, text, { call = call, distinct = distinct, width = buffer.width.text,
        gradient = text.w .. buffer.name })
    end
  end
  add("expand", "expand_rows(self, part, width, gradient)", cpu.labelled_rows and cpu.labelled_rows.expansions[key])
  add("sum", "sum_by_symbol(self, distinct, width, gradient)",
    cpu.vocabulary and cpu.vocabulary.summed[key], "distinct")
end

return M
