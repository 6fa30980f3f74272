-- Reads one value of a spec: converts a node, by its schema entry, to a plain value.
--
-- Input: the context of validate.lua, a schema entry, a node. Output of M.read: the value, or nil after errors, which
-- are in the diagnostics. M.read also sets fields of the context: own_task, own_network and files. The value is
-- nil for a score, for its parameters and for the options of a task; the context gets their nodes (formulas,
-- options_node).

local axes = require("spec.task.axes")
local base_names = require("base.names")
local curriculum = require("spec.curriculum")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local attention_lines = require("spec.attention_lines")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local load_module = require("spec.reading.load")
local similar_names = require("base.similar_names")
local own_network = require("spec.reading.own_network")
local schema = require("spec.schema")
local tasks = require("spec.task.tasks")
local tree = require("spec.reading.tree")

local M = {}

local show = diagnostics.show

-- Adds an error about a field, at the position of its node. For a default or no node, the position is the spec's table.
local function add(context, node, path, message, expected, hint)
  local position = node and not node.origin.default and node.origin or context.root.origin
  context.diagnostics:add({ at = position, field = path, shared_field = families.make_shared_path(path),
    what = message, expected = expected, hint = hint })
end

-- Describes the value of a node. The text is the start of a sentence or a whole sentence.
local function describe(node)
  return tree.show(node) .. (type(node.value) == "string" and " is a string" or "")
end

local function report_wrong_type(context, field, node, hint, expected)
  local text = describe(node)
  if type(node.value) == "function" then
    hint = "only encoding.score can be a function"
  end
  add(context, node, field.path, text .. (text:find(" is ", 1, true) and "" or " does not fit here"),
    expected or schema.describe_values(field), hint)
end

local function report_misfit(context, node, path, expected)
  add(context, node, path, tree.show(node) .. " does not fit here", expected)
end

local function refuse(context, field, node, message, hint)
  add(context, node, field.path, message, schema.describe_values(field), hint)
end

-- Returns the problem with a number, and a hint or nil; nil for a valid number. value: a number of the field's type.
local function find_number_problem(field, value)
  local function describe_number(relation, limit)
    return ("%s is %s %s"):format(diagnostics.show(value), relation, diagnostics.show(limit))
  end
  if field.min and value < field.min then
    return describe_number("below", field.min)
  elseif field.max and value > field.max then
    return describe_number("above", field.max)
  elseif field.above and value <= field.above then
    return describe_number("not above", field.above)
  elseif field.below and value >= field.below then
    return describe_number("not below", field.below)
  elseif field.multiple and value % field.multiple ~= 0 then
    local nearest_multiple = math.floor(value / field.multiple + 0.5) * field.multiple
    return describe_number("not a multiple of", field.multiple),
      ("%d is the nearest legal value"):format(math.max(field.min, math.min(field.max, nearest_multiple)))
  end
end

local readers = { boolean = function(_, _, node) return node.value end }

function readers.number(context, field, node)
  local value = node.value
  if field.word and value == field.word or field.takes_names and base_names.is_valid(value) then
    return value
  elseif type(value) ~= "number" then
    local number = type(value) == "string" and tonumber(value)
    return report_wrong_type(context, field, node, number and ("write %s without quotes"):format(value) or nil)
  end
  if field.type == "integer" and value ~= math.floor(value) then
    return refuse(context, field, node, show(value) .. " is not an integer")
  end
  local problem, hint = find_number_problem(field, value)
  if problem then
    return refuse(context, field, node, problem, hint)
  end
  return field.type == "integer" and math.tointeger(value) or value + 0.0
end

readers.integer = readers.number

local function read_choice(context, field, node, names, expected)
  local value = node.value
  if type(value) ~= "string" then
    return report_wrong_type(context, field, node, nil, expected)
  elseif lists.has(names, value) then
    return value
  end
  local noun = field.type == "kind" and (field.kinds_from == "tasks" and "task" or "kind")
  local message = noun and ("there is no %s %s"):format(noun, show(value)) or show(value) .. " does not fit here"
  add(context, node, field.path, message, expected, similar_names.make_hint(value, names))
end

function readers.choice(context, field, node)
  return read_choice(context, field, node, field.choices, schema.describe_values(field))
end

local function list_kinds(context, field)
  return field.kinds_from == "tasks" and lists.map(context.tasks.list, function(facts) return facts.kind end)
    or lists.get_names(field.kinds)
end

