-- Derives the parts of a plan about the network and its parameters. A description is the function that builds a
-- network: a file of network/models, or a file of the user.
--
-- Input: a plan with its dimensions; the file of a user's own network, or nil. Output of M.derive_attentions, which is
-- called before the encoding is planned: attentions, the families that the network has; and first_family, the first of
-- them. Without attention, first_family is an unused family, whose fields templates can read. Output of M.derive,
-- three results: fields of the plan, the graph (builder.lua) and its lists (scope_lists.lua). The fields are those of
-- derive_constants and
--   structs, tensors, initial_values   see parameters.lua
--   parameters, frozen   the numbers of elements of learned tensors, and of tensors that are not learned
--   parameter_elements, parameter_storage   `elements` and `storage` of parameters.lua
--   network_identity   see identity.lua; nil for a kind's default network, which adds nothing to digests
--   cpu           the network on the CPU (cpu_network.lua)
--   network       the operations of the network (outline.lua)
--   passes        the operations of a training step (passes.lua)
--   widths        the widths that need a constant in C: { name, count }
--   trace_sites, pass_sites   see network_sites.lua
--   cpu_headers   the files of kernels/cpu that generated code includes
--   operation_kernels   the names of the kernels' files that operations need on both targets
--   is_step_major, cell_width   see builder.lua
--   starts_from_noise   whether the first pass of a loop has noise as its input
--   network_sizes   the set of the sizes (layers, heads, feedforward, dropout) that a user's own network or a recurrent
--                 network has read, else nil
-- Every family gets the fields of settle_families. A mistake in a description is an error { problem = true, what,
-- expected, hint }, with path, line and col of the file, or with the field of the spec.

local attention = require("network.graph.attention")
local buffers = require("network.lists.buffers")
local builder = require("network.graph.builder")
local canonical = require("base.canonical")
local cpu = require("network.targets.cpu_network")
local decoding = require("network.lists.decoding")
local dimensions = require("plan.deriving.dimensions")
local dropouts = require("network.graph.dropouts")
local embeddings = require("network.targets.embeddings")
local features = require("spec.rules.features")
local handles = require("network.graph.handles")
local identity = require("network.graph.identity")
local labelled_rows = require("network.lists.labelled_rows")
local lists = require("base.lists")
local network_sites = require("plan.deriving.network_sites")
local ops = require("network.graph.ops")
local outline = require("network.graph.outline")
local own_network = require("spec.reading.own_network")
local facets = require("facets.modules")
local parameters = require("network.graph.parameters")
local passes = require("network.lists.passes")
local scope_lists = require("network.lists.scope_lists")
local tasks = require("spec.task.tasks")
local terms = require("attention.terms")
local vocabulary_rows = require("network.lists.vocabulary_rows")

local M = {}

-- If a block of tokens has at least this number of tokens for each symbol, rows before the first attention are computed
-- once for each symbol, not for each token.
local MIN_TOKENS_PER_SYMBOL = 4

-- The descriptions of networks, by the kind of a model.
local DESCRIPTIONS = {
  encoder = require("network.models.encoder"),
  decoder = require("network.models.decoder"),
  encoder_decoder = require("network.models.encoder_decoder"),
  recurrent = require("network.models.recurrent"),
}

-- Defaults for fields of the model's section that a description reads and a spec may leave out.
local SECTION_DEFAULTS = { norm = { kind = "layer", place = "post" }, activation = "relu", branch_activation = "none",
  bias = "feedforward", output = "linear", output_bias = true, init = "haiku", tied = false, embedding = "table",
  readout = "outputs", attention_dropout = 0, hidden_dropout = 0 }

-- A copy of a section of the spec, with defaults for missing fields.
local function complete(section_of_spec, defaults)
  local section = lists.copy(defaults)
  for name, value in next, section_of_spec do
    section[name] = type(value) == "table" and complete(value, defaults[name] or {}) or value
  end
  return section
end

local function index_by_name(families)
  return lists.index_by(families, function(family) return family.name end)
end

-- Widths that need a constant, in the order of the description. Widths that facets request (is_requested) are left out,
-- since family_dimensions.tpl defines their constants.
local function list_widths(net)
  return lists.map(net.widths, function(width)
    local needs_constant = width.text ~= "WIDTH" and not width.is_requested
    return needs_constant and { name = width.text, count = width.count } or nil
  end)
end

