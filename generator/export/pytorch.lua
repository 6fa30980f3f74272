-- A trained model as a folder for PyTorch: model.py, its checkpoint, and inputs with the logits that Longhand computed.
--
-- Input: a spec as project:plan gives it, its network (project:network). Output: M.facts gives what
-- templates/python/model.py.tpl reads, or nil and why a model cannot be exported. Pure.

local canonical = require("base.canonical")
local classes = require("export.classes")
local facets = require("export.facets")
local json = require("dkjson")
local names = require("export.names")
local tongues = require("base.tongues")

local M = {}

local ANY = true

-- Everything of these sections that the templates can write; other fields are refused by name. Of the model, what its
-- network has decides (operations.lua).
local KNOWN = {
  encoding = {
    rotation = { kind = { none = ANY, rope = ANY }, base = ANY, scaling = {
      kind = { linear = ANY, ntk = ANY, yarn = ANY }, factor = ANY, original_length = ANY, beta_slow = ANY,
      beta_fast = ANY, attention_factor = ANY } },
    relative = { kind = { none = ANY, transformer_xl = ANY, shaw = ANY }, clip = ANY },
    mask = { kind = { causal = ANY, window = ANY }, left = ANY, right = ANY },
    positions = { kind = { index = ANY, randomized = ANY }, max_position = ANY, sorted = ANY,
      draw = { pass = ANY, layer = ANY, sequence = ANY }, reading = { drawn = ANY, difference = ANY, clamped = ANY },
      range = { one_based = ANY }, sides = { independent = ANY } },
    additive = { kind = { none = ANY, sinusoid = ANY, learned = ANY }, rows = ANY, init_sigma = ANY, dropout = ANY },
    normaliser = { kind = { geometric = ANY }, normalised = ANY, directional = ANY },
    score = ANY, parameters = ANY,
  },
  task = { kind = ANY, source = ANY, data = ANY, eval = ANY, input_symbols = ANY, output_symbols = ANY, longest = ANY,
    options = ANY, computation = ANY },
}

local function first_unknown(value, known, path)
  for _, name in ipairs(canonical.sorted_keys(value)) do
    local inner, below = value[name], known[name]
    if not below or inner and below ~= ANY and type(inner) ~= "table" and not below[inner] then
      return ("%s.%s = %s"):format(path, name, json.encode(inner))
    end
    local problem = below ~= ANY and type(inner) == "table" and first_unknown(inner, below, path .. "." .. name)
    if problem then
      return problem
    end
  end
end

-- What is written for one family stands under its name, and is false where it goes without.
local function known_encoding(plan)
  local known = {}
  for name, below in next, KNOWN.encoding do
    known[name] = below
  end
  for _, family in ipairs(plan.attentions) do
    known[family.name] = KNOWN.encoding
  end
  return known
end

-- Why a spec cannot be exported, whatever its network; or nil.
function M.problem(spec)
  local unknown = first_unknown(spec.resolved.encoding, known_encoding(spec.plan), "encoding")
    or first_unknown(spec.resolved.task, KNOWN.task, "task")
  if unknown then
    return "does not know " .. unknown
  elseif spec.plan.eval_dropout then
    return "has no logits to compare with: eval.dropout = true makes them random"
  end
end

-- ---- what the network has ----

local function places_input(net)
  for _, op in ipairs(net.ops) do
    if op.kind == "embed" and op.encoding and op.encoding.kind ~= "none" then
      return op.encoding.kind
    end
  end
  return false
end

-- What all attentions of a network need together. They may differ in all but what the file has once.
local function needs_of(net, score)
  local needs, first = {}, net.used_families[1]
  for _, family in ipairs(net.used_families) do
    for _, field in ipairs({ "positions", "heads" }) do
      if canonical.text(family[field]) ~= canonical.text(first[field]) then
        error({ unknown = ("%s of attention %s that are not those of %s"):format(field, family.name, first.name) }, 0)
      end
    end
    for need in next, facets.of(family, score).needs do
      needs[need] = true
    end
  end
  return needs
end

local function attends_outside(net)
  for _, op in ipairs(net.ops) do
    if op.kind == "attention" then
      return true
    end
  end
  return false
end

local LINE = 70 -- characters of names on a line of sizes

