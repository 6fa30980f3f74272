-- A trained model as a folder for PyTorch: model.py, its checkpoint, and inputs with the logits that Longhand computed.
--
-- Input: M.facts takes a resolved spec, its plan and its formula, and gives what templates/python/model.py.tpl reads;
-- M.request gives lines for `trainer predict`, M.problem why a spec cannot be exported. Pure.

local json = require("dkjson")
local shapes = require("expression.leaves")
local text = require("expression.text")
local tongues = require("base.tongues")
local torch = require("expression.torch")

local M = {}

local ANY = true

-- Everything that the template can write; other fields of these sections are refused by name.
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
  model = { kind = { encoder = ANY }, layers = ANY, heads = ANY, width = ANY, feedforward = ANY, dropout = ANY,
    spare_token = ANY, init = ANY },
  task = { kind = ANY, source = ANY, data = ANY, eval = ANY, input_symbols = ANY, output_symbols = ANY, longest = ANY,
    options = ANY, computation = ANY },
}

local function first_unknown(value, known, path)
  local names = {}
  for name in next, value do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local inner, below = value[name], known[name]
    if not below then
      return ("%s.%s = %s"):format(path, name, json.encode(inner))
    elseif below ~= ANY and type(inner) ~= "table" and not below[inner] then
      return ("%s.%s = %s"):format(path, name, json.encode(inner))
    end
    local problem = below ~= ANY and type(inner) == "table" and first_unknown(inner, below, path .. "." .. name)
    if problem then
      return problem
    end
  end
end

-- Why a spec cannot be exported, or nil.
function M.problem(spec)
  for _, section in ipairs({ "encoding", "model", "task" }) do
    local unknown = first_unknown(spec.resolved[section], KNOWN[section], section)
    if unknown then
      return "does not know " .. unknown
    end
  end
  if spec.plan.eval_dropout then
    return "has no logits to compare with: eval.dropout = true makes them random"
  end
end

local function number_text(value)
  return text.number(value)
end

-- Sizes of a parameter's tensor as Python writes them.
local function shape_text(p)
  local heads, size = shapes.has_head(p) and "HEADS", p.size and ("%d"):format(p.size)
  return heads and size and heads .. ", " .. size or heads or size or "1"
end

