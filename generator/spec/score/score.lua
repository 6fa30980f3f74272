-- Makes one formula from the score of an encoding. A spec states a score by one function or by several.
--
-- Input: the context of validate.lua, after the schema has been applied; the texts of the files by display path; and
-- `owner`, which describes the encoding to which the score belongs:
--   path        "encoding", or the path of one family of attentions, such as "encoding.cross"
--   encoding    the table at `path` in the resolved spec
--   layers      the number of layers of the family that uses the score
--   cross       whether the family's queries attend to another sequence
--   causal      whether the family's queries see no later keys
--   score       the node of the score that values.lua has stored; nil: absent; false: score or parameters are invalid
--   parameters  the node of the parameters that values.lua has stored; nil: absent
-- Output; errors are in the diagnostics:
--   encoding.score        the formula as text
--   encoding.parameters   plain data
--   result of M.resolve   the formula for the planner, { root, builder, parameters }; parameters: the list of the
--                         parameters that it reads, sorted by name

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local ir = require("expression.ir")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local names = require("base.names")
local parameters = require("spec.score.score_parameters")
local sandbox = require("spec.reading.sandbox")
local tasks = require("spec.task.tasks")
local traced = require("expression.traced")
local tree = require("spec.reading.tree")
local typical_inputs = require("spec.score.typical_inputs")
local walk = require("expression.walk")

local M = {}

local MAX_FLOAT32 = 3.4028234663852886e38

local RETURN_TEXT = "return x.score + ..., a number for each pair of tokens"

-- The functions of a score in the order of application; nil after an error. Fields of an entry:
--   f                 the node of the function
--   parameters        the node of its parameters
--   path              the path of the function
--   parameters_path   the path of the parameters
local function list_entries(owner, report)
  local score, parameter_nodes = owner.score, owner.parameters
  if not tree.is_table(score) then
    return { { f = score, parameters = parameter_nodes, path = owner.path .. ".score",
      parameters_path = owner.path .. ".parameters" } }
  end
  for name, node in tree.iterate(parameter_nodes or tree.make_table()) do
    if not node.droppable then
      return report(node, ("%s.parameters.%s"):format(owner.path, name),
        "the score is a list, whose entries have their own parameters",
        "parameters of an entry: { score = function(x) ... end, parameters = { ... } }, or a constant next to `use`")
    end
  end
  return lists.map(score.items, function(item, i)
    local path = locate.join(owner.path .. ".score", i)
    return { f = item.fields.score, parameters = item.fields.parameters, path = path,
      parameters_path = path .. ".parameters" }
  end)
end

-- Parameters of one entry by their names in the spec; nil after errors.
local function read_parameters(state, entry)
  local list, is_valid, parameter_nodes = {}, true, entry.parameters
  if parameter_nodes and not tree.is_record(parameter_nodes) then
    return state.report(parameter_nodes, entry.parameters_path, "is not a table of names",
      "{ name = " .. parameters.TEXT .. ", ... }")
  end
  for name, node in tree.iterate(parameter_nodes or tree.make_table()) do
    local p = parameters.read(state, name, node, entry.parameters_path .. "." .. name)
    is_valid = is_valid and p ~= nil
    if p then
      p.local_name, p.name, p.node = name, names.find_unused(name, state.used_names), node
      state.used_names[p.name] = true
      p.is_inlined = not p.learned and not p.size and (p.per == "model" or p.per == "layer")
      list[name] = p
    end
  end
  return is_valid and list or nil
end

-- The builder (expression/ir.lua) of formulas for an encoding of this model.
local function make_builder(resolved, owner)
  local positions = owner.encoding.positions
  local first = positions.range == "one_based" and 1 or 0
  return ir.new({ heads = resolved.model.heads, layers = owner.layers, cross = owner.cross,
    positions = positions.kind ~= "randomized" and "index" or positions.reading or "drawn",
    first_position = first, max_position = positions.max_position and positions.max_position + first })
end

