-- Writes counts and indices of repetitions of blocks and groups as C text, for both targets. Indices start at 0 and
-- do not start again in the next repetition of an enclosing group: if a group repeats a block twice, repetition 1 of
-- the group consists of the block's repetitions 2 and 3.
--
-- Input: a block or a group (builder.lua). Output: text, such as "3 * LAYERS" for a count or "group * 2" for an index.

local M = {}

-- Calls in device code that return two counts: of all passes, and of the free passes, which come first and have no
-- gradient.
M.PASSES, M.FREE_PASSES = "count_passes()", "count_free_passes()"

-- The count of repetitions of a block or a group in a step. passes: C text of the count of passes.
function M.write_count(block, passes)
  return not block.has_passes and block.repetitions_text or block.is_group and block.count == 1 and passes
    or ("%s * %s"):format(passes, block.count_name)
end

-- The count of a block's repetitions in one repetition of its group.
function M.write_count_in_group(block)
  return block.times == block.count and block.count_name or tostring(block.times)
end

-- An index, multiplied or divided by the number of repetitions of the block in `scope`. This number is the product of
-- the repetitions of the block and of each group between the block and `scope`.
local function scale_index(block, scope, index, operator)
  while block ~= scope do
    index = block.times == 1 and index or ("%s %s %s"):format(index, operator, M.write_count_in_group(block))
    block = block.parent
  end
  return index
end

-- The index of a block's first repetition within repetition `index` of an enclosing scope; "0" in the network.
function M.write_first_index(block, scope, index)
  return scope == scope.net and "0" or scale_index(block, scope, index, "*")
end

-- The index of the repetition of an enclosing scope that contains repetition `index` of the block.
function M.write_outer_index(block, scope, index)
  return scale_index(block, scope, index, "/")
end

-- Two indices of repetitions of a block or a group: of the first one within the current repetition of its parent, and
-- of the one after the last. passes: C text of the count of passes.
function M.write_range(block, passes)
  local parent = block.parent
  if not parent.is_group then
    return "0", M.write_count(block, passes)
  end
  return M.write_first_index(block, parent, parent.index),
    M.write_first_index(block, parent, ("(%s + 1)"):format(parent.index))
end

-- The count of states that training stores for a block: one for each repetition. If each training step samples its
-- number of passes with gradient, repetitions without gradient share one further state.
function M.write_state_count(block)
  return not block.is_progressive and block.repetitions_text
    or block.is_group and tostring(block.stored_loops * block.count + 1)
    or ("%d * %s + 1"):format(block.stored_loops, block.count_name)
end

-- The index of the state of repetition `index` in training. arguments: C text of further arguments that the function
-- choose_state takes first, with ", " at the end of the text; nil if there are none.
function M.write_state_index(block, index, arguments)
  return block.is_progressive and ("choose_state(%s%s, %s)"):format(arguments or "", index, block.count_name) or index
end

-- The index of a block's first repetition in the last pass; false if there is only one pass.
function M.write_last_pass_start(block, passes)
  return block.has_passes and ("(%s - 1) * %s"):format(passes, block.count_name) or block.last_pass_start
end

-- A condition in C: whether the current repetition reads the output of the previous one, in the same repetition of the
-- parent. False if the block runs once in each repetition of a group.
function M.write_previous_condition(block)
  return not block.parent.is_group and block.index .. " > 0"
    or block.times > 1 and ("%s %% %s > 0"):format(block.index, M.write_count_in_group(block))
end

return M
