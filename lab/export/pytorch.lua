-- The facts of a trained model for its export to PyTorch.
--
-- Input: a planned spec (project:plan), a trained run, the spec's network (project:build_network). Output of
-- M.derive_facts: the facts for templates/python/model.py.tpl, or nil and the reason why a model cannot be exported.

local canonical = require("base.canonical")
local classes = require("lab.export.classes")
local json = require("dkjson")
local lists = require("base.lists")
local names = require("lab.export.python_names")
local escape = require("base.escape")
local stop = require("lab.stop")
local wording = require("base.wording")
local families = require("spec.families")
local facet_modules = require("facets.modules")
local schema = require("spec.schema")

local M = {}

local INPUT = 1

-- Returns the facets of an attention as facts for its Python class. formula: the formula of its score, or nil. Result:
--   extra_inputs  the values that the attention reads, by name:
--     positions, distance   true
--     shared                the folder of the parameters that all layers share
--     memory_positions, memory_distance, memory_shared   the same for keys of another stream
--   calls         the set of the functions of the file that the class calls
--   takes_layer   whether the class needs its layer index
--   text          variables of the template
--     part_texts            for each part of a facet, its files in templates/attention/python/terms
local function collect_facets(op, formula)
  local family, crosses = op.family, op.q.stream ~= op.kv.stream
  local context = { crosses = crosses, key_prefix = crosses and "memory_" or "", formula = formula, net = op.scope.net,
    extra_inputs = {}, part_texts = {}, calls = {} }
  local variables = { heads = family.heads, crosses = crosses, part_texts = context.part_texts,
    dropout = op.dropout and ("%.9g"):format(op.dropout.rate) or false }
  local facet_variables = facet_modules.collect("export", family, context) -- also sets fields of `context`
  return { extra_inputs = context.extra_inputs, calls = context.calls, takes_layer = context.layer or false,
    text = lists.merge(variables, table.unpack(facet_variables)) }
end

local EXPORTED = { parameters = true, times = true } -- fields of encodings that the export writes
for _, module in ipairs(facet_modules) do
  EXPORTED[module.name] = module.needs_no_export or module.export ~= nil
end
for _, name in ipairs(families.NAMES) do
  EXPORTED[name] = true
end

-- Whether a field has kinds or choices in the schema, and the value is none of them.
local function has_unknown_word(field, value)
  local words = field.kinds and lists.get_names(field.kinds) or field.choices
  return words and not lists.has(words, value)
end

-- Returns words for the first setting of a resolved encoding that cannot be exported, or nil.
local function find_unknown_encoding(value, path)
  for _, name in ipairs(canonical.sort_keys(value)) do
    local field_value, field_path = value[name], path .. "." .. name
    local field = schema.by_path[field_path]
    local facet = families.make_shared_path(field_path):match("^encoding%.([^.]+)")
    if not field or not EXPORTED[facet] or has_unknown_word(field, field_value) then
      return ("%s = %s"):format(field_path, json.encode(field_value))
    end
    local problem = field.type == "table" and type(field_value) == "table"
      and find_unknown_encoding(field_value, field_path)
    if problem then
      return problem
    end
  end
end

-- Fields of a task that the templates can write; a task with any other field cannot be exported.
local TASK_FIELDS = lists.split_set("kind source data eval validation input_symbols output_symbols longest axes seed "
  .. "options computation loss symbols end_symbol")

local function find_unknown_task(task)
  local name = lists.find(canonical.sort_keys(task), function(field) return not TASK_FIELDS[field] end)
  return name and ("task.%s = %s"):format(name, json.encode(task[name]))
end

-- Returns why a model of this kind, encoding, task and evaluation cannot be exported, or nil.
function M.find_problem(spec)
  local unknown_setting = find_unknown_encoding(spec.resolved.encoding, "encoding")
    or find_unknown_task(spec.resolved.task)
  if unknown_setting then
    return "does not know " .. unknown_setting
  elseif spec.plan.is_step_major then
    return 'does not know model.kind = "recurrent"'
  elseif spec.plan.eval_dropout then
    return "has no logits to compare with: eval.dropout = true makes them random"
  end
end

-- Returns the encoding of positions that a block adds to its input, in an operation of kind `place`; nil if no block
-- adds one.
local function find_block_encoding(net)
  for _, op in lists.iterate_nested(net.scopes, "ops") do
    if op.kind == "place" then
      return op.encoding
    end
  end