local FLEX_ARGUMENTS = 5 -- score, b, h, q_idx, kv_idx
local FLEX = "for FlexAttention's score, b, h, q_idx, kv_idx write x.score, x.head, x.query_index, x.key_index; no "
  .. "x.b: examples of a batch have the same score"

local RETURNS = {
  nothing = "the function returns nothing", truth = "the function returns a truth value",
  table = "the function returns a whole table", x = "the function returns x itself",
  other = "the function does not return a number",
}

-- A number of a formula, or an edge of its function `bucket`, that exceeds the precision's range; nil if there is none.
local function find_large_number(root, max_number)
  local large_number
  walk(root, function(node)
    for _, value in ipairs(node.edges or { node.op == "number" and node.value or 0 }) do
      large_number = large_number or math.abs(value) > max_number and value or nil
    end
  end)
  return large_number
end

-- The name of a parameter that only sum_between may read, but that the formula reads directly; nil if there is none.
-- Such parameters have per = "token" and no `from`.
local function find_bare_value(root)
  local name
  walk(root, function(node)
    name = name or node.op == "value" and not node.parameter.from and node.parameter.local_name or nil
    return node.op == "sum_between"
  end)
  return name
end

-- Names of a function's parameters.
local function list_arguments(f)
  local list = {}
  for i = 1, debug.getinfo(f, "u").nparams do
    list[i] = debug.getlocal(f, i)
  end
  return list
end

