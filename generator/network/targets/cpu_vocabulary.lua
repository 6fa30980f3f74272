-- Records of what the CPU does for the rows of the vocabulary alone, in the first layer (vocabulary_rows.lua).
--
-- Input: the state of cpu_network.lua, where `vocabulary` is what vocabulary_rows.lua gives, or nil; a scope, names of
-- it (cpu_names.lua). In generated code `distinct` says of what a repetition has rows: of all tokens, or in the first
-- one of the symbols. Copying rows to all tokens and summing gradients by symbol are no work where rows are of tokens.

local buffers = require("network.lists.buffers")
local calls = require("network.targets.calls")
local embeddings = require("network.targets.embeddings")
local ops = require("network.graph.ops")

local M = {}

local VECTORS, SCRATCH = "token_vectors", "token_scratch"

-- The buffers of a workspace that it takes.
function M.add_rooms(cpu)
  local vocabulary = cpu.vocabulary
  local function add(name, width, about)
    table.insert(cpu.buffers.workspace, buffers.rows({ name = name, width = width, about = about,
      stream = vocabulary.embed.stream }, vocabulary.embed, { form = "vocabulary" }))
  end
  if vocabulary then
    add(VECTORS, vocabulary.embed.out.width, "what the embedding gives every symbol")
    add(SCRATCH, vocabulary.width)
  end
end

-- How records of a scope are made: a function from an entry of its list, and names and places for all tokens, to those
-- that the entry is made with. The first that reads the block's input has a record ahead that takes its rows.
function M.naming(cpu, scope, at, records, mode)
  local vocabulary = cpu.vocabulary
  if not vocabulary or vocabulary.block ~= scope then
    return function(_, names, place)
      return names, place
    end
  end
  local here, taken = setmetatable({ partly = true, of_part = "distinct->" }, { __index = at }), false
  return function(entry, names, place)
    if not vocabulary.done[entry] then
      return names, place
    end
    return here, function(value)
      if value ~= scope.entry then
        return place(value)
      elseif not taken then
        taken = true
        calls.append("cpu", records, "distinct", at, { distinct = "distinct", all = "&" .. at.w .. "all",
          input = mode == "back" and "s->input" or "input", vectors = at.w .. VECTORS })
      end
      return "input_distinct"
    end
  end
end

-- Behind an operation: its values' rows become those of all tokens; behind the embedding what it gives every symbol.
function M.made(cpu, at, records, place, op)
  local vocabulary = cpu.vocabulary
  for _, value in ipairs(vocabulary and ops.results(op) or {}) do
    if vocabulary.repeated[value] then
      calls.append("cpu", records, "repeat", at, { call = "repeat_rows(self, distinct, width, x)",
        distinct = "distinct", width = value.width.text, x = place(value) })
    end
  end
  if vocabulary and vocabulary.embed == op then
    calls.append("cpu", records, "embed_vocabulary", at, { call = "routine(self, out)", out = at.w .. VECTORS,
      routine = embeddings.routine(cpu.net, op) .. "_vocabulary" })
  end
end

-- Ahead of an entry, or at the end of a block, gradients of all tokens become those of symbols.
function M.sum(cpu, at, records, key)
  for _, buffer in ipairs(cpu.vocabulary and cpu.vocabulary.summed[key] or {}) do
    calls.append("cpu", records, "sum", at, { call = "sum_by_symbol(self, distinct, width, gradient)",
      distinct = "distinct", width = buffer.width.text, gradient = at.w .. buffer.name })
  end
end

return M