local function wrapped(values)
  local lines, line = {}, ""
  for _, value in ipairs(values) do
    local word = number_text(value) .. (value == math.floor(value) and ".0," or ",")
    if #line + #word > 100 then
      lines[#lines + 1], line = line, word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

local function add_parameters(facts, parameters)
  for _, p in ipairs(parameters) do
    if not p.learned then
      table.insert(facts.constants, { name = p.name, lines = wrapped(p.values),
        view = shapes.has_head(p) and p.size and (".view(HEADS, %d)"):format(p.size) or "" })
    else
      table.insert(shapes.has_layer(p) and facts.own or facts.shared, { name = p.name, shape = shape_text(p) })
    end
  end
end

-- How the formula is called: arguments of change_score, and what attention passes for them.
local ARGUMENTS = { { "distance", "distance" }, { "positions", "positions" }, { "layer", "self.layer" },
  { "own", "self.score" }, { "shared", "shared" } }

local function score_facts(formula)
  if not formula then
    return false
  end
  local score = torch.formula(formula.root)
  score.arguments, score.pass = "", ""
  for _, argument in ipairs(ARGUMENTS) do
    if score.uses[argument[1]] then
      score.arguments = score.arguments .. ", " .. argument[1]
      score.pass = score.pass .. ", " .. argument[2]
    end
  end
  for _, name in ipairs({ "index", "length", "head", "distance", "positions", "layer", "bucket", "shared" }) do
    score[name] = score.uses[name] or false
  end
  score.about = "What becomes of the scaled logits [B][HEADS][T][T], queries by keys."
  return score
end

local function mask_facts(mask)
  if mask.kind == "none" then
    return false
  elseif not mask.left then
    return { text = ("offset > %d"):format(mask.right) }
  end
  return { text = ("(offset < -%d) | (offset > %d)"):format(mask.left, mask.right) }
end

-- What is written of draws: their range, from 0 or 1 on, and their order.
local function draw_facts(facts, plan)
  local family = plan.first
  local positions, distance = family.positions, family.positions.distance
  local drawn = facts.draws_positions and positions or facts.draws_distances and distance
  facts.max_position = drawn and drawn.range
  facts.one_based = drawn and drawn.max_position > drawn.range or false
  facts.range_words = facts.one_based and "from 1 to MAX_POSITION" or "below MAX_POSITION"
  facts.sorted_words = positions.sorted and ", ascending" or ""
  facts.sort_text = positions.sorted and ".sort().values" or ""
  facts.position_text = facts.one_based and "(1 + torch.randperm(MAX_POSITION))" or "torch.randperm(MAX_POSITION)"
  facts.distance_text = facts.one_based and "torch.randperm(MAX_POSITION)" or "torch.randperm(MAX_POSITION - 1)"
  facts.clamped, facts.independent = distance.kind == "clamped", distance.independent or false
end

-- Where positions and distances come from, before the layers and anew in each.
local function place_facts(facts, plan)
  local family = plan.first
  local positions, distance = family.positions, family.positions.distance
  local score, lines, inner = facts.score, {}, {}
  local reads_distance = facts.relative or score and score.distance
  local reads_positions = facts.rope or score and score.positions
  local drawn = distance.kind == "drawn" or distance.kind == "clamped"
  local random, by_sequence = positions.kind ~= "index", positions.kind == "sequence"
  local make = by_sequence and "place = draw_positions(len(tokens), count, positions)"
    or random and "place = draw_positions(count, positions)" or "place = torch.arange(count)"
  local anew = random and not by_sequence and positions.layer_index ~= "0"
  local in_layers = reads_positions or reads_distance and not drawn
  if facts.additive or in_layers and not anew then
    lines[#lines + 1] = make
  end
  if in_layers and anew then
    inner[#inner + 1] = make
  end
  if reads_distance and drawn then
    table.insert(distance.layer_index == "0" and lines or inner,
      "distance = pair_distances(draw_distances(count, distances))")
  elseif reads_distance then
    table.insert(anew and inner or lines, "distance = place - place[:, None]")
  end
  facts.before_layers, facts.in_layers, facts.counts = lines, inner, #lines + #inner > 0
  facts.draws_positions = random and (facts.additive or in_layers) and true or false
  facts.draws_distances, facts.by_sequence = reads_distance and drawn or false, by_sequence
  draw_facts(facts, plan)
  facts.pair_arguments = (reads_positions and ", positions" or "") .. (reads_distance and ", distance" or "")
    .. (#facts.shared > 0 and ", shared" or "")
  facts.layer_call = (reads_positions and ", place" or "") .. (reads_distance and ", distance" or "")
    .. (#facts.shared > 0 and ", self.score" or "")
end

local function call_facts(facts)
  local given, words, check = "", {}, ""
  for _, name in ipairs({ "positions", "distances" }) do
    if facts["draws_" .. name] then
      given = ("%s, %s=None"):format(given, name)
      words[#words + 1] = name
      check = ('%s, %s=example["%s"]'):format(check, name, name)
    end
  end
  facts.forward_arguments, facts.check_arguments = given, check
  facts.forward_words = #words > 0 and (" %s [T] where given, else drawn."):format(table.concat(words, ", ")) or ""
  facts.embed_arguments = facts.additive and ", positions" or ""
  local row = facts.draws_positions and facts.one_based and "positions - 1" or "positions"
  facts.embed_term = facts.additive == "learned" and ("self.position(%s)"):format(row) or "sinusoid(positions)"
  facts.embed_call = facts.additive and ", place" or ""
end

local function rate_text(dropout)
  return dropout and dropout.kind ~= "none" and dropout.rate_text or false
end

-- What the template reads. run: { info, metadata } of run.json and the checkpoint.
function M.facts(spec, run)
  local plan, family = spec.plan, spec.plan.first
  local relative = family.relative
  local facts = {
    id = plan.id, layers = plan.layers, heads = family.heads, width = plan.width, feedforward = plan.feedforward,
    tokens = plan.tokens, classes = plan.classes, empty_token = plan.empty_token, computation = plan.computation,
    float64 = plan.precision == "float64", tolerance_text = plan.precision == "float64" and "1e-9" or "1e-4",
    about = {
      ("Trained by Longhand on %s: plan %s, seed %s, learning rate %s, step %s."):format(plan.task.kind, plan.digest,
        run.info.seed, run.info.learning_rate, tongues.python(run.metadata.step or "unknown")),
      ("%d parameters; an encoder with layer norm after each block."):format(plan.parameters),
    },
    constants = {}, own = {}, shared = {},
    score = score_facts(spec.score),
    rope = family.rotation.kind == "rope" and family.rotation,
    relative = relative.kind ~= "none" and relative.kind, clip = relative.clip, relative_rows = relative.rows,
    mask = mask_facts(family.mask),
    geometric = family.normaliser.kind == "geometric" and family.normaliser,
    additive = plan.additive.kind ~= "none" and plan.additive.kind, rows = plan.additive.rows,
    sinusoid = plan.sinusoids,
    dropout = rate_text(plan.dropout), additive_dropout = rate_text(plan.additive.dropout),
  }
  add_parameters(facts, spec.score and spec.score.parameters or {})
  facts.layer_argument = facts.score and facts.score.layer and ", layer" or ""
  facts.layer_pass = facts.layer_argument:sub(3)
  place_facts(facts, plan)
  call_facts(facts)
  return facts
end

-- Positions over the whole range from first on, ascending; likewise distances, the first 0.
local function spread_positions(count, first, range)
  local list = {}
  for t = 0, count - 1 do
    list[t + 1] = first + (2 * t + 1) * (range - first) // (2 * count)
  end
  return list
end

local function spread_distances(count, range)
  local list = { 0 }
  for t = 1, count - 1 do
    list[t + 1] = 1 + (t - 1) * (range - 1) // math.max(1, count - 1)
  end
  return list
end

-- Task lengths to compare at: the ends of training, and twice the longest, where there is room for it.
function M.lengths(resolved)
  local lengths = resolved.train.lengths
  local first = lengths.list and lengths.list[1] or lengths.first
  local last = lengths.list and lengths.list[#lengths.list] or lengths.last
  local wanted = { first }
  for _, length in ipairs({ last, 2 * last }) do
    wanted[#wanted + 1] = length > wanted[#wanted] and length or nil
  end
  return wanted
end

-- An example as a line for `trainer predict`, every draw given; nil where the sequence is too long for the model.
function M.request(plan, input, outputs)
  local count = #input * (plan.computation and plan.computation.all or 1) + outputs
  if plan.limit and count > plan.limit.tokens then
    return nil
  end
  return {
    input = input,
    outputs = plan.task.data and outputs or nil,
    positions = plan.position_range > 0 and spread_positions(count, plan.first_position, plan.position_range)
      or nil,
    distances = plan.distance_range > 0 and spread_distances(count, plan.distance_range) or nil,
  }
end

-- Inputs for a task of finite data, where any tokens are an input: { input, outputs }.
function M.data_inputs(plan)
  local list = {}
  for _, length in ipairs({ 1, 3, plan.task.data.longest // 4 }) do
    local input = {}
    for i = 1, math.max(1, length) do
      input[i] = (i * i) % plan.task.input_count
    end
    list[#list + 1] = { input = input, outputs = 1 + length // 2 }
  end
  return list
end

return M