-- Calls the function of an entry with tracing objects. Returns the node of the resulting formula and the session
-- (expression/traced.lua), or nil after an error. entry_parameters: the result of read_parameters.
local function trace(state, entry, entry_parameters)
  local origin = entry.f.origin
  local text = state.texts[origin.path]
  local start = text and sandbox.find_function(text, entry.f.value)
  local position = start and { path = origin.path, line = start.line, col = start.col } or origin
  local function fail(message, expected, hint, place)
    state.context.diagnostics:add({ at = place or position, field = entry.path, what = message, expected = expected,
      hint = hint })
  end
  if not start and origin.set then
    return fail("a function cannot come from the command line", "function(x) return x.score + ... end in a spec file",
      "--set encoding.parameters.<name>=... changes a parameter")
  elseif not start then
    return fail("a built-in function is not a score by itself", "function(x) return x.score + ... end")
  end
  local arguments = list_arguments(entry.f.value)
  if #arguments > 1 then
    return fail(("the function has %d arguments, %s"):format(#arguments, table.concat(arguments, ", ")),
      "one, whose fields have all values: function(x) return x.score + ... end",
      #arguments == FLEX_ARGUMENTS and FLEX or nil)
  end
  local session = { builder = state.builder, heads = state.heads,
    head_width = state.head_width, layers = state.layers, causal = state.causal and 1 or 0, score = state.root,
    parameters = entry_parameters }
  local x = traced.begin(session)
  local is_ok, value, problem = pcall(sandbox.call, text, entry.f.value, x, state.budget)
  traced.finish()
  if not is_ok then
    error(value, 0)
  elseif problem then
    return fail(problem.what, problem.expected, problem.hint, { path = origin.path, line = problem.line,
      col = problem.col })
  end
  local kind, node = traced.classify(value)
  if RETURNS[kind] then
    return fail(RETURNS[kind], RETURN_TEXT)
  elseif kind == "number" or not ir.depends_on(node, state.builder:symbol("score")) then
    return fail("the score does not use x.score", RETURN_TEXT,
      "x.score is the logit of the pair; without it, attention would not depend on the tokens")
  elseif ir.count_written(node) > ir.MAX_WRITTEN_SIZE then
    return fail(("written out, the formula has more than %d operations"):format(ir.MAX_WRITTEN_SIZE),
      "a smaller formula", "a part that occurs several times inside a sum counts each time")
  end
  local value_name = find_bare_value(node)
  if value_name then
    return fail(("the score reads x.%s, a value of one token, for a pair of tokens"):format(value_name),
      ("sum_between(x.%s), the sum of the values of the tokens after the key, up to the query"):format(value_name))
  end
  local large_number = find_large_number(node, state.max_number)
  if large_number then
    return fail(("the formula contains the number %s"):format(diagnostics.show(large_number)), parameters.NUMBER_TEXT)
  end
  return node, session
end

-- The set of parameters that a formula reads.
local function find_parameters(root)
  local set = {}
  walk(root, function(node)
    if node.parameter then
      set[node.parameter] = true
    end
  end)
  return set
end

-- Reports parameters that the formula does not read, but drops parameters that were inherited with another score.
local function check_used(state, entry, list, node, session)
  local is_read = find_parameters(node)
  for _, name in ipairs(canonical.sort_keys(list)) do
    local p = list[name]
    if session.used[name] and (p.is_inlined or is_read[p]) then
      state.needed_parameters[p.name] = p
    elseif p.node.droppable then
      state.used_names[p.name] = nil
    else
      state.report(p.node, entry.parameters_path .. "." .. name, ("parameter %s is not used"):format(name),
        ("x.%s in the function, or no such parameter"):format(name), session.used[name]
        and "the function reads it, but the simplified formula does not" or nil)
    end
  end
end

-- Applies one function after another; false after an error.
local function apply_entries(state, list)
  local is_valid = true
  for _, entry in ipairs(list) do
    local entry_parameters, node, session = read_parameters(state, entry), nil, nil
    if entry_parameters then
      node, session = trace(state, entry, entry_parameters)
    end
    if node then
      check_used(state, entry, entry_parameters, node, session)
      state.root = node
    end
    is_valid = is_valid and node ~= nil
  end
  return is_valid
end

-- Sets the score and its parameters in the resolved spec; returns the formula.
local function finish(state, owner)
  local formula = { root = state.root, builder = state.builder, parameters = {} }
  local is_read, data = find_parameters(state.root), {}
  for _, name in ipairs(canonical.sort_keys(state.needed_parameters)) do
    local p = state.needed_parameters[name]
    data[name] = parameters.copy(p)
    state.context.origins[("%s.parameters.%s"):format(owner.path, name)] = p.node.origin
    p.node = nil
    if is_read[p] then
      formula.parameters[#formula.parameters + 1] = p
    end
  end
  owner.encoding.score = ir.format(state.root)
  owner.encoding.parameters = next(data) and data or nil
  return formula
end

local MAX_DATA_TOKENS = 64 -- the largest number of tokens that count_tokens returns for a dataset
local DEFAULT_TOKENS = 16 -- the number of tokens that count_tokens returns if the spec states no length

-- An estimate of the number of tokens of the longest sequences of training, for the check with typical inputs.
local function count_tokens(context)
  local facts, train, origin = context.task, context.resolved.train or {}, context.origins["task.longest"]
  if facts and facts.data then
    return (facts.data.is_generated or origin and not origin.default)
      and math.min(MAX_DATA_TOKENS, math.max(table.unpack(tasks.count_max_tokens(facts)))) or DEFAULT_TOKENS
  end
  local task_lengths = facts and tasks.list_lengths(train.lengths) or {}
  return task_lengths[1] and tasks.count_longest_stream(facts, task_lengths[#task_lengths]) or DEFAULT_TOKENS
end

-- Whether a mask lacks fields because the spec has errors in them. mask: nil if the encoding has none.
local function lacks_fields(mask)
  return mask and (not mask.kind or mask.kind == "window" and not (mask.left and mask.right))
end

-- The second argument of typical_inputs.find_problem.
local function list_model_facts(context, owner, state)
  return { heads = state.heads, layers = state.layers, width = context.resolved.model.width,
    head_width = state.head_width, causal = state.causal, cross = owner.cross, mask = owner.encoding.mask,
    lines = owner.encoding.lines, tokens = count_tokens(context), is_float64 = context.resolved.precision == "float64" }
end

-- Small values and large values in place of missing or invalid fields.
local SUBSTITUTES = {
  { heads = 1, width = 16, layers = 1, positions = { kind = "randomized", max_position = 64, reading = "difference" } },
  { heads = 64, width = 1024, layers = 64, positions = { kind = "index" } },
}

-- Reports the errors of a score that occur with each of SUBSTITUTES: missing or invalid fields do not cause them.
local function report_independent_errors(context, texts, owner)
  local records = lists.map(SUBSTITUTES, function(substitute)
    local model = lists.merge(context.resolved.model, { heads = substitute.heads, width = substitute.width })
    local trial = setmetatable({ diagnostics = diagnostics.new(),
      origins = setmetatable({}, { __index = context.origins }),
      resolved = lists.merge(context.resolved, { model = model }) }, { __index = context })
    M.resolve(trial, texts, lists.merge(owner, { layers = substitute.layers,
      encoding = lists.merge(owner.encoding, { positions = substitute.positions }) }))
    return trial.diagnostics.records
  end)
  for _, record in ipairs(records[1]) do
    if lists.any(records[2], function(other_record)
      return other_record.what == record.what and other_record.expected == record.expected
    end) then
      context.diagnostics:add(record)
    end
  end
end

-- Traces the score of a spec: the formula, or nil without a score or after an error.
function M.resolve(context, texts, owner)
  local resolved = context.resolved
  local function report(node, path, message, expected, hint)
    local position = not node.origin.default and node.origin or context.root.origin
    context.diagnostics:add({ at = position, field = path, what = message, expected = expected, hint = hint })
  end
  local score, parameter_nodes = owner.score, owner.parameters
  if score == nil then
    local name, node = tree.iterate(parameter_nodes or tree.make_table())()
    return name and not node.droppable and report(node, ("%s.parameters.%s"):format(owner.path, name),
      "there is no score that could use this parameter", owner.path .. ".score = function(x) ... end") or nil
  elseif score and resolved.model.kind == "recurrent" then
    return report(score, owner.path .. ".score", "a recurrent model has no attention", 'encoding = { kind = "none" }')
  end
  local positions = owner.encoding.positions or {}
  local has_sizes = resolved.model.heads and resolved.model.width and owner.layers
  local has_positions = positions.kind and (positions.kind ~= "randomized" or positions.max_position)
  if not score or not has_sizes or not has_positions then
    return score and report_independent_errors(context, texts, owner) or nil
  end
  local list = list_entries(owner, report)
  -- Fields of state:
  --   builder             makes the nodes of the formula
  --   root                the node of the score so far, set by apply_entries
  --   used_names          the set of parameters' names in the generated code
  --   needed_parameters   the parameters that the formula uses, by name
  --   budget              the instructions left to the functions of the spec
  --   remaining           the number of values that further parameters may have
  --   max_number          the largest number of the spec's precision
  local state = { context = context, report = report, texts = texts, builder = make_builder(resolved, owner),
    used_names = {}, needed_parameters = {}, budget = sandbox.make_budget(),
    remaining = { values = parameters.MAX_VALUES },
    heads = resolved.model.heads, head_width = resolved.model.width // resolved.model.heads, layers = owner.layers,
    causal = owner.causal, max_number = resolved.precision == "float64" and math.huge or MAX_FLOAT32 }
  local earlier_errors = context.diagnostics:count()
  if not list or not apply_entries(state, list) or context.diagnostics:count() > earlier_errors then
    return nil
  elseif state.root == state.builder:symbol("score") then
    return report(score, owner.path .. ".score", "the formula simplifies to x.score itself",
      "a formula that changes x.score, or no score")
  end
  local problem = not lacks_fields(owner.encoding.mask)
    and typical_inputs.find_problem({ root = state.root }, list_model_facts(context, owner, state))
  if problem then
    return report(score, owner.path .. ".score", problem.what, problem.expected, problem.hint)
  end
  return finish(state, owner)
end

return M