end

local function list_operations(net)
  return lists.collect({ net, table.unpack(net.scopes) }, function(scope) return scope.ops end)
end

-- Adds facts about sampled positions or distances: range, first value, order, and the texts that sample them.
local function add_draws(facts, positions)
  local distance = positions.distance
  local sampled_facet = facts.draws_positions and positions or facts.draws_distances and distance
  facts.max_position = sampled_facet and sampled_facet.range
  facts.one_based = sampled_facet and sampled_facet.bound > sampled_facet.range or false
  facts.range_words = facts.one_based and "from 1 to MAX_POSITION" or "below MAX_POSITION"
  facts.sorted_words = positions.sorted and ", ascending" or ""
  facts.sort_text = positions.sorted and ".sort().values" or ""
  facts.position_text = facts.one_based and "(1 + torch.randperm(MAX_POSITION, device=tokens.device))"
    or "torch.randperm(MAX_POSITION, device=tokens.device)"
  facts.distance_text = ("torch.randperm(MAX_POSITION%s, device=tokens.device)"):format(
    facts.one_based and "" or " - 1")
  facts.clamped, facts.independent = distance.kind == "clamped", distance.independent
end

local function format_positions(place, tokens)
  return ("%s = torch.arange(%s.shape[1], device=%s.device)"):format(place, tokens, tokens)
end

