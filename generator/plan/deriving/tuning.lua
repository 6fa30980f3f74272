-- The tuned choices of a plan: choices that cannot change a rounding, so that each machine may have its own. The
-- default of a choice comes from a model of registers and caches.
--
-- Input: a plan with its tensors (model_network.lua), a level of levels.lua, a machine: { l2 = bytes of a core's
-- second-level cache }. Output: names and values of choices, in order, and their constants for tuned.h
-- (templates/common).
-- A choice may change the division of work, the order in which independent results are computed, and prefetching, but
-- never the order in which the terms of a sum are added. So no digest contains a choice: trainers that differ in
-- choices alone compute the same bits, which tests/system/test_tune.sh verifies.

local levels = require("plan.deriving.levels")
local lists = require("base.lists")

local M = {}

-- The assumed properties of an unknown machine.
M.ANY_MACHINE = { l2 = 512 * 1024 }

-- The cost of a load relative to a multiply-add. Other units of a core execute loads at the same time as multiply-adds,
-- so this cost matters for small tiles alone, which need many loads for each multiply-add.
local LOAD_COST = 0.3
local MIN_SUMS = 4 * 2 -- independent sums that keep two units busy, each with a latency of four cycles
local MAX_BLOCKS = 3 -- an evaluation passes up to this many blocks of the training size through the layers together
local CACHE_SHARE = 0.75 -- the part of a cache that a program can rely on

-- The largest number of columns up to max_columns that divides a number of vectors.
local function find_widest_divisor(vectors, max_columns)
  for columns = math.min(vectors, max_columns), 2, -1 do
    if vectors % columns == 0 then
      return columns
    end
  end
  return 1
end

-- The rows and columns of a tile, which is text such as "6x4".
local function read_tile(tile)
  local rows, columns = tile:match("^(%d+)x(%d+)$")
  return math.tointeger(rows), math.tointeger(columns)
end

