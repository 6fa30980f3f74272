-- Completes the records of the calls in generated code that execute operations of a network.
--
-- A record describes one call: a function, and the order of its arguments. The role of an argument is a word for its
-- meaning, such as "x" or "out". Fields of a record:
--   call        the form of the call, such as "routine(rows, x, 'g')": a function, and its arguments. The word
--               `routine` stands for the field `routine`; another word is the function's name. An argument is a role,
--               or a literal text in single quotes
--   routine     the function's name if the call has the word `routine`
--   <role>      the text of the argument with this role; false if the argument is absent
--   template    the template that prints the record, if it is not a single call
-- Input: the target, "cpu" or "cuda"; records of an operation (cpu_records.lua, cuda_records.lua); texts for the roles
-- for which a record has no field. Output: records with `arguments`, the list of the texts of the arguments, and with
-- `template`, by default parts/call.tpl.

local lists = require("base.lists")
local names = require("base.names")
local ops = require("network.graph.ops")

local M = {}

-- GRADIENTS: the roles whose arguments are gradients of a backward entry. VALUES: the roles whose arguments are values
-- of an operation. The texts for other roles are the same for all operations of a scope.
local GRADIENTS = { from = true, dy = true, to = true, dbranch = true, dq = true, dkv = true, dcontribution = true,
  dhidden = true }
local VALUES = { out = true, sum = true, x = true, residual = true, branch = true, q = true, kv = true,
  contribution = true, hidden = true }

-- Returns texts for the records of an entry, by role; false for an absent gradient or value:
--   GRADIENTS     the buffers that the entry reads and writes
--   VALUES        the operands and results of the entry's operation
--   other roles   the scope's texts
-- entry: an operation of a forward list, or an entry of a backward list.
-- place_value: a function that returns the text of a value.
function M.make_text(scope_text, entry, place_value)
  local op = entry.op or entry
  return setmetatable({}, { __index = function(_, role)
    if GRADIENTS[role] then
      return entry[role] and scope_text.w .. entry[role].name or false
    elseif VALUES[role] then
      return op[role] and place_value(op[role]) or false
    end
    return scope_text[role]
  end })
end

-- The text of an argument: the literal text in single quotes, or the record's field for the role. If the record has no
-- such field, the role's text in `text` (M.make_text) becomes the field.
local function find_argument(record, role, text)
  local literal = role:match("^'(.*)'$")
  if not literal and record[role] == nil then
    record[role] = text[role]
  end
  local argument = literal or record[role]
  if argument == nil then
    error(("a record of operation %s has no field %s, which its call needs: %s"):format(record.kind, role,
      record.call))
  end
  return argument
end

-- Sets a record's routine, arguments and template. record.condition: the condition of the call in C, false if absent.
-- text: texts by role, for the roles that the record does not have.
function M.fill(target, record, text)
  local routine, roles = (record.call or ""):match("^([%w_]+)%((.*)%)$")
  if not routine then
    record.template = record.template or ("%s/op/%s.tpl"):format(target, record.kind)
    return record
  end
  record.routine, record.condition, record.arguments = routine == "routine" and record.routine or routine,
    record.condition or false, {}
  for role in roles:gmatch("[^, ]+") do
    table.insert(record.arguments, find_argument(record, role, text or {}))
  end
  record.template = record.template or "parts/call.tpl"
  return record
end