-- Returns the facts of add_draws, and further facts about positions and distances:
--   before_layers    the lines that compute them once
--   in_layers        the lines that compute them before each layer
--   draws_positions  whether positions are sampled
--   draws_distances  whether distances are sampled
--   by_sequence      whether each sequence has its own sample
-- extra_inputs: the inputs of all attentions and blocks (collect_facets). is_additive: whether the embedding adds an
-- encoding of positions.
local function write_places(positions, extra_inputs, is_additive)
  local distance, lines, layer_lines = positions.distance, {}, {}
  local samples_distances = distance.kind == "drawn" or distance.kind == "clamped"
  local samples_positions, by_sequence = positions.kind ~= "index", positions.kind == "sequence"
  local position_line = samples_positions and "place = draw_positions(tokens, positions)"
    or format_positions("place", "tokens")
  local each_layer_samples = samples_positions and positions.per_layer
  local layers_read = extra_inputs.positions or extra_inputs.distance and not samples_distances
  if is_additive or layers_read and not each_layer_samples then
    lines[#lines + 1] = position_line
  end
  if layers_read and each_layer_samples then
    layer_lines[#layer_lines + 1] = position_line
  end
  if extra_inputs.distance and samples_distances then
    table.insert(distance.per_layer and layer_lines or lines,
      "distance = pair_distances(draw_distances(tokens, distances))")
  elseif extra_inputs.distance then
    table.insert(each_layer_samples and layer_lines or lines, "distance = place - place[:, None]")
  end
  local facts = { before_layers = lines, in_layers = layer_lines,
    draws_positions = samples_positions and (is_additive or layers_read) and true or false,
    draws_distances = extra_inputs.distance and samples_distances or false, by_sequence = by_sequence }
  add_draws(facts, positions)
  return facts
end

-- Returns the facts of write_places for a network of two streams, whose positions are the indices of tokens.
-- variables: the variables that the network's forward pass reads, by stream (classes.lua).
local function write_stream_places(streams, variables)
  local lines, distances = {}, {}
  for i, stream in ipairs(streams) do
    local other_stream = streams[3 - i]
    local place, other_place = stream.name .. "_place", other_stream.name .. "_place"
    if variables.place[stream] or variables.distance[stream] or variables.memory_distance[stream]
      or variables.memory_distance[other_stream] then
      lines[#lines + 1] = format_positions(place, stream.name)
    end
    for quantity, keys in next, { distance = place, memory_distance = other_place } do
      local name = variables[quantity][stream]
      distances[#distances + 1] = name and ("%s = %s - %s[:, None]"):format(name, keys, place) or nil
    end
  end
  table.sort(distances)
  return { before_layers = lists.append(lines, distances), in_layers = {}, draws_positions = false,
    draws_distances = false, by_sequence = false, max_position = false, one_based = false }
end

-- Returns a text with the properties of a family's sampled positions and distances; false if it samples none. All
-- attentions that read samples must have equal texts, since one Python function samples for all.
local function describe_samples(family)
  local positions, distance = family.positions, family.positions.distance
  if positions.kind == "index" and not distance.range then
    return false
  end
  return canonical.format({ positions.kind, positions.range or false,
    positions.first or false, positions.sorted or false, positions.per_layer or false, distance.kind,
    distance.range or false, distance.bound or false, distance.independent or false,
    distance.per_layer or false })
end

-- Whether an attention reads positions or distances. extra_inputs: see collect_facets.
local function reads_places(extra_inputs)
  return extra_inputs.positions or extra_inputs.distance or extra_inputs.memory_positions
    or extra_inputs.memory_distance or false
end

-- Returns the first attention that samples positions or distances and reads them; if there is none, the first
-- attention. Ends the export if attentions differ in the number of heads, or in the samples that they read.
local function check_equal(attentions, facets)
  local sampling_attentions = lists.filter(attentions, function(op)
    return describe_samples(op.family) and reads_places(facets[op].extra_inputs)
  end)
  local first = sampling_attentions[1] or attentions[1]
  for _, op in ipairs(attentions) do
    local family = op.family
    local has_other_samples = sampling_attentions[1] and reads_places(facets[op].extra_inputs)
      and describe_samples(family) ~= describe_samples(first.family)
    local difference = family.heads ~= first.family.heads and "heads" or has_other_samples and "positions"
    if difference then
      stop.exit(INPUT, ("attentions with different %s: %s and %s"):format(difference, first.family.name, family.name))
    end
  end
  return first
end

-- Returns the result of collect_facets for each attention. formula: the formula of all scores; { families } with one
-- formula for each family; or nil.
local function collect_all_facets(formula, attentions)
  local facets = {}
  for _, op in ipairs(attentions) do
    local family_formula = formula and formula.families and formula.families[op.family.spec_name]
    facets[op] = collect_facets(op, formula and not formula.families and formula or family_formula)
  end
  return facets
end

-- Adds the numbers that scores read:
--   facts.constants   the constants, each name once
--   facts.shared      the parameters that layers share: { path (the folder of their tensors), entries }
local function add_numbers(facts, attentions, facets)
  local texts_by_name, paths = {}, {}
  facts.constants, facts.shared = {}, {}
  for _, op in ipairs(attentions) do
    local score, extra_inputs = facets[op].text.score, facets[op].extra_inputs
    for _, constant in ipairs(score and score.constants or {}) do
      local text = canonical.format(constant)
      if texts_by_name[constant.name] and texts_by_name[constant.name] ~= text then
        stop.exit(INPUT, ("scores with different values of %s (attention %s)"):format(constant.name, op.family.name))
      elseif not texts_by_name[constant.name] then
        texts_by_name[constant.name] = text
        table.insert(facts.constants, constant)
      end
    end
    local path = extra_inputs.shared or extra_inputs.memory_shared
    if path and not paths[path] then
      paths[path] = true
      table.insert(facts.shared, { path = path, entries = score.shared })
    end
  end
end

local MAX_NAMES = 70 -- characters of the names on a line of sizes

-- Returns lines of Python that define sizes: counts of blocks, heads, widths.
local function write_sizes(net, attentions)
  local lines, size_names, values = {}, {}, {}
  local function add(name, value)
    if #table.concat(size_names, ", ") + #name > MAX_NAMES then
      size_names, values = {}, {}
    end
    size_names[#size_names + 1], values[#values + 1] = name, value
    local line_index = #size_names == 1 and #lines + 1 or #lines -- the first name begins a line, others extend it
    lines[line_index] = ("%s = %s"):format(table.concat(size_names, ", "), table.concat(values, ", "))
  end
  for _, block in ipairs(net.scopes) do
    if not block.is_group and not block.get_number then
      add(block.count_name, block.count)
    end
  end
  if attentions[1] then
    add("HEADS", attentions[1].family.heads)
  end
  for _, width in ipairs(net.widths) do
    if not width.is_requested then -- the width of a requested product has a name only in generated C
      add(width.text, width.count)
    end
  end
  return lines
end

-- Returns Python's expression of the classes of norms, for isinstance; false without norms.
local function write_norms(net)
  local norms = lists.to_set(lists.map(list_operations(net), function(op) return op.norm end))
  return norms.layer and norms.rms and "(nn.LayerNorm, nn.RMSNorm)" or norms.layer and "nn.LayerNorm"
    or norms.rms and "nn.RMSNorm" or false
end

-- Whether a forward pass of one of the classes contains a word.
local function uses_word(list, word)
  return lists.any(list, function(class)
    return lists.any(class.lines or {}, function(line) return line:find(word, 1, true) ~= nil end)
  end)
end

-- Returns the lines that make tensors of the positions that the task gives: [T] or [B][T]. With two streams, the second
-- stream's positions follow the first stream's.
local function write_given_positions(net)
  local first, second = table.unpack(net.streams)
  local parts = lists.map(net.streams, function(stream) return classes.name_positions(net, stream) end)
  return {
    ("positions = torch.as_tensor(positions, device=%s.device)"):format(second and first.name or "tokens"),
    second and ("%s = positions.split([%s.shape[1], %s.shape[1]], dim=-1)"):format(table.concat(parts, ", "),
      first.name, second.name) or nil,
  }
end

-- Adds the arguments of the network's forward pass: positions of the task, the number of passes, and sampled positions
-- and distances.
local function add_forward_arguments(facts)
  local needed_names = lists.filter({ "positions", "passes" }, function(name)
    return name == "positions" and facts.by_task or name == "passes" and facts.passes_by_length
  end)
  local sampled_names = lists.filter({ "positions", "distances" }, function(name)
    return not facts.by_task and facts["draws_" .. name]
  end)
  local place_words = table.concat(sampled_names, ", ")
  sampled_names[#sampled_names + 1] = facts.draws_noise and "noise" or nil
  local function format_each(arguments, form)
    return table.concat(lists.map(arguments, function(name) return (form:gsub("NAME", name)) end))
  end
  lists.append(facts.comments, facts.by_task and { "Its argument `positions` has a number for each token of "
    .. "`with_target`: the position that the task gives", "to the token, or 0 if it gives none. "
    .. "`trainer predict` prints these numbers for an input." } or {})
  lists.append(facts.comments, facts.passes_by_length and {
    ("Its argument `passes` is the number of passes through the layers: in training the %s, which"):format(
      facts.passes_by_length), "`trainer predict` prints for an input." } or {})
  facts.given_arguments = format_each(needed_names, ", NAME")
  facts.forward_arguments = facts.given_arguments .. format_each(sampled_names, ", NAME=None")
  facts.call_arguments = facts.given_arguments .. format_each(sampled_names, ", NAME")
  facts.check_arguments = format_each(needed_names, ', example["NAME"]')
    .. format_each(sampled_names, ', NAME=example["NAME"]')
  facts.forward_words = ""
  if facts.by_task then
    local count = facts.position_count
    facts.forward_words = (" positions [%s] or [B][%s], which the task gives."):format(count, count)
  elseif place_words ~= "" then
    facts.forward_words = (" %s [T] if given, otherwise sampled."):format(place_words)
  end
  if facts.draws_noise then
    facts.forward_words = facts.forward_words .. " noise [T][WIDTH] if given, otherwise sampled."
  end
end

-- Returns the facts that follow from the plan and the run alone: sizes of the vocabulary, comments, tolerances.
local function derive_file_facts(spec, run)
  local plan, model = spec.plan, spec.resolved.model
  local comments = {
    ("Trained by Longhand on %s: plan %s, seed %s, learning rate %s, step %s."):format(plan.task.kind, plan.digest,
      run.info.seed, run.info.learning_rate, escape.python(run.metadata.step or "unknown")),
    ("%d parameters; %s %s%s."):format(plan.parameters, wording.choose_article(model.kind), (model.kind:gsub("_", "-")),
      model.source and ", whose network is " .. escape.python(model.source:match("[^/]*$")) or ""),
  }
  return {
    id = plan.id, tokens = plan.tokens, classes = plan.classes, empty_token = plan.empty_token,
    readout = plan.readout, probe = plan.task.probe,
    computation = plan.computation, decoder = plan.decoder, float64 = plan.precision == "float64",
    tolerance_text = plan.precision == "float64" and "1e-9" or "1e-4", comments = comments,
    passes_by_length = plan.cpu.passes_by_length
      and (plan.task.pass_axis > 0 and "value on the axis " .. model.loops.times or "task length"),
  }
end

-- Adds facts about the network. first: the result of check_equal, or nil.
local function add_network(facts, spec, net, attentions, facets, first)
  local block_encoding, has_two_streams = find_block_encoding(net), net.streams[2] ~= nil
  local is_additive = lists.any(net.ops, function(op)
    return op.kind == "embed" and op.encoding and op.encoding.kind ~= "none" and not spec.plan.token_positions
  end)
  local family = first and first.family or spec.plan.first_family
  if not has_two_streams then
    local extra_inputs = lists.merge({ positions = block_encoding and true or nil },
      table.unpack(lists.map(attentions, function(op) return facets[op].extra_inputs end)))
    lists.update(facts, write_places(family.positions, extra_inputs, is_additive))
  elseif not facts.decoder then
    stop.exit(INPUT, ("a second stream, %s besides %s, in a network that is no decoder"):format(net.streams[2].name,
      net.streams[1].name))
  end
  local network_classes = classes.derive(net, { name = names.to_camel(spec.resolved.model.kind),
    tensors = spec.plan.tensors, one_based = facts.one_based,
    shared = facts.shared, in_layers = facts.in_layers or {}, facets = facets })
  lists.update(facts, has_two_streams and write_stream_places(net.streams, network_classes.variables) or {})
  for _, op in ipairs(attentions) do
    lists.append(facts.before_layers, op.scope == net and facts.in_layers or {})
  end
  facts.streams = has_two_streams and ("%s, %s"):format(net.streams[1].name, net.streams[2].name) or "tokens"
  facts.stream_words = has_two_streams and ("%s [B][S] and %s [B][T]"):format(net.streams[1].name,
    net.streams[2].name) or "tokens [B][T]"
  -- star: the operator of Python that passes the tensors of two streams as two arguments
  facts.two_streams, facts.star = has_two_streams, has_two_streams and "*" or ""
  facts.list, facts.network, facts.renamed = network_classes.list, network_classes.network, network_classes.renamed
  local encoding = spec.plan.additive
  -- member: "place" if the sinusoids have interleaved channels, a grid or a period, otherwise "sinusoid"
  facts.waves = encoding.member == "place" and { interleaved = encoding.interleaved, grid = encoding.grid,
    period = encoding.period }
  local positions = spec.plan.token_positions
  facts.digits = positions and positions.digits and table.concat(positions.digits, ", ")
  facts.by_task = positions and not positions.digits
  facts.position_count = has_two_streams and "S + T" or "T"
  if facts.by_task then
    facts.before_layers = lists.append(write_given_positions(net), facts.before_layers)
  end
  facts.sinusoid = encoding.member == "sinusoid"
end

-- Returns all facts for the template; ends the command if a part of the network is unknown.
local function derive(spec, run, net)
  local facts = derive_file_facts(spec, run)
  local attentions = lists.filter(list_operations(net), function(op) return op.kind == "attention" end)
  if net.streams[2] and spec.plan.any_draws then
    stop.exit(INPUT, "sampled positions of two streams")
  end
  local facets = collect_all_facets(spec.score, attentions)
  local first = check_equal(attentions, facets)
  add_numbers(facts, attentions, facets)
  add_network(facts, spec, net, attentions, facets, first)
  facts.draws_noise = spec.plan.starts_from_noise
  add_forward_arguments(facts)
  facts.sizes = write_sizes(net, attentions)
  facts.indices = false -- whether an attention calls the function `indices` of the file
  for _, op in ipairs(attentions) do
    lists.update(facts, facets[op].calls)
  end
  local all_classes = { facts.network, table.unpack(facts.list) }
  facts.functional = uses_word(all_classes, "F.")
  facts.math = attentions[1] ~= nil or uses_word(all_classes, "math.")
  facts.norms = write_norms(net)
  facts.path_in_file = #facts.renamed > 0 and "name_in_file(owner)" or "owner"
  return facts
end

-- Returns the facts for the template; or nil and a message. run: { info (run.json), metadata (of the checkpoint) }.
function M.derive_facts(spec, run, net)
  local problem = M.find_problem(spec)
  if problem then
    return nil, problem
  end
  local facts
  local _, unknown = stop.catch(function() facts = derive(spec, run, net) end)
  return facts, unknown and "does not know " .. unknown
end

return M