-- The parts of a plan that builder.build needs. families, additive: by default the plan's.
local function make_builder_input(plan, model, families, additive)
  return {
    model = model,
    tokens = { count = plan.tokens, text = "TOKENS", output = plan.decoder and plan.decoder.first_output or nil },
    inputs = { count = plan.tokens - plan.task.blank_count, text = "INPUTS" },
    classes = { count = plan.classes, padded = { count = plan.class_columns, text = "CLASS_COLUMNS" } },
    families = families or index_by_name(dimensions.list_families(plan)),
    layer_families = dimensions.list_layer_families(plan),
    additive = additive or plan.additive,
  }
end

-- Refuses a field that the spec states and the network does not read, instead of ignoring the field silently.
local function refuse_unread(field, file, expected)
  error({ problem = true, field = field, what = ("the network of %s does not read this field"):format(file.path),
    expected = expected .. (", or no field %s"):format(field) }, 0)
end

-- Refuses an object of the network, such as an operation, with the line of the file that made it.
local function refuse(object, file, message, expected)
  error({ problem = true, path = file.path, line = object.line, col = 1, what = message, expected = expected }, 0)
end

-- Refuses options that the description does not read, since their names are probably misspelt.
local function check_options(options, read_options, file)
  for _, name in ipairs(canonical.sort_keys(options)) do
    if not read_options[name] then
      local names = canonical.sort_keys(read_options)
      error({ problem = true, field = "model.options." .. name,
        what = ("the network of %s does not read this option"):format(file.path),
        expected = #names > 0 and "an option that the network reads: " .. table.concat(names, ", ")
          or "no options; the network reads none" }, 0)
    end
  end
end

-- Refuses parts of the encoding that the network does not use.
local function check_encoding(plan, net, file)
  local has_additive, encoding = false, plan.resolved.encoding
  for _, op in lists.iterate_nested(net.order, "ops") do
    has_additive = has_additive or op.encoding and op.encoding.kind ~= "none"
  end
  if plan.additive.kind ~= "none" and not has_additive then
    refuse_unread("encoding.additive.kind", file, plan.additive.in_blocks and "block:place(value, net.additive)"
      or "net:embed(..., { place = net.additive })")
  end
  for _, module in ipairs(net.used_families[1] and {} or facets) do
    local path, value = "encoding." .. module.name, encoding[module.name]
    local kind = type(value) == "table" and value.kind
    if value and kind ~= "none" and not module.is_for_tokens and not module.is_read_by_facets then
      refuse_unread(kind and path .. ".kind" or path, file, "an attention")
    end
  end
end

-- Refuses two dropout rates if the network does not read them: that of hidden values and that of embeddings. The
-- network may leave model.dropout unread.
local function check_dropouts(plan, net, file)
  local model = plan.resolved.model
  local uses = lists.to_set(lists.map(net.dropouts, function(dropout) return dropout.use end))
  for _, entry in ipairs({ { "hidden_dropout", "value", "feedforward(..., { hidden_dropout = model.hidden_dropout })" },
    { "embedding_dropout", "embedding", "net:embed(..., { dropout = net.additive_dropout })" } }) do
    if (model[entry[1]] or 0) > 0 and not uses[entry[2]] then
      refuse_unread("model." .. entry[1], file, entry[3])
    end
  end
end

-- Fields about the structure of the built-in networks. A spec that sets one needs a description that reads it.
local DESCRIPTION_FIELDS = { "activation", "bias", "branch_activation", "norm.embedding", "norm.kind", "norm.place",
  "output", "output_bias", "tied" }

-- Refuses fields that the spec sets and the description does not read. fields: the set of the fields that it has read.
local function check_fields(model, fields, file)
  for _, name in ipairs(DESCRIPTION_FIELDS) do
    if lists.get(model, name) ~= nil and not fields["model." .. name] then
      refuse_unread("model." .. name, file, "a description that reads model." .. name)
    end
  end
end

-- Refuses streams other than the source. Refuses tied vectors in an encoder, since its tokens include no output
-- symbols.
local function check_tokens(plan, net, file)
  for _, stream in ipairs(net.streams) do
    if stream.name ~= "source" then
      refuse(stream, file, ("there is no stream %s"):format(stream.name), 'net:stream("source"), the only stream')
    end
  end
  if lists.has(net.tables, net.classified.op.class_table) and not plan.decoder then
    refuse(net.classified.op, file, "the tokens of an encoder have no vectors of the output's symbols",
      'model.kind = "decoder", or classify() without tied')
  end