-- Lines of sizes with names: "LAYERS, WIDTH = 5, 64".
local function sizes_of(net)
  local lines, words, values, family = {}, {}, {}, net.used_families[1]
  local function add(word, value)
    if #table.concat(words, ", ") + #word > LINE then
      words, values = {}, {}
    end
    words[#words + 1], values[#values + 1] = word, value
    lines[#words == 1 and #lines + 1 or #lines] = ("%s = %s"):format(table.concat(words, ", "),
      table.concat(values, ", "))
  end
  for _, block in ipairs(net.scopes) do
    add(block.count_name, block.count)
  end
  if family then
    add("HEADS", family.heads)
  end
  for _, width in ipairs(net.widths) do
    if width.text ~= "DIRECTION_WIDTH" then -- of generated C: filled up to whole vectors
      add(width.text, width.count)
    end
  end
  return lines
end

-- The classes of its norms as Python has one or several of them; or false.
local function norms_of(net)
  local has = {}
  for _, scope in ipairs({ net, table.unpack(net.scopes) }) do
    for _, op in ipairs(scope.ops) do
      has[op.norm or false] = true
    end
  end
  return has.layer and has.rms and "(nn.LayerNorm, nn.RMSNorm)" or has.layer and "nn.LayerNorm"
    or has.rms and "nn.RMSNorm" or false
end

local function mentions(list, word)
  for _, class in ipairs(list) do
    for _, line in ipairs(class.lines or {}) do
      if line:find(word, 1, true) then
        return true
      end
    end
  end
  return false
end

-- ---- the file ----

-- Arguments of a forward pass for what is drawn, and what the comparison passes.
local function add_calls(facts)
  local given, words, check, pass = "", {}, "", ""
  for _, name in ipairs({ "positions", "distances" }) do
    if facts["draws_" .. name] then
      given = ("%s, %s=None"):format(given, name)
      words[#words + 1], pass = name, ("%s, %s"):format(pass, name)
      check = ('%s, %s=example["%s"]'):format(check, name, name)
    end
  end
  facts.forward_arguments, facts.check_arguments = given, check
  facts.pass_arguments = pass
  facts.forward_words = #words > 0 and (" %s [T] where given, else drawn."):format(table.concat(words, ", ")) or ""
end

local function about(spec, run)
  local plan, model = spec.plan, spec.resolved.model
  return {
    ("Trained by Longhand on %s: plan %s, seed %s, learning rate %s, step %s."):format(plan.task.kind, plan.digest,
      run.info.seed, run.info.learning_rate, tongues.python(run.metadata.step or "unknown")),
    ("%d parameters; %s %s%s."):format(plan.parameters, model.kind:find("^[aeiou]") and "an" or "a", model.kind,
      model.source and ", whose network is " .. tongues.python(model.source:match("[^/]*$")) or ""),
  }
end

local function file_facts(spec, run)
  local plan = spec.plan
  return {
    id = plan.id, tokens = plan.tokens, classes = plan.classes, empty_token = plan.empty_token,
    computation = plan.computation, decoder = plan.decoder, float64 = plan.precision == "float64",
    tolerance_text = plan.precision == "float64" and "1e-9" or "1e-4", about = about(spec, run),
  }
end

local function derive(spec, run, net)
  local score = facets.score(net.used_families[1] and spec.score)
  local facts, additive = file_facts(spec, run), places_input(net)
  local first = net.used_families[1] or spec.plan.attentions[1]
  for name, value in next, facets.places(first.positions, needs_of(net, score), additive) do
    facts[name] = value
  end
  add_calls(facts)
  local found = classes.derive(net, { name = names.camel(spec.resolved.model.kind), tensors = spec.plan.tensors,
    one_based = facts.one_based, shared = score and score.shared or {}, in_layers = facts.in_layers,
    facets = function(op)
      return facets.of(op.family, score)
    end })
  if attends_outside(net) then
    table.move(facts.in_layers, 1, #facts.in_layers, #facts.before_layers + 1, facts.before_layers)
  end
  facts.score, facts.constants, facts.sizes = score, score and score.constants or {}, sizes_of(net)
  facts.list, facts.network, facts.renamed = found.list, found.network, found.renamed
  facts.sinusoid = additive == "sinusoid"
  for _, class in ipairs(found.list) do
    facts.sinusoid = facts.sinusoid or class.attention and class.attention.relative == "transformer_xl" or false
  end
  local all = { found.network, table.unpack(found.list) }
  facts.functional = mentions(all, "F.")
  facts.math = net.used_families[1] ~= nil or mentions(all, "math.")
  facts.norms = norms_of(net)
  facts.path_in_file = #found.renamed > 0 and "name_in_file(owner)" or "owner"
  return facts
end

-- What the template reads. run: { info, metadata } of run.json and the checkpoint. Or nil and what it does not know.
function M.facts(spec, run, net)
  local problem = M.problem(spec)
  if problem then
    return nil, problem
  end
  local ok, facts = xpcall(derive, function(err)
    return type(err) == "table" and err or debug.traceback(err)
  end, spec, run, net)
  if ok then
    return facts
  elseif type(facts) ~= "table" or not facts.unknown then
    error(facts, 0)
  end
  return nil, "does not know " .. facts.unknown
end

return M