-- Completes records and appends them to the list `records`.
--   ...    the new records of an operation, or of a backward list's entry; false in place of a record is skipped
--   kind   the kind of the records that do not have one
function M.append(target, records, kind, text, ...)
  for _, record in ipairs({ ... }) do
    if record then
      record.kind = record.kind or kind
      -- Reading `text` may append another record, which copies rows (cpu_rows.lua). So `#records` is read after M.fill.
      local filled = M.fill(target, record, text)
      records[#records + 1] = filled
    end
  end
end

-- The set of the names of C variables that records read in their texts: p in "p->bias", s in "&s->self", train in
-- "train ? keep : NULL". The set also has the conditions of calls, the variables that select rows (`part`, `distinct`:
-- cpu_rows.lua), and the variables that the records in a group's list read.
function M.find_read(records)
  local read_names = {}
  for _, record in ipairs(records) do
    for _, field in next, record do
      local field_text = type(field) == "string" and field or ""
      read_names[field_text:match("^(%l+) %? ") or ""] = true
      lists.update(read_names, lists.to_set(lists.find_all(field_text, "%f[%w_](%l+)%->")))
    end
    for _, name in ipairs({ record.condition or "", record.part or "", record.distinct or "" }) do
      read_names[name] = true
    end
    lists.update(read_names, record.list and M.find_read(record.list) or {})
  end
  return read_names
end

-- An empty set of functions of generated code. A key is a text with all properties of a function, such as its sizes;
-- there is one function for each key. used_names: the set of the names of other functions in the file.
function M.make_functions(used_names)
  return { list = {}, by_key = {}, names = used_names }
end

-- The name of the function for a key. If the key is new, `new_function` (a table of the function's fields) is added to
-- the set, with the name `name`. A number follows this name if another function has it.
function M.find_function(set, key, name, new_function)
  if not set.by_key[key] then
    new_function.name = names.find_unused(name, set.names)
    set.names[new_function.name], set.by_key[key] = true, new_function
    set.list[#set.list + 1] = new_function
  end
  return set.by_key[key].name
end

-- The suffix of a function's name for its width; empty for the model's width.
function M.make_suffix(width)
  return width.text == "WIDTH" and "" or "_" .. width.text:lower():gsub("%W+", "_")
end

-- The record of a norm, forward or backward, with the norm's learned scale and the numbers that the forward pass saves:
-- xhat, the normalised values, and rstd, the inverse standard deviation.
function M.make_norm(text, op, routine, call)
  return { call = call, routine = routine, scale = text.p .. op.p.name .. "_scale",
    xhat = text.state_prefix .. op.name .. "_xhat", rstd = text.state_prefix .. op.name .. "_rstd" }
end

-- Adds entries to the tables `forward` and `backward`: functions that make the records of activations and gates.
-- target_table: the table `cpu` or `device`. Arguments:
--   name_routine(target_table, op, kernel, ending)   returns the name of the generated function for a kernel
--   add_dropout(target_table, text, op, record)      returns the record and the records of its dropout
function M.add_row_records(forward, backward, name_routine, add_dropout)
  for kind, operation in next, ops.list_row_operations() do
    forward[kind] = function(target_table, text, op)
      return add_dropout(target_table, text, op, { call = "routine(rows, x, out)",
        routine = name_routine(target_table, op, operation.choose_kernel(op), "") })
    end
    backward[kind .. "_grad"] = function(target_table, _, entry)
      return { call = "routine(rows, x, dy, to)",
        routine = name_routine(target_table, entry.op, operation.choose_kernel(entry.op), "_grad") }
    end
  end
  function backward.relu_grad(target_table, _, entry)
    return { call = "routine(rows, out, dy, to)", routine = name_routine(target_table, entry.op, "relu", "_grad") }
  end
end

-- The name of the kernel for the gradient of a norm, or of a fused sum and norm.
function M.name_norm_grad(entry)
  local op, is_rms = entry.op, entry.op.norm == "rms"
  if op.kind == "norm" then
    return (is_rms and "rms_norm_grad" or "layer_norm_grad") .. (entry.is_added and "_added" or "")
  end
  local prefix, dropout = is_rms and "rms_" or "", entry.dbranch and "dropout_" or ""
  return ("%sadd_%snorm%s_grad"):format(prefix, dropout, entry.is_added and "_sum" or "")
end

local FULL_LINE_COLUMNS = 60 -- a line of C with so many columns gets no further member

-- The declarations of a struct's members as lines of C. Fields of a member: type, name, comment or nil, key or nil.
-- Successive members with equal keys and equal comments share a line.
function M.write_members(members)
  local lines = {}
  for _, member in ipairs(members) do
    local line, star = lines[#lines], member.type:match("%*?$")
    local may_share_line = line and member.key and line.key == member.key and line.comment == member.comment
    if may_share_line and #line.text < FULL_LINE_COLUMNS then
      line.text = ("%s, %s%s"):format(line.text, star, member.name)
    else
      lines[#lines + 1] = { key = member.key, comment = member.comment,
        text = member.type .. (star == "" and " " or "") .. member.name }
    end
  end
  return lists.map(lines, function(line)
    return line.text .. ";" .. (line.comment and (" /* %s */"):format(line.comment) or "")
  end)
end

return M