end

-- Checks that self-attention has one input for queries, keys and values, since one product computes them all.
local function check_attentions(net, file)
  for _, op in ipairs(ops.find_all(net, "attention")) do
    if op.q ~= op.kv and not op.family.cross then
      refuse(op, file, ("attention %s has queries of one value and keys of another"):format(op.family.name),
        "the same value twice, such as attention(\"self\", h, h)")
    end
  end
end

-- Checks that an attention with a score is in a block of model.layers repetitions, since a score may read the index of
-- the layer. Checks blocks that place vectors without an attention: they use the draws of the first attention, so they
-- must not have more layers than the first attention.
local function check_layers(plan, net, file)
  for block, op in lists.iterate_nested(net.scopes, "ops") do
    if op.kind == "attention" and op.family.score.kind ~= "none" and block.count ~= plan.layers then
      refuse(op, file, ("attention %s is applied %d times"):format(op.family.name, block.count),
        ("in one block of model.layers = %d repetitions, since a score may read the index of the layer; or an encoding "
          .. "without a score, such as rope or relative. Operations that only the last layer has are written after the "
          .. "block, with net:feedforward or net:norm"):format(plan.layers))
    end
  end
  local family = plan.first_family
  local scopes = plan.additive.draw and family.positions.per_layer and net.scopes or {}
  for block, op in lists.iterate_nested(scopes, "ops") do
    if op.kind == "place" and block.count > family.layers and not attention.find_family_of_positions(block) then
      refuse(op, file, ("place() is called %d times, without attention, and positions are drawn for %d layers"):format(
        block.count, family.layers), 'attention in the same block, or encoding.positions.draw = "pass"')
    end
  end
end

-- The network that a file describes, and the options and fields that the description has read.
local function run_own(plan, model, file, families, additive)
  if plan.streams[2] then
    error({ problem = true, field = "model.kind", what = "a network of your own reads one stream of tokens",
      expected = "encoder, decoder" }, 0)
  end
  local read_options, fields
  local function build(describe, chunk)
    return builder.build(function(net)
      local network, section
      network, section, read_options, fields = handles.open(net, model, own_network.method)
      describe(network, section)
    end, make_builder_input(plan, model, families, additive), chunk)
  end
  local net, problem = own_network.run(file.text, build)
  if not net then
    problem.problem, problem.path = true, file.path
    error(problem, 0)
  end
  return net, read_options, fields
end

local function build_own(plan, model, file)
  local net, read_options, fields = run_own(plan, model, file)
  check_tokens(plan, net, file)
  check_attentions(net, file)
  check_encoding(plan, net, file)
  check_dropouts(plan, net, file)
  check_options(plan.resolved.model.options or {}, read_options, file)
  check_fields(plan.resolved.model, fields, file)
  check_layers(plan, net, file)
  return net, { layers = fields["model.layers"] or false, heads = net.used_families[1] ~= nil,
    feedforward = fields["model.feedforward"] or false, dropout = fields["model.dropout"] or false }
end

-- The identity of a network; nil for a kind's default network, which adds nothing to digests.
local function find_identity(plan, net, model)
  local default_model = complete({ kind = model.kind, heads = model.heads, layers = model.layers, width = model.width,
    encoder_layers = model.encoder_layers, decoder_layers = model.decoder_layers, cell = model.cell,
    feedforward = model.feedforward, dropout = model.dropout }, SECTION_DEFAULTS)
  local default_net = builder.build(DESCRIPTIONS[model.kind], make_builder_input(plan, default_model))
  local network_identity, default_identity = identity.identify(net), identity.identify(default_net)
  return canonical.format(network_identity) ~= canonical.format(default_identity) and network_identity or nil
end

-- The section `model` that a description reads.
local function make_section(plan, file)
  local model = complete(plan.resolved.model, SECTION_DEFAULTS)
  model.source, model.spare_token = nil, nil
  model.options = file and (model.options or {}) or nil
  -- If `times` is a name, each example has its own number of passes; the network then gets the largest one in training.
  if model.loops and type(model.loops.times) == "string" then
    local max_times = model.loops.max_times
      or lists.max(tasks.list_lengths(plan.resolved.train.lengths), function(n) return n end)
    model.loops = lists.merge(model.loops, { times = max_times, passes_by_length = true })
  end
  return model
end

