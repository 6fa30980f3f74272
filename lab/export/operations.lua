-- Operations of a network in Python: the module that each operation calls, and its expression.
--
-- Input: an operation of the graph (builder.lua) and the class that contains it (classes.lua), which provides modules.
-- Output of M.make, an item:
--   out    the operation's result
--   reads  the values that it reads
--   rank   the precedence of the outermost operator of its expression
--   text   a function text(operand) that returns the expression. Its argument operand(i, rank) returns the expression
--          of reads[i], in parentheses if this expression has a lower rank.
-- An unknown operation, or an unknown field of an operation, ends the command (lab/stop.lua).

local canonical = require("base.canonical")
local lists = require("base.lists")
local stop = require("lab.stop")
local format_number = require("expression.text").format_number

local M = {}

local INPUT = 1 -- exit code
-- Ranks: precedences of operators, ascending. operand(i, ANY) never adds parentheses.
local ANY, SUM, PRODUCT, PRIMARY = 0, 1, 2, 3

M.PRIMARY = PRIMARY

-- Fields that define the computation of an operation, by its kind.
local KNOWN_FIELDS = {
  embed = "stream p scale encoding dropout",
  place = "x p encoding dropout",
  zeros = "stream like",
  noise = "stream like deviation",
  product = "x p",
  activation = "x activation dropout",
  gate = "x activation dropout",
  norm = "x p norm",
  add = "residual branch dropout",
  classify = "x readout class_table",
}

-- Fields that any operation may have: names, and facts that do not change the computation.
local COMMON_FIELDS = "kind out definition scope line role weight name other_parameters mask dropout_number"

local FUNCTIONS = {
  relu = "F.relu(%s)",
  gelu = "F.gelu(%s)",
  gelu_tanh = 'F.gelu(%s, approximate="tanh")',
  silu = "F.silu(%s)",
}

local READOUTS = { last = true, probe = true }

local function refuse(op, words)
  stop.exit(INPUT, ("%s of %s"):format(words, op.scope.title))
end

-- Ends the command if the operation, or one of its fields, is unknown.
local function check_fields(op)
  local known_fields = KNOWN_FIELDS[op.kind]
  if not known_fields then
    refuse(op, ("the operation %s (%s)"):format(op.kind, op.out.name))
  end
  local fields = (" %s %s "):format(known_fields, COMMON_FIELDS)
  for _, field in ipairs(canonical.sort_keys(op)) do
    if op[field] and not fields:find((" %s "):format(field), 1, true) then
      refuse(op, ("%s of the operation %s (%s)"):format(field, op.kind, op.out.name))
    end
  end
end

local function make_call(module)
  return function(operand)
    return ("%s(%s)"):format(module, operand(1, ANY))
  end
end

local items = {} -- by an operation's kind: the function that makes its item, without the field `out`

local function apply_dropout(module, text)
  return module and ("%s(%s)"):format(module, text) or text
end

-- Returns the expression of a linear map of one-hot tokens. Blank tokens, which have the lowest numbers, become zeros.
local function map_tokens(op, class, module)
  local blanks = class.state.net.tokens.count - op.p.rows.count
  return ("%s(F.one_hot(%s, TOKENS)%s.to(%s.weight))"):format(module, class:get_tokens(op.stream),
    blanks > 0 and ("[..., %d:]"):format(blanks) or "", module)
end

function items.embed(op, class)
  local factor = op.scale == math.sqrt(op.p.columns.count) and "math.sqrt(WIDTH)"
    or op.scale and op.scale ~= 1 and format_number(op.scale)
  local kind = op.encoding and op.encoding.kind or "none"
  local module = op.p.kind == "linear" and class:add_linear(op.p) or class:add_table(op.p)
  local text = op.p.kind == "linear" and map_tokens(op, class, module)
    or ("%s(%s)%s"):format(module, class:get_tokens(op.stream), factor and " * " .. factor or "")
  if kind ~= "none" then
    text = ("%s + %s"):format(text,
      class:add_position(op.encoding, op.other_parameters[1], op.stream, module .. ".weight"))
  end
  local rank = PRIMARY
  if not op.dropout and kind ~= "none" then
    rank = SUM
  elseif not op.dropout and factor then
    rank = PRODUCT
  end
  text = apply_dropout(op.dropout and class:add_dropout(op.dropout), text)
  return { reads = {}, rank = rank, text = function()
    return text
  end }
end

