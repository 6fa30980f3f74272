-- The calls in generated code that execute operations of a network: a function and the order of its arguments.
--
-- Input: the target, "cpu" or "cuda"; records of an operation (cpu_records.lua, cuda_records.lua): a call, such as
-- "routine(rows, x, out)", and by role the text of each argument, or false if the argument is absent; and names for
-- roles that records leave out. Words in quotes and the function's name are literal, except `routine`, whose name is in
-- the record. Output: records with `arguments` and with the template that prints them: parts/call.tpl unless a record
-- has its own. An operation without a call has a template of its kind with its statements.

local lists = require("base.lists")
local names = require("base.names")
local ops = require("network.graph.ops")

local M = {}

-- Roles whose texts are gradients of an entry, and values of an operation; other roles are names of the scope.
local GRADIENTS = { from = true, dy = true, to = true, dbranch = true, dq = true, dkv = true, dcontribution = true,
  dhidden = true }
local VALUES = { out = true, sum = true, x = true, residual = true, branch = true, q = true, kv = true,
  contribution = true, hidden = true }

-- Fields common to the records of a list's entry: the scope's names (at), and by role the places of operands and
-- results (from `place`) and of the gradients that the entry reads and writes; false for an absent role.
function M.make_names(at, entry, place)
  local op = entry.op or entry
  return setmetatable({}, { __index = function(_, role)
    if GRADIENTS[role] then
      return entry[role] and at.w .. entry[role].name or false
    elseif VALUES[role] then
      return op[role] and place(op[role]) or false
    end
    return at[role]
  end })
end

-- The text of an argument: a word in quotes, the record's field, or the scope's name, which becomes the record's field.
local function find_argument(record, role, at)
  local word = role:match("^'(.*)'$")
  if not word and record[role] == nil then
    record[role] = at[role]
  end
  word = word or record[role]
  if word == nil then
    error(("a record of operation %s has no %s"):format(record.kind, role))
  end
  return word
end

-- Completes a record. record.asked: the condition of the call, or false. at: names for absent roles.
function M.fill(target, record, at)
  local routine, roles = (record.call or ""):match("^([%w_]+)%((.*)%)$")
  if not routine then
    record.template = record.template or ("%s/op/%s.tpl"):format(target, record.kind)
    return record
  end
  record.routine, record.asked, record.arguments = routine == "routine" and record.routine or routine,
    record.asked or false, {}
  for role in roles:gmatch("[^, ]+") do
    table.insert(record.arguments, find_argument(record, role, at or {}))
  end
  record.template = record.template or "parts/call.tpl"
  return record
end

-- Appends the records of an operation, or of a backward list's entry: the record of this kind, and others that name
-- their own kind; false records are skipped.
function M.append(target, records, kind, at, ...)
  for _, record in ipairs({ ... }) do
    if record then
      record.kind = record.kind or kind
      local filled = M.fill(target, record, at) -- may append records for its arguments
      records[#records + 1] = filled
    end
  end
end

-- The set of the names that the texts of records read: p of "p->bias", s of "&s->self", train of "train ? keep : NULL";
-- also the conditions (asked) and the names of rows that are computed alone (part, distinct).
function M.find_read(records)
  local read = {}
  for _, record in ipairs(records) do
    for _, text in next, record do
      text = type(text) == "string" and text or ""
      read[text:match("^(%l+) %? ") or ""] = true
      lists.update(read, lists.to_set(lists.find_all(text, "%f[%w_](%l+)%->")))
    end
    read[record.asked or ""], read[record.part or ""], read[record.distinct or ""] = true, true, true
  end
  return read
end

-- A set of functions of generated code. A key states what a function is compiled for; each key has one function, which
-- is named after its first use. taken: the names of functions in the file.
function M.make_functions(taken)
  return { list = {}, by_key = {}, names = taken }
end

-- The name of the function for a key. A new key gets the record `new` and this name, with a number if it is taken.
function M.find_function(set, key, name, new)
  local known = set.by_key[key]
  if not known then
    known, new.name = new, names.find_unused(name, set.names)
    set.names[known.name], set.by_key[key] = true, known
    set.list[#set.list + 1] = known
  end
  return known.name
end

-- The suffix of a function's name for its width; empty for the model's width.
function M.make_suffix(width)
  return width.text == "WIDTH" and "" or "_" .. width.text:lower():gsub("%W+", "_")
end

-- The record of a norm, forward or backward: saved numbers for the backward pass, and the norm's scale.
function M.make_norm(at, op, routine, call)
  return { call = call, routine = routine, scale = at.p .. op.p.name .. "_scale",
    xhat = at.kept .. op.name .. "_xhat", rstd = at.kept .. op.name .. "_rstd" }
end

-- Adds makers of records for operations over the rows of one value to the tables `forward` and `back`. routine(state,
-- op, kernel, ending): the name of the function for rows; with_dropout(state, at, op, record): the record and the
-- records of its dropout.
function M.add_row_records(forward, back, routine, with_dropout)
  for kind, about in next, ops.list_row_operations() do
    forward[kind] = function(state, at, op)
      return with_dropout(state, at, op, { call = "routine(rows, x, out)",
        routine = routine(state, op, about.kernel(op), "") })
    end
    back[kind .. "_grad"] = function(state, _, b)
      return { call = "routine(rows, x, dy, to)", routine = routine(state, b.op, about.kernel(b.op), "_grad") }
    end
  end
  function back.relu_grad(state, _, b)
    return { call = "routine(rows, out, dy, to)", routine = routine(state, b.op, "relu", "_grad") }
  end
end

-- The name of the kernel for the gradient of a norm, or of a sum and norm.
function M.name_norm_grad(b)
  local op, rms = b.op, b.op.norm == "rms"
  if op.kind == "norm" then
    return (rms and "rms_norm_grad" or "layer_norm_grad") .. (b.adds and "_added" or "")
  end
  local prefix, drops = rms and "rms_" or "", b.dbranch and "dropout_" or ""
  return ("%sadd_%snorm%s_grad"):format(prefix, drops, b.adds and "_sum" or "")
end

-- Members of a struct { type, name, key, about } as lines: neighbours with the same key and meaning share a line, until
-- it has `most` columns.
function M.write_members(list, most)
  local lines = {}
  for _, member in ipairs(list) do
    local last, star = lines[#lines], member.type:match("%*?$")
    if last and member.key and last.key == member.key and last.about == member.about and #last.text < most then
      last.text = ("%s, %s%s"):format(last.text, star, member.name)
    else
      lines[#lines + 1] = { key = member.key, about = member.about,
        text = member.type .. (star == "" and " " or "") .. member.name }
    end
  end
  return lists.map(lines, function(line)
    return line.text .. ";" .. (line.about and (" /* %s */"):format(line.about) or "")
  end)
end

return M