-- Products of the layers: { inner, columns, count }; inner: the number of terms of a sum; columns: the number of
-- results in a row; count: the number of products of these sizes.
local function list_products(plan)
  local products = {}
  for struct, panel in lists.iterate_nested(plan.structs, "panels") do
    local inner, columns = panel.sizes[1], panel.sizes[2]
    products[#products + 1] = { inner = inner, columns = columns, count = struct.struct_count }
    if panel.has_transposed_copy then
      products[#products + 1] = { inner = columns, columns = inner, count = struct.struct_count }
    end
  end
  return products
end

-- The time of all products with a tile, relative to multiply-adds alone. waste: the number of computed rows for each
-- requested row.
local function estimate_cost(plan, level, tile, waste)
  local rows, max_columns = read_tile(tile)
  local cost, total_work = 0, 0
  for _, product in ipairs(list_products(plan)) do
    local columns = find_widest_divisor(product.columns * plan.real_bytes // level.vector, max_columns)
    local sums, work = rows * columns, product.inner * product.columns * product.count
    cost = cost + work * math.max(1, MIN_SUMS / sums) * (1 + LOAD_COST * (rows + columns) / sums)
    total_work = total_work + work
  end
  return total_work > 0 and cost / total_work * waste or 1
end

-- The value with the least cost; among values with equal costs the first.
local function find_cheapest(values, estimate)
  local cheapest_value, min_cost
  for _, value in ipairs(values) do
    local cost = estimate(value)
    if not min_cost or cost < min_cost then
      cheapest_value, min_cost = value, cost
    end
  end
  return cheapest_value
end

-- The choices. Fields:
--   name        the name of the choice
--   modes       the modes of the runtime that the choice affects
--   applies(plan)          whether the plan has the choice; absent if all plans have it
--   constants(value)       the constants for tuned.h
--   values(plan, level)    the values that tuning tries
--   default(plan, level, values, machine)   the default value
--   why         the reason for the default; a format with %d if get_number returns a number
--   get_number(level, machine)   returns the number in `why`, or nothing
local choices = {}

-- The tile of a product, rows x vectors: the results that are summed in registers at the same time. With 32 registers,
-- 24 or 25 hold sums, and the others hold operands; with 16 registers, 10 to 12 hold sums.
choices[1] = {
  name = "product_tile", modes = { "train", "eval" },
  constants = function(value)
    local rows, columns = read_tile(value)
    return { { "TILE_ROWS", rows }, { "TILE_COLUMNS", columns } }
  end,
  values = function(_, level)
    return level.registers == 32 and { "6x4", "5x5", "4x6", "8x3", "12x2" } or { "6x2", "4x3", "5x2", "12x1" }
  end,
  -- Rows are rounded up to whole tiles: on average a block has half a tile too many. Products of a recurrent network
  -- have a row for each sequence.
  default = function(plan, level, values)
    return find_cheapest(values, function(tile)
      local rows = read_tile(tile)
      return estimate_cost(plan, level, tile, plan.is_step_major
        and (plan.shard_sequences + rows - 1) // rows * rows / plan.shard_sequences
        or 1 + (rows - 1) / 2 / plan.block_tokens)
    end)
  end,
  why = "the fewest loads per multiply-add with %d registers, and few unused rows",
  get_number = function(level) return level.registers end,
}

-- The tile of a gradient of weights, rows x vectors: the results that are summed in registers at the same time.
choices[2] = {
  name = "gradient_tile", modes = { "train" },
  constants = function(value)
    local rows, columns = read_tile(value)
    return { { "OUTER_ROWS", rows }, { "OUTER_COLUMNS", columns } }
  end,
  values = function(_, level)
    return level.registers == 32 and { "8x3", "4x6", "4x4", "8x2" } or { "4x3", "4x2", "2x4", "8x1" }
  end,
  default = function(plan, level, values)
    return find_cheapest(values, function(tile) return estimate_cost(plan, level, tile, 1) end)
  end,
  why = "the fewest loads per multiply-add with %d registers",
  get_number = function(level) return level.registers end,
}

-- Whether stored gradients of weights are prefetched before a block adds its gradients to them.
choices[3] = {
  name = "gradient_prefetch", modes = { "train" },
  constants = function(value) return { { "PREFETCH_GRADIENTS", value == "yes" and 1 or 0 } } end,
  values = function() return { "yes", "no" } end,
  default = function() return "yes" end,
  why = "a gradient is no longer in the first cache when the next block adds to it",
  get_number = function() end,
}

local function count_channels(buffers)
  return lists.sum(buffers, function(buffer)
    return buffer.form == "rows" and not buffer.training and buffer.channels or 0
  end)
end

-- The number of reals that are stored for a token in an evaluation while the token is in a layer: those in buffers that
-- all blocks share, and those of one repetition of the block that stores most.
local function count_reals(plan)
  return count_channels(plan.cpu.workspace) + lists.max(plan.cpu.blocks, function(block)
    return count_channels(block.buffers)
  end)
end

-- Tokens that go through all layers together in an evaluation.
choices[4] = {
  name = "evaluation_tokens", modes = { "eval" },
  -- a recurrent network evaluates as many sequences together as it trains
  applies = function(plan) return not plan.is_step_major end,
  constants = function(value) return { { "EVALUATION_TOKENS", math.tointeger(value) } } end,
  -- Multiples of the training block. Results are summed over one training block at a time, so the runtime rounds other
  -- numbers of tokens down.
  values = function(plan)
    local list = {}
    for i = 1, MAX_BLOCKS do
      list[i] = ("%d"):format(i * plan.block_tokens)
    end
    return list
  end,
  -- The number of tokens that fit into the cache together with a layer's weights. If the weights would fill half of the
  -- cache or more, each block reads them again, so larger blocks are better. The nearest value is chosen, since the
  -- free part of the cache is not known exactly.
  default = function(plan, _, values, machine)
    local cache, weights = CACHE_SHARE * machine.l2, plan.real_bytes * lists.max(plan.structs, function(struct)
      return lists.sum(struct.panels, function(panel) return panel.sizes[1] * panel.sizes[2] end)
    end)
    local fitting_tokens = (weights < cache / 2 and cache - weights or cache) / (count_reals(plan) * plan.real_bytes)
    return find_cheapest(values, function(value) return math.abs(tonumber(value) - fitting_tokens) end)
  end,
  why = "activations of a layer, and its weights if they fit, stay in %d KB of second cache",
  get_number = function(_, machine) return machine.l2 // 1024 end,
}

-- The choices that apply to a plan.
function M.list_choices(plan)
  return lists.filter(choices, function(choice) return not choice.applies or choice.applies(plan) end)
end

local function choose_default(choice, plan, level, machine)
  return choice.default(plan, level, choice.values(plan, level), machine)
end

-- One level's choices: { name, tag, choices = { { name, value, from, why, constants = { { name, value } } } } }.
-- results: the values that tuning has found, { date, values = { name = value } }, or nil.
local function choose_for_level(plan, level, machine, results)
  return { name = level.name, tag = level.tag, choices = lists.map(M.list_choices(plan), function(choice)
    local tuned_value = results and results.values[choice.name]
    local value = tuned_value or choose_default(choice, plan, level, machine)
    return { name = choice.name, value = value, from = tuned_value and "tuned " .. results.date or "model",
      constants = lists.map(choice.constants(value), function(entry) return { name = entry[1], value = entry[2] } end),
      why = tuned_value and ("tuned here on %s"):format(results.date)
        or "model: " .. choice.why:format(choice.get_number(level, machine)) }
  end) }
end

-- All levels' choices, the widest level first, for plan.tuned. machine: { l2 }, the machine of the build, or nil;
-- results_by_level: the values that tuning has found for this machine, or nil.
function M.derive(plan, machine, results_by_level)
  return lists.map(levels, function(level)
    return choose_for_level(plan, level, machine or M.ANY_MACHINE, results_by_level and results_by_level[level.name])
  end)
end

-- Name of a choice -> its default value at a level.
function M.choose_defaults(plan, level, machine)
  local values = {}
  for _, choice in ipairs(M.list_choices(plan)) do
    values[choice.name] = choose_default(choice, plan, level, machine)
  end
  return values
end

-- Values as text; equal values give equal text.
function M.format(values)
  local words = lists.map(choices, function(choice)
    return values[choice.name] and ("%s %s"):format(choice.name, values[choice.name])
  end)
  return table.concat(words, ", ")
end

-- The possible values of all choices at a level: values_by_name[name] is the list of a choice's values, and also their
-- set, with true for each value. The items 1, 2, ... of values_by_name are the names of the choices.
function M.list_values(plan, level)
  local values_by_name = {}
  for i, choice in ipairs(M.list_choices(plan)) do
    local values = choice.values(plan, level)
    lists.update(values, lists.to_set(values))
    values_by_name[i], values_by_name[choice.name] = choice.name, values
  end
  return values_by_name
end

-- The properties of a plan on which the best choices depend, as text: trainers with equal text are tuned together.
function M.describe_shape(plan)
  local heads = lists.map(plan.attentions, function(family)
    return ("%s %d x %d"):format(family.name, family.heads, family.head_width)
  end)
  local model = plan.resolved.model
  if plan.is_step_major then
    return ("%s %s %s, width %d, steps of %d sequences"):format(plan.precision, model.kind, model.cell, plan.width,
      plan.shard_sequences)
  end
  return ("%s %s, %d layers, width %d, feed-forward %d, %s, heads %s, blocks of %d tokens"):format(plan.precision,
    model.kind, plan.layers, plan.width, plan.feedforward, model.activation or "relu", table.concat(heads, ", "),
    plan.block_tokens)
end

return M