function items.zeros(op)
  return { reads = { op.like }, rank = PRIMARY, text = make_call("torch.zeros_like") }
end

function items.noise(op)
  return { reads = { op.like }, rank = PRODUCT, text = function(operand)
    return ("%s * draw_noise(%s, noise)"):format(format_number(op.deviation), operand(1, ANY))
  end }
end

function items.place(op, class)
  local module, takes_x = op.dropout and class:add_dropout(op.dropout), op.encoding.kind == "sinusoid"
  local vectors = class:add_position(op.encoding, op.p, op.x.stream, "%s") -- %s stands for x: sinusoids get its type
  return { reads = { op.x, takes_x and op.x or nil }, rank = module and PRIMARY or SUM, text = function(operand)
    return apply_dropout(module, ("%s + %s"):format(operand(1, SUM),
      vectors:format(takes_x and operand(2, ANY) or nil)))
  end }
end

function items.product(op, class)
  local modules = class:add_linears(op.p)
  local reads = lists.map(modules, function() return op.x end)
  return { reads = reads, rank = PRIMARY, text = #modules == 1 and make_call(modules[1]) or function(operand)
    local parts = lists.map(modules, function(module, i) return ("%s(%s)"):format(module, operand(i, ANY)) end)
    return ("torch.cat([%s], dim=-1)"):format(table.concat(parts, ", "))
  end }
end

function items.activation(op, class)
  local module = op.dropout and class:add_dropout(op.dropout)
  return { reads = { op.x }, rank = PRIMARY, text = function(operand)
    return apply_dropout(module, FUNCTIONS[op.activation]:format(operand(1, ANY)))
  end }
end

-- Whether an operation is a gate whose input is a product of two tensors, and nothing else reads the product. One
-- expression then computes both.
local function is_gated(op)
  local product = op.kind == "gate" and op.x.op
  return product and product.kind == "product" and #product.p.tensors == 2 and op.x.read_count == 1
end

function items.gate(op, class)
  local product = op.x.op
  local function make_item(reads, text)
    local module = op.dropout and class:add_dropout(op.dropout)
    return { reads = reads, rank = module and PRIMARY or PRODUCT, text = function(operand)
      return apply_dropout(module, text(operand))
    end }
  end
  if is_gated(op) then
    local modules = class:add_linears(product.p)
    return make_item({ product.x, product.x }, function(operand)
      return ("%s * %s(%s)"):format(FUNCTIONS[op.activation]:format(("%s(%s)"):format(modules[1], operand(1, ANY))),
        modules[2], operand(2, ANY))
    end)
  end
  local half_width = op.out.width.text
  return make_item({ op.x, op.x }, function(operand)
    local first_half = ("%s[..., :%s]"):format(operand(1, PRIMARY), half_width)
    return ("%s * %s[..., %s:]"):format(FUNCTIONS[op.activation]:format(first_half), operand(2, PRIMARY), half_width)
  end)
end

function items.norm(op, class)
  return { reads = { op.x }, rank = PRIMARY, text = make_call(class:add_norm(op.p)) }
end

function items.add(op, class)
  local module = op.dropout and class:add_dropout(op.dropout)
  return { reads = { op.residual, op.branch }, rank = SUM, text = function(operand)
    return ("%s + %s"):format(operand(1, SUM), apply_dropout(module, operand(2, module and ANY or PRODUCT)))
  end }
end

function items.classify(op, class)
  if not READOUTS[op.readout] then
    refuse(op, ("the readout %s"):format(op.readout))
  elseif not op.class_table then
    return { reads = { op.x }, rank = PRIMARY, text = make_call(class:add_output(op.other_parameters[1])) }
  end
  local rows = class:add_table(op.class_table)
  local range = op.other_parameters[1] and "" or "[FIRST_OUTPUT:FIRST_OUTPUT + CLASSES]"
  return { reads = { op.x }, rank = PRIMARY, text = function(operand)
    return ("F.linear(%s, %s.weight%s)"):format(operand(1, ANY), rows, range)
  end }
end

-- Returns the operations of a list without the products that a gate's expression contains (is_gated).
function M.list_own(list)
  local gated_products = lists.to_set(lists.map(list, function(op) return is_gated(op) and op.x or nil end))
  return lists.filter(list, function(op) return not gated_products[op.out] end)
end

function M.make(op, class)
  check_fields(op)
  local item = items[op.kind](op, class)
  item.out = op.out
  return item
end

return M