-- Returns the unfused graph of a plan's model. For a user's own network, also returns the sizes that the network has
-- read. model: the section that the description reads, by default the plan's.
function M.build_network(plan, file, model)
  model = model or make_section(plan, file)
  if not file then
    return builder.build(DESCRIPTIONS[model.kind], make_builder_input(plan, model))
  end
  return build_own(plan, model, file)
end

-- Name of a family -> a copy without facets, whose field `original` is the family with facets.
local function make_bare_families(families)
  return index_by_name(lists.map(families, function(family)
    return lists.merge(family, { original = family, prefix = "", normaliser = { kind = "softmax" },
      relative = { kind = "none" }, score = {} })
  end))
end

-- The attentions of a network, each with its block. To find these blocks, the description runs once with bare families,
-- since facets depend on the names and layer counts of the blocks.
function M.derive_attentions(plan, additive, file)
  local families, list = dimensions.attentions[plan.resolved.model.kind](plan), {}
  local model, bare_families = make_section(plan, file), make_bare_families(families)
  local net = file and run_own(plan, model, file, bare_families, additive)
    or builder.build(DESCRIPTIONS[model.kind], make_builder_input(plan, model, bare_families, additive))
  for block, op in lists.iterate_nested(net.scopes, "ops") do
    list[#list + 1] = op.kind == "attention" and dimensions.place_in_block(op.family.original, op.family.name, block)
      or nil
  end
  dimensions.settle_families(list[1] and list or { families[1] })
  return { attentions = list, first_family = list[1] or families[1] }
end

-- The kernels that operations need on both targets, each file once. The gradient of relu belongs to no operation of its
-- own, so its kernel is found in the backward list.
local function list_headers(lists_by_scope)
  return canonical.sort_keys(lists.to_set(lists.collect(lists_by_scope.order, function(scope)
    local headers = lists.map(lists_by_scope[scope].forward, function(op) return op.header or op.definition.header end)
    return lists.append(headers, lists.map(lists_by_scope[scope].backward, function(b)
      return b.kind == "relu_grad" and "activations" or nil
    end))
  end)))
end

-- Constants of generated code: the network's dropouts, and the factors by which vectors of tokens are multiplied.
-- has_draws: whether training samples positions or dropout, so that the flag --seeds-draws has an effect.
local function derive_constants(plan, net)
  local embedding, scales = nil, embeddings.list_scales(net)
  local planned_dropouts = lists.map(net.dropouts, function(d) return dimensions.plan_dropout(d.name, d.rate) end)
  table.sort(planned_dropouts, function(a, b) return a.name < b.name end)
  for _, op in ipairs(net.ops) do
    embedding = op.kind == "embed" and op.p or embedding
  end
  for _, scale in ipairs(scales) do
    scale.text = scale.value == math.sqrt(plan.width) and "sqrt(WIDTH)" or "as the network states"
  end
  local has_dropout = planned_dropouts[1] ~= nil
  return { dropouts = planned_dropouts, has_draws = plan.any_draws or has_dropout,
    eval_dropout = plan.resolved.eval.dropout and has_dropout or false,
    noise = features.get_noise_unit(plan.resolved) or false,
    embeds_linearly = embedding ~= nil and embedding.kind == "linear",
    inputs = embedding and embedding.rows.count, embedding_scales = scales }
end

-- Refuses too many dropouts. In evaluation, each dropout of each layer has an index (EVAL_DROPOUT_DOMAIN), and random
-- counters have few bits for this index.
local function limit_dropouts(eval_dropout, net)
  local max_dropouts, layers = dropouts.find_max(net), net.repetition_count + 1 -- 1: the part outside of blocks
  if eval_dropout and max_dropouts * layers > dropouts.MAX_DROPOUTS then
    error({ problem = true, field = "eval.dropout",
      what = ("the model has %d dropouts in each of %d layers, together %d"):format(max_dropouts, layers,
        max_dropouts * layers),
      expected = ("false, or at most %d dropouts together"):format(dropouts.MAX_DROPOUTS) }, 0)
  end
end

-- Sets the properties of families that follow from the network:
--   weight_dropout   the dropout of the family's weights, { name, dropout_number }, or false
--   is_decoded, computes_labelled_tokens, caches_tiles   see dimensions.lua
-- stream: the decoded stream, or nil; labelled: the labelled rows (labelled_rows.lua), or nil.
local function settle_families(plan, net, lists_by_scope, stream, labelled)
  local weight_dropouts, is_decoded, is_labelled = {}, {}, {}
  for _, block in ipairs(net.scopes) do
    for _, op in ipairs(lists_by_scope[block].forward) do
      if op.kind == "attention" then
        weight_dropouts[op.family] = op.dropout and { name = op.dropout.name, dropout_number = op.dropout_number }
        is_labelled[op.family] = labelled and labelled.labelled_work[op]
      end
    end
    for _, op in ipairs(stream and decoding.list_attentions(block, stream) or {}) do
      is_decoded[op.family] = true
    end
  end
  for _, family in ipairs(dimensions.list_families(plan)) do
    family.weight_dropout = weight_dropouts[family] or false
    family.computes_labelled_tokens = is_labelled[family] or false
    family.is_decoded = is_decoded[family] or false
    local value = family.requested_value
    if family.is_decoded and value and not value.cached then
      error({ problem = true, field = "encoding", expected = "a model that is not decoded token by token",
        what = ("attention %s reads %s, which is not cached for decoded tokens"):format(family.name, value.name) })
    end
    family.caches_tiles = family.is_decoded and family.relative.kind == "none" and family.mask.kind ~= "lines"
      and family.normaliser.kind == "softmax" and not family.score.row_sums
  end
end

-- The files of kernels/cpu that generated code includes, by name.
local function list_cpu_headers(plan, noise, operation_headers)
  local is_needed = {}
  for _, family in ipairs(plan.attentions) do
    local properties = terms.list(family)
    is_needed.rotated = is_needed.rotated or properties.by_rotation
    is_needed.rotation = is_needed.rotation or properties.rotates_rows
    is_needed.score = is_needed.score or properties.maps_logits or properties.hides_keys or properties.adds_values
    is_needed.geometric = is_needed.geometric or properties.visits_outwards
    is_needed.stick = is_needed.stick or properties.breaks_stick
    is_needed.counts = is_needed.counts or properties.scans_logits and properties.pair_vectors
    is_needed.products = is_needed.products or properties.multiplies_rows
  end
  local list = lists.filter({ "rotation", "rotated", "score", "geometric", "stick", "counts", "products" },
    function(header) return is_needed[header] end)
  return lists.append(lists.append(list, operation_headers), { noise and "noise" or nil })
end

function M.derive(plan, file)
  local model = make_section(plan, file)
  local net, sizes = M.build_network(plan, file, model)
  local fields = derive_constants(plan, net)
  limit_dropouts(fields.eval_dropout, net)
  local layout, lists_by_scope = parameters.derive(net), scope_lists.derive(net)
  fields.structs, fields.tensors, fields.tensor_count = layout.structs, layout.tensors, #layout.tensors
  fields.parameters, fields.frozen, fields.initial_values = layout.count, layout.frozen, layout.initial_values
  fields.parameter_elements, fields.parameter_storage = layout.elements, layout.storage
  fields.widths, fields.trace_sites, fields.pass_sites = list_widths(net), network_sites.list(net)
  fields.operation_kernels = list_headers(lists_by_scope)
  fields.starts_from_noise = ops.find_all(net, "noise")[1] ~= nil
  fields.cpu_headers = list_cpu_headers(plan, fields.noise or fields.starts_from_noise, fields.operation_kernels)
  local buffer_lists = buffers.derive(net, lists_by_scope, fields.eval_dropout)
  local labelled, stream = labelled_rows.derive(net, lists_by_scope),
    decoding.find_stream(net, plan.decoder, fields.eval_dropout)
  settle_families(plan, net, lists_by_scope, stream, labelled)
  -- Rows per symbol save no work if noise makes every token different, or if a block has few tokens of each symbol.
  local has_equal_rows = MIN_TOKENS_PER_SYMBOL * plan.tokens <= plan.block_tokens and not fields.noise
  fields.cpu = cpu.derive(net, lists_by_scope, layout.structs, buffer_lists, labelled,
    has_equal_rows and vocabulary_rows.derive(net, lists_by_scope, labelled) or nil, stream, fields.eval_dropout,
    plan.panels_member)
  fields.network, fields.passes = outline.derive(net, buffer_lists), passes.derive(net, lists_by_scope, buffer_lists)
  fields.network_identity, fields.network_sizes = find_identity(plan, net, model), sizes or net.is_step_major and {}
  fields.is_step_major, fields.cell_width = net.is_step_major or false, net.cell_width or false
  return fields, net, lists_by_scope
end

return M
