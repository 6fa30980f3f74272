-- The masks of dropout in device code. A site is one dropout in one repetition of its scope. The counter of its random
-- numbers (include/longhand/rng.h) contains the index of the repetition and the index of the dropout.
--
-- Input: the table `device` (make_state of cuda_network.lua), a scope of the network. Output: entries that M.derive
-- adds to lists of `device`:
--   masks   groups of dropout sites of the model's width, one for each scope that has such sites, each with:
--     first             the index of the group's first site among the sites of all groups
--     sites             the number of sites of one repetition
--     first_counter_index   the index of the first repetition in the counter
--     dropout_numbers   the indices of the dropouts in the counter, as a list; false if these are 0, 1, 2, ...
--     below_text        C text of a site's threshold: a random word below it drops an element
--     stream_text       C text of the index of a site's stream
--   bits    an array of bits for each other mask, of another width or of attention's weights:
--     name, comment     the name and the comment of the array
--     repetitions_text  C text of the number of repetitions
--     bytes             C text of the number of bytes of one sequence's mask
--     first_counter_index   as in `masks`
--     dropout_number    the index of the dropout in the counter
--     below             the name of the constant that is the threshold

local M = {}

-- The constant below which a random word drops an element of an operation's result.
local function name_drop_below(op)
  return op.dropout.name .. "_DROP_BELOW"
end

-- Returns the text that write_text returns for all operations of a list. If the texts differ, returns an expression in
-- C that selects one text: the C variable `place` is the index of the operation's dropout.
-- type: a cast before each selected text.
local function select_text(list, write_text, type)
  local last_text = write_text(list[#list])
  local text, are_equal = type .. last_text, true
  for i = #list - 1, 1, -1 do
    are_equal = are_equal and write_text(list[i]) == last_text
    text = are_equal and text
      or ("place == %d ? %s%s : %s"):format(list[i].dropout_number, type, write_text(list[i]), text)
  end
  return are_equal and last_text or text
end

-- The indices of the operations' dropouts in the random counter; false if these are 0, 1, 2, ...
local function list_dropout_numbers(list)
  local numbers, are_consecutive = {}, true
  for i, op in ipairs(list) do
    numbers[i], are_consecutive = op.dropout_number, are_consecutive and op.dropout_number == i - 1
  end
  return not are_consecutive and numbers
end

-- The masks of an operation in all repetitions of its scope: an entry of `bits`.
local function make_bits(device, scope, op)
  local bits = { repetitions_text = scope.repetitions_text, first_counter_index = scope.first_counter_index,
    dropout_number = op.dropout_number, below = name_drop_below(op) }
  if op.kind == "attention" then
    local T, S = device.variables[op.q.stream].T, device.variables[op.kv.stream].T
    bits.name = op.family.name .. "_weights_keep"
    bits.bytes = ("((size_t)%s * %s * %sHEADS + 7) / 8"):format(T, S, op.family.PREFIX)
    bits.comment = "one bit for weight (h * queries + query) * keys + key"
  else
    bits.name = (scope ~= device.net and scope.name .. "_" or "") .. op.mask
    bits.bytes = ("(size_t)%s * (%s / 8)"):format(device.variables[op.out.stream].T, op.out.width.text)
    bits.comment = ("[tokens][%s] one bit per element"):format(op.out.width.text)
  end
  return bits
end

-- Derives the masks of a scope's operations. The sites of a group are ordered by repetition, then by dropout.
function M.derive(device, scope)
  local masked_operations = {}
  for _, op in ipairs(device.lists[scope].forward) do
    if op.dropout and op.mask and op.out.width.text == "WIDTH" then
      device.mask_numbers[op] = #masked_operations
      table.insert(masked_operations, op)
    elseif op.dropout then
      device.operation_bits[op] = make_bits(device, scope, op)
      table.insert(device.bits, device.operation_bits[op])
    end
  end
  if masked_operations[1] then
    local mask = { first = device.site_count, sites = #masked_operations,
      first_counter_index = scope.first_counter_index,
      dropout_numbers = list_dropout_numbers(masked_operations),
      below_text = select_text(masked_operations, name_drop_below, "(unsigned int)"),
      stream_text = select_text(masked_operations, function(op) return tostring(op.out.stream.index) end, "") }
    device.masks[#device.masks + 1], device.scope_masks[scope] = mask, mask
    device.site_count = device.site_count + #masked_operations * scope.count * scope.loops
  end
end

return M