function readers.kind(context, field, node)
  local names = list_kinds(context, field)
  return read_choice(context, field, node, names, #names > 0 and table.concat(names, ", ") or "a task; none were found")
end

local LENGTH_BOUNDS = { min = 1, max = schema.MAX_TASK_LENGTH }

-- Reads an integer in a list or a range, from bounds.min to bounds.max; returns nil after an error.
local function read_integer(context, node, path, bounds)
  local value, integer = node.value, tree.get_integer(node, bounds.min, bounds.max)
  if integer then
    return integer
  end
  local problem = tree.get_integer(node, math.mininteger, math.maxinteger) and " out of range" or " not an integer"
  local verb = type(value) == "string" and ", which is" or " is" -- a described string ends with "is a string"
  local expected = ("an integer from %d to %d"):format(bounds.min, bounds.max)
  add(context, node, path, describe(node) .. verb .. problem, expected)
end

-- Reads the items of a node as a strictly ascending list; returns nil after errors. read(item, path) reads an item.
local function read_ascending_items(context, node, path, read)
  local list, is_valid = {}, true
  for i, item in ipairs(node.items) do
    local item_path, previous = locate.join(path, i), list[i - 1]
    local value = read(item, item_path)
    list[i], is_valid = value, is_valid and value ~= nil
    if value and previous and value <= previous then
      is_valid = add(context, item, item_path,
        ("%s follows %s"):format(diagnostics.show(value), diagnostics.show(previous)), "an ascending list")
    end
  end
  return is_valid and list or nil
end

local function read_ascending_integers(context, node, path, bounds)
  if not tree.is_list(node) then
    return add(context, node, path, tree.is_table(node) and #node.items == 0 and "the list is empty"
      or describe(node) .. " is not a list", ("a list of ascending integers from %d to %d")
      :format(bounds.min, bounds.max))
  end
  return read_ascending_items(context, node, path, function(item, item_path)
    return read_integer(context, item, item_path, bounds)
  end)
end

local function read_range(context, path, node, bounds)
  local first = read_integer(context, node.items[1], locate.join(path, 1), bounds)
  local last = read_integer(context, node.items[2], locate.join(path, 2), bounds)
  local step = not node.fields.step and 1 or read_integer(context, node.fields.step, path .. ".step", LENGTH_BOUNDS)
  if first and last and first > last then
    return add(context, node.items[2], locate.join(path, 2), ("%d is below the first %s, %d"):format(last,
      bounds.noun or "length", first), "{ first, last } with first <= last")
  end
  return first and last and step and { first = first, last = last, step = step } or nil
end

local function format_items(node)
  local max_items = 6
  local words = lists.map(table.move(node.items, 1, max_items, 1, {}), function(item)
    return tree.is_table(item) and "{ ... }" or show(item.value)
  end)
  return table.concat(words, ", ") .. (#node.items > max_items and ", ..." or "")
end

-- Reads lengths, or the values of an axis of eval.by. field.bounds: the bounds of the values; nil for lengths.
function readers.lengths(context, field, node)
  local path, expected, bounds = field.path, schema.describe_values(field), field.bounds or LENGTH_BOUNDS
  if not tree.is_table(node) then
    local hint = math.type(node.value) == "integer" and ("write { %d, %d }"):format(node.value, node.value) or nil
    return report_wrong_type(context, field, node, hint)
  end
  local is_valid, legal_field = true, #node.items > 0 and "step" or "list"
  for name, field_node in tree.iterate_others(node, { legal_field }) do
    add(context, field_node, path .. "." .. name, (name == "step" or name == "list")
      and ("%s cannot be used with this form"):format(name) or "no such field", expected)
    is_valid = false
  end
  if #node.items == 0 and not node.fields.list then
    return is_valid and add(context, node, path, "no lengths are given", expected) or nil
  elseif #node.items == 0 then
    local list = read_ascending_integers(context, node.fields.list, path .. ".list", bounds)
    return is_valid and list and { list = list } or nil
  elseif #node.items ~= 2 then
    return add(context, node, path, ("%d lengths are given, but a range has two"):format(#node.items), expected,
      ("for exactly these lengths, write { list = { %s } }"):format(format_items(node)))
  end
  local range = read_range(context, path, node, bounds)
  return is_valid and range or nil
end

local AXIS_BOUNDS = { min = 0, max = axes.MAX_VALUE, noun = "value" }
local PASS_BOUNDS = { min = 1, max = axes.MAX_PASSES, noun = "number of passes" }

-- Standard deviations of the noise on embeddings, { list = strictly ascending numbers }, or nil after errors.
local function read_noise(context, path, node)
  local list = tree.is_record(node) and node.fields.list
  if not list or next(node.fields, next(node.fields)) or not tree.is_table(list) or #list.items == 0 then
    return add(context, node, path, list and tree.is_table(list) and #list.items == 0 and "the list is empty"
      or tree.show(node) .. " does not fit here", schema.TEXT.noise)
  end
  local values = read_ascending_items(context, list, path .. ".list", function(item, item_path)
    return readers.number(context, { path = item_path, type = "number", min = 0, max = axes.MAX_NOISE }, item)
  end)
  return values and { list = values }
end

-- Reads eval.by. An axis has a range, a list, or true for all values. Noise has a list; passes have a range or a list.
function readers.by(context, field, node)
  local by = {}
  for name, value_node in tree.iterate(node) do
    local path = field.path .. "." .. name
    if name == axes.NOISE then
      by[name] = read_noise(context, path, value_node)
    elseif name == axes.PASSES then
      by[name] = readers.lengths(context, { path = path, type = "passes", bounds = PASS_BOUNDS }, value_node)
    elseif value_node.value == true then
      by[name] = true
    elseif tree.is_table(value_node) then -- an axis; the rules check its name
      by[name] = readers.lengths(context, { path = path, type = "axis", bounds = AXIS_BOUNDS }, value_node)
    else
      report_misfit(context, value_node, path, schema.TEXT.axis)
    end
  end
  return next(by) and by or nil
end

function readers.name(context, field, node)
  return base_names.is_valid(node.value) and node.value
    or report_misfit(context, node, field.path, schema.describe_values(field))
end

-- Reads a list of different names. With field.choices, only these are valid, and the result is in their order.
function readers.names(context, field, node)
  local is_given, list = {}, {}
  for i, item in ipairs(node.items) do
    local item_field = { path = locate.join(field.path, i), type = "choice", choices = field.choices }
    local name = item.value
    if field.choices then
      name = read_choice(context, item_field, item, field.choices, schema.describe_values(item_field))
    end
    if not field.choices and not base_names.is_valid(name) then
      report_misfit(context, item, item_field.path, schema.describe_values(field))
    elseif name and is_given[name] then
      add(context, item, item_field.path, ("%s is given twice"):format(show(name)), "each once")
    else
      is_given[name or i], list[#list + 1] = true, not field.choices and name or nil
    end
  end
  return lists.append(list, lists.filter(field.choices or {}, function(name) return is_given[name] end))
end

-- Reads the choice of checkpoints to keep: a word or a list of steps.
function readers.keep(context, field, node)
  if tree.is_table(node) then
    return read_ascending_integers(context, node, field.path, { min = 0, max = (1 << 31) - 1 })
  end
  return read_choice(context, field, node, field.choices, schema.describe_values(field))
end

-- Reads the path of a file that the trainer reads. The trainer checks whether the file exists.
function readers.file(context, field, node)
  local name = node.value
  if type(name) ~= "string" or name == "" or name:find("[%c\"\\]") or not utf8.len(name) then
    return report_wrong_type(context, field, node)
  end
  context.files[field.name] = context.loaded.find_file(node.origin, name)
  return name
end

-- Reads the path of a checkpoint; nil for false, which means no checkpoint.
function readers.checkpoint(context, field, node)
  return node.value ~= false and readers.file(context, field, node) or nil
end

M.SYMBOL_TEXT = "text in UTF-8 without control characters, double quotes or backslashes"

local function is_symbol(name)
  return type(name) == "string" and name ~= "" and utf8.len(name) ~= nil and not name:find('[%c"\\]')
end

function readers.symbol(context, field, node)
  return is_symbol(node.value) and node.value or report_misfit(context, node, field.path, M.SYMBOL_TEXT)
end

local function read_symbol_names(context, field, node)
  local names, is_listed = {}, {}
  for i, item in ipairs(node.items) do
    local name, path = item.value, locate.join(field.path, i)
    if not is_symbol(name) then
      return add(context, item, path, tree.show(item) .. " is not a symbol", M.SYMBOL_TEXT)
    elseif is_listed[name] then
      return add(context, item, path, ("the symbol %s is given twice"):format(show(name)), "each once")
    end
    names[i], is_listed[name] = name, true
  end
  return names
end

-- Reads an alphabet: the names of its symbols, or a number n for the symbols 0, 1, ..., n - 1.
function readers.symbols(context, field, node)
  local count = tree.is_table(node) and #node.items or math.type(node.value) and math.tointeger(node.value)
  if not count or tree.is_table(node) and next(node.fields) then
    return report_wrong_type(context, field, node)
  elseif count < 1 or count > schema.MAX_SYMBOLS then
    return refuse(context, field, node, ("%d symbols are out of range"):format(count))
  elseif tree.is_table(node) then
    return read_symbol_names(context, field, node)
  end
  local names = {}
  for i = 1, count do
    names[i] = tostring(i - 1)
  end
  return names
end

-- Reads a user's own file whose name has this ending; returns its display path and text, or nil after an error.
local function read_own_file(context, field, node, ending)
  local name = node.value
  local is_text = type(name) == "string"
  local has_ending = is_text and name:sub(-#ending) == ending
  if not is_text then
    return report_wrong_type(context, field, node)
  elseif not has_ending or not load_module.is_id(name:match("[^/]*$"):sub(1, -#ending - 1)) then
    return report_misfit(context, node, field.path, schema.describe_values(field))
  end
  local display_path, text, message = context.loaded.read_file(node.origin, name)
  if not text then
    return refuse(context, field, node, ("cannot read %s: %s"):format(display_path, message))
  end
  return display_path, text
end

-- Reads the path of a user's own task file, and the file.
function readers.source(context, field, node)
  local display_path, text = read_own_file(context, field, node, ".c")
  context.own_task = display_path and tasks.read_own(display_path, text, context.diagnostics)
  return display_path and node.value
end

-- Reads the path of a user's own network, and the file. The network runs when the plan is made.
function readers.network(context, field, node)
  local display_path, text = read_own_file(context, field, node, ".lua")
  if not display_path then
    return nil
  end
  local _, problem = own_network.open(text)
  if problem then
    context.diagnostics:add_source(display_path, text)
    problem.path = display_path
    return context.diagnostics:add(problem)
  end
  context.own_network = { path = display_path, text = text }
  return node.value
end

-- Reads model.options, the settings of a user's network: a table from names to numbers, words, true or false.
function readers.settings(context, field, node)
  local settings = {}
  for name, item in tree.iterate(node) do
    local value, path = item.value, locate.join(field.path, name)
    if not base_names.is_valid(name) then
      add(context, item, path, show(name) .. " cannot be the name of an option", base_names.TEXT)
    elseif tree.is_table(item) or type(value) == "string" and (not value:find("^[%w_.+-]+$") or #value > 64) then
      report_misfit(context, item, path, "a number, true, false, or a word of up to 64 letters, digits, _, -, + and .")
    elseif type(value) == "function" then
      report_wrong_type(context, field, item)
    else
      settings[name] = value
    end
  end
  return next(settings) and settings or nil
end

-- Returns the nodes { score, parameters } of a family's own score. family: nil for the shared score.
function M.get_formula_nodes(context, family)
  local formulas, name = context.formulas, family or "encoding"
  formulas[name] = formulas[name] or {}
  return formulas[name]
end

function readers.curriculum(context, field, node)
  return curriculum.read(node, field.path, function(...) add(context, ...) end)
end

function readers.lines(context, field, node)
  return attention_lines.read(node, field.path, context.resolved.model.heads, function(...) add(context, ...) end)
end

-- Stores the node of the options, which task_options.lua reads when the task is known.
function readers.options(context, _, node)
  context.options_node = node
end

-- Stores the node of a score, which spec/score/score.lua reads together with its parameters. After an error, the score
-- is false, not nil.
function readers.score(context, field, node)
  local formula = M.get_formula_nodes(context, field.family)
  formula.score = not node.is_none and node or nil
  if formula.score and type(node.value) ~= "function" and not tree.is_table(node) then
    report_wrong_type(context, field, node, node.origin.set
      and 'a function cannot come from the command line; a preset can: { use = "alibi" }' or nil)
    formula.score = false
  end
end

function readers.parameters(context, field, node)
  local formula = M.get_formula_nodes(context, field.family)
  if not tree.is_record(node) then
    report_wrong_type(context, field, node)
    formula.score = false
  else
    formula.parameters = node
  end
end

-- Type of a field -> a predicate that the nodes of valid values satisfy.
local IS_VALID_NODE = { names = tree.is_list, settings = tree.is_record, options = tree.is_record,
  boolean = function(node) return type(node.value) == "boolean" end,
  by = function(node) return tree.is_record(node) and next(node.fields) ~= nil end }

-- Reads the value of a node for a field of any type but table.
function M.read(context, field, node)
  local is_valid_node = IS_VALID_NODE[field.type]
  if is_valid_node and not is_valid_node(node) then
    return report_wrong_type(context, field, node)
  end
  return readers[field.type](context, field, node)
end

M.add_error, M.report_wrong_type, M.list_kinds, M.is_symbol = add, report_wrong_type, list_kinds, is_symbol

return M
