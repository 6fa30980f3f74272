-- The numbers of repetitions of blocks and groups, as text in C, for both targets. Repetitions are counted over all
-- passes: repetition 1 of a group that repeats a block twice has the repetitions 2 and 3 of the block.
--
-- Input: a block or a group (builder.lua). Output: text.

local M = {}

-- The number of passes in device code, and the number of the first of them, without gradient.
M.PASSES, M.FREE_PASSES = "count_passes()", "count_free_passes()"

-- The number of repetitions of a block or a group in a step. passes: the text of the number of passes.
function M.write_uses(block, passes)
  return not block.has_passes and block.uses or block.is_group and block.count == 1 and passes
    or ("%s * %s"):format(passes, block.count_name)
end

-- The number of a block's repetitions in a repetition of a group.
function M.write_times(block)
  return block.times == block.count and block.count_name or tostring(block.times)
end

-- The number of a block's first use in repetition number `index` of an enclosing scope; "0" in the network.
function M.write_first_use(block, scope, index)
  if scope == scope.net then
    return "0"
  end
  while block ~= scope do
    index = block.times == 1 and index or ("%s * %s"):format(index, M.write_times(block))
    block = block.parent
  end
  return index
end

-- The number of the repetition of a scope around a block in which the block has use number `index`.
function M.write_outer_index(block, scope, index)
  while block ~= scope do
    index = block.times == 1 and index or ("%s / %s"):format(index, M.write_times(block))
    block = block.parent
  end
  return index
end

-- The number of the first repetition of a block or a group in a repetition of its parent, and the number after the
-- last. passes: the text of the number of passes.
function M.write_range(block, passes)
  local parent = block.parent
  if not parent.is_group then
    return "0", M.write_uses(block, passes)
  end
  return M.write_first_use(block, parent, parent.index),
    M.write_first_use(block, parent, ("(%s + 1)"):format(parent.index))
end

-- The number of states that training stores for a block. If training steps draw their passes, repetitions without
-- gradient share one more state.
function M.write_stored(block)
  return not block.is_progressive and block.uses or block.is_group and tostring(block.stored_loops * block.count + 1)
    or ("%d * %s + 1"):format(block.stored_loops, block.count_name)
end

-- The number of the state of repetition `index` in training. arguments: further arguments of the function that chooses
-- states, as text.
function M.write_state_number(block, index, arguments)
  return block.is_progressive and ("choose_state(%s%s, %s)"):format(arguments or "", index, block.count_name) or index
end

-- The number of a block's first use in the last pass; false without loops.
function M.write_last_pass(block, passes)
  return block.has_passes and ("(%s - 1) * %s"):format(passes, block.count_name) or block.first_use
end

-- Whether a repetition follows another one in a repetition of its parent: a condition in C; false if the parent repeats
-- the block once.
function M.write_follows(block)
  return not block.parent.is_group and block.index .. " > 0"
    or block.times > 1 and ("%s %% %s > 0"):format(block.index, M.write_times(block))
end

return M
